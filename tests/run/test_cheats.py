"""What a partner that cheats in the engine gets, and what stops it: docs/threat-model.md, row by row."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
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
    TooManyMatchesError,
    UnequalError,
    UsageError,
)
from accord.peer.handshake import Wish
from accord.protocols import linkage
from accord.protocols.parts import disclosed
from accord.run.stages import Linked
from accord.secure.dual import engine as dual_engine
from accord.secure.dual.engine import DualEngine
from accord.secure.dual.labels import exchange_labels
from accord.side import Side
from accord.state.runs import open_run
from accord.workers.pool import Sharing
from tests.run import cheats, faults
from tests.run.faults import EXPECTED, Ending, Office, Wire

pytestmark = pytest.mark.usefixtures("quick")


def linked(both: dict[Side, Office]) -> tuple[Ending, set[bytes]]:
    """How a run ended, and the ids of A's records that reached B."""
    wire = faults.Wire()
    ending = faults.link(both, wire)
    sent = b"\n".join(body for side, body in wire.passed if side is Side.A)
    return ending, set(re.findall(rb"A-\d\d\d", sent))


def require_unnoticed(ending: Ending, matches: int) -> None:
    """Both hold a receipt that both signed."""
    for result in ending.values():
        assert isinstance(result, Linked), result
        assert result.matches == matches
        assert result.receipt.exists()


def test_ot_filters_are_read_bit_by_bit_and_nobody_notices(tmp_path: Path) -> None:
    both = cheats.offices(tmp_path, cheats.agreement())
    with cheats.read_filters() as loot:
        ending, seen = linked(both)
    require_unnoticed(ending, 0)
    assert not seen, "no record was disclosed"
    assert np.array_equal(loot.real, loot.true_real)
    assert (~loot.real).any(), "no dummy was there to be told apart"
    assert loot.real.sum() == cheats.A_COUNT
    assert np.array_equal(loot.filters[loot.real], loot.true_filters[loot.real])


def claimed(folder: Path, agreed: Agreement) -> tuple[Ending, set[bytes], dict[Side, Office]]:
    both = cheats.offices(folder, agreed)
    with cheats.claim_all():
        return *linked(both), both


def test_who_claims_everything_gets_everything_where_nothing_can_be_checked(tmp_path: Path) -> None:
    ending, seen, _ = claimed(tmp_path, cheats.agreement(name="all-pairs", disclose=()))
    require_unnoticed(ending, cheats.A_COUNT * cheats.B_COUNT)
    assert len(seen) == cheats.A_COUNT


def test_who_claims_everything_gets_one_slice_where_matches_are_checked(tmp_path: Path) -> None:
    ending, seen, both = claimed(tmp_path, cheats.agreement(name="all-pairs"))
    assert isinstance(ending[Side.A], PeerError)
    assert not both[Side.A].out.exists()
    assert len(seen) == 1, (
        "pairs come in the order of A's slots: the first slice has one of them, and 16 of B's"
    )
    assert open_run(both[Side.A].state, faults.the_run(both)).manifest.wrong == 1


@pytest.mark.parametrize("disclose", [(), ("name", "part")])
@pytest.mark.parametrize("most", [5, "20%", 40])
def test_no_more_than_the_bound_are_shown(tmp_path: Path, disclose: tuple[str, ...], most: object) -> None:
    agreed = cheats.agreement(name="all-pairs", disclose=disclose, most_matches={"A": most})
    ending, seen, both = claimed(tmp_path, agreed)
    bound = agreed.bounds[Side.A].of(cheats.A_COUNT)
    assert len(seen) <= bound
    if bound < cheats.A_COUNT:
        error = ending[Side.A]
        assert isinstance(error, TooManyMatchesError)
        assert (error.most, error.shown, len(seen)) == (bound, 0, 0)
    (row,) = both[Side.A].ledger.runs()
    assert row.run == faults.common_run(both), "the run stands in the ledger"


