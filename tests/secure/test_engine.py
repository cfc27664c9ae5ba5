"""The contract of engines: the same answers as the plain interpreter, on any circuit, blocks and dummies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from accord.errors import UsageError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Equal, Hamming, Input, Node, Not, Or, Side
from accord.secure.engine import NAMES, Engine, engine_named
from accord.secure.engine_garbled import GarbledEngine, GarbledSession
from accord.secure.engine_ot import OtEngine
from accord.secure.ideal import IdealEngine, match
from accord.secure.party import run_pair
from tests.secure.conftest import Sessions
from tests.secure.worlds import BITS, LEAVES, Fixed, blocks, random_circuit, table

ENGINES = ["ideal", "ot k=1", "ot k=2", "ot k=4", "ot k=8", "garbled"]


@cache
def garbled_sessions() -> tuple[GarbledSession, GarbledSession]:
    engine = GarbledEngine()
    return run_pair(engine.set_up(Side.A, Fixed("a")), engine.set_up(Side.B, Fixed("b")))


class World:
    """An engine with the sessions of both sides."""

    def __init__(self, name: str, sessions: Callable[[int], Sessions]) -> None:
        self.engine: Engine
        self.sides: tuple[Any, Any]
        if name == "ideal":
            self.engine, self.sides = IdealEngine(), (Side.A, Side.B)
        elif name == "garbled":
            engine = GarbledEngine()
            self.engine, self.sides = engine, garbled_sessions()
        else:
            k = int(name[-1])
            self.engine, self.sides = OtEngine(k), sessions(k)

    def check(self, circuit: Node, over: Blocks, a: Table, b: Table) -> int:
        """Both sides' answers are right; says how many pairs match."""
        self.engine.supports(circuit)
        left, right = run_pair(
            self.engine.evaluate(self.sides[0], circuit, over, a),
            self.engine.evaluate(self.sides[1], circuit, over, b),
        )
        expected = match(circuit, over, a, b)
        assert (left == expected).all()
        assert (right == expected).all()
        return int(expected.sum())


@pytest.fixture(params=ENGINES)
def world(request: pytest.FixtureRequest, sessions: Callable[[int], Sessions]) -> World:
    return World(request.param, sessions)


@pytest.fixture(params=["ot k=4", "garbled"])
def fast(request: pytest.FixtureRequest, sessions: Callable[[int], Sessions]) -> World:
    return World(request.param, sessions)


def test_random_circuits_over_random_blocks(world: World) -> None:
    random = np.random.default_rng(5)
    matches = pairs = 0
    for _ in range(15):
        circuit = random_circuit(random)
        a, b = table(random, circuit, Side.A, 30), table(random, circuit, Side.B, 30)
        over = blocks(random, [7, 0, 1, 30], [5, 3, 1, 9], 30)
        matches += world.check(circuit, over, a, b)
        pairs += over.pairs
    assert 0.05 < matches / pairs < 0.6


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: str(leaf)[:40])
def test_every_leaf_alone_and_negated(fast: World, leaf: Node) -> None:
    random = np.random.default_rng(6)
    over = Blocks.whole(23, 19)
    a, b = table(random, leaf, Side.A, 23), table(random, leaf, Side.B, 19)
    real = int(np.outer(a.real, b.real).sum())
    assert fast.check(leaf, over, a, b) + fast.check(Not(leaf), over, a, b) == real


@pytest.mark.parametrize(
    ("a_counts", "b_counts"),
    [([], []), ([0], [0]), ([0], [5]), ([5, 0], [0, 3]), ([1], [1]), ([1] * 9, [1] * 9), ([3], [4097])],
)
def test_sizes(world: World, a_counts: list[int], b_counts: list[int]) -> None:
    random = np.random.default_rng(7)
    circuit = Or((AtMost(Hamming(BITS), 3), Equal(BITS)))
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


@pytest.mark.parametrize("circuit", [*LEAVES, And(()), Not(Or(())), Not(AtMost(Hamming(BITS), 3))], ids=str)
def test_dummies_never_match_not_even_each_other(fast: World, circuit: Node) -> None:
    random = np.random.default_rng(10)
    tables = {}
    for side in Side:
        made = table(random, circuit, side, 8)
        same = {name: np.repeat(values[:1], 8, axis=0) for name, values in made.inputs.items()}
        tables[side] = same
    some, none = np.arange(8) < 4, np.zeros(8, dtype=np.bool_)
    for a_real, b_real in ((some, none), (none, some), (none, none), (some, some)):
        a, b = Table(tables[Side.A], a_real), Table(tables[Side.B], b_real)
        matches = fast.check(circuit, Blocks.whole(8, 8), a, b)
        assert matches in (0, int(np.outer(a_real, b_real).sum()))


def test_a_name_gives_an_engine() -> None:
    assert [engine_named(name).name for name in NAMES] == list(NAMES)
    with pytest.raises(UsageError, match="no engine 'magic'"):
        engine_named("magic")
