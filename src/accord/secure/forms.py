"""Every distance of a circuit as one shape: what lets one protocol compute them all.

    value(a, b) = own_a(a) + own_b(b) + Σᵢ 2^shiftᵢ · bitᵢ(a) · factorᵢ(b)

with bits that A computes alone and factors that B computes alone:

    Hamming            Σ aᵢ ⊕ bᵢ = Σ bᵢ + Σ aᵢ·(1 − 2bᵢ)
    squared Euclidean  Σ (aᵢ − bᵢ)² = Σ aᵢ² + Σ bᵢ² + Σᵢⱼ 2^(j+1) · aᵢⱼ · (−bᵢ), j over the bits of aᵢ
    bilinear           weights split into an odd part, which B multiplies in, and a power of two
    equality           the Hamming distance of all bits, at most 0
    mismatches         length − Σᵢ Σ_c [aᵢ = c]·[bᵢ = c], c over the letters
    letters nearby     Σ_c [aᵢ = c]·Σⱼ 2ʲ·[bᵢ₋ₜ₊ⱼ = c]; only one c is A's letter, so that nothing is carried
                       and each bit is an equality

What is compared with a bound t can be divided by what all its products have in common, g, so that a smaller
ring holds it. With α and β the own parts, v = α + β + g·S, and v ≤ t exactly if ⌈(v − t)/g⌉ ≤ 0, which is

    ceiling            S + ⌊α/g⌋ − ⌊(t − β)/g⌋ + Σ_c [α mod g = c]·[(t − β) mod g < c],  c = 1 … g − 1

since ⌈(α + β − t)/g⌉ is the difference of the two floors, and one more where α's rest is the larger one. Here
a Hamming distance is |a| + |b| − 2·⟨a, b⟩, so its half costs one product more, of two parities.

Thresholds on the same two filters share the expensive part: what is compared is c·⟨a, b⟩ with a public c, and
a *rest* of own parts and g − 1 products, the ceiling without its S. A weight that depends on few values of a
row of A needs no comparison at all, with x the kinds of rows that A can have and W what a pair weighs:

    weights            W[0][b] + Σ_x [a is of kind x]·(W[x][b] − W[0][b]),  x = 1, 2, …

Two more are bits, for who holds a row in shares and so has no bit of it to put into a formula (`ot/held.py`):

    both               [a has the bit]·[b has it]
    ending             [a's text has no letter in a place], or b's: an own part alone

Where A's elements can be multiplied whole, as under homomorphic encryption, they take the place of bits:

    value(a, b) = own_a(a) + own_b(b) + Σᵢ elementᵢ(a) · multiplierᵢ(b)

A term with shift s needs only ℓ − s bits in a ring of ℓ bits: the higher ones fall off (Gilboa, CRYPTO'99).
The invariant: bits, factors and own parts are functions of one side's rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from accord.secure.circuit import (
    AtMost,
    Bilinear,
    Both,
    Equal,
    Hamming,
    Input,
    Mismatches,
    Product,
    SquaredEuclidean,
)
from accord.side import Side

Ints = NDArray[np.int64]
Reader = Callable[[Input], Ints]
"""Gives the rows of an input, shape (rows, length)."""

Linear = Hamming | Bilinear | Equal


@dataclass(frozen=True)
class Ceiling:
    """⌈(value − bound)/divisor⌉ of a value whose products all have weights that the divisor divides."""

    of: Linear
    bound: int
    divisor: int


@dataclass(frozen=True)
class Rest:
    """A ceiling without its products, which are to be added."""

    of: Ceiling


@dataclass(frozen=True, eq=False)
class Weights:
    """Numbers by what each side's row is like: `kinds` of A's values, and weights (kind, value of B).

    A value stands for those of all inputs of a side, as the digits of one number (`cell`).
    """

    of_a: tuple[Input, ...]
    of_b: tuple[Input, ...]
    kinds: Ints
    weights: Ints


@dataclass(frozen=True)
class Added:
    """The sum of several weights."""

    parts: tuple[Weights, ...]


@dataclass(frozen=True)
class Nearby:
    """In which places around `place`, from `place − reach` on, B has the letter that A has in `place`: a bit
    each, none beyond the ends of B's text."""

    of: Input
    place: int
    reach: int


