"""A partner that lies in the middle of a run: A ends with an error or with true pairs, and unharmed.

A partner that follows the protocol has its frames changed on the way, one after the other; or its engine, its
counts or its signature lie. Whoever lies in the engine can make a match go missing on both sides, and nobody
could tell. With greedy a pair that is none is found out, since its values are disclosed and matched again;
without it both may come to believe one (docs/security.md), so there only its rows must be true ones.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.errors import AccordError, PeerError
from accord.protocols.parts.slots import Slots, make_slots
from accord.run.stages import Linked
from accord.secure.ot.batch import run_b
from accord.secure.party import Party, Send
from accord.side import Side
from tests.run import faults
from tests.run.faults import Ending, Office, Wire
from tests.run.test_resume import EXPECTED

pytestmark = pytest.mark.usefixtures("quick")

PLAUSIBLE = {EXPECTED["plain"].splitlines()[0]} | {
    b'"A%d","B%d","%d","%d","%d","%d"' % (i, j, *a, *b)
    for i, a in enumerate(faults.A_ROWS)
    for j, b in enumerate(faults.B_ROWS)
}
"""Every pair of a row of A with a row of B, as the output writes it."""

Change = Callable[[int, bytes, list[bytes]], bytes | None]
"""What becomes of B's n-th frame, given what B sent before; None: nothing arrives."""


def tampered(party: Party[Linked], change: Change) -> Party[Linked]:
    """The same party, with what it sends changed on the way."""
    answer: Any = None
    before: list[bytes] = []
    while True:
        try:
            effect = party.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(effect, Send):
            sent = bytes(effect.buffer)
            arriving = change(len(before), sent, before)
            before.append(sent)
            if arriving is not None:
                yield Send(arriving)
            answer = None
        else:
            answer = yield effect


def against(both: dict[Side, Office], change: Change) -> Ending:
    """A against a B whose frames are changed."""
    parties = faults.linking(both)
    parties[Side.B] = tampered(parties[Side.B], change)
    return faults.drive(parties, Wire())


def require_unharmed(both: dict[Side, Office], kind: str, result: Linked | BaseException | None) -> None:
    """A has true pairs or no output, was charged once, and can link again at no cost."""
    mine = both[Side.A]
    assert result is None or isinstance(result, AccordError | Linked), repr(result)
    assert mine.out.exists() or not isinstance(result, Linked)
    if mine.out.exists():
        # It is written once both sides have confirmed it, so it may be there though the receipt failed.
        written = set(mine.out.read_bytes().splitlines())
        assert written <= (PLAUSIBLE if kind == "plain" else set(EXPECTED[kind].splitlines()))
    faults.require_one_charge(mine, least=0)
    name = faults.common_run(both)
    if name:
        again = faults.resume(both, name)[Side.A]
        assert isinstance(again, Linked | PeerError) or again is None
    faults.require_done(faults.link(both), both, EXPECTED[kind])


def garbled(at: int, seed: int) -> Change:
    def change(number: int, frame: bytes, before: list[bytes]) -> bytes:
        if number != at or not frame:
            return frame
        noise = np.random.default_rng(seed).integers(0, 256, len(frame), dtype=np.uint8)
        return (np.frombuffer(frame, np.uint8) ^ noise).tobytes()

    return change


