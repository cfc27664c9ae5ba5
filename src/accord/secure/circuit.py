"""The narrow waist: what is computed on a pair of rows, as data.

A rule of `accord.rules` lowers to one boolean node; every engine of `accord.secure` is an interpreter of
these nodes. Row a belongs to party A, row b to party B; all numbers are integers, so that every engine gives
the same answer on every machine.

    boolean   AtMost(value, bound) · Equal(input) · Both(input) · And(parts) · Or(parts) · Not(part)
              Edit(input, bound): two texts that few insertions, deletions and substitutions make equal
              Reaches(parts, least): a sum of weights, each of the first of some nodes which holds
    value     Hamming(input) · Mismatches(input) · SquaredEuclidean(input) · Bilinear(products, offset)
    around    Opened(node): A's row is held in shares, and the answer opens its last words to B, or is tallied

`And(())` is true and `Or(())` is false, so no node for constants is needed. The invariant: a node says all
that an engine needs to choose widths and to count its cost (`low`, `high`, `length`), and nothing about
anyone's data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from accord.side import Side

MOST_BITS = 62
"""Of a tally: its numbers and twice as many are numbers of a machine."""


@dataclass(frozen=True)
class Input:
    """A vector of `length` integers in 0..`high`, one vector for each row of a side."""

    name: str
    length: int
    high: int
    where: Input | None = None
    """A bit of each row: rows without it have zeros here."""

    @property
    def bits(self) -> int:
        """Bits that one element needs."""
        return self.high.bit_length()


@dataclass(frozen=True)
class Hamming:
    """Σ aᵢ ⊕ bᵢ over an input of bits."""

    of: Input

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return self.of.length


@dataclass(frozen=True)
class Mismatches:
    """How many elements of the two rows differ."""

    of: Input

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return self.of.length


@dataclass(frozen=True)
class SquaredEuclidean:
    """Σ (aᵢ − bᵢ)²."""

    of: Input

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return self.of.length * self.of.high**2


@dataclass(frozen=True)
class Product:
    """weight · Σ aᵢ·bᵢ with `left` from A and `right` from B; `left` is an input of bits."""

    left: Input
    right: Input
    weight: int


@dataclass(frozen=True)
class Bilinear:
    """Σ products + weight_a·offset(a) + weight_b·offset(b): what Dice, Jaccard, cosine and |a − b| come to.

    The offset is one integer that each side computes by itself, so it costs no interaction. `low` and `high`
    bound the value; the lowering may know tighter bounds than interval arithmetic gives.
    """

    products: tuple[Product, ...]
    offset: Input | None
    weight_a: int
    weight_b: int
    low: int
    high: int


Value = Hamming | Mismatches | SquaredEuclidean | Bilinear


@dataclass(frozen=True)
class AtMost:
    """value ≤ bound."""

    value: Value
    bound: int


@dataclass(frozen=True)
class Equal:
    """aᵢ = bᵢ for every i."""

    of: Input


@dataclass(frozen=True)
class Edit:
    """At most `bound` insertions, deletions and substitutions of letters turn A's text into B's.

    An element is a letter, from 1 on, or 0 behind the last letter: a row with a letter behind a 0 is no text.
    """

    of: Input
    bound: int


@dataclass(frozen=True)
class Both:
    """A's bit and B's bit: both values are present, or both rows are real."""

    of: Input


@dataclass(frozen=True)
class And:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Or:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Not:
    part: Node


@dataclass(frozen=True)
class Graded:
    """The weight beside the first node that holds; `otherwise` if none does."""

    levels: tuple[tuple[Node, int], ...]
    otherwise: int

    @property
    def weights(self) -> tuple[int, ...]:
        return (*(weight for _, weight in self.levels), self.otherwise)


@dataclass(frozen=True)
class Reaches:
    """Σ of the parts' weights ≥ least."""

    parts: tuple[Graded, ...]
    least: int

    @property
    def low(self) -> int:
        return sum(min(part.weights) for part in self.parts)

    @property
    def high(self) -> int:
        return sum(max(part.weights) for part in self.parts)


Leaf = AtMost | Equal | Edit | Both
Node = Leaf | And | Or | Not | Reaches


