"""The rule of a draft: for people a score, for all else what must agree.

Of people no single field decides: names change, addresses move, dates are mistyped. Their weights and the
threshold are learnt for this very mix of fields from made-up people, who are nobody's, for tables of the
expected size. Other things match where all that tells them apart agrees, or a number that both sides know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from accord.agreement.file import parse_agreement
from accord.drafting.answers import Answers
from accord.drafting.fields import draft_fields
from accord.drafting.kinds import ColumnKind, Confirmed
from accord.learning.drafts import rule_lines
from accord.learning.learn import learn

_SEED = 21
_KNOWN = 10
"""What a number that both know weighs: made-up people have none to learn from."""
_COMPARED = {
    ColumnKind.GIVEN: "given: dice >= 0.75 -> 1, dice >= 0.5 -> 1{missing}",
    ColumnKind.SURNAME: "surname: dice >= 0.75 -> 1, dice >= 0.5 -> 1{missing}",
    ColumnKind.MIDDLE: "middle: dice >= 0.6 -> 1{missing}",
    ColumnKind.NAME: "name: dice >= 0.8 -> 1, dice >= 0.6 -> 1{missing}",
    ColumnKind.BIRTH: "birth: same -> 1, same(birth_year) or same(birth_day) -> 1{missing}",
    ColumnKind.BIRTH_YEAR: "birth_year: same -> 1{missing}",
    ColumnKind.SEX: "sex: same -> 1{missing}",
    ColumnKind.STREET: "street: dice >= 0.75 -> 1{missing}",
    ColumnKind.CITY: "city: dice >= 0.75 -> 1{missing}",
    ColumnKind.POSTCODE: "postcode: same -> 1{missing}",
    ColumnKind.PHONE: "phone: same -> 1{missing}",
    ColumnKind.EMAIL: "email: same -> 1{missing}",
}
_SWAPPED = "dice(given, surname) >= 0.5 and dice(surname, given) >= 0.5 -> 1"
_RARE = (
    "surname: dice >= 0.75 and rarity(surname_rarity) >= 1 -> 1, dice >= 0.75 -> 1, dice >= 0.5 -> 1{missing}"
)


@dataclass(frozen=True)
class Drafted:
    """A rule in words, and what of it was learnt."""

    text: str
    learnt: bool = False
    precision: float = 1.0
    recall: float = 1.0
    """Expected, of made-up people."""


def draft_rule(answers: Answers) -> Drafted:
    """The rule for this mix of types."""
    if not answers.about_people:
        return Drafted(_agreeing(answers))
    found = _learn(*_people(answers), answers.rarity, max(answers.records))
    return replace(found, text=_with_known(found.text, answers))


def sketch_rule(answers: Answers) -> Drafted:
    """The same comparisons at once, with weights that nothing was learnt for."""
    if not answers.about_people:
        return draft_rule(answers)
    return Drafted(_with_known(_unweighed(*_people(answers), answers.rarity), answers))


def _people(answers: Answers) -> tuple[tuple[ColumnKind, ...], tuple[ColumnKind, ...]]:
    """The types that are weighed, and those of them that no record lacks."""
    kinds = tuple(one.kind for one in answers.fields if one.kind in _COMPARED)
    return kinds, tuple(kind for kind in kinds if answers.policy_of(kind) != "differs")


def _with_known(text: str, answers: Answers) -> str:
    known = "".join(f"\n    {name}: same -> {_KNOWN};" for name in answers.named(ColumnKind.IDENTIFIER))
    head, end, least = text.rpartition("\n)")
    return f"{head}{known}{end}{least}"


def compared(answers: Answers) -> list[Confirmed]:
    """The fields that a rule for this mix looks at."""
    if not answers.about_people:
        return list(answers.fields)
    return [one for one in answers.fields if one.kind in _COMPARED or one.kind is ColumnKind.IDENTIFIER]


@cache
def _learn(
    kinds: tuple[ColumnKind, ...], strict: tuple[ColumnKind, ...], rarity: bool, records: int
) -> Drafted:
    """The score of these fields, its weights learnt from made-up people."""
    answers = Answers(tuple(Confirmed(kind, kind.value) for kind in kinds), (records, records), rarity=rarity)
    fields = "\n".join(block.text for block in draft_fields(answers.fields, answers, ()))
    # Made-up people have no column with their whole name.
    fields = fields.replace("[fields.name]\n", '[fields.name]\nfrom = ["given", "surname"]\n')
    year = '[fields.birth_year]\nfrom = "birth"\nderive = "year"\n'
    if ColumnKind.BIRTH not in kinds:
        fields = fields.replace("[fields.birth_year]\n", year)
    rule = _unweighed(kinds, strict, rarity)
    draft = f'version = 1\nsalt = "00000000"\nengine = "ot"\nrule = """{rule}"""\n'
    draft += f'[parties]\nA = "one"\nB = "other"\n[protocol]\nname = "all-pairs"\ngreedy = false\n{fields}'
    found = learn(parse_agreement(draft, "the draft"), records=records, seed=_SEED)
    return Drafted(rule_lines(found.rule), True, found.expected.precision, found.expected.recall)


def _unweighed(kinds: tuple[ColumnKind, ...], strict: tuple[ColumnKind, ...], rarity: bool) -> str:
    lines = ";\n    ".join(_comparisons(kinds, strict, rarity))
    return f"score(\n    {lines};\n) >= 1"


def _comparisons(
    kinds: tuple[ColumnKind, ...], strict: tuple[ColumnKind, ...], rarity: bool
) -> Iterator[str]:
    for kind in kinds:
        text = _RARE if rarity and kind is ColumnKind.SURNAME else _COMPARED[kind]
        yield text.format(missing="" if kind in strict else ", missing -> 0")
        if kind is ColumnKind.SURNAME and ColumnKind.GIVEN in kinds:
            yield _SWAPPED


def _agreeing(answers: Answers) -> str:
    """All that tells things apart agrees; or a number that both sides know."""
    numbers = [f"same({name})" for name in answers.named(ColumnKind.IDENTIFIER)]
    others = [*_agreements(answers)]
    if not others:
        return " or ".join(numbers)
    return " or ".join([*numbers, " and ".join(others)])


def _agreements(answers: Answers) -> Iterator[str]:
    for one in compared(answers):
        match one.kind:
            case (
                ColumnKind.TEXT
                | ColumnKind.STREET
                | ColumnKind.CITY
                | ColumnKind.MIDDLE
                | ColumnKind.SURNAME_2
            ):
                yield f"dice({one.name}) >= 0.75"
            case ColumnKind.DATE | ColumnKind.PRICE | ColumnKind.YEAR | ColumnKind.NUMBER:
                far = answers.within_of(one)
                yield f"same({one.name})" if far == "0" else f"within({one.name}, {far})"
            case ColumnKind.LATITUDE:
                yield f"euclidean(latitude, longitude) <= {answers.within_of(one)}"
            case ColumnKind.IDENTIFIER | ColumnKind.LONGITUDE:
                continue
            case _:
                yield f"same({one.name})"
