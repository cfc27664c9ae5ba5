"""Small worlds for property tests: fields of every kind, tables, rules, and the textbook's answer.

The textbook works on the values as people write them, with Python's fractions and sets, one pair at a time;
it shares nothing with the code under test but the filters' bits. Every kind of field has a twin with the same
encoding, with which it can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from itertools import zip_longest
from math import sqrt
from typing import Any, Literal

import pyarrow as pa
from hypothesis import strategies as st
from pydantic import TypeAdapter

from accord.fields.columns import Bits, Records
from accord.fields.load import load_records
from accord.fields.schema import FieldSpec
from accord.rules.evaluate import Tables
from accord.rules.rule import (
    And,
    Edit,
    Euclidean,
    Hamming,
    Level,
    Levels,
    Mismatches,
    Missing,
    Not,
    Or,
    Rule,
    Same,
    Score,
    Similar,
    Within,
)
from accord.rules.rule import predicates as predicates_of
from accord.rules.text import parse_rule
from accord.side import Side

_MISSES = {"missing": "differs"}
_BLOOM = {"type": "text", "encoder": {"kind": "bloom", "bits": 20, "hashes": 2, "grams": 2}}
_LETTERS = {"type": "text", "encoder": {"kind": "letters", "length": 5, "alphabet": "abé "}}
_HASH = {"type": "text", "encoder": "hash"}
_BRAND = {"type": "category", "values": ["red", "green"], "other": "bin"}
_WIDE = {"type": "number", "min": -2, "max": 8, "step": 0.5}
_DAY = {"type": "date", "min": "2026-01-01", "max": "2026-01-20"}
FIELDS: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    {
        "name": _BLOOM | _MISSES,
        "code": _HASH | _MISSES,
        "brand": _BRAND | _MISSES,
        "hour": {"type": "number", "min": 0, "max": 3, "step": 1},
        "x": _WIDE | _MISSES,
        "y": {"type": "number", "min": 0, "max": 6, "step": 0.5},
        "birth": _DAY | _MISSES,
        "tag": _LETTERS | _MISSES,
        "nick": _BLOOM | _MISSES,
        "alias": _HASH,
        "colour": _BRAND | _MISSES,
        "z": _WIDE,
        "baptism": _DAY | _MISSES,
        "label": _LETTERS,
    }
)
SALT = "00000000"
TWINS = [
    *(("name", "nick"), ("code", "alias"), ("brand", "colour"), ("x", "z"), ("birth", "baptism")),
    ("tag", "label"),
]
MAY_MISS = [name for name, spec in FIELDS.items() if spec.missing == "differs"]

Row = dict[str, Any]
EMPTY: Row = dict.fromkeys(FIELDS) | {"alias": "y", "hour": 1, "y": 1.0, "z": 1.0, "label": "b"}
"""A record without any value that may be missing."""


def _halves(low: int, high: int) -> st.SearchStrategy[float]:
    return st.integers(2 * low, 2 * high).map(lambda n: n / 2)


cells: dict[str, st.SearchStrategy[Any]] = {
    "name": st.none() | st.text("abc é", min_size=1, max_size=6).filter(str.strip),
    "code": st.none() | st.sampled_from(["x1", "x2", "y"]),
    "brand": st.none() | st.sampled_from(["red", "Green ", "blue", "pink"]),
    "hour": st.integers(0, 3),
    "x": st.none() | _halves(-2, 8),
    "y": _halves(0, 6),
    "birth": st.none() | st.integers(0, 19).map(lambda n: date(2026, 1, 1) + timedelta(days=n)),
    "tag": st.none() | st.text("abé ", min_size=1, max_size=5).filter(str.strip),
    "nick": st.none() | st.text("abc é", min_size=1, max_size=4).filter(str.strip),
    "alias": st.sampled_from(["x1", "x2", "y"]),
    "colour": st.none() | st.sampled_from(["red", "green", "blue"]),
    "z": _halves(-2, 8),
    "baptism": st.none() | st.integers(0, 19).map(lambda n: date(2026, 1, 1) + timedelta(days=n)),
    "label": st.text("ABé", min_size=1, max_size=5),
}
rows: st.SearchStrategy[Row] = st.fixed_dictionaries(cells)
tables = st.lists(rows, max_size=9)
ROW: Row = {
    "name": "ab", "code": "x1", "brand": "red", "hour": 2, "x": 0, "y": 0, "birth": date(2026, 1, 5),
    "tag": "ab", "nick": None, "alias": "y", "colour": None, "z": 0, "baptism": None, "label": "b",
    "kin": None,
}  # fmt: skip

MEASURES: list[Literal["dice", "jaccard", "cosine"]] = ["dice", "jaccard", "cosine"]
similarities = st.sampled_from([Fraction(n, 20) for n in range(1, 21)])


def _alone(*names: str) -> st.SearchStrategy[tuple[str, str]]:
    return st.sampled_from([(name, name) for name in names])


def _crossed(*names: str) -> st.SearchStrategy[tuple[str, str]]:
    """A field and its twin, either way round."""
    pairs = [pair for pair in TWINS if pair[0] in names]
    return st.sampled_from([*pairs, *((b, a) for a, b in pairs)])


def _comparisons(among: Callable[..., st.SearchStrategy[tuple[str, str]]]) -> st.SearchStrategy[Rule]:
    """Predicates on fields of A and of B that this draws among some."""

    def bounded(make: Callable[..., Rule], names: list[str], bounds: Any) -> st.SearchStrategy[Rule]:
        return st.builds(lambda f, bound: make(f[0], bound, field_b=f[1]), among(*names), bounds)

    return st.one_of(
        among("code", "brand", "hour", "x", "birth", "tag").map(lambda f: Same(f[0], field_b=f[1])),
        bounded(Hamming, ["name"], st.integers(0, 19)),
        bounded(Edit, ["tag"], st.integers(0, 3)),
        bounded(Mismatches, ["tag"], st.integers(0, 4)),
        *(bounded(partial(Similar, measure), ["name"], similarities) for measure in MEASURES),
        bounded(partial(Within, days=False), ["x", "y", "hour"], st.fractions(0, 4, max_denominator=8)),
        bounded(partial(Within, days=True), ["birth"], st.integers(0, 9).map(Fraction)),
    )


predicates: st.SearchStrategy[Rule] = st.one_of(
    _comparisons(_alone),
    st.builds(
        Euclidean, st.sampled_from([("x", "y"), ("x",), ("y", "x")]), st.fractions(0, 5, max_denominator=8)
    ),
    _comparisons(_crossed),
    st.builds(Missing, st.sampled_from(MAY_MISS), st.none() | st.sampled_from(Side)),
)


def _joined(inner: st.SearchStrategy[Rule]) -> st.SearchStrategy[Rule]:
    two = st.tuples(inner, inner)
    return st.one_of(two.map(lambda p: p[0] & p[1]), two.map(lambda p: p[0] | p[1]), inner.map(Not))


def joined(leaves: st.SearchStrategy[Rule], most: int) -> st.SearchStrategy[Rule]:
    """Formulas over some rules."""
    return st.recursive(leaves, _joined, max_leaves=most)


plain = joined(predicates, 5)

_weights = st.integers(-20, 20)
_levels = st.builds(
    lambda levels, otherwise: Levels(tuple(Level(*level) for level in levels), otherwise),
    st.lists(st.tuples(joined(predicates, 2), _weights), min_size=1, max_size=3),
    _weights,
)
scores: st.SearchStrategy[Rule] = st.builds(
    Score, st.lists(_levels, min_size=1, max_size=4).map(tuple), st.integers(-30, 30)
)
rules = st.one_of(
    plain, scores, st.builds(lambda score, rule: score & rule, scores, predicates), scores.map(Not)
)


def table(rows: list[Row], fields: dict[str, FieldSpec] = FIELDS, prefix: str = "") -> pa.Table:
    """The rows as an owner has them, with their numbers for ids."""
    texts = ("name", "code", "brand", "tag", "nick", "alias", "colour", "label")
    types = dict.fromkeys(texts, pa.string())
    types |= dict.fromkeys(("birth", "baptism"), pa.date32())
    types["hour"] = pa.int64()
    columns = {name: pa.array([row[name] for row in rows], types.get(name, pa.float64())) for name in fields}
    return pa.table({"id": pa.array([f"{prefix}{i}" for i in range(len(rows))], pa.string()), **columns})


def records(rows: list[Row], fields: dict[str, FieldSpec] = FIELDS) -> Records:
    """The table as Accord encodes it."""
    return load_records(table(rows, fields), fields, SALT)


def both(a: list[Row], b: list[Row]) -> tuple[Tables, Records, Records]:
    left, right = records(a), records(b)
    return Tables(FIELDS, left.columns, right.columns), left, right


def score_of(text: str) -> Score:
    """The score that is written."""
    read = parse_rule(text)
    assert isinstance(read, Score)
    return read


Filters = dict[str, set[int]]


def matches(rule: Rule, a: Row, b: Row, filters: tuple[Filters, Filters]) -> bool:
    """The textbook's answer for one pair of rows."""
    match rule:
        case And(parts):
            return all(matches(part, a, b, filters) for part in parts)
        case Or(parts):
            return any(matches(part, a, b, filters) for part in parts)
        case Not(part):
            return not matches(part, a, b, filters)
        case Score(_, least):
            return score(rule, a, b, filters) >= least
        case Missing(name, side):
            return (side is not Side.B and a[name] is None) or (side is not Side.A and b[name] is None)
        case Euclidean(names, bound):
            if any(row[name] is None for row in (a, b) for name in names):
                return False
            return sum((Fraction(a[n]) - Fraction(b[n])) ** 2 for n in names) <= bound**2
        case Same() | Within() | Hamming() | Similar() | Edit() | Mismatches():
            x, y = a[rule.field], b[rule.field_b]
            both = filters[0].get(rule.field, set()), filters[1].get(rule.field_b, set())
            return x is not None and y is not None and _one_field(rule, x, y, *both)
    raise AssertionError


