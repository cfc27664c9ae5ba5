"""Scores: programs that are as small as they should be, and shares that tell nothing of levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.errors import UnsupportedError
from accord.secure.blocks import Blocks, Limit, Table, batches
from accord.secure.circuit import And, AtMost, Both, Equal, Graded, Hamming, Input, Node, Not, Or, Reaches
from accord.secure.forms import Added, Rest
from accord.secure.ideal import weigh
from accord.secure.ot.batch import BatchSide, run_a, run_b
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.program import OwnBit, Program
from accord.secure.ot.rows import OwnRows
from accord.secure.ot.scores import most_without_values, table_of
from accord.secure.party import run_pair
from accord.side import Side
from benchmarks.workload import PEOPLE, make_up_table
from tests.secure.engines import World
from tests.secure.worlds import BITS, CODE, DICE, HERE, LONG, POINT, THERE, random_circuit, table

SEX, KNOWN = Input("sex", 1, 2), Input("sex known", 1, 1)
SMALL = Graded(((And((Equal(SEX), Both(KNOWN))), 3), (Not(Both(KNOWN)), 0)), -4)
NAME = Graded(
    (
        (And((AtMost(Hamming(LONG), 0), Both(HERE))), 6),
        (And((AtMost(Hamming(LONG), 90), Both(HERE))), 2),
        (Not(Both(HERE)), 0),
    ),
    -5,
)


def program_of(*parts: Graded, least: int = 2) -> Program:
    return compile_circuit(Reaches(parts, least), "ot")


def test_a_small_field_needs_no_lookup() -> None:
    program = program_of(SMALL, Graded(((Both(THERE), 5),), -1))
    (share,) = program.shares
    assert isinstance(share.form.of, Added)
    # Three sexes and none; a bit: one term less than there are kinds of rows.
    assert program.terms == 3 + 1
    assert all(lookup.lane == 1 for lookup in program.lookups)
    assert [part.shares for part in program.sums] == [((0, -1),)]


def test_levels_share_one_overlap_and_a_missing_value_is_no_wire() -> None:
    program = program_of(PEOPLE.parts[0], least=1)
    assert [len(share.form.shifts) for share in program.shares if len(share.form.shifts) > 100] == [128]
    assert sum(isinstance(share.form.of, Rest) for share in program.shares) == 2
    (weight,) = [lookup for lookup in program.lookups if lookup.lane > 1]
    assert (weight.bits, weight.own) == (2, ())
    assert {share.where for share in program.shares} == {Input("given present", 1, 1), None}


def test_the_people_of_the_benchmark() -> None:
    """What a price is made of: products, OTs of lookups, and levels that wait for each other."""
    program = compile_circuit(PEOPLE, "ot")
    assert program.terms < 680
    assert sum(-(-lookup.bits // 2) for lookup in program.lookups) <= 37
    assert len(program.levels) <= 4
    assert [len(share.form.shifts) for share in program.shares].count(128) == 3


def test_a_level_that_implies_another_needs_a_smaller_ring(world: World) -> None:
    """Whatever their order is: a level that another implies is not taken for one that implies it."""
    random = np.random.default_rng(5)
    strict, loose = AtMost(Hamming(LONG), 0), AtMost(Hamming(LONG), 20)
    for levels, rings in (((strict, loose), 4), ((loose, strict), 8)):
        circuit = Reaches((Graded(tuple(zip(levels, (9, 4), strict=True)), -3),), 4)
        assert min(part.bits for part in compile_circuit(circuit, "ot").sums[:2]) == rings
        a, b = table(random, circuit, Side.A, 30), table(random, circuit, Side.B, 30)
        base = random.integers(0, 2, LONG.length)
        for part in (a, b):
            flips = random.random((30, LONG.length)) < random.choice([0, 0.03, 0.2], (30, 1))
            part.inputs[LONG.name][:] = base ^ flips
        assert world.check(circuit, Blocks.whole(30, 30), a, b)


def test_a_table_says_what_the_plain_interpreter_says() -> None:
    made = table_of(SMALL)
    assert made is not None
    sex, known = (grid.reshape(-1, 1) for grid in np.meshgrid(np.arange(3), np.arange(2)))
    rows = {SEX.name: sex, KNOWN.name: known}
    left, right = (grid.reshape(-1) for grid in np.meshgrid(np.arange(6), np.arange(6)))
    expected = weigh(SMALL, rows, rows, left, right)
    cell = sex[:, 0] * 2 + known[:, 0]
    assert (made.weights[made.kinds[cell[left]], cell[right]] == expected).all()
    assert len(made.weights) == 4
    assert table_of(NAME) is None
    assert table_of(Graded(((Both(HERE), 3),), 3)) is None


def test_dummies_that_cannot_reach_a_score_cost_nothing() -> None:
    assert most_without_values(SMALL) == 0
    assert most_without_values(Graded(((Equal(BITS), 3),), -4)) == 3
    for least in (-3, 0, 1):
        last = program_of(SMALL, NAME, least=least).lookups[-1]
        assert (OwnBit(None) in last.own) == (least <= 0)


def test_a_score_that_is_always_or_never_reached_is_a_constant() -> None:
    for least in (-9, 10):
        (lookup,) = program_of(NAME, SMALL, least=least).lookups
        assert lookup.own == (OwnBit(None),)
    assert program_of(NAME, SMALL, least=-8).terms > 300


def test_levels_that_weigh_the_same_are_not_compared() -> None:
    assert program_of(Graded(((Equal(LONG), 2),), 2), SMALL).terms == program_of(SMALL).terms


@pytest.mark.parametrize("count", [1, 5, 9])
def test_more_levels_and_wires_than_a_lookup_holds(world: World, count: int) -> None:
    random = np.random.default_rng(count)
    fields = [Input(f"field {i}", 3, 3) for i in range(count)]
    wide = Or((And(tuple(Not(Equal(of)) for of in fields)), Equal(CODE), AtMost(Hamming(BITS), 2)))
    levels = tuple((Equal(of), int(random.integers(-9, 9))) for of in fields)
    part = Graded((*levels, (wide, 7), (Both(HERE), 2), (Both(THERE), -2)), 1)
    circuit = Reaches((part, Graded(((wide, 1),), 0)), 2)
    a, b = table(random, circuit, Side.A, 40, real=0.9), table(random, circuit, Side.B, 40, real=0.9)
    for values in (*a.inputs.values(), *b.inputs.values()):
        values[random.random(40) < 0.4] = 0
    assert world.check(circuit, Blocks.whole(40, 40), a, b)


def test_a_score_within_a_level_of_a_score(world: World) -> None:
    random = np.random.default_rng(3)
    inner = Reaches((Graded(((AtMost(DICE, 0), 2), (Both(HERE), 1)), 0), SMALL), 2)
    circuit = Reaches((Graded(((And((inner, Both(HERE))), 4), (Equal(BITS), 1)), -1), SMALL), 3)
    a, b = table(random, circuit, Side.A, 40), table(random, circuit, Side.B, 40)
    assert world.check(circuit, Blocks.whole(40, 40), a, b)


@pytest.mark.parametrize(
    "level",
    [
        And((AtMost(Hamming(LONG), 120), Both(HERE))),
        And((Equal(POINT), Both(HERE))),
        And((Not(AtMost(DICE, 0)), Both(HERE))),
        Or((AtMost(Hamming(LONG), 120), Not(Both(HERE)))),
        Or((Equal(CODE), Both(HERE))),
        And((AtMost(Hamming(LONG), 120), Both(HERE), Both(THERE))),
    ],
    ids=str,
)
def test_rows_without_a_value(world: World, level: Node) -> None:
    """What stands in an input whose bit is not set does not count, or it does, as the circuit says."""
    random = np.random.default_rng(4)
    circuit = Reaches(
        (Graded(((level, 3), (AtMost(Hamming(LONG), 150), 2), (Not(Both(HERE)), 1)), 0), SMALL), 2
    )
    a, b = table(random, circuit, Side.A, 30, 0.9), table(random, circuit, Side.B, 30, 0.9)
    assert world.check(circuit, Blocks.whole(30, 30), a, b)


def test_random_weights_that_a_ring_of_any_width_must_hold(world: World) -> None:
    random = np.random.default_rng(5)
    for bits in (1, 7, 8, 9, 15, 16, 17, 31, 33, 59):
        weights = [int(w) for w in random.integers(-(1 << bits), 1 << bits, 4, endpoint=True)]
        parts = tuple(Graded(((random_circuit(random, 1), w),), -w) for w in weights)
        circuit = Reaches(parts, int(random.integers(-(1 << bits), 1 << bits)))
        a, b = table(random, circuit, Side.A, 20), table(random, circuit, Side.B, 20)
        world.check(circuit, Blocks.whole(20, 20), a, b)


def test_a_score_that_no_ring_holds_is_refused() -> None:
    part = Graded(((Equal(LONG), 1 << 62),), 0)
    with pytest.raises(UnsupportedError, match="a score of over 62 bits"):
        program_of(part, part)


class Seen:
    """What the two sides hold after a batch of the benchmark's score, for pairs whose levels are known."""

    def __init__(self, world: World, rows: int = 120) -> None:
        self.program = compile_circuit(PEOPLE, "ot")
        (batch,) = batches(Blocks.whole(rows, rows), Limit(rows * rows), 4)
        tables = [_alike(make_up_table(PEOPLE, side, rows)) for side in Side]
        self.sides = []
        for session, own in zip(world.fresh(), tables, strict=True):
            ends, entropy = session.ends((False, False)), session.ot.entropy
            self.sides.append(BatchSide(ends, entropy, self.program, batch, OwnRows(own.inputs, own.real)))
        self.answers = run_pair(run_a(self.sides[0]), run_b(self.sides[1]))
        left, right = np.repeat(np.arange(rows), rows), np.tile(np.arange(rows), rows)
        zero = [_without_dummies(own) for own in tables]
        self.levels = [weigh(part, zero[0], zero[1], left, right) for part in PEOPLE.parts]

    def numbers(self) -> list[NDArray[Any]]:
        """All that is shared, of both sides, as bits (pairs, bits)."""
        found = []
        for side in self.sides:
            found += [
                bits[:, None] for number, bits in side.bits.items() if number < len(side.program.lookups) - 1
            ]
            found += [_as_bits(values, 8 * values.itemsize) for values in side.numbers.values()]
            for share, values in zip(side.program.shares, side.shares, strict=True):
                if share.form.shifts:
                    found.append(_as_bits(values, share.bits))
        return found


