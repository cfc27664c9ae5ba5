"""Bits of a filter as a key: the draw, and the recall that is stated of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from pydantic import TypeAdapter

from accord.fields.columns import Bits
from accord.rules.blocking.base import BlockingSpec, build_blocking, passes_of
from accord.rules.blocking.lsh import draw_positions, farthest, met_share
from accord.rules.evaluate import Tables
from accord.rules.words import hamming, same
from accord.side import Side
from tests.rules import worlds

ALPHA = 1e-6


def test_positions_are_distinct_and_differ_by_table_field_and_salt() -> None:
    drawn = draw_positions("00", "name", 0, 50, 12)
    assert len(set(drawn)) == 12
    assert max(drawn) < 50
    others = [("00", "name", 1), ("00", "code", 0), ("01", "name", 0)]
    assert drawn not in [draw_positions(*which, 50, 12) for which in others]
    assert drawn == draw_positions("00", "name", 0, 50, 12)
    # A change of these would put both sides' records into other bins than an agreement of before.
    assert draw_positions("00000000", "name", 0, 50, 6) == PINNED


PINNED = (21, 34, 36, 37, 47, 49)


@pytest.mark.parametrize(("bits", "distance", "positions"), [(6, 2, 3), (7, 3, 2), (5, 5, 1), (6, 0, 4)])
def test_the_share_is_that_of_all_draws(bits: int, distance: int, positions: int) -> None:
    """Every choice of positions, against filters that differ in the first bits."""
    every = list(combinations(range(bits), positions))
    met = Fraction(sum(min(chosen) >= distance for chosen in every), len(every))
    assert met_share(bits, distance, positions, 1) == met
    assert met_share(bits, distance, positions, 3) == 1 - (1 - met) ** 3


def test_the_draw_meets_as_often_as_stated() -> None:
    """Over 3,000 salts; a false alarm has probability below α, by Hoeffding."""
    trials, differing = 3000, {3, 11, 17}
    met = sum(
        any(differing.isdisjoint(draw_positions(f"{salt:08x}", "name", table, 20, 5)) for table in range(4))
        for salt in range(trials)
    )
    slack = np.sqrt(np.log(2 / ALPHA) / (2 * trials))
    assert abs(met / trials - float(met_share(20, 3, 5, 4))) < slack


def test_a_table_is_a_pass_and_its_recall_is_said() -> None:
    specs = TypeAdapter(BlockingSpec).validate_python(
        [{"kind": "key", "field": "hour"}, {"kind": "lsh", "field": "name", "positions": 5, "tables": 4}]
    )
    plan = build_blocking(passes_of(specs), worlds.FIELDS, "00")
    assert len(plan.passes) == plan.per_record(Side.A) == 4
    assert plan.bins == 4 * 4 * 32
    (lost,) = plan.losses(same("hour") & (hamming("name") <= 3))
    assert 0.8690 < float(1 - (1 - Fraction(comb(17, 5), comb(20, 5))) ** 4) < 0.8700
    assert "in 3 of 20 bits meets in one of 4 tables with probability 86.9%" in lost
    assert lost.count("tables") == 1
    assert "sets no bound" in plan.losses(same("hour"))[0]
    assert plan.losses(same("hour") & (hamming("name") <= 0)) == []


def test_equal_bits_meet() -> None:
    specs = TypeAdapter(BlockingSpec).validate_python(
        [{"kind": "lsh", "field": "name", "positions": 5, "tables": 3}]
    )
    plan = build_blocking(passes_of(specs), worlds.FIELDS, "00")
    words = np.random.default_rng(1).integers(0, 1 << 20, (40, 1)).astype(np.uint64)
    columns = {"name": Bits(words, 20, np.ones(40, np.bool_))}
    i, j = (grid.ravel() for grid in np.indices((40, 40), dtype=np.int64))
    met = plan.compares(Tables(worlds.FIELDS, columns, columns), i, j)
    tables = [draw_positions("00", "name", table, 20, 5) for table in range(3)]
    apart = words[i, 0] ^ words[j, 0]
    expected = [any(not any(int(x) >> p & 1 for p in table) for table in tables) for x in apart]
    assert met.tolist() == expected


def test_how_far_a_rule_lets_filters_differ() -> None:
    near, far = hamming("name") <= 2, hamming("name") <= 5
    assert farthest(near & far, "name") == 2
    assert farthest(near | far, "name") == 5
    assert farthest(near | same("hour"), "name") is None
    assert farthest(same("hour") & far, "name") == 5
    assert farthest(far, "code") is None
