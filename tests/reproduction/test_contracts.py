"""What every plug-in keeps: the package's own contracts of engines and protocols, transcripts, the registry.

Engines and protocols are held to the very tests of the built-in ones, with their worlds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
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
from tests.cli.terminal import environment, free_port
from tests.protocols import test_contract as protocols
from tests.protocols import worlds
from tests.reproduction.transcripts import RECORDED, cases
from tests.reproduction.worlds import PLUG_IN, ROOT, plugged
from tests.secure import test_engine as engines
from tests.secure.engines import World

# -- engines -----------------------------------------------------------------------------------------------

test_a_hostile_peer_gets_an_error_or_an_answer_but_no_crash = (
    engines.test_a_hostile_peer_gets_an_error_or_an_answer_but_no_crash
)
test_a_message_of_another_size_is_a_peer_error = engines.test_a_message_of_another_size_is_a_peer_error
test_a_set_up_message_of_another_size_is_a_peer_error = (
    engines.test_a_set_up_message_of_another_size_is_a_peer_error
)
test_how_long_texts_are_does_not_show = engines.test_how_long_texts_are_does_not_show
test_nodes_alone_and_negated_match_no_dummies = engines.test_nodes_alone_and_negated_match_no_dummies
test_random_circuits_and_scores_over_random_blocks = (
    engines.test_random_circuits_and_scores_over_random_blocks
)
test_sizes = engines.test_sizes
test_sizes_and_order_of_messages_do_not_depend_on_data = (
    engines.test_sizes_and_order_of_messages_do_not_depend_on_data
)
test_what_cannot_be_done_is_refused_before_a_byte = engines.test_what_cannot_be_done_is_refused_before_a_byte


@pytest.fixture(params=["paillier-packed", pytest.param("paillier", marks=pytest.mark.slow)], scope="module")
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    """Without packing it is the same engine with one row at once: in transcripts, and with `slow`."""
    return world_of(request.param)


@pytest.fixture(scope="module")
def real(world: World) -> World:
    return world


# -- protocols ---------------------------------------------------------------------------------------------

with plugged():
    KINDS = sorted(set(PROTOCOLS) - set(BUILT_IN))
CHECKS: list[Callable[..., None]] = [
    protocols.test_the_registry_is_what_agreements_read,
    protocols.test_an_agreement_is_sound_with_a_blocking_exactly_where_one_is_needed,
    protocols.test_options_that_a_simulation_may_change_exist,
    protocols.test_what_is_told_to_the_ledger_is_what_is_promised,
    protocols.test_noise_is_kept_exactly_where_it_costs_something,
    protocols.test_counts_are_those_of_the_slots,
    protocols.test_the_view_of_the_partner_is_bound_by_commitments_that_name_side_and_table,
    protocols.test_what_a_partner_can_be_asked_to_hold_is_bounded,
    protocols.test_engines_sizes_and_resumes_are_answered_before_anything_is_sent,
    protocols.test_simulation_and_audit_need_no_name,
]


@pytest.mark.parametrize("name", KINDS)
def test_a_plugged_in_protocol_keeps_the_contract(name: str) -> None:
    for check in CHECKS:
        check(name=name)
    for greedy in (True, False):
        protocols.test_both_sides_end_with_one_output_within_the_price(name, greedy)


# -- what travels ------------------------------------------------------------------------------------------

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


def test_another_process_finds_them(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", f"from accord import plugins; plugins.load({PLUG_IN!r})"]
    subprocess.run(command, cwd=tmp_path, env=own_environment(*plugins.folders()), check=True, timeout=120)


def test_a_worker_loads_what_its_coordinator_has(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = encode_circuit(worlds.agreement().task.lowered.node)
    start = Start("A", "alice", "bob", circuit, "paillier", "", True, True, 60.0, 60.0, 5.0, 5.0)
    monkeypatch.delitem(PLUGGED, "paillier")
    with pytest.raises(UsageError):
        Worker(start)
    monkeypatch.delitem(plugins._loaded, PLUG_IN)
    Worker(replace(start, plugins=PLUG_IN))


# -- two processes over TLS --------------------------------------------------------------------------------

A_ROWS: worlds.Rows = [(1, 1), (2, 3), (7, 7), (9, 2), (12, 12), (4, 14)]
B_ROWS: worlds.Rows = [(1, 2), (8, 7), (3, 3), (12, 13), (0, 9)]
POINTS = worlds.agreement(protocol="all-pairs").model_dump(mode="json")
BY_KEY = [{"kind": "key", "field": "x"}]
LOCAL = {"name": "local-dp", "window": 16, "A": {"epsilon": "2"}, "B": {"public": True}}
EQUAL = "same(x) and within(y, 1)"


def typed(folder: Path, *words: str, module: tuple[str, ...] = ("reproduction", "accord")) -> Any:
    """A command in the folder of a party."""
    command = [sys.executable, "-m", *module, "--state", str(folder / "state"), *words]
    pipe, home = subprocess.PIPE, environment(folder)
    return subprocess.Popen(command, cwd=ROOT, env=home, stdout=pipe, stderr=pipe, text=True)


def done(process: Any) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return str(out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "more", "matches"),
    [
        ({"protocol": {"name": "psi-expand"}, "rule": "euclidean(x, y) <= 1"}, (), 4),
        ({"protocol": LOCAL, "rule": EQUAL, "blocking": BY_KEY}, (), 2),
        ({"engine": "paillier-packed", "rule": EQUAL}, ("--workers", "1"), 2),
    ],
    ids=["psi-expand", "local-dp", "paillier"],
)
def test_two_machines_link(
    changes: dict[str, Any], more: tuple[str, ...], matches: int, tmp_path: Path
) -> None:
    parties = {name: tmp_path / name for name in ("alice", "bob")}
    for (name, folder), rows in zip(parties.items(), (A_ROWS, B_ROWS), strict=True):
        folder.mkdir()
        (folder / "agreement.toml").write_text(Agreement.model_validate(POINTS | changes).to_toml())
        lines = ["id,x,y", *(f"{name}{i},{x},{y}" for i, (x, y) in enumerate(rows))]
        (folder / "table.csv").write_text("\n".join(lines) + "\n")
        done(typed(folder, "identity", "--name", name, "--out", str(folder / "card")))
        done(typed(folder, "ledger", "budget", "table", "--epsilon", "unlimited"))
    port, both = free_port(), []
    for name, partner, way in (("alice", "bob", "--listen"), ("bob", "alice", "--connect")):
        own = parties[name]
        done(typed(own, "partner", "add", partner, str(parties[partner] / "card")))
        files = ("--agreement", str(own / "agreement.toml"), "--out", str(own / "pairs.csv"))
        where = ("--partner", partner, way, f"127.0.0.1:{port}", *more)
        both.append(typed(own, "link", str(own / "table.csv"), *files, *where, "--yes", "--json"))
    try:
        for process in both:
            done(process)
    finally:
        for process in both:
            process.kill()
    assert len({(folder / "pairs.csv").read_bytes() for folder in parties.values()}) == 1
    (receipt,) = parties["alice"].glob("state/runs/*/receipt")
    assert dict(read_receipt(receipt).facts)["matches"] == matches
    if changes.get("protocol") == LOCAL:
        # An accountant without the plug-in does not know its events.
        done(typed(parties["alice"], "ledger"))
        assert typed(parties["alice"], "ledger", module=("accord",)).wait(120)
