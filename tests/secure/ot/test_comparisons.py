"""Comparisons: every way to read a sum says the same, and relatives share what they have in common."""

from __future__ import annotations

import numpy as np
import pytest

from accord.secure.circuit import AtMost, Bilinear, Equal, Hamming, Input, Product, SquaredEuclidean
from accord.secure.ot.comparisons import SumReading, plans, readings, relatives, together
from tests.secure.worlds import CODE, COSINE, DICE, HERE, LONG, POINT

ONES = Input("ones", 1, 300)


def dice(v: int, w: int) -> AtMost:
    low, high = 300 * min(0, 2 * v - w), 300 * v
    return AtMost(Bilinear((Product(LONG, LONG, -w),), ONES, v, v, low, high), 0)


def read(reading: SumReading, value: int, random: np.random.Generator) -> bool:
    """What the lookups say of a value that is shared at random, with random masks between them."""
    size = 1 << reading.bits
    mine = int(random.integers(size))
    yours = (value + reading.shift - mine) % size
    mine = -mine % size if reading.opposed else mine
    low, carry = 0, None
    for width, truth in reading.digits:
        state, index = (side >> low & ((1 << width) - 1) for side in (mine, yours))
        if carry is not None:
            state, index = state | carry[0] << width, index | carry[1] << width
        mask = int(random.integers(2))
        carry = (mask, int(truth[state, index]) ^ mask)
        low += width
    assert low == reading.bits
    assert carry is not None
    return bool(carry[0] ^ carry[1])


@pytest.mark.parametrize(
    ("low", "high", "bound"),
    [(0, 1, 0), (0, 16, 0), (0, 64, 0), (-1, 66, -1), (-20, 57, 0), (5, 900, 5), (-300, 200, 100), (0, 9, 8)],
)
def test_every_reading_says_the_same(low: int, high: int, bound: int) -> None:
    random = np.random.default_rng(high)
    found = list(readings(low, high, bound))
    assert any(reading.opposed for reading in found) == (bound == low and high - low >= 16)
    for value in {low, bound, bound + 1, high, *random.integers(low, high, 60, endpoint=True).tolist()}:
        assert {read(reading, value, random) for reading in found} == {value <= bound}


def test_relatives_are_what_one_overlap_serves() -> None:
    nodes: list[AtMost | Equal] = [
        dice(17, 40),
        AtMost(Hamming(LONG), 7),
        Equal(LONG),
        AtMost(DICE, 0),
        dice(17, 40),
        AtMost(COSINE, 0),
    ]
    assert relatives(nodes) == [[nodes[0], nodes[1], nodes[2]]]
    assert relatives([Equal(CODE), AtMost(SquaredEuclidean(POINT), 3)]) == []


@pytest.mark.parametrize("where", [None, HERE])
def test_the_overlap_is_as_wide_as_the_widest_of_them_needs(where: Input | None) -> None:
    nodes = [dice(1, 2), dice(17, 40), AtMost(Hamming(LONG), 7)]
    found = together(nodes, where)
    assert found is not None
    assert found.overlap.bits == max(plan.overlap_bits for plan in found.plans)
    alone = sum(min(plan.weight for plan in plans(node, False, where)) for node in nodes)
    assert found.weight < 0.6 * alone
    assert {share.where for share in (found.overlap, *(plan.share for plan in found.plans))} == {where}


def test_numbers_too_large_to_be_divided_have_nothing_in_common() -> None:
    large = AtMost(Bilinear((Product(LONG, LONG, -3),), ONES, 1 << 59, 1, 0, 1 << 61), 5)
    assert together([Equal(LONG), large], None) is None


def test_a_penalty_is_as_small_as_rows_of_zeros_allow() -> None:
    """A row without a value overlaps with nothing: one more than the bound is enough."""
    for plan in plans(dice(17, 40), False, HERE):
        assert plan.share.penalty == 1
    assert {plan.share.penalty for plan in plans(AtMost(Hamming(LONG), 7), False, HERE)} <= {8, 4}
