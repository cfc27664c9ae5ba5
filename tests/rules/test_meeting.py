"""Matches among candidates: those of the full join that meet, each once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from accord.rules import meeting
from accord.rules.blocking.base import Blocking
from accord.rules.evaluate import Indices, Mask, Tables
from accord.rules.join import full_join, has_index
from accord.rules.meeting import Meetings, candidates, meeting_pairs
from accord.rules.rule import Rule
from accord.rules.words import dice, same, within
from accord.side import Side
from tests.rules import worlds
from tests.rules.blocking.test_base import blockings


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

    monkeypatch.setattr(meeting, "holds", everything)
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
