"""Shares of a distance for all pairs of a batch: choices of a group of A's rows, shared by the rows of B.

A group is k rows of A that meet the same stretch of B's rows. For each term i of the form it has one tree of
2ᵏ seeds (`transfer/half_tree.py`), of which A lacks number Δ: its k bits, by which it chose in k OTs. Seeds
expand to one ring element for each row of the stretch, r_x. For one row of B, with v_j = Σ r_x over the x
that have bit j, and u = Σ r_x over all x,

    B sends     c = factorᵢ(b) − u                          in ℓ − shiftᵢ bits, once for the k rows
    B's share   own_b(b) + Σᵢ 2^shiftᵢ · v_j
    A's share   own_a(a) + Σᵢ 2^shiftᵢ · (Δ_j·(u′ + c) − v′_j), u′ and v′ being sums without r_Δ

and the two add up to the value mod 2^ℓ: v_j − v′_j = Δ_j·r_Δ and u − u′ = r_Δ, so A's bracket is
Δ_j·factor − v_j. For k = 1 this is the additive correlated OT of Asharov, Lindell, Schneider, Zohner
(CCS'13); for larger k the small-field VOLE of Roy (SoftSpokenOT, CRYPTO'22), over the integers mod 2^ℓ.
Products are Gilboa's (CRYPTO'99). In an exclusive share XOR takes the place of + and −; nothing is shifted.

Assumption: H of `transfer/permutation.py` is correlation robust; t is the block.
Learns: B nothing; A, for each row of B, group and term, one ring element that r_Δ makes uniform to it. A row
that occurs in several blocks is in a tree of its own in each, so that copies of a record cannot be linked.

What seeds expand to is summed over the terms before it is folded to k sums: a byte is touched when it is
made, added to u, and added to the line of its x.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.kernel import Kernel, kernel
from accord.secure.blocks import StripBatch
from accord.secure.ot.program import NumberShare
from accord.secure.transfer.half_tree import grow, rebuild
from accord.secure.transfer.packing import LANES, groups, pack, packed_words, unpack
from accord.secure.transfer.permutation import Permutation, mix

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

_LINES = 1 << 17
"""Bytes of lines that are summed into at once: they stay in the cache while all terms pass."""
_STREAM = 1 << 19
"""Bytes that seeds are expanded to at once."""


def correction_bytes(share: NumberShare, columns: int) -> int:
    """Bytes of all corrections of a batch, up to whole words so that what follows is aligned."""
    return -(-packed_words(columns, share.lane, share.widths) * share.lane // 64) * 8


def sum_bytes(share: NumberShare, strips: int, groups: int) -> int:
    """Bytes of what B sends to complete the trees of a batch."""
    return 16 * len(share.form.shifts) * (strips - groups)


def _shifts(share: NumberShare) -> Ints:
    # A shift of 63 already moves everything out of a ring of at most 62 bits.
    return np.minimum(np.array(share.form.shifts, dtype=np.int64), 63)


GroupPlaces = tuple[Ints, Ints, Ints, Ints]
"""Of each group: its first column, pair and row of B, and its width."""
_PLACES = "UniTuple(int64[::1], 4)"
Ends = tuple[int, int, int]
"""Of what is expanded at once: its first term, the one after its last, and its first group."""
_ENDS = "UniTuple(int64, 3)"


class _Class:
    """The groups of a batch with the same number of members, and how one share of them lies in memory."""

    def __init__(self, share: NumberShare, batch: StripBatch, k: int) -> None:
        heads = np.cumsum(batch.members) - batch.members
        width = batch.width[heads]
        self.of = np.flatnonzero(batch.members == k)
        self.k, self.lane, self.dtype = k, share.lane, np.dtype(f"u{share.lane // 8}")
        self.exclusive = share.exclusive
        self.heads, self.strips = heads[self.of], len(batch.width)
        columns = (np.cumsum(width) - width)[self.of]
        self.places = columns, batch.start[self.heads], batch.b_start[self.heads], width[self.of]
        self.hashes = -(-width[self.of] * share.lane // 128)
        self.shifts = _shifts(share)
        before = np.cumsum(batch.members - 1) - (batch.members - 1)
        self.sums_first, self.sums_all = before[self.of], int((batch.members - 1).sum())

    @property
    def _members(self) -> Ints:
        """The strips of each group, the last one first: a tree's levels begin with the highest bit."""
        return self.heads[:, None] + np.arange(self.k)[::-1]

    def rows(self, rows: Words) -> Words:
        """The OT rows of every tree, shape (terms · groups, k, 2)."""
        return rows.reshape(-1, self.strips, 2)[:, self._members].reshape(-1, self.k, 2)

    def points(self, bits: NDArray[np.uint8]) -> Ints:
        """The seed that A lacks of every tree."""
        chosen = bits[:, self._members].astype(np.int64)
        return (chosen << np.arange(self.k)[::-1]).sum(axis=2).reshape(-1)

    @property
    def sums(self) -> Ints:
        """Where the sums of every tree are, of all sums of a share."""
        terms = np.arange(len(self.shifts))[:, None, None] * self.sums_all
        return (terms + self.sums_first[:, None] + np.arange(self.k - 1)).reshape(-1)

    def parts(self) -> Iterator[tuple[slice, list[slice]]]:
        """Groups whose lines stay in the cache, and for them the terms that are expanded together."""
        lines = np.cumsum(self.hashes * (16 << self.k))
        first = 0
        while first < len(lines):
            done = int(lines[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(lines, done + _LINES, side="right")))
            step = max(1, _STREAM // (int(lines[last - 1]) - done))
            terms = len(self.shifts)
            yield slice(first, last), [slice(t, min(terms, t + step)) for t in range(0, terms, step)]
            first = last


class _Expansion:
    """The leaves of all trees of a class, ready to be expanded part by part."""

    def __init__(self, pi: Permutation, of: _Class, leaves: Words, holes: Ints) -> None:
        self.pi, self.of = pi, of
        shape = len(of.shifts), len(of.of)
        self.inner = mix(leaves).reshape(*shape, 1 << of.k, 2)
        self.holes = holes.reshape(shape)

    def sum(self, groups: slice, parts: list[slice], values: NDArray[Any]) -> NDArray[Any]:
        """Write the sums u of some groups into `values`, and sum the line of each x over all terms."""
        of, at = self.of, groups.start
        columns, _, _, width = of.places
        hashes = of.hashes[groups]
        places, blocks = (columns[groups], hashes, width[groups]), int(hashes.sum()) << of.k
        flat = self.pi.scratch("lines", blocks).reshape(-1)
        flat[:] = 0
        lines = flat.view(of.dtype)
        words = self.pi.scratch("work", int(hashes.max())).reshape(-1)
        work = words, words.view(of.dtype)
        for terms in parts:
            ends = terms.start, terms.stop, at
            source = self.pi.scratch("streams", (terms.stop - terms.start) * blocks)
            _spread(self.inner, hashes, ends, source)
            stream = self.pi.apply(source, "stream").reshape(-1)
            holes = self.holes, of.exclusive
            _GATHER[of.lane](stream, self.inner, *holes, places, ends, of.shifts, work, values, lines)
        return lines


def room(pi: Permutation, share: NumberShare, batch: StripBatch, name: str = "values") -> NDArray[Any]:
    """Room for one value a term and column, padded with zeros."""
    size, terms = groups(batch.columns, share.lane) * share.lane, len(share.form.shifts)
    flat = pi.scratch(name, -(-terms * size * share.lane // 128)).reshape(-1)
    result = flat.view(f"u{share.lane // 8}")[: terms * size].reshape(terms, size)
    result[:, batch.columns :] = 0
    return result


def pack_values(
    share: NumberShare, batch: StripBatch, values: NDArray[Any], corrections: NDArray[Any]
) -> None:
    """Values as they are sent."""
    used = packed_words(batch.columns, share.lane, share.widths)
    pack(values, share.widths, corrections[:used])
    corrections[used:] = 0


def unpack_values(
    pi: Permutation, share: NumberShare, batch: StripBatch, corrections: NDArray[Any]
) -> NDArray[Any]:
    """The inverse of `pack_values`, in memory that is valid until the next."""
    got = room(pi, share, batch, "got")
    used = packed_words(batch.columns, share.lane, share.widths)
    unpack(corrections[:used], share.widths, batch.columns, got)
    if corrections[used:].any():
        raise PeerError(problem="padding that is not zero")
    return got


def reduce(share: NumberShare, result: NDArray[Any]) -> NDArray[Any]:
    """Shares mod 2^ℓ."""
    result &= result.dtype.type((1 << share.bits) - 1)
    return result


class Parts(NamedTuple):
    """What travels of a share, from B to A."""

    sums: Words
    """Of the trees, level by level."""
    corrections: NDArray[Any]
    """Packed."""


def send_distance(
    pi: Permutation,
    share: NumberShare,
    rows: Words,
    delta: Words,
    batch: StripBatch,
    factors: NDArray[Any],
    own: Ints,
    sent: Parts,
) -> NDArray[Any]:
    """B's shares, one a pair; fills what is sent. `factors` is (terms, rows of B)."""
    result = own.astype(f"u{share.lane // 8}")
    if not len(share.form.shifts):
        return reduce(share, result)
    factor = factors.astype(result.dtype, order="C", copy=False)
    values, sums = room(pi, share, batch), sent.sums.reshape(-1, 2)
    for k in np.unique(batch.members).tolist():
        of = _Class(share, batch, k)
        trees = of.rows(rows)
        leaves = np.empty((len(trees), 1 << k, 2), dtype=np.uint64)
        sums[of.sums] = grow(pi, trees, delta, leaves).reshape(-1, 2)
        expansion = _Expansion(pi, of, leaves, np.full(len(trees), -1))
        for some, parts in of.parts():
            lines = expansion.sum(some, parts, values)
            places = tuple(part[some] for part in of.places)
            _CORRECT[share.lane](places, factor, share.exclusive, values)
            _FOLD[share.lane](places, of.hashes[some], k, share.exclusive, lines, result)
    pack_values(share, batch, values, sent.corrections)
    return reduce(share, result)


def receive_distance(
    pi: Permutation,
    share: NumberShare,
    rows: Words,
    batch: StripBatch,
    bits: NDArray[np.uint8],
    own: Ints,
    parts: Parts,
) -> NDArray[Any]:
    """A's shares, one a pair. `bits` is (terms, strips), `own` a number a pair."""
    result = own.astype(f"u{share.lane // 8}")
    if not len(share.form.shifts):
        return reduce(share, result)
    values, sums = room(pi, share, batch), parts.sums.reshape(-1, 2)
    got = unpack_values(pi, share, batch, parts.corrections)
    for k in np.unique(batch.members).tolist():
        of = _Class(share, batch, k)
        trees, points = of.rows(rows), of.points(bits)
        leaves = np.zeros((len(trees), 1 << k, 2), dtype=np.uint64)
        rebuild(pi, trees, points, sums[of.sums].reshape(len(trees), k - 1, 2), leaves)
        expansion = _Expansion(pi, of, leaves, points)
        for some, blocks in of.parts():
            lines = expansion.sum(some, blocks, values)
            places = tuple(part[some] for part in of.places)
            holes = expansion.holes[:, some]
            _COLLECT[share.lane](places, k, holes, of.shifts, share.exclusive, values, got, result)
            if not share.exclusive:
                np.negative(lines, out=lines)
            _FOLD[share.lane](places, of.hashes[some], k, share.exclusive, lines, result)
    return reduce(share, result)


@kernel(f"void(uint64[:,:,:,::1], int64[::1], {_ENDS}, uint64[:,::1])")
def _spread(inner: Words, hashes: Ints, ends: Ends, result: Words) -> None:
    """σ(x) ⊕ block for each leaf and each of its blocks."""
    place = 0
    for term in range(ends[0], ends[1]):
        for group in range(hashes.shape[0]):
            count, trees = hashes[group], inner[term, ends[2] + group]
            for leaf in range(inner.shape[2]):
                low, high = trees[leaf, 0], trees[leaf, 1]
                target = result[place : place + count]
                for block in range(count):
                    target[block, 0] = low
                    target[block, 1] = high ^ np.uint64(block)
                place += count


def _gather(  # noqa: PLR0913 — a compiled loop takes arrays, not objects that hold them
    stream: Any,
    inner: Any,
    holes: Any,
    exclusive: bool,
    places: Any,
    ends: Ends,
    shifts: Ints,
    work: Any,
    values: Any,
    lines: Any,
) -> None:
    """For each term, group and x: u += r_x, and the line of x += 2^shift · r_x, mod 2^lane; r_Δ is 0.

    Or all with XOR.

    The last step of the hash is done on the way, into memory that does not leave the innermost cache. The
    inner loops run over slices of one length that they index alike, so that the compiler takes many at once.
    """
    columns, hashes, width = places
    words, lanes = work
    place, per_word = 0, 8 // lines.itemsize
    for term in range(ends[0], ends[1]):
        shift, first = np.uint64(shifts[term]), 0
        for group in range(hashes.shape[0]):
            n, count = width[group], 2 * hashes[group]
            u = values[term, columns[group] : columns[group] + n]
            u[:] = 0
            trees, hole = inner[term, ends[2] + group], holes[term, ends[2] + group]
            for leaf in range(inner.shape[2]):
                there = np.uint64(0) - np.uint64(leaf != hole)
                low, high = trees[leaf, 0], trees[leaf, 1]
                source = stream[place : place + count]
                for block in range(hashes[group]):
                    words[2 * block] = (source[2 * block] ^ low) & there
                    words[2 * block + 1] = (source[2 * block + 1] ^ high) & there
                line, r = lines[first : first + n], lanes[:n]
                if exclusive:
                    for i in range(n):
                        u[i] ^= r[i]
                        line[i] ^= r[i]
                elif shift == 0:
                    for i in range(n):
                        u[i] += r[i]
                        line[i] += r[i]
                else:
                    for i in range(n):
                        u[i] += r[i]
                        line[i] += r[i] << shift
                place += count
                first += count * per_word


def _correct(places: GroupPlaces, factors: Any, exclusive: bool, values: Any) -> None:
    """values = factor − u, or factor ⊕ u, for each term and column."""
    columns, _, b_row, width = places
    for term in range(values.shape[0]):
        for group in range(width.shape[0]):
            n = width[group]
            value = values[term, columns[group] : columns[group] + n]
            factor = factors[term, b_row[group] : b_row[group] + n]
            if exclusive:
                for i in range(n):
                    value[i] ^= factor[i]
            else:
                for i in range(n):
                    value[i] = factor[i] - value[i]


def _collect(
    places: GroupPlaces,
    k: int,
    holes: Any,
    shifts: Ints,
    exclusive: bool,
    values: Any,
    got: Any,
    result: Any,
) -> None:
    """Each pair's share += 2^shift · Δ_j·(u′ + c) for each term, or ⊕= Δ_j·(u′ ⊕ c)."""
    columns, pair, _, width = places
    for term in range(values.shape[0]):
        shift = np.uint64(shifts[term])
        for group in range(width.shape[0]):
            n = width[group]
            value = values[term, columns[group] : columns[group] + n]
            c = got[term, columns[group] : columns[group] + n]
            for member in range(k):
                bit = np.uint64(holes[term, group] >> member & 1)
                share = result[pair[group] + member * n : pair[group] + (member + 1) * n]
                if exclusive:
                    for i in range(n):
                        share[i] ^= (value[i] ^ c[i]) * bit
                else:
                    for i in range(n):
                        share[i] += ((value[i] + c[i]) * bit) << shift


def _fold(places: GroupPlaces, hashes: Ints, k: int, exclusive: bool, lines: Any, result: Any) -> None:
    """Each pair's share += the lines of the x that have its row's bit, or ⊕= them."""
    _, pair, _, width = places
    first = 0
    for group in range(width.shape[0]):
        n = width[group]
        step = 16 * hashes[group] // lines.itemsize
        for leaf in range(1 << k):
            line = lines[first : first + n]
            for member in range(k):
                if leaf >> member & 1:
                    share = result[pair[group] + member * n : pair[group] + (member + 1) * n]
                    if exclusive:
                        for i in range(n):
                            share[i] ^= line[i]
                    else:
                        for i in range(n):
                            share[i] += line[i]
            first += step


# One kernel a lane: ring elements of 8, 16, 32 or 64 bits are added and shifted as they lie.
_GATHER: dict[int, Kernel[..., None]] = {
    w: kernel(
        f"void(uint64[::1], uint64[:,:,:,::1], int64[:,::1], boolean, UniTuple(int64[::1], 3), {_ENDS}, "
        f"int64[::1], Tuple((uint64[::1], uint{w}[::1])), uint{w}[:,::1], uint{w}[::1])"
    )(_gather)
    for w in LANES
}
_CORRECT: dict[int, Kernel[..., None]] = {
    w: kernel(f"void({_PLACES}, uint{w}[:,::1], boolean, uint{w}[:,::1])")(_correct) for w in LANES
}
_COLLECT: dict[int, Kernel[..., None]] = {
    w: kernel(
        f"void({_PLACES}, int64, int64[:,:], int64[::1], boolean, uint{w}[:,::1], uint{w}[:,::1], "
        f"uint{w}[::1])"
    )(_collect)
    for w in LANES
}
_FOLD: dict[int, Kernel[..., None]] = {
    w: kernel(f"void({_PLACES}, int64[::1], int64, boolean, uint{w}[::1], uint{w}[::1])")(_fold)
    for w in LANES
}
