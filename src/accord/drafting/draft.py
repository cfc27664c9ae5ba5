"""A draft of an agreement, with comments, from confirmed types and answers: `draft_text`.

    confirmed types ─┬─ fields.py   how each is cleaned and encoded
       and answers   ├─ rules.py    what a match is
                     ├─ passes.py   which records may be compared
                     └─ how.py      which are, for the expected sizes

The text is a function of `Answers` and the salt, and of nothing else: two tables whose owners confirm the
same give the same draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.drafting.answers import Answers, count_of
from accord.drafting.fields import draft_fields, keep_used, quote
from accord.drafting.how import (
    settle_draft,
    settle_routed,
    times_as_many,
    write_all_pairs,
    write_count,
    write_expected,
    write_how,
    write_passes,
)
from accord.drafting.passes import choose_passes, keys_to_try
from accord.drafting.reached import leave_out_unreached
from accord.drafting.rules import Drafted, draft_rule, sketch_rule
from accord.errors import AgreementError, Fault
from accord.learning.drafts import rule_lines
from accord.planning.choose import tell_trade
from accord.planning.figures import Plan
from accord.planning.made_up import NO_SALT
from accord.protocols.base import OneToOne
from accord.rules.rule import fields_of
from accord.rules.text import parse_rule

_CONFIRMED = """\
# A draft of an agreement, by `accord init --from`. It follows from the types that the owner of a table
# confirmed for its columns, and from the owner's answers; from nothing else in the table: no cell, no count
# and no name of a column is in it.
"""
_GUESSED = """\
# A draft of an agreement, by `accord init --from`. It follows from the types of a table's columns and from
# its owner's answers. Some were taken as suggested by the table (`accord init --yes`): types with names out
# of Accord's public vocabulary, how many values a field has as a class, limits, copies. A suggestion reads
# names of columns and cells, so a single row can decide it. Nothing else from the table is in it: no cell, no
# count and no other name of a column. Answer all questions, and the draft follows from no cell.
"""
_HEAD = """\
# Both parties keep the same file; `accord check` explains it, and `accord plan` prices it.
version = 2

