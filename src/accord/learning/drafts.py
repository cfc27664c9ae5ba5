"""The rule of a draft: the score whose weights are still to be learnt, and what was learnt in its place.

The learnt rule is written in the place of the draft's and of the comment right above it, which tells of the
old weights; so are passes and protocol, if others were chosen. Every other line of the draft stays as it is.
What is written follows from the weights, from the passes and from whose data they were learnt, and from
nothing else: no count, no share, no date. Two tables that give the same weights give the same bytes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import tomli_w
from pydantic import BaseModel

from accord.agreement.blocking_text import write_blocking
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.errors import AgreementError, UsageError
from accord.fields.schema import Bloom, DateField, FieldSpec, Letters, TextField
from accord.learning.patterns import Comparisons, Weights
from accord.rules.merging import merge_levels
from accord.rules.rule import (
    And,
    Edit,
    Level,
    Levels,
    Missing,
    OneField,
    Or,
    Rule,
    Same,
    Score,
    Similar,
    Within,
    join,
    predicates,
    read_by,
)
from accord.rules.text import RuleSyntaxError, parse_rule
from accord.rules.thresholds import Fields
from accord.side import Side
from accord.wording import did_you_mean

_AGREES, _DIFFERS = 6, -2
"""What equality and its contrary weigh in the usual comparisons, as long as nothing was learnt."""
_SIMILAR = (Fraction(1), Fraction(4, 5), Fraction(3, 5))
_FINE = (Fraction(1), Fraction(3, 4), Fraction(1, 2))
"""Similarities that labels may tell apart, where a draft has no level near them."""
_FAR = Fraction(1, 5)
_DAYS = Fraction(31)
_WIDTH = 110
_EDITS = (1, 2)
_HOW = (
    'Write rule = "score(...) >= 1" with the comparisons that you want and any weights, or name fields with '
    "`compare=`."
)
_STRING = (
    r'(?:"""(?:[^"\\]|\\[\s\S]|""?(?!"))*"""'
    r"|'''(?:[^']|''?(?!'))*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*')"
)
_RULE = re.compile(rf"^[ \t]*(?:rule|\"rule\"|'rule')[ \t]*=[ \t]*{_STRING}", re.M)
_ABOVE = re.compile(r"(?:^[ \t]*#[^\n]*\n)+\Z", re.M)
_ORIGIN = re.compile(rf"^[ \t]*learnt_from[ \t]*=[ \t]*{_STRING}[^\n]*\n", re.M)
_TABLE = re.compile(r"^(?:[ \t]*#[^\n]*\n)*[ \t]*\[\[?[^\]\n]+\]\]?[ \t]*(?:#[^\n]*)?$", re.M)
"""The head of a table, with the comment right above."""
_OF_PASSES = re.compile(r"^[ \t]*\[\[?(?:blocking|protocol)\b", re.M)
_PASSES = """\
# Chosen by `accord learn --passes`. Only records that share the key of a pass are compared, up to `cap` of a
# side. `learnt_from` says on whose data.
"""
_COMMENT = """\
# Learned by `accord learn`. A weight is a power of two: with one more, a pair is twice as likely a match.
# Weights are coarse on purpose; a pair matches if they add up to the number at the end. `learnt_from` says
# whose data they come from: nobody's (made-up records), public data, or a party's; (ε, δ) does not cover it.
"""


def score_of(rule: Rule) -> Score:
    """The one score in the top conjunction of a rule."""
    parts = rule.parts if isinstance(rule, And) else (rule,)
    scores = [part for part in parts if isinstance(part, Score)]
    if len(scores) != 1:
        found = "several scores" if scores else "no score"
        raise UsageError(problem=f"The draft's rule has {found} to learn weights for. {_HOW}")
    return scores[0]


def rest_of(rule: Rule) -> Rule:
    """What stands beside the score."""
    parts = rule.parts if isinstance(rule, And) else (rule,)
    return And(tuple(part for part in parts if not isinstance(part, Score)))


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
    levels = [Level(when, _AGREES - 2 * place) for place, when in enumerate(whens)]
    if spec.missing == "differs":
        levels.append(Level(Missing(name), 0))
    return Levels(tuple(levels), _DIFFERS)


def put_weights(comparisons: Comparisons, weights: Weights, least: int, fields: Fields) -> Score:
    """The score with these weights, without levels and comparisons that decide nothing."""
    found = []
    for each, given in zip(comparisons, weights, strict=True):
        if len(set(given)) > 1:
            levels = tuple(Level(level.when, one) for level, one in zip(each.levels, given, strict=False))
            found.append(merge_levels(Levels(levels, given[-1]), fields))
    return Score(tuple(found), least)


def refine(score: Score, fields: Fields) -> Score:
    """The score with more levels, of similarity and for missing values.

    Each weighs what the draft gives such a pair, so sums stay the same until pairs tell the levels apart.
    """
    finer = (_with_missing(_with_similar(each), fields) for each in score.comparisons)
    return replace(score, comparisons=tuple(finer))


def _with_similar(each: Levels) -> Levels:
    """Only of a comparison by one similarity, and of missing values."""
    whens = [level.when for level in each.levels]
    similar = [one for one in whens if isinstance(one, Similar)]
    others = [level for level in each.levels if isinstance(level.when, Missing)]
    if len({(one.measure, one.names) for one in similar}) != 1 or len(similar) + len(others) < len(whens):
        return each
    drafted = {one.bound: each.weights[whens.index(one)] for one in similar}
    finer = {bound for bound in _FINE if all(abs(bound - one) > _FAR for one in drafted)}
    levels = []
    for bound in sorted({*drafted, *finer}, reverse=True):
        reached = max((least for least in drafted if least <= bound), default=None)
        weight = each.otherwise if reached is None else drafted[reached]
        levels.append(Level(replace(similar[0], bound=bound), weight))
    return Levels((*levels, *others), each.otherwise)


def _with_missing(each: Levels, fields: Fields) -> Levels:
    """Only of a comparison whose levels all read the same columns."""
    found = [one for level in each.levels for one in predicates(level.when)]
    read = [read_by(side, one) for one in found for side in Side]
    columns = {tuple(column for name in names for column in fields[name].columns(name)) for names in read}
    lacking = [Missing(name) for name in read[0] if fields[name].missing == "differs"]
    if len(columns) > 1 or not lacking or any(isinstance(one, Missing) for one in found):
        return each
    return Levels((*each.levels, Level(join(Or, lacking), each.otherwise)), each.otherwise)


def rule_lines(rule: Rule) -> str:
    """The rule with each comparison of its score on a line of its own."""
    score = score_of(rule)
    parts = rule.parts if isinstance(rule, And) else (rule,)
    lines = " and ".join(_lines(score) if part is score else _bracketed(part) for part in parts)
    *comparisons, last = lines.split("\n")
    wrapped = textwrap.fill(
        last, _WIDTH, subsequent_indent=" " * 4, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join([*comparisons, wrapped])


def _bracketed(part: Rule) -> str:
    return f"({part})" if isinstance(part, Or) else str(part)


def _lines(score: Score) -> str:
    each = "\n".join(_wrapped(f"{_short(levels)};") for levels in score.comparisons)
    return f"score(\n{each}\n) >= {score.least}"


def _wrapped(comparison: str) -> str:
    """On lines that a page is wide enough for."""
    return textwrap.fill(
        comparison,
        _WIDTH,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _short(levels: Levels) -> str:
    """A comparison with its fields in front, where that says the same."""
    found = [one for level in levels.levels for one in predicates(level.when) if isinstance(one, OneField)]
    if not found:
        return str(levels)
    names = found[0].names
    short = str(levels).replace(f"({names})", "")
    short = f"{names}: " + re.sub(rf"within\({re.escape(names)}, ([^()]+)\)", r"within \1", short)
    try:
        read = parse_rule(f"score({short}) >= 1")
    except RuleSyntaxError:
        return str(levels)
    return short if isinstance(read, Score) and read.comparisons == (levels,) else str(levels)


def _put_passes(text: str, agreement: Agreement) -> str:
    """The text with the agreement's tables of blocking and protocol, if they differ, and its other fields."""
    try:
        draft = parse_agreement(text, "the draft")
    except AgreementError:
        # What it is not is told by whoever looks for its rule.
        return text
    if (draft.blocking, draft.protocol) == (agreement.blocking, agreement.protocol):
        return text
    more = {name: spec for name, spec in agreement.fields.items() if name not in draft.fields}
    starts = [found.start() for found in _TABLE.finditer(text)]
    tables = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    old = [bool(_OF_PASSES.search(table)) for table in tables]
    place = old.index(True) if any(old) else len(tables)
    dumped = {name: _plain(spec) for name, spec in more.items()}
    new = [
        tomli_w.dumps({"fields": dumped}).removeprefix("[fields]\n").lstrip() + "\n" if more else "",
        f"{_PASSES}{write_blocking(agreement)}\n",
        tomli_w.dumps({"protocol": _plain(agreement.protocol)}) + "\n",
    ]
    kept = [table for table, gone in zip(tables, old, strict=True) if not gone]
    return "".join([text[: starts[0]], *kept[:place], *new, *kept[place:]])


def _plain(spec: BaseModel) -> dict[str, Any]:
    return spec.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


def write_into(draft: str, agreement: Agreement) -> str:
    """The text of the draft with the agreement's rule in place of its own, and its passes, if they differ.

    *Requires* a draft that differs from the agreement in `rule` and `learnt_from`, or in blocking, protocol
    and fields of which keys are made as well.
    """
    bare = _ORIGIN.sub("", draft.replace("\r\n", "\n")).replace(_COMMENT, "")
    bare = _put_passes(bare, agreement)
    written = (
        f'{_COMMENT}learnt_from = "{agreement.learnt_from}"\nrule = """\n{rule_lines(agreement.rule)}\n"""'
    )
    for found in _RULE.finditer(bare):
        before = _ABOVE.sub("", bare[: found.start()])
        text = before + written + bare[found.end() :]
        # What looks like a rule may stand inside of another text: what is read back decides.
        try:
            if parse_agreement(text, "what was learnt") == agreement:
                return text
        except AgreementError:
            continue
    problem = (
        'The rule cannot be found in the draft\'s text. Write it as rule = "...", before the first [table].'
    )
    raise UsageError(problem=problem)
