"""Blocking: what claims to be complete loses nothing; no replacement moves more than the sensitivity."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
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

Part = dict[str, Any]
HOUR, BRAND = ({"kind": "key", "field": name} for name in ("hour", "brand"))
BIRTH: Part = {"kind": "key", "field": "birth", "buckets": 3}
GRID: Part = {"kind": "grid", "fields": ["x"], "cell": 1, "style": "neighbours"}
COPIED = GRID | {"fields": ["x", "y"], "cell": 2, "style": "replicate", "reach": 1}
CODE: Part = {"kind": "key", "field": ["code", "birth"], "buckets": 1000}


def one_pass(*parts: Part) -> Blocking:
    return _build(list(parts))


def in_passes(*passes: list[Part]) -> Blocking:
    return _build({"pass": [{"parts": parts} for parts in passes]})


def _build(written: Any) -> Blocking:
    return build_blocking(passes_of(TypeAdapter(BlockingSpec).validate_python(written)), worlds.FIELDS)


_fields = "birth", "code", ["code", "birth"]
keys: st.SearchStrategy[Part] = st.sampled_from(
    [HOUR, BRAND, HOUR | {"field": "birth"}, *(BIRTH | {"field": one} for one in _fields)]
)
cells = st.integers(1, 8).map(lambda n: {"cell": n / 2})
reaches = st.integers(0, 9).map(lambda n: {"style": "replicate", "reach": n / 3})
names = st.sampled_from(["x", "xy", "yx"]).map(lambda found: {"fields": list(found)})
copied = st.sampled_from(["y", "xy"]).map(lambda found: {"fields": list(found)})
drawn: st.SearchStrategy[Any] = st.tuples(names, cells, st.just({})) | st.tuples(copied, cells, reaches)
grids = drawn.map(lambda found: GRID | found[0] | found[1] | found[2])
parts = st.tuples(
    st.lists(keys, max_size=2, unique_by=lambda k: str(k["field"])), st.lists(grids, max_size=1)
).map(lambda found: [*found[0], *found[1]])
products = parts.map(lambda found: one_pass(*found))
passes = st.lists(parts.filter(bool), min_size=1, max_size=4).map(lambda found: in_passes(*found))
blockings = products | passes


def met_through_bins(plan: Blocking, a: Records, b: Records) -> list[tuple[int, int]]:
    """Pairs of records that meet, found the long way: through every bin pair; a pair may meet twice."""
    record_a, bin_a = plan.place(Side.A, a.columns, len(a))
    record_b, bin_b = plan.place(Side.B, b.columns, len(b))
    met = []
    for left, right in zip(*plan.pairs(), strict=True):
        met += [(int(i), int(j)) for i in record_a[bin_a == left] for j in record_b[bin_b == right]]
    return sorted(met)


@given(blockings, worlds.tables, worlds.tables)
def test_a_pair_meets_once_in_every_pass_that_compares_it(
    plan: Blocking, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, left, right = worlds.both(a, b)
    i, j = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    each = [one.compares(tables, i, j) for one in plan.passes]
    assert plan.compares(tables, i, j).tolist() == np.logical_or.reduce(each).tolist()
    pairs = [(int(x), int(y)) for met in each for x, y in zip(i[met], j[met], strict=True)]
    assert met_through_bins(plan, left, right) == sorted(pairs)
    for one, met in zip(plan.passes, each, strict=True):
        assert len(met_through_bins(Blocking((one,)), left, right)) == met.sum()
    bins_a, bins_b = plan.pairs()
    of_a, of_b = plan.counts(Side.A, left.columns, len(a)), plan.counts(Side.B, right.columns, len(b))
    assert (of_a[bins_a] * of_b[bins_b]).sum() == len(pairs)


@given(blockings, worlds.tables, st.sampled_from(Side))
def test_bins_of_passes_are_one_list_and_a_record_is_once_in_a_bin(
    plan: Blocking, table: list[worlds.Row], side: Side
) -> None:
    held = worlds.records(table)
    record, bins = plan.place(side, held.columns, len(held))
    assert len(set(zip(record.tolist(), bins.tolist(), strict=True))) == len(record)
    for one, first in zip(plan.passes, plan.first_bins, strict=True):
        own, code = one.place(side, held.columns, len(held))
        inside = (bins >= first) & (bins < first + one.bins)
        placed = sorted(zip(record[inside].tolist(), (bins[inside] - first).tolist(), strict=True))
        assert placed == sorted(zip(own.tolist(), code.tolist(), strict=True))
    counts = plan.counts(side, held.columns, len(held))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_AT_ONCE", 2)
        few = *plan.place(side, held.columns, len(held)), plan.counts(side, held.columns, len(held))
    for whole, some in zip((record, bins, counts), few, strict=True):
        assert np.array_equal(whole, some)
        assert whole.dtype == some.dtype


def test_a_key_of_several_fields_is_met_by_records_that_have_all_of_them() -> None:
    row = worlds.ROW
    held = worlds.records([row, row, row | {"birth": None}, row | {"code": None}, row | {"code": "x2"}])
    record, bins = one_pass(CODE).place(Side.B, held.columns, 5)
    assert record.tolist() == [0, 1, 4]
    assert bins[0] == bins[1] != bins[2]


def test_what_all_passes_guarantee_needs_no_comparison() -> None:
    for guaranteed in (one_pass(HOUR), in_passes([HOUR, BRAND], [HOUR])):
        assert guaranteed.equal == {"hour"}
    for plan in (one_pass(BIRTH), one_pass(GRID), one_pass(CODE), in_passes([BRAND], [HOUR])):
        assert plan.equal == frozenset()
    everything = one_pass()
    assert (everything.bins, everything.per_record(Side.A)) == (1, 1)
    assert [array.tolist() for array in everything.pairs()] == [[0], [0]]


def test_which_rules_a_blocking_is_complete_for() -> None:
    hour, brand, near, far = same("hour"), same("brand"), within("x", 1), within("y", 1)
    around, half = euclidean("x", "y"), Fraction(1, 2)
    code, copied = one_pass(CODE), one_pass(HOUR, COPIED)
    passes = _build({"pass": [{"name": "by hour", "parts": [HOUR]}, {"parts": [BRAND]}]})
    for rule in (hour & near | brand, near & (hour | brand), hour):
        assert passes.losses(rule) == []
    [lost] = passes.losses(hour | same("code"))
    assert all(fact in lost for fact in ("same(code)", "'by hour'", "'hour'", "'pass 2'", "'brand'"))
    assert one_pass().losses(Hamming("name", 3)) == code.losses(same("code") & same("birth")) == []
    [lost] = code.losses(same("code"))
    assert "'birth'" in lost
    for rule in (around <= 1, within("x", half) & within("y", half)):
        assert copied.losses(hour & rule) == []
    for rule in (around <= Fraction(6, 5), near & far, ~(around <= 1)):
        assert copied.losses(hour & rule)
    assert copied.losses(around <= 1)


def _joined(leaves: st.SearchStrategy[Rule], most: int) -> st.SearchStrategy[Rule]:
    """Without negation, for which nothing is complete."""
    both = [partial(st.builds, join) for join in (Rule.__and__, Rule.__or__)]
    return st.recursive(leaves, lambda inner: both[0](inner, inner) | both[1](inner, inner), max_leaves=most)


equal: st.SearchStrategy[Rule] = st.sampled_from([Same(name) for name in ("hour", "brand", "birth", "code")])
bounds = st.fractions(0, 3, max_denominator=4)
close = st.one_of(
    *(bounds.map(partial(within, name)) for name in "xy"), bounds.map(euclidean("x", "y").__le__)
)
complete_rules = _joined(equal | close | worlds.predicates, 6)
key_passes = st.lists(keys.map(lambda key: [key]), min_size=2, max_size=4).map(
    lambda found: in_passes(*found)
)


@given(
    st.one_of(st.tuples(products, complete_rules), st.tuples(key_passes, _joined(equal, 4))),
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
