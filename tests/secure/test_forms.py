"""Forms: own parts and shifted products add up to the value of the plain interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accord.secure.circuit import (
    AtMost,
    Bilinear,
    Edit,
    Equal,
    Hamming,
    Input,
    Mismatches,
    Product,
    SquaredEuclidean,
    inputs,
)
from accord.secure.forms import (
    Added,
    Ceiling,
    Form,
    Nearby,
    Reader,
    Weights,
    alternatives,
    cell,
    cells,
    choice_bits,
    every_cell,
    factors,
    families,
    form_of,
    of_zeros,
    overlap_of,
    own_part,
    with_dummies,
)
from accord.secure.ideal import _value, evaluate
from accord.side import Side
from tests.secure.worlds import AHEAD, BITS, CODE, COSINE, COUNT, DICE, FAR, POINT, TEXT, table

EVEN = Product(BITS, Input("grade", 9, 7), -24)


def value_of(form: Form, a: Reader, b: Reader, rows: int) -> Any:
    """The value of row i of A with row i of B, as the form says."""
    bits, factor = choice_bits(form, a), factors(form, b)
    assert len(bits) == len(factor) == len(form.shifts)
    total = own_part(form, Side.A, a, rows) + own_part(form, Side.B, b, rows)
    for shift, bit, f in zip(form.shifts, bits, factor, strict=True):
        total = total + (bit * f << shift)
    return total


@pytest.mark.parametrize(
    "of",
    [
        *(Hamming(BITS), SquaredEuclidean(POINT), SquaredEuclidean(FAR), DICE, AHEAD, COSINE, Equal(CODE)),
        Mismatches(TEXT),
    ],
)
def test_the_parts_add_up_to_the_value(
    of: Hamming | Mismatches | SquaredEuclidean | Bilinear | Equal,
) -> None:
    random = np.random.default_rng(0)
    circuit = of if isinstance(of, Equal) else AtMost(of, 0)
    a, b = table(random, circuit, Side.A, 20), table(random, circuit, Side.B, 20)
    assert inputs(circuit, Side.A)
    form = form_of(of)
    total = value_of(form, a.read, b.read, 20)
    rows = np.arange(20)
    if isinstance(of, Equal):
        same = np.all(a.inputs[CODE.name] == b.inputs[CODE.name], axis=1)
        assert ((total == 0) == same).all()
    else:
        assert (total == _value(of, a.inputs, b.inputs, rows, rows)).all()
    assert form.low <= total.min()
    assert total.max() <= form.high


@pytest.mark.parametrize("place", range(TEXT.length))
def test_the_letters_nearby_are_bits_of_one_value(place: int) -> None:
    random = np.random.default_rng(place)
    a, b = (table(random, Edit(TEXT, 2), side, 50) for side in Side)
    x, y = a.read(TEXT), b.read(TEXT)
    total = value_of(form_of(Nearby(TEXT, place, 2)), a.read, b.read, 50)
    for bit in range(5):
        there = place - 2 + bit
        known = x[:, place] == y[:, there] if 0 <= there < TEXT.length else np.zeros(50, np.bool_)
        assert ((total >> bit & 1 != 0) == known).all()
    assert total.max() < 1 << 5


def test_weights_by_kinds_of_rows_add_up() -> None:
    """Two tables in one form, of which one reads several inputs of several elements."""
    random = np.random.default_rng(2)
    of, other = (CODE, Input("here", 1, 1)), (Input("there", 1, 1),)
    made = []
    for inputs_of in (of, other):
        kinds = random.integers(0, 4, cells(inputs_of))
        made.append(Weights(inputs_of, inputs_of, kinds, random.integers(-9, 9, (4, cells(inputs_of)))))
    form = form_of(Added(tuple(made)))
    rows = {x.name: random.integers(0, x.high + 1, (2, 50, x.length)) for x in (*of, *other)}

    def a(of: Input) -> Any:
        return rows[of.name][0]

    def b(of: Input) -> Any:
        return rows[of.name][1]

    expected = sum(w.weights[w.kinds[cell(w.of_a, a)], cell(w.of_b, b)] for w in made)
    total = value_of(form, a, b, 50)
    assert (total == expected).all()
    assert form.low <= total.min()
    assert total.max() <= form.high


def test_cells_number_all_values() -> None:
    of = (CODE, Input("here", 1, 1))
    every = every_cell(of)
    assert cells(of) == 6 * 6 * 2
    assert (cell(of, lambda x: every[x.name]) == np.arange(72)).all()


def test_powers_of_two_leave_the_weight() -> None:
    form = form_of(Bilinear((EVEN,), None, 0, 0, -2000, 0))
    assert form.shifts == (3,) * 9
    values = np.arange(9)[None, :] % 8
    assert (factors(form, lambda of: values)[:, 0] == -3 * values[0]).all()


def overlap(v: int, w: int) -> AtMost:
    """v·(|a| + |b|) − w·⟨a, b⟩ ≤ 0."""
    low, high = BITS.length * min(0, 2 * v - w), v * BITS.length
    return AtMost(Bilinear((Product(BITS, BITS, -w),), COUNT, v, v, low, high), 0)


@pytest.mark.parametrize(
    ("node", "divisors"),
    [
        *((AtMost(Hamming(BITS), bound), [2]) for bound in range(9)),
        (Equal(CODE), [2]),
        (overlap(8, 20), [5]),
        (overlap(4, 9), [3, 9]),
        (overlap(17, 40), [2, 4, 5, 8, 10, 20, 40]),
        (overlap(1, 1), []),
        (AtMost(COSINE, -20), []),
        (AtMost(AHEAD, 100), []),
        (AtMost(SquaredEuclidean(POINT), 400), []),
    ],
    ids=str,
)
def test_what_is_divided_says_the_same(node: AtMost | Equal, divisors: list[int]) -> None:
    random = np.random.default_rng(0)
    found = alternatives(node)
    assert [f.of.divisor for f, _ in found if isinstance(f.of, Ceiling)] == divisors
    a, b = table(random, node, Side.A, 2000), table(random, node, Side.B, 2000)
    rows = np.arange(2000)
    expected = evaluate(node, a.inputs, b.inputs, rows, rows)
    for form, bound in found:
        total = value_of(form, a.read, b.read, 2000)
        assert ((total <= bound) == expected).all()
        assert form.low <= total.min()
        assert total.max() <= form.high


@pytest.mark.parametrize(
    "node",
    [AtMost(Hamming(BITS), 3), Equal(BITS), overlap(8, 20), overlap(4, 9), overlap(17, 40), overlap(1, 2)],
    ids=str,
)
def test_a_multiple_of_the_overlap_and_a_rest_say_the_same(node: AtMost | Equal) -> None:
    random = np.random.default_rng(3)
    a, b = table(random, node, Side.A, 2000), table(random, node, Side.B, 2000)
    shared = overlap_of(node)
    assert shared == Product(BITS, BITS, 1)
    rows, common = np.arange(2000), (a.inputs[BITS.name] * b.inputs[BITS.name]).sum(axis=1)
    expected = evaluate(node, a.inputs, b.inputs, rows, rows)
    assert 50 < expected.sum() < 1950
    for family in families(node):
        total = value_of(family.rest, a.read, b.read, 2000) + family.factor * common
        assert ((total <= 0) == expected).all()
        assert family.rest.low <= total.min()
        assert total.max() <= family.rest.high


@pytest.mark.parametrize(
    "node", [AtMost(SquaredEuclidean(POINT), 4), AtMost(COSINE, 0), Equal(CODE), AtMost(AHEAD, 1)], ids=str
)
def test_what_is_no_multiple_of_an_overlap(node: AtMost | Equal) -> None:
    assert overlap_of(node) is None


@pytest.mark.parametrize(
    "node", [AtMost(Hamming(BITS), 4), Equal(CODE), overlap(2, 5), AtMost(AHEAD, 3)], ids=str
)
def test_rows_of_zeros_stay_in_the_bounds_that_dummies_have(node: AtMost | Equal) -> None:
    random = np.random.default_rng(1)
    a, b = table(random, node, Side.A, 500), table(random, node, Side.B, 500)

    def nothing(of: Input) -> Any:
        return np.zeros((500, of.length), dtype=np.int64)

    for form, _ in alternatives(node):
        low, high = with_dummies(form)
        for left, right in ((nothing, b.read), (a.read, nothing), (nothing, nothing)):
            total = value_of(form, left, right, 500)
            assert low <= total.min()
            assert total.max() <= high
            least, most = of_zeros(form)
            assert low <= least <= total.min()
            assert total.max() <= most <= high


def test_what_does_not_fit_a_machine_word_is_not_divided() -> None:
    large = 3 << 52
    wide = Bilinear((Product(BITS, BITS, -2 * large),), Input("own", 1, 1 << 11), large + 1, 1, 0, 1 << 12)
    assert [form.of for form, _ in alternatives(AtMost(wide, 2000))] == [wide]
