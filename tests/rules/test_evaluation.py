"""Rules on tables: evaluation, circuit, index and candidates find what the textbook finds."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.columns import Integers
from accord.fields.schema import NumberField
from accord.rules import join
from accord.rules.blocking.base import Blocking
from accord.rules.distances import expand
from accord.rules.evaluate import Indices, Mask, Tables, holds
from accord.rules.join import Compared, Index, Meetings, candidates, full_join, has_index, meeting_pairs
from accord.rules.lowering import lower
from accord.rules.rule import Hamming, Or, Rule, Same, Similar, Within
from accord.rules.thresholds import cosine_table, within_steps
from accord.rules.words import dice, euclidean, missing, same, within
from accord.secure import circuit
from accord.secure.circuit import AtMost, Bilinear
from accord.secure.ideal import evaluate
from accord.side import Side
from tests.rules import worlds
from tests.rules.test_blocking import blockings


def zipped(rows: tuple[Indices, Indices]) -> list[tuple[int, int]]:
    return list(zip(*(each.tolist() for each in rows), strict=True))


@given(worlds.rules, worlds.tables, worlds.tables)
def test_all_ways_find_the_matches_of_the_textbook(
    rule: Rule, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, _, _ = worlds.both(a, b)
    expected = worlds.expected(rule, a, b)
    i, j = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    clear = holds(rule, tables, i, j)
    assert zipped((i[clear], j[clear])) == expected
    assert zipped(full_join(rule, tables, (len(a), len(b)))) == expected
    theirs, mine = Index(rule, worlds.FIELDS, Side.A, tables.a, len(a)).matches(tables.b, len(b))
    assert sorted(zipped((mine, theirs))) == expected

    lowered = lower(rule, worlds.FIELDS)
    inputs = {
        side: lowered.inputs(side, columns) for side, columns in zip(Side, (tables.a, tables.b), strict=True)
    }
    assert evaluate(lowered.node, inputs[Side.A], inputs[Side.B], i, j).tolist() == clear.tolist()
    for side, rows in zip(Side, (a, b), strict=True):
        for of in circuit.inputs(lowered.node, side):
            array = inputs[side][of.name]
            assert array.shape == (len(rows), of.length)
            assert 0 <= array.min(initial=0) <= array.max(initial=0) <= of.high
    for leaf in circuit.leaves(lowered.node):
        if isinstance(leaf, AtMost):
            # value ≤ high always, value ≤ low − 1 never.
            over, under = AtMost(leaf.value, leaf.value.high), AtMost(leaf.value, leaf.value.low - 1)
            assert evaluate(over, inputs[Side.A], inputs[Side.B], i, j).all()
            assert not evaluate(under, inputs[Side.A], inputs[Side.B], i, j).any()


@pytest.mark.parametrize(
    "rule",
    [
        same("hour") & (euclidean("x", "y") <= 2),
        same("hour") | (same("brand") & within("x", 0)),
        euclidean("x", "y") <= 0,
        same("brand", "colour") & within("x", 2) & ~missing("birth", "A"),
        within("birth", "baptism", days=1) & within("z", "x", 1) & (same("hour") | missing("birth")),
    ],
)
def test_join_equals_all_pairs_on_larger_tables(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "_BATCH", 1000)
    rng = np.random.default_rng(5)
    highs = {"hour": 3, "x": 20, "y": 12, "birth": 19, "brand": 2, "z": 20, "baptism": 19, "colour": 2}
    a, b = (
        {name: Integers(rng.integers(0, high + 1, n), rng.random(n) < 0.95) for name, high in highs.items()}
        for n in (300, 400)
    )
    tables = Tables(worlds.FIELDS, a, b)
    i, j = (grid.ravel() for grid in np.indices((300, 400), dtype=np.int64))
    held = holds(rule, tables, i, j)
    expected = zipped((i[held], j[held]))
    tried = []

    def counted(*columns: Any) -> None:
        tried.append(len(columns[-1]))
        expand(*columns)

    monkeypatch.setattr(join, "expand", counted)
    assert zipped(full_join(rule, tables, (300, 400))) == expected
    assert isinstance(rule, Or) or sum(tried) < 120_000, "the index tried as many pairs as brute force"
    monkeypatch.setattr(join, "_ROWS", 70)
    assert zipped(full_join(rule, tables, (300, 400))) == expected
    theirs, mine = Index(rule, worlds.FIELDS, Side.A, a, 300).matches(b, 400)
    assert sorted(zipped((mine, theirs))) == expected


@given(blockings, worlds.rules, worlds.tables, worlds.tables)
def test_matches_and_candidates_are_the_pairs_that_meet_each_once(
    plan: Blocking, rule: Rule, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, left, right = worlds.both(a, b)
    sizes = len(a), len(b)
    i, j = (grid.ravel() for grid in np.indices(sizes, dtype=np.int64))
    met = plan.compares(tables, i, j)
    found = [pair for rows in candidates(tables, sizes, plan) for pair in zipped(rows)]
    assert sorted(found) == zipped((i[met], j[met]))
    assert Compared.of(tables, sizes, plan).has(i, j).tolist() == met.tolist()

    held = met & holds(rule, tables, i, j)
    expected = zipped((i[held], j[held]))
    assert zipped(meeting_pairs(rule, tables, sizes, plan)) == expected
    record, bins = plan.place(Side.A, left.columns, len(a))
    order = np.argsort(bins, kind="stable")
    index = Meetings(Side.A, record[order], np.bincount(bins, minlength=plan.bins), plan.pairs())
    theirs, mine = index.matches(rule, tables, *plan.place(Side.B, right.columns, len(b)))
    assert sorted(zipped((mine, theirs))) == expected


def test_every_slot_is_tried_whether_or_not_it_is_a_dummy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the partner waits for takes as long with many records in a bin as with few."""
    tables, _, _ = worlds.both([worlds.ROW] * 3, [worlds.ROW])
    tried = []

    def everything(rule: Rule, tables: Tables, a: Indices, b: Indices) -> Mask:
        tried.append(len(a))
        return np.ones(len(a), np.bool_)

    monkeypatch.setattr(join, "holds", everything)
    for rows in ([0, 1, 2, -1], [2, -1, -1, -1], [-1, -1, 1, 0], [-1] * 4):
        index = Meetings(Side.A, np.array(rows), np.array([4]), (np.zeros(1, int), np.zeros(1, int)))
        _, mine = index.matches(same("hour"), tables, np.array([0]), np.array([0]))
        assert sorted(mine.tolist()) == sorted(row for row in rows if row >= 0)
    assert tried == [4, 4, 4, 4]