# Public. It spreads texts over hashes and filters; nothing rests on its secrecy.
salt = "{salt}"
"""
_LEARNT = """\
# A match is a pair of records whose weights add up to the threshold: each comparison, between two semicolons,
# adds the weight of the first level that holds. Weights and threshold were learned from made-up records with
# these fields, for tables of the expected size: among such records it finds {recall:.1%} of all pairs, and
# {precision:.1%} of what it finds is right. `accord learn` learns other weights, from data that you may show.
learnt_from = "nobody"
"""
_FIELDS = """\
# The agreed fields. Each party maps its own columns to these names outside this file. missing: "differs"
# (an empty cell agrees with nothing), "skip" (such a record is left out) or "error".
"""
_ONCE = """\
# No record stands in two pairs: both sides keep {kept}. A record that matched in a pass
# takes no part in later ones, so both see in which pass it did.
one_to_one = "{by}"
"""
_KEPT = {"score": "the best by score", "pairs": "the first by id"}
_MOST = """\
# The most of its records that each side shows, as a number or a share of its table: a run that would show
# more ends before it does, even if the partner lies about what matches. Here twice what was expected.
[most_matches]
A = {0}
B = {1}
"""


@dataclass(frozen=True)
class MorePasses:
    """A pass that a draft goes without: its key, what share all would bring together, and at how many times
    the comparisons."""

    key: str
    met: float
    times: float


@dataclass(frozen=True)
class MadeDraft:
    """The text, the agreement that it is, and what its owner should know of it."""

    text: str
    agreement: Agreement
    rule: Drafted
    met: float = 1.0
    """Of the pairs that the rule accepts, what share the passes bring together among records of nobody."""
    more: MorePasses | None = None
    """What one more pass would do."""
    covered: float | None = 1.0
    """The expected share of records for which the promise holds, the lower of both sides."""
    trade: str = ""
    """What routing gives up beside all pairs, and saves."""
    too_slow: bool = False
    """Whether no option keeps the time limit, which was ignored."""


def make_draft(answers: Answers, salt: str) -> MadeDraft:
    """The draft for these answers."""
    if answers.count_epsilon is not None:
        return _draft_count(answers, answers.count_epsilon, salt)
    rule = draft_rule(answers)
    # Chosen and settled under a salt that is always the same: no draft follows from its salt.
    tried = [key for keys in keys_to_try(answers) for key in keys]
    passes = choose_passes(answers, _parse(_text(answers, rule, write_all_pairs(), tried, NO_SALT)))
    if not passes.passes:
        text = _text(answers, rule, write_all_pairs(), (), salt)
        return MadeDraft(text, _parse(text), rule)
    longer = passes.with_more
    # With all fields that may be keys: routing has passes of its own.
    keys = list(dict.fromkeys([*longer.keys, *tried]))
    draft = _choose_once(answers, _parse(_text(answers, rule, write_passes(passes.text), keys, NO_SALT)))
    plan, too_slow = settle_draft(draft, answers.overlap, answers.max_time)
    settled = plan.choice.agreement
    once = settled.one_to_one if settled.protocol.cascades(settled.task) else False
    rule = _leave_out_unreached(rule, settled)
    text = _text(answers, rule, write_how(settled), [*settled.blocking_fields], salt, once)
    if not settled.protocol.lists_bins:
        return _made(text, rule, plan, too_slow)
    more = None
    if settled.passes and passes.more is not None:
        with_more = _parse(_text(answers, rule, write_passes(longer.text), longer.keys, NO_SALT))
        times = times_as_many(settled, with_more.passes[-1])
        more = MorePasses(passes.more.name, longer.recall, times)
    met = passes.recall if settled.passes else 1.0
    return MadeDraft(text, _parse(text), rule, met, more, too_slow=too_slow)


def _choose_once(answers: Answers, draft: Agreement) -> Agreement:
    """The draft with one-to-one pairs, if each table is about people and has one record of each."""
    if answers.copies != (1, 1) or not answers.about_people:
        return draft
    return draft.model_copy(update={"one_to_one": "pairs" if draft.task.unseen else "score"})


def _draft_count(answers: Answers, epsilon: str, salt: str) -> MadeDraft:
    """The draft of which only how many match comes out: routed, whatever the sizes."""
    rule, plain = draft_rule(answers), replace(answers, count_epsilon=None, overlap=None)
    tried = [key for keys in keys_to_try(plain) for key in keys]
    draft = _parse(_text(plain, rule, write_all_pairs(), tried, NO_SALT))
    passes = choose_passes(plain, draft)
    if passes.passes:
        # A place has cells, which routing takes from a blocking.
        keys = list(dict.fromkeys([*passes.keys, *tried]))
        draft = _parse(_text(plain, rule, write_passes(passes.text), keys, NO_SALT))
    found = settle_routed(draft, count_of(epsilon), answers.overlap, answers.max_time)
    if found is None:
        problem = "only records that share a key can be counted, and none of the fields can serve as one."
        mend = "Name more columns with `accord init --type`, or leave out `accord init --answer`."
        raise AgreementError("The draft", [Fault("`accord init --answer`", problem, mend)])
    plan, too_slow = found
    settled = plan.choice.agreement
    rule = _leave_out_unreached(rule, settled)
    text = _text(answers, rule, write_how(settled), [*settled.blocking_fields], salt)
    return _made(text, rule, plan, too_slow)


def _leave_out_unreached(rule: Drafted, settled: Agreement) -> Drafted:
    return replace(rule, text=rule_lines(leave_out_unreached(settled)))


def _made(text: str, rule: Drafted, plan: Plan, too_slow: bool) -> MadeDraft:
    """The draft of a routed agreement."""
    choice = plan.choice
    trade = tell_trade(plan.options, choice)
    return MadeDraft(
        text, _parse(text), rule, choice.recall or 0.0, covered=choice.covered, trade=trade, too_slow=too_slow
    )


def require_sound(answers: Answers) -> None:
    """Raise what would be wrong with the draft for these answers, before anything is learnt for it."""
    answers = replace(answers, count_epsilon=None)
    _parse(_text(answers, sketch_rule(answers), write_all_pairs(), (), NO_SALT))


def _parse(text: str) -> Agreement:
    return parse_agreement(text, "The draft")


def _text(
    answers: Answers,
    rule: Drafted,
    how: str,
    keys: Sequence[str],
    salt: str,
    once: OneToOne = False,
) -> str:
    blocks = draft_fields(answers.fields, answers, keys)
    used = [*fields_of(parse_rule(rule.text)), *keys, *answers.disclose]
    fields = "\n".join(block.text for block in keep_used(blocks, used))
    parts = [
        (_GUESSED if answers.as_guessed else _CONFIRMED) + _HEAD.format(salt=salt),
        f'{_LEARNT.format(recall=rule.recall, precision=rule.precision)}rule = """\n{rule.text}\n"""\n',
        *([_ONCE.format(kept=_KEPT[once], by=once)] if once else []),
        '# How records are compared without showing them.\nengine = "ot"\n',
        f'[parties]\nA = "{answers.parties[0]}"\nB = "{answers.parties[1]}"\n',
        write_expected(answers.records, answers.copies),
        f"{_FIELDS}{fields}",
        how,
        _ends(answers),
    ]
    if answers.overlap is not None and answers.overlap < 0.5 and answers.count_epsilon is None:
        parts.append(_MOST.format(*_most_shown(answers, answers.overlap)))
    return "\n".join(parts)


def _ends(answers: Answers) -> str:
    """What comes out."""
    if answers.count_epsilon is not None:
        return write_count(answers.count_epsilon)
    return (
        "# What each side shows of a record that matches; its id is always shown.\n"
        f"[disclose]\nA = {quote(answers.disclose)}\nB = {quote(answers.disclose)}\n"
    )


def _most_shown(answers: Answers, overlap: float) -> list[str]:
    """Twice what is expected of the smaller table, as a share of each; of a far larger one as a number."""
    most = 2 * overlap * min(answers.records)
    shares = [most / size for size in answers.records]
    return [f'"{ceil(100 * share)}%"' if share >= 0.1 else str(ceil(most)) for share in shares]
