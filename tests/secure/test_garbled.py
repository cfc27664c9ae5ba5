"""Circuits of XOR and AND: how small they are, and what they say in the clear and between two parties."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray

from accord.errors import UnsupportedError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Bilinear, Both, Hamming, Input, Node, Product, SquaredEuclidean
from accord.secure.dual.engine import evaluate_tapes
from accord.secure.garbled import boolean
from accord.secure.garbled.boolean import Boolean, CircuitBuilder, Element, Flags, Gate, Source, source_bits
from accord.secure.garbled.compiler import boolean_circuit
from accord.secure.garbled.tape import tapes_of
from accord.secure.ideal import match
from accord.secure.party import run_pair
from accord.side import Side
from benchmarks.workload import RULES
from tests.secure.engines import World
from tests.secure.worlds import COUNT, HERE, STEP, THERE, table

Answer = NDArray[np.bool_]
Number = list[int]
"""Literals, the lowest bit first. Constants are literals, too: 0 and 1."""
BITS = 4
"""Bits of each side's rows in `any_circuit`."""


def source(build: CircuitBuilder, side: Side, name: str, bits: int) -> Number:
    """The bits of an input of one element a bit."""
    of = Input(name, bits, 1)
    return [build.source(Element(side, of, place, 0)) for place in range(bits)]


def any_circuit(random: Generator, gates: int) -> Boolean:
    """A circuit of gates at random over bits of both sides, and over whether rows are real."""
    build = CircuitBuilder()
    literals = [0, *(build.source(Flags(side, (), True)) for side in Side)]
    for side in Side:
        literals += source(build, side, side.value, BITS)
    for _ in range(gates):
        x, y = (literals[place] ^ int(random.integers(2)) for place in random.integers(0, len(literals), 2))
        literals.append(build.both(x, y) if random.random() < 0.6 else build.xor(x, y))
    return build.finish(literals[-1] ^ int(random.integers(2)))


def in_the_clear(circuit: Boolean, a: Table, b: Table) -> NDArray[np.bool_]:
    """The circuit's answer for row i of A and row i of B."""
    known = dict[Source, NDArray[np.bool_]]()
    for side, of in ((Side.A, a), (Side.B, b)):
        sources = circuit.sources(side)
        rows = source_bits(sources, lambda field, of=of: of.inputs[field.name], of.real)  # type: ignore[misc]
        known.update(zip(sources, rows.astype(np.bool_), strict=True))
    wires = {0: np.zeros(len(a.real), dtype=np.bool_)}
    for wire in circuit.needed:
        what = circuit.what(wire)
        if isinstance(what, Gate):
            x, y = (wires[literal >> 1] ^ bool(literal & 1) for literal in (what.left, what.right))
            wires[wire] = x ^ y if what.kind == "xor" else x & y
        else:
            wires[wire] = known[what]
    return wires[circuit.output >> 1] ^ bool(circuit.output & 1)


def tables_of(circuit: Boolean) -> int:
    """What a pair sends of a circuit, the same whoever garbles: two tables an AND, one if a bit is known."""
    (tables,) = {tape.tables for tape in tapes_of(circuit)}
    return tables


def test_constants_fold_and_equal_gates_are_one() -> None:
    build = CircuitBuilder()
    (x,), (y,) = source(build, Side.A, "x", 1), source(build, Side.B, "y", 1)
    assert (build.xor(x, 0), build.xor(x, 1), build.xor(x, x), build.xor(x, x ^ 1)) == (x, x ^ 1, 0, 1)
    assert (build.both(x, 1), build.both(x, 0), build.both(x, x), build.both(x, x ^ 1)) == (x, 0, x, 0)
    assert (build.either(x, 1), build.either(x, 0)) == (1, x)
    assert build.xor(x, y) == build.xor(y, x) == build.xor(x ^ 1, y ^ 1) == build.xor(x ^ 1, y) ^ 1
    assert build.both(x, y) == build.both(y, x) != build.both(x ^ 1, y)
    assert (build.every([]), build.every([x]), build.every([x, 1, x])) == (1, x, x)


# -- circuits of rules ---------------------------------------------------------------------------------------


