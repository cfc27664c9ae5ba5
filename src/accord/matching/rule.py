"""The words of a rule and how they combine: a description, not an execution.

A rule is a tree of predicates joined by `&`, `|` and `~` (in text: and, or, not). Other modules interpret it:
`rule_text` reads it, `rule_check` judges it against the fields, `evaluate` runs it in the clear, `lowering`
turns it into a circuit, `implied` says what it guarantees. Thresholds are exact fractions.

A predicate holds only where both records have a value for all its fields; so `~` of it holds where one is
missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NoReturn

from accord.exact import exact, text


class Rule:
    """A condition on a pair of records."""

    def __and__(self, other: Rule) -> Rule:
        return And((*_parts(And, self), *_parts(And, other)))

    def __or__(self, other: Rule) -> Rule:
        return Or((*_parts(Or, self), *_parts(Or, other)))

    def __invert__(self) -> Rule:
        return Not(self)

    def __bool__(self) -> NoReturn:
        raise TypeError("a rule is neither true nor false; join rules with &, | and ~, not with and, or, not")


@dataclass(frozen=True)
class And(Rule):
    parts: tuple[Rule, ...]

    def __str__(self) -> str:
        return " and ".join(f"({p})" if isinstance(p, Or) else str(p) for p in self.parts)


@dataclass(frozen=True)
class Or(Rule):
    parts: tuple[Rule, ...]

    def __str__(self) -> str:
        return " or ".join(str(p) for p in self.parts)


@dataclass(frozen=True)
class Not(Rule):
    part: Rule

    def __str__(self) -> str:
        return f"not ({self.part})" if isinstance(self.part, And | Or) else f"not {self.part}"


@dataclass(frozen=True)
class Same(Rule):
    """The two values are equal; free text is compared by a hash of 80 bits."""

    field: str

    def __str__(self) -> str:
        return f"same({self.field})"


@dataclass(frozen=True)
class Hamming(Rule):
    """The filters differ in at most `bound` bits."""

    field: str
    bound: int

    def __str__(self) -> str:
        return f"hamming({self.field}) <= {self.bound}"


@dataclass(frozen=True)
class Similar(Rule):
    """The filters' Dice, Jaccard or cosine similarity is at least `bound`; two empty filters have 1."""

    measure: Literal["dice", "jaccard", "cosine"]
    field: str
    bound: Fraction

    def __str__(self) -> str:
        return f"{self.measure}({self.field}) >= {text(self.bound)}"


@dataclass(frozen=True)
class Euclidean(Rule):
    """The distance over these number fields is at most `bound`, in the fields' unit."""

    fields: tuple[str, ...]
    bound: Fraction

    def __str__(self) -> str:
        return f"euclidean({', '.join(self.fields)}) <= {text(self.bound)}"


@dataclass(frozen=True)
class Within(Rule):
    """The values differ by at most `bound`, which counts days for dates."""

    field: str
    bound: Fraction
    days: bool

    def __str__(self) -> str:
        unit = "" if not self.days else " day" if self.bound == 1 else " days"
        return f"within({self.field}, {text(self.bound)}{unit})"


Predicate = Same | Hamming | Similar | Euclidean | Within


def _parts(kind: type[And] | type[Or], rule: Rule) -> tuple[Rule, ...]:
    if isinstance(rule, Measure):
        raise TypeError(f"{rule.name}() needs a threshold before it joins with rules, in parentheses")
    if not isinstance(rule, Rule):
        raise TypeError(f"a rule joins with rules, not with {type(rule).__name__}")
    return rule.parts if isinstance(rule, kind) else (rule,)


def predicates(rule: Rule) -> Iterator[Predicate]:
    """The predicates of a rule, from left to right."""
    match rule:
        case And(parts) | Or(parts):
            for part in parts:
                yield from predicates(part)
        case Not(part):
            yield from predicates(part)
        case Same() | Hamming() | Similar() | Euclidean() | Within():
            yield rule
        case _:
            raise TypeError(f"not a rule: {type(rule).__name__}")


def fields_of(rule: Rule) -> tuple[str, ...]:
    """The fields that a rule reads, each once, in order."""
    names: dict[str, None] = {}
    for predicate in predicates(rule):
        names.update(dict.fromkeys(_fields(predicate)))
    return tuple(names)


def _fields(predicate: Predicate) -> tuple[str, ...]:
    return predicate.fields if isinstance(predicate, Euclidean) else (predicate.field,)


@dataclass(frozen=True)
class Measure:
    """A distance or similarity that waits for its threshold: `hamming("name") <= 5`."""

    name: Literal["hamming", "euclidean", "dice", "jaccard", "cosine"]
    fields: tuple[str, ...]

    def __le__(self, bound: object) -> Rule:
        limit = _amount(bound, f"the threshold of {self.name}()")
        if self.name == "hamming":
            if limit.denominator != 1:
                raise ValueError("hamming() counts bits: its threshold is a whole number")
            return Hamming(self.fields[0], int(limit))
        if self.name == "euclidean":
            return Euclidean(self.fields, limit)
        raise ValueError(f"{self.name}() is a similarity: write {self.name}(...) >= 0.9")

    def __ge__(self, bound: object) -> Rule:
        if self.name == "dice" or self.name == "jaccard" or self.name == "cosine":
            least = _amount(bound, f"the threshold of {self.name}()")
            if not 0 < least <= 1:
                raise ValueError(f"{self.name}() is above 0 and at most 1: write {self.name}(...) >= 0.9")
            return Similar(self.name, self.fields[0], least)
        raise ValueError(f"{self.name}() is a distance: write {self.name}(...) <= 5")


def same(field: str) -> Rule:
    """The two records have the same value."""
    return Same(_name(field))


def hamming(field: str) -> Measure:
    """Number of bits in which two Bloom filters differ."""
    return Measure("hamming", (_name(field),))


def dice(field: str) -> Measure:
    """2·|a ∧ b| / (|a| + |b|) of two Bloom filters."""
    return Measure("dice", (_name(field),))


def jaccard(field: str) -> Measure:
    """|a ∧ b| / |a ∨ b| of two Bloom filters."""
    return Measure("jaccard", (_name(field),))


def cosine(field: str) -> Measure:
    """|a ∧ b| / √(|a|·|b|) of two Bloom filters."""
    return Measure("cosine", (_name(field),))


def euclidean(*fields: str) -> Measure:
    """Straight-line distance over number fields that share one step."""
    if not fields:
        raise ValueError("euclidean() takes at least one field: euclidean('lat', 'lon') <= 0.005")
    return Measure("euclidean", tuple(map(_name, fields)))


def within(field: str, amount: object = None, *, days: object = None) -> Rule:
    """The values differ by at most this much: `within("price", 0.5)`, `within("birth", days=2)`."""
    if (amount is None) == (days is None):
        raise ValueError("within() takes one amount: within('price', 0.5) or within('birth', days=2)")
    found = _amount(amount if days is None else days, "the amount of within()")
    return Within(_name(field), found, days is not None)


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
        raise TypeError(f"a field is named by its text, not by {type(field).__name__}")
    return field
