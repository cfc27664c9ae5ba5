"""Many random scores as people write them, half of the rows dummies: `ot` agrees with the definition.

Every level asks whether both rows have a value, so that most programs may leave out 'both rows are real': a
dummy has no value, and reaches the threshold only where missing values do. Such programs must be met, and the
values of dummies are anything.
"""

from __future__ import annotations

import numpy as np
import pytest

from accord.secure.blocks import Table
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Both,
    Equal,
    Graded,
    Hamming,
    Input,
    Node,
    Not,
    Product,
    Reaches,
)
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.program import OwnBit
from accord.side import Side
from tests.secure.engines import World
from tests.secure.worlds import BITS, CODE, COUNT, HERE, LONG, THERE, blocks, random_score, table

ONES = Input("ones", 1, LONG.length)
ROWS = 24


def dice(of: Input, count: Input, above: int, below: int) -> Node:
    """2·below·⟨a, b⟩ ≥ above·(|a| + |b|), as a form whose least and greatest values are known."""
    low, high = of.length * (2 * above - below), above * of.length
    return AtMost(Bilinear((Product(of, of, -below),), count, above, above, low, high), 0)


def levels_of(random: np.random.Generator) -> list[Node]:
    """Levels of one similarity, in whatever order."""
    near, far = int(random.integers(0, 5)), int(random.integers(100, 160))
    found: list[list[Node]] = [
        [dice(BITS, COUNT, 1, 2), dice(BITS, COUNT, 4, 10)],
        [AtMost(Hamming(LONG), near), AtMost(Hamming(LONG), far)],
        [Equal(CODE)],
        [
            AtMost(Hamming(BITS), 0),
            AtMost(Hamming(BITS), int(random.integers(1, 4))),
            AtMost(Hamming(BITS), 5),
        ],
        [Equal(BITS), Equal(CODE)],
        [dice(LONG, ONES, 1, 2), dice(LONG, ONES, 17, 40), dice(LONG, ONES, 7, 20)],
    ]
    chosen = found[random.integers(len(found))]
    return chosen if random.random() < 0.7 else chosen[::-1]


def people_score(random: np.random.Generator) -> Reaches:
    """A score in which every level needs a value on both sides."""
    parts = []
    for _ in range(random.integers(1, 6)):
        present, found = Both([HERE, THERE][random.integers(2)]), levels_of(random)
        weights = random.integers(-20, 20, len(found) + 2, endpoint=True).tolist()
        levels: list[tuple[Node, int]] = [
            (And((level, present)), weight) for level, weight in zip(found, weights, strict=False)
        ]
        if random.random() < 0.8:
            levels.append((Not(present), weights[-2] if random.random() < 0.5 else 0))
        parts.append(Graded(tuple(levels), weights[-1]))
    low, high = (sum(end(part.weights) for part in parts) for end in (min, max))
    return Reaches(tuple(parts), int(random.integers(low, high, endpoint=True)))


def rows_of(random: np.random.Generator, circuit: Node, side: Side) -> Table:
    """Rows that are often alike, half of them dummies, with counts that fit their filters."""
    found = table(random, circuit, side, ROWS, real=0.5)
    for name, values in found.inputs.items():
        if name.endswith("here"):
            values[:] = random.random(values.shape) < 0.7
        elif name in ("long", "bits", "code"):
            values[random.random(ROWS) < 0.4] = values[0] if random.random() < 0.5 else 1
    for count, of in (("ones", "long"), ("count", "bits")):
        if count in found.inputs and of in found.inputs:
            found.inputs[count][:] = found.inputs[of].sum(axis=1, keepdims=True)
    return found


@pytest.mark.parametrize("programs", [5, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", ["ot", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ot silent", "ot field=4"))]
)
def test_random_scores_of_people(name: str, programs: int) -> None:
    world, random = World(name), np.random.default_rng(programs)
    without = matches = 0
    for _ in range(programs):
        people = random.random() < 0.6
        circuit = (
            people_score(random) if people else random_score(random, int(random.choice([1, 3, 20, 300])))
        )
        a, b = (rows_of(random, circuit, side) for side in Side)
        lookups = compile_circuit(circuit, "ot").lookups
        without += bool(lookups) and OwnBit(None) not in lookups[-1].own
        matches += world.check(circuit, blocks(random, [3, 10, 1], [12, 7, 5], ROWS), a, b)
    assert without > programs / 10
    assert matches > programs
