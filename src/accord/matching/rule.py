"""The words of a rule and how they combine: a description, not an execution.

A rule is a tree of predicates joined by `&`, `|` and `~` (in text: and, or, not). Other modules interpret it:
`rule_text` reads it, `rule_check` judges it against the fields, `evaluate` runs it in the clear, `lowering`
turns it into a circuit, `implied` says what it guarantees. Thresholds are exact fractions.

A predicate on one field compares A's value with B's value of the same field, or of another one: `same("last",
"middle")` is A's last name against B's middle name. It holds only where both values are there; so `~` of it
holds where one is missing. `missing` asks for just that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Literal, NoReturn

from accord.exact import exact, text
from accord.side import Side


class Rule:
    """A condition on a pair of records."""

    def __and__(self, other: Rule) -> Rule:
        return join(And, [self, other])

    def __or__(self, other: Rule) -> Rule:
        return join(Or, [self, other])

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


class OneField(Rule):
    """A predicate on one value of each record: A's `field` and B's `field_b`, which is the same unless the
    predicate is crossed."""

    field: str
    field_b: str

    def __post_init__(self) -> None:
        if not self.field_b:
            object.__setattr__(self, "field_b", self.field)

    @property
    def crossed(self) -> bool:
        return self.field != self.field_b

    @property
    def names(self) -> str:
        """As the rule's text writes them."""
        return f"{self.field}, {self.field_b}" if self.crossed else self.field


@dataclass(frozen=True)
class Same(OneField):
    """The two values are equal; free text is compared by a hash of 80 bits."""

    field: str
    _: KW_ONLY
    field_b: str = ""

    def __str__(self) -> str:
        return f"same({self.names})"


@dataclass(frozen=True)
class Hamming(OneField):
    """The filters differ in at most `bound` bits."""

    field: str
    bound: int
    _: KW_ONLY
    field_b: str = ""

    def __str__(self) -> str:
        return f"hamming({self.names}) <= {self.bound}"


@dataclass(frozen=True)
class Similar(OneField):
    """The filters' Dice, Jaccard or cosine similarity is at least `bound`; two empty filters have 1."""

    measure: Literal["dice", "jaccard", "cosine"]
    field: str
    bound: Fraction
    _: KW_ONLY
    field_b: str = ""

    def __str__(self) -> str:
        return f"{self.measure}({self.names}) >= {text(self.bound)}"


@dataclass(frozen=True)
class Euclidean(Rule):
    """The distance over these number fields is at most `bound`, in the fields' unit."""

    fields: tuple[str, ...]
    bound: Fraction

    def __str__(self) -> str:
        return f"euclidean({', '.join(self.fields)}) <= {text(self.bound)}"


@dataclass(frozen=True)
class Within(OneField):
    """The values differ by at most `bound`, which counts days for dates."""

    field: str
    bound: Fraction
    days: bool
    _: KW_ONLY
    field_b: str = ""

    def __str__(self) -> str:
        unit = "" if not self.days else " day" if self.bound == 1 else " days"
        return f"within({self.names}, {text(self.bound)}{unit})"


@dataclass(frozen=True)
class Missing(Rule):
    """The record of `side` has no value of the field; without a side, one of the two has none."""

    field: str
    side: Side | None = None

    def __str__(self) -> str:
        return f"missing({self.field})" if self.side is None else f"missing({self.field}, {self.side.value})"


Comparison = Same | Hamming | Similar | Euclidean | Within
Predicate = Comparison | Missing


def join(kind: type[And] | type[Or], rules: Sequence[Rule]) -> Rule:
    """All of these rules, or one of them; nested ones of the same kind are one."""
    parts = tuple(part for rule in rules for part in _parts(kind, rule))
    return kind(parts) if len(rules) > 1 else rules[0]


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
        case Same() | Hamming() | Similar() | Euclidean() | Within() | Missing():
            yield rule
        case _:
            raise TypeError(f"not a rule: {type(rule).__name__}")


def fields_of(rule: Rule) -> tuple[str, ...]:
    """The fields that a rule reads, on either side, each once, in order."""
    names: dict[str, None] = {}
    for predicate in predicates(rule):
        names.update({name: None for side in Side for name in read_by(side, predicate)})
    return tuple(names)


def read_by(side: Side, predicate: Predicate) -> tuple[str, ...]:
    """The fields of this side's record that a predicate reads.

    Of a comparison both sides give equally many, and the i-th is compared with the i-th.
    """
    match predicate:
        case Euclidean(fields):
            return fields
        case Missing(field, of):
            return (field,) if of in (None, side) else ()
        case _:
            return (predicate.field if side is Side.A else predicate.field_b,)


def compared(predicate: Comparison) -> tuple[tuple[str, str], ...]:
    """The pairs (A's field, B's field) that a predicate compares."""
    return tuple(zip(read_by(Side.A, predicate), read_by(Side.B, predicate), strict=True))


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
            return Hamming(self.fields[0], int(limit), field_b=self.fields[-1])
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


def same(field: str, field_b: str | None = None) -> Rule:
    """The two records have the same value, of one field or of A's `field` and B's `field_b`."""
    of_a, of_b = _names(field, field_b)
    return Same(of_a, field_b=of_b)


def hamming(field: str, field_b: str | None = None) -> Measure:
    """Number of bits in which two Bloom filters differ."""
    return Measure("hamming", _names(field, field_b))


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


def _names(field: object, field_b: object = None) -> tuple[str, str]:
    return _name(field), _name(field if field_b is None else field_b)
