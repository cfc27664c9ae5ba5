"""The words of a rule in Python: `same("day") & (hamming("name") <= 5)`; rules and nothing else come out.

'Either way round' is a rule, or the same rule with two fields of B's record exchanged:

    either_way(R, f, g)  =  R or R′        R′ = R, with B's g wherever R reads B's f, and the other way round

So R′ holds for a pair exactly when R holds for A's record and B's with the values of f and g swapped: what a
clerk does who types a surname into the field for the given name. It is written out when it is read, and no
interpreter of rules knows of it; the canonical text of an agreement holds both rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from accord.exact import exact
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
    Unfinished,
    Within,
    fields_of,
    predicates,
    rebuild,
)
from accord.side import Side

LARGEST_WEIGHT = 9_999
"""Of one level of a score, and of its threshold: more would only make comparisons wide."""
MOST_LEVELS = 32
"""Of one comparison of a score: each is held against all before it."""
MOST_PREDICATES = 1000
"""Of a rule that is written out: each `either_way` inside another doubles them."""


@dataclass(frozen=True)
class Measure(Unfinished):
    """A distance or similarity that waits for its threshold: `hamming("name") <= 5`."""

    name: Literal["hamming", "edit", "mismatches", "euclidean", "dice", "jaccard", "cosine"]
    fields: tuple[str, ...]

    def __le__(self, bound: object) -> Rule:
        limit = _amount(bound, f"the threshold of {self.name}()")
        if self.name in _COUNTS:
            kind, counted = _COUNTS[self.name]
            if limit.denominator != 1:
                raise ValueError(f"{self.name}() counts {counted}: its threshold is a whole number")
            return kind(self.fields[0], int(limit), field_b=self.fields[-1])
        if self.name == "euclidean":
            return Euclidean(self.fields, limit)
        raise ValueError(f"{self.name}() is a similarity: write {self.name}(...) >= 0.9")

    def __ge__(self, bound: object) -> Rule:
        if self.name == "dice" or self.name == "jaccard" or self.name == "cosine":
            least = _amount(bound, f"the threshold of {self.name}()")
            if not 0 < least <= 1:
                raise ValueError(f"{self.name}() is above 0 and at most 1: write {self.name}(...) >= 0.9")
            return Similar(self.name, self.fields[0], least, field_b=self.fields[-1])
        raise ValueError(f"{self.name}() is a distance: write {self.name}(...) <= 5")


_COUNTS: dict[str, tuple[type[Hamming | Edit | Mismatches], str]] = {
    "hamming": (Hamming, "bits"),
    "edit": (Edit, "edits"),
    "mismatches": (Mismatches, "places"),
}
"""The rule of each measure that counts, and what it counts."""


def same(field: str, field_b: str | None = None) -> Rule:
    """The two records have the same value, of one field or of A's `field` and B's `field_b`."""
    of_a, of_b = _names(field, field_b)
    return Same(of_a, field_b=of_b)


def hamming(field: str, field_b: str | None = None) -> Measure:
    """Number of bits in which two Bloom filters differ."""
    return Measure("hamming", _names(field, field_b))


def edit(field: str, field_b: str | None = None) -> Measure:
    """Insertions, deletions and substitutions of letters that turn one text into the other."""
    return Measure("edit", _names(field, field_b))


def mismatches(field: str, field_b: str | None = None) -> Measure:
    """Number of places in which two texts differ, for codes of one length."""
    return Measure("mismatches", _names(field, field_b))


def dice(field: str, field_b: str | None = None) -> Measure:
    """2·|a ∧ b| / (|a| + |b|) of two Bloom filters."""
    return Measure("dice", _names(field, field_b))


def jaccard(field: str, field_b: str | None = None) -> Measure:
    """|a ∧ b| / |a ∨ b| of two Bloom filters."""
    return Measure("jaccard", _names(field, field_b))


def cosine(field: str, field_b: str | None = None) -> Measure:
    """|a ∧ b| / √(|a|·|b|) of two Bloom filters."""
    return Measure("cosine", _names(field, field_b))


def euclidean(*fields: str) -> Measure:
    """Straight-line distance over number fields that share one step."""
    if not fields:
        raise ValueError("euclidean() takes at least one field: euclidean('lat', 'lon') <= 0.005")
    return Measure("euclidean", tuple(map(_name, fields)))


def within(field: str, *rest: object, days: object = None) -> Rule:
    """The values differ by at most this much: `within("price", 0.5)`, `within("birth", days=2)`; with two
    fields A's first and B's second, `within("price", "cost", 0.5)`."""
    given = rest if days is None else (*rest, days)
    if len(given) not in (1, 2) or (len(given) == 2 and not isinstance(given[0], str)):
        problem = "within() takes one or two fields and one amount"
        raise ValueError(f"{problem}: within('price', 0.5), within('birth', 'baptism', days=2)")
    of_a, of_b = _names(field, *given[:-1])
    return Within(of_a, _amount(given[-1], "the amount of within()"), days is not None, field_b=of_b)


def missing(field: str, side: Side | Literal["A", "B"] | None = None) -> Rule:
    """One of the records has no value of this field; with a side, "A" or "B", that side's record."""
    if side is not None and side not in (*Side, "A", "B"):
        raise ValueError("a side is 'A' or 'B': missing('name'), missing('name', 'A')")
    return Missing(_name(field), None if side is None else Side(side))


