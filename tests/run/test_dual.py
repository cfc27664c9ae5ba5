"""A run with the engine `dual`: one test before anything is shown; if it fails, the run is closed."""

from __future__ import annotations

import json
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
    StoppedError,
    UnequalError,
    UsageError,
)
from accord.peer.handshake import Wish
from accord.protocols import linkage
from accord.run.link import Linked
from accord.run.verbs import resume
from accord.secure.dual import engine as dual_engine
from accord.secure.dual.engine import DualEngine
from accord.secure.dual.labels import exchange_labels
from accord.side import Side
from accord.state.ledger import Ledger
from accord.state.runs import open_run
from accord.workers.pool import Sharing
from tests.cli import terminal
from tests.run import cheats, faults, worlds
from tests.run.faults import Office, Wire
from tests.run.processes import meet
from tests.run.test_cheats import linked
from tests.run.test_lies import honest, lie
from tests.run.test_resume import EXPECTED


def dual(agreed: Agreement, **changes: Any) -> Agreement:
    return Agreement.model_validate(agreed.model_dump() | {"engine": "dual"} | changes)


def offices(folder: Path, kind: str = "plain") -> dict[Side, Office]:
    both = faults.offices(folder, kind)
    for office in both.values():
        office.agreement = dual(office.agreement)
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


@pytest.mark.slow
def test_two_processes_over_tls(tmp_path: Path) -> None:
    both = offices(tmp_path)
    ended = meet(both, None)
    assert [code for code, _ in ended.ends.values()] == [0, 0], ended.ends
    assert [office.out.read_bytes() for office in both.values()] == [EXPECTED["plain"]] * 2


@pytest.mark.slow
def test_who_garbles_wrongly_gets_nothing_from_a_process_of_its_own(tmp_path: Path) -> None:
    agreed = cheats.agreement("dual", name="all-pairs")
    with cheats.garble_wrongly():
        found = lie(cheats.offices(tmp_path, agreed), honest)
    assert found.code == 18, found.said
    assert "not the same" in found.said


@pytest.mark.usefixtures("quick")
def test_a_failed_test_shows_nothing_and_closes_the_run(tmp_path: Path) -> None:
    both = cheats.offices(tmp_path, cheats.agreement("dual", name="all-pairs"))
    with cheats.garble_wrongly():
        ending, seen = linked(both)
    assert isinstance(ending[Side.A], UnequalError)
    assert not seen
    name = faults.common_run(both)
    assert name
    assert open_run(both[Side.A].state, name).manifest.state == "unequal"
    with pytest.raises(ClosedUnequalError):
        faults.resume(both, name)


def test_both_sides_close_it_and_every_command_says_so(tmp_path: Path) -> None:
    agreed = dual(faults.agreement("plain"))
    both = worlds.introduce(tmp_path, agreed)
    # A wrong table makes the answer of one pair in four wrong: of some hundred pairs none is once in 10^12.
    a, b = (
        {"data": worlds.table(10 * rows, name)} for rows, name in ((worlds.A_ROWS, "a"), (worlds.B_ROWS, "b"))
    )
    with cheats.garble_wrongly():
        mine, theirs = worlds.link_both(*both, agreed, a_options=a, b_options=b)
    assert (type(mine), mine.exit_code) == (UnequalError, 18)
    assert "If that was bob, it learned one bit" in str(mine)
    assert "resume" not in "".join([str(mine), *getattr(mine, "__notes__", ())])
    assert (type(theirs), theirs.exit_code) == (StoppedError, 18)
    assert "The run is closed here, too." in str(theirs)
    for own in both:
        (row,) = Ledger(own.state.database).runs()
        found = open_run(own.state, row.run).manifest
        assert (found.state, found.closed, found.wrong) == ("unequal", True, 0)
        with pytest.raises(ClosedUnequalError, match=f"The run {row.run} is closed: the two sides"):
            resume(row.run, state=own.state.folder, connect="127.0.0.1:1")

        def accord(*typed: str, folder: Path = own.state.folder) -> terminal.Done:
            return terminal.accord(folder, "--state", str(folder), *typed)

        (told,) = json.loads(accord("runs", "--json").stdout)
        assert (told["ended"], told["done"], told["closed"]) == ("unequal", False, True)
        assert "did not compute the same" in " ".join(accord("receipt", row.run).stderr.split())
    assert all(isinstance(result, Linked) for result in worlds.link_both(*both, agreed))


