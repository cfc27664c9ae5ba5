"""Blocking: what claims to be complete loses nothing, and no replacement moves more than the sensitivity."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from accord.fields.columns import Records
from accord.rules.blocking import base as module
from accord.rules.blocking.base import Blocking, BlockingSpec, build_blocking, passes_of
from accord.rules.join import full_join
from accord.rules.rule import Hamming, Rule, Same
from accord.rules.words import euclidean, same, within
from accord.side import Side
from tests.rules import worlds


def blocking(*parts: dict[str, Any]) -> Blocking:
    return _build(list(parts))


def _build(blocking: Any) -> Blocking:
    return build_blocking(passes_of(TypeAdapter(BlockingSpec).validate_python(blocking)), worlds.FIELDS)


keys: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"kind": "key", "field": "hour"},
        {"kind": "key", "field": "brand"},
        {"kind": "key", "field": "birth"},
        {"kind": "key", "field": "birth", "buckets": 3},
        {"kind": "key", "field": "code", "buckets": 4},
        {"kind": "key", "field": ["code", "birth"], "buckets": 3},
    ]
)
cells = st.integers(1, 8).map(lambda n: n / 2)
grids = st.one_of(
    st.builds(
        lambda fields, cell: {"kind": "grid", "fields": fields, "cell": cell, "style": "neighbours"},
        st.sampled_from([["x"], ["x", "y"], ["y", "x"]]),
        cells,
    ),
    st.builds(
        lambda fields, cell, reach: {
            "kind": "grid", "fields": fields, "cell": cell, "style": "replicate", "reach": reach,
        },
        st.sampled_from([["y"], ["x", "y"]]),
        cells,
        st.integers(0, 9).map(lambda n: n / 3),
    ),
)  # fmt: skip
parts = st.tuples(
    st.lists(keys, max_size=2, unique_by=lambda k: str(k["field"])), st.lists(grids, max_size=1)
).map(lambda found: [*found[0], *found[1]])
products = parts.map(lambda found: blocking(*found))
passes = st.lists(
    parts.filter(bool),
    min_size=1,
    max_size=4,
).map(lambda found: _build({"pass": [{"parts": one} for one in found]}))
blockings = products | passes


HOUR = {"kind": "key", "field": "hour"}
BRAND = {"kind": "key", "field": "brand"}


def met_through_bins(plan: Blocking, a: Records, b: Records) -> list[tuple[int, int]]:
    """Pairs of records that meet, found the long way: through every bin pair; a pair may meet twice."""
    record_a, bin_a = plan.place(Side.A, a.columns, len(a))
    record_b, bin_b = plan.place(Side.B, b.columns, len(b))
    met = []
    for left, right in zip(*plan.pairs(), strict=True):
        met += [(int(i), int(j)) for i in record_a[bin_a == left] for j in record_b[bin_b == right]]
    return sorted(met)


@given(products, worlds.tables, worlds.tables)
def test_compares_says_what_the_bins_do_and_no_pair_meets_twice(
    plan: Blocking, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, left, right = worlds.both(a, b)
    i, j = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    met = plan.compares(tables, i, j)
    assert met_through_bins(plan, left, right) == list(zip(i[met].tolist(), j[met].tolist(), strict=True))
    counts = [plan.counts(side, r.columns, len(r)) for side, r in ((Side.A, left), (Side.B, right))]
    bins_a, bins_b = plan.pairs()
    assert (counts[0][bins_a] * counts[1][bins_b]).sum() == met.sum()


@given(passes, worlds.tables, worlds.tables)
def test_passes_bring_together_what_any_of_them_does_and_each_at_most_once(
    plan: Blocking, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, left, right = worlds.both(a, b)
    i, j = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    each = [one.compares(tables, i, j) for one in plan.passes]
    assert plan.compares(tables, i, j).tolist() == np.logical_or.reduce(each).tolist()
    met = met_through_bins(plan, left, right)
    assert len(met) == sum(int(one.sum()) for one in each)
    for one in plan.passes:
        alone = met_through_bins(Blocking((one,)), left, right)
        assert len(alone) == len(set(alone))
    assert set(met) == {(int(x), int(y)) for one in each for x, y in zip(i[one], j[one], strict=True)}


@given(st.one_of(products, passes), worlds.tables)
def test_records_are_placed_some_at_a_time_as_all_at_once(plan: Blocking, table: list[worlds.Row]) -> None:
    held = worlds.records(table)
    for side in Side:
        whole = plan.place(side, held.columns, len(held)), plan.counts(side, held.columns, len(held))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_AT_ONCE", 2)
            some = plan.place(side, held.columns, len(held)), plan.counts(side, held.columns, len(held))
        for one, other in zip((*whole[0], whole[1]), (*some[0], some[1]), strict=True):
            assert np.array_equal(one, other)
            assert one.dtype == other.dtype


@given(passes, worlds.tables)
def test_bins_of_passes_are_one_list_and_a_record_is_once_in_a_bin(
    plan: Blocking, table: list[worlds.Row]
) -> None:
    held = worlds.records(table)
    for side in Side:
        record, bins = plan.place(side, held.columns, len(held))
        assert len(set(zip(record.tolist(), bins.tolist(), strict=True))) == len(record)
        for one, first in zip(plan.passes, plan.first_bins, strict=True):
            own, code = one.place(side, held.columns, len(held))
            inside = (bins >= first) & (bins < first + one.bins)
            placed = sorted(zip(record[inside].tolist(), (bins[inside] - first).tolist(), strict=True))
            assert placed == sorted(zip(own.tolist(), code.tolist(), strict=True))


def test_equal_keys_in_two_passes_are_two_bins_and_a_missing_value_misses_its_pass_alone() -> None:
    same_twice = [{"kind": "key", "field": "birth", "buckets": 3}]
    plan = _build({"pass": [{"parts": same_twice}, {"parts": same_twice}, {"parts": [HOUR]}]})
    held = worlds.records([worlds.ROW, worlds.ROW | {"birth": None}])
    record, bins = plan.place(Side.A, held.columns, 2)
    assert (record.tolist(), bins.tolist()) == ([0, 0, 0, 1], [1, 4, 8, 8])
    assert plan.bins == 3 + 3 + 4
    assert plan.per_record(Side.A) == 3


def test_a_key_of_several_fields_is_met_by_records_that_have_all_of_them() -> None:
    plan = _build([{"kind": "key", "field": ["code", "birth"], "buckets": 1000}])
    assert (plan.bins, plan.equal) == (1000, frozenset())
    assert plan.losses(same("code") & same("birth")) == []
    assert "do not agree on 'birth'" in plan.losses(same("code"))[0]
    row = worlds.ROW
    rows = [row, row, row | {"birth": None}, row | {"code": None}, row | {"code": "x2"}]
    held = worlds.records(rows)
    record, bins = plan.place(Side.B, held.columns, len(rows))
    assert record.tolist() == [0, 1, 4]
    assert bins[0] == bins[1] != bins[2]


def test_what_all_passes_guarantee_needs_no_comparison() -> None:
    brand = {"kind": "key", "field": "brand"}
    assert _build({"pass": [{"parts": [HOUR, brand]}, {"parts": [HOUR]}]}).equal == {"hour"}
    assert _build({"pass": [{"parts": [brand]}, {"parts": [HOUR]}]}).equal == frozenset()


def test_passes_are_complete_if_each_way_to_match_is_complete_in_one() -> None:
    plan = _build({"pass": [{"name": "by hour", "parts": [HOUR]}, {"parts": [BRAND]}]})
    near = within("x", 1)
    assert plan.losses(same("hour") & near | same("brand")) == []
    assert plan.losses(near & (same("hour") | same("brand"))) == []
    assert plan.losses(same("hour")) == []
    (lost,) = plan.losses(same("hour") | same("code"))
    assert lost.startswith(
        "where same(code): in 'by hour' the rule accepts pairs that do not agree on 'hour'"
    )
    assert "in 'pass 2' the rule accepts pairs that do not agree on 'brand'" in lost


complete_rules = st.recursive(
    st.one_of(
        st.sampled_from([Same("hour"), Same("brand"), Same("birth"), Same("code")]),
        st.fractions(0, 3, max_denominator=4).map(lambda t: euclidean("x", "y") <= t),
        st.fractions(0, 3, max_denominator=4).map(lambda t: within("x", t)),
        st.fractions(0, 3, max_denominator=4).map(lambda t: within("y", t)),
        worlds.predicates,
    ),
    lambda inner: st.tuples(inner, inner, st.booleans()).map(lambda p: p[0] & p[1] if p[2] else p[0] | p[1]),
    max_leaves=6,
)


equalities = st.recursive(
    st.sampled_from([Same("hour"), Same("brand"), Same("birth"), Same("code")]),
    lambda inner: st.tuples(inner, inner, st.booleans()).map(lambda p: p[0] & p[1] if p[2] else p[0] | p[1]),
    max_leaves=4,
)
key_passes = st.lists(keys, min_size=2, max_size=4).map(
    lambda found: _build({"pass": [{"parts": [one]} for one in found]})
)


@given(
    st.one_of(st.tuples(products, complete_rules), st.tuples(key_passes, equalities)),
    worlds.tables,
    worlds.tables,
)
def test_a_complete_blocking_loses_no_match(
    chosen: tuple[Blocking, Rule], a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    plan, rule = chosen
    assume(not plan.losses(rule))
    tables, _, _ = worlds.both(a, b)
    rows_a, rows_b = full_join(rule, tables, (len(a), len(b)))
    assert plan.compares(tables, rows_a, rows_b).all()


@given(blockings, worlds.tables.filter(bool), worlds.rows, st.sampled_from(Side))
def test_sensitivity_bounds_every_replacement(
    plan: Blocking, table: list[worlds.Row], other: worlds.Row, side: Side
) -> None:
    before, after = worlds.records(table), worlds.records([other, *table[1:]])
    counts = [plan.counts(side, r.columns, len(r)) for r in (before, after)]
    change = counts[1] - counts[0]
    assert np.abs(change).sum() <= 2 * plan.per_record(side)
    assert change[change > 0].sum() <= plan.per_record(side)
    assert np.abs(change).max(initial=0) <= 1
    record, _ = plan.place(side, before.columns, len(before))
    assert np.bincount(record, minlength=len(table)).max(initial=0) <= plan.per_record(side)
    assert (np.diff(record) >= 0).all()


def test_no_part_is_one_bin_for_all_pairs() -> None:
    plan = blocking()
    assert plan.bins == 1
    assert plan.per_record(Side.A) == 1
    assert plan.losses(Hamming("name", 3)) == []
    assert [array.tolist() for array in plan.pairs()] == [[0], [0]]


def test_only_an_exact_key_is_guaranteed() -> None:
    assert blocking({"kind": "key", "field": "hour"}).equal == {"hour"}
    assert blocking({"kind": "key", "field": "birth", "buckets": 3}).equal == frozenset()
    grid = {"kind": "grid", "fields": ["x"], "cell": 1, "style": "neighbours"}
    assert blocking(grid).equal == frozenset()


@pytest.mark.parametrize(
    ("rule", "complete"),
    [
        (same("hour") & (euclidean("x", "y") <= 1), True),
        (same("hour") & (euclidean("x", "y") <= Fraction(6, 5)), False),
        (euclidean("x", "y") <= 1, False),
        (same("hour") & within("x", Fraction(1, 2)) & within("y", Fraction(1, 2)), True),
        (same("hour") & within("x", 1) & within("y", 1), False),
        (same("hour") & ~(euclidean("x", "y") <= 1), False),
    ],
)
def test_which_rules_a_replicated_grid_is_complete_for(rule: Rule, complete: bool) -> None:
    grid = {"kind": "grid", "fields": ["x", "y"], "cell": 2, "style": "replicate", "reach": 1}
    losses = blocking({"kind": "key", "field": "hour"}, grid).losses(rule)
    assert (not losses) == complete, losses
