"""A run with the engine `dual`: one test before anything is shown; if it fails, the run is closed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.entropy import System
from accord.errors import (
    AgreementError,
    ClosedUnequalError,
    NotResumedError,
    PeerError,
    UnequalError,
    UsageError,
)
from accord.peer.handshake import Wish
from accord.protocols import linkage
from accord.secure.dual import engine as dual_engine
from accord.secure.dual.engine import DualEngine
from accord.secure.dual.labels import exchange_labels
from accord.side import Side
from accord.state.runs import open_run
from accord.workers.pool import Sharing
from tests.run import cheats, faults
from tests.run.faults import EXPECTED, Office, Wire
from tests.run.test_cheats import linked


def dual(kind: str) -> Agreement:
    return Agreement.model_validate(faults.agreement(kind).model_dump() | {"engine": "dual"})


def offices(folder: Path, kind: str = "plain") -> dict[Side, Office]:
    both = faults.offices(folder, kind)
    for office in both.values():
        office.agreement = dual(kind)
    return both


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", ["plain", "one-to-one"])
def test_an_honest_run_is_one_evaluation(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, asked, true = offices(tmp_path, kind), [], DualEngine.evaluate

    def evaluate(self: DualEngine, session: Any, *rest: Any) -> Any:
        asked.append(session.ot.side)
        return true(self, session, *rest)

    monkeypatch.setattr(DualEngine, "evaluate", evaluate)
    faults.require_done(faults.link(both), both, EXPECTED[kind])
    assert sorted(asked, key=lambda side: side.value) == [Side.A, Side.B]


@pytest.mark.usefixtures("quick")
def test_a_failed_test_shows_nothing_and_closes_the_run(tmp_path: Path) -> None:
    both = cheats.offices(tmp_path, cheats.agreement("dual", name="all-pairs"))
    with cheats.garble_wrongly():
        ending, seen = linked(both)
    assert isinstance(ending[Side.A], UnequalError)
    assert not seen
    name = faults.the_run(both)
    assert open_run(both[Side.A].state, name).manifest.state == "unequal"
    with pytest.raises(ClosedUnequalError):
        faults.resume(both, name)


@pytest.mark.usefixtures("quick")
def test_flipped_choices_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = offices(tmp_path)

    def flipped(session: Any, *rest: Any) -> Any:
        if session.side is Side.B:
            cheats.flip_choices(session.receiver, range(cheats.TREES))
        return exchange_labels(session, *rest)

    monkeypatch.setattr(dual_engine, "exchange_labels", flipped)
    assert isinstance(faults.link(both)[Side.A], PeerError)
    assert open_run(both[Side.A].state, faults.the_run(both)).manifest.wrong == 1


def frames_before_the_test(folder: Path) -> int:
    """Of a whole run, those before A asks."""
    wire = Wire()
    faults.link(offices(folder), wire)
    sizes = [len(body) for _, body in wire.passed]
    return next(n for n in range(len(sizes) - 1, -1, -1) if sizes[n] > 3000 and sizes[n + 1] == 32)


@pytest.mark.usefixtures("quick")
def test_a_run_is_resumed_a_few_times_before_its_matches_are_kept_and_then_at_will(tmp_path: Path) -> None:
    cut = frames_before_the_test(tmp_path / "whole")
    for kept, (before, again) in ((False, (cut, cut - 4)), (True, (cut + 5, 3))):
        both = offices(tmp_path / str(kept))
        faults.link(both, Wire(frames=before))
        name = faults.the_run(both)
        assert [open_run(office.state, name).steps() >= 3 for office in both.values()] == [kept] * 2
        for _ in range(linkage.MOST_RESUMES + kept):
            assert set(faults.resume(both, name, Wire(frames=again)).values()) == {None}
        if kept:
            faults.require_done(faults.resume(both, name), both, EXPECTED["plain"])
            continue
        for ending in faults.resume(both, name).values():
            assert isinstance(ending, NotResumedError)
        faults.require_done(faults.link(both), both, EXPECTED["plain"])


@pytest.mark.parametrize("kind", ["greedy", "routed", "psi"])
def test_what_does_not_fit_is_no_agreement(kind: str) -> None:
    """Rounds that each show their matches, shares of rows, and nothing that could be tested."""
    with pytest.raises(AgreementError) as caught:
        parse_agreement(dual(kind).to_toml())
    assert "engine" in caught.value.faults[0].place


@pytest.mark.usefixtures("quick")
def test_more_than_one_test_takes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dual_engine, "MOST_PAIRS", 20)
    for result in faults.link(offices(tmp_path)).values():
        assert isinstance(result, UsageError)


def test_no_workers_are_started() -> None:
    """However many are wanted: the comparisons of a run are one evaluation."""

    class Nobody:
        def dismiss(self) -> None:
            dismissed.append(True)

    dismissed: list[bool] = []
    wish, agreed = Wish(4, always=True), dual("plain")
    sharing = Sharing(wish, wish, Nobody())  # type: ignore[arg-type]
    next(sharing.gather(Side.A, agreed.engine.build(), agreed.task.lowered.node, System(), 1 << 30))
    assert dismissed
