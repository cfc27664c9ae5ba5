"""The loops of garbling and evaluating, over the pairs of a batch; `gates.py` says what they compute.

A row of the arrays is one label, hash or table for each pair, two 64-bit words each. Each loop writes one row
and reads few: with more of them the compiler cannot rule out that they overlap, and takes one word at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel
from accord.secure.garbled.tape import FULL, GARBLER, MIXED, THEIRS, XOR, Codes

Words = NDArray[np.uint64]
Bits = NDArray[np.uint8]
Ints = NDArray[np.int64]

_ROW = "uint64[::1]"


_LABELLED = "Tuple((uint64[:,:,::1], int64[::1]))"
_OWNED = "Tuple((uint8[:,::1], int64[::1]))"
_HASHED = "UniTuple(uint64[:,::1], 3)"
Labelled = tuple[Words, Ints]
"""Labels of a party's bits (bits, rows, 2), and the row that each pair takes."""
Owned = tuple[Bits, Ints]
"""A party's own bits (bits, rows), and the row that each pair takes."""
Hashed = tuple[Words, Words, Words]
"""The labels that a step hashes; π of each; and π(π(x) ⊕ t) of the one that each table takes. H(x) is the XOR
of the last two. The garbler has two rows for each label, W⁰ and W¹, the evaluator one."""


@kernel(f"void(int64[:,::1], {_LABELLED}, {_OWNED}, uint64[::1], uint64[:,::1])")
def load(operations: Codes, of_evaluator: Labelled, of_garbler: Owned, delta: Words, wires: Words) -> None:
    """The operations of a step: labels of wires."""
    labels, theirs = of_evaluator
    ours, our_rows = of_garbler
    zero, low, high = np.uint64(0), delta[0], delta[1]
    for number in range(operations.shape[0]):
        code, x, y = operations[number, 0], operations[number, 2], operations[number, 3]
        target = wires[operations[number, 1]]
        if code == XOR:
            left, right = wires[x], wires[y]
            for i in range(target.shape[0]):
                target[i] = left[i] ^ right[i]
        elif code == THEIRS:
            source = labels[x]
            for pair in range(theirs.shape[0]):
                target[2 * pair] = source[theirs[pair], 0]
                target[2 * pair + 1] = source[theirs[pair], 1]
        elif code == MIXED:
            source, bits = labels[x], ours[y]
            for pair in range(theirs.shape[0]):
                mask = zero - np.uint64(bits[our_rows[pair]])
                target[2 * pair] = source[theirs[pair], 0] ^ (low & mask)
                target[2 * pair + 1] = source[theirs[pair], 1] ^ (high & mask)
        else:
            bits = ours[x]
            for pair in range(theirs.shape[0]):
                mask = zero - np.uint64(bits[our_rows[pair]])
                target[2 * pair] = low & mask
                target[2 * pair + 1] = high & mask


