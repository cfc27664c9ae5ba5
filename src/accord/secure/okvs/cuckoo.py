"""A table in which each query has a bin of its own: cuckoo hashing with three hashes and no stash.

Each of n queries may stand in one of three bins of m, distinct and uniform (the cells of `rows.py`), and gets
one that no other query has. By Hall's theorem this can be done unless r queries have fewer than r bins among
them; take the least such set. Then each of its bins is a bin of two of its queries at the least, since one
that is not could be left out together with its query. So there are r − 1 bins that have all bins of r
queries, each of them twice or more, and the expected number of such sets is at most the lesser of

    C(n, r)·C(m, r − 1)·(C(r − 1, 3)/C(m, 3))ʳ
    C(n, r)·C(m, r − 1)·(3r)!·(m·(m − 1)·(m − 2))⁻ʳ·(eˣ − 1 − x)ʳ⁻¹/x³ʳ      for every x > 0

The second counts the ways to throw 3r balls into r − 1 bins, two or more into each, by a bound on the
coefficient of x³ʳ of their generating function. With m = 1.3·n + 128 the sum over all r is below 2⁻⁴¹ at all
sizes that `tests/secure/test_okvs.py` computes: every third up to 400, where it is largest, and on to
`MOST`, falling with the fifth power of n. (1.27·n, which others use, is known from trials alone.)

An assignment is found whenever there is one, by shortest augmenting paths, so the bound is that of the
program. Without one the run ends, as with a store: other seeds would depend on the queries. Which bin a query
has depends on the other queries, and so must not be seen by anybody else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel
from accord.secure.okvs.tables import failed

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]

MOST = 100_000_000
"""Queries of a table."""
_LEAST = 128


def table_bins(queries: int) -> int:
    """The bins of a table for so many queries."""
    if not 0 <= queries <= MOST:
        raise ValueError(f"a table has up to {MOST:,} queries")
    return (13 * queries + 9) // 10 + _LEAST


def place(choices: Ints32, bins: int) -> NDArray[np.int8]:
    """Which of its three bins (n, 3) each query stands in, so that no two share one."""
    taken = np.full(bins, -1, dtype=np.int32)
    number = np.empty(len(choices), dtype=np.int8)
    if not _place(choices, taken, number):
        raise failed("the queries have too few bins among them")
    return number


@kernel("boolean(int32[:,::1], int32[::1], int8[::1])")
def _place(choices: Ints32, taken: Ints32, number: NDArray[np.int8]) -> bool:
    """Fill `taken` (the query of each bin) and `number`, query by query; False if one has no place.

    From the query's bins the search goes on to the bins of those that stand there, and so on, until it comes
    to one that is free; then all along the path move on. `seen` has the query for which a bin was last looked
    at, so that it need not be cleared.
    """
    bins = taken.shape[0]
    seen, before = np.full(bins, -1, np.int32), np.empty(bins, np.int32)
    queue = np.empty(bins, np.int32)
    for query in range(choices.shape[0]):
        head, tail, free = 0, 0, -1
        for way in range(3):
            at = choices[query, way]
            if seen[at] != query:
                seen[at], before[at] = query, -1
                queue[tail] = at
                tail += 1
        while head < tail and free < 0:
            at = queue[head]
            head += 1
            if taken[at] < 0:
                free = at
                break
            for way in range(3):
                to = choices[taken[at], way]
                if seen[to] != query:
                    seen[to], before[to] = query, at
                    queue[tail] = to
                    tail += 1
        if free < 0:
            return False
        # From the end of the path: who stands before a bin moves into it.
        while free >= 0:
            came = before[free]
            who = query if came < 0 else taken[came]
            taken[free] = who
            for way in range(3):
                if choices[who, way] == free:
                    number[who] = way
            free = came
    return True
