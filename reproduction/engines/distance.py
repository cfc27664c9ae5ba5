"""Masked distances under Paillier's encryption: the first half of the paper's SecureMatch ([HMFS17], Alg. 4).

A encrypts the elements of its rows, bits or coordinates, and the number that its row adds by itself. B,
without the key, computes an encryption of the distance plus r and sends it back re-randomised; A decrypts.
So A has d + r and B has r, with r uniform below 2^(m + HIDING) for distances of m bits: what A sees is within
2⁻ᴴᴵᴰᴵᴺᴳ of something that does not depend on the distance. B sees ciphertexts alone.

A *pack* is some rows of A against rows of B. Its rows of A share ciphertexts, in sections of
w = m + HIDING + 1 bits: element i of all of them is one plaintext Σⱼ 2^(w·j)·elementᵢ(aⱼ), and B's one linear
combination gives the distances of all of them from b. With one row a pack this is the paper's protocol; with
as many as a plaintext holds, its packed variant. No section runs over or under: m covers what any rows could
give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import PeerError, UnsupportedError
from accord.secure.blocks import LONGEST, Blocks
from accord.secure.circuit import Bilinear, Equal, Hamming, Input, Mismatches, SquaredEuclidean
from accord.secure.forms import Form, Reader, choice_bits, factors, own_part, reach
from accord.secure.party import Party, Send, receive
from accord.side import Side
from reproduction.engines.encryption import Number, PrivateKey, PublicKey

Ints = NDArray[np.int64]

HIDING = 64
"""Bits by which a mask is longer than what it hides."""

_WIDEST = 61


@dataclass(frozen=True)
class Distance:
    """A value that is computed under encryption, and where its shares go."""

    form: Form
    share: Input

    @property
    def least(self) -> int:
        return reach(self.form)[0]

    @property
    def bits(self) -> int:
        """Bits of the value less its least."""
        least, most = reach(self.form)
        return (most - least).bit_length()

    @property
    def section(self) -> int:
        """Bits that a row has in a plaintext."""
        return self.bits + HIDING + 1

    @property
    def masked(self) -> Bilinear:
        """The value, less its least, as the difference of the two shares."""
        least = self.least
        return Bilinear((), self.share, 1, -1, self.form.low - least, self.form.high - least)


def distance_of(of: Form, number: int, engine: str) -> Distance:
    """The distance of a form, or an `UnsupportedError`."""
    least, most = reach(of)
    bits = (most - least).bit_length()
    if bits > _WIDEST:
        raise UnsupportedError(engine=engine, node=f"a distance that needs {bits} bits")
    return Distance(of, Input(f"share {number}", 1, (1 << bits + 1) - 1))


def ciphertexts(form: Form) -> int:
    """Ciphertexts that A sends for each pack: what its rows add by themselves, and their elements."""
    match form.of:
        case Hamming(of) | Equal(of):
            return 1 + of.length * of.bits
        case SquaredEuclidean(of):
            return 1 + of.length
        case Bilinear(products):
            return 1 + sum(p.left.length for p in products)
        case Mismatches():
            return 1 + len(form.shifts)
        case _:
            raise TypeError("a sum over A's bits has no elements")


@dataclass(frozen=True, eq=False)
class Pack:
    """Rows of A against rows of B; pair (i, j) has place[i] + j in the answer."""

    a_rows: Ints
    b_rows: Ints
    place: Ints


def packs(blocks: Blocks, most: int) -> Iterator[Pack]:
    """All pairs of the blocks, at most `most` rows of A at a time."""
    a_end, b_end = np.cumsum(blocks.a_counts), np.cumsum(blocks.b_counts)
    done = 0
    for a_stop, m, b_stop, n in zip(a_end, blocks.a_counts, b_end, blocks.b_counts, strict=True):
        for i, j in product(range(0, m, most), range(0, n, LONGEST)):
            rows = np.arange(i, min(m, i + most))
            a_rows, b_rows = blocks.a_rows[a_stop - m :][rows], blocks.b_rows[b_stop - n : b_stop]
            yield Pack(a_rows, b_rows[j : j + LONGEST], done + rows * n + j)
        done += int(m * n)


def pack_sizes(distances: Sequence[Distance], key_bytes: int, b_rows: int) -> tuple[int, int]:
    """Bytes of A's and of B's message for a pack."""
    return key_bytes * sum(ciphertexts(d.form) for d in distances), key_bytes * len(distances) * b_rows


def ask(
    key: PrivateKey, distances: Sequence[Distance], pack: Pack, read: Reader, entropy: Entropy
) -> Party[list[Ints]]:
    """A's shares of each distance, d + r mod 2^(bits + 1), shape (rows of A, rows of B).

    Learns: d + r alone.
    """
    rows, columns = len(pack.a_rows), len(pack.b_rows)
    values = list[int]()
    for of in distances:
        own = own_part(of.form, Side.A, lambda field: read(field)[pack.a_rows], rows)
        parts = elements(of.form, lambda field: read(field)[pack.a_rows])
        values += [_pack(line, of.section) for line in (own.tolist(), *parts.tolist())]
    # A mask hides what is no longer than agreed: numbers that are too long would come back readable.
    yield Send(key.to_wire(key.encrypt(values, entropy)))
    answer = yield from receive(pack_sizes(distances, key.size, columns)[1])
    found = key.decrypt(key.from_wire(answer.data))
    every = (found[i * columns : (i + 1) * columns] for i in range(len(distances)))
    return [_unpack(numbers, of, rows).T for numbers, of in zip(every, distances, strict=True)]


def _pack(values: Sequence[int], section: int) -> int:
    return sum(value << section * place for place, value in enumerate(values))


def _unpack(numbers: Sequence[int], of: Distance, rows: int) -> Ints:
    """The lowest bits of each section of each number, shape (numbers, rows)."""
    if any(number >> of.section * rows for number in numbers):
        raise PeerError(problem="a distance that is larger than it can be")
    return np.array(
        [[number >> of.section * place & of.share.high for place in range(rows)] for number in numbers],
        dtype=np.int64,
    ).reshape(-1, rows)


def answer(
    key: PublicKey, distances: Sequence[Distance], pack: Pack, read: Reader, entropy: Entropy
) -> Party[list[Ints]]:
    """B's shares of each distance, r mod 2^(bits + 1), shape (rows of A, rows of B).

    Learns: nothing. Distribution: r uniform, fresh for each pair; ciphertexts under fresh randomness.
    """
    size = pack_sizes(distances, key.size, len(pack.b_rows))[0]
    got = key.from_wire((yield from receive(size)).data)
    sent, shares = list[Number](), list[Ints]()
    for of in distances:
        count = ciphertexts(of.form)
        masks = _draw_masks(of, len(pack.b_rows) * len(pack.a_rows), entropy)
        sent += _answer_one(key, of, got[:count], pack, masks, read, entropy)
        low = np.array([mask & of.share.high for mask in masks], dtype=np.int64)
        shares.append(low.reshape(len(pack.b_rows), -1).T)
        got = got[count:]
    yield Send(key.to_wire(sent))
    return shares


def _draw_masks(of: Distance, count: int, entropy: Entropy) -> list[int]:
    """Uniform masks below 2^(bits + HIDING)."""
    bits = of.bits + HIDING
    size = -(-bits // 8)
    data = entropy.bytes(count * size)
    return [int.from_bytes(data[i : i + size], "little") & (1 << bits) - 1 for i in range(0, len(data), size)]


def _answer_one(
    key: PublicKey,
    of: Distance,
    got: Sequence[Number],
    pack: Pack,
    masks: list[int],
    read: Reader,
    entropy: Entropy,
) -> list[Number]:
    """For each row of B, the masked distances of the pack's rows of A."""
    rows, columns = len(pack.a_rows), len(pack.b_rows)
    own = own_part(of.form, Side.B, lambda field: read(field)[pack.b_rows], columns).tolist()
    factors = multipliers(of.form, lambda field: read(field)[pack.b_rows])
    ones = np.ones((1, columns), np.int64)
    numbers = np.concatenate([ones, factors]) if len(factors) else ones
    combined = key.combine(got, numbers.T.tolist(), largest_multiplier(of.form).bit_length())
    fresh, sent = key.masks(columns, entropy), []
    for j in range(columns):
        added = [own[j] - of.least + mask for mask in masks[j * rows : (j + 1) * rows]]
        sent.append(combined[j] * key.plain(_pack(added, of.section)) * fresh[j] % key.square)
    return sent


