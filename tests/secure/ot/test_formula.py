"""Formulas: shrinking keeps the value, truth tables are the formula."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.random import Generator

from accord.secure.ot.formula import Formula, Wire, joined, shrink, truth_of, wires
from accord.secure.ot.program import Bit, OwnBit

Kinds = ("all", "any", "not")


def random_formula(random: Generator, count: int, depth: int) -> Formula | Wire:
    kind = random.choice([*Kinds, "wire"]) if depth else "wire"
    if kind == "wire":
        return Bit(int(random.integers(count)))
    if kind == "not":
        return Formula("not", (random_formula(random, count, depth - 1),))
    parts = [random_formula(random, count, depth - 1) for _ in range(random.integers(0, 7))]
    return joined("all" if kind == "all" else "any", parts)


def value(formula: Formula | Wire, known: dict[Wire, bool]) -> bool:
    if not isinstance(formula, Formula):
        return known[formula]
    parts = [value(part, known) for part in formula.parts]
    return {"all": all(parts), "any": any(parts), "not": not all(parts)}[formula.kind]


def test_shrinking_bounds_every_part_and_keeps_the_value() -> None:
    random, shrunk = np.random.default_rng(0), 0
    for _ in range(200):
        formula = random_formula(random, 12, 3)
        steps: list[Formula | Wire] = []

        def evaluate(part: Formula | Wire, steps: list[Formula | Wire] = steps) -> Bit:
            assert len(wires(part)) <= 4
            steps.append(part)
            return Bit(100 + len(steps) - 1)

        small = shrink(formula, 4, evaluate)
        assert len(wires(small)) <= 4
        shrunk += bool(steps)
        known: dict[Wire, bool] = {Bit(i): bool(random.integers(2)) for i in range(12)}
        expected = value(formula, known)
        for i, step in enumerate(steps):
            known[Bit(100 + i)] = value(step, known)
        assert value(small, known) == expected
    assert shrunk > 20


def test_a_truth_table_is_the_formula_for_every_state_and_index() -> None:
    a, b, own = Bit(0), Bit(1), OwnBit(None)
    formula = joined("all", [Formula("not", (a,)), joined("any", [b, own])])
    truth = truth_of(formula, (a, b, own))
    for state, index in itertools.product(range(8), range(8)):
        bit_a, bit_b = ((state ^ index) & 1) != 0, ((state ^ index) >> 1 & 1) != 0
        both = (state & index) >> 2 != 0
        assert truth[state, index] == ((not bit_a) and (bit_b or both))


def test_constants_have_tables_too() -> None:
    assert truth_of(Formula("all", ()), ()).tolist() == [[True]]
    assert truth_of(Formula("any", ()), (OwnBit(None),)).tolist() == [[False, False]] * 2
