"""What is said to follow from a rule does follow, for every match, and with both values there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.columns import Bits, Integers
from accord.rules.evaluate import holds
from accord.rules.implied import accepts_unseen, reach, requires_same, without
from accord.rules.join import full_join
from accord.rules.rule import And, Missing, Or, Rarity, Rule, Same, predicates
from accord.rules.words import missing, rarity, same, within
from accord.side import Side
from tests.rules import worlds

PAIRS = [*((name, name) for name in worlds.FIELDS), *worlds.TWINS, *((b, a) for a, b in worlds.TWINS)]


@given(worlds.rules, worlds.tables, worlds.tables)
def test_every_match_has_what_is_implied(rule: Rule, a: list[worlds.Row], b: list[worlds.Row]) -> None:
    tables, _, _ = worlds.both(a, b)
    left, right = full_join(rule, tables, (len(a), len(b)))
    for of_a, of_b in PAIRS:
        x, y = tables.a[of_a], tables.b[of_b]
        there = bool((x.present[left] & y.present[right]).all())
        if requires_same(rule, of_a, of_b):
            assert there
            if isinstance(x, Bits) and isinstance(y, Bits):
                assert (x.words[left] == y.words[right]).all()
        if isinstance(x, Integers) and isinstance(y, Integers):
            apart = np.abs(x.values[left] - y.values[right]).max(initial=0)
            farthest = reach(rule, (of_a,), worlds.FIELDS, of_b)
            assert not requires_same(rule, of_a, of_b) or apart == 0
            assert farthest is None or (there and apart**2 <= farthest)


@given(worlds.rules, worlds.tables, worlds.tables, st.sets(st.sampled_from(["hour", "brand", "x", "birth"])))
def test_what_is_known_of_a_pair_may_be_left_out(
    rule: Rule, a: list[worlds.Row], b: list[worlds.Row], equal: set[str]
) -> None:
    tables, _, _ = worlds.both(a, b)
    left, right = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    known = holds(And(tuple(Same(name) for name in sorted(equal))), tables, left, right)
    left, right = left[known], right[known]
    rest = without(rule, frozenset(equal))
    assert holds(rest, tables, left, right).tolist() == holds(rule, tables, left, right).tolist()
    assert not any(isinstance(p, Missing) and p.field in equal for p in predicates(rest))


@pytest.mark.parametrize(
    ("rule", "implied"),
    [
        (same("brand"), True),
        (same("brand") | missing("brand"), False),
        ((same("brand") | missing("brand")) & same("brand"), True),
        (same("brand") & missing("birth"), True),
        (same("brand", "colour"), False),
        (missing("brand"), False),
        (~missing("brand"), False),
    ],
)
def test_agrees_or_is_missing_does_not_require_to_agree(rule: Rule, implied: bool) -> None:
    assert requires_same(rule, "brand") == implied
    assert (reach(rule, ("brand",), worlds.FIELDS) == 0) == implied


def test_a_crossed_predicate_binds_the_two_fields_it_names() -> None:
    rule = same("brand", "colour") & within("birth", "baptism", days=2)
    assert requires_same(rule, "brand", "colour")
    assert not requires_same(rule, "colour", "brand")
    assert reach(rule, ("birth",), worlds.FIELDS, "baptism") == 4
    assert reach(rule, ("baptism",), worlds.FIELDS, "birth") is None
    assert reach(rule, ("birth",), worlds.FIELDS) is None


def test_nothing_is_missing_where_a_key_brought_records_together() -> None:
    key = frozenset(["brand"])
    assert without(same("brand") | missing("brand"), key) == And(())
    assert without(same("hour") & missing("brand", Side.A), key) == Or(())
    assert without(same("hour") & ~missing("brand"), key) == same("hour")
    crossed = same("brand", "colour")
    assert without(crossed, frozenset(["brand", "colour"])) == crossed


@given(worlds.rules, worlds.tables, worlds.tables)
def test_who_accepts_where_no_comparison_holds_is_known(
    rule: Rule, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, _, _ = worlds.both(a, b)
    left, right = full_join(rule, tables, (len(a), len(b)))
    asks = any(isinstance(p, Missing | Rarity) for p in predicates(rule))
    for p in predicates(rule):
        if not isinstance(p, Missing | Rarity):
            unseen = ~holds(p, tables, left, right)
            left, right = left[unseen], right[unseen]
    assert accepts_unseen(rule) or not asks or not len(left)


@pytest.mark.parametrize(
    ("rule", "unseen"),
    [
        (same("brand") | missing("brand"), True),
        ((same("brand") | missing("brand")) & same("hour"), False),
        (missing("brand") & ~missing("code"), True),
        (~same("brand"), False),
        (~same("brand") & ~missing("brand"), True),
        (same("brand") & missing("code", "A"), False),
        (missing("brand", "B"), True),
        ((rarity("kin") >= 2) | same("code"), True),
        ((rarity("kin") >= 2) & same("code"), False),
        (~(rarity("kin") >= 2), True),
    ],
)
def test_who_accepts_because_of_what_is_missing(rule: Rule, unseen: bool) -> None:
    assert bool(accepts_unseen(rule)) == unseen
