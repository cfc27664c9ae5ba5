"""How a score becomes a sum: each graded comparison as a shared number, its weight.

    lookup   the wires that its levels read are state and index, and the answer is the weight (negative, as
             the sum is compared from above); levels that read too many wires are first looked up as bits, and
             what would read one bit alone takes the place of the lookup that gives it
    apart    the same where all depends on one bit p that each side knows of its row, such as 'the value is
             there': with bits that are 0 where p is, the weight is that for p = 1, and (1 − p)·c for a c
    table    a weight that depends on few values of each row is shared with no lookup at all (`forms.Weights`)

Of these the lightest is taken. Levels of which too many are left are looked up in turns: with q = 'one of the
first few holds', the weight is that of the first few, or 0, and that of the rest, or 0 where q holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from accord.secure.circuit import (
    And,
    AtMost,
    Both,
    Edit,
    Equal,
    Graded,
    Input,
    Node,
    Not,
    Or,
    Reaches,
    inputs,
    leaves,
)
from accord.secure.forms import Added, Weights, cells, constant, every_cell, form_of
from accord.secure.ideal import weigh as weigh_in_the_clear
from accord.secure.ot.formula import Formula, Wire, join, split, truth_of, wires
from accord.secure.ot.program import Bit, Lookup, NumberShare, Own, Shared, ShareSum, lookup_weight
from accord.side import Side

ROOM = 4
"""Wires of a lookup that gives a number: with more of them its table outweighs another lookup."""
CELLS = 1 << 16
"""Pairs of values that a table is made of, at most."""

Case = tuple[Formula | Wire, int]
"""A level: when it holds, and its weight."""


class ScoreBuilder(Protocol):
    """What a program in the making does for a score."""

    @property
    def weight(self) -> float: ...

    @property
    def lookups(self) -> list[Lookup]: ...

    def take_back(self, bit: Bit) -> Lookup: ...

    def copy(self) -> Any: ...

    def become(self, other: Any) -> None: ...

    def compare_all(self, nodes: list[AtMost | Equal], where: Input | None) -> None: ...

    def formula(self, node: Node, where: Input | None = None) -> Formula | Wire: ...

    def gate(self, formula: Formula | Wire) -> Bit: ...

    def share(self, share: NumberShare) -> int: ...

    def add(
        self, shared: tuple[Shared, ...], own: tuple[Own, ...], truth: NDArray[Any], lane: int = 1
    ) -> Bit: ...


def weigh(build: ScoreBuilder, parts: tuple[Graded, ...], total: ShareSum) -> ShareSum:
    """The total less the weights of all parts."""
    tables: list[Weights] = []
    for part in parts:
        if len(set(part.weights)) == 1:
            total = replace(total, shift=total.shift - part.otherwise)
        else:
            total = _weigh_one(build, part, total, tables)
    if not tables:
        return total
    share = build.share(NumberShare(form_of(Added(tuple(tables))), total.bits, 0, 0))
    return replace(total, shares=(*total.shares, (share, -1)))


def most_without_values(part: Graded) -> int:
    """No pair with a row all of whose inputs are zero weighs more."""
    weight = _weight_of(part, lambda leaf: False if isinstance(leaf, Both) else constant(leaf))
    return max(part.weights) if weight is None else weight


def _weigh_one(build: ScoreBuilder, part: Graded, total: ShareSum, tables: list[Weights]) -> ShareSum:
    """The total less one weight; what a table gives is only noted."""
    before = build.weight
    plain = build.copy()
    found: list[tuple[ScoreBuilder, ShareSum, list[Weights]]] = [(plain, _plain(plain, part, total), [])]
    for where in _conditions(part):
        apart = build.copy()
        made = _apart(apart, part, where, total)
        if made is not None:
            found.append((apart, *made))
    table = table_of(part)
    if table is not None:
        found.append((build, total, [table]))

    def weight(way: tuple[ScoreBuilder, ShareSum, list[Weights]]) -> float:
        noted = form_of(Added(tuple(way[2]))) if way[2] else None
        more = NumberShare(noted, total.bits, 0, 0).weight if noted else 0
        return way[0].weight - before + more

    best, total, noted = min(found, key=weight)
    build.become(best)
    tables += noted
    return total


def _plain(build: ScoreBuilder, part: Graded, total: ShareSum) -> ShareSum:
    """By lookups over all wires."""
    first = len(build.lookups)
    build.compare_all(_comparisons(part), None)
    cases = [(build.formula(when), weight) for when, weight in part.levels]
    for some, otherwise in _fit(build, cases, part.otherwise):
        total = _look_up(build, some, otherwise, total, first)
    return total


def _comparisons(part: Graded) -> list[AtMost | Equal]:
    return [leaf for leaf in leaves(Reaches((part,), 0)) if isinstance(leaf, AtMost | Equal)]


def _apart(
    build: ScoreBuilder, part: Graded, where: Input, total: ShareSum
) -> tuple[ShareSum, list[Weights]] | None:
    """By lookups for pairs with the bit `where`, and a table for others, if these all weigh the same."""
    missed = _weight_of(part, lambda leaf: False if leaf == Both(where) else _known(leaf))
    # Without the bit every comparison fails, so this is what the lookups then give, and the table takes back.
    vain = _weight_of(
        part, lambda leaf: leaf == Both(where) if isinstance(leaf, Both) else bool(_known(leaf))
    )
    if missed is None or vain is None:
        return None
    first = len(build.lookups)
    build.compare_all(_comparisons(part), where)
    cases = [(build.formula(when, where), weight) for when, weight in part.levels]
    for some, otherwise in _fit(build, cases, part.otherwise):
        total = _look_up(build, some, otherwise, total, first)
    rest = table_of(Graded(((Both(where), 0),), missed - vain))
    return total, [rest] if rest is not None else []


def _known(leaf: AtMost | Equal | Both) -> bool | None:
    return None if isinstance(leaf, Both) else constant(leaf)


def _conditions(part: Graded) -> list[Input]:
    """The one bit of each row that the levels read beside comparisons, if that is so; two texts that are not
    there would be equal, so edits are none of these."""
    own = {leaf.of: None for leaf in leaves(Reaches((part,), 0)) if isinstance(leaf, Both)}
    alone = not any(map(_has_score_or_edits, (when for when, _ in part.levels)))
    return list(own) if len(own) == 1 and alone and _comparisons(part) else []


def _has_score_or_edits(node: Node) -> bool:
    match node:
        case And(parts) | Or(parts):
            return any(map(_has_score_or_edits, parts))
        case Not(part):
            return _has_score_or_edits(part)
        case _:
            return isinstance(node, Reaches | Edit)


def _weight_of(part: Graded, known: Callable[[AtMost | Equal | Both], bool | None]) -> int | None:
    """The weight, if what is known of the leaves is enough to say it."""
    for when, weight in part.levels:
        holds = _holds(when, known)
        if holds is None:
            return None
        if holds:
            return weight
    return part.otherwise


def _holds(node: Node, known: Callable[[AtMost | Equal | Both], bool | None]) -> bool | None:
    """Whether a circuit holds, if what is known of its leaves is enough to say so."""
    match node:
        case And(parts) | Or(parts):
            found = {_holds(part, known) for part in parts}
            decided = isinstance(node, Or)
            if decided in found:
                return decided
            return None if None in found else not decided
        case Not(part):
            held = _holds(part, known)
            return None if held is None else not held
        case Reaches() | Edit():
            return None
        case _:
            return known(node)


def table_of(part: Graded) -> Weights | None:
    """The weights of a graded comparison by the values of its inputs, if these are few on both sides."""
    if len(set(part.weights)) == 1:
        return None
    of_a, of_b = (inputs(Reaches((part,), 0), side) for side in Side)
    if not of_a or not of_b or cells(of_a) * cells(of_b) > CELLS:
        return None
    rows, columns = (np.arange(cells(of)) for of in (of_a, of_b))
    left, right = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
    weights = weigh_in_the_clear(part, every_cell(of_a), every_cell(of_b), left, right)
    # Values of A that weigh the same against everything are of one kind.
    distinct, kinds = np.unique(weights.reshape(len(rows), -1), axis=0, return_inverse=True)
    return Weights(of_a, of_b, kinds.reshape(-1), distinct)


def _fit(build: ScoreBuilder, cases: list[Case], otherwise: int) -> Iterator[tuple[list[Case], int]]:
    """The same as a sum of cases that each read few wires."""
    while len(_wires(cases)) > ROOM:
        widest = max(range(len(cases)), key=lambda i: len(wires(cases[i][0])))
        if len(wires(cases[widest][0])) > 1:
            cases[widest] = (build.gate(cases[widest][0]), cases[widest][1])
            continue
        first = next(n for n in range(len(cases)) if len(_wires(cases[: n + 1])) > ROOM)
        yield cases[:first], 0
        before = build.gate(join("any", [when for when, _ in cases[:first]]))
        cases = [(before, 0), *cases[first:]]
    yield cases, otherwise


def _worth_it(build: ScoreBuilder, bit: Bit, total: ShareSum, first: int) -> bool:
    """Whether the lookup that gives a bit had better give the weight itself.

    Only one that was made for this comparison: others may read an older one, in a formula of theirs.
    """
    last = build.lookups[-1]
    alone = first <= bit.lookup == len(build.lookups) - 1 and last.lane == 1 and last.bits <= ROOM
    return alone and lookup_weight(last.bits, total.lane) < last.weight + lookup_weight(1, total.lane)


def _wires(cases: list[Case]) -> dict[Wire, None]:
    return {wire: None for when, _ in cases for wire in wires(when)}


def _look_up(build: ScoreBuilder, cases: list[Case], otherwise: int, total: ShareSum, first: int) -> ShareSum:
    """The total less the weight of the first case that holds; lookups from the `first` on serve nothing
    else."""
    bits, own = split(_wires(cases))
    order: tuple[Wire, ...] = (*bits, *own)
    shared: tuple[Shared, ...] = bits
    weights = np.full((1 << len(order),) * 2, otherwise, dtype=np.int64)
    for when, weight in reversed(cases):
        weights[truth_of(when, order)] = weight
    if not order:
        return replace(total, shift=total.shift - int(weights[0, 0]))
    if isinstance(order[0], Bit) and len(order) == 1 and _worth_it(build, order[0], total, first):
        last = build.take_back(order[0])
        shared, own, weights = last.shared, last.own, np.where(last.truth, weights[0, 1], weights[0, 0])
    numbers = (-weights).astype(f"u{total.lane // 8}")
    return replace(total, lookups=(*total.lookups, build.add(shared, own, numbers, total.lane).lookup))
