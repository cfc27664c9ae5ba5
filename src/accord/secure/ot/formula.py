"""Formulas over bits: how and, or and not become truth tables of bounded width.

A wire is either a shared bit (its value is the XOR of what the sides hold: the answer of a lookup, or a bit
of an exclusive share) or a bit that each side has of its own row (its value is that both have it).
The invariant: `shrink` changes a formula's shape, never its value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from accord.secure.ot.program import Bit, Own, OwnBit, ShareBit, Short

Wire = Bit | ShareBit | Own
Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Formula:
    """All, any, or the negation of the one part."""

    kind: Literal["all", "any", "not"]
    parts: tuple[Formula | Wire, ...]


def join(kind: Literal["all", "any"], parts: list[Formula | Wire]) -> Formula:
    """All or any of the parts; parts of the same kind are taken apart, so that they can be regrouped."""
    flat: list[Formula | Wire] = []
    for part in parts:
        flat += part.parts if isinstance(part, Formula) and part.kind == kind else (part,)
    return Formula(kind, tuple(flat))


def wires(formula: Formula | Wire) -> dict[Wire, None]:
    """The wires that a formula reads, each once, in order."""
    if not isinstance(formula, Formula):
        return {formula: None}
    return {wire: None for part in formula.parts for wire in wires(part)}


def split(read: dict[Wire, None]) -> tuple[tuple[Bit | ShareBit, ...], tuple[Own, ...]]:
    """Shared bits and own ones, in the order in which a lookup has them."""
    shared = tuple(w for w in read if isinstance(w, Bit | ShareBit))
    return shared, tuple(w for w in read if isinstance(w, OwnBit | Short))


def shrink(formula: Formula | Wire, room: int, evaluate: Callable[[Formula | Wire], Bit]) -> Formula | Wire:
    """The same formula over at most `room` wires; what does not fit is evaluated on its own, part by part."""
    if not isinstance(formula, Formula) or len(wires(formula)) <= room:
        return formula
    parts = [shrink(part, room, evaluate) for part in formula.parts]
    while len(wires(Formula(formula.kind, tuple(parts)))) > room:
        # The widest part first: a group of it and whatever still fits has at least two wires, so each
        # round removes one.
        parts.sort(key=lambda part: -len(wires(part)))
        group, rest = parts[:1], parts[:0]
        for part in parts[1:]:
            fits = len(wires(Formula(formula.kind, (*group, part)))) <= room
            (group if fits else rest).append(part)
        parts = [*rest, evaluate(Formula(formula.kind, tuple(group)))]
    return Formula(formula.kind, tuple(parts))


def truth_of(formula: Formula | Wire, order: tuple[Wire, ...]) -> Truth:
    """The formula for every state of A (rows) and index of B (columns), lowest wire first."""
    size = 1 << len(order)
    values = (np.arange(size)[:, None] >> np.arange(len(order))) & 1 != 0
    known: dict[Wire, Truth] = {}
    for place, wire in enumerate(order):
        of_a, of_b = values[:, None, place], values[None, :, place]
        known[wire] = (of_a & of_b) if isinstance(wire, OwnBit | Short) else (of_a ^ of_b)
    return np.broadcast_to(_value(formula, known), (size, size)).copy()


def _value(formula: Formula | Wire, known: dict[Wire, Truth]) -> Truth:
    if not isinstance(formula, Formula):
        return known[formula]
    parts = [_value(part, known) for part in formula.parts]
    result = np.array([[formula.kind != "any"]])
    for part in parts:
        result = result | part if formula.kind == "any" else result & part
    return ~result if formula.kind == "not" else result