@dataclass(frozen=True)
class Ending:
    """Whether a side's text has no letter in `place`, nor behind it."""

    of: Input
    side: Side
    place: int


@dataclass(frozen=True)
class Marked:
    """A bit of A's row."""

    of: Input
    place: int


Formed = (
    Hamming
    | Mismatches
    | SquaredEuclidean
    | Bilinear
    | Equal
    | Ceiling
    | Rest
    | Added
    | Nearby
    | Both
    | Ending
    | Marked
)

LARGEST = 64
"""No larger divisor is tried: each costs as many products, less one."""


@dataclass(frozen=True)
class Form:
    """A value as own parts and shifted products of a bit of A with a factor of B."""

    of: Formed
    low: int
    high: int
    shifts: tuple[int, ...]


@cache
def form_of(of: Formed) -> Form:
    """The form of a distance."""
    match of:
        case Hamming(source) | Equal(source):
            count = source.length * source.bits
            return Form(of, 0, count, (0,) * count)
        case SquaredEuclidean(source):
            return Form(of, of.low, of.high, tuple(range(1, source.bits + 1)) * source.length)
        case Mismatches(source):
            return Form(of, of.low, of.high, (0,) * (source.length * (source.high + 1)))
        case Nearby(source, _, reach):
            return Form(of, 0, (2 << 2 * reach) - 1, (0,) * (source.high + 1))
        case Bilinear(products):
            return Form(of, of.low, of.high, tuple(s for p in products for s in _product_shifts(p)))
        case Ceiling(whole, bound, divisor):
            form = form_of(_divide(whole, divisor) if isinstance(whole, Bilinear) else whole)
            low, high = (-((bound - end) // divisor) for end in (form_of(whole).low, form_of(whole).high))
            return Form(of, low, high, form.shifts + (0,) * (divisor - 1))
        case Rest(ceiling):
            form = form_of(ceiling)
            return Form(of, form.low, form.high, (0,) * (ceiling.divisor - 1))
        case Added(parts):
            low, high = (sum(int(end(part.weights)) for part in parts) for end in (np.min, np.max))
            return Form(of, low, high, (0,) * sum(len(part.weights) - 1 for part in parts))
        case Both():
            return Form(of, 0, 1, (0,))
        case Ending() | Marked():
            return Form(of, 0, 1, ())


@dataclass(frozen=True)
class Family:
    """A comparison of c·⟨a, b⟩ and a rest with 0, in one of the ways that say the same."""

    factor: int
    rest: Form


def overlap_of(node: AtMost | Equal) -> Product | None:
    """⟨a, b⟩ of two inputs of bits, if all that a comparison multiplies is a multiple of it."""
    match node:
        case Equal(of) | AtMost(Hamming(of)) if of.high == 1:
            return Product(of, of, 1)
        case AtMost(Bilinear((product,))) if max(product.left.high, product.right.high) == 1:
            return replace(product, weight=1)
        case _:
            return None


def families(node: AtMost | Equal) -> list[Family]:
    """The ways to compare a multiple of an overlap and a rest; none if numbers are too large to divide."""
    form, bound = comparison_of(node)
    of, weight = form.of, -2
    if isinstance(of, Bilinear):
        of, bound = _simplify(of, bound)
        weight = of.products[0].weight
        if max(abs(end) for end in (bound, *with_dummies(form_of(of)))) >= 1 << 61:
            return []
    assert isinstance(of, Hamming | Bilinear | Equal)
    divisors = [d for d in range(1, min(abs(weight), LARGEST) + 1) if weight % d == 0]
    return [Family(weight // d, form_of(Rest(Ceiling(of, bound, d)))) for d in divisors]


def cell(inputs: tuple[Input, ...], read: Reader) -> Ints:
    """The values of some inputs, at least one, as one number a row."""
    number = np.zeros(1, dtype=np.int64)
    for of in inputs:
        for element in read(of).T:
            number = number * (of.high + 1) + element
    return number


def cells(inputs: tuple[Input, ...]) -> int:
    """How many such numbers there are."""
    return math.prod((of.high + 1) ** of.length for of in inputs)


def every_cell(inputs: tuple[Input, ...]) -> dict[str, Ints]:
    """Rows of which the n-th has the number n."""
    numbers, columns = np.arange(cells(inputs)), {}
    for of in reversed(inputs):
        elements = []
        for _ in range(of.length):
            elements.append(numbers % (of.high + 1))
            numbers = numbers // (of.high + 1)
        columns[of.name] = np.stack(elements[::-1], axis=1)
    return columns


def _divide(of: Bilinear, divisor: int) -> Bilinear:
    """The same with weights of the products divided; of its bounds and offsets nothing is kept."""
    products = tuple(replace(p, weight=p.weight // divisor) for p in of.products)
    return replace(of, products=products)


def alternatives(node: AtMost | Equal) -> list[tuple[Form, int]]:
    """Forms and bounds that all say whether the comparison holds: as it is, and divided where that goes."""
    form, bound = comparison_of(node)
    match form.of:
        case Bilinear() as of:
            of, bound = _simplify(of, bound)
            form = form_of(of)
            # Floors and rests must be those of the true numbers, so these have to fit a machine word.
            fits = max(abs(end) for end in (bound, *with_dummies(form))) < 1 << 61
            common = math.gcd(*(p.weight for p in of.products)) if fits else 1
        case Hamming() | Equal() as of:
            common = 2
        case _:
            return [(form, bound)]
    divisors = [d for d in range(2, min(common, LARGEST) + 1) if common % d == 0]
    return [(form, bound), *((form_of(Ceiling(of, bound, d)), 0) for d in divisors)]


def _simplify(of: Bilinear, bound: int) -> tuple[Bilinear, int]:
    """Without what all weights have in common."""
    own = (of.weight_a, of.weight_b) if of.offset is not None else ()
    common = math.gcd(*own, *(p.weight for p in of.products)) or 1
    less = replace(
        _divide(of, common),
        weight_a=of.weight_a // common,
        weight_b=of.weight_b // common,
        low=-(-of.low // common),
        high=of.high // common,
    )
    return less, bound // common


def comparison_of(node: AtMost | Equal) -> tuple[Form, int]:
    """The form that a comparison compares, and its bound."""
    return (form_of(node), 0) if isinstance(node, Equal) else (form_of(node.value), node.bound)


def constant(node: AtMost | Equal) -> bool | None:
    """The answer of a comparison that cannot fail, or cannot hold."""
    form, bound = comparison_of(node)
    if bound < form.low:
        return False
    return True if bound >= form.high else None


def twos(weight: int) -> int:
    """How often 2 divides a weight."""
    return (weight & -weight).bit_length() - 1 if weight else 0


def _product_shifts(product: Product) -> tuple[int, ...]:
    low = twos(product.weight)
    return tuple(range(low, low + product.left.bits)) * product.left.length


def _bits(values: Ints, bits: int) -> NDArray[np.uint8]:
    """Shape (length·bits, rows): the bits of each element, lowest first."""
    if bits == 1:
        return values.T.astype(np.uint8, order="C")
    planes = (values.T[:, None, :] >> np.arange(bits)[None, :, None]) & 1
    return planes.reshape(-1, len(values)).astype(np.uint8, order="C")


def _is_letter(of: Input, values: Ints) -> NDArray[np.bool_]:
    """Shape (length, high + 1, rows): whether an element is this letter."""
    return values.T[:, None, :] == np.arange(of.high + 1)[None, :, None]


def choice_bits(form: Form, read: Reader) -> NDArray[np.uint8]:
    """A's bits, shape (terms, rows)."""
    match form.of:
        case Hamming(source) | Equal(source) | SquaredEuclidean(source):
            return _bits(read(source), source.bits)
        case Bilinear(products):
            parts = [_bits(read(p.left), p.left.bits) for p in products]
            return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.uint8)
        case Mismatches(source):
            return _is_letter(source, read(source)).reshape(len(form.shifts), -1).astype(np.uint8)
        case Nearby(source, place):
            return _is_letter(source, read(source)[:, place : place + 1])[0].astype(np.uint8)
        case Ceiling(whole):
            more = choice_bits(form_of(Rest(form.of)), read)
            return np.concatenate([choice_bits(form_of(whole), read), more])
        case Rest(Ceiling(whole, _, divisor)):
            source = whole.products[0].left if isinstance(whole, Bilinear) else whole.of
            rest = _whole_part(whole, Side.A, read, len(read(source))) % divisor
            return (rest == np.arange(1, divisor)[:, None]).astype(np.uint8)
        case Added(parts):
            kinds = [(part.kinds[cell(part.of_a, read)], len(part.weights)) for part in parts]
            return np.concatenate([kind == np.arange(1, n)[:, None] for kind, n in kinds]).astype(np.uint8)
        case Both(source):
            return (read(source).T != 0).astype(np.uint8)
        case Ending() | Marked():
            return np.zeros((0, 0), dtype=np.uint8)


def name_bits(form: Form, where: Input | None) -> list[Hashable]:
    """What each of A's bits is, read of rows with the bit `where` alone: what has one name is one bit."""
    match form.of:
        case Hamming(source) | Equal(source) | SquaredEuclidean(source):
            return _name(source, where, "bit", range(source.length), range(source.bits))
        case Bilinear(products):
            every = (_name(p.left, where, "bit", range(p.left.length), range(p.left.bits)) for p in products)
            return [name for names in every for name in names]
        case Mismatches(source):
            return _name(source, where, "letter", range(source.length), range(source.high + 1))
        case Nearby(source, place):
            return _name(source, where, "letter", [place], range(source.high + 1))
        case Ceiling(whole):
            return [*name_bits(form_of(whole), where), *name_bits(form_of(Rest(form.of)), where)]
        case Rest(Ceiling(whole, _, divisor)):
            return [(whole, where, divisor, rest) for rest in range(1, divisor)]
        case Added(parts):
            kinds = [((part.of_a, part.kinds.tobytes()), len(part.weights)) for part in parts]
            return [(*of, where, kind) for of, n in kinds for kind in range(1, n)]
        case Both(source):
            return [(source, where, "any")]
        case Ending() | Marked():
            return []


def _name(
    of: Input, where: Input | None, kind: str, places: Iterable[int], values: Iterable[int]
) -> list[Hashable]:
    """All values in some places. Rows without `of.where` have zeros there, asked for or not."""
    asked = None if where == of.where else where
    return [(of, asked, kind, place, value) for place in places for value in values]


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
        case Mismatches(source):
            return -_is_letter(source, read(source)).reshape(len(form.shifts), -1).astype(np.int64)
        case Nearby(source, place, reach):
            first, last = max(0, place - reach), min(source.length, place + reach + 1)
            bits = _is_letter(source, read(source)[:, first:last]).astype(np.int64)
            return (bits << np.arange(first, last)[:, None, None] - (place - reach)).sum(axis=0)
        case Ceiling(whole, _, divisor):
            if isinstance(whole, Bilinear):
                factor = factors(form_of(_divide(whole, divisor)), read)
            else:
                factor = -_bits(read(whole.of), whole.of.bits).astype(np.int64)
            return np.concatenate([factor, factors(form_of(Rest(form.of)), read)])
        case Rest(Ceiling(whole, bound, divisor)):
            source = whole.products[0].right if isinstance(whole, Bilinear) else whole.of
            rest = (bound - _whole_part(whole, Side.B, read, len(read(source)))) % divisor
            return (rest < np.arange(1, divisor)[:, None]).astype(np.int64)
        case Added(parts):
            columns = [part.weights[:, cell(part.of_b, read)] for part in parts]
            return np.concatenate([column[1:] - column[0] for column in columns])
        case Both(source):
            return (read(source).T != 0).astype(np.int64)
        case Ending() | Marked():
            return np.zeros((0, 0), dtype=np.int64)


def _whole_part(of: Linear, side: Side, read: Reader, rows: int) -> Ints:
    """What a side adds to a value that is to be divided: |a| or |b|, or its weighted offset."""
    if isinstance(of, Bilinear):
        return own_part(form_of(of), side, read, rows)
    return _bits(read(of.of), of.of.bits).sum(axis=0, dtype=np.int64)


def reach(form: Form) -> tuple[int, int]:
    """The least and the largest value that any rows could give, dummies included."""
    if not isinstance(form.of, Bilinear):
        return form.low, form.high
    of, ends = form.of, []
    ends += [p.weight * p.left.length * p.left.high * p.right.high for p in of.products]
    if of.offset is not None:
        ends += [of.weight_a * of.offset.high, of.weight_b * of.offset.high]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


def with_dummies(form: Form) -> tuple[int, int]:
    """The least and the largest value, also of pairs with a row all of whose inputs are zero."""
    match form.of:
        case Bilinear(_, offset, weight_a, weight_b):
            most = 0 if offset is None else offset.high
            ends = (form.low, form.high, 0, weight_a * most, weight_b * most)
            return min(ends), max(ends)
        case Ceiling(whole, bound, divisor) | Rest(Ceiling(whole, bound, divisor)):
            low, high = (-((bound - end) // divisor) for end in with_dummies(form_of(whole)))
            return low, high
        case _:
            return form.low, form.high


def of_zeros(form: Form) -> tuple[int, int]:
    """The least and the largest value of pairs with a row all of whose inputs are zero."""
    match form.of:
        case Bilinear(_, offset, weight_a, weight_b):
            most = 0 if offset is None else offset.high
            ends = (0, weight_a * most, weight_b * most)
            return min(ends), max(ends)
        case Ceiling(whole, bound, divisor) | Rest(Ceiling(whole, bound, divisor)):
            low, high = (-((bound - end) // divisor) for end in of_zeros(form_of(whole)))
            return low, high
        case _:
            return 0, form.high


def _odd(product: Product) -> int:
    return product.weight >> twos(product.weight)


def own_part(form: Form, side: Side, read: Reader, rows: int) -> Ints:
    """What a side adds by itself for each of its rows."""
    nothing = np.zeros(rows, dtype=np.int64)
    match form.of:
        case Hamming(source) | Equal(source):
            return nothing if side is Side.A else _bits(read(source), source.bits).sum(axis=0, dtype=np.int64)
        case SquaredEuclidean(source):
            return np.sum(read(source) ** 2, axis=1)
        case Mismatches(source):
            return np.full(rows, source.length if side is Side.A else 0, dtype=np.int64)
        case Nearby() | Both():
            return nothing
        case Ending(source, whose, place):
            return (read(source)[:, place] == 0).astype(np.int64) if side is whose else nothing
        case Marked(source, place):
            return read(source)[:, place] if side is Side.A else nothing
        case Bilinear(_, offset, weight_a, weight_b):
            if offset is None:
                return nothing
            return (weight_a if side is Side.A else weight_b) * read(offset)[:, 0]
        case Ceiling(whole, bound, divisor) | Rest(Ceiling(whole, bound, divisor)):
            part = _whole_part(whole, side, read, rows)
            return part // divisor if side is Side.A else -((bound - part) // divisor)
        case Added(parts):
            if side is Side.A:
                return nothing
            return np.sum([part.weights[0, cell(part.of_b, read)] for part in parts], axis=0)
