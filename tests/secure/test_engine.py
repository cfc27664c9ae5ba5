"""The contract of engines: right answers, sizes that depend on no data, and no trust in peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.errors import PeerError, UnequalError, UnsupportedError, UsageError
from accord.rules.lowering import lower
from accord.rules.rule import Rule
from accord.secure import ideal
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Both,
    Edit,
    Equal,
    Graded,
    Hamming,
    Input,
    Node,
    Not,
    Or,
    Reaches,
    SquaredEuclidean,
)
from accord.secure.dual.engine import DualEngine
from accord.secure.engines import BUILT_IN, engine_named
from accord.secure.ideal import IdealEngine, match
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import Settings
from accord.secure.party import Deadlock, Party, Receive, Send, run, run_pair
from accord.side import Side
from tests.rules import worlds
from tests.secure.engines import CHANGES, EVERY, REAL, World, hostile, replayed, tampered
from tests.secure.worlds import (
    BITS,
    CODE,
    HERE,
    LEAVES,
    POINT,
    TEXT,
    THERE,
    Fixed,
    blocks,
    random_circuit,
    random_score,
    table,
)

# -- engine --------------------------------------------------------------------------------------------------


@pytest.fixture(params=EVERY, scope="module")
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


@pytest.fixture(params=REAL, scope="module")
def real(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    """Those that run between two parties."""
    return world_of(request.param)


@pytest.mark.parametrize("count", [4, pytest.param(15, marks=pytest.mark.slow)])
def test_random_circuits_over_random_blocks(world: World, count: int) -> None:
    random = np.random.default_rng(5)
    matches = pairs = 0
    for _ in range(count):
        circuit = random_circuit(random)
        a, b = table(random, circuit, Side.A, 30), table(random, circuit, Side.B, 30)
        over = blocks(random, [7, 0, 1, 3 if world.slow else 30], [5, 3, 1, 9], 30)
        matches += world.check(circuit, over, a, b)
        pairs += over.pairs
    assert 0.05 < matches / pairs < 0.6


@pytest.mark.parametrize("more", [(), pytest.param((20, 20, 120), marks=pytest.mark.slow)])
def test_random_scores_over_random_blocks(world: World, more: tuple[int, ...]) -> None:
    random = np.random.default_rng(11)
    matches = pairs = 0
    for weight in (3, 20, 20, 120, 9_999) if world.slow else (1, 3, 20, 20, 120, 9_999, 1 << 40, *more):
        circuit = random_score(random, weight)
        a, b = table(random, circuit, Side.A, 30), table(random, circuit, Side.B, 30)
        over = blocks(random, [7, 0, 1, 3 if world.slow else 30], [5, 3, 1, 9], 30)
        matches += world.check(circuit, over, a, b)
        pairs += over.pairs
    assert 0.05 < matches / pairs < 0.6


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: str(leaf)[:40])
def test_every_leaf_alone_and_negated(real: World, leaf: Node) -> None:
    random = np.random.default_rng(6)
    m, n = (3, 5) if real.slow else (23, 19)
    over = Blocks.whole(m, n)
    a, b = table(random, leaf, Side.A, m), table(random, leaf, Side.B, n)
    pairs = int(np.outer(a.real, b.real).sum())
    assert real.check(leaf, over, a, b) + real.check(Not(leaf), over, a, b) == pairs


@pytest.mark.parametrize(
    ("a_counts", "b_counts"),
    [([], []), ([0], [0]), ([0], [5]), ([5, 0], [0, 3]), ([1], [1]), ([1] * 9, [1] * 9), ([3], [4097])],
)
def test_sizes(world: World, a_counts: list[int], b_counts: list[int]) -> None:
    random = np.random.default_rng(7)
    circuit = Or((AtMost(Hamming(BITS), 3), Equal(BITS)))
    if world.slow and b_counts == [4097]:
        a_counts, b_counts = [15], [3]
    rows = max([1, *a_counts, *b_counts])
    a, b = table(random, circuit, Side.A, rows), table(random, circuit, Side.B, rows)
    world.check(circuit, blocks(random, a_counts, b_counts, rows), a, b)
    world.check(AtMost(Hamming(BITS), 3), blocks(random, a_counts, b_counts, rows), a, b)


@pytest.mark.parametrize("name", REAL)
def test_several_interleaved_batches_and_more_parts_than_one_lookup_holds(
    world_of: Callable[[str], World], name: str
) -> None:
    world, random = world_of(name), np.random.default_rng(8)
    rows = 250 if name == "dual" else 500
    near = AtMost(Hamming(BITS), 2)
    a, b = table(random, near, Side.A, rows), table(random, near, Side.B, rows)
    assert world.check(near, Blocks.whole(rows, rows), a, b)
    wide = tuple(Not(Equal(Input(f"field {i}", 1, 3))) for i in range(20))
    for circuit in (And(wide), Or((And(wide[:9]), Not(Or(wide[5:]))))):
        a, b = table(random, circuit, Side.A, 40, real=0.9), table(random, circuit, Side.B, 40, real=0.9)
        world.check(circuit, Blocks.whole(40, 40), a, b)


MISSING = [Not(leaf) for leaf in LEAVES if isinstance(leaf, Both)]
"""A dummy lacks every value, and does not match by that."""
ALIKE = Graded(((And((AtMost(Hamming(BITS), 3), Both(HERE))), 5), (Not(Both(HERE)), 0)), -4)
SCORES = [
    Reaches((ALIKE, Graded(((And((Equal(CODE), Both(THERE))), 2),), -1)), least) for least in (-5, -1, 0, 1)
]
"""Rows without values do not reach the last, so that no engine need ask whether rows are real."""


@pytest.mark.parametrize(
    "circuit", [*LEAVES, *MISSING, *SCORES, And(()), Not(Or(())), Not(AtMost(Hamming(BITS), 3))], ids=str
)
def test_dummies_never_match_not_even_each_other(real: World, circuit: Node) -> None:
    random, rows = np.random.default_rng(10), 2 if real.slow else 8
    tables = {}
    for side in Side:
        made = table(random, circuit, side, rows)
        same = {name: np.repeat(values[:1], rows, axis=0) for name, values in made.inputs.items()}
        tables[side] = same
    some, none = np.arange(rows) < rows // 2, np.zeros(rows, dtype=np.bool_)
    for a_real, b_real in ((some, none), (none, some), (none, none), (some, some)):
        a, b = Table(tables[Side.A], a_real), Table(tables[Side.B], b_real)
        matches = real.check(circuit, Blocks.whole(rows, rows), a, b)
        assert matches in (0, int(np.outer(a_real, b_real).sum()))


# -- engine wire ---------------------------------------------------------------------------------------------

CIRCUIT = And((AtMost(Hamming(BITS), 3), Not(AtMost(SquaredEuclidean(POINT), 400)), Equal(BITS)))


def three_rows() -> tuple[Table, Table]:
    random = np.random.default_rng(0)
    return table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(0, 1 << 32), st.floats(0, 1), st.floats(0, 1))
def test_sizes_and_order_of_messages_do_not_depend_on_data(
    real: World, seed: int, other: int, share: float, other_share: float
) -> None:
    shape = np.random.default_rng(seed % 5)
    m, n = (3, 2) if real.slow else (13, 9)
    circuit = random_score(shape) if seed % 2 else random_circuit(shape)
    over = Blocks.whole(m, n)
    seen = []
    for s, r in ((seed, share), (other, other_share)):
        random = np.random.default_rng(s)
        a, b = table(random, circuit, Side.A, m, r), table(random, circuit, Side.B, n, 1 - r)
        # What was used before decides what is sent, so both begin anew.
        real.sides = real.fresh()
        wire = real.wire(circuit, over, a, b)
        seen.append((wire.sizes, wire.rounds))
    assert seen[0] == seen[1]


def test_how_long_texts_are_does_not_show(real: World) -> None:
    seen = []
    for letters in (np.zeros((4, TEXT.length), np.int64), np.full((4, TEXT.length), TEXT.high)):
        rows = Table({TEXT.name: letters}, np.ones(4, dtype=np.bool_))
        real.sides = real.fresh()
        wire = real.wire(Edit(TEXT, 2), Blocks.whole(4, 4), rows, rows)
        seen.append((wire.sizes, wire.rounds))
    assert seen[0] == seen[1]


def test_what_cannot_be_done_is_refused_before_a_byte(real: World) -> None:
    empty = Table({}, np.zeros(0, dtype=np.bool_))
    for circuit in (
        AtMost(Hamming(Input("x", 3, 7)), 1),
        Not(AtMost(SquaredEuclidean(Input("x", 2, (1 << 31) - 1)), 1 << 40)),
        Not(AtMost(Bilinear((), Input("step", 1, 9), 1 << 62, 1, 0, 9), 3)),
        And((Equal(BITS), Not(AtMost(Bilinear((), None, 0, 0, 0, 1 << 62), 5)))),
    ):
        with pytest.raises(UnsupportedError) as refused:
            real.engine.supports(circuit)
        assert refused.value.facts["engine"] == real.engine.name
        with pytest.raises(UnsupportedError):
            next(real.engine.evaluate(real.sides[0], circuit, Blocks.whole(0, 0), empty))


def test_values_outside_their_range_are_refused_before_a_byte(real: World) -> None:
    bad = Table({BITS.name: np.full((1, BITS.length), 2)}, np.ones(1, dtype=np.bool_))
    with pytest.raises(ValueError):
        next(real.engine.evaluate(real.sides[0], Equal(BITS), Blocks.whole(1, 1), bad))


@pytest.mark.parametrize("side", list(Side), ids=str)
@pytest.mark.parametrize("change", ["truncated", "oversized"])
def test_a_set_up_message_of_another_size_is_a_peer_error(real: World, side: Side, change: str) -> None:
    honest = real.set_up_of(side)
    numbers = range(sum(isinstance(effect, Send) for effect in honest))
    assert len(numbers) >= 3
    for message in numbers:
        parties = {of: real.engine.set_up(of, Fixed(of.value)) for of in Side}
        parties[side] = tampered(replayed(honest), message, CHANGES[change])
        with pytest.raises(PeerError):
            run_pair(parties[Side.A], parties[Side.B])


@pytest.mark.parametrize("side", list(Side), ids=str)
@pytest.mark.parametrize("change", CHANGES)
def test_a_message_of_another_size_is_a_peer_error(real: World, side: Side, change: str) -> None:
    a, b = three_rows()
    over, place = Blocks.whole(3, 3), list(Side).index(side)
    # The first evaluation of a session says more: it stocks up for those that follow.
    real.wire(CIRCUIT, over, a, b)
    numbers = range(len(real.wire(CIRCUIT, over, a, b).sizes[side]))
    assert len(numbers) >= 2
    sides = real.fresh()
    for message in numbers:
        parties = real.parties(CIRCUIT, over, a, b, sides)
        parties[place] = tampered(parties[place], message, CHANGES[change])
        with pytest.raises(PeerError):
            run_pair(parties[0], parties[1])
        with pytest.raises(RuntimeError, match="broken off"):
            next(real.parties(CIRCUIT, over, a, b, sides)[1 - place])
        real.mend(sides)


# -- rules ---------------------------------------------------------------------------------------------------


@pytest.fixture(params=["ot", pytest.param("ot silent", marks=pytest.mark.slow), "dual"], scope="module")
def rule_world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


@given(worlds.rules, worlds.tables, worlds.tables, st.integers(0, 1 << 16))
def test_the_engines_answer_every_rule(
    rule_world: World, rule: Rule, a: list[worlds.Row], b: list[worlds.Row], seed: int
) -> None:
    tables, _, _ = worlds.both(a, b)
    lowered, random = lower(rule, worlds.FIELDS), np.random.default_rng(seed)
    left = Table(lowered.inputs(Side.A, tables.a), random.random(len(a)) < 0.8)
    right = Table(lowered.inputs(Side.B, tables.b), random.random(len(b)) < 0.8)
    rule_world.check(lowered.node, Blocks.whole(len(a), len(b)), left, right)


# -- ideal ---------------------------------------------------------------------------------------------------


def test_it_agrees_with_a_loop_over_all_pairs() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        circuit = random_circuit(random)
        a, b = table(random, circuit, Side.A, 12), table(random, circuit, Side.B, 12)
        over = blocks(random, [3, 0, 5], [4, 2, 1], 12)
        expected, at = [], [0, 0]
        for m, n in zip(over.a_counts, over.b_counts, strict=True):
            for i in over.a_rows[at[0] : at[0] + m]:
                for j in over.b_rows[at[1] : at[1] + n]:
                    holds = ideal.evaluate(circuit, a.inputs, b.inputs, np.array([i]), np.array([j]))[0]
                    expected.append(bool(holds and a.real[i] and b.real[j]))
            at = [at[0] + m, at[1] + n]
        assert match(circuit, over, a, b).tolist() == expected


def test_alone_in_a_process_the_plain_interpreter_refuses() -> None:
    class Peer:
        def send(self, buffer: object) -> None: ...

        def receive(self, size: int, look: object = None) -> bytes:
            return b""

    empty = Table({}, np.zeros(0, dtype=np.bool_))
    with pytest.raises(RuntimeError, match="one process"):
        run(IdealEngine().evaluate(Side.B, And(()), Blocks.whole(0, 0), empty), Peer())


def test_engines_have_names_and_those_of_other_names_or_settings_part_at_once() -> None:
    assert [engine_named(name).name for name in BUILT_IN] == list(BUILT_IN)
    with pytest.raises(UsageError):
        engine_named("magic")

    def hello(text: bytes) -> Party[None]:
        yield Send(text)
        yield Receive(0)

    ot, dual = OtEngine(), DualEngine()
    for other in (
        dual.set_up(Side.B, Fixed("b")),
        OtEngine(Settings(silent=False)).set_up(Side.B, Fixed("b")),
        hello(b"accord/ot/0 12345678" + bytes(32)),
    ):
        with pytest.raises(PeerError):
            run_pair(ot.set_up(Side.A, Fixed("a")), other)
    with pytest.raises(PeerError):
        run_pair(dual.set_up(Side.A, Fixed("a")), hello(b"accord/dual/0 k=4" + bytes(32)))


def survives(data: st.DataObject, world: World, victim: Side, after_set_up: bool) -> None:
    """Whatever the peer sends, its victim ends with an answer of the right shape or with a refusal."""
    a, b = three_rows()

    def whole(side: Side, rows: Table) -> Party[Any]:
        session = yield from world.engine.set_up(side, Fixed(side.value))
        return (yield from world.engine.evaluate(session, CIRCUIT, Blocks.whole(3, 3), rows))

    if after_set_up:
        parties = world.parties(CIRCUIT, Blocks.whole(3, 3), a, b, world.fresh())
    else:
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


@settings(max_examples=16, deadline=None)
@given(st.data(), st.sampled_from(list(Side)), st.booleans())
def test_a_hostile_peer_gets_an_error_or_an_answer_but_no_crash(
    real: World, data: st.DataObject, victim: Side, after_set_up: bool
) -> None:
    survives(data, real, victim, after_set_up)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(st.data(), st.sampled_from(list(Side)), st.booleans())
def test_fuzz_a_hostile_peer(real: World, data: st.DataObject, victim: Side, after_set_up: bool) -> None:
    survives(data, real, victim, after_set_up)