def check(node: Node, seed: int, rows: int) -> None:
    """Row by row in the clear; the contract of engines garbles circuits."""
    random = np.random.default_rng(seed)
    a, b = table(random, node, Side.A, rows), table(random, node, Side.B, rows)
    ones = np.ones(rows, dtype=np.int64)
    over = Blocks(np.arange(rows), ones, np.arange(rows), ones)
    assert (in_the_clear(boolean_circuit(node), a, b) == match(node, over, a, b)).all()


def test_distances_and_weights_at_every_kind_of_bound() -> None:
    """Weights without an offset, with one side, and with common factors."""
    bits, grade = Input("bits", 5, 1), Input("grade", 5, 6)
    both = (Product(bits, grade, -6), Product(bits, bits, 14))
    for length in (1, 2):
        for bound in (0, 1, 2, 3, 4, 15, 16, 24, 25, 26, 48, 49, 50, 97, 98):
            check(AtMost(SquaredEuclidean(Input("x", length, 7)), bound), bound, 2000)
    for value in (
        Bilinear(both, None, 0, 0, -180, 70),
        Bilinear(both, STEP, 0, 4, -180, 4070),
        Bilinear(both, STEP, -8, 0, -8180, 70),
        Bilinear((), COUNT, 3, -3, -27, 27),
        Bilinear((), None, 0, 0, -1, 1),
        Bilinear((Product(grade, grade, 1),), None, 0, 0, 0, 180),
    ):
        for bound in (-100, -7, -1, 0, 1, 5, 100, 1000):
            check(AtMost(value, bound), bound + 1000, 300)


def test_the_circuits_that_the_documentation_names_have_their_sizes() -> None:
    """ANDs of the rule alone. All flags of a side cost one half, 'this row is real' among them."""
    assert {name: tables_of(boolean_circuit(rule)) for name, rule in RULES.items()} == {
        "hamming50": 2 * (51 + 1),
        "euclidean2d": 2 * (279 + 1),
        "equal16": 2 * (15 + 1),
        "dice128": 2 * (212 + 1),
        "dice1024": 2 * (1565 + 1),
        "edit": 2 * (498 + 1),
        "conjunction": 2 * (51 + 279 + 15 + 2 + 1),
        "people": 2 * (1268 + 1),
    }
    long = boolean_circuit(AtMost(Hamming(Input("x", 200, 1)), 50))
    assert max(tape.places for tape in tapes_of(long)) < len(long.needed) / 3, "places are used again"
    near = AtMost(Hamming(Input("x", 9, 1)), 3)
    flagged = And((near, Both(HERE), And((Both(THERE), Both(STEP)))))
    assert tables_of(boolean_circuit(flagged)) == tables_of(boolean_circuit(near))
    assert tables_of(boolean_circuit(And(()))) == 1


def test_a_rule_of_too_many_gates_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boolean, "MOST_WIRES", 50)
    with pytest.raises(UnsupportedError):
        boolean_circuit(AtMost(Hamming(Input("x", 20, 1)), 5))


# -- any circuit, between two parties ----------------------------------------------------------------------


def dual_execution(world: World, circuit: Boolean, a: Table, b: Table) -> Answer:
    """The answers for all pairs, the same on both sides."""
    over, tapes = Blocks.whole(len(a.real), len(b.real)), tapes_of(circuit)
    parties = [evaluate_tapes(s, tapes, over, rows) for s, rows in zip(world.fresh(), (a, b), strict=True)]
    found, other = run_pair(parties[0], parties[1])
    assert (found == other).all()
    return found.reshape(len(a.real), len(b.real))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 60), st.integers(0, 1 << 32))
def test_any_circuit_says_in_dual_execution_what_it_says_in_the_clear(
    world_of: Callable[[str], World], gates: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    circuit = any_circuit(random, gates)
    a, b = (Table({side.value: random.integers(0, 2, (5, BITS))}, random.random(5) < 0.8) for side in Side)
    rows = np.repeat(np.arange(5), 5), np.tile(np.arange(5), 5)
    pairs = [
        Table({name: values[some] for name, values in one.inputs.items()}, one.real[some])
        for one, some in zip((a, b), rows, strict=True)
    ]
    found = dual_execution(world_of("dual"), circuit, a, b)
    assert (found.reshape(-1) == in_the_clear(circuit, pairs[0], pairs[1])).all()
