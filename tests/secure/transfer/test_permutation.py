"""The fixed-key permutation: known answers, in bytes, so that every machine agrees."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from accord.secure.transfer.extension import add_turned
from accord.secure.transfer.permutation import KEY, LEAF, Permutation, counter_blocks, hash_blocks, mix


def aes(block: bytes) -> bytes:
    return Cipher(algorithms.AES(KEY), modes.ECB()).encryptor().update(block)


def xor(*parts: bytes) -> bytes:
    result = bytes(16)
    for part in parts:
        result = bytes(x ^ y for x, y in zip(result, part, strict=True))
    return result


def tweak(low: int, high: int) -> bytes:
    return low.to_bytes(8, "little") + high.to_bytes(8, "little")


def test_the_permutation_has_known_answers() -> None:
    source = np.frombuffer(bytes(range(48)), dtype="<u8").reshape(3, 2)
    result = Permutation().apply(source, "x").tobytes()
    assert result == b"".join(aes(bytes(range(16 * i, 16 * i + 16))) for i in range(3))
    assert result[:16].hex() == "db6dc3103bc80f287f7152fb339275d7"


def test_the_hash_is_matyas_meyer_oseas_after_a_linear_orthomorphism() -> None:
    pi, rows = Permutation(), bytes(range(100, 164))
    words = np.frombuffer(rows, dtype="<u8").reshape(4, 2).copy()
    for block in (0, 3):
        inner, outer = hash_blocks(pi, words, block)
        for place in range(4):
            left, right = rows[16 * place : 16 * place + 8], rows[16 * place + 8 : 16 * place + 16]
            mixed = doubled(left) + doubled(right)
            expected = xor(aes(xor(mixed, tweak(0, block))), mixed)
            assert xor(inner[place].tobytes(), outer[place].tobytes()) == expected
    assert (mix(words) == inner).all()


def doubled(word: bytes) -> bytes:
    """2·x in GF(2⁶⁴)."""
    twice = int.from_bytes(word, "little") << 1
    return (twice ^ (0x1000000000000001B if twice >> 64 else 0)).to_bytes(8, "little")


def test_the_mixing_has_no_eigenvalue_among_the_multiples_of_a_double_ot() -> None:
    """σ(y·x) ⊕ b·x is linear in x, and of full rank for every y ≠ 0 and every b of F4."""
    basis = np.zeros((128, 2), np.uint64)
    places = np.arange(128)
    basis[places, places // 64] = np.uint64(1) << (places % 64).astype(np.uint64)
    turned = np.zeros_like(basis)
    add_turned(basis, turned)
    of = [np.zeros_like(basis), basis, turned, basis ^ turned]
    for y in of[1:]:
        for b in of:
            assert rank(mix(y) ^ b) == 128
    assert rank(basis ^ basis) == 0, "the rank would show it"


def rank(rows: NDArray[np.uint64]) -> int:
    """Over the field of two elements."""
    left, found = [int(low) | int(high) << 64 for low, high in rows], 0
    while left:
        pivot = left.pop()
        if pivot:
            found += 1
            low = pivot & -pivot
            left = [row ^ pivot if row & low else row for row in left]
    return found


def test_the_counter_blocks_of_a_seed_differ_in_number_and_domain() -> None:
    seeds = np.frombuffer(bytes(range(32)), dtype="<u8").reshape(2, 2).copy()
    result = np.empty((2, 3, 2), dtype=np.uint64)
    counter_blocks(seeds, np.uint64(5), np.uint64(LEAF), result)
    for seed in range(2):
        for block in range(3):
            expected = xor(bytes(range(16 * seed, 16 * seed + 16)), tweak(5 + block, LEAF))
            assert result[seed, block].astype("<u8").tobytes() == expected


def test_scratch_memory_is_kept_apart_by_name_and_counted() -> None:
    pi = Permutation()
    first = pi.apply(np.zeros((2, 2), dtype=np.uint64), "one").copy()
    one = pi.apply(np.zeros((2, 2), dtype=np.uint64), "one")
    pi.apply(np.ones((2, 2), dtype=np.uint64), "two")
    assert (one == first).all()
    assert pi.aes_blocks == 6
    assert pi.apply(np.zeros((0, 2), dtype=np.uint64), "none").shape == (0, 2)
