"""The words of a rule and how they combine: a description, not an execution.

A rule is a tree of predicates joined by `&`, `|` and `~` (in text: and, or, not). Other modules interpret it:
`rule_words` makes it in Python, `rule_text` reads it, `rule_check` judges it against the fields, `evaluate`
runs it in the clear, `lowering` turns it into a circuit, `implied` says what it guarantees. Thresholds are
exact fractions.

A predicate on one field compares A's value with B's value of the same field, or of another one: `same("last",
"middle")` is A's last name against B's middle name. It holds only where both values are there; so `~` of it
holds where one is missing. `missing` asks for just that.

A score adds up weights, one for each comparison: that of the first of its levels which holds, as in the
`CASE WHEN` of Fellegi and Sunter's users (JASA'69; Splink's comparison levels). It holds from `least` on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Literal, NoReturn

from accord.exact import text
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
    """The two values are equal; free text is compared by a hash of 80 bits, or by its letters."""

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
class Edit(OneField):
    """At most `bound` insertions, deletions and substitutions of letters make one text of the other."""

    field: str
    bound: int
    _: KW_ONLY
    field_b: str = ""

    def __str__(self) -> str:
        return f"edit({self.names}) <= {self.bound}"


@dataclass(frozen=True)
class Mismatches(OneField):
    """The texts differ in at most `bound` places; a place that one of them does not reach differs."""

    field: str
    bound: int
    _: KW_ONLY
    field_b: str = ""

    def __str__(self) -> str:
        return f"mismatches({self.names}) <= {self.bound}"


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


@dataclass(frozen=True)
class Level:
    """What a pair weighs if `when` holds, and no level before it."""

    when: Rule
    weight: int

    def __str__(self) -> str:
        return f"{self.when} -> {self.weight}"


@dataclass(frozen=True)
class Levels:
    """One comparison of a score: levels in their order, and the weight if none of them holds."""

    levels: tuple[Level, ...]
    otherwise: int

    def __str__(self) -> str:
        return ", ".join([*map(str, self.levels), f"otherwise -> {self.otherwise}"])

    @property
    def weights(self) -> tuple[int, ...]:
        return (*(level.weight for level in self.levels), self.otherwise)


@dataclass(frozen=True)
class Score(Rule):
    """The weights of all comparisons add up to at least `least`."""

    comparisons: tuple[Levels, ...]
    least: int

    def __str__(self) -> str:
        return f"score({'; '.join(map(str, self.comparisons))}) >= {self.least}"

    @property
    def lowest(self) -> int:
        """No pair has a smaller sum."""
        return sum(min(each.weights) for each in self.comparisons)

    @property
    def highest(self) -> int:
        return sum(max(each.weights) for each in self.comparisons)


class Unfinished:
    """A measure or a score that waits for its threshold before it is a rule (words.py)."""

    name: str


Comparison = Same | Hamming | Similar | Edit | Mismatches | Euclidean | Within
Predicate = Comparison | Missing


def join(kind: type[And] | type[Or], rules: Sequence[Rule]) -> Rule:
    """All of these rules, or one of them; nested ones of the same kind are one."""
    parts = tuple(part for rule in rules for part in _parts(kind, rule))
    return kind(parts) if len(rules) > 1 else rules[0]


def _parts(kind: type[And] | type[Or], rule: Rule) -> tuple[Rule, ...]:
    if isinstance(rule, Unfinished):
        raise TypeError(f"{rule.name}() needs a threshold before it joins with rules, in parentheses")
    if not isinstance(rule, Rule):
        raise TypeError(f"a rule joins with rules, not with {type(rule).__name__}")
    return rule.parts if isinstance(rule, kind) else (rule,)


def predicates(rule: Rule) -> Iterator[Predicate]:
    """The predicates of a rule, from left to right."""
    match rule:
        case And() | Or() | Not() | Score():
            for part in parts_of(rule):
                yield from predicates(part)
        case Same() | Hamming() | Similar() | Edit() | Mismatches() | Euclidean() | Within():
            yield rule
        case Missing():
            yield rule
        case _:
            raise TypeError(f"not a rule: {type(rule).__name__}")


def scores_of(rule: Rule) -> Iterator[Score]:
    """The scores of a rule, also those in levels of others."""
    if isinstance(rule, Score):
        yield rule
    if isinstance(rule, And | Or | Not | Score):
        for part in parts_of(rule):
            yield from scores_of(part)


def parts_of(rule: And | Or | Not | Score) -> tuple[Rule, ...]:
    """The rules that a rule is made of, from left to right."""
    match rule:
        case And(parts) | Or(parts):
            return parts
        case Not(part):
            return (part,)
        case Score(comparisons):
            return tuple(level.when for each in comparisons for level in each.levels)


def rebuild(rule: Rule, change: Callable[[Rule], Rule]) -> Rule:
    """The rule with each of its parts changed; a predicate has none."""
    match rule:
        case And(parts) | Or(parts):
            return join(type(rule), [change(part) for part in parts]) if parts else rule
        case Not(part):
            return Not(change(part))
        case Score(comparisons, least):
            changed = [[Level(change(one.when), one.weight) for one in each.levels] for each in comparisons]
            made = zip(changed, comparisons, strict=True)
            return Score(tuple(Levels(tuple(levels), each.otherwise) for levels, each in made), least)
        case _:
            return rule


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


def compared_fields(predicate: Comparison) -> tuple[tuple[str, str], ...]:
    """The pairs (A's field, B's field) that a predicate compares."""
    return tuple(zip(read_by(Side.A, predicate), read_by(Side.B, predicate), strict=True))
