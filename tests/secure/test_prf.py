"""Oblivious functions over stores and over bins, and programmed ones: equal values at common points alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.secure.okvs.rows import SEED
from accord.secure.okvs.sizes import store_shape
from accord.secure.okvs.store import Encoder, Layout
from accord.secure.party import Effect, Party, Send, Wire, run_pair
from accord.secure.prf import oblivious, programmed
from accord.secure.prf.binned import Binned, binned_bytes
from accord.secure.prf.oblivious import BLOCK, Clear, Function, Oblivious, Seeds, asked_bytes
from accord.secure.prf.programmed import fetch, program, programmed_bytes
from accord.secure.transfer.extension import Receiver, Tile
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.vole import USUAL, VoleReceiver
from accord.side import Side
from tests.secure.engines import noted
from tests.secure.test_transfer import numbers, product, words
from tests.secure.worlds import TINY, UNIFORM, Fixed, surprise

Words = NDArray[np.uint64]
Ints = NDArray[np.int32]


def items(first: int, last: int, width: int = 3) -> Words:
    return np.arange(first, last, dtype=np.uint64)[:, None] * np.ones((1, width), np.uint64)


def none(count: int) -> None:
    pass


def rows_of(*of: Words) -> set[bytes]:
    return {row.tobytes() for row in np.concatenate(of)}


def sent(effects: list[Effect]) -> list[bytes]:
    return [bytes(effect.buffer) for effect in effects if isinstance(effect, Send)]


# -- over a store --------------------------------------------------------------------------------------------


def ends(seed: str = "") -> tuple[Oblivious, Oblivious]:
    a, b = (Oblivious(side, Fixed(f"{seed}{side.value}"), TINY) for side in Side)
    return a, b


def asker(function: Function, own: Words, progress: Any = none) -> Party[Words]:
    yield from function.meet()
    return (yield from function.ask(function.points(own), progress))


def lister(function: Function, asked: int, own: Words, progress: Any = none) -> Party[Words]:
    yield from function.meet()
    return (yield from function.answer(asked, function.points(own), progress))


def link(
    asked: Words, listed: Words, side: Side = Side.A, wire: Wire | None = None, seed: str = ""
) -> tuple[Words, Words]:
    """The values of what is asked for, and of what is listed."""
    both = [Oblivious(one, Fixed(f"{seed}{one.value}"), TINY) for one in (side, side.other)]
    asks, answers = asker(both[0], asked), lister(both[1], len(asked), listed)
    return run_pair(asks, answers, wire=wire) if side is Side.A else run_pair(answers, asks, wire=wire)[::-1]


@pytest.mark.parametrize(("count", "side"), [(0, Side.A), (1, Side.B), (9, Side.A), (1000, Side.B)])
def test_values_are_the_same_where_points_are_and_nowhere_else(count: int, side: Side) -> None:
    """From one element made of OTs to several rounds of the silent VOLE; some listed points come twice."""
    listed = np.concatenate([items(count // 2, count + 7), items(count // 2, count // 2 + 2)])
    asked, found = link(items(0, count), listed, side)
    assert (asked[count // 2 :] == found[: count - count // 2]).all()
    assert (found[-2:] == found[:2]).all()
    assert len(rows_of(asked, found)) == count + 7


def test_many_parts_and_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the store of questions, and of one of values."""
    for module in (oblivious, programmed):
        monkeypatch.setattr(module, "store_shape", lambda points: store_shape(points, part=64))
    told, wire, (a, b) = list[int](), Wire(), ends()
    both = asker(a, items(0, 500), told.append), lister(b, 500, items(250, 900), told.append)
    asked, found = run_pair(*both, wire=wire)
    assert (asked[250:] == found[:250]).all()
    assert sum(told) == 500 + 650
    shape = store_shape(500, part=64)
    assert shape.parts == 8
    assert wire.sizes[Side.A].count(BLOCK * shape.cells) >= shape.parts
    what, wire = values(400, 5), Wire()
    fetched = fetches(Clear(), items(0, 300), 400, 5), programs(Clear(), 300, items(100, 500), what)
    assert (run_pair(*fetched, wire=wire)[0][100:] == what[:200]).all()
    assert len(wire.sizes[Side.B]) == 1 + store_shape(400, part=64).parts > 2


