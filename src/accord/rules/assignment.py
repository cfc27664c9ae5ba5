"""Of pairs that share records, the best set in which no record stands twice: the assignment problem.

Every pair is worth a whole number of at least 1. The best set has the largest sum; among sets with that sum
it is the first by id: A's records are gone through in the order of their ids, and each takes the first of
B's, by id, that it has in any best set which agrees with the choices before it; to have none comes last. So
there is one best set, which follows from the pairs, their worth and the order of ids alone.

Two machines must find that very set, whatever library they have. So the library's answer is only where the
search begins, and all that follows is integers:

    1  `linear_sum_assignment` gives some set of the largest sum (Jonker and Volgenant; Crouse, 2016), for
       each connected part of the pairs. Its floats hold integers far below 2^53, so nothing is rounded.
    2  `_price` gives each record of B a price, the least with  u(a) + price(b) ≥ worth(a, b)  for all pairs,
       where u(a) is what a gains from its own pair at that price. That both are nowhere negative, and 0 for
       records without a pair, proves that the sum is the largest (linear programming duality).
    3  A set has the largest sum exactly if its pairs are *tight* (u + price = worth) and every record with u
       or price above 0 has one: complementary slackness. `_put_first` walks from one such set to the first
       by id, by cycles of tight pairs that are exchanged.

A part with more than `MOST_RECORDS` records would take too long and is chosen best first: always the pair
that is worth most, the first by id among equals, of those whose records are both free.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_RECORDS = 5_000
"""Of a connected part, for which the best set is looked for."""


class Part(NamedTuple):
    """A connected part of the pairs, and a set of them: what steps 2 and 3 work on, and change."""

    starts: Annotated[Ints, "int64[::1]"]
    """Where the pairs of each of A's records begin, by id; and the end."""
    right: Annotated[Ints, "int64[::1]"]
    worth: Annotated[Ints, "int64[::1]"]
    mate: Annotated[Ints, "int64[::1]"]
    """The partner of each of A's records; −1 where it has none."""
    holder: Annotated[Ints, "int64[::1]"]
    """The same of B's."""
    gain: Annotated[Ints, "int64[::1]"]
    """u of each of A's records."""
    price: Annotated[Ints, "int64[::1]"]


class Search(NamedTuple):
    """For a record of A: from where a node was reached, −1 where it was not. Nodes are A's records, then
    B's, then nobody."""

    came: Annotated[Ints, "int64[::1]"]
    stack: Annotated[Ints, "int64[::1]"]
    fixed: Annotated[Mask, "boolean[::1]"]
    """Records of B that were given to a record of A for good."""


def alone(left: Ints, right: Ints) -> Mask:
    """Which pairs share no record with another pair: they are in every best set."""
    if not len(left):
        return np.zeros(0, np.bool_)
    return (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)


def choose(left: Ints, right: Ints, worth: Ints) -> Mask:
    """Which of these pairs are in the best set.

    *Requires* distinct pairs, records numbered in the order of their ids, and a worth of 1 to 2^39.
    """
    kept = np.zeros(len(left), np.bool_)
    if not len(left):
        return kept
    (a, n), (b, m) = _numbered(left), _numbered(right)
    label = _connect(a, n, b, m)
    (place_a, sizes_a), (place_b, sizes_b) = _places(a, n, label), _places(b, m, label)
    # Where one record is in all pairs, the best of them is the best set.
    quick = (np.minimum(sizes_a, sizes_b) == 1) | (sizes_a + sizes_b > MOST_RECORDS)
    some = np.flatnonzero(quick[label])
    some = some[np.lexsort((b[some], a[some], -worth[some]))]
    _take_best_first(some, a, b, np.zeros(n, np.bool_), np.zeros(m, np.bool_), kept)
    rest = np.flatnonzero(~quick[label])
    rest = rest[np.lexsort((b[rest], a[rest], label[rest]))]
    for pairs in np.split(rest, np.flatnonzero(np.diff(label[rest])) + 1):
        if len(pairs):
            sizes = sizes_a[label[pairs[0]]], sizes_b[label[pairs[0]]]
            kept[pairs] = _choose_part(place_a[a[pairs]], place_b[b[pairs]], worth[pairs], *sizes)
    return kept


