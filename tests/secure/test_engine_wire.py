"""What every engine shows on the wire: nothing by sizes, and no trust in what the peer sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.errors import PeerError, UnequalError, UnsupportedError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Edit, Equal, Hamming, Input, Not, SquaredEuclidean
from accord.secure.dual.engine import DualEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Deadlock, Party, Send, receive, run_pair
from accord.side import Side
from tests.secure.engines import CHANGES, REAL, World, hostile, replayed, tampered
from tests.secure.worlds import BITS, POINT, TEXT, Fixed, random_circuit, random_score, table

CIRCUIT = And((AtMost(Hamming(BITS), 3), Not(AtMost(SquaredEuclidean(POINT), 400)), Equal(BITS)))


@pytest.fixture(params=REAL, scope="module")
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


def tables() -> tuple[Table, Table]:
    random = np.random.default_rng(0)
    return table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(0, 1 << 32), st.floats(0, 1), st.floats(0, 1))
def test_sizes_and_order_of_messages_do_not_depend_on_data(
    world: World, seed: int, other: int, real: float, other_real: float
) -> None:
    shape = np.random.default_rng(seed % 5)
    m, n = (3, 2) if world.slow else (13, 9)
    circuit = random_score(shape) if seed % 2 else random_circuit(shape)
    over = Blocks.whole(m, n)
    seen = []
    for s, r in ((seed, real), (other, other_real)):
        random = np.random.default_rng(s)
        a, b = table(random, circuit, Side.A, m, r), table(random, circuit, Side.B, n, 1 - r)
        # What was used before decides what is sent, so both begin anew.
        world.sides = world.fresh()
        wire = world.wire(circuit, over, a, b)
        seen.append((wire.sizes, wire.rounds))
    assert seen[0] == seen[1]


def test_how_long_texts_are_does_not_show(world: World) -> None:
    seen = []
    for letters in (np.zeros((4, TEXT.length), np.int64), np.full((4, TEXT.length), TEXT.high)):
        rows = Table({TEXT.name: letters}, np.ones(4, dtype=np.bool_))
        world.sides = world.fresh()
        wire = world.wire(Edit(TEXT, 2), Blocks.whole(4, 4), rows, rows)
        seen.append((wire.sizes, wire.rounds))
    assert seen[0] == seen[1]


def test_what_cannot_be_done_is_refused_before_a_byte(world: World) -> None:
    empty = Table({}, np.zeros(0, dtype=np.bool_))
    for circuit in (
        AtMost(Hamming(Input("x", 3, 7)), 1),
        Not(AtMost(SquaredEuclidean(Input("x", 2, (1 << 31) - 1)), 1 << 40)),
    ):
        with pytest.raises(UnsupportedError, match=world.engine.name):
            world.engine.supports(circuit)
        with pytest.raises(UnsupportedError):
            next(world.engine.evaluate(world.sides[0], circuit, Blocks.whole(0, 0), empty))


def test_values_outside_their_range_are_refused_before_a_byte(world: World) -> None:
    bad = Table({BITS.name: np.full((1, BITS.length), 2)}, np.ones(1, dtype=np.bool_))
    with pytest.raises(ValueError, match="outside"):
        next(world.engine.evaluate(world.sides[0], Equal(BITS), Blocks.whole(1, 1), bad))


@pytest.mark.parametrize("side", list(Side), ids=str)
@pytest.mark.parametrize("change", ["truncated", "oversized"])
def test_a_set_up_message_of_another_size_is_a_peer_error(world: World, side: Side, change: str) -> None:
    honest = world.set_up_of(side)
    numbers = range(sum(isinstance(effect, Send) for effect in honest))
    assert len(numbers) >= 3
    for message in numbers:
        parties = {of: world.engine.set_up(of, Fixed(of.value)) for of in Side}
        parties[side] = tampered(replayed(honest), message, CHANGES[change])
        with pytest.raises(PeerError, match="were due"):
            run_pair(parties[Side.A], parties[Side.B])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("side", list(Side), ids=str)
def test_a_message_of_another_size_is_a_peer_error(world: World, side: Side, change: str) -> None:
    a, b = tables()
    over, place = Blocks.whole(3, 3), list(Side).index(side)
    # The first evaluation of a session says more: it stocks up for those that follow.
    world.wire(CIRCUIT, over, a, b)
    numbers = range(len(world.wire(CIRCUIT, over, a, b).sizes[side]))
    assert len(numbers) >= 2
    sides = world.fresh()
    for message in numbers:
        parties = world.parties(CIRCUIT, over, a, b, sides)
        parties[place] = tampered(parties[place], message, CHANGES[change])
        # What was broken off before leaves two ends that do not fit, which OTs that are checked show.
        with pytest.raises(PeerError, match=r"were due|one choice each"):
            run_pair(parties[0], parties[1])
        with pytest.raises(RuntimeError, match="broken off"):
            next(world.parties(CIRCUIT, over, a, b, sides)[1 - place])
        world.mend(sides)


def survives(data: st.DataObject, world: World, victim: Side) -> None:
    """Whatever the peer sends, its victim ends with an answer of the right shape or with a refusal."""
    a, b = tables()

    def whole(side: Side, rows: Table) -> Party[Any]:
        session = yield from world.engine.set_up(side, Fixed(side.value))
        return (yield from world.engine.evaluate(session, CIRCUIT, Blocks.whole(3, 3), rows))

    parties = [whole(Side.A, a), whole(Side.B, b)]
    place = list(Side).index(victim)
    parties[1 - place] = hostile(data, parties[1 - place])
    try:
        answer = run_pair(parties[0], parties[1])[place]
    except (PeerError, UnequalError):
        return
    except Deadlock:
        raise AssertionError("a hang") from None
    assert answer.shape == (9,)


@settings(max_examples=15, deadline=None)
@given(st.data(), st.sampled_from(list(Side)))
def test_a_hostile_peer_gets_an_error_or_an_answer_but_no_crash(
    world: World, data: st.DataObject, victim: Side
) -> None:
    survives(data, world, victim)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(st.data(), st.sampled_from(list(Side)))
def test_fuzz_a_hostile_peer(world: World, data: st.DataObject, victim: Side) -> None:
    survives(data, world, victim)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(st.data(), st.sampled_from(list(Side)))
def test_fuzz_a_peer_that_turns_hostile_after_the_set_up(
    world: World, data: st.DataObject, victim: Side
) -> None:
    turns_hostile(data, world, victim)


@settings(max_examples=8, deadline=None)
@given(st.data(), st.sampled_from(list(Side)))
def test_a_peer_that_turns_hostile_after_the_set_up(world: World, data: st.DataObject, victim: Side) -> None:
    turns_hostile(data, world, victim)


def turns_hostile(data: st.DataObject, world: World, victim: Side) -> None:
    a, b = tables()
    parties = world.parties(CIRCUIT, Blocks.whole(3, 3), a, b, world.fresh())
    place = list(Side).index(victim)
    parties[1 - place] = hostile(data, parties[1 - place])
    try:
        answer = run_pair(parties[0], parties[1])[place]
    except (PeerError, UnequalError):
        return
    assert answer.shape == (9,)


def test_engines_of_different_names_or_settings_part_at_once() -> None:
    def hello(text: bytes) -> Party[None]:
        yield Send(text)
        yield from receive(len(text))

    ot, dual = OtEngine(), DualEngine()
    with pytest.raises(PeerError):
        run_pair(ot.set_up(Side.A, Fixed("a")), dual.set_up(Side.B, Fixed("b")))
    with pytest.raises(PeerError, match="another version"):
        run_pair(dual.set_up(Side.A, Fixed("a")), hello(b"accord/dual/0 k=4" + bytes(32)))