def test_what_is_sent_depends_on_the_number_of_points_and_on_chance() -> None:
    """The same sizes for other points, and for the same points other bytes in another run."""
    wires = [Wire(), Wire(), Wire()]
    link(items(0, 100), items(0, 5), wire=wires[0])
    link(items(7000, 7100), items(90, 95), wire=wires[1])
    link(items(0, 100), items(0, 5), wire=wires[2], seed="other")
    assert wires[0].sizes == wires[1].sizes == wires[2].sizes
    assert len({wire.digest for wire in wires}) == 3
    wire, (a, b) = Wire(), [Oblivious(side, Fixed(side.value)) for side in Side]
    run_pair(asker(a, items(0, 30)), lister(b, 30, items(0, 3)), wire=wire)
    assert wire.bytes == asked_bytes(30)


def test_the_hidden_store_looks_uniform_whatever_the_points() -> None:
    """χ² of its bytes over 256 values, for points in a row."""
    a, b, effects = Oblivious(Side.A, Seeded(1), TINY), Oblivious(Side.B, Seeded(2), TINY), list[Effect]()
    run_pair(noted(asker(a, items(0, 4000)), effects), lister(b, 4000, items(0, 1)))
    store = sent(effects)[-1]
    assert len(store) == BLOCK * store_shape(4000).cells
    assert surprise(store) < UNIFORM


def test_one_session_serves_one_set_of_questions() -> None:
    """Two stores under one Δ would be two sets of questions."""
    a, b = ends()
    run_pair(asker(a, items(0, 3)), lister(b, 3, items(0, 3)))
    with pytest.raises(RuntimeError, match="has served"):
        run_pair(a.ask(items(0, 1, 2), none), b.answer(1, items(0, 1, 2), none))


def test_a_store_of_garbage_is_harmless_and_of_another_size_is_refused() -> None:
    """Who sends it learns no value of what is listed but what it could have asked for: nothing here."""

    def rogue(less: int) -> tuple[Words, Words]:
        a, b = ends()

        def asks() -> Party[Words]:
            yield from a.meet()
            shape = store_shape(3)
            yield Send(bytes(SEED))
            end = VoleReceiver(a.take_session().receiver, Fixed("x"), shape.total, TINY)
            _, c = yield from end.take(shape.cells)
            yield Send(b"\xff" * (BLOCK * shape.cells - less))
            points = a.points(items(0, 50))
            return a.hash(Layout(shape, bytes(SEED), points).decode_part(0, c), points)

        return run_pair(asks(), lister(b, 3, items(0, 50)))

    guessed, values = rogue(0)
    assert not rows_of(guessed) & rows_of(values)
    with pytest.raises(PeerError):
        rogue(1)


def test_a_point_is_a_polynomial_under_the_permutation() -> None:
    """By the definition, with what is public of a session."""
    pi = Permutation()
    rho = numbers(oblivious._public(pi, 0)[None])[0]
    total = product(product(5 | 6 << 64, rho) ^ 7, rho)
    expected = pi.apply(words(total), "x")[0] ^ words(total)[0]
    assert (Clear().points(np.array([[5, 6, 7]], np.uint64))[0] == expected).all()


