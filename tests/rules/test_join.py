"""The local index finds exactly the pairs that trying all of them finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.columns import Columns, Integers
from accord.rules import join
from accord.rules.distances import expand
from accord.rules.evaluate import Tables, holds
from accord.rules.join import Index, full_join
from accord.rules.rule import Or, Rule
from accord.rules.words import euclidean, missing, same, within
from accord.side import Side
from tests.rules import worlds


@given(worlds.rules, worlds.tables, worlds.tables)
def test_join_equals_the_textbook_whosever_table_is_indexed(
    rule: Rule, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, left, right = worlds.both(a, b)
    expected = worlds.expected(rule, a, b, left, right)
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
