"""GF(2¹²⁸) against its definition, with Python's whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.secure.transfer.field import BITS, join, join_bits, times

Words = NDArray[np.uint64]
WHOLE = (1 << BITS) - 1
MODULUS = 1 << 128 | 1 << 7 | 1 << 2 | 1 << 1 | 1

elements = st.integers(0, WHOLE) | st.sampled_from([0, 1, 2, 1 << 63, 1 << 64, 1 << 127, WHOLE])


def words(*numbers: int) -> Words:
    return np.array([[x & (1 << 64) - 1, x >> 64] for x in numbers], np.uint64).reshape(-1, 2)


def numbers(rows: Words) -> list[int]:
    return [int(low) | int(high) << 64 for low, high in rows]


def product(x: int, y: int) -> int:
    """By the definition: a sum of shifted copies, and the remainder of the modulus."""
    found = 0
    for bit in range(BITS):
        found ^= (x << bit) * (y >> bit & 1)
    for bit in range(2 * BITS - 1, BITS - 1, -1):
        found ^= (MODULUS << bit - BITS) * (found >> bit & 1)
    return found


@given(st.lists(elements, max_size=5), elements)
def test_products_are_those_of_the_definition(some: list[int], element: int) -> None:
    found = times(words(*some), words(element)[0])
    assert numbers(found) == [product(x, element) for x in some]


def test_known_answers() -> None:
    """X·X¹²⁷ is the tail of the modulus, and a product whose sum of ones is sixteen, where the carry goes."""
    assert numbers(times(words(1 << 127, WHOLE), words(2)[0])) == [0x87, WHOLE - 1 ^ 0x87]
    assert numbers(times(words(0x1111111111111111), words(0x1111111111111111)[0])) == [
        product(0x1111111111111111, 0x1111111111111111)
    ]


@given(elements, elements, elements)
def test_it_is_a_field(x: int, y: int, z: int) -> None:
    assert times(words(x), words(y)[0]).tolist() == times(words(y), words(x)[0]).tolist()
    left = times(words(x ^ y), words(z)[0])
    assert left.tolist() == (times(words(x), words(z)[0]) ^ times(words(y), words(z)[0])).tolist()
    if x:
        power, found = x, 1
        # x^(2¹²⁸ − 2) is its inverse.
        for _ in range(BITS - 1):
            power = numbers(times(words(power), words(power)[0]))[0]
            found = numbers(times(words(found), words(power)[0]))[0]
        assert numbers(times(words(found), words(x)[0])) == [1]


def test_parts_are_joined_by_powers() -> None:
    random = np.random.default_rng(1)
    rows = random.integers(0, 1 << 64, (3 * BITS, 2), dtype=np.uint64)
    parts = numbers(rows)
    for number, element in enumerate(numbers(join(rows))):
        expected = 0
        for place in range(BITS):
            expected ^= product(parts[BITS * number + place], 1 << place)
        assert element == expected
    bits = [sum((parts[BITS * number + place] & 1) << place for place in range(BITS)) for number in range(3)]
    assert numbers(join_bits(rows)) == bits