# -- what is multiplied -------------------------------------------------------------------------------------


def elements(form: Form, read: Reader) -> Ints:
    """A's elements, shape (terms, rows); those of a Hamming distance, an equality or letters are bits."""
    match form.of:
        case Hamming() | Equal() | Mismatches():
            return choice_bits(form, read).astype(np.int64)
        case SquaredEuclidean(source):
            return read(source).T
        case Bilinear(products):
            parts = [read(p.left).T for p in products]
            return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.int64)
        case _:
            raise TypeError("no distance under encryption")


def multipliers(form: Form, read: Reader) -> Ints:
    """B's multipliers, shape (terms, rows)."""
    match form.of:
        case Hamming() | Equal() | Mismatches():
            return factors(form, read)
        case SquaredEuclidean(source):
            return -2 * read(source).T
        case Bilinear(products):
            parts = [p.weight * read(p.right).T for p in products]
            return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.int64)
        case _:
            raise TypeError("no distance under encryption")


def largest_multiplier(form: Form) -> int:
    """No multiplier of B is larger, whatever its rows are; at least 1."""
    match form.of:
        case Hamming() | Equal() | Mismatches():
            return 1
        case SquaredEuclidean(source):
            return 2 * max(1, source.high)
        case Bilinear(products):
            return max([1, *(abs(p.weight) * p.right.high for p in products)])
        case _:
            raise TypeError("no distance under encryption")
