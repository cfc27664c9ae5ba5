"""Whether a rule makes sense for the agreed fields: all its faults, each with its mend."""

from __future__ import annotations

from collections.abc import Iterator

from accord.exact import text
from accord.fields.schema import (
    Bloom,
    DateField,
    FieldSpec,
    Letters,
    NumberField,
    TextField,
)
from accord.rules.implied import implies
from accord.rules.rule import (
    Edit,
    Euclidean,
    Hamming,
    Mismatches,
    Missing,
    OneField,
    Predicate,
    Rule,
    Same,
    Score,
    Similar,
    Within,
    fields_of,
    predicates,
    scores_of,
)
from accord.rules.thresholds import Fields, step_of
from accord.wording import nearest

_FINEST_SIMILARITY = 10_000
MOST_LETTERS = 2_048
"""A partner may have written the rule, and every such pair is a step for each pair of records."""
MOST_EDITS = 3
_ENCODING = {
    "text": ("encoder",),
    "number": ("min", "max", "step"),
    "latitude": ("min", "max", "step"),
    "longitude": ("min", "max", "step"),
    "date": ("min", "max"),
    "category": ("values", "other"),
}
"""What decides how a value of each type becomes a code."""


def rule_faults(rule: Rule, fields: Fields, ignore: frozenset[str] = frozenset()) -> list[str]:
    """Everything wrong with the rule; predicates on fields in `ignore` are passed over."""
    faults: dict[str, None] = {}
    for predicate in predicates(rule):
        names = fields_of(predicate)
        unknown = [name for name in names if name not in fields and name not in ignore]
        faults.update({_unknown(name, fields): None for name in unknown})
        if not unknown and not ignore.intersection(names):
            faults.update({f"'{predicate}': {fault}": None for fault in _faults(predicate, fields)})
    faults.update({fault: None for score in scores_of(rule) for fault in _score_faults(score)})
    faults.update({fault: None for fault in _too_many_letters(rule, fields)})
    return list(faults)


def _too_many_letters(rule: Rule, fields: Fields) -> Iterator[str]:
    """Each letter of one text is held against those of the other that few edits may move to its place."""
    widest: dict[tuple[str, str], int] = {}
    for one in predicates(rule):
        spec = fields.get(one.field) if isinstance(one, Edit) else None
        if isinstance(one, Edit) and isinstance(spec, TextField) and isinstance(spec.encoder, Letters):
            pair, cells = (one.field, one.field_b), spec.encoder.length * (2 * min(one.bound, 3) + 1)
            widest[pair] = max(widest.get(pair, 0), cells)
    if sum(widest.values()) > MOST_LETTERS:
        problem = f"edit() compares {sum(widest.values()):,} pairs of letters"
        yield f"{problem}, but at most {MOST_LETTERS:,} are allowed; count edits of fewer or shorter fields."


def _score_faults(score: Score) -> Iterator[str]:
    """Levels that no pair gets to, and thresholds that decide nothing."""
    for number, each in enumerate(score.comparisons, 1):
        for place, level in enumerate(each.levels):
            over = [one.when for one in each.levels[:place] if implies(level.when, one.when)]
            if over:
                problem = f"'{level.when}' in comparison {number} of the score can never count"
                mend = "write the stricter level first"
                yield f"{problem}: wherever it holds, '{over[0]}' before it holds, too; {mend}."
        if len(set(each.weights)) == 1:
            problem = f"all levels of comparison {number} of the score, '{each}', weigh the same"
            yield f"{problem}; leave it out, or give them different weights."
    if score.least > score.highest:
        problem = f"no pair can reach a score of {score.least}: the largest weights add up to {score.highest}"
        yield f"{problem}; write a smaller threshold."
    if score.least <= score.lowest:
        problem = (
            f"every pair reaches a score of {score.least}: the smallest weights add up to {score.lowest}"
        )
        yield f"{problem}; write a larger threshold."


def _unknown(name: str, fields: Fields) -> str:
    close = nearest(name, fields)
    hint = f"did you mean '{close}'?" if close else f"declare it under [fields.{name}]."
    return f"'{name}' is not an agreed field; {hint}"


