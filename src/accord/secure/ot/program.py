"""A circuit as a list of shared numbers and a list of small lookups: what `ot` runs and `cost` prices.

Everything after the distances is one primitive: A knows a state y of a few bits, B an index j of a few bits,
a public truth table says the answer T[y][j], and the two end with shares of it: XOR shares of a bit, or
additive ones of a number. What is shared additively can be added up without a message (`ShareSum`).
`compiler.py` says how comparisons, formulas and scores become lookups. A program is public: it depends on the
circuit alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.secure.circuit import Input, Tally
from accord.secure.forms import Form, name_bits
from accord.secure.ot.lookup import pack_truth
from accord.secure.payloads import TOKEN
from accord.side import Side

Ints = NDArray[np.int64]

USUAL, CHEAP = 4, 48
"""By what programs for one circuit are weighed against each other; what a batch costs is in `sizes.py`."""


def lane_of(bits: int) -> int:
    """Bits of the smallest machine word that holds so many."""
    return max(8, 1 << (bits - 1).bit_length())


@dataclass(frozen=True)
class NumberShare:
    """A number shared mod 2^bits: form + shift, plus `penalty` for each dummy of the pair.

    A row without the bit `where` counts as a dummy here: its inputs are taken for zero.
    An exclusive one is bits that are shared each for itself: the two sides' parts XOR to it.
    """

    form: Form
    bits: int
    shift: int = 0
    penalty: int = 0
    where: Input | None = None
    exclusive: bool = False

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """Bits that a correction of each term takes."""
        return np.maximum(self.bits - np.array(self.form.shifts, dtype=np.int64), 0)

    @property
    def weight(self) -> float:
        return float(self.widths.sum()) / USUAL

    @property
    def lane(self) -> int:
        """Bits of the machine word that holds it."""
        return lane_of(self.bits)


@dataclass(frozen=True)
class ShareSum:
    """shift + Σ factor·share + Σ answers of lookups that give numbers, mod 2^bits; each side adds its own."""

    shares: tuple[tuple[int, int], ...]
    lookups: tuple[int, ...]
    bits: int
    shift: int = 0
    opposed: bool = False
    """A's side is negated, so that the two are equal where the sum is 0."""

    @property
    def lane(self) -> int:
        """Bits of the machine word that holds it."""
        return lane_of(self.bits)


@dataclass(frozen=True)
class Digit:
    """Some bits of a sum: here the wires of the two sides add up, they do not XOR."""

    sum: int
    low: int
    bits: int


@dataclass(frozen=True)
class ShareBit:
    """One bit of an exclusive share: here they do XOR."""

    share: int
    place: int
    bits = 1


@dataclass(frozen=True)
class Bit:
    """The XOR-shared answer of an earlier lookup, or its XOR with those of others, which costs nothing."""

    lookup: int
    others: tuple[int, ...] = ()
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


Shared = Digit | ShareBit | Bit
Own = OwnBit | Short
"""Its value is that both sides have it."""


def lookup_weight(bits: int, lane: int = 1) -> float:
    """About the bits that a lookup takes a pair, an OT counted as what could be sent while it is made."""
    return CHEAP * -(-bits // 2) + max(8, lane << bits)


@dataclass(frozen=True, eq=False)
class Lookup:
    """One answer: A's state and B's index are `shared`, then `own`, lowest bit first.

    The answer is a bit, or (`lane` > 1) a number of so many bits.
    """

    shared: tuple[Shared, ...]
    own: tuple[Own, ...]
    level: int
    truth: NDArray[Any]
    lane: int = 1

    @cached_property
    def bits(self) -> int:
        """Bits of the index, and of the state."""
        return sum(wire.bits for wire in self.shared) + len(self.own)

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        """The truth table as words, entry j at bit j, if the answer is a bit."""
        return pack_truth(self.truth)

    @property
    def weight(self) -> float:
        return lookup_weight(self.bits, self.lane)


@dataclass(frozen=True, eq=False)
class Choices:
    """The bits of A's row that a program multiplies, by number: each takes an OT, and a place in a payload.

    An OT has two words (`single.py`), so a bit that is multiplied again in another term is chosen once; it
    counts as another bit from the third time on. First come those that serve two terms.
    """

    count: int
    twice: int
    """How many serve two terms."""
    bits: tuple[Ints, ...]
    """Of each share the bit of each term,"""
    words: tuple[Ints, ...]
    """and the word: bit n has word n, and count + n if it serves two."""


def _choices(names: list[list[Hashable]]) -> Choices:
    """Bits with one name are one."""
    seen = Counter[Hashable]()
    keys, again = list[Hashable](), list[bool]()
    for name in chain.from_iterable(names):
        keys.append((name, seen[name] // 2))
        again.append(seen[name] % 2 == 1)
        seen[name] += 1
    numbers = {key: number for number, (key, _) in enumerate(Counter(keys).most_common())}
    bits = np.array([numbers[key] for key in keys], np.int64)
    words = bits + len(numbers) * np.array(again, np.int64)
    ends = np.cumsum([len(some) for some in names], dtype=np.int64)
    parts = [slice(end - len(some), end) for end, some in zip(ends, names, strict=True)]
    return Choices(
        len(numbers), sum(again), tuple(bits[part] for part in parts), tuple(words[part] for part in parts)
    )


@dataclass(frozen=True)
class Program:
    """Shared numbers, their sums, then lookups, of which some make the answer."""

    shares: tuple[NumberShare, ...]
    sums: tuple[ShareSum, ...]
    lookups: tuple[Lookup, ...]
    outputs: tuple[Bit, ...]
    """One, or one for each row of a tally."""
    held: bool = False
    """Whether A's rows are held in shares: then the answer stays shared, too, and opens last words, or"""
    tally: Tally | None = None
    """is tallied."""

    @property
    def opens(self) -> int:
        """Words at the end of a payload that the answer opens."""
        return TOKEN if self.held and self.tally is None else 0

    @property
    def weight(self) -> float:
        """About the bits that a pair takes, with groups of `USUAL` rows and `CHEAP` bits for a double OT."""
        return sum(share.weight for share in self.shares) + sum(lookup.weight for lookup in self.lookups)

    @cached_property
    def levels(self) -> list[list[int]]:
        """The lookups that run together, in order."""
        deepest = max(lookup.level for lookup in self.lookups)
        return [[i for i, k in enumerate(self.lookups) if k.level == n] for n in range(deepest + 1)]

    @property
    def tallied(self) -> int:
        """Bits of a pair that are multiplied with B's weights."""
        return len(self.outputs) if self.tally else 0

    @property
    def terms(self) -> int:
        """Products of a bit of A's row with something of B's row."""
        return sum(len(share.form.shifts) for share in self.shares)

    @cached_property
    def choices(self) -> Choices:
        """In rows that are held in shares equal bits are one. In others each term has its own: there a bit
        takes a tree for all that a row meets, and its leaves expand a term."""
        if self.held:
            return _choices([name_bits(share.form, share.where) for share in self.shares])
        return _choices([[(n, i) for i in range(len(s.form.shifts))] for n, s in enumerate(self.shares)])
