"""What is said to follow from a rule does follow, for every match; which single values are enough for one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from accord.fields.columns import Bits, Integers
from accord.fields.load import load_records
from accord.fields.schema import FieldSpec
from accord.rules.evaluate import Tables, holds
from accord.rules.implied import accepts_unseen, enough_alone, reach, requires_same, without
from accord.rules.join import full_join
from accord.rules.rule import And, Missing, Or, Rule, Same, predicates
from accord.rules.text import parse_rule
from accord.rules.words import euclidean, missing, same, within
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
    if any(isinstance(p, Missing) for p in predicates(rule)):
        for p in predicates(rule):
            if not isinstance(p, Missing):
                unseen = ~holds(p, tables, left, right)
                left, right = left[unseen], right[unseen]
        assert accepts_unseen(rule) or not len(left)


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


def test_agrees_or_is_missing_does_not_require_to_agree() -> None:
    brand, lacks = same("brand"), missing("brand")
    required = [brand, (brand | lacks) & brand, brand & missing("birth")]
    for rule in (*required, brand | lacks, same("brand", "colour"), lacks, ~lacks):
        assert requires_same(rule, "brand") == (rule in required)
        assert (reach(rule, ("brand",), worlds.FIELDS) == 0) == (rule in required)


@pytest.mark.parametrize(
    ("rule", "names", "field_b", "farthest"),
    [
        # In steps of a half.
        (euclidean("x", "y") <= 2, ("x", "y"), "", 16),
        (euclidean("x", "y") <= 2, ("y",), "", 16),
        (euclidean("x", "y") <= 2, ("x",), "z", None),
        (euclidean("x") <= 2, ("x", "y"), "", None),
        (within("x", 1) & within("y", 2), ("x", "y"), "", 4 + 16),
        (within("x", 1) & within("y", 2) & (euclidean("x", "y") <= 1), ("x", "y"), "", 4),
        (within("x", 1) | within("x", 3), ("x",), "", 36),
        (within("x", 1) | same("hour"), ("x",), "", None),
        (within("birth", "baptism", days=2), ("birth",), "baptism", 4),
        (within("birth", "baptism", days=2), ("baptism",), "birth", None),
        (within("birth", "baptism", days=2), ("birth",), "", None),
        (~same("x"), ("x",), "", None),
    ],
)
def test_how_far_apart_a_match_may_be(
    rule: Rule, names: tuple[str, ...], field_b: str, farthest: int | None
) -> None:
    assert reach(rule, names, worlds.FIELDS, field_b) == farthest


def test_nothing_is_missing_where_a_key_brought_records_together() -> None:
    key = frozenset(["brand"])
    assert without(same("brand") | missing("brand"), key) == And(())
    assert without(same("hour") & missing("brand", Side.A), key) == Or(())
    assert without(same("hour") & ~missing("brand"), key) == same("hour")
    crossed = same("brand", "colour")
    assert without(crossed, frozenset(["brand", "colour"])) == crossed
    assert requires_same(crossed, "brand", "colour")
    assert not requires_same(crossed, "colour", "brand")


@pytest.mark.parametrize(
    ("least", "left"),
    [(8, Or(())), (7, "score(same(hour) -> 3, otherwise -> -1) >= 3"), (3, And(()))],
)
def test_known_weights_are_counted_off_the_threshold(least: int, left: Rule | str) -> None:
    score = f"score(same(hour) -> 3, otherwise -> -1; missing(brand) -> 0, same(brand) -> 4) >= {least}"
    expected = parse_rule(left) if isinstance(left, str) else left
    assert without(parse_rule(score), frozenset(["brand"])) == expected


def test_who_accepts_because_of_what_is_missing() -> None:
    brand, lacks = same("brand"), missing("brand")
    for rule in (brand | lacks, lacks & ~missing("code"), ~brand & ~lacks, missing("brand", "B")):
        assert accepts_unseen(rule)
    for rule in ((brand | lacks) & same("hour"), ~brand, brand & missing("code", "A")):
        assert not accepts_unseen(rule)


# -- what is enough alone ----------------------------------------------------------------------------------

TEXT = {"type": "text", "encoder": "hash", "missing": "differs"}
BORN = {"type": "date", "min": "1900-01-01", "max": "2029-12-31", "missing": "differs"}
YEAR = {"type": "number", "from": "birth", "derive": "year", "min": 1900, "max": 2029, "step": 1}
GIVEN = "given: same -> 8, missing -> 0, otherwise -> -2"
SURNAME = "surname: same -> 7, missing -> 0, otherwise -> -5"
THERE = "surname: same -> 7, otherwise -> -5"
BIRTH = "birth: same -> 5, same(birth_year) -> 2, missing -> 0, otherwise -> -3"


@pytest.mark.parametrize(
    ("text", "policy", "enough"),
    [
        (f"score({GIVEN}; {SURNAME}; {BIRTH}) >= 7", "differs", {"given": 8, "surname": 7}),
        (f"score({GIVEN}; {SURNAME}; {BIRTH}) >= 9", "differs", {}),
        # What no record lacks differs then, which weighs.
        (f"score({GIVEN}; {THERE}; {BIRTH}) >= 7", "error", {"surname": 7}),
        (f"score({GIVEN}; {THERE}; {BIRTH}) >= 3", "error", {"given": 3, "surname": 7}),
        # Fields of one column agree together.
        (f"score({BIRTH}; same(birth_year) -> 4; {GIVEN}) >= 9", "differs", {"birth": 9}),
        # A field of several columns is the same where both records lack the others.
        ("score(whole: same -> 3; given: same -> 1; birth: same -> 1) >= 4", "differs", {"given": 4}),
        # Something else has to agree, too.
        (f"same(birth) and score({GIVEN}; {SURNAME}) >= 7", "differs", {}),
        # What is accepted without the score is meant so.
        (f"same(given) or score({GIVEN}; {SURNAME}) >= 7", "differs", {"surname": 7}),
        ("same(given) and same(surname) or same(birth)", "differs", {}),
        # It may matter whose record is empty.
        (
            "score(given: same -> 3; missing(birth, A) -> 2, missing(birth, B) -> -9) >= 5",
            "differs",
            {"given": 5},
        ),
    ],
)
def test_a_single_value_is_enough_where_it_is_said(text: str, policy: str, enough: dict[str, int]) -> None:
    several = {"whole": TEXT | {"from": ["given", "surname"]}, "birth_year": YEAR | {"missing": "differs"}}
    fields = TypeAdapter(dict[str, FieldSpec]).validate_python(
        {"given": TEXT, "surname": TEXT | {"missing": policy}, "birth": BORN, **several}
    )
    rule = parse_rule(text)
    assert enough_alone(rule, fields) == enough
    if policy == "differs" and " or " not in text:
        assert {name for name in ("given", "surname", "birth") if matches(rule, fields, name)} == {*enough}


def matches(rule: Rule, fields: dict[str, FieldSpec], column: str) -> bool:
    """Whether records match that agree on the column, and of which one or both have nothing else."""
    full = {"given": "anna", "surname": "smith", "birth": "1980-01-31"}
    poor = {name: value if name == column else None for name, value in full.items()}
    other = {"given": "bea", "surname": "jones", "birth": "1975-12-24"} | {column: full[column]}
    table = pa.table({"id": ["1", "2"], **{name: [poor[name], other[name]] for name in full}})
    columns = load_records(table, fields, worlds.SALT).columns
    left, right = np.array([0, 0, 1]), np.array([0, 1, 0])
    return bool(holds(rule, Tables(fields, columns, columns), left, right).any())
