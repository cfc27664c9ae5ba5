"""A draft of an agreement, with comments, from confirmed types and answers: `draft_text`.

    confirmed types ─┬─ fields.py   how each is cleaned and encoded
       and answers   ├─ rules.py    what a match is
                     └─ passes.py   which records are compared

The text is a function of `Answers` and the salt, and of nothing else: two tables whose owners confirm the
same give the same draft.
"""

from __future__ import annotations

from dataclasses import dataclass

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.drafting.answers import Answers
from accord.drafting.fields import draft_fields, quote
from accord.drafting.passes import Passes, draft_passes, fit_passes, keys_of
from accord.drafting.rules import Drafted, compared, draft_rule, sketch_rule

EPSILON, DELTA = "1.6", "2^-40"
_CONFIRMED = """\
# A draft of an agreement, by `accord init --from`. It follows from the types that the owner of a table
# confirmed for its columns, and from the owner's answers; from nothing else in the table: no cell, no count
# and no name of a column is in it.
"""
_GUESSED = """\
# A draft of an agreement, by `accord init --from`. It follows from the types of a table's columns and from
# its owner's answers. Types were taken as guessed (`accord init --yes`): a guess reads names of columns and
# cells, so a single row can decide a type. Nothing else from the table is in it: no cell, no count and no
# name of a column.
# Only a draft for which each column was named with `accord init --type` follows from no cell.
"""
_HEAD = """\
# Both parties keep the same file; `accord check` explains it, and `accord plan` prices it.
version = 1

# Public. It spreads texts over hashes and filters; nothing rests on its secrecy.
salt = "{salt}"
"""
_LEARNT = """\
# A match is a pair of records whose weights add up to the threshold: each comparison, between two semicolons,
# adds the weight of the first level that holds. Weights and threshold were learned from made-up people with
# these fields, for tables of the expected size: among such people it finds {recall:.1%} of all pairs, and
# {precision:.1%} of what it finds is right. `accord learn` learns other weights, from data that you may show.
learnt_from = "nobody"
"""
_AGREEING = """\
# A match is a pair of records for which this holds. `accord simulate` tries it on tables that you may see.
"""
_FIELDS = """\
# The agreed fields. Each party maps its own columns to these names outside this file. missing: "differs"
# (an empty cell agrees with nothing), "skip" (such a record is left out) or "error".
"""
_PASSES = """\
# Only records that meet in a bin of some pass are compared. The bins are public: hashes of what records hold,
# as many as cost the least for the expected sizes.
"""
_LAPLACE = f"""\
# The Laplace Protocol: each side adds dummies, so that its bins tell little about any record that matches
# nothing. A smaller epsilon protects more and costs more comparisons. One epsilon covers all passes.
[protocol]
name = "laplace"
sort = true
prune = 0              # stop at this percentile of the bins' noisy sizes; 0 compares everything
greedy = false         # true saves comparisons, and shows all the rule's fields of records that match

[protocol.A]
epsilon = {EPSILON}
delta = "{DELTA}"
noise = "auto"         # whichever needs fewer dummies

[protocol.B]
epsilon = {EPSILON}
delta = "{DELTA}"
noise = "auto"
"""
_ALL_PAIRS = """\
# Every record is compared with every record, which reveals nothing about records that match nothing (ε = 0).
# {why}
[protocol]
name = "all-pairs"
greedy = false         # true saves comparisons, and shows all the rule's fields of records that match
"""
_MOST = """\
# The most of its records that each side shows, as a number or a share of its table: a run that would show
# more ends before it does, even if the partner lies about what matches. Take what you expect, and a little
# more.
[most_matches]
A = "60%"
B = "60%"
"""
_CHEAPER = "For tables of these sizes a blocking would save little; for much larger ones draft again."
_NO_KEY = "None of the fields can serve as a key that would save comparisons."


@dataclass(frozen=True)
class Draft:
    """The text, the agreement that it is, and what its owner should know of it."""

    text: str
    agreement: Agreement
    rule: Drafted
    unused: tuple[str, ...]
    """Fields that a rule for this mix does not compare."""


def make_draft(answers: Answers, salt: str) -> Draft:
    """The draft for these answers."""
    rule = draft_rule(answers)
    # Bins are fitted under a salt that is always the same: no draft follows from its salt.
    passes = fit_passes(
        draft_passes(answers), answers.records, lambda tried: _parse(_text(answers, rule, tried, "00000000"))
    )
    text = _text(answers, rule, passes, salt)
    used = {one.name for one in compared(answers)}
    return Draft(text, _parse(text), rule, tuple(one.name for one in answers.fields if one.name not in used))


def require_sound(answers: Answers) -> None:
    """Raise what would be wrong with the draft for these answers, before anything is learnt for it."""
    _parse(_text(answers, sketch_rule(answers), (), "00000000"))


def _parse(text: str) -> Agreement:
    return parse_agreement(text, "The draft")


def _text(answers: Answers, rule: Drafted, passes: Passes, salt: str) -> str:
    fields = "\n".join(block.text for block in draft_fields(compared(answers), answers, keys_of(passes)))
    parts = [
        (_GUESSED if answers.as_guessed else _CONFIRMED) + _HEAD.format(salt=salt),
        f'{_tell_rule(rule)}rule = """\n{rule.text}\n"""\n',
        '# How records are compared without showing them.\nengine = "ot"\n',
        f'[parties]\nA = "{answers.parties[0]}"\nB = "{answers.parties[1]}"\n',
        f"# How many records each side expects to have: for prices that both see.\n[expected]\n"
        f"A = {answers.records[0]}\nB = {answers.records[1]}\n",
        f"{_FIELDS}{fields}",
        *([_PASSES + "\n".join(one.text for one in passes), _LAPLACE] if passes else [_all_pairs(answers)]),
        "# What each side shows of a record that matches; its id is always shown.\n"
        f"[disclose]\nA = {quote(answers.disclose)}\nB = {quote(answers.disclose)}\n",
        _MOST,
    ]
    return "\n".join(parts)


def _tell_rule(rule: Drafted) -> str:
    return _LEARNT.format(recall=rule.recall, precision=rule.precision) if rule.learnt else _AGREEING


def _all_pairs(answers: Answers) -> str:
    return _ALL_PAIRS.format(why=_CHEAPER if draft_passes(answers) else _NO_KEY)
