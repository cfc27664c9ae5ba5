"""The oblivious function: the asker has what the lister would compute, in messages of public sizes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.secure.okvs.rows import SEED
from accord.secure.okvs.sizes import store_shape
from accord.secure.okvs.store import Layout
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.secure.prf import oblivious
from accord.secure.prf.oblivious import BLOCK, Clear, Function, Oblivious, asked_bytes, expand
from accord.secure.transfer.lpn import Parameters
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.vole import Sizes, VoleReceiver
from accord.side import Side
from tests.secure.transfer.encapsulation import given_messages
from tests.secure.worlds import Fixed

Words = NDArray[np.uint64]
TINY = Sizes(
    few=60,
    transfers=Parameters(secret_bits=9, trees=128, depth=8),
    first=Parameters(secret_bits=6, trees=48, depth=4),
    main=Parameters(secret_bits=8, trees=64, depth=6),
)


def items(first: int, last: int, width: int = 3) -> Words:
    return np.arange(first, last, dtype=np.uint64)[:, None] * np.ones((1, width), np.uint64)


def none(count: int) -> None:
    pass


def asker(function: Function, own: Words) -> Party[Words]:
    yield from function.meet()
    return (yield from function.ask(function.points(own), none))


def lister(function: Function, asked: int, own: Words) -> Party[Words]:
    yield from function.meet()
    return (yield from function.answer(asked, function.points(own), none))


def link(
    asked: Words, listed: Words, side: Side = Side.A, wire: Wire | None = None, seed: str = ""
) -> tuple[Words, Words]:
    """The values of what is asked for, and of what is listed."""
    ends = [Oblivious(one, Fixed(f"{seed}{one.value}"), TINY) for one in (side, side.other)]
    asks, answers = asker(ends[0], asked), lister(ends[1], len(asked), listed)
    if side is Side.A:
        return run_pair(asks, answers, wire)
    return run_pair(answers, asks, wire)[::-1]


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("count", [0, 1, 2, 5, 9, 100, 3000])
def test_values_are_the_same_where_points_are_and_nowhere_else(count: int, side: Side) -> None:
    """From one element made of OTs to several rounds of the silent VOLE; some listed points come twice."""
    listed = np.concatenate([items(count // 2, count + 7), items(count // 2, count // 2 + 2)])
    asked, found = link(items(0, count), listed, side)
    both = count - count // 2
    assert (asked[count // 2 :] == found[:both]).all()
    assert (found[-2:] == found[:2]).all()
    values = {row.tobytes() for row in np.concatenate([asked, found])}
    assert len(values) == count + 7


def test_many_parts_and_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oblivious, "store_shape", lambda points: store_shape(points, part=64))
    told: list[int] = []
    monkeypatch.setattr(f"{__name__}.none", told.append)
    wire = Wire()
    asked, found = link(items(0, 500), items(250, 900), wire=wire)
    assert (asked[250:] == found[:250]).all()
    assert sum(told) == 500 + 650
    shape = store_shape(500, part=64)
    assert shape.parts == 8
    assert wire.sizes[Side.A].count(BLOCK * shape.cells) >= shape.parts


def test_sizes_are_known_before() -> None:
    for count in (1, 30):
        wire, ends = Wire(), [Oblivious(side, Fixed(side.value)) for side in Side]
        run_pair(asker(ends[0], items(0, count)), lister(ends[1], count, items(0, 3)), wire)
        assert wire.bytes == asked_bytes(count)


def test_what_is_sent_depends_on_the_number_of_points_and_on_chance() -> None:
    """The same sizes for other points, and for the same points other bytes in another run."""
    wires = [Wire(), Wire(), Wire()]
    link(items(0, 100), items(0, 5), wire=wires[0])
    link(items(7000, 7100), items(90, 95), wire=wires[1])
    link(items(0, 100), items(0, 5), wire=wires[2], seed="other")
    assert wires[0].sizes == wires[1].sizes == wires[2].sizes
    assert len({wire.digest for wire in wires}) == 3


def test_the_hidden_store_looks_uniform_whatever_the_points() -> None:
    """χ² of its bytes over 256 values, for points in a row; false alarm 1e-6."""
    end, sent = Oblivious(Side.A, Seeded(1), TINY), []

    def heard(party: Party[Words]) -> Party[None]:
        effect = next(party)
        while True:
            if isinstance(effect, Send):
                sent.append(bytes(effect.buffer))
            answer = yield effect
            try:
                effect = party.send(answer) if isinstance(effect, Receive) else next(party)
            except StopIteration:
                return

    other = Oblivious(Side.B, Seeded(2), TINY)
    run_pair(heard(asker(end, items(0, 4000))), lister(other, 4000, items(0, 1)))
    assert len(sent[-1]) == BLOCK * store_shape(4000).cells
    counts = np.bincount(np.frombuffer(sent[-1], np.uint8), minlength=256)
    expected = counts.sum() / 256
    assert ((counts - expected) ** 2 / expected).sum() < 376.4


def test_without_its_mask_the_store_would_show_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the mask is there for: a reader of a bare store sees at once which points it was made of."""
    shown: list[Words] = []

    def bare(self: VoleReceiver, count: int) -> Party[Words]:
        return np.zeros((2, count, 2), np.uint64)
        yield

    monkeypatch.setattr(VoleReceiver, "take", bare)
    end = Oblivious(Side.A, Fixed("A"), TINY)

    def reader() -> Party[None]:
        other = Oblivious(Side.B, Fixed("B"), TINY)
        yield from other.meet()
        shape, seed = store_shape(10), bytes((yield Receive(SEED)))
        table = np.frombuffer((yield Receive(BLOCK * shape.cells)), "<u8").reshape(-1, 2)
        points = other.points(items(5, 15))
        layout = Layout(shape, seed, points)
        shown.append((layout.decode_part(0, table)[np.argsort(layout.places(0))] == points).all(axis=1))

    run_pair(asker(end, items(0, 10)), reader())
    assert shown[0].tolist() == [True] * 5 + [False] * 5


