"""The oblivious function over bins: one value a bin, whoever asks, in messages of public sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.secure.party import Party, Send, Wire, receive, run_pair
from accord.secure.prf.binned import Binned, binned_bytes
from accord.secure.prf.oblivious import BLOCK, Clear
from accord.secure.transfer.vole import USUAL, VoleReceiver, VoleSender
from accord.side import Side
from tests.secure.prf.test_oblivious import TINY, items
from tests.secure.worlds import Fixed

Words = NDArray[np.uint64]
Ints = NDArray[np.int32]


def ends(bins: int, sizes: Any = TINY) -> list[Binned]:
    return [Binned(side, Fixed(side.value), bins, sizes) for side in Side]


def places(*numbers: int) -> Ints:
    return np.array(numbers, np.int32)


def asks(end: Binned, sets: list[tuple[Words, Ints, int]]) -> Party[list[Words]]:
    yield from end.meet()
    found = []
    for own, at, bins in sets:
        found.append((yield from end.ask(end.points(own), at, bins)))
    return found


def answers(end: Binned, sets: list[tuple[int, Words, Ints]]) -> Party[list[Words]]:
    yield from end.meet()
    found = []
    for bins, own, at in sets:
        found.append((yield from end.answer(bins, end.points(own), at)))
    return found


@pytest.mark.parametrize("bins", [3, 50, 900, 70_000])
def test_values_are_the_same_for_the_question_of_a_bin_and_for_nothing_else(bins: int) -> None:
    """From elements made of OTs to several rounds and several parts; each question is listed in its bin, in
    another one, and beside another point."""
    count = min(bins // 3, 200)
    at = np.random.default_rng(1).permutation(bins)[:count].astype(np.int32)
    own, wrong = items(0, count), (at + 1) % bins
    listed = np.concatenate([own, own, items(1000, 1000 + count)])
    asker, lister = ends(bins)
    ((asked,), (found,)) = run_pair(
        asks(asker, [(own, at, bins)]),
        answers(lister, [(bins, listed, np.concatenate([at, wrong, at]).astype(np.int32))]),
    )
    assert (asked == found[:count]).all()
    assert len({row.tobytes() for row in found}) == 3 * count


@pytest.mark.parametrize("asker", Side)
def test_one_vole_serves_several_sets(asker: Side) -> None:
    wire, both = Wire(), {side: Binned(side, Fixed(side.value), 300, TINY) for side in Side}
    sets = [
        (items(0, 5), places(4, 3, 2, 1, 0), 100),
        (items(5, 7), places(9, 0), 150),
        (items(9, 9), places(), 50),
    ]
    one = asks(both[asker], sets)
    other = answers(both[asker.other], [(bins, own, at) for own, at, bins in sets])
    asked, found = run_pair(one, other, wire) if asker is Side.A else run_pair(other, one, wire)[::-1]
    for mine, theirs in zip(asked, found, strict=True):
        assert (mine == theirs).all()
    assert wire.sizes[asker][-3:] == [BLOCK * bins for _, _, bins in sets]


@pytest.mark.parametrize("bins", [1, 30])
def test_sizes_are_known_before(bins: int) -> None:
    wire, (asker, lister) = Wire(), ends(bins, USUAL)
    own = items(0, 1)
    run_pair(asks(asker, [(own, places(0), bins)]), answers(lister, [(bins, own, places(0))]), wire)
    assert wire.bytes == binned_bytes(bins)


def test_two_points_of_one_bin_have_one_value() -> None:
    """The asker has the element of a bin, and so the value at the one point that it named to the lister."""
    asker, lister = ends(20)
    own, at = items(0, 2), places(7, 7)
    ((asked,), (found,)) = run_pair(asks(asker, [(own, at, 20)]), answers(lister, [(20, own, at)]))
    assert (asked == found).all(axis=1).tolist() == [False, True]


def test_what_is_sent_for_a_bin_is_no_question_that_fits_two_points() -> None:
    """Whatever stands in its place: with its elements the asker finds no value of what is listed."""
    asker, lister = ends(20)

    def rogue() -> Party[Words]:
        yield from asker.meet()
        _, c = yield from VoleReceiver(asker.take_session().receiver, Fixed("x"), 20, TINY).take(20)
        yield Send(b"\xff" * (BLOCK * 20))
        points = asker.points(items(0, 50))
        return np.concatenate([asker.hash(np.repeat(one[None], 50, axis=0), points) for one in c])

    listed = np.arange(50, dtype=np.int32) % 20
    guessed, (values,) = run_pair(rogue(), answers(lister, [(20, items(0, 50), listed)]))
    assert not {row.tobytes() for row in guessed} & {row.tobytes() for row in values}


def sent_for_zeros(monkeypatch: pytest.MonkeyPatch, bare: bool) -> NDArray[np.uint8]:
    """What an asker sends whose questions are all zeros; bare without the elements of the VOLE."""

    def nothing(end: VoleReceiver, count: int) -> Party[Words]:
        yield from ()
        return np.zeros((2, count, 2), np.uint64)

    if bare:
        monkeypatch.setattr(VoleReceiver, "take", nothing)
    asker, lister = ends(4000)
    at = np.arange(4000, dtype=np.int32)

    def asks_zeros() -> Party[None]:
        yield from asker.meet()
        yield from asker.ask(np.zeros((4000, 2), np.uint64), at, 4000)

    def reads() -> Party[NDArray[np.uint8]]:
        yield from lister.meet()
        if not bare:
            yield from VoleSender(lister.take_session().sender, 4000, TINY).take(4000)
        return (yield from receive(BLOCK * 4000)).copy()

    return run_pair(asks_zeros(), reads())[1]


def test_what_is_sent_looks_uniform_whatever_the_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """χ² of its bytes over 256 values; false alarm 1e-6."""
    counts = np.bincount(sent_for_zeros(monkeypatch, bare=False), minlength=256)
    expected = counts.sum() / 256
    assert ((counts - expected) ** 2 / expected).sum() < 376.4


def test_without_its_mask_it_would_be_the_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not sent_for_zeros(monkeypatch, bare=True).any()


def test_messages_of_other_sizes_are_refused() -> None:
    asker, lister = ends(20)

    def rogue() -> Party[None]:
        yield from asker.meet()
        yield from VoleReceiver(asker.take_session().receiver, Fixed("x"), 20, TINY).take(20)
        yield Send(bytes(BLOCK * 19))

    with pytest.raises(PeerError, match="were due"):
        run_pair(rogue(), answers(lister, [(20, items(0, 1), places(0))]))


def test_the_hash_has_a_permutation_of_its_own() -> None:
    """The permutation of the OTs hashes multiples of the same Δ [MATHS §10.1]."""
    asker, lister = ends(3)
    run_pair(asker.meet(), lister.meet())
    block = np.zeros((1, 2), np.uint64)
    hashes = [end._hashing.apply(block, "x").tolist() for end in (asker, lister)]
    assert hashes[0] == hashes[1] != asker.pi.apply(block, "x").tolist()


def test_in_the_clear_a_value_is_its_point() -> None:
    function, own = Clear(), items(0, 4)
    points = function.points(own)
    asked, listed = run_pair(
        function.ask(points, places(0, 1, 2, 3), 9), function.answer(9, points, places(0))
    )
    assert (asked == listed).all()


def test_questions_are_drawn_for_bins_without_one() -> None:
    """So that what becomes of them is nobody's choice; another seed, other questions."""
    sent = []
    for seed in (1, 2):
        asker = Binned(Side.A, Seeded(seed), 10, TINY)
        lister = Binned(Side.B, Fixed("B"), 10, TINY)
        wire = Wire()
        run_pair(
            asks(asker, [(items(0, 0), places(), 10)]), answers(lister, [(10, items(0, 1), places(0))]), wire
        )
        sent.append(wire.digest)
    assert sent[0] != sent[1]