def flipped(at: int, seed: int) -> Change:
    def change(number: int, frame: bytes, before: list[bytes]) -> bytes:
        if number != at or not frame:
            return frame
        place = int(np.random.default_rng(seed).integers(len(frame) * 8))
        return bytes(b ^ (1 << place % 8 if i == place // 8 else 0) for i, b in enumerate(frame))

    return change


def shortened(at: int, seed: int) -> Change:
    return lambda number, frame, before: frame[:-1] if number == at else frame


def lengthened(at: int, seed: int) -> Change:
    return lambda number, frame, before: frame + b"\0" if number == at else frame


def replayed(at: int, seed: int) -> Change:
    """An earlier frame of the same size instead, if there is one."""

    def change(number: int, frame: bytes, before: list[bytes]) -> bytes:
        same = [old for old in before if len(old) == len(frame)]
        return same[-1] if number == at and same else frame

    return change


def swallowed(at: int, seed: int) -> Change:
    return lambda number, frame, before: None if number == at else frame


CHANGES = (garbled, flipped, shortened, lengthened, replayed, swallowed)


def frames_of_b(folder: Path, kind: str) -> int:
    both, wire = faults.offices(folder, kind), Wire()
    faults.link(both, wire)
    return sum(sender is Side.B for sender, _ in wire.passed)


@pytest.mark.parametrize("make", CHANGES)
def test_some_frames_changed_on_the_way(
    make: Callable[[int, int], Change], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = frames_of_b(tmp_path / "whole", "plain")
    start = CHANGES.index(make)
    for at in range(start, count, 19):
        both = faults.offices(tmp_path / str(at), "plain")
        result = against(both, make(at, at))[Side.A]
        require_unharmed(both, "plain", result)


@pytest.mark.slow
@pytest.mark.parametrize("kind", faults.KINDS)
@pytest.mark.parametrize("make", CHANGES)
def test_every_frame_changed_on_the_way(
    make: Callable[[int, int], Change], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(frames_of_b(tmp_path / "whole", kind)):
        both = faults.offices(tmp_path / str(at), kind)
        result = against(both, make(at, at))[Side.A]
        require_unharmed(both, kind, result)


def test_counts_that_contradict_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B commits to, and opens, more than its nine records and its noise can come to."""
    real = make_slots

    def padded(plan: Any, side: Side, records: Any, dummies: Any, entropy: Any) -> Slots:
        return real(plan, side, records, dummies + (5000 if side is Side.B else 0), entropy)

    both = faults.offices(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("accord.protocols.binned.make_slots", padded)
        result = faults.link(both)[Side.A]
    assert isinstance(result, PeerError)
    assert "no table of its size" in str(result)
    require_unharmed(faults.offices(tmp_path / "new"), "greedy", result)


def test_counts_that_contradict_the_commitment(tmp_path: Path) -> None:
    """Hello, size, commitments, counts: in B's fourth frame one count is one more."""

    def change(number: int, frame: bytes, before: list[bytes]) -> bytes:
        return frame[:-8] + bytes([frame[-8] ^ 1]) + frame[-7:] if number == 3 else frame

    both = faults.offices(tmp_path)
    result = against(both, change)[Side.A]
    assert isinstance(result, PeerError)
    assert "differ from those it had committed to" in str(result)


def test_a_match_that_the_rule_denies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B ends a batch with the answers in the clear: it adds a match of its own making, in every way there is.

    Whichever pair it names, A must not believe it, whether greedy or not, and must not write it down.
    """
    real, seen = run_b, []

    def lying(half: Any) -> Party[Any]:
        party = real(half)
        answer: Any = None
        held: Send | None = None
        while True:
            try:
                effect = party.send(answer)
            except StopIteration as end:
                assert held is not None
                bits = np.unpackbits(np.frombuffer(held.buffer, np.uint8), bitorder="little")
                bits[np.flatnonzero(bits[: half.batch.pairs] == 0)[:1]] = 1
                seen.append(half.batch.pairs)
                yield Send(np.packbits(bits, bitorder="little").tobytes())
                return end.value
            if held is not None:
                yield held
                held = None
            if isinstance(effect, Send):
                held, answer = effect, None
            else:
                answer = yield effect

    for kind in ("greedy", "all-pairs", "plain"):
        both = faults.offices(tmp_path / kind, kind)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("accord.secure.ot.engine.run_b", lying)
            result = faults.link(both)[Side.A]
        assert seen
        assert isinstance(result, PeerError) or result is None, result
        require_unharmed(both, kind, result)


def test_a_wrong_signature_on_the_receipt(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    count = frames_of_b(tmp_path / "whole", "plain")
    result = against(both, flipped(count - 1, 5))[Side.A]
    assert isinstance(result, PeerError)
    assert "signature that does not fit" in str(result)
    require_unharmed(both, "plain", result)
