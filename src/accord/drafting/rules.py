"""The rule of a draft: a score, whatever its records are about.

No single field decides: names change, addresses move, dates are mistyped, shops describe a thing in their own
words. So every field adds what it tells. Weights and threshold are learnt for this very mix of fields from
records of nobody (made_up.py), for tables of the expected size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from accord.agreement.file import parse_agreement
from accord.drafting.answers import APART, Answers
from accord.drafting.fields import draft_fields
from accord.drafting.kinds import ColumnKind, Confirmed
from accord.drafting.made_up import Classes, Range, make_up, usual_class
from accord.exact import text
from accord.learning.drafts import rule_lines, score_of
from accord.learning.learn import Learnt, learn
from accord.rules.implied import reached_by
from accord.rules.merging import merge_levels
from accord.rules.rule import Level, Levels, Rule, Score, fields_of
from accord.rules.text import parse_rule
from accord.rules.thresholds import Fields

_SEED = 21
_OVERLAP = 0.3
"""The expected overlap, if the owner says none."""
_FEWEST = 500
"""A threshold for fewer records would be low, and of such tables little is known."""
_NAME = ("dice >= 1", "dice >= 0.75", "dice >= 0.5")
_TITLE = ("dice >= 0.9", "dice >= 0.75", "dice >= 0.6", "dice >= 0.5", "dice >= 0.4")
_CODE = ("dice >= 1", "dice >= 0.65")
_LEVELS = {
    ColumnKind.GIVEN: _NAME,
    ColumnKind.SURNAME: _NAME,
    ColumnKind.SURNAME_2: ("dice >= 0.7",),
    ColumnKind.MIDDLE: ("dice >= 0.9", "same(middle_initial)"),
    ColumnKind.NAME: ("dice >= 0.95", "dice >= 0.8", "dice >= 0.65", "dice >= 0.5"),
    ColumnKind.BIRTH: (
        "same",
        "same(birth_year) and (same(birth_month) or same(birth_day))"
        " or same(birth_month) and same(birth_day)",
        "same(birth_year)",
    ),
    ColumnKind.BIRTH_YEAR: ("same", "within 1", "within 3"),
    ColumnKind.SEX: ("same",),
    ColumnKind.STREET: ("dice >= 0.95", "dice >= 0.75", "dice >= 0.55"),
    ColumnKind.CITY: ("dice >= 0.95", "dice >= 0.6"),
    ColumnKind.POSTCODE: ("dice >= 1", "dice >= 0.5"),
    ColumnKind.PHONE: ("dice >= 1", "dice >= 0.65"),
    ColumnKind.EMAIL: ("dice >= 0.95", "dice >= 0.7"),
    ColumnKind.IDENTIFIER: _CODE,
    ColumnKind.CATEGORY: ("same",),
    ColumnKind.YESNO: ("same",),
    ColumnKind.DATE: ("same", "within {far} days", "within 31 days"),
    ColumnKind.YEAR: ("same", "within {far}"),
    ColumnKind.COMPANY: ("dice >= 0.95", "dice >= 0.8", "dice >= 0.65", "dice >= 0.5", "dice >= 0.4"),
    ColumnKind.TEXT: _TITLE,
    ColumnKind.PRICE: ("same", "within({name}_log, 0.01)", "within({name}_log, 0.1)"),
    ColumnKind.NUMBER: ("same", "within {far}", "within {far0}"),
    ColumnKind.LATITUDE: tuple(f"euclidean(latitude, longitude) <= {far}" for far in ("{far}", "{far0}")),
}
"""How a type is compared, the closest first; `far` is how far apart values may lie, far0 ten times that."""
_SWAPPED = "dice(given, surname) >= 0.7 and dice(surname, given) >= 0.7 and not dice(surname) >= 0.75 -> 1"
"""Two names in each other's columns: a surname that agrees as it stands adds nothing crosswise."""
_CALLED = frozenset(
    {ColumnKind.GIVEN, ColumnKind.MIDDLE, ColumnKind.SURNAME, ColumnKind.SURNAME_2, ColumnKind.NAME}
)
_ALONE = frozenset(
    {ColumnKind.IDENTIFIER, ColumnKind.PHONE, ColumnKind.EMAIL, ColumnKind.TEXT, ColumnKind.LATITUDE}
)
"""Types that may be enough for a match by themselves, where nearly each record has a value of its own."""


@dataclass(frozen=True)
class Drafted:
    """A rule in words, and what it is expected to find among records of nobody."""

    text: str
    precision: float = 1.0
    recall: float = 1.0


