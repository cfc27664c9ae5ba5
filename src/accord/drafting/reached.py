"""Levels of a draft's rule that no pair reaches through its passes.

A level `within 3` decides nothing where every pass needs the same day: pairs with other days are never
compared. Such a level promises matches that cannot be found, and costs bytes for each pair. Passes are chosen
so that this is rare (passes.py). What is left of it is found here, among synthetic records.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.learning.drafts import score_of, with_score
from accord.planning.made_up import make_up_pairs
from accord.rules.evaluate import Tables, holds
from accord.rules.join import candidates
from accord.rules.merging import merge_levels
from accord.rules.rule import Levels, Rule

_FEWEST = 20
"""Synthetic matches at a level, from which on it should be reached."""
_STRAY = 0.02
"""Compared pairs at a level, as a share of its matches, that are strangers with the same key by chance."""

Rows = NDArray[np.int64]


def leave_out_unreached(agreed: Agreement) -> Rule:
    """The rule without the levels of which matches hold, but no pair that is compared."""
    made = make_up_pairs(agreed)
    if made is None or not agreed.passes or len(made[0]) != len(made[1]):
        return agreed.rule
    a, b = made
    tables, rows = Tables(agreed.fields, a.columns, b.columns), np.arange(len(a))
    batches = candidates(tables, (len(a), len(b)), agreed.plan)
    compared = np.concatenate([np.stack(batch) for batch in batches], axis=1)
    score = score_of(agreed.rule)
    kept = tuple(_reached(one, tables, rows, compared) for one in score.comparisons)
    return with_score(agreed.rule, replace(score, comparisons=kept))


def _reached(each: Levels, tables: Tables, rows: Rows, compared: Rows) -> Levels:
    counts = zip(_count(each, tables, rows, rows), _count(each, tables, *compared), strict=True)
    reached = [met > _STRAY * matches or matches < _FEWEST for matches, met in counts]
    if all(reached) or not any(reached):
        return each
    kept = tuple(level for level, met in zip(each.levels, reached, strict=True) if met)
    return merge_levels(replace(each, levels=kept), tables.fields)


def _count(each: Levels, tables: Tables, left: Rows, right: Rows) -> list[int]:
    """How many of the pairs each level decides."""
    counts, open_ = [], np.arange(len(left))
    for level in each.levels:
        held = holds(level.when, tables, left[open_], right[open_])
        counts.append(int(held.sum()))
        open_ = open_[~held]
    return counts
