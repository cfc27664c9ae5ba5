"""A state of ten thousand runs: every command reads it, and its end is that of a small one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accord.cli import app
from accord.peer.identity import require_identity, signer
from accord.run.inspection import inspect_state
from accord.run.receipt import _signed
from accord.side import Side
from accord.state.folder import State
from accord.state.ledger import MANIFEST
from accord.state.runs import list_runs
from tests.run import faults

RUNS = 10_000


def multiply(both: dict[Side, faults.Office], side: Side, count: int) -> State:
    """The state of an office whose only run was made so many times, each with a receipt of its own."""
    office = both[side]
    signers = {one: signer(require_identity(o.state)) for one, o in both.items()}
    (entry,) = office.ledger.runs()
    with office.state.store.writing() as state:
        (row,) = state.rows("run")
        parts = {part["name"]: bytes(part["content"]) for part in state.rows("part", "owner = ?", entry.run)}
        receipt, manifest = json.loads(parts["receipt"]), json.loads(parts[MANIFEST])
        for number in range(2, count + 1):
            name = f"{number:016x}"
            body = receipt["receipt"] | {"run": name}
            for one in Side:
                receipt["signatures"][one.value]["signature"] = signers[one](_signed(body, one)).hex()
            own = parts | {
                "receipt": json.dumps(receipt | {"receipt": body}, indent=1, ensure_ascii=False).encode(),
                MANIFEST: json.dumps(manifest | {"run": name}).encode(),
            }
            state.put("run", **row | {"name": name, "number": number, "charge": number, "paid": 0})
            for part, content in own.items():
                state.keep("part", name, part, (content,))
    return office.state


def shown(state: State, *words: str) -> tuple[str, float]:
    """What a command shows, and its processor seconds."""
    began = time.process_time()
    found = CliRunner().invoke(app, ["--state", str(state.folder), *words])
    assert found.exit_code == 0, found.output
    return found.output, time.process_time() - began


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_ten_thousand_runs(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """How long it takes is recorded, and judged by nobody: machines differ."""
    both = faults.offices(tmp_path, "plain")
    for _ in range(2):
        _, empty = shown(both[Side.A].state, "ledger")
    faults.require_linked(faults.link(both))
    state = multiply(both, Side.A, RUNS)
    assert len(both[Side.A].ledger.runs()) == RUNS
    for _ in range(2):
        told, seconds = shown(state, "ledger")
    assert re.search(f"{RUNS:,}|{RUNS}", told)
    record_property("ledger", seconds - empty)
    assert not inspect_state(state).damages
    _, seconds = shown(state, "state", "check")
    record_property("check", seconds)
    found, broken = list_runs(state)
    assert (len(found), broken) == (RUNS, [])
    faults.require_linked(faults.link(both))