def test_one_session_serves_one_set_of_questions() -> None:
    """Two stores under one Δ would be two sets of questions."""
    end, other = (Oblivious(side, Fixed(side.value), TINY) for side in Side)
    run_pair(asker(end, items(0, 3)), lister(other, 3, items(0, 3)))
    with pytest.raises(RuntimeError, match="has served"):
        run_pair(end.ask(items(0, 1, 2), none), other.answer(1, items(0, 1, 2), none))


def test_messages_of_other_sizes_are_refused() -> None:
    other = Oblivious(Side.B, Fixed("B"), TINY)

    def rogue() -> Party[None]:
        end = Oblivious(Side.A, Fixed("A"), TINY)
        yield from end.meet()
        yield Send(bytes(SEED))
        yield from VoleReceiver(end.take_session().receiver, Fixed("x"), store_shape(3).total, TINY).take(1)
        yield Send(bytes(BLOCK * store_shape(3).cells - 1))

    with pytest.raises(PeerError, match="were due"):
        run_pair(rogue(), lister(other, 3, items(0, 3)))


def test_a_store_of_garbage_is_harmless() -> None:
    """Whoever sends it learns no value of what is listed but what it could have asked for: nothing here."""
    end, other = (Oblivious(side, Fixed(side.value), TINY) for side in Side)

    def rogue() -> Party[Words]:
        yield from end.meet()
        shape = store_shape(3)
        yield Send(bytes(SEED))
        _, c = yield from VoleReceiver(end.take_session().receiver, Fixed("x"), shape.total, TINY).take(
            shape.cells
        )
        yield Send(b"\xff" * (BLOCK * shape.cells))
        points = end.points(items(0, 50))
        return end.hash(Layout(shape, bytes(SEED), points).decode_part(0, c), points)

    guessed, values = run_pair(rogue(), lister(other, 3, items(0, 50)))
    assert not {row.tobytes() for row in guessed} & {row.tobytes() for row in values}


def test_points_tell_items_apart() -> None:
    """Words that are swapped, moved to another place or joined by zeros; and never two alike."""
    for function in (Clear(), Oblivious(Side.A, Fixed("A"), TINY)):
        if isinstance(function, Oblivious):
            other = Oblivious(Side.B, Fixed("B"), TINY)
            run_pair(function.meet(), other.meet())
            assert (function.points(items(0, 9)) == other.points(items(0, 9))).all()
        some = np.array(
            [
                [1, 2, 3, 4],
                [2, 1, 3, 4],
                [3, 4, 1, 2],
                [0, 0, 1, 2],
                [1, 2, 0, 0],
                [0, 0, 0, 0],
                [1, 0, 0, 0],
            ],
            np.uint64,
        )
        assert len({row.tobytes() for row in function.points(some)}) == len(some)
        assert len(function.points(np.zeros((0, 3), np.uint64))) == 0


def test_a_point_is_a_polynomial_under_the_permutation() -> None:
    """By the definition, with what is public of a session."""
    from tests.secure.transfer.test_field import numbers, product, words

    pi = Permutation()
    rho = numbers(oblivious._public(pi, 0)[None])[0]
    item = np.array([[5, 6, 7]], np.uint64)
    low, high = 5 | 6 << 64, 7
    total = product(product(low, rho) ^ high, rho)
    expected = pi.apply(words(total), "x")[0] ^ words(total)[0]
    assert (Clear().points(item)[0] == expected).all()


def test_seeds_are_expanded_block_by_block() -> None:
    pi, seeds = Permutation(), items(1, 4, 2)
    whole = expand(pi, seeds, np.zeros(3, np.int32), 12)
    for number in range(3):
        part = expand(pi, seeds, np.full(3, number, np.int32), 4)
        assert (whole[:, 4 * number : 4 * number + 4] == part).all()
    assert len(np.unique(whole)) == whole.size


@given_messages()
def test_known_answers() -> None:
    digest = hashlib.sha256()
    for count in (5, 200):
        asked, listed = link(items(0, count), items(3, 9))
        digest.update(np.concatenate([asked, listed]).astype("<u8").tobytes())
    assert digest.hexdigest()[:16] == "002d70e6a1f5fb07"


def test_in_the_clear_a_value_is_its_point() -> None:
    function = Clear()
    asked, listed = run_pair(asker(function, items(0, 4)), lister(function, 4, items(2, 6)))
    assert (asked[2:] == listed[:2]).all()
