"""The local index finds what trying all pairs finds; among candidates, what meets of it, each once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.columns import Columns, Integers
from accord.rules import join
from accord.rules.blocking.base import Blocking
from accord.rules.distances import expand
from accord.rules.evaluate import Indices, Mask, Tables, holds
from accord.rules.join import Compared, Index, Meetings, candidates, full_join, has_index, meeting_pairs
from accord.rules.rule import Or, Rule
from accord.rules.words import dice, euclidean, missing, same, within
from accord.side import Side
from tests.rules import worlds
from tests.rules.blocking.test_base import blockings


@given(worlds.rules, worlds.tables, worlds.tables)
def test_join_equals_the_textbook_whosever_table_is_indexed(
    rule: Rule, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, _, _ = worlds.both(a, b)
    expected = worlds.expected(rule, a, b)
    rows_a, rows_b = full_join(rule, tables, (len(a), len(b)))
    assert list(zip(rows_a.tolist(), rows_b.tolist(), strict=True)) == expected
    theirs, mine = Index(rule, worlds.FIELDS, Side.A, tables.a, len(a)).matches(tables.b, len(b))
    assert sorted(zip(mine.tolist(), theirs.tolist(), strict=True)) == expected


def integers(rng: np.random.Generator, count: int, high: int) -> Integers:
    return Integers(rng.integers(0, high + 1, count), rng.random(count) < 0.95)


@pytest.mark.parametrize(
    "rule",
    [
        same("hour") & (euclidean("x", "y") <= 2),
        within("x", 1) & within("y", 3) & within("birth", days=2),
        same("hour") | (same("brand") & within("x", 0)),
        euclidean("x", "y") <= 0,
        same("birth", "baptism") & within("x", "z", 1),
        same("brand", "colour") & within("x", 2) & ~missing("birth", "A"),
        within("birth", "baptism", days=1) & within("z", "x", 1) & (same("hour") | missing("birth")),
    ],
)
def test_join_equals_all_pairs_on_larger_tables(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "_BATCH", 1000)
    rng = np.random.default_rng(5)
    highs = {"hour": 3, "x": 20, "y": 12, "birth": 19, "brand": 2, "z": 20, "baptism": 19, "colour": 2}
    a: Columns = {name: integers(rng, 300, high) for name, high in highs.items()}
    b: Columns = {name: integers(rng, 400, high) for name, high in highs.items()}
    tables = Tables(worlds.FIELDS, a, b)
    i, j = (grid.ravel() for grid in np.indices((300, 400), dtype=np.int64))
    held = holds(rule, tables, i, j)
    tried = []

    def counted(*columns: Any) -> None:
        tried.append(len(columns[-1]))
        expand(*columns)

    monkeypatch.setattr(join, "expand", counted)
    rows_a, rows_b = full_join(rule, tables, (300, 400))
    once = sum(tried)
    monkeypatch.setattr(join, "_ROWS", 70)
    assert [found.tolist() for found in full_join(rule, tables, (300, 400))] == [
        rows_a.tolist(),
        rows_b.tolist(),
    ]
    assert rows_a.tolist() == i[held].tolist()
    assert rows_b.tolist() == j[held].tolist()
    theirs, mine = Index(rule, worlds.FIELDS, Side.A, a, 300).matches(b, 400)
    assert sorted(zip(mine.tolist(), theirs.tolist(), strict=True)) == list(
        zip(rows_a.tolist(), rows_b.tolist(), strict=True)
    )
    if not isinstance(rule, Or):
        assert once < 120_000, "the index tried as many pairs as brute force"


@given(st.integers(0, 3), st.integers(0, 3))
def test_empty_tables(n: int, m: int) -> None:
    row = worlds.EMPTY | {"x": 1.0}
    tables, _, _ = worlds.both([row] * n, [row] * m)
    rows_a, _ = full_join(same("hour") & (euclidean("x", "y") <= 1), tables, (n, m))
    assert len(rows_a) == n * m
    assert pa.array(rows_a).null_count == 0


@given(blockings, worlds.rules, worlds.tables, worlds.tables)
def test_they_are_the_matches_that_the_blocking_compares(
    plan: Blocking, rule: Rule, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, left, right = worlds.both(a, b)
    sizes = len(a), len(b)
    i, j = full_join(rule, tables, sizes)
    met = plan.compares(tables, i, j)
    expected = list(zip(i[met].tolist(), j[met].tolist(), strict=True))
    found = meeting_pairs(rule, tables, sizes, plan)
    assert list(zip(*(rows.tolist() for rows in found), strict=True)) == expected

    record, bins = plan.place(Side.A, left.columns, len(a))
    order = np.argsort(bins, kind="stable")
    index = Meetings(Side.A, record[order], np.bincount(bins, minlength=plan.bins), plan.pairs())
    theirs, mine = index.matches(rule, tables, *plan.place(Side.B, right.columns, len(b)))
    assert sorted(zip(mine.tolist(), theirs.tolist(), strict=True)) == sorted(expected)


@given(blockings, worlds.tables, worlds.tables)
def test_candidates_are_the_pairs_that_meet_each_once(
    plan: Blocking, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, _, _ = worlds.both(a, b)
    i, j = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    met = plan.compares(tables, i, j)
    found = [
        pair
        for rows in candidates(tables, (len(a), len(b)), plan)
        for pair in zip(*(r.tolist() for r in rows), strict=True)
    ]
    assert sorted(found) == list(zip(i[met].tolist(), j[met].tolist(), strict=True))
    assert Compared.of(tables, (len(a), len(b)), plan).has(i, j).tolist() == met.tolist()


def test_dummies_are_passed_over() -> None:
    tables, _, _ = worlds.both([worlds.ROW] * 2, [worlds.ROW])
    index = Meetings(Side.A, np.array([-1, 1, -1]), np.array([2, 1]), (np.arange(2), np.arange(2)))
    found = index.matches(same("hour"), tables, np.array([0, 0]), np.array([0, 1]))
    assert [rows.tolist() for rows in found] == [[0], [1]]


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
    loose = dice("name") >= 0.8
    assert has_index(same("hour") & loose, worlds.FIELDS)
    assert has_index(within("x", 1) | same("code"), worlds.FIELDS)
    assert not has_index(loose, worlds.FIELDS)
    assert not has_index(loose | same("hour"), worlds.FIELDS)
    assert not has_index(~same("hour"), worlds.FIELDS)