def _faults(predicate: Predicate, fields: Fields) -> Iterator[str]:
    if isinstance(predicate, OneField) and predicate.crossed:
        yield from _crossed_faults(predicate, fields)
    match predicate:
        case Same():
            yield from _same_faults(predicate, fields[predicate.field])
        case Hamming() | Similar():
            yield from _filter_faults(predicate, fields[predicate.field])
        case Edit() | Mismatches():
            yield from _letters_faults(predicate, fields[predicate.field])
        case Within(field, _, days):
            yield from _within_faults(fields[field], days)
        case Euclidean(names):
            yield from _euclidean_faults(names, fields)
        case Missing(field):
            yield from _missing_faults(field, fields[field])


def _same_faults(predicate: Same, spec: FieldSpec) -> Iterator[str]:
    if _filter(spec):
        problem = 'a Bloom filter is not the text itself; same() needs encoder = "hash"'
        yield f"{problem}. For equal filters write dice({predicate.names}) >= 1."


def _crossed_faults(predicate: OneField, fields: Fields) -> Iterator[str]:
    """Codes and bits of two fields can be compared only if both are made in one and the same way."""
    of_a, of_b = predicate.field, predicate.field_b
    a, b = fields[of_a], fields[of_b]
    if a.type != b.type:
        yield f"{of_a} is a {a.type} and {of_b} a {b.type}; fields that are compared need the same type."
        return
    unlike = [option for option in _ENCODING[a.type] if getattr(a, option) != getattr(b, option)]
    if unlike:
        problem = f"{of_a} and {of_b} are encoded in different ways"
        yield f"{problem}; write the same {' and '.join(unlike)} under [fields.{of_a}] and [fields.{of_b}]."


def _missing_faults(field: str, spec: FieldSpec) -> Iterator[str]:
    if spec.missing != "differs":
        means = "is an error" if spec.missing == "error" else "leaves its record out"
        problem = f"this can never hold, since an empty {field} {means}"
        yield f'{problem}; write missing = "differs" under [fields.{field}].'


def _filter(spec: FieldSpec) -> Bloom | None:
    return spec.encoder if isinstance(spec, TextField) and isinstance(spec.encoder, Bloom) else None


def _filter_faults(predicate: Hamming | Similar, spec: FieldSpec) -> Iterator[str]:
    word, encoder = "hamming" if isinstance(predicate, Hamming) else predicate.measure, _filter(spec)
    if not encoder:
        yield f'{word}() needs a text field with encoder = "paper" or a table with kind = "bloom".'
    match predicate:
        case Hamming(_, bound):
            if encoder and not 0 <= bound < encoder.bits:
                yield f"the threshold must be from 0 to {encoder.bits - 1}, below the filter's bits."
        case Similar(_, _, bound):
            if not 0 < bound <= 1:
                yield "a similarity is above 0 and at most 1."
            elif _FINEST_SIMILARITY % bound.denominator:
                yield "a similarity takes at most four decimals."


def _letters_faults(predicate: Edit | Mismatches, spec: FieldSpec) -> Iterator[str]:
    word = "edit" if isinstance(predicate, Edit) else "mismatches"
    if not isinstance(spec, TextField) or not isinstance(spec.encoder, Letters):
        yield f'{word}() needs a text field with encoder = {{ kind = "letters", length = 12 }}.'
    elif word == "edit" and predicate.bound > MOST_EDITS:
        yield f"edit() takes a threshold of at most {MOST_EDITS}; for more, take dice() of a Bloom filter."
    elif not 0 <= predicate.bound < spec.encoder.length:
        yield f"the threshold must be from 0 to {spec.encoder.length - 1}, below the length of the field."


def _within_faults(spec: FieldSpec, days: bool) -> Iterator[str]:
    if isinstance(spec, DateField) and not days:
        yield "the field holds dates: write the amount in days, such as 2 days."
    elif isinstance(spec, NumberField) and days:
        yield "the field holds numbers: leave out the word days."
    elif not isinstance(spec, DateField | NumberField):
        yield "within() needs a field of numbers or dates."


def _euclidean_faults(names: tuple[str, ...], fields: Fields) -> Iterator[str]:
    if len(set(names)) < len(names):
        yield "a field is named twice."
    if not all(isinstance(fields[name], NumberField) for name in names):
        yield "euclidean() needs fields of numbers, latitudes or longitudes."
        return
    if len({step_of(fields[name]) for name in names}) > 1:
        steps = ", ".join(f"{name} {text(step_of(fields[name]))}" for name in names)
        yield f"the fields need the same step (now: {steps})."
    if sum(spec.high**2 for name in names if isinstance(spec := fields[name], NumberField)) >= 2**60:
        yield "the range of the fields holds too many steps; take a larger step or a smaller range."