def draft_rule(answers: Answers) -> Drafted:
    """The rule for this mix of types."""
    fields = "\n".join(block.text for block in draft_fields(answers.fields, answers, ()))
    draft = f'version = 2\nsalt = "00000000"\nengine = "ot"\nrule = """{sketch_rule(answers).text}"""\n'
    draft += f'[parties]\nA = "one"\nB = "other"\n[protocol]\nname = "all-pairs"\ngreedy = false\n{fields}'
    made = answers.fields, answers.map_, answers.classes, answers.often_empty
    overlap = _OVERLAP if answers.overlap is None else answers.overlap
    found = _learn(draft, *made, max(_FEWEST, *answers.records), overlap, answers.precision)
    rule = _require_more(answers, found.agreement.fields, score_of(found.rule))
    return Drafted(rule_lines(rule), found.expected.precision, found.expected.recall)


@cache
def _learn(
    draft: str,
    fields: tuple[Confirmed, ...],
    map_: tuple[Range, Range],
    classes: Classes,
    often_empty: tuple[str, ...],
    records: int,
    overlap: float,
    precision: float | None,
) -> Learnt:
    agreed = parse_agreement(draft, "the draft")
    made = make_up(fields, map_, classes, often_empty)
    return learn(agreed, made_up=made, records=records, overlap=overlap, precision=precision, seed=_SEED)


def _require_more(answers: Answers, fields: Fields, score: Score) -> Rule:
    """The rule for a score: no field of few values is enough for a match, no birth date, and no name of a
    person."""
    columns = {name: {*fields[name].columns(name)} for name in fields_of(score)}
    scored = [one for one in answers.fields if any(one.name in each for each in columns.values())]
    if len(scored) < 2:
        return score
    for one in scored:
        declared = answers.cardinality.get(one.name, usual_class(one.kind))
        if one.kind not in _ALONE or declared != "unique":
            score = _keep_below(score, fields, {name for name, each in columns.items() if each == {one.name}})
    names = {one.name for one in scored if one.kind in _CALLED}
    if reached_by(score, names, fields) is None:
        return score
    return parse_rule(f"{score}{_known_besides(answers, scored)}")


def _keep_below(score: Score, fields: Fields, names: Set[str]) -> Score:
    """The score, which these fields by themselves do not reach: the largest weights are made smaller."""
    each = [*score.comparisons]
    places = [place for place, one in enumerate(each) if {*fields_of(Score((one,), 1))} <= names]
    while sum(max(each[place].weights) for place in places) >= score.least:
        place = max(places, key=lambda place: max(each[place].weights))
        most = max(each[place].weights) - 1
        levels = tuple(Level(level.when, min(level.weight, most)) for level in each[place].levels)
        each[place] = merge_levels(Levels(levels, each[place].otherwise), fields)
    return Score(tuple(each), score.least)


def _known_besides(answers: Answers, scored: Sequence[Confirmed]) -> str:
    """That something else than names is known of both records: many people have the same names."""
    others = [one.name for one in scored if one.kind not in _CALLED]
    if len(others) == len(scored) or any(answers.policy_of(name) != "differs" for name in others):
        return ""
    missing = " and ".join(f"missing({name})" for name in others)
    return f" and not ({missing})" if others else ""


def sketch_rule(answers: Answers) -> Drafted:
    """The same comparisons at once, with weights that nothing was learnt for."""
    lines = ";\n    ".join(_comparisons(answers))
    return Drafted(f"score(\n    {lines};\n) >= 1{_known_besides(answers, answers.fields)}")


def _comparisons(answers: Answers) -> Iterator[str]:
    for one in answers.fields:
        if one.kind is ColumnKind.LONGITUDE:
            continue
        yield _comparison(answers, one, _LEVELS[one.kind])
        if one.kind is ColumnKind.SURNAME and answers.named(ColumnKind.GIVEN):
            yield _SWAPPED
        if one.kind is ColumnKind.COMPANY:
            yield f"{one.name}_digits: same -> 1, missing -> 0"
        if one.kind is ColumnKind.TEXT and not answers.about_people and one.name == answers.title:
            yield _comparison(answers, Confirmed(one.kind, f"{one.name}_model"), _CODE)


def _comparison(answers: Answers, one: Confirmed, levels: tuple[str, ...]) -> str:
    far = Fraction(answers.within_of(one)) if one.kind in APART else Fraction(0)
    whens = [level.format(name=one.name, far=text(far), far0=text(10 * far)) for level in levels]
    whens += _missing(answers, one)
    held = ", ".join(f"{when} -> {0 if when.startswith('missing') else 1}" for when in dict.fromkeys(whens))
    return held if one.kind is ColumnKind.LATITUDE else f"{one.name}: {held}"


def _missing(answers: Answers, one: Confirmed) -> Iterator[str]:
    """The level for records without a value, where there may be any."""
    if one.kind is ColumnKind.LATITUDE:
        kinds = (ColumnKind.LATITUDE, ColumnKind.LONGITUDE)
        if lacking := [kind for kind in kinds if answers.policy_of(kind) == "differs"]:
            yield " or ".join(f"missing({kind})" for kind in lacking)
    elif answers.policy_of(one.name) == "differs":
        yield "missing"
