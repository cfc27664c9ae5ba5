"""What every plug-in keeps: the package's own contracts of engines and protocols, transcripts, the registry.

Engines and protocols are held to the very tests of the built-in ones, with their worlds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from accord import plugins
from accord.agreement.document import Agreement
from accord.errors import UsageError
from accord.program import own_environment
from accord.protocols.registry import BUILT_IN, PROTOCOLS
from accord.run.receipt import read_receipt
from accord.secure.circuit_text import encode_circuit
from accord.secure.engine import PLUGGED
from accord.workers.messages import Start
from accord.workers.worker import Worker
from reproduction.catalogue import EXPERIMENTS
from tests.cli.terminal import environment, free_port
from tests.protocols import test_contract as protocols
from tests.protocols import worlds
from tests.reproduction.transcripts import RECORDED, cases
from tests.reproduction.worlds import PLUG_IN, ROOT, plugged
from tests.secure import test_engine as engines
from tests.secure.engines import World

for _name, _check in vars(engines).items():
    # Those that hold for each engine alone.
    if _name.startswith("test_") and {"world", "real"} & signature(_check).parameters.keys():
        globals()[_name] = _check


@pytest.fixture(params=["paillier-packed", pytest.param("paillier", marks=pytest.mark.slow)], scope="module")
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    """Without packing it is the same engine with one row at once: in transcripts, and with `slow`."""
    return world_of(request.param)


@pytest.fixture(scope="module")
def real(world: World) -> World:
    return world


with plugged():
    KINDS = sorted(set(PROTOCOLS) - set(BUILT_IN))
CHECKS: list[Callable[..., None]] = [
    check
    for name, check in vars(protocols).items()
    if name.startswith("test_") and [*signature(check).parameters] == ["name"]
]


@pytest.mark.parametrize("name", KINDS)
def test_a_plugged_in_protocol_keeps_the_contract(name: str) -> None:
    assert CHECKS
    for check in CHECKS:
        check(name=name)
    for greedy in (True, False):
        protocols.test_both_sides_end_with_one_output_within_the_price(name, greedy)


CASES, KNOWN = cases(), json.loads(RECORDED.read_text())


@pytest.mark.parametrize("name", sorted({*CASES, *KNOWN}))
def test_a_transcript_is_what_it_was(name: str) -> None:
    assert json.loads(json.dumps(CASES[name]())) == KNOWN[name]


# -- the registry ------------------------------------------------------------------------------------------


def test_a_plug_in_is_loaded_once_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert plugins.loaded() == (PLUG_IN,)
    monkeypatch.delitem(PROTOCOLS, "local-dp")
    plugins.load(PLUG_IN)
    assert "local-dp" not in PROTOCOLS
    with pytest.raises(UsageError):
        plugins.load("nobody.has.it")
    (tmp_path / "lacking.py").write_text("import nobody.has.it")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as error:
        plugins.load("lacking")
    assert error.value.name == "nobody", "the library that it lacks"


def test_another_process_finds_them_and_lists_everything(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "reproduction", "list"]
    listed = subprocess.check_output(
        command, cwd=tmp_path, env=own_environment(*plugins.folders()), text=True
    )
    assert {*EXPERIMENTS, "claims", "report", "all"} <= {line.split()[0] for line in listed.splitlines()}


def test_a_worker_loads_what_its_coordinator_has(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = encode_circuit(worlds.agreement().task.lowered.node)
    start = Start("A", "alice", "bob", circuit, "paillier", "", True, True, 60.0, 60.0, 5.0, 5.0)
    monkeypatch.delitem(PLUGGED, "paillier")
    with pytest.raises(UsageError):
        Worker(start)
    monkeypatch.delitem(plugins._loaded, PLUG_IN)
    Worker(replace(start, plugins=PLUG_IN))


ROWS = {
    "alice": [(1, 1), (2, 3), (7, 7), (9, 2), (12, 12), (4, 14)],
    "bob": [(1, 2), (8, 7), (3, 3), (12, 13), (0, 9)],
}
LOCAL = {"name": "local-dp", "window": 16, "A": {"epsilon": "2"}, "B": {"public": True}}
BY_X = {"protocol": LOCAL, "rule": "same(x) and within(y, 1)", "blocking": [{"kind": "key", "field": "x"}]}
with plugged():
    AGREED = Agreement.model_validate(worlds.agreement().model_dump(mode="json") | BY_X)


def start(folder: Path, *words: str, module: tuple[str, ...] = ("reproduction", "accord")) -> Any:
    """A command in the folder of a party."""
    command = [sys.executable, "-m", *module, "--state", "state", *words]
    path = {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, env=environment(folder) | path)


@pytest.mark.slow
def test_two_machines_link(tmp_path: Path) -> None:
    port, both = free_port(), []
    for name, rows in ROWS.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "agreement.toml").write_text(AGREED.to_toml())
        lines = ["id,x,y", *(f"{name}{i},{x},{y}" for i, (x, y) in enumerate(rows))]
        (folder / "table.csv").write_text("\n".join(lines) + "\n")
        assert start(folder, "identity", "--name", name, "--out", "card").wait(120) == 0
        assert start(folder, "ledger", "budget", "table", "--epsilon", "unlimited").wait(120) == 0
    for name, partner, way in (("alice", "bob", "--listen"), ("bob", "alice", "--connect")):
        folder = tmp_path / name
        assert start(folder, "partner", "add", partner, f"../{partner}/card").wait(120) == 0
        words = ("--agreement", "agreement.toml", "--out", "pairs.csv", "--partner", partner, way)
        both.append(start(folder, "link", "table.csv", *words, f"127.0.0.1:{port}", "--yes", "--json"))
    try:
        assert [process.wait(120) for process in both] == [0, 0]
    finally:
        for process in both:
            process.kill()
    alice = tmp_path / "alice"
    assert len({path.read_bytes() for path in tmp_path.glob("*/pairs.csv")}) == 1
    (receipt,) = alice.glob("state/runs/*/receipt")
    assert dict(read_receipt(receipt).facts)["matches"] == 2
    # An accountant without the plug-in does not know its events.
    assert start(alice, "ledger").wait(120) == 0
    assert start(alice, "ledger", module=("accord",)).wait(120)