@pytest.mark.usefixtures("quick")
def test_flipped_choices_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = offices(tmp_path)

    def flipped(session: Any, *rest: Any) -> Any:
        if session.side is Side.B:
            cheats.flip_choices(session.receiver, range(cheats.TREES))
        return exchange_labels(session, *rest)

    monkeypatch.setattr(dual_engine, "exchange_labels", flipped)
    assert isinstance(faults.link(both)[Side.A], PeerError)
    name = faults.common_run(both)
    assert name
    assert open_run(both[Side.A].state, name).manifest.wrong == 1


def frames_before_the_test(folder: Path) -> int:
    """Of a whole run, those before A asks."""
    wire = Wire()
    faults.link(offices(folder), wire)
    sizes = [len(body) for _, body in wire.passed]
    return next(n for n in range(len(sizes) - 1, -1, -1) if sizes[n] > 3000 and sizes[n + 1] == 32)


@pytest.mark.usefixtures("quick")
def test_a_run_that_is_cut_before_its_matches_are_kept_is_resumed_a_few_times(tmp_path: Path) -> None:
    both = offices(tmp_path / "cut")
    cut = frames_before_the_test(tmp_path / "whole")
    faults.link(both, Wire(frames=cut))
    name = faults.common_run(both)
    assert name
    for _ in range(linkage.MOST_RESUMES):
        assert set(faults.resume(both, name, Wire(frames=cut - 4)).values()) == {None}
    for ending in faults.resume(both, name).values():
        assert isinstance(ending, NotResumedError)
        assert "was resumed 3 times before its comparisons were kept" in str(ending)
    faults.require_done(faults.link(both), both, EXPECTED["plain"])


@pytest.mark.usefixtures("quick")
def test_a_run_is_resumed_as_often_as_one_likes_once_its_matches_are_kept(tmp_path: Path) -> None:
    both = offices(tmp_path / "cut")
    cut = frames_before_the_test(tmp_path / "whole")
    faults.link(both, Wire(frames=cut + 5))
    name = faults.common_run(both)
    assert name
    assert [open_run(office.state, name).steps() for office in both.values()] == [3, 3]
    for _ in range(linkage.MOST_RESUMES + 1):
        faults.resume(both, name, Wire(frames=3))
    faults.require_done(faults.resume(both, name), both, EXPECTED["plain"])


REFUSED = {
    "greedy": "rounds of which each shows its matches, as greedy = true has them; set greedy = false",
    "routed": "rows of which each side holds a share",
    "psi": "psi, which has no comparisons that it could test",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_does_not_fit_is_no_agreement(kind: str) -> None:
    with pytest.raises(AgreementError, match="engine 'dual' cannot evaluate") as caught:
        parse_agreement(dual(faults.agreement(kind)).to_toml())
    assert REFUSED[kind] in str(caught.value)


@pytest.mark.usefixtures("quick")
def test_more_than_one_test_takes_is_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dual_engine, "MOST_PAIRS", 20)
    for result in faults.link(offices(tmp_path)).values():
        assert isinstance(result, UsageError)
        assert "compares all at once, at most 20 pairs" in str(result)
        assert "finer blocking" in str(result)


def test_no_workers_are_started() -> None:
    """However many are wanted: the comparisons of a run are one evaluation."""

    class Nobody:
        def dismiss(self) -> None:
            dismissed.append(True)

    dismissed: list[bool] = []
    wish = Wish(4, always=True)
    sharing = Sharing(wish, wish, Nobody())  # type: ignore[arg-type]
    agreed = dual(faults.agreement("plain"))
    engine = agreed.engine.build()
    party = sharing.gather(Side.A, engine, agreed.task.lowered.node, System(), 1 << 30)
    next(party)
    assert dismissed
