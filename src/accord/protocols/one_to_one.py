"""One-to-one: of the pairs found both sides keep a set in which no record stands twice, best first.

It is computed when the matches are known, by each side for itself, from what both hold. The agreement says
what comes first:

    "pairs"   the first by id: the pairs and their ids are enough, so a match shows nothing for it
    "score"   the highest score. It takes the encoded fields of the rule, which every disclosed record
              brings along. The agreement names them all as disclosed (agreement/file_meaning.py), so a record
              tells no more than its owner agreed to; and they are sent encoded, not made again from the
              disclosed columns, because only their owner knows how a column writes its dates.

By score, a pair is worth the sum of the scores that the rule asks for in any case: of the rule itself, or of
the parts of its outermost conjunction. Where the thresholds are not above 0, scores count from there, so that
all are positive. `rules/assignment.py` says what the set is, and why both sides find the same;
the digest of the output compares them (confirm.py).

To choose, all pairs that were found are in memory, unlike in the rest of a run.

*Learns*: nothing beyond what was disclosed. Pairs that are dropped were disclosed all the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.fields.columns import Columns
from accord.protocols.base import Task
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.rules.assignment import alone, choose
from accord.rules.evaluate import Tables, holds, scores
from accord.rules.rule import And, Rule, Score
from accord.side import Side

Ints = NDArray[np.int64]
T = TypeVar("T")

_WORK_A_MATCH = 100
"""In the clear: to sort the output, to compare its digest and to write it."""
_WORK_TO_CHOOSE = 1000
"""The same for a pair that others may displace."""


def work_of(task: Task, pairs: int) -> int:
    """What is done in the clear with so many pairs that were found."""
    return pairs * (_WORK_A_MATCH + _WORK_TO_CHOOSE * bool(task.one_to_one))


def keep_best(task: Task, mine: OwnSide, outcome: Outcome) -> Outcome:
    """The outcome with the pairs that both keep."""
    if not task.one_to_one:
        return outcome
    pairs = outcome.pairs
    # Their places in the order of ids number the records.
    left, right = pairs.places(0, len(pairs))
    kept = alone(left, right)
    shared = np.flatnonzero(~kept)
    left, right = left[shared], right[shared]
    worth = np.ones(len(shared), np.int64)
    if task.chosen_by and len(shared):
        tables = Tables(task.fields, *_by_side(mine, mine.records.columns, outcome.partner_fields))
        rows = pairs.a[left].astype(np.int64), pairs.b[right].astype(np.int64)
        worth = _worth(task.rule, tables, *rows)
    kept[shared] = choose(left, right, worth)
    best = replace(pairs, keys=pairs.keys[kept])
    return replace(outcome, pairs=best, partner_fields={}, matches_found=len(pairs))


def require_matches(task: Task, mine: OwnSide, theirs: Columns, own: Ints, partner: Ints) -> None:
    """Raise unless the rule accepts every pair of own rows and the partner's records with these fields."""
    tables = Tables(task.fields, *_by_side(mine, mine.records.columns, theirs))
    if len(own) and not holds(task.rule, tables, *_by_side(mine, own, partner)).all():
        raise PeerError(problem="a match that the rule denies")


def _by_side(mine: OwnSide, own: T, partner: T) -> tuple[T, T]:
    """A's, then B's."""
    return (own, partner) if mine.side is Side.A else (partner, own)


def asked_scores(rule: Rule) -> list[Score]:
    """The scores that a rule asks for in any case."""
    return [part for part in (rule.parts if isinstance(rule, And) else (rule,)) if isinstance(part, Score)]


def _worth(rule: Rule, tables: Tables, left: Ints, right: Ints) -> Ints:
    """What each pair is worth: at least 1. *Requires* pairs that the rule accepts."""
    asked = asked_scores(rule)
    comparisons = tuple(each for score in asked for each in score.comparisons)
    return scores(comparisons, tables, left, right) + max(0, 1 - sum(score.least for score in asked))
