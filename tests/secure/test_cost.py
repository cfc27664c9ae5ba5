"""A price is exactly what the wire carries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from accord.secure.blocks import Blocks
from accord.secure.circuit import AtMost, Hamming, Input, Node, Side, SquaredEuclidean
from accord.secure.cost import price, setup_price
from accord.secure.engine_ot import OtEngine
from accord.secure.ot_setup import set_up
from accord.secure.party import Wire, run_pair
from tests.secure.conftest import Sessions
from tests.secure.worlds import Fixed, blocks, random_circuit, table


def carried(k: int, sessions: Sessions, circuit: Node, over: Blocks, rows: int) -> Wire:
    random, wire, engine = np.random.default_rng(0), Wire(), OtEngine(k)
    a, b = table(random, circuit, Side.A, rows), table(random, circuit, Side.B, rows)
    run_pair(
        engine.evaluate(sessions[0], circuit, over, a), engine.evaluate(sessions[1], circuit, over, b), wire
    )
    return wire


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_bytes_and_rounds_are_those_of_the_engine(sessions: Callable[[int], Sessions], k: int) -> None:
    random = np.random.default_rng(k)
    for sizes in ([], [(0, 4)], [(1, 1)], [(3, 5), (0, 1), (9, 2)], [(2, 5000)]):
        circuit = random_circuit(random)
        over = blocks(random, [s[0] for s in sizes], [s[1] for s in sizes], 20)
        wire, cost = carried(k, sessions(k), circuit, over, 20), price(circuit, over, k=k)
        assert (cost.bytes, cost.rounds, cost.comparisons) == (wire.bytes, wire.rounds, over.pairs)


def test_rounds_are_counted_over_many_batches(sessions: Callable[[int], Sessions]) -> None:
    circuit, over = AtMost(Hamming(Input("x", 5, 1)), 2), Blocks.whole(600, 600)
    wire, cost = carried(4, sessions(4), circuit, over, 600), price(circuit, over)
    assert (cost.bytes, cost.rounds) == (wire.bytes, wire.rounds)
    assert cost.rounds == 8


def test_only_sizes_count() -> None:
    sizes = np.array([3, 40]), np.array([7, 2])
    over = blocks(np.random.default_rng(0), [3, 40], [7, 2], 9)
    circuit = AtMost(SquaredEuclidean(Input("x", 2, 9)), 5)
    assert price(circuit, over) == price(circuit, Blocks.of_sizes(*sizes))


@pytest.mark.parametrize("k", [1, 4])
def test_the_set_up_has_a_price_too(k: int) -> None:
    wire = Wire()
    run_pair(set_up(Side.A, k, Fixed("a")), set_up(Side.B, k, Fixed("b")), wire)
    cost = setup_price()
    assert (cost.bytes, cost.rounds) == (wire.bytes, wire.rounds)


def test_the_prices_that_the_documentation_names() -> None:
    over = Blocks.whole(1000, 1000)
    hamming = price(AtMost(Hamming(Input("x", 50, 1)), 5), over)
    euclidean = price(AtMost(SquaredEuclidean(Input("x", 2, (1 << 17) - 1)), 1000**2), over)
    assert hamming.bytes / over.pairs < 72
    assert euclidean.bytes / over.pairs < 420