def test_which_rules_have_an_index() -> None:
    near, hour = dice("name") >= 0.8, same("hour")
    rules = [hour & near, within("x", 1) | same("code"), near | hour, ~hour]
    assert [has_index(rule, worlds.FIELDS) for rule in rules] == [True, True, False, False]


def test_what_the_blocking_guarantees_is_left_out_of_the_circuit() -> None:
    hour, near = Same("hour"), Hamming("name", 3)
    rules = [hour & near, hour, ~hour, hour | near]
    nodes = [lower(rule, worlds.FIELDS, frozenset(["hour"])).node for rule in rules]
    assert nodes == [lower(near, worlds.FIELDS).node, circuit.And(()), circuit.Or(()), circuit.And(())]


def test_a_difference_costs_no_product_and_a_similarity_one_filter() -> None:
    leaves = circuit.leaves(lower(within("y", 1), worlds.FIELDS).node)
    values = [leaf.value for leaf in leaves if isinstance(leaf, AtMost)]
    assert [value.products for value in values if isinstance(value, Bilinear)] == [(), ()]
    node = lower(Similar("dice", "name", Fraction(1, 2)), worlds.FIELDS).node
    for side in Side:
        assert {of.name for of in circuit.inputs(node, side)} == {"name bits", "name ones", "name present"}


# -- thresholds --------------------------------------------------------------------------------------------


@given(st.integers(1, 10_000), st.sampled_from([1, 7, 10, 100, 10_000]), st.integers(1, 60))
def test_cosine_table_is_the_exact_ceiling(p: int, q: int, bits: int) -> None:
    bound = min(Fraction(1), Fraction(p, q))
    table = cosine_table(bound, bits)
    for i in range(1, bits + 1):
        for j in range(1, bits + 1):
            least = int(table[i, j])
            assert least**2 >= bound**2 * i * j
            assert least == 0 or (least - 1) ** 2 < bound**2 * i * j
    assert table[0, 0] == 0
    assert (table[0, 1:] == 1).all()
    assert (table[1:, 0] == 1).all()


@pytest.mark.slow
def test_cosine_table_at_the_largest_filter() -> None:
    table = cosine_table(Fraction(9999, 10_000), 8192)
    assert table[8192, 8192] == ceil(0.9999 * 8192)
    assert table[8192, 1] == ceil(0.9999 * sqrt(8192))


@pytest.mark.parametrize(("share", "steps"), [("0", 0), ("0.01", 4), ("0.1", 41), ("1", 301), ("9", 1000)])
def test_an_amount_of_logarithms_is_a_share(share: str, steps: int) -> None:
    amount = {"type": "number", "min": -2, "max": 5, "step": "0.001", "missing": "differs"}
    rule = Within("price", Fraction(share), False)
    assert within_steps(rule, {"price": NumberField.model_validate(amount | {"derive": "log"})}) == steps
    assert within_steps(rule, {"price": NumberField.model_validate(amount)}) == 1000 * Fraction(share)
