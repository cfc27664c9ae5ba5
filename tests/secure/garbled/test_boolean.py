"""Circuits of XOR and AND: what folds, what is shared, what is counted, and that numbers add up."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.secure.circuit import Input
from accord.secure.garbled.boolean import FALSE, TRUE, Boolean, CircuitBuilder, Element, Gate
from accord.secure.garbled.numbers import (
    add_square,
    at_most,
    columns,
    difference,
    magnitude,
    signed_digits,
    total,
)
from accord.side import Side
from tests.secure.garbled.costs import half_gates

LONG = Input("x", 64, 1)


def values(circuit: Boolean, given: dict[Element, int]) -> list[int]:
    """The plain value of every literal."""
    known = [0, 1]
    for what in circuit.wires:
        if isinstance(what, Gate):
            x, y = known[what.left], known[what.right]
            bit = x ^ y if what.kind == "xor" else x & y
        else:
            assert isinstance(what, Element)
            bit = given[what]
        known += [bit, 1 - bit]
    return known


def element(side: Side, index: int) -> Element:
    return Element(side, LONG, index, 0)


class World:
    """A builder with inputs of one side, and the value of what it builds."""

    def __init__(self, bits: int) -> None:
        self.build = CircuitBuilder()
        self.sources = [element(Side.A, i) for i in range(bits)]
        self.inputs = [self.build.source(of) for of in self.sources]

    def value(self, number: list[int], of: int) -> int:
        """The number of literals where the inputs have the bits of `of`."""
        known = values(self.build.finish(FALSE), {s: of >> i & 1 for i, s in enumerate(self.sources)})
        return sum(known[literal] << place for place, literal in enumerate(number))

    def ands(self, literals: list[int]) -> int:
        reached = set[int]()
        for literal in literals:
            reached |= set(self.build.finish(literal).needed)
        gates = [self.build.finish(FALSE).what(wire) for wire in reached]
        return sum(isinstance(gate, Gate) and gate.kind == "and" for gate in gates)


def test_constants_fold_and_equal_gates_are_one() -> None:
    build = CircuitBuilder()
    x, y = build.source(element(Side.A, 0)), build.source(element(Side.B, 0))
    assert (build.xor(x, FALSE), build.xor(x, TRUE), build.xor(x, x), build.xor(x, x ^ 1)) == (x, x ^ 1, 0, 1)
    assert (build.both(x, TRUE), build.both(x, FALSE), build.both(x, x), build.both(x, x ^ 1)) == (x, 0, x, 0)
    assert (build.either(x, TRUE), build.either(x, FALSE)) == (TRUE, x)
    assert build.xor(x, y) == build.xor(y, x) == build.xor(x ^ 1, y ^ 1) == build.xor(x ^ 1, y) ^ 1
    assert build.both(x, y) == build.both(y, x) != build.both(x ^ 1, y)
    assert (build.every([]), build.every([x]), build.every([x, TRUE, x])) == (TRUE, x, x)


def test_only_what_the_answer_needs_is_counted_and_known_bits_cost_half() -> None:
    build = CircuitBuilder()
    x, y, z = (build.source(element(side, i)) for i, side in enumerate((Side.A, Side.B, Side.B)))
    unused = build.both(build.xor(x, y), build.xor(y, z))
    half = build.both(x, y)
    circuit = build.finish(build.both(build.xor(half, z), build.xor(x, z)))
    assert half_gates(circuit) == 3
    assert unused >> 1 not in circuit.needed
    assert circuit.sources(Side.A) == (element(Side.A, 0),)
    assert circuit.sources(Side.B) == (element(Side.B, 1), element(Side.B, 2))


@pytest.mark.parametrize("bits", range(1, 11))
def test_a_weight_takes_as_few_ands_as_is_known(bits: int) -> None:
    """Boyar and Peralta: the weight of n bits needs n − |n|₁ ANDs, and no fewer."""
    world = World(bits)
    ones = columns()
    ones[0] = world.inputs
    number = total(world.build, ones)
    assert world.ands(number) == bits - bits.bit_count()
    for of in range(1 << bits):
        assert world.value(number, of) == of.bit_count()


@pytest.mark.parametrize("bits", range(1, 8))
def test_squares(bits: int) -> None:
    world = World(bits)
    to = columns()
    add_square(world.build, world.inputs, to)
    number = total(world.build, to)
    for of in range(1 << bits):
        assert world.value(number, of) == of**2


@pytest.mark.parametrize("bits", range(1, 6))
def test_comparisons_with_every_constant(bits: int) -> None:
    world = World(bits)
    for bound in range(-1, 1 << bits):
        literal = at_most(world.build, world.inputs, bound)
        assert [world.value([literal], of) for of in range(1 << bits)] == [
            of <= bound for of in range(1 << bits)
        ]


@pytest.mark.parametrize("kept", range(6))
def test_differences_and_their_magnitudes(kept: int) -> None:
    world = World(10)
    number, sign = difference(world.build, world.inputs[:5], world.inputs[5:])
    size, beyond = magnitude(world.build, number, sign, kept)
    for a, b in product(range(32), repeat=2):
        of = a | b << 5
        assert world.value([*number, sign], of) == (a - b) % 64
        assert world.value([beyond], of) == (abs(a - b) >= 1 << kept)
        if abs(a - b) < 1 << kept:
            assert world.value(size, of) == abs(a - b)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=14), st.integers(0, 1 << 14), st.integers(1, 8))
def test_sums_of_columns(places: list[int], of: int, width: int) -> None:
    world = World(len(places))
    of %= 1 << len(places)
    to = columns()
    for place, literal in zip(places, world.inputs, strict=True):
        to[place].append(literal)
    expected = sum(1 << place for i, place in enumerate(places) if of >> i & 1)
    assert world.value(total(world.build, to), of) == expected
    assert world.value(total(world.build, to, width), of) == expected % (1 << width)


@given(st.integers(-(1 << 62), 1 << 62))
def test_signed_digits_are_few_and_never_neighbours(weight: int) -> None:
    digits = signed_digits(weight)
    assert sum(sign << place for place, sign in digits) == weight
    assert (np.diff([place for place, _ in digits]) > 1).all()
