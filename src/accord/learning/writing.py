"""A learnt rule as text, in the place of the draft's and of the comment right above it, which tells of the
old weights; every other line of the draft stays as it is.

What is written follows from the weights and from whose data they were learnt, and from nothing else: no
count, no share, no date. Two tables that give the same weights give the same bytes.
"""

from __future__ import annotations

import re

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.errors import AgreementError, UsageError
from accord.learning.drafts import score_of
from accord.rules.rule import And, Levels, OneField, Or, Rule, Score, predicates
from accord.rules.text import RuleSyntaxError, parse_rule

_STRING = (
    r'(?:"""(?:[^"\\]|\\[\s\S]|""?(?!"))*"""'
    r"|'''(?:[^']|''?(?!'))*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*')"
)
_RULE = re.compile(rf"^[ \t]*(?:rule|\"rule\"|'rule')[ \t]*=[ \t]*{_STRING}", re.M)
_ABOVE = re.compile(r"(?:^[ \t]*#[^\n]*\n)+\Z", re.M)
_ORIGIN = re.compile(rf"^[ \t]*learnt_from[ \t]*=[ \t]*{_STRING}[^\n]*\n", re.M)
_COMMENT = """\
# Learned by `accord learn`. A weight is a power of two: with one more, a pair is twice as likely a match.
# Weights are coarse on purpose; a pair matches if they add up to the number at the end. `learnt_from` says
# whose data they come from: nobody's (made-up records), public data, or a party's; (ε, δ) does not cover it.
"""


def rule_lines(rule: Rule) -> str:
    """The rule with each comparison of its score on a line of its own."""
    score = score_of(rule)
    parts = rule.parts if isinstance(rule, And) else (rule,)
    return " and ".join(_lines(score) if part is score else _bracketed(part) for part in parts)


def _bracketed(part: Rule) -> str:
    return f"({part})" if isinstance(part, Or) else str(part)


def _lines(score: Score) -> str:
    each = "".join(f"    {_short(levels)};\n" for levels in score.comparisons)
    return f"score(\n{each}) >= {score.least}"


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


def write_into(draft: str, agreement: Agreement) -> str:
    """The text of the draft with the agreement's rule in place of its own.

    *Requires* a draft that differs from the agreement in `rule` and `learnt_from` only.
    """
    bare = _ORIGIN.sub("", draft.replace("\r\n", "\n")).replace(_COMMENT, "")
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