@kernel("void(int64[::1], uint64[:,::1], uint64[::1], uint64[:,::1])")
def gather(hashed: Codes, wires: Words, delta: Words, result: Words) -> None:
    """The labels that are hashed: W, and W ⊕ Δ where there is room for two."""
    low, high = delta[0], delta[1]
    copies = result.shape[0] // hashed.shape[0]
    for number in range(hashed.shape[0]):
        label = wires[hashed[number]]
        result[number * copies] = label
        if copies == 2:
            target = result[2 * number + 1]
            for pair in range(target.shape[0] // 2):
                target[2 * pair] = label[2 * pair] ^ low
                target[2 * pair + 1] = label[2 * pair + 1] ^ high


@kernel("void(uint64[:,::1], int64[::1], uint64, uint64, uint64, uint64[:,::1])")
def tweak(
    inner: Words, taken: Codes, first: np.uint64, stride: np.uint64, domain: np.uint64, result: Words
) -> None:
    """π(x) ⊕ t for the hash that each table takes."""
    copies = result.shape[0] // taken.shape[0]
    for table in range(taken.shape[0]):
        number = first + np.uint64(table) * stride
        for copy in range(copies):
            source, target = inner[taken[table] * copies + copy], result[table * copies + copy]
            for pair in range(source.shape[0] // 2):
                target[2 * pair] = source[2 * pair] ^ (number + np.uint64(pair))
                target[2 * pair + 1] = source[2 * pair + 1] ^ domain


@kernel(f"void(int64[:,::1], {_HASHED}, {_OWNED}, uint64[::1], uint64[:,::1], uint64[:,::1])")
def make_tables(
    gates: Codes, hashed: Hashed, of_garbler: Owned, delta: Words, tables: Words, wires: Words
) -> None:
    """The garbler's tables, and W⁰ of the outputs; writes over the hashes.

    Where a literal is inverted, its W⁰ is the wire's W¹.
    """
    labels, inner, outer = hashed
    ours, our_rows = of_garbler
    for number in range(gates.shape[0]):
        gate, t = gates[number], gates[number, 2]
        a, b = 2 * gate[3] + gate[4], 2 * gate[5] + gate[6]
        a1, b1 = 2 * gate[3] + 1 - gate[4], 2 * gate[5] + 1 - gate[6]
        target, u, v = wires[gate[1]], 2 * t + gate[4], 2 * t + gate[6]
        u1, v1 = 2 * t + 1 - gate[4], 2 * t + 1 - gate[6]
        if gate[0] == FULL:
            _make_full(
                (labels[a], inner[a], outer[u], inner[a1], outer[u1]),
                (labels[b], inner[b], outer[v + 2], inner[b1], outer[v1 + 2]),
                delta,
                tables[t],
                tables[t + 1],
                target,
            )
        elif gate[0] == GARBLER:
            known = (ours[gate[9]], our_rows, gate[8])
            first = (labels[a], inner[a], outer[u], inner[a1], outer[u1])
            _make_garbler(first, known, delta, tables[t], target)
        else:
            second = (labels[b], inner[b], outer[v], inner[b1], outer[v1])
            _make_evaluator(second, wires[gate[7]], np.uint64(gate[8]), delta, tables[t], target)


_ROWS = f"Tuple(({_ROW}, {_ROW}, {_ROW}, {_ROW}, {_ROW}))"
_KNOWN = "Tuple((uint8[::1], int64[::1], int64))"
Rows = tuple[Words, Words, Words, Words, Words]
"""Of one wire: W⁰, then π(W⁰) and π(π(W⁰) ⊕ t), whose XOR is H(W⁰), then the same two of W¹."""
Known = tuple[Bits, Ints, int]
"""The bits of a party, the row that each pair takes, and whether they are inverted."""


@kernel(f"void({_ROW}, {_ROW})")
def _fold(target: Words, row: Words) -> None:
    """target ⊕= row."""
    for i in range(target.shape[0]):
        target[i] ^= row[i]


@kernel(f"void({_ROW}, {_ROW}, {_ROW}, {_ROW})")
def _sum(x: Words, y: Words, z: Words, target: Words) -> None:
    """target = x ⊕ y ⊕ z."""
    for i in range(target.shape[0]):
        target[i] = x[i] ^ y[i] ^ z[i]


@kernel(f"void({_ROW}, {_ROW}, {_ROW})")
def _fold_where(target: Words, label: Words, row: Words) -> None:
    """target ⊕= row where the lowest bit of the label is set."""
    for pair in range(target.shape[0] // 2):
        mask = np.uint64(0) - (label[2 * pair] & np.uint64(1))
        target[2 * pair] ^= row[2 * pair] & mask
        target[2 * pair + 1] ^= row[2 * pair + 1] & mask


@kernel(f"void({_ROW}, {_ROW}, {_ROW})")
def _fold_delta(target: Words, label: Words, delta: Words) -> None:
    """target ⊕= Δ where the lowest bit of the label is set."""
    low, high = delta[0], delta[1]
    for pair in range(target.shape[0] // 2):
        mask = np.uint64(0) - (label[2 * pair] & np.uint64(1))
        target[2 * pair] ^= low & mask
        target[2 * pair + 1] ^= high & mask


@kernel(f"void({_ROWS}, {_ROWS}, {_ROW}, {_ROW}, {_ROW}, {_ROW})")
def _make_full(first: Rows, second: Rows, delta: Words, made: Words, passed: Words, target: Words) -> None:
    a, a0, u0, a1, u1 = first
    b, b0, v0, b1, v1 = second
    _fold(u0, a0)
    _fold(v0, b0)
    _sum(u0, a1, u1, made)
    _fold_delta(made, b, delta)
    _sum(v0, b1, v1, passed)
    for i in range(target.shape[0]):
        target[i] = u0[i] ^ v0[i]
    _fold_where(target, a, made)
    _fold_where(target, b, passed)
    _fold(passed, a)


@kernel(f"void({_ROWS}, {_KNOWN}, {_ROW}, {_ROW}, {_ROW})")
def _make_garbler(first: Rows, known: Known, delta: Words, made: Words, target: Words) -> None:
    a, a0, u0, a1, u1 = first
    bits, rows, inverted = known
    low, high = delta[0], delta[1]
    _fold(u0, a0)
    _sum(u0, a1, u1, made)
    for pair in range(rows.shape[0]):
        value = np.uint64(0) - np.uint64(bits[rows[pair]] ^ inverted)
        made[2 * pair] ^= low & value
        made[2 * pair + 1] ^= high & value
    target[:] = u0
    _fold_where(target, a, made)


@kernel(f"void({_ROWS}, {_ROW}, uint64, {_ROW}, {_ROW}, {_ROW})")
def _make_evaluator(
    second: Rows, wire: Words, inverted: np.uint64, delta: Words, passed: Words, target: Words
) -> None:
    _, b0, v0, b1, v1 = second
    flip = np.uint64(0) - inverted
    low, high = delta[0] & flip, delta[1] & flip
    _fold(v0, b0)
    target[:] = v0
    _sum(v0, b1, v1, passed)
    for pair in range(target.shape[0] // 2):
        passed[2 * pair] ^= wire[2 * pair] ^ low
        passed[2 * pair + 1] ^= wire[2 * pair + 1] ^ high


@kernel(f"void(int64[:,::1], {_HASHED}, {_OWNED}, uint64[:,::1], uint64[:,::1])")
def open_tables(gates: Codes, hashed: Hashed, of_evaluator: Owned, tables: Words, wires: Words) -> None:
    """The evaluator's labels of the outputs."""
    labels, inner, outer = hashed
    known, theirs = of_evaluator
    for number in range(gates.shape[0]):
        gate, t = gates[number], gates[number, 2]
        a, b, target = gate[3], gate[5], wires[gate[1]]
        if gate[0] == FULL:
            _open_full(
                (labels[a], inner[a], outer[t], tables[t]),
                (labels[b], inner[b], outer[t + 1], tables[t + 1]),
                target,
            )
        elif gate[0] == GARBLER:
            _open_garbler((labels[a], inner[a], outer[t], tables[t]), target)
        else:
            bits = (known[gate[9]], theirs, gate[6])
            _open_evaluator((labels[b], inner[b], outer[t], tables[t]), wires[gate[7]], bits, target)


_ONE = f"Tuple(({_ROW}, {_ROW}, {_ROW}, {_ROW}))"
One = tuple[Words, Words, Words, Words]
"""Of one wire: the label W, π(W) and π(π(W) ⊕ t), and the table that belongs to it."""


@kernel(f"void({_ONE}, {_ONE}, {_ROW})")
def _open_full(first: One, second: One, target: Words) -> None:
    a, a0, u0, g = first
    b, b0, v0, e = second
    _sum(a0, u0, b0, target)
    _fold(target, v0)
    _fold_where(target, a, g)
    for pair in range(target.shape[0] // 2):
        mask = np.uint64(0) - (b[2 * pair] & np.uint64(1))
        target[2 * pair] ^= (e[2 * pair] ^ a[2 * pair]) & mask
        target[2 * pair + 1] ^= (e[2 * pair + 1] ^ a[2 * pair + 1]) & mask


@kernel(f"void({_ONE}, {_ROW})")
def _open_garbler(first: One, target: Words) -> None:
    a, a0, u0, g = first
    for i in range(target.shape[0]):
        target[i] = a0[i] ^ u0[i]
    _fold_where(target, a, g)


@kernel(f"void({_ONE}, {_ROW}, {_KNOWN}, {_ROW})")
def _open_evaluator(second: One, wire: Words, known: Known, target: Words) -> None:
    _, b0, v0, e = second
    bits, rows, inverted = known
    _sum(b0, v0, e, target)
    _fold(target, wire)
    for pair in range(rows.shape[0]):
        # Where the bit is 0, take the table and the wire out again.
        off = np.uint64(bits[rows[pair]] ^ inverted) - np.uint64(1)
        target[2 * pair] ^= (e[2 * pair] ^ wire[2 * pair]) & off
        target[2 * pair + 1] ^= (e[2 * pair + 1] ^ wire[2 * pair + 1]) & off