@pytest.mark.parametrize(("asked", "trees"), [(3, 16), (300, 1)], ids=["of OTs alone", "silent"])
def test_corrections_for_other_choices_are_refused(
    asked: int, trees: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An asker that departs from the OT extension, to get the lister's key, is found out before it has it.

    One flipped bit in a tree would open eight bits of Δ to guesses that a match confirms; one in each of
    sixteen trees all of it, and with Δ the values of all points.
    """
    extend = Receiver.extend

    def flipping(end: Receiver, choices: Words, corrections: Words, count: int) -> Iterator[Tile]:
        yield from extend(end, choices, corrections, count)
        first, length = next(end._tiles(count))
        for tree in range(trees):
            corrections[first + tree * (length // 64)] ^= np.uint64(1)

    def asks(end: Oblivious) -> Party[Seeds]:
        yield from end.meet()
        monkeypatch.setattr(Receiver, "extend", flipping)
        return (yield from end.ask(end.points(own), none))

    own, (a, b) = items(1, asked + 1), ends()
    with pytest.raises(PeerError):
        run_pair(asks(a), lister(b, asked, own))


# -- over bins -----------------------------------------------------------------------------------------------


def binned(bins: int, sizes: Any = TINY) -> list[Binned]:
    return [Binned(side, Fixed(side.value), bins, sizes) for side in Side]


def places(*at: int) -> Ints:
    return np.array(at, np.int32)


def asks_bins(end: Binned, sets: list[tuple[Words, Ints, int]]) -> Party[list[Words]]:
    yield from end.meet()
    found = []
    for own, at, bins in sets:
        found.append((yield from end.ask(end.points(own), at, bins)))
    return found


def answers_bins(end: Binned, sets: list[tuple[int, Words, Ints]]) -> Party[list[Words]]:
    yield from end.meet()
    found = []
    for bins, own, at in sets:
        found.append((yield from end.answer(bins, end.points(own), at)))
    return found


@pytest.mark.parametrize("bins", [3, 900, 70_000])
def test_values_are_the_same_for_the_question_of_a_bin_and_for_nothing_else(bins: int) -> None:
    """From elements made of OTs to several rounds and several parts; each question is listed in its bin, in
    another one, and beside another point."""
    count = min(bins // 3, 200)
    at = np.random.default_rng(1).permutation(bins)[:count].astype(np.int32)
    own, wrong = items(0, count), (at + 1) % bins
    listed = np.concatenate([own, own, items(1000, 1000 + count)])
    one, other = binned(bins)
    ((asked,), (found,)) = run_pair(
        asks_bins(one, [(own, at, bins)]),
        answers_bins(other, [(bins, listed, np.concatenate([at, wrong, at]).astype(np.int32))]),
    )
    assert (asked == found[:count]).all()
    assert len(rows_of(found)) == 3 * count


@pytest.mark.parametrize("side", Side)
def test_one_vole_serves_several_sets(side: Side) -> None:
    wire, both = Wire(), dict(zip(Side, binned(300), strict=True))
    sets = [
        (items(0, 5), places(4, 3, 2, 1, 0), 100),
        (items(5, 7), places(9, 0), 150),
        (items(9, 9), places(), 50),
    ]
    one = asks_bins(both[side], sets)
    other = answers_bins(both[side.other], [(bins, own, at) for own, at, bins in sets])
    asked, found = (
        run_pair(one, other, wire=wire) if side is Side.A else run_pair(other, one, wire=wire)[::-1]
    )
    for mine, theirs in zip(asked, found, strict=True):
        assert (mine == theirs).all()
    assert wire.sizes[side][-3:] == [BLOCK * bins for _, _, bins in sets]


def test_sizes_over_bins_are_known_before_and_questions_are_drawn_for_bins_without_one() -> None:
    """So that what becomes of them is nobody's choice; another seed, other questions."""
    wire, (one, other), own = Wire(), binned(30, USUAL), items(0, 1)
    run_pair(asks_bins(one, [(own, places(0), 30)]), answers_bins(other, [(30, own, places(0))]), wire=wire)
    assert wire.bytes == binned_bytes(30)
    said = set()
    for seed in (1, 2):
        one, other = Binned(Side.A, Seeded(seed), 10, TINY), Binned(Side.B, Fixed("B"), 10, TINY)
        wire, nothing = Wire(), (items(0, 0), places(), 10)
        run_pair(asks_bins(one, [nothing]), answers_bins(other, [(10, items(0, 1), places(0))]), wire=wire)
        said.add(wire.digest)
    assert len(said) == 2


def test_two_points_of_one_bin_have_one_value() -> None:
    """The asker has the element of a bin, and so the value at the one point that it named to the lister. The
    permutation of the OTs hashes multiples of the same Δ, so the hash has one of its own [MATHS §10.1]."""
    one, other = binned(20)
    own, at = items(0, 2), places(7, 7)
    ((asked,), (found,)) = run_pair(asks_bins(one, [(own, at, 20)]), answers_bins(other, [(20, own, at)]))
    assert (asked == found).all(axis=1).tolist() == [False, True]
    block = np.zeros((1, 2), np.uint64)
    hashes = [end._hashing.apply(block, "x").tolist() for end in (one, other)]
    assert hashes[0] == hashes[1] != one.pi.apply(block, "x").tolist()


def test_what_is_no_question_gives_no_value_and_of_another_size_is_refused() -> None:
    """Whatever stands in its place: with its elements the asker finds no value of what is listed."""

    def rogue(said: int) -> tuple[Words, list[Words]]:
        one, other = binned(20)

        def asks() -> Party[Words]:
            yield from one.meet()
            _, c = yield from VoleReceiver(one.take_session().receiver, Fixed("x"), 20, TINY).take(20)
            yield Send(b"\xff" * (BLOCK * said))
            points = one.points(items(0, 50))
            return np.concatenate([one.hash(np.repeat(each[None], 50, axis=0), points) for each in c])

        return run_pair(asks(), answers_bins(other, [(20, items(0, 50), np.arange(50, dtype=np.int32) % 20)]))

    guessed, (values,) = rogue(20)
    assert not rows_of(guessed) & rows_of(values)
    with pytest.raises(PeerError):
        rogue(19)


def test_what_is_sent_looks_uniform_whatever_the_questions() -> None:
    """χ² of its bytes over 256 values, for questions of zeros. False alarm 1e-6."""
    (one, other), effects = binned(4000), list[Effect]()
    zeros, every = np.zeros((4000, 2), np.uint64), np.arange(4000, dtype=np.int32)
    run_pair(
        noted(asks_bins(one, [(zeros, every, 4000)]), effects), answers_bins(other, [(4000, zeros, every)])
    )
    assert surprise(sent(effects)[-1]) < UNIFORM


# -- programmed ----------------------------------------------------------------------------------------------


def values(count: int, width: int) -> Words:
    return np.random.default_rng(count).integers(0, 1 << 64, (count, width), dtype=np.uint64)


def programs(function: Function, asked: int, own: Words, what: Words) -> Party[None]:
    yield from function.meet()
    points, width = function.points(own), what.shape[1]
    seeds = yield from function.answer(asked, points, none)

    def add(places: Ints, onto: Words) -> None:
        onto ^= what[places]

    yield from program(function, seeds, points, add, width, Seeded("free"))


def fetches(function: Function, own: Words, count: int, width: int) -> Party[Words]:
    yield from function.meet()
    found, points = np.zeros((len(own), width), np.uint64), function.points(own)
    seeds = yield from function.ask(points, none)
    yield from fetch(function, seeds, points, count, found, np.arange(len(own), dtype=np.int32))
    return found


@pytest.mark.parametrize(
    ("asked", "count", "width"), [(1, 0, 1), (1, 1, 40), (7, 30, 3), (200, 50, 3), (200, 50, 2)]
)
def test_values_are_read_where_they_were_programmed(asked: int, count: int, width: int) -> None:
    """And nothing like them elsewhere. One over a key, the others in the clear."""
    what, (a, b) = values(count, width), ends() if width == 3 else (Clear(), Clear())
    listed = items(asked // 2, asked // 2 + count)
    found, _ = run_pair(fetches(a, items(0, asked), count, width), programs(b, asked, listed, what))
    common = min(asked - asked // 2, count)
    assert (found[asked // 2 : asked // 2 + common] == what[:common]).all()
    assert not rows_of(found[: asked // 2], found[asked // 2 + common :]) & rows_of(what)


@pytest.mark.parametrize("count", [40, 2000])
def test_the_store_looks_uniform_whatever_is_programmed(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few points most cells are free: zeros in free cells would show where points are. Sizes are known."""

    def store(first: int) -> bytes:
        (a, b), effects = ends(), list[Effect]()
        own, zeros = items(first, first + count), np.zeros((count, 4), np.uint64)
        run_pair(fetches(a, items(0, 3), count, 4), noted(programs(b, 3, own, zeros), effects))
        assert sum(map(len, sent(effects)[-2:])) == programmed_bytes(count, 4)
        return sent(effects)[-1]

    assert surprise(store(100)) < UNIFORM
    real = Encoder.draw
    monkeypatch.setattr(Encoder, "draw", lambda *arguments: np.zeros_like(real(*arguments)))
    assert surprise(store(100)) > UNIFORM