def _numbered(records: Ints) -> tuple[Ints, int]:
    """The records numbered from 0 in their order, and how many there are."""
    found, number = np.unique(records, return_inverse=True)
    return number.astype(np.int64), len(found)


def _connect(a: Ints, n: int, b: Ints, m: int) -> Ints:
    """The connected part of each pair, by number."""
    # Imported here: only agreements with one_to_one need it, and it takes its time.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(a), np.int8), (a, n + b)), shape=(n + m, n + m))
    return connected_components(graph, directed=False)[1].astype(np.int64)[a]


def _places(records: Ints, count: int, label: Ints) -> tuple[Ints, Ints]:
    """The place of each record among those of its part, and how many each part has."""
    part = np.zeros(count, np.int64)
    part[records] = label
    order, sizes = np.argsort(part, kind="stable"), np.bincount(part)
    place = np.empty(count, np.int64)
    place[order] = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place, sizes


def _choose_part(a: Ints, b: Ints, worth: Ints, n: int, m: int) -> Mask:
    """The best set of a connected part with so many records, whose pairs are in order."""
    mate, holder = _assign(a, b, worth, n, m), np.full(m, -1, np.int64)
    holder[mate[mate >= 0]] = np.flatnonzero(mate >= 0)
    starts, zeros = np.searchsorted(a, np.arange(n + 1)), (np.zeros(n, np.int64), np.zeros(m, np.int64))
    part = Part(starts, b, worth, mate, holder, *zeros)
    if not _price(part):
        raise RuntimeError("scipy's assignment is not the best one: a fault in it, or in what it was given")
    _put_first(part)
    return mate[a] == b


def _assign(a: Ints, b: Ints, worth: Ints, n: int, m: int) -> Ints:
    """The partner of each of A's records in some set of the largest sum; −1 where it has none."""
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((n, m))
    table[a, b] = worth
    rows, columns = linear_sum_assignment(table, maximize=True)
    real = table[rows, columns] > 0
    mate = np.full(n, -1, np.int64)
    mate[rows[real]] = columns[real]
    return mate


@kernel("void(int64[::1], int64[::1], int64[::1], boolean[::1], boolean[::1], boolean[::1])")
def _take_best_first(order: Ints, a: Ints, b: Ints, used_a: Mask, used_b: Mask, kept: Mask) -> None:
    """Mark the pairs, in this order, whose records are both free."""
    for pair in order:
        if not used_a[a[pair]] and not used_b[b[pair]]:
            kept[pair] = used_a[a[pair]] = used_b[b[pair]] = True


@kernel("boolean(Part)", Part)
def _price(part: Part) -> bool:
    """Fill in the least prices and the gains at them; whether they prove that the set is best.

    Bellman and Ford's rounds, in which a record is looked at again once the price of its partner rose: prices
    settle within a round for each of B's records, unless some exchange would have made the sum larger.
    """
    n, m = len(part.mate), len(part.price)
    own = np.zeros(n, np.int64)
    for i in range(n):
        for e in range(part.starts[i], part.starts[i + 1]):
            if part.right[e] == part.mate[i]:
                own[i] = part.worth[e]
    due = np.ones(n, np.bool_)
    for _ in range(m + 2):
        settled = True
        for i in range(n):
            if due[i]:
                due[i] = False
                settled = _raise_prices(part, i, own[i], due) and settled
        if settled:
            break
    proven = settled
    for i in range(n):
        proven = proven and part.gain[i] >= 0 and (own[i] > 0) == (part.mate[i] >= 0)
    for k in range(m):
        proven = proven and (part.holder[k] >= 0 or part.price[k] == 0)
    return proven


@kernel("boolean(Part, int64, int64, boolean[::1])", Part)
def _raise_prices(part: Part, i: int, own: int, due: Mask) -> bool:
    """Raise the prices of what A's record i would rather have than its own; whether there was nothing."""
    part.gain[i] = own - part.price[part.mate[i]] if part.mate[i] >= 0 else 0
    none = True
    for e in range(part.starts[i], part.starts[i + 1]):
        k = part.right[e]
        if part.worth[e] - part.gain[i] > part.price[k]:
            part.price[k] = part.worth[e] - part.gain[i]
            none = False
            if part.holder[k] >= 0:
                due[part.holder[k]] = True
    return none


