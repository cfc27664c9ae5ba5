"""A wrong answer is never kept, so that a run goes on after it; after three of them it is closed."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from accord.errors import ClosedError, PeerError, WithheldError
from accord.protocols.greedy import GreedyClean
from accord.protocols.naming import Naming
from accord.run.link import reopen
from accord.run.stages import Linked, go_on
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Buffer, Party, Receive
from accord.side import Side
from accord.state.runs import open_run
from tests.cli.terminal import accord
from tests.run import faults
from tests.run.faults import Ending, Line, Office, Wire
from tests.run.test_resume import EXPECTED
from tests.run.test_tampered import flipped, tampered

pytestmark = pytest.mark.usefixtures("quick")


def doubled_ids(patch: pytest.MonkeyPatch) -> None:
    """B gives all its records one id."""
    true = GreedyClean._disclosure

    def disclosure(self: GreedyClean, records: Any) -> Any:
        told = true(self, records)
        if self._mine.side is Side.B and len(told) > 1:
            return type(told)(
                told.slot_counts, told.slots, told.fields,
                pa.array(["same"] * len(told), pa.large_string()), told.columns,
            )  # fmt: skip
        return told

    patch.setattr(GreedyClean, "_disclosure", disclosure)


def another_record(patch: pytest.MonkeyPatch) -> None:
    """B shows its first record whichever matched."""
    true = GreedyClean._disclosure

    def disclosure(self: GreedyClean, records: Any) -> Any:
        wrong = self._mine.side is Side.B and len(records)
        return true(self, np.array([4]) if wrong else records)

    patch.setattr(GreedyClean, "_disclosure", disclosure)


def dummies_match(patch: pytest.MonkeyPatch) -> None:
    """A's engine says that everything matches: what B can bring about by its messages."""
    true = OtEngine.evaluate

    def evaluate(self: OtEngine, session: Any, *rest: Any) -> Party[Any]:
        bits = yield from true(self, session, *rest)
        return np.ones_like(bits) if session.side is Side.A else bits

    patch.setattr(OtEngine, "evaluate", evaluate)


LIES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "one id for all": (doubled_ids, "same id|disclosed before"),
    "another record": (another_record, "slot did not match|can match"),
    "a match with a dummy": (dummies_match, "a match with a dummy"),
}


def steps(both: dict[Side, Office], name: str) -> int:
    return open_run(both[Side.A].state, name).steps()


