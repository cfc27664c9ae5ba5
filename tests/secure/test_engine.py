"""The contract of engines: the same answers as the plain interpreter, on any circuit, blocks and dummies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from accord.errors import UsageError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Both, Equal, Hamming, Input, Node, Not, Or
from accord.secure.engines import BUILT_IN, engine_named
from accord.side import Side
from tests.secure.engines import EVERY, REAL, World
from tests.secure.worlds import BITS, LEAVES, blocks, random_circuit, random_score, table


@pytest.fixture(params=EVERY)
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


@pytest.fixture(params=REAL)
def real(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


@pytest.fixture(params=["ot", "ot silent", "dual"])
def fast(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
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


def test_a_large_block_takes_several_interleaved_batches(fast: World) -> None:
    random = np.random.default_rng(8)
    circuit = AtMost(Hamming(BITS), 2)
    a, b = table(random, circuit, Side.A, 643), table(random, circuit, Side.B, 701)
    assert fast.check(circuit, Blocks.whole(643, 701), a, b)


def test_circuits_with_more_parts_than_one_lookup_holds(fast: World) -> None:
    random = np.random.default_rng(9)
    wide = tuple(Not(Equal(Input(f"field {i}", 1, 3))) for i in range(20))
    for circuit in (And(wide), Or((And(wide[:9]), Not(Or(wide[5:]))))):
        a, b = table(random, circuit, Side.A, 40, real=0.9), table(random, circuit, Side.B, 40, real=0.9)
        fast.check(circuit, Blocks.whole(40, 40), a, b)


MISSING = [Not(leaf) for leaf in LEAVES if isinstance(leaf, Both)]
"""A dummy lacks every value, and does not match by that."""


@pytest.mark.parametrize(
    "circuit", [*LEAVES, *MISSING, And(()), Not(Or(())), Not(AtMost(Hamming(BITS), 3))], ids=str
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


def test_a_name_gives_an_engine() -> None:
    assert [engine_named(name).name for name in BUILT_IN] == list(BUILT_IN)
    with pytest.raises(UsageError, match="no engine 'magic'"):
        engine_named("magic")
