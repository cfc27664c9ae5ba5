"""Circuits of distances as XORs and ANDs: right on every row, and as small as is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.errors import UnsupportedError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Both,
    Equal,
    Hamming,
    Input,
    Node,
    Not,
    Product,
    SquaredEuclidean,
)
from accord.secure.garbled.boolean import Boolean, Gate, Source, source_bits
from accord.secure.garbled.compiler import boolean_circuit, check_supported
from accord.secure.garbled.tape import TABLES, tape_of
from accord.secure.ideal import match
from accord.side import Side
from benchmarks.workload import RULES
from tests.secure.garbled.costs import half_gates
from tests.secure.worlds import COUNT, HERE, LEAVES, STEP, THERE, random_circuit, table


def plain(circuit: Boolean, a: Table, b: Table) -> NDArray[np.bool_]:
    """The circuit's answer for row i of A and row i of B."""
    count = len(a.real)
    known = dict[Source, NDArray[np.bool_]]()
    for side, of in ((Side.A, a), (Side.B, b)):
        sources = circuit.sources(side)
        rows = source_bits(sources, lambda field, of=of: of.inputs[field.name], of.real)  # type: ignore[misc]
        known.update(zip(sources, rows.astype(np.bool_), strict=True))
    wires = {0: np.zeros(count, dtype=np.bool_)}
    for wire in circuit.needed:
        what = circuit.what(wire)
        if isinstance(what, Gate):
            x, y = (wires[literal >> 1] ^ bool(literal & 1) for literal in (what.left, what.right))
            wires[wire] = x ^ y if what.kind == "xor" else x & y
        else:
            wires[wire] = known[what]
    return wires[circuit.output >> 1] ^ bool(circuit.output & 1)


def check(node: Node, seed: int, rows: int = 200) -> None:
    random = np.random.default_rng(seed)
    a, b = table(random, node, Side.A, rows), table(random, node, Side.B, rows)
    ones = np.ones(rows, dtype=np.int64)
    over = Blocks(np.arange(rows), ones, np.arange(rows), ones)
    assert (plain(boolean_circuit(node), a, b) == match(node, over, a, b)).all()


@pytest.mark.parametrize("leaf", LEAVES, ids=str)
def test_every_leaf_alone_and_negated(leaf: Node) -> None:
    check(leaf, 0)
    check(Not(leaf), 1)


def test_random_circuits() -> None:
    random = np.random.default_rng(3)
    for seed in range(60):
        check(random_circuit(random), seed, 60)


@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize("bound", [0, 1, 2, 3, 4, 15, 16, 24, 25, 26, 48, 49, 50, 97, 98])
def test_squared_distances_at_every_kind_of_bound(bound: int, length: int) -> None:
    check(AtMost(SquaredEuclidean(Input("x", length, 7)), bound), bound, 2000)


def test_weights_without_an_offset_with_one_side_and_with_common_factors() -> None:
    bits, grade = Input("bits", 5, 1), Input("grade", 5, 6)
    both = (Product(bits, grade, -6), Product(bits, bits, 14))
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
    """ANDs of the rule alone; the two bits 'this row is real' cost one more, half each."""
    halves = {name: half_gates(boolean_circuit(rule)) for name, rule in RULES.items()}
    assert halves == {
        "hamming50": 2 * (51 + 1),
        "euclidean2d": 2 * (279 + 1),
        "equal16": 2 * (15 + 1),
        "dice128": 2 * (212 + 1),
        "dice1024": 2 * (1565 + 1),
        "edit": 2 * (498 + 1),
        "conjunction": 2 * (51 + 279 + 15 + 2 + 1),
        "people": 2 * (1268 + 1),
    }


def test_flags_of_a_side_cost_one_half_however_many_they_are() -> None:
    alone = half_gates(boolean_circuit(AtMost(Hamming(Input("x", 9, 1)), 3)))
    flagged = And((AtMost(Hamming(Input("x", 9, 1)), 3), Both(HERE), And((Both(THERE), Both(STEP)))))
    assert half_gates(boolean_circuit(flagged)) == alone
    assert half_gates(boolean_circuit(And(()))) == 1


def test_what_cannot_be_evaluated_is_named() -> None:
    wide = Bilinear((), STEP, 1 << 62, 1, 0, 9)
    for node, words in (
        (AtMost(Hamming(Input("x", 3, 7)), 1), "not bits"),
        (AtMost(SquaredEuclidean(Input("x", 2, 1 << 31)), 9), "needs 64 bits"),
        (Not(AtMost(wide, 3)), "over 62 bits"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            check_supported(node, "garbled")


@pytest.mark.parametrize("garbler", list(Side))
def test_a_tape_reads_nothing_before_it_is_there_and_has_small_steps(garbler: Side) -> None:
    random = np.random.default_rng(4)
    for node in [*RULES.values(), *(random_circuit(random) for _ in range(30))]:
        circuit = boolean_circuit(node)
        tape, written = tape_of(circuit, garbler), set[int]()
        assert tape.tables == half_gates(circuit)
        for step in tape.steps:
            for code, place, x, y in step.operations.tolist():
                assert code != 0 or {x, y} <= written
                written.add(place)
            assert set(step.hashed.tolist()) <= written
            assert len(step.taken) <= TABLES
            outputs = step.gates[:, 1].tolist()
            assert len(set(outputs)) == len(outputs)
            assert not set(outputs) & set(step.hashed.tolist())
            written.update(outputs)
        assert (tape.output in written) == (circuit.output > 1)


def test_places_are_used_again() -> None:
    circuit = boolean_circuit(AtMost(Hamming(Input("x", 200, 1)), 50))
    assert tape_of(circuit, Side.A).places < len(circuit.needed) / 3


def test_equality_of_nothing_is_true() -> None:
    assert half_gates(boolean_circuit(Equal(Input("x", 0, 1)))) == 1