@pytest.mark.parametrize(
    "kind", ["greedy", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("plain", "all-pairs"))]
)
def test_a_cut_gives_no_second_count(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut after every third message, resumed, cut again: all attempts together show no more than agreed."""
    shown: set[str] = set()
    true = disclosed.encode

    def encode(own: disclosed.Disclosed) -> bytes:
        shown.update(name for name in own.ids.to_pylist() if name.startswith("A"))
        return true(own)

    monkeypatch.setattr(disclosed, "encode", encode)
    # With greedy the noise decides how many of the matches fall into the first round; where all do, none is
    # shown. That is so in fewer than one of five runs, so there is a false alarm in 5⁻⁸ at most.
    for turn in range(8):
        cut_again_and_again(tmp_path / str(turn), kind)
        assert len(shown) <= 2
        if shown or kind == "plain":
            return
        shown.clear()
    raise AssertionError("nothing was shown, so nothing was tried")


def cut_again_and_again(folder: Path, kind: str) -> None:
    """A run under a bound, cut and resumed until the bound has ended it."""
    both = faults.offices(folder, kind)
    agreed = Agreement.model_validate(both[Side.A].agreement.model_dump() | {"most_matches": {"A": 2}})
    for office in both.values():
        office.agreement = agreed
    faults.link(both, faults.Wire(frames=12))
    name = faults.the_run(both)
    for frames in (*range(3, 60, 3), None):
        error = faults.resume(both, name, faults.Wire(frames=frames))[Side.A]
    assert isinstance(error, TooManyMatchesError), error


# -- the engine `dual`: one test before anything is shown; if it fails, the run is closed -------------------


def dual(kind: str) -> Agreement:
    return Agreement.model_validate(faults.agreement(kind).model_dump() | {"engine": "dual"})


def dual_offices(folder: Path, kind: str = "plain") -> dict[Side, Office]:
    both = faults.offices(folder, kind)
    for office in both.values():
        office.agreement = dual(kind)
    return both


@pytest.mark.parametrize("kind", ["plain", "one-to-one"])
def test_an_honest_run_is_one_evaluation(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, asked, true = dual_offices(tmp_path, kind), [], DualEngine.evaluate

    def evaluate(self: DualEngine, session: Any, *rest: Any) -> Any:
        asked.append(session.ot.side)
        return true(self, session, *rest)

    monkeypatch.setattr(DualEngine, "evaluate", evaluate)
    faults.require_done(faults.link(both), both, EXPECTED[kind])
    assert sorted(asked, key=lambda side: side.value) == [Side.A, Side.B]


def test_a_failed_test_shows_nothing_and_closes_the_run(tmp_path: Path) -> None:
    """A wrong table makes one answer in four wrong: of some thousand pairs none is once in 10^100."""
    both, wire = cheats.offices(tmp_path, cheats.agreement("dual", name="all-pairs")), Wire(told=True)
    with cheats.garble_wrongly():
        ending = faults.link(both, wire)
    assert [type(end) for end in ending.values()] == [UnequalError, StoppedError]
    assert not re.findall(rb"A-\d\d\d", b"".join(body for _, body in wire.passed))
    name = faults.the_run(both)
    for office in both.values():
        found = open_run(office.state, name).manifest
        assert (found.state, found.closed, found.wrong) == ("unequal", True, 0)
    with pytest.raises(ClosedUnequalError):
        faults.resume(both, name)
    faults.require_linked(faults.link(both))


def test_flipped_choices_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = dual_offices(tmp_path)

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
    faults.link(dual_offices(folder), wire)
    sizes = [len(body) for _, body in wire.passed]
    return next(n for n in range(len(sizes) - 1, -1, -1) if sizes[n] > 3000 and sizes[n + 1] == 32)


def test_a_run_is_resumed_a_few_times_before_its_matches_are_kept_and_then_at_will(tmp_path: Path) -> None:
    cut = frames_before_the_test(tmp_path / "whole")
    for kept, (before, again) in ((False, (cut, cut - 4)), (True, (cut + 5, 3))):
        both = dual_offices(tmp_path / str(kept))
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


def test_more_than_one_test_takes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dual_engine, "MOST_PAIRS", 20)
    for result in faults.link(dual_offices(tmp_path)).values():
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
