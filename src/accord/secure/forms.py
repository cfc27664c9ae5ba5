"""Every distance of a circuit as one shape: what lets one protocol compute them all.

    value(a, b) = own_a(a) + own_b(b) + Σᵢ 2^shiftᵢ · bitᵢ(a) · factorᵢ(b)

with bits that A computes alone and factors that B computes alone:

    Hamming            Σ aᵢ ⊕ bᵢ = Σ bᵢ + Σ aᵢ·(1 − 2bᵢ)
    squared Euclidean  Σ (aᵢ − bᵢ)² = Σ aᵢ² + Σ bᵢ² + Σᵢⱼ 2^(j+1) · aᵢⱼ · (−bᵢ), j over the bits of aᵢ
    bilinear           weights split into an odd part, which B multiplies in, and a power of two
    equality           the Hamming distance of all bits, at most 0

Where A's elements can be multiplied whole, as under homomorphic encryption, they take the place of bits:

    value(a, b) = own_a(a) + own_b(b) + Σᵢ elementᵢ(a) · multiplierᵢ(b)

A term with shift s needs only ℓ − s bits in a ring of ℓ bits: the higher ones fall off (Gilboa, CRYPTO'99).
The invariant: bits, factors and own parts are functions of one side's rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.secure.circuit import AtMost, Bilinear, Equal, Hamming, Input, Product, SquaredEuclidean
from accord.side import Side

Ints = NDArray[np.int64]
Reader = Callable[[Input], Ints]
"""Gives the rows of an input, shape (rows, length)."""

Formed = Hamming | SquaredEuclidean | Bilinear | Equal


@dataclass(frozen=True)
class Form:
    """A value as own parts and shifted products of a bit of A with a factor of B."""

    of: Formed
    low: int
    high: int
    shifts: tuple[int, ...]


def form_of(of: Formed) -> Form:
    """The form of a distance."""
    match of:
        case Hamming(source) | Equal(source):
            count = source.length * source.bits
            return Form(of, 0, count, (0,) * count)
        case SquaredEuclidean(source):
            return Form(of, of.low, of.high, tuple(range(1, source.bits + 1)) * source.length)
        case Bilinear(products):
            return Form(of, of.low, of.high, tuple(s for p in products for s in _product_shifts(p)))


def comparison_of(node: AtMost | Equal) -> tuple[Form, int]:
    """The form that a comparison compares, and its bound."""
    return (form_of(node), 0) if isinstance(node, Equal) else (form_of(node.value), node.bound)


def constant(node: AtMost | Equal) -> bool | None:
    """The answer of a comparison that cannot fail, or cannot hold."""
    form, bound = comparison_of(node)
    if bound < form.low:
        return False
    return True if bound >= form.high else None


def _twos(weight: int) -> int:
    """How often 2 divides a weight."""
    return (weight & -weight).bit_length() - 1 if weight else 0


def _product_shifts(product: Product) -> tuple[int, ...]:
    twos = _twos(product.weight)
    return tuple(range(twos, twos + product.left.bits)) * product.left.length


def _bits(values: Ints, bits: int) -> NDArray[np.uint8]:
    """Shape (length·bits, rows): the bits of each element, lowest first."""
    if bits == 1:
        return values.T.astype(np.uint8, order="C")
    planes = (values.T[:, None, :] >> np.arange(bits)[None, :, None]) & 1
    return planes.reshape(-1, len(values)).astype(np.uint8, order="C")


def choice_bits(form: Form, read: Reader) -> NDArray[np.uint8]:
    """A's bits, shape (terms, rows)."""
    match form.of:
        case Hamming(source) | Equal(source) | SquaredEuclidean(source):
            return _bits(read(source), source.bits)
        case Bilinear(products):
            parts = [_bits(read(p.left), p.left.bits) for p in products]
            return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.uint8)


def factors(form: Form, read: Reader) -> Ints:
    """B's factors, shape (terms, rows)."""
    match form.of:
        case Hamming(source) | Equal(source):
            return 1 - 2 * _bits(read(source), source.bits).astype(np.int64)
        case SquaredEuclidean(source):
            return np.repeat(-read(source).T, source.bits, axis=0)
        case Bilinear(products):
            parts = [np.repeat(_odd(p) * read(p.right).T, p.left.bits, axis=0) for p in products]
            return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.int64)


def elements(form: Form, read: Reader) -> Ints:
    """A's elements, shape (terms, rows); those of a Hamming distance or an equality are bits."""
    match form.of:
        case Hamming() | Equal():
            return choice_bits(form, read).astype(np.int64)
        case SquaredEuclidean(source):
            return read(source).T
        case Bilinear(products):
            parts = [read(p.left).T for p in products]
            return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.int64)


def multipliers(form: Form, read: Reader) -> Ints:
    """B's multipliers, shape (terms, rows)."""
    match form.of:
        case Hamming() | Equal():
            return factors(form, read)
        case SquaredEuclidean(source):
            return -2 * read(source).T
        case Bilinear(products):
            parts = [p.weight * read(p.right).T for p in products]
            return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.int64)


def largest_multiplier(form: Form) -> int:
    """No multiplier of B is larger, whatever its rows are; at least 1."""
    match form.of:
        case Hamming() | Equal():
            return 1
        case SquaredEuclidean(source):
            return 2 * max(1, source.high)
        case Bilinear(products):
            return max([1, *(abs(p.weight) * p.right.high for p in products)])


def reach(form: Form) -> tuple[int, int]:
    """The least and the largest value that any rows could give, dummies included."""
    if not isinstance(form.of, Bilinear):
        return form.low, form.high
    of, ends = form.of, []
    ends += [p.weight * p.left.length * p.left.high * p.right.high for p in of.products]
    if of.offset is not None:
        ends += [of.weight_a * of.offset.high, of.weight_b * of.offset.high]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


def _odd(product: Product) -> int:
    return product.weight >> _twos(product.weight)


def own_part(form: Form, side: Side, read: Reader, rows: int) -> Ints:
    """What a side adds by itself for each of its rows."""
    match form.of:
        case Hamming(source) | Equal(source):
            if side is Side.A:
                return np.zeros(rows, dtype=np.int64)
            return _bits(read(source), source.bits).sum(axis=0, dtype=np.int64)
        case SquaredEuclidean(source):
            return np.sum(read(source) ** 2, axis=1)
        case Bilinear(_, offset, weight_a, weight_b):
            if offset is None:
                return np.zeros(rows, dtype=np.int64)
            return (weight_a if side is Side.A else weight_b) * read(offset)[:, 0]
