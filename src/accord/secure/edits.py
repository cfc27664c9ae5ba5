"""Whether few edits make two texts equal, as bits that depend on few others: what every engine computes.

A text a of at most n letters is a row of n elements, zeros behind its letters. Let D(i, j) be the edit
distance of a's first i elements and b's first j, and R(i, d, e) that D(i, i + d) ≤ e. Then, after Wagner and
Fischer (JACM'74), with only the diagonals |d| ≤ e of Ukkonen (Information and Control'85),

    R(i, d, e) = R(i−1, d, e) ∧ ([aᵢ = bᵢ₊ₔ] ∨ R(i−1, d, e−1) ∨ R(i−1, d+1, e−1) ∨ R(i, d−1, e−1))

since D never falls along a diagonal, and differs by at most 1 between cells that touch. Both |d| > e and
i, i + d ≤ e are known beforehand.

Lengths are secret, and cost nothing: where both prefixes hold all letters of their texts, zeros behind them
included, D is at least the distance of the texts (leave the zeros out of an edit script: each edit becomes
one edit or none), and on the diagonal d = |b| − |a| it is that distance (what both have behind can go). So

    at most t edits  =  ∨ over |d| ≤ t of R(n − max(d, 0), d, t), if the text cut there fits in n − |d|

and that a text is so short is known to its side: to A for d > 0, to B for d < 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
Known = dict[tuple[int, int, int], bool | T]
"""The bits R(i, d, e) that were made."""
Make = Callable[[int, int, T | None, tuple[T, ...]], T]
"""Called as (i, d, before, others): the bit before ∧ ([aᵢ = bᵢ₊ₔ] ∨ others), i from 1; no `before` is 1."""


def ends(length: int, bound: int, make: Make[T], known: Known[T]) -> dict[int, bool | T]:
    """For each diagonal d the bit R of its end; each bit that is needed is made once, after those it reads.

    Bits that are known, also of another bound, are not made again, and those that are made become known.
    """

    def reached(i: int, d: int, e: int) -> bool | T:
        if abs(d) > e:
            return False
        if max(i, i + d) <= e:
            return True
        if (i, d, e) not in known:
            known[i, d, e] = cell(i, d, e)
        return known[i, d, e]

    def cell(i: int, d: int, e: int) -> bool | T:
        before = reached(i - 1, d, e)
        others = [reached(i - 1, d, e - 1), reached(i - 1, d + 1, e - 1), reached(i, d - 1, e - 1)]
        if any(other is True for other in others):
            return True
        bits = tuple(other for other in others if not isinstance(other, bool))
        return make(i, d, None if isinstance(before, bool) else before, bits)

    return {d: reached(length - max(d, 0), d, bound) for d in range(-bound, bound + 1) if abs(d) <= length}