@pytest.mark.parametrize("lie", LIES)
def test_a_run_goes_on_after_a_wrong_answer(lie: str, tmp_path: Path) -> None:
    meddle, words = LIES[lie]
    with pytest.MonkeyPatch.context() as patch:
        meddle(patch)
        # With some noise no dummy is in the first round, and B is the one that notices.
        for attempt in range(20):
            both = faults.offices(tmp_path / str(attempt))
            error = faults.link(both)[Side.A]
            if isinstance(error, PeerError):
                break
        assert isinstance(error, PeerError), error
        assert re.search(words, error.problem), error.problem
        name = faults.common_run(both)
        assert name
        kept = steps(both, name)
        assert isinstance(faults.resume(both, name)[Side.A], PeerError)
        assert steps(both, name) == kept, "a wrong answer was kept"
    assert open_run(both[Side.A].state, name).manifest.wrong == 2
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def test_counts_that_were_not_committed_to_are_not_kept(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    parties = faults.linking(both)
    parties[Side.B] = tampered(parties[Side.B], flipped(3, 1))
    assert isinstance(faults.drive(parties, Wire())[Side.A], PeerError)
    name = faults.common_run(both)
    assert name
    assert steps(both, name) == 1
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def lied_to(both: dict[Side, Office], name: str) -> Ending:
    """Both resume, and B's signature at the end is a wrong one."""
    with ExitStack() as stack:
        parties: dict[Side, Party[Linked]] = {}
        for side, o in both.items():
            own, kept = stack.enter_context(reopen(o.state, name))
            parties[side] = go_on(own, kept, Line())
        parties[Side.B] = tampered(
            parties[Side.B], lambda number, frame, before: frame if len(frame) != 64 else bytes(64)
        )
        return faults.drive(parties, Wire())


def test_after_three_wrong_answers_the_run_is_closed(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    faults.link(both, Wire(frames=20))
    name = faults.common_run(both)
    assert name
    assert not open_run(both[Side.A].state, name).manifest.done
    for wrong in (1, 2):
        assert isinstance(lied_to(both, name)[Side.A], PeerError)
        assert open_run(both[Side.A].state, name).manifest.wrong == wrong
    last = lied_to(both, name)[Side.A]
    assert isinstance(last, ClosedError)
    assert last.exit_code == 7
    assert "3 answers of bob did not fit the protocol" in str(last)
    before = faults.stored(both[Side.A], name)
    with pytest.raises(ClosedError, match=f"The run {name} is closed"):
        faults.resume(both, name)
    assert faults.stored(both[Side.A], name) == before
    state = ("--state", str(both[Side.A].state.folder))
    refused = accord(tmp_path, *state, "resume", name, "--listen", "127.0.0.1:0")
    assert (refused.returncode, "is closed" in refused.stderr) == (7, True)
    assert "No run waits" in accord(tmp_path, *state, "resume").stderr
    assert "closed" in accord(tmp_path, *state, "runs").stdout
    # The way out costs nothing, since the release is that of a snapshot.
    faults.require_done(faults.link(both), both, EXPECTED["plain"])


def leaving(party: Party[Linked]) -> Party[Linked]:
    """B up to A's disclosed records, which it takes; it goes without showing its own."""
    answer: Buffer | None = None
    while True:
        effect = party.send(answer) if answer is not None else next(party)
        answer = None
        if isinstance(effect, Receive):
            answer = yield effect
            if bytes(answer[:16]) == b"accord disclosed":
                break
        elif bytes(effect.buffer[:16]) != b"accord disclosed":
            yield effect
    return Linked.__new__(Linked)


def cut_off(both: dict[Side, Office], name: str = "") -> BaseException:
    """What A raises when B takes its records and goes, in a new run or in one that goes on."""
    with ExitStack() as stack:
        parties = {} if name else faults.linking(both)
        for side, o in both.items() if name else ():
            own, kept = stack.enter_context(reopen(o.state, name))
            parties[side] = go_on(own, kept, Line())
        parties[Side.B] = leaving(parties[Side.B])
        found = faults.drive(parties, Wire(told=True))[Side.A]
    assert isinstance(found, BaseException)
    return found


@pytest.mark.parametrize("kind", ["greedy", "plain"])
def test_who_takes_records_and_goes_three_times_closes_the_run(kind: str, tmp_path: Path) -> None:
    both = faults.offices(tmp_path, kind)
    first = cut_off(both)
    assert isinstance(first, WithheldError)
    assert (first.exit_code, "before its own arrived" in str(first)) == (8, True)
    name = faults.common_run(both)
    assert name
    assert open_run(both[Side.A].state, name).manifest.wrong == 1
    assert isinstance(cut_off(both, name), WithheldError)
    last = cut_off(both, name)
    assert isinstance(last, ClosedError)
    assert "nothing where its matching records were due" in str(last)


@pytest.mark.parametrize("kind", ["routed", "cascade"])
def test_so_does_who_names_records_and_keeps_the_pairs(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could name others in every attempt, beyond `most_matches`."""
    both, real = faults.offices(tmp_path, kind), Naming._exchange

    def leave(self: Naming, *given: Any) -> Party[Any]:
        shown = yield from real(self, *given)
        if self._own.side is Side.A:
            raise Line().lost("was cut")
        return shown

    monkeypatch.setattr(Naming, "_exchange", leave)
    found = [faults.link(both, Wire(told=True))[Side.B]]
    for _ in range(2):
        found.append(faults.resume(both, faults.the_run(both), Wire(told=True))[Side.B])
    assert [type(one) for one in found] == [WithheldError, WithheldError, ClosedError]


def test_a_cut_before_or_after_the_disclosure_is_not_counted(tmp_path: Path) -> None:
    """And a run that was cut in it, fewer times than would close it, goes on."""
    both = faults.offices(tmp_path, "plain")
    faults.link(both, Wire(frames=20, told=True))
    name = faults.common_run(both)
    assert name
    assert open_run(both[Side.A].state, name).manifest.wrong == 0
    assert isinstance(cut_off(both, name), WithheldError)
    faults.require_done(faults.resume(both, name), both, EXPECTED["plain"])