def _alike(own: Table) -> Table:
    """Rows of few kinds, half of them with slips, so that every level occurs often."""
    random, rows = np.random.default_rng(6), len(own.real)
    for name, values in own.inputs.items():
        if name.endswith(" bits"):
            values[:] = random.integers(0, 2, (4, values.shape[1]))[np.arange(rows) % 4]
            values[::2] ^= random.random(values[::2].shape) < 0.06
    for name in [name for name in own.inputs if name.endswith(" ones")]:
        own.inputs[name][:] = own.inputs[name.replace("ones", "bits")].sum(axis=1, keepdims=True)
    return own


def _without_dummies(own: Table) -> dict[str, NDArray[np.int64]]:
    return {name: values * own.real[:, None] for name, values in own.inputs.items()}


def _as_bits(values: NDArray[Any], bits: int) -> NDArray[Any]:
    return (values[:, None] >> np.arange(bits, dtype=values.dtype)) & values.dtype.type(1)


def test_what_a_side_holds_tells_nothing_of_levels(world: World) -> None:
    """For every level of every field, each bit of every share is a fair coin to each side by itself.

    Each frequency is within 6 standard deviations of a half: false-alarm rate 2e-9 for each of some 6,000.
    """
    seen = Seen(world)
    assert 1000 < seen.answers[0].sum() < 10_000
    held, tested = seen.numbers(), 0
    for part, weights in zip(PEOPLE.parts, seen.levels, strict=True):
        assert set(np.unique(weights)) == set(part.weights)
        for level in part.weights:
            pairs = np.flatnonzero(weights == level)
            assert len(pairs) > 100
            assert all(_is_fair(bits[pairs]) for bits in held)
            # It would be seen if the level stood anywhere in the clear.
            assert not _is_fair((weights == part.weights[0])[pairs, None])
            tested += sum(bits.shape[1] for bits in held)
    assert tested > 5000


def _is_fair(bits: NDArray[Any]) -> bool:
    return bool((abs(bits.mean(axis=0) - 0.5) <= 6 * 0.5 / np.sqrt(len(bits))).all())


@pytest.fixture(scope="module")
def world() -> World:
    return World("ot")
