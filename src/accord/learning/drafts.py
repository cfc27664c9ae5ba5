"""The score of a draft: what is compared, with weights that are still to be learnt."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from accord.errors import UsageError
from accord.fields.schema import Bloom, DateField, FieldSpec, Letters, TextField
from accord.learning.patterns import Comparisons, Weights
from accord.rules.rule import (
    And,
    Edit,
    Level,
    Levels,
    Missing,
    Rule,
    Same,
    Score,
    Similar,
    Within,
    join,
)
from accord.rules.thresholds import Fields
from accord.wording import did_you_mean

_SIMILAR = (Fraction(1), Fraction(4, 5), Fraction(3, 5))
_DAYS = Fraction(31)
_EDITS = (1, 2)
_HOW = (
    'Write rule = "score(...) >= 1" with the comparisons that you want and any weights, or name fields with '
    "`compare=`."
)


def score_of(rule: Rule) -> Score:
    """The one score in the top conjunction of a rule."""
    parts = rule.parts if isinstance(rule, And) else (rule,)
    scores = [part for part in parts if isinstance(part, Score)]
    if len(scores) != 1:
        found = "several scores" if scores else "no score"
        raise UsageError(problem=f"The draft's rule has {found} to learn weights for. {_HOW}")
    return scores[0]


def with_score(rule: Rule, score: Score) -> Rule:
    """The rule with another score in the place of its own."""
    parts = rule.parts if isinstance(rule, And) else (rule,)
    return join(And, [score if isinstance(part, Score) else part for part in parts])


def compare_fields(names: Sequence[str], fields: Fields) -> Score:
    """A score of the usual comparisons of some fields."""
    unknown = [name for name in names if name not in fields]
    if unknown:
        mends = " ".join(
            f"'{name}' is not a field of the draft. {did_you_mean(name, fields, 'Declare it first.')}"
            for name in unknown
        )
        raise UsageError(problem=mends)
    return Score(tuple(_usual(name, fields[name]) for name in dict.fromkeys(names)), 1)


def _usual(name: str, spec: FieldSpec) -> Levels:
    whens: list[Rule] = [Same(name)]
    if isinstance(spec, TextField) and isinstance(spec.encoder, Bloom):
        whens = [Similar("dice", name, bound) for bound in _SIMILAR]
    elif isinstance(spec, TextField) and isinstance(spec.encoder, Letters):
        whens += [Edit(name, bound) for bound in _EDITS if bound < spec.encoder.length]
    elif isinstance(spec, DateField):
        whens.append(Within(name, _DAYS, True))
    if spec.missing == "differs":
        whens.append(Missing(name))
    return Levels(tuple(Level(when, 0) for when in whens), 0)


def weighed(comparisons: Comparisons, weights: Weights, least: int) -> Score:
    """The score with these weights, without comparisons that decide nothing."""
    found = []
    for each, given in zip(comparisons, weights, strict=True):
        if len(set(given)) > 1:
            levels = zip(each.levels, given, strict=False)
            found.append(Levels(tuple(Level(level.when, one) for level, one in levels), given[-1]))
    return Score(tuple(found), least)
