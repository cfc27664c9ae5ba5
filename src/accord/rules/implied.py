"""What follows from a rule by itself, whatever the tables: the ground of indexes and complete blocking.

Sound, not complete: a guarantee given here holds; one that is not seen costs speed, never a match. A match
may lack a value only where `missing` or `not` lets it, and from these nothing is taken to follow; so where a
guarantee is given, both values are there.

It also follows from the weights of a score whether a single value that agrees is enough for a match. A score
that forgives missing values adds nothing for them, and takes nothing off; so the weight of one field may
reach the threshold by itself, where one of the records has nothing else. What a rule accepts without its
scores is meant so, and not told.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from itertools import product
from math import prod

from accord.fields.recipe import DATE_WORDS
from accord.fields.schema import DateField, NumberField, agreed_columns
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
    OneField,
    Or,
    Predicate,
    Rule,
    Same,
    Score,
    Similar,
    Within,
    predicates,
    read_by,
    rebuild,
    scores_of,
)
from accord.rules.thresholds import Fields, squared_steps, within_steps
from accord.side import Side


def requires_same(rule: Rule, field: str, field_b: str = "") -> bool:
    """Whether in every match A's `field` and B's `field_b`, unless named the same field, have one value."""
    match rule:
        case And(parts):
            return any(requires_same(part, field, field_b) for part in parts)
        case Or(parts):
            return bool(parts) and all(requires_same(part, field, field_b) for part in parts)
        case Same(of_a, field_b=of_b):
            return (of_a, of_b) == (field, field_b or field)
        case _:
            return False


def reach(rule: Rule, names: tuple[str, ...], fields: Fields, field_b: str = "") -> int | None:
    """The largest squared distance, in steps, that a match can have over these fields; None if unbounded.

    With `field_b` between A's one field and that field of B.
    """
    match rule:
        case And(parts):
            bounds = [b for part in parts if (b := reach(part, names, fields, field_b)) is not None]
            if len(names) > 1:
                each = [reach(rule, (name,), fields) for name in names]
                bounds += [sum(b for b in each if b is not None)] if None not in each else []
            return min(bounds, default=None)
        case Or(parts):
            found = [reach(part, names, fields, field_b) for part in parts]
            known = [bound for bound in found if bound is not None]
            return max(known) if known and len(known) == len(found) else None
        case Euclidean(measured):
            straight = field_b in ("", *names)
            return squared_steps(rule, fields) if straight and set(names) <= set(measured) else None
        case Within(of_a, field_b=of_b):
            return within_steps(rule, fields) ** 2 if (names, field_b or of_a) == ((of_a,), of_b) else None
        case Same(of_a, field_b=of_b):
            return 0 if (names, field_b or of_a) == ((of_a,), of_b) else None
        case _:
            return None


def without(rule: Rule, equal: frozenset[str]) -> Rule:
    """The rule on pairs that are known to have the same, present value of the fields in `equal`.

    `And(())` stands for true and `Or(())` for false.
    """
    match rule:
        case And(parts):
            left = [p for part in parts if (p := without(part, equal)) != And(())]
            if Or(()) in left:
                return Or(())
            return left[0] if len(left) == 1 else And(tuple(left))
        case Or(parts):
            left = [p for part in parts if (p := without(part, equal)) != Or(())]
            if And(()) in left:
                return And(())
            return left[0] if len(left) == 1 else Or(tuple(left))
        case Not(part):
            inner = without(part, equal)
            return Or(()) if inner == And(()) else And(()) if inner == Or(()) else Not(inner)
        case Same(field) if field in equal and not rule.crossed:
            return And(())
        case Missing(field) if field in equal:
            return Or(())
        case Score(comparisons, least):
            return _known_out(Score(tuple(_levels_without(each, equal) for each in comparisons), least))
        case _:
            return rule


def _levels_without(of: Levels, equal: frozenset[str]) -> Levels:
    """A level that holds is the last; one that cannot hold is none."""
    levels: list[Level] = []
    for level in of.levels:
        when = without(level.when, equal)
        if when == And(()):
            return Levels(tuple(levels), level.weight)
        if when != Or(()):
            levels.append(Level(when, level.weight))
    return Levels(tuple(levels), of.otherwise)


def _known_out(score: Score) -> Rule:
    """The weights that are known counted off the threshold."""
    known = sum(each.otherwise for each in score.comparisons if not each.levels)
    open_ = Score(tuple(each for each in score.comparisons if each.levels), score.least - known)
    if open_.least > open_.highest:
        return Or(())
    return And(()) if open_.least <= open_.lowest else open_


def implies(rule: Rule, other: Rule, fields: Fields | None = None) -> bool:
    """Whether the other rule holds wherever this one does, as far as it is seen; with the fields, also that
    the same day has the same year, month and day of the month."""
    if rule == other:
        return True
    match rule, other:
        case _, And(parts) if parts:
            return all(implies(rule, part, fields) for part in parts)
        case And(parts), _ if any(implies(part, other, fields) for part in parts):
            return True
        case _, Or(parts):
            return any(implies(rule, part, fields) for part in parts)
        case Similar(), Similar():
            return replace(rule, bound=other.bound) == other and rule.bound >= other.bound
        case Hamming() | Edit() | Mismatches(), Hamming() | Edit() | Mismatches() if type(rule) is type(
            other
        ):
            return replace(rule, bound=other.bound) == other and rule.bound <= other.bound
        case Mismatches(of_a, bound, field_b=of_b), Edit():
            # A letter where the other text has none is one to insert or to delete.
            return (of_a, of_b) == (other.field, other.field_b) and bound <= other.bound
        case Euclidean(names), Euclidean():
            return names == other.fields and rule.bound <= other.bound
        case Within(), Within():
            return replace(rule, bound=other.bound) == other and rule.bound <= other.bound
        case Same(), Same() | Within() | Edit() | Mismatches():
            return _equal_gives(rule, other, fields or {})
        case _:
            return False


def _equal_gives(equal: Same, other: OneField, fields: Fields) -> bool:
    """Whether equal values of a field are near each other, or have the same parts in another field."""
    pairs = (equal.field, other.field), (equal.field_b, other.field_b)
    if isinstance(other, Same):
        return all(_is_part(part, name, fields) for name, part in pairs)
    return all(name == read for name, read in pairs)


def _is_part(name: str, of: str, fields: Fields) -> bool:
    """Whether every day of a field has its year, its month or its day of the month in another."""
    part, whole = fields.get(name), fields.get(of)
    if not (isinstance(whole, DateField) and isinstance(part, NumberField) and part.derive in DATE_WORDS):
        return False
    ranges = {"year": (whole.min.year, whole.max.year), "month": (1, 12), "day": (1, 31)}
    low, high = ranges[str(part.derive)]
    read_alike = part.columns(name) == whole.columns(of) and part.missing_values == whole.missing_values
    return read_alike and whole.derive is None and part.step == 1 and part.min <= low and high <= part.max


def accepts_unseen(rule: Rule) -> bool:
    """Whether a pair in which no comparison holds may match, since values are missing."""
    return any(isinstance(p, Missing) for p in predicates(rule)) and may_hold(rule, _judge_unseen)[0]


def _judge_unseen(predicate: Predicate) -> tuple[bool, bool]:
    """Each `missing` is taken for itself, so it may say too much."""
    return isinstance(predicate, Missing), True


Judge = Callable[[Predicate], tuple[bool, bool]]
"""Whether a predicate may hold, and whether it may fail, of the pairs that are asked about."""


def may_hold(rule: Rule, judge: Judge) -> tuple[bool, bool]:
    """Whether a rule may hold, and whether it may fail."""
    match rule:
        case And(parts):
            found = [may_hold(part, judge) for part in parts]
            return all(may for may, _ in found), any(fail for _, fail in found)
        case Or(parts):
            found = [may_hold(part, judge) for part in parts]
            return any(may for may, _ in found), all(fail for _, fail in found)
        case Not(part):
            may, fail = may_hold(part, judge)
            return fail, may
        case Score(comparisons, least):
            each = [weights(one, judge) for one in comparisons]
            return sum(map(max, each)) >= least, sum(map(min, each)) < least
        case _:
            (predicate,) = predicates(rule)
            return judge(predicate)


def weights(of: Levels, judge: Judge) -> list[int]:
    """The weights that a comparison may have."""
    found = []
    for level in of.levels:
        may, fail = may_hold(level.when, judge)
        found += [level.weight] if may else []
        if not fail:
            return found
    return [*found, of.otherwise]


_MOST_WAYS = 64


def ways(rule: Rule) -> tuple[Rule, ...]:
    """Rules of which one holds exactly where the rule does: disjunctions, also those inside conjunctions,
    taken apart. The rule itself where that would be too many."""
    match rule:
        case Or(parts) if parts:
            found = tuple(way for part in parts for way in ways(part))
        case And(parts) if any(isinstance(part, Or) for part in parts):
            each = [ways(part) for part in parts]
            if prod(map(len, each)) > _MOST_WAYS:
                return (rule,)
            found = tuple(_join(chosen) for chosen in product(*each))
        case _:
            return (rule,)
    return found if len(found) <= _MOST_WAYS else (rule,)


def _join(parts: tuple[Rule, ...]) -> Rule:
    flat = tuple(one for part in parts for one in (part.parts if isinstance(part, And) else (part,)))
    return flat[0] if len(flat) == 1 else And(flat)


def enough_alone(rule: Rule, fields: Fields) -> dict[str, int]:
    """The columns of which each makes a match by itself, and the score that it reaches at the most: the
    records agree on it, and one of them, or both, has no other value that may be missing."""
    found = {column: reached_by(rule, {column}, fields) for column in agreed_columns(fields)}
    return {column: most for column, most in found.items() if most is not None}


def reached_by(rule: Rule, columns: Set[str], fields: Fields) -> int | None:
    """The score that records reach at the most which agree on these columns, if they match; one of them, or
    both, has no other value that may be missing."""
    unscored = _without_scores(rule)
    judges = [_judge(columns, lacking, fields) for lacking in ({Side.A}, {Side.B}, {*Side})]
    matching = [j for j in judges if may_hold(rule, j)[0] and not may_hold(unscored, j)[0]]
    reached = (
        sum(max(weights(each, j)) for each in of.comparisons) for of in scores_of(rule) for j in matching
    )
    return max(reached, default=None)


def _judge(columns: Set[str], lacking: set[Side], fields: Fields) -> Judge:
    """What holds of records that agree on the columns, and of which these lack all that may be lacking."""

    def is_there(name: str, side: Side) -> bool:
        read = not columns.isdisjoint(fields[name].columns(name))
        return read or side not in lacking or fields[name].missing != "differs"

    def judge(predicate: Predicate) -> tuple[bool, bool]:
        if isinstance(predicate, Missing):
            sides = Side if predicate.side is None else (predicate.side,)
            lacks = not all(is_there(predicate.field, side) for side in sides)
            return lacks, not lacks
        names = {name for side in Side for name in read_by(side, predicate)}
        # What is made of several columns is the same only where both lack the others.
        made = [{*fields[name].columns(name)} for name in names]
        agrees = all(each <= columns or (each & columns and len(lacking) == 2) for each in made)
        # Two fields of one column need not be equal.
        return agrees, not agrees or getattr(predicate, "crossed", False)

    return judge


def _without_scores(rule: Rule) -> Rule:
    return Or(()) if isinstance(rule, Score) else rebuild(rule, _without_scores)