@dataclass(frozen=True)
class Index:
    """A's row counts in one of so many rows of a tally, whatever its bits are: an index tells which."""

    rows: int

    @property
    def of(self) -> Input:
        """The bits of the index, the lowest first."""
        return Input("index", (self.rows - 1).bit_length(), 1)


@dataclass(frozen=True)
class Number:
    """A's row may have a number: one row of a tally counts those that do, and each other one a bit of it."""

    rows: int

    @property
    def of(self) -> Input:
        """Whether there is a number, then its bits, the lowest first, which say nothing if there is none."""
        return Input("number", self.rows, 1)


@dataclass(frozen=True)
class Tally:
    """Σ answer · weight over all pairs, for each number of B's row, mod 2^bits: in one row of sums, or in the
    rows in which A's row counts.

    A number below 0 is told as what it is mod 2^bits.
    """

    by: Index | Number | None
    weights: Input
    bits: int

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"a tally has 1 to {MOST_BITS} bits")

    @property
    def rows(self) -> int:
        """Of sums."""
        return 1 if self.by is None else self.by.rows

    @property
    def cells(self) -> int:
        """Sums: those of the first row, with each weight, then those of the next."""
        return self.rows * self.weights.length


@dataclass(frozen=True)
class Opened:
    """A circuit for pairs of which nobody has A's row: the two sides hold it in shares, so many words each.

    Nobody learns whether `of` holds. Where it does, B comes to know A's share of the last words, so that it
    can put together what these are. With a tally nothing is opened: each side has a share of the sums.
    """

    of: Node
    words: int
    tally: Tally | None = None

    @property
    def held(self) -> Input:
        """A side's share of A's row, in halves of words."""
        return Input("held", 2 * self.words, (1 << 32) - 1)


Circuit = Node | Opened


def mirrored(node: Node) -> Node:
    """The same circuit for who has taken the other's side."""
    match node:
        case And(parts):
            return And(tuple(map(mirrored, parts)))
        case Or(parts):
            return Or(tuple(map(mirrored, parts)))
        case Not(part):
            return Not(mirrored(part))
        case Reaches(graded, least):
            turned = (Graded(tuple((mirrored(w), n) for w, n in g.levels), g.otherwise) for g in graded)
            return Reaches(tuple(turned), least)
        case AtMost(Bilinear(products, offset, weight_a, weight_b, low, high), bound):
            crossed = tuple(Product(p.right, p.left, p.weight) for p in products)
            return AtMost(Bilinear(crossed, offset, weight_b, weight_a, low, high), bound)
        case _:
            return node


def leaves(node: Circuit) -> Iterator[Leaf]:
    """The nodes that read inputs, from left to right, repeated where the circuit repeats them."""
    match node:
        case Opened(of):
            yield from leaves(of)
        case Reaches(graded):
            for each in graded:
                for when, _ in each.levels:
                    yield from leaves(when)
        case And(parts) | Or(parts):
            for part in parts:
                yield from leaves(part)
        case Not(part):
            yield from leaves(part)
        case _:
            yield node


def inputs(node: Circuit, side: Side) -> tuple[Input, ...]:
    """The inputs that a side supplies, each once, in the order of the circuit."""
    if isinstance(node, Opened):
        return (node.held,) if side is Side.A else (*own_inputs(node, side), node.held)
    found: dict[Input, None] = {}
    for leaf in leaves(node):
        match leaf:
            case AtMost(Bilinear(products, offset)):
                found.update({p.left if side is Side.A else p.right: None for p in products})
                found.update({} if offset is None else {offset: None})
            case AtMost(Hamming(of)) | AtMost(Mismatches(of)) | AtMost(SquaredEuclidean(of)):
                found[of] = None
            case Equal(of) | Edit(of) | Both(of):
                found[of] = None
    return tuple(found)


def own_inputs(circuit: Opened, side: Side) -> tuple[Input, ...]:
    """What a circuit takes of a side's own rows: A's, when it makes payloads of them, and B's."""
    tally = circuit.tally
    more: tuple[Input, ...] = ()
    if tally is not None and side is Side.B:
        more = (tally.weights,)
    elif tally is not None and tally.by is not None:
        more = (tally.by.of,)
    return tuple(dict.fromkeys((*inputs(circuit.of, side), *more)))
