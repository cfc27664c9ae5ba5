"""Circuits of XOR and AND: what a garbler garbles, with as few ANDs as is known.

A wire is a number; a *literal* is twice a wire, plus one if it is read inverted, so that NOT is free. Wire 0
is the constant false. Constants fold, equal gates are made once, and XOR costs nothing (free-XOR: Kolesnikov,
Schneider, ICALP'08), so only ANDs count. An AND one of whose sides is a bit that a party knows costs half.

The invariant: operands of a gate have smaller numbers than the gate, and a circuit is public: it depends on
what is computed alone, never on anyone's values.

The bits that a side feeds into a circuit are computed of its own rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from accord.errors import UnsupportedError
from accord.secure.circuit import Input
from accord.side import Side

FALSE, TRUE = 0, 1
MOST_WIRES = 1 << 18
"""A batch of the fewest pairs takes a KiB for each, and an agreement that a partner sent may ask for any."""
Ints = NDArray[np.int64]
Reader = Callable[[Input], Ints]
"""Gives the rows of an input, shape (rows, length)."""


@dataclass(frozen=True)
class Element:
    """One bit of one element of a side's input."""

    side: Side
    of: Input
    index: int
    bit: int


@dataclass(frozen=True)
class Flags:
    """Whether all of these bits of a side's row are set; with `real`, whether the row is real, too."""

    side: Side
    of: tuple[Input, ...]
    real: bool


@dataclass(frozen=True)
class OwnNumber:
    """One bit of weight · input + add, mod 2^bits: a number that a side computes by itself."""

    side: Side
    of: Input
    weight: int
    add: int
    bit: int


Source = Element | Flags | OwnNumber
"""A bit that a side computes of its own row."""


@dataclass(frozen=True)
class Gate:
    """XOR or AND of two literals; those of an XOR are not inverted."""

    kind: Literal["xor", "and"]
    left: int
    right: int

    @property
    def wires(self) -> tuple[int, int]:
        return self.left >> 1, self.right >> 1


@dataclass(frozen=True)
class Boolean:
    """What each wire but the constant is, from number 1, and the literal of the answer."""

    wires: tuple[Source | Gate, ...]
    output: int

    @cached_property
    def needed(self) -> tuple[int, ...]:
        """The wires that the answer depends on, in order."""
        reached = {self.output >> 1}
        for wire in range(len(self.wires), 0, -1):
            what = self.wires[wire - 1]
            if wire in reached and isinstance(what, Gate):
                reached.update(what.wires)
        return tuple(sorted(reached - {0}))

    def what(self, wire: int) -> Source | Gate:
        return self.wires[wire - 1]

    def sources(self, side: Side) -> tuple[Source, ...]:
        """The bits that a side supplies, in the order of their wires."""
        found = (self.what(wire) for wire in self.needed)
        return tuple(of for of in found if not isinstance(of, Gate) and of.side is side)


class CircuitBuilder:
    """A circuit in the making."""

    def __init__(self) -> None:
        self._wires: list[Source | Gate] = []
        self._known: dict[Source | Gate, int] = {}
        self._depths = [0]

    def finish(self, output: int) -> Boolean:
        return Boolean(tuple(self._wires), output)

    def source(self, of: Source) -> int:
        """The literal of a party's bit."""
        return self._add(of, 0)

    def depth(self, literal: int) -> int:
        """ANDs on the longest way to a literal."""
        return self._depths[literal >> 1]

    def xor(self, x: int, y: int) -> int:
        """x ⊕ y, free."""
        inverted = (x ^ y) & 1
        x, y = sorted((x & ~1, y & ~1))
        if x == FALSE:
            return y ^ inverted
        if x == y:
            return inverted
        return self._add(Gate("xor", x, y), max(self.depth(x), self.depth(y))) ^ inverted

    def both(self, x: int, y: int) -> int:
        """x ∧ y: the one operation that costs."""
        x, y = sorted((x, y))
        if x == FALSE or x == y ^ 1:
            return FALSE
        if x in (TRUE, y):
            return y
        return self._add(Gate("and", x, y), 1 + max(self.depth(x), self.depth(y)))

    def either(self, x: int, y: int) -> int:
        """x ∨ y."""
        return self.both(x ^ 1, y ^ 1) ^ 1

    def every(self, literals: list[int]) -> int:
        """All of them; the shallowest are joined first."""
        left = sorted(literals, key=self.depth)
        while len(left) > 1:
            x, y, *left = left
            left = sorted([*left, self.both(x, y)], key=self.depth)
        return left[0] if left else TRUE

    def _add(self, what: Source | Gate, depth: int) -> int:
        if what not in self._known:
            if len(self._wires) == MOST_WIRES:
                node = f"a rule that takes more than {MOST_WIRES:,} gates and bits"
                raise UnsupportedError(engine="dual", node=node)
            self._wires.append(what)
            self._depths.append(depth)
            self._known[what] = 2 * len(self._wires)
        return self._known[what]


def source_bits(sources: Sequence[Source], read: Reader, real: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """One bit for each source and row, shape (sources, rows); `real` has the rows that are no dummies."""
    result = np.empty((len(sources), len(real)), dtype=np.uint8)
    elements: dict[Input, list[int]] = {}
    for place, source in enumerate(sources):
        match source:
            case Element(_, of):
                elements.setdefault(of, []).append(place)
            case Flags(_, flags, with_real):
                bits = [read(of)[:, 0] != 0 for of in flags] + ([real] if with_real else [])
                result[place] = np.logical_and.reduce(bits)
            case OwnNumber(_, of, weight, add, bit):
                # Mod 2^64, which is all that a number of at most 64 bits depends on.
                factor, offset = np.uint64(weight % (1 << 64)), np.uint64(add % (1 << 64))
                number = read(of)[:, 0].astype(np.uint64) * factor + offset
                result[place] = (number >> np.uint64(bit)) & np.uint64(1)
    for of, places in elements.items():
        chosen = [source for source in (sources[p] for p in places) if isinstance(source, Element)]
        values = read(of).T[[source.index for source in chosen]]
        result[places] = (values >> np.array([[source.bit] for source in chosen])) & 1
    return result
