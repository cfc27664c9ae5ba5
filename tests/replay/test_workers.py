"""Replays of runs with workers: of their messages, too, every one is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.accountable.stored import attempts
from accord.errors import DepartedError, StateError
from accord.replay.both_sides import replay_both
from accord.replay.one_side import make_evidence, replay_side
from accord.replay.pledged import open_pledged_side
from accord.run.receipt import read_receipt
from accord.run.stages import Linked
from accord.side import Side
from accord.workers import local as workers_local
from tests.protocols.worlds import agreement
from tests.replay.replays import accountable
from tests.run import faults, worlds
from tests.workers.test_workers import Death, crowds, meet, named, require_done


@pytest.mark.slow
@pytest.mark.parametrize("greedy", [False, True])
def test_an_honest_run_with_two_workers(greedy: bool, tmp_path: Path) -> None:
    """Over TLS; a worker's messages are judged as its coordinator's are."""
    agreed = agreement(greedy=greedy).model_copy(update={"accountable": True})
    a, b = worlds.introduce(tmp_path, agreed)
    two = {"workers": 2}
    for result in worlds.link_both(a, b, agreed, a_options=two, b_options=two):
        assert isinstance(result, Linked), result
    name = result.run
    tables = {Side.A: worlds.table(worlds.A_ROWS, "a"), Side.B: worlds.table(worlds.B_ROWS, "b")}
    states = {Side.A: a.state, Side.B: b.state}
    cases = {side: open_pledged_side(states[side], name, tables[side]) for side in Side}
    for side in Side:
        evidence = make_evidence(states[side.other], name)
        assert {number for each in evidence.meetings.values() for number in each} == {0, 1, 2}
        assert replay_side(cases[side]) == replay_side(cases[side], evidence)
    transcripts = read_receipt(result.receipt).facts["accountable"]["transcripts"]
    assert len({link for one in transcripts for link in one.values()}) == 6
    replay_both(cases)
    # A link that its worker did not sign convicts nobody, and neither does a message that was damaged.
    (attempt,) = attempts(states[Side.B].run(name))
    with (attempt / "2.sent").open("ab") as file:
        file.write(bytes(32))
    replay_side(cases[Side.B])
    evidence = make_evidence(states[Side.A], name)
    for number in (1, 2):
        path = attempt / f"{number}.received"
        whole = path.read_bytes()
        path.write_bytes(whole[:-9] + bytes(byte ^ 255 for byte in whole[-9:]))
        for known in (None, evidence):
            with pytest.raises(StateError, match=f"as worker {number} in attempt 1 are not all there"):
                replay_side(cases[Side.B], known)
        path.write_bytes(whole)


@pytest.mark.slow
def test_a_worker_that_cheats_is_convicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of B say that nothing matches, and sign so."""
    true = workers_local.start_module

    def start(module: str, *arguments: Any) -> Any:
        return true("tests.workers.worker_cheating", *arguments)

    monkeypatch.setattr(workers_local, "start_module", start)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    agreed = agreement(greedy=False).model_copy(update={"accountable": True})
    a, b = worlds.introduce(tmp_path, agreed)
    two = {"workers": 2}
    for result in worlds.link_both(a, b, agreed, a_options=two, b_options=two):
        assert isinstance(result, Linked), result
        assert result.matches == 0
    name, evidence = result.run, make_evidence(a.state, result.run)
    cases = {
        Side.A: open_pledged_side(a.state, name, worlds.table(worlds.A_ROWS, "a")),
        Side.B: open_pledged_side(b.state, name, worlds.table(worlds.B_ROWS, "b")),
    }
    with pytest.raises(DepartedError, match=r"bob departed .* as worker [12] in attempt 1 is not the one"):
        replay_side(cases[Side.B], evidence)
    with pytest.raises(DepartedError, match=r"bob departed .* as worker [12] in attempt 1 is not the one"):
        replay_both(cases)
    assert replay_side(cases[Side.A], make_evidence(b.state, name)).signatures


@pytest.mark.slow
@pytest.mark.parametrize(
    "death", [Death(Side.A, 0, 1), Death(Side.B, 1, 2), Death(Side.B, None, 1)], ids=named
)
def test_whoever_is_killed_nobody_is_convicted(death: Death, tmp_path: Path) -> None:
    """Neither of the cut attempt, in which workers were ahead of their coordinators, nor of the next."""
    both, expected = crowds(tmp_path)
    accountable(both)
    meet(both, None, {Side.A: 2, Side.B: 2}, death)
    name = faults.common_run(both)
    assert name
    states = {side: office.state for side, office in both.items()}
    for again in (False, True):
        if again:
            require_done(meet(both, name, {Side.A: 3, Side.B: 3}), both, expected)
        for side in Side:
            case, evidence = (
                open_pledged_side(states[side], name, None),
                make_evidence(states[side.other], name),
            )
            assert replay_side(case).attempts == 1 + again
            assert replay_side(case, evidence).attempts == 1 + again