@dataclass(frozen=True)
class Scored(Unfinished):
    """A sum of weights that waits for its threshold: `score(...) >= 12`."""

    comparisons: tuple[Levels, ...]
    name = "score"

    def __ge__(self, least: object) -> Rule:
        return Score(self.comparisons, _whole(least, "the threshold of score()"))

    def __le__(self, least: object) -> Rule:
        raise ValueError("a score must reach a threshold: write score(...) >= 12")


def compare(*levels: tuple[Rule, int], otherwise: int = 0) -> Levels:
    """One comparison of a score: `compare((same("city"), 3), (missing("city"), 0), otherwise=-2)`.

    The first level that holds gives its weight.
    """
    if not levels:
        raise ValueError("a comparison has at least one level: compare((same('city'), 3), otherwise=-2)")
    if len(levels) > MOST_LEVELS:
        raise ValueError(f"a comparison has at most {MOST_LEVELS} levels")
    made = []
    for when, weight in levels:
        if not isinstance(when, Rule):
            raise TypeError(f"a level is a rule and its weight, not {type(when).__name__}")
        made.append(Level(when, _whole(weight, "the weight of a level")))
    return Levels(tuple(made), _whole(otherwise, "the weight of otherwise"))


def score(*comparisons: Levels) -> Scored:
    """The sum of the weights of some comparisons: `score(compare(...), compare(...)) >= 12`."""
    if not comparisons or not all(isinstance(each, Levels) for each in comparisons):
        raise ValueError("score() takes comparisons: score(compare((same('city'), 3)), ...) >= 12")
    return Scored(comparisons)


def _whole(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{what} must be a whole number")
    if abs(value) > LARGEST_WEIGHT:
        raise ValueError(
            f"{what} must be from {-LARGEST_WEIGHT:,} to {LARGEST_WEIGHT:,}; write smaller weights"
        )
    return value


def _amount(value: object, what: str) -> Fraction:
    """The threshold that was written, or what is wrong with it."""
    try:
        found = exact(value)
    except ValueError as error:
        raise ValueError(f"{what} {error}") from None
    if found < 0:
        raise ValueError(f"{what} must not be below 0")
    return found


def _name(field: object) -> str:
    if not isinstance(field, str):
        raise TypeError(f"a field is named by a text, not by {type(field).__name__}")
    return field


def _names(field: object, field_b: object = None) -> tuple[str, str]:
    return _name(field), _name(field if field_b is None else field_b)


def either_way(rule: Rule, field: str, other: str) -> Rule:
    """The rule, or the rule with these two fields swapped on B's side."""
    if field == other:
        raise ValueError("either_way() exchanges two different fields")
    read = fields_of(rule)
    for name, beside in ((field, other), (other, field)):
        if name not in read:
            problem = f"the rule inside either_way() does not read '{name}'"
            mend = f"read both fields in it, or write the crossed predicate, such as same({beside}, {name})"
            raise ValueError(f"{problem}; {mend}")
    turned = _exchange(rule, {field: other, other: field})
    if _alike(turned) == _alike(rule):
        problem = f"exchanging {field} and {other} on B's side changes nothing"
        raise ValueError(f"{problem}; leave out either_way()")
    both = rule | turned
    if len(list(predicates(both))) > MOST_PREDICATES:
        raise ValueError(f"either_way() would make more than {MOST_PREDICATES:,} predicates; take fewer")
    return both


def _exchange(rule: Rule, turn: Mapping[str, str]) -> Rule:
    """The rule with other fields of B."""
    match rule:
        case Missing(field, side) if field in turn:
            at_b = Missing(turn[field], Side.B)
            return rule if side is Side.A else at_b if side is Side.B else Missing(field, Side.A) | at_b
        case Same() | Hamming() | Similar() | Edit() | Mismatches() | Within():
            return replace(rule, field_b=turn.get(rule.field_b, rule.field_b))
        case Euclidean(fields) if turn.keys() & set(fields):
            problem = f"'{rule}' takes its fields together, and these cannot be exchanged"
            raise ValueError(f"{problem}; use within() for each, or leave it outside either_way()")
        case _:
            return rebuild(rule, lambda part: _exchange(part, turn))


def _alike(rule: Rule) -> object:
    """Equal for rules that differ only in the order of their parts."""
    match rule:
        case And(parts) | Or(parts):
            return type(rule), frozenset(map(_alike, parts))
        case Not(part):
            return Not, _alike(part)
        case _:
            return rule
