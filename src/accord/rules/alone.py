"""Whether a single value that agrees is enough for a match: what a score may do where records are half empty.

A score that forgives missing values adds nothing for them, and takes nothing off. So the weight of one field
may reach the threshold by itself, where one of the records has nothing else. That follows from the weights,
not from any table. What a rule accepts without its scores is meant so, and not told.
"""

from __future__ import annotations

from accord.fields.schema import agreed_columns
from accord.rules.implied import Judge, may_hold, weights
from accord.rules.rule import Missing, Or, Predicate, Rarity, Rule, Score, read_by, rebuild, scores_of
from accord.rules.thresholds import Fields
from accord.side import Side


def enough_alone(rule: Rule, fields: Fields) -> dict[str, int]:
    """The columns of which each makes a match by itself, and the score that it reaches at the most: the
    records agree on it, and one of them, or both, has no other value that may be missing."""
    unscored, found = _without_scores(rule), {}
    for column in agreed_columns(fields):
        judges = [_judge(column, lacking, fields) for lacking in ({Side.A}, {Side.B}, {*Side})]
        matching = [j for j in judges if may_hold(rule, j)[0] and not may_hold(unscored, j)[0]]
        if matching:
            found[column] = max(_reached(score, j) for score in scores_of(rule) for j in matching)
    return found


def _judge(column: str, lacking: set[Side], fields: Fields) -> Judge:
    """What holds of records that agree on the column, and of which these lack all that may be lacking."""

    def is_there(name: str, side: Side) -> bool:
        read = column in fields[name].columns(name)
        return read or side not in lacking or fields[name].missing != "differs"

    def judge(predicate: Predicate) -> tuple[bool, bool]:
        if isinstance(predicate, Missing):
            sides = Side if predicate.side is None else (predicate.side,)
            lacks = not all(is_there(predicate.field, side) for side in sides)
            return lacks, not lacks
        names = {name for side in Side for name in read_by(side, predicate)}
        # What is made of several columns is the same only where both lack the others.
        made = [fields[name].columns(name) for name in names]
        agrees = all(each == (column,) or (column in each and len(lacking) == 2) for each in made)
        # Two fields of one column need not be equal, nor a value rare.
        sure = not (isinstance(predicate, Rarity) or getattr(predicate, "crossed", False))
        return agrees, not (agrees and sure)

    return judge


def _reached(score: Score, judge: Judge) -> int:
    return sum(max(weights(each, judge)) for each in score.comparisons)


def _without_scores(rule: Rule) -> Rule:
    return Or(()) if isinstance(rule, Score) else rebuild(rule, _without_scores)