def score(of: Score, a: Row, b: Row, filters: tuple[Filters, Filters]) -> int:
    """The sum of its weights."""
    return sum(_weight(each, a, b, filters) for each in of.comparisons)


def _weight(each: Levels, a: Row, b: Row, filters: tuple[Filters, Filters]) -> int:
    for level in each.levels:
        if matches(level.when, a, b, filters):
            return level.weight
    return each.otherwise


def _one_field(rule: Rule, x: Any, y: Any, f: set[int], g: set[int]) -> bool:
    match rule:
        case Same("brand" | "colour"):
            known = [v.strip().lower() if v.strip().lower() in ("red", "green") else "other" for v in (x, y)]
            return known[0] == known[1]
        case Same("tag" | "label"):
            return _text(x) == _text(y)
        case Edit(_, limit):
            return edits(_text(x), _text(y)) <= limit
        case Mismatches(_, limit):
            return sum(c != d for c, d in zip_longest(_text(x), _text(y))) <= limit
        case Same():
            return bool(x == y)
        case Within(_, bound, True):
            return abs((x - y).days) <= bound
        case Within(_, bound):
            return abs(Fraction(x) - Fraction(y)) <= bound
        case Hamming(_, limit):
            return len(f ^ g) <= limit
        case Similar(measure, _, least):
            return _similarity(measure, f, g, least)
    raise AssertionError