@kernel("void(Part)", Part)
def _put_first(part: Part) -> None:
    """Turn the set into the first by id among those with the largest sum.

    A record a of A may take b instead of what it has if whoever loses by it can be served: from b one goes to
    the record that has b, from it to any other that it may take, and so on, until one comes back to a. What
    nobody has is had by 'nobody', who may take any of B's records with price 0, may get one of A's that has
    none to take part, and lets one of A's with gain 0 go. What was reached from one b in vain leads nowhere
    from the next either, so that every node is looked at once for each a.
    """
    n, m = len(part.mate), len(part.price)
    search = Search(np.empty(n + m + 1, np.int64), np.empty(n + m + 1, np.int64), np.zeros(m, np.bool_))
    for i in range(n):
        search.came[:] = -1
        for e in range(part.starts[i], part.starts[i + 1]):
            k = part.right[e]
            if k == part.mate[i]:
                break
            tight = part.gain[i] + part.price[k] == part.worth[e]
            if tight and not search.fixed[k] and search.came[n + k] < 0:
                last = _find_way(part, search, i, k)
                if last >= 0:
                    _exchange(part, search, i, last)
                    break
        if part.mate[i] >= 0:
            search.fixed[part.mate[i]] = True


@kernel("int64(Part, Search, int64, int64)", Part, Search)
def _find_way(part: Part, search: Search, i: int, k: int) -> int:
    """The last node, which has A's record i, of a way from B's record k to there; −1 if there is none."""
    n, nobody = len(part.mate), len(part.mate) + len(part.price)
    last = n + part.mate[i] if part.mate[i] >= 0 else nobody
    height = _reach(search, n + k, i, 0)
    while height and search.came[last] < 0:
        height -= 1
        node = search.stack[height]
        if node < n:
            height = _go_on_from(part, search, node, height)
        elif node == nobody:
            height = _go_on_from_nobody(part, search, i, height)
        else:
            follower = part.holder[node - n] if part.holder[node - n] >= 0 else nobody
            height = _reach(search, follower, node, height)
    return last if search.came[last] >= 0 else -1


@kernel("int64(Search, int64, int64, int64)", Search)
def _reach(search: Search, node: int, before: int, height: int) -> int:
    """Come to a node, if for the first time; the height of the stack."""
    if search.came[node] >= 0:
        return height
    search.came[node] = before
    search.stack[height] = node
    return height + 1


@kernel("int64(Part, Search, int64, int64)", Part, Search)
def _go_on_from(part: Part, search: Search, x: int, height: int) -> int:
    """Where A's record x can turn to."""
    n = len(part.mate)
    for e in range(part.starts[x], part.starts[x + 1]):
        k = part.right[e]
        if part.gain[x] + part.price[k] == part.worth[e] and not search.fixed[k]:
            height = _reach(search, n + k, x, height)
    return _reach(search, n + len(part.price), x, height) if part.gain[x] == 0 else height


@kernel("int64(Part, Search, int64, int64)", Part, Search)
def _go_on_from_nobody(part: Part, search: Search, i: int, height: int) -> int:
    """Whom nobody can turn to, of those that are not settled before A's record i."""
    n, m = len(part.mate), len(part.price)
    for x in range(i + 1, n):
        if part.mate[x] < 0:
            height = _reach(search, x, n + m, height)
    for k in range(m):
        if part.holder[k] >= 0 and part.price[k] == 0 and not search.fixed[k]:
            height = _reach(search, n + k, n + m, height)
    return height


@kernel("void(Part, Search, int64, int64)", Part, Search)
def _exchange(part: Part, search: Search, i: int, last: int) -> None:
    """Give everything on the way to A's record i to whom it was reached from."""
    n, nobody = len(part.mate), len(part.mate) + len(part.price)
    node = last
    while node != i:
        before = search.came[node]
        if n <= node < nobody:
            part.holder[node - n] = before if before < n else -1
        if node >= n and before < n:
            part.mate[before] = node - n if node < nobody else -1
        node = before
