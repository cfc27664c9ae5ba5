"""How a score becomes a sum: each graded comparison as a shared number, its weight.

    lookup   the wires that its levels read are state and index, and the answer is the weight (negative, as
             the sum is compared from above); levels that read too many wires are first looked up as bits

Levels of which still too many are left are taken in turns: with q = 'one of the first few holds', the weight
is that of the first few, or 0, and that of the rest, or 0 where q holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from accord.secure.circuit import Graded, Node
from accord.secure.ot.formula import Formula, Wire, join, split, truth_of, wires
from accord.secure.ot.program import Bit, Digit, OwnBit, Sum

ROOM = 4
"""Wires of a lookup that gives a number: with more of them its table outweighs another lookup."""

Case = tuple[Formula | Wire, int]
"""A level: when it holds, and its weight."""


class Builder(Protocol):
    """What a program in the making does for a score."""

    def formula(self, node: Node) -> Formula | Wire: ...

    def gate(self, formula: Formula | Wire) -> Bit: ...

    def add(
        self,
        shared: tuple[Digit | Bit, ...],
        own: tuple[OwnBit, ...],
        truth: NDArray[np.generic],
        lane: int = 1,
    ) -> Bit: ...


def weigh(build: Builder, parts: tuple[Graded, ...], total: Sum) -> Sum:
    """The total less the weights of all parts."""
    for part in parts:
        if len(set(part.weights)) == 1:
            total = replace(total, shift=total.shift - part.otherwise)
            continue
        cases = [(build.formula(when), weight) for when, weight in part.levels]
        for some, otherwise in _fit(build, cases, part.otherwise):
            total = _look_up(build, some, otherwise, total)
    return total


def _fit(build: Builder, cases: list[Case], otherwise: int) -> Iterator[tuple[list[Case], int]]:
    """The same as a sum of cases that each read few wires."""
    while len(_wires(cases)) > ROOM:
        widest = max(range(len(cases)), key=lambda i: len(wires(cases[i][0])))
        if len(wires(cases[widest][0])) > 1:
            cases[widest] = (build.gate(cases[widest][0]), cases[widest][1])
            continue
        first = max(n for n in range(len(cases)) if len(_wires(cases[:n])) <= ROOM)
        yield cases[:first], 0
        before = build.gate(join("any", [when for when, _ in cases[:first]]))
        cases = [(before, 0), *cases[first:]]
    yield cases, otherwise


def _wires(cases: list[Case]) -> dict[Wire, None]:
    return {wire: None for when, _ in cases for wire in wires(when)}


def _look_up(build: Builder, cases: list[Case], otherwise: int, total: Sum) -> Sum:
    """The total less the weight of the first case that holds."""
    bits, own = split(_wires(cases))
    order: tuple[Wire, ...] = (*bits, *own)
    weights = np.full((1 << len(order),) * 2, otherwise, dtype=np.int64)
    for when, weight in reversed(cases):
        weights[truth_of(when, order)] = weight
    if not order:
        return replace(total, shift=total.shift - int(weights[0, 0]))
    numbers = (-weights).astype(f"u{total.lane // 8}")
    return replace(total, lookups=(*total.lookups, build.add(bits, own, numbers, total.lane).lookup))