def _text(cell: str) -> str:
    """As it is compared: in lower case, with single spaces."""
    return " ".join(cell.lower().split())


def edits(x: str, y: str) -> int:
    """The edit distance of two texts, as it is defined: the last letters are equal, or one of three edits."""
    if not x or not y:
        return len(x) + len(y)
    if x[-1] == y[-1]:
        return edits(x[:-1], y[:-1])
    return 1 + min(edits(x[:-1], y[:-1]), edits(x[:-1], y), edits(x, y[:-1]))


def _similarity(measure: str, f: set[int], g: set[int], least: Fraction) -> bool:
    if not f and not g:
        return True
    if measure == "dice":
        return Fraction(2 * len(f & g), len(f) + len(g)) >= least
    if measure == "jaccard":
        return Fraction(len(f & g), len(f | g)) >= least
    if not f or not g:
        return False
    value = len(f & g) / sqrt(len(f) * len(g))
    # Floats serve the textbook only where they are far from the border; at it, compare squares.
    if abs(value - float(least)) > 1e-9:
        return value > least
    return Fraction(len(f & g)) ** 2 >= least**2 * len(f) * len(g)


def filter_bits(records: Records, row: int) -> Filters:
    found = {}
    for name in {"name", "nick"} & set(records.columns):
        column = records.columns[name]
        assert isinstance(column, Bits)
        found[name] = {j for j in range(20) if int(column.words[row, j // 64]) >> (j % 64) & 1}
    return found


def filters(table: list[Row], rule: Rule) -> list[Filters]:
    """The bits of every row's filters, as far as a rule compares any."""
    if not any(isinstance(one, Hamming | Similar) for one in predicates_of(rule)):
        return [{} for _ in table]
    loaded = records(table, {name: FIELDS[name] for name in ("name", "nick")})
    return [filter_bits(loaded, row) for row in range(len(table))]


def expected(rule: Rule, a: list[Row], b: list[Row]) -> list[tuple[int, int]]:
    """All matching pairs of positions, by the textbook."""
    of_a, of_b = filters(a, rule), filters(b, rule)
    return [
        (i, j) for i, x in enumerate(a) for j, y in enumerate(b) if matches(rule, x, y, (of_a[i], of_b[j]))
    ]
