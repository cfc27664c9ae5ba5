"""A price is exactly what the wire carries."""

from __future__ import annotations

import numpy as np
import pytest

from accord.secure.blocks import Blocks
from accord.secure.circuit import AtMost, Edit, Hamming, Input, Mismatches, Node, Or, SquaredEuclidean
from accord.secure.cost import Tab, price, price_like, set_up_bytes
from accord.secure.dual import engine as engine_dual
from accord.secure.engines import BUILT_IN, engine_named
from accord.secure.garbled import batch as garbled_batch
from accord.secure.ot.engine import TAG
from accord.secure.ot.settings import USUAL
from accord.secure.party import Wire, run_pair
from accord.secure.transfer.checked import checked_bytes
from accord.side import Side
from tests.secure.engines import OT, World
from tests.secure.worlds import TEXT, Fixed, blocks, random_circuit, random_score, table

PRICED = [*OT, "dual"]


def carried(world: World, circuit: Node, over: Blocks, rows: int) -> Wire:
    random = np.random.default_rng(0)
    a, b = table(random, circuit, Side.A, rows), table(random, circuit, Side.B, rows)
    return world.wire(circuit, over, a, b)


@pytest.mark.parametrize("long", [60, *(pytest.param(long, marks=pytest.mark.slow) for long in (500, 5000))])
@pytest.mark.parametrize("name", PRICED)
def test_bytes_and_rounds_are_those_of_the_engine(name: str, long: int) -> None:
    random = np.random.default_rng(PRICED.index(name))
    engine, settings = ("ot", OT[name]) if name in OT else (name, USUAL)
    world = World(name)
    for sizes in ([], [(0, 4)], [(1, 1)], [(3, 5), (0, 1), (9, 2)], [(2, long)], [(40, 50), (3, 3)]):
        for circuit in (random_circuit(random), random_score(random), random_score(random, 9_999)):
            over = blocks(random, [s[0] for s in sizes], [s[1] for s in sizes], 20)
            world.sides = world.fresh()
            wire, cost = carried(world, circuit, over, 20), price(circuit, over, engine, settings)
            assert (cost.bytes, cost.rounds, cost.comparisons) == (wire.bytes, wire.rounds, over.pairs)


@pytest.mark.parametrize("name", PRICED)
def test_edits_and_mismatches_are_priced(name: str) -> None:
    engine, settings = ("ot", OT[name]) if name in OT else (name, USUAL)
    circuit, over = Or((Edit(TEXT, 2), AtMost(Mismatches(TEXT), 1))), Blocks.whole(30, 20)
    wire, cost = carried(World(name), circuit, over, 30), price(circuit, over, engine, settings)
    assert (cost.bytes, cost.rounds, cost.comparisons) == (wire.bytes, wire.rounds, over.pairs)


@pytest.mark.parametrize(("engine", "rounds"), [("ot", 9), ("dual", 15)])
def test_rounds_are_counted_over_many_batches(engine: str, rounds: int) -> None:
    size = 600 if engine == "ot" else 400
    circuit, over = AtMost(Hamming(Input("x", 5, 1)), 2), Blocks.whole(size, size)
    wire, cost = carried(World(engine), circuit, over, size), price(circuit, over, engine)
    assert (cost.bytes, cost.rounds) == (wire.bytes, wire.rounds)
    assert cost.rounds == rounds


@pytest.mark.parametrize("engine", BUILT_IN)
def test_only_sizes_count(engine: str) -> None:
    sizes = np.array([3, 40]), np.array([7, 2])
    over = blocks(np.random.default_rng(0), [3, 40], [7, 2], 9)
    circuit = AtMost(SquaredEuclidean(Input("x", 2, 9)), 5)
    assert price(circuit, over, engine) == price(circuit, Blocks.of_sizes(*sizes), engine)


@pytest.mark.parametrize("engine", BUILT_IN)
def test_a_set_up_has_a_fixed_price(engine: str) -> None:
    wire = Wire()
    a, b = (engine_named(engine).set_up(side, Fixed(side.value)) for side in Side)
    run_pair(a, b, wire)
    # Hellos with halves of a key; for the base OTs a point and, for each, a point, two keys of ML-KEM-768
    # with one ρ and two ciphertexts; 128/k bits an OT of the extension; in both directions two seeds a base
    # OT.
    hello, k = (engine_dual.TAG, garbled_batch.K) if engine != "ot" else (TAG + USUAL.hello, USUAL.k)
    base = 32 + 128 * (32 + 32 + 2 * 1152 + 2 * 1088)
    size = 2 * (len(hello) + 32 + 128 * 2 * 16) + base + checked_bytes(128, 128 // k)
    assert (wire.bytes, wire.rounds) == (size, 5)


def test_the_prices_that_the_documentation_names() -> None:
    over = Blocks.whole(1000, 1000)
    hamming, euclidean = (
        AtMost(Hamming(Input("x", 50, 1)), 5),
        AtMost(SquaredEuclidean(Input("x", 2, (1 << 17) - 1)), 1000**2),
    )
    assert price(hamming, over).bytes / over.pairs < 16
    assert price(euclidean, over).bytes / over.pairs < 80
    assert price(hamming, over, "dual").bytes / over.pairs < 3400
    assert price(euclidean, over, "dual").bytes / over.pairs < 18000


@pytest.mark.parametrize("name", PRICED)
def test_a_tab_goes_on_where_the_session_does(name: str) -> None:
    random, world = np.random.default_rng(7), World(name)
    engine, settings = ("ot", OT[name]) if name in OT else (name, USUAL)
    circuit = random_circuit(random)
    tab = Tab(circuit, engine, settings)
    world.sides = world.fresh()
    for sizes in ([(70, 90)], [(3, 5), (9, 2)], [(40, 200)]):
        over = blocks(random, [s[0] for s in sizes], [s[1] for s in sizes], 20)
        assert tab.add(over).bytes == carried(world, circuit, over, 20).bytes


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_set_up_sends_what_it_is_said_to(name: str) -> None:
    engine, wire = engine_named(name), Wire()
    a, b = (engine.set_up(side, Fixed(side.value)) for side in Side)
    run_pair(a, b, wire)
    assert wire.bytes == set_up_bytes(name)


@pytest.mark.parametrize("engine", ["ot", "dual"])
def test_so_many_times_a_sample_cost_as_the_whole(engine: str) -> None:
    circuit = AtMost(Hamming(Input("x", 30, 1)), 4)
    sizes = np.full(4000, 12), np.full(4000, 17)
    whole, part = Blocks.of_sizes(*sizes), Blocks.of_sizes(sizes[0][:500], sizes[1][:500])
    expected, found = price(circuit, whole, engine), price_like(circuit, part, 8.0, engine)
    assert found.comparisons == expected.comparisons
    assert found.bytes == pytest.approx(expected.bytes, rel=0.03)
    assert found.strips == expected.strips
    assert found.feeds == expected.feeds
