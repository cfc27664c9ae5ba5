"""Which share of the comparisons Greedy Match & Clean leaves: it depends on the matches, so a range.

A pair is spared if one of its records matched before its turn. From counts alone: of the slots of a side a
share f belongs to records that match, and on average half of the pairs with one of them are still to come
when they do, 1 − (1 − (1 − f_A)(1 − f_B))/2 are made. At the least every record matches at once and what is
left are dummies against dummies; at the most nothing matches.
"""

from __future__ import annotations

from accord.planning.costs import Drawn
from accord.planning.figures import Range
from accord.planning.spread import Spread

ALL = Range(1.0, 1.0, 1.0)
"""Without greedy."""


def from_counts(drawn: Drawn, spread: Spread, sizes: tuple[int, int], overlap: float) -> Range:
    """The share of the comparisons that are made."""
    real = [
        min(1.0, float(true.sum()) / max(1, int(seen.sum())))
        for true, seen in zip(spread.counts, drawn.counts, strict=True)
    ]
    matching = overlap * min(sizes)
    some = [share * matching / max(1, size) for share, size in zip(real, sizes, strict=True)]
    touched = 1 - (1 - some[0]) * (1 - some[1])
    # However all match: a row of each side is compared before anything is known.
    least = max((1 - real[0]) * (1 - real[1]), max(sizes) / max(1, drawn.comparisons))
    return Range(min(1.0, least), 1 - touched / 2, 1.0)
