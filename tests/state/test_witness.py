"""The partner is the witness: an older state is refused before anything is drawn, honest cuts never are."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.errors import AccordError, NotResumedError, OlderStateError, StoppedError
from accord.peer.partners import acknowledge
from accord.run.result import Linked
from accord.side import Side
from accord.state.witness import Standing, remembered_standing, witness
from tests.run import faults

pytestmark = pytest.mark.usefixtures("quick")


def put_back(office: faults.Office, copy: Path) -> None:
    """As `cp`, or the snapshot of a machine, does."""
    shutil.copy(copy, office.state.store.path)


@pytest.mark.parametrize("side", Side)
def test_an_older_state_is_refused(side: Side, tmp_path: Path) -> None:
    """On both sides, and nothing is drawn or charged; with the latest state they go on."""
    both = faults.offices(tmp_path)
    faults.require_linked(faults.link(both))
    office, older, latest = both[side], tmp_path / "older", tmp_path / "latest"
    shutil.copy(office.state.store.path, older)
    faults.require_linked(faults.link(both))
    shutil.copy(office.state.store.path, latest)
    put_back(office, older)
    before = [len(one.ledger.runs()) for one in both.values()]
    ending = faults.link(both, faults.Wire(told=True))
    assert isinstance(ending[side.other], OlderStateError)
    assert isinstance(ending[side], AccordError)
    assert [len(one.ledger.runs()) for one in both.values()] == before
    put_back(office, latest)
    faults.require_linked(faults.link(both))


def test_a_copied_machine_is_refused(tmp_path: Path) -> None:
    """Both go on from one state: the partner saw as many runs of each, and not the same."""
    both = faults.offices(tmp_path)
    office, twin, first = both[Side.A], tmp_path / "twin", tmp_path / "first"
    shutil.copy(office.state.store.path, twin)
    faults.require_linked(faults.link(both))
    shutil.copy(office.state.store.path, first)
    put_back(office, twin)
    assert isinstance(faults.link(both)[Side.B], OlderStateError)


def test_a_loss_that_both_acknowledge_is_gone_on_from_once(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    shutil.copy(both[Side.A].state.store.path, older := tmp_path / "older")
    faults.require_linked(faults.link(both))
    put_back(both[Side.A], older)
    for office in both.values():
        assert isinstance(faults.link(both)[Side.B], OlderStateError)
        acknowledge(office.state, office.partner)
    faults.require_linked(faults.link(both))
    put_back(both[Side.A], older)
    assert isinstance(faults.link(both)[Side.B], OlderStateError)


def test_a_statement_that_was_overtaken_is_no_older_state(tmp_path: Path) -> None:
    """Two runs of the two may go on side by side."""
    state = faults.offices(tmp_path)[Side.A].state
    first, second, third = (Standing(runs, bytes([runs]) * 32) for runs in (1, 2, 3))
    witness(state, "bob", "alice", third, Standing())
    witness(state, "bob", "alice", second, first)
    assert remembered_standing(state, "bob", "alice") == third
    for told, before in ((second, third), (replace(third, link=bytes(32)), second)):
        with pytest.raises(OlderStateError):
            witness(state, "bob", "alice", told, before)


@settings(max_examples=8)
@given(
    cuts=st.lists(
        st.tuples(st.integers(1, 60), st.booleans(), st.sampled_from(["resume", "link", "forget"])),
        min_size=1,
        max_size=4,
    ),
    kind=st.sampled_from(["greedy", "psi", "routed"]),
)
def test_no_honest_history_is_refused(
    cuts: list[tuple[int, bool, str]], kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Runs are cut anywhere, also between the two charges; they are resumed, begun anew or forgotten."""
    both = faults.offices(tmp_path_factory.mktemp("history"), kind)
    for frames, lost, then in cuts:
        ending = faults.link(both, faults.Wire(frames=frames, lost=lost))
        assert not any(isinstance(end, OlderStateError) for end in ending.values())
        name = faults.common_run(both) if then == "resume" else None
        if name:
            resumed = faults.resume(both, name)
            assert all(isinstance(end, Linked | NotResumedError | StoppedError) for end in resumed.values())
        for office in both.values():
            run = office.run
            if run is not None and not (then == "link" and frames % 2):
                office.ledger.forget(run.manifest.run)
    faults.require_linked(faults.link(both))
