"""A circuit as a list of shared numbers and a list of small lookups: what `ot` runs and `cost` prices.

Everything after the distances is one primitive: A knows a state y of a few bits, B an index j of a few bits,
a public truth table says the answer T[y][j], and the two end with XOR shares of it. `compiler.py` says how
comparisons and formulas become lookups. A program is public: it depends on the circuit alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.secure.circuit import Input
from accord.secure.forms import Form
from accord.side import Side

USUAL, CHEAP = 4, 2
"""By what programs for one circuit are weighed against each other; what a batch costs is in `sizes.py`."""


@dataclass(frozen=True)
class Share:
    """A number shared mod 2^bits: form + shift, plus `penalty` for each dummy of the pair.

    An exclusive one is bits that are shared each for itself: the two sides' parts XOR to it.
    """

    form: Form
    bits: int
    shift: int = 0
    penalty: int = 0
    exclusive: bool = False

    @property
    def widths(self) -> NDArray[np.int64]:
        """Bits that a correction of each term takes."""
        return np.maximum(self.bits - np.array(self.form.shifts, dtype=np.int64), 0)

    @property
    def weight(self) -> float:
        return float(self.widths.sum()) / USUAL

    @property
    def lane(self) -> int:
        """Bits of the machine word that holds it."""
        return max(8, 1 << (self.bits - 1).bit_length())


@dataclass(frozen=True)
class Digit:
    """Some bits of a share: here the wires of the two sides add up; they XOR if the share is exclusive."""

    share: int
    low: int
    bits: int


@dataclass(frozen=True)
class Bit:
    """The XOR-shared answer of an earlier lookup."""

    lookup: int
    bits = 1


@dataclass(frozen=True)
class OwnBit:
    """A bit that each side knows of its own row: an input, or (`None`) that the row is real."""

    of: Input | None
    bits = 1


@dataclass(frozen=True)
class Short:
    """A bit that a side knows of its own row, and the other side takes for true: a text has no letter in this
    place, nor behind it."""

    of: Input
    side: Side
    place: int
    bits = 1


Own = OwnBit | Short
"""Its value is that both sides have it."""


@dataclass(frozen=True, eq=False)
class Lookup:
    """One answer bit: A's state and B's index are `shared`, then `own`, lowest bit first."""

    shared: tuple[Digit | Bit, ...]
    own: tuple[Own, ...]
    level: int
    truth: NDArray[np.bool_]

    @property
    def bits(self) -> int:
        """Bits of the index, and of the state."""
        return sum(wire.bits for wire in self.shared) + len(self.own)

    @property
    def weight(self) -> float:
        return CHEAP * self.bits + max(8, 1 << self.bits)


@dataclass(frozen=True)
class Program:
    """Shared numbers, then lookups; the last lookup is the answer."""

    shares: tuple[Share, ...]
    lookups: tuple[Lookup, ...]

    @property
    def weight(self) -> float:
        """About the bits that a pair takes, where groups are `USUAL` rows and an OT costs `CHEAP` bits."""
        return sum(share.weight for share in self.shares) + sum(lookup.weight for lookup in self.lookups)

    @property
    def levels(self) -> list[list[int]]:
        """The lookups that run together, in order."""
        deepest = self.lookups[-1].level
        return [[i for i, k in enumerate(self.lookups) if k.level == n] for n in range(deepest + 1)]

    @property
    def terms(self) -> int:
        """Bits of A's row that are multiplied with something of B's row."""
        return sum(len(share.form.shifts) for share in self.shares)
