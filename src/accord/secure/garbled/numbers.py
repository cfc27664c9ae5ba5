"""Arithmetic on numbers of literals, lowest first, in circuits of few ANDs.

    full adder   s = a ⊕ b ⊕ c,  carry = (a ⊕ c)(b ⊕ c) ⊕ c                  one AND (Boyar, Peralta, TCS'08)
    sum          columns of equal weight, three literals at a time: n bits have their weight in n − |n|₁ ANDs
    square       xᵢ² = xᵢ, 2xᵢxⱼ one column up; xᵢ + xᵢxᵢ₋₁ needs no carry AND, since xᵢ·xᵢxᵢ₋₁ = xᵢxᵢ₋₁
    v ≤ t        from the lowest bit: where t has a 1, 'greater' survives only under a 1; trailing 1s are free

All functions return literals of the builder they are given.
"""

from __future__ import annotations

from collections import defaultdict

from accord.secure.garbled.boolean import FALSE, TRUE, CircuitBuilder

Number = list[int]
Columns = defaultdict[int, list[int]]


def columns() -> Columns:
    """Literals by weight: those at c count 2^c each."""
    return defaultdict(list)


def full_adder(build: CircuitBuilder, a: int, b: int, c: int) -> tuple[int, int]:
    """Sum and carry of three literals."""
    left, right = build.xor(a, c), build.xor(b, c)
    return build.xor(left, b), build.xor(build.both(left, right), c)


def total(build: CircuitBuilder, of: Columns, width: int | None = None) -> Number:
    """The sum of all columns, mod 2^width if a width is given."""
    waiting, result = {c: list(literals) for c, literals in of.items()}, list[int]()
    while len(result) < (max(waiting, default=-1) + 1 if width is None else width):
        column, place = waiting.pop(len(result), []), len(result)
        top = place + 1 == width
        while len(column) > 1:
            # The shallowest first, so that early carries do not wait for late ones.
            column.sort(key=build.depth)
            a, b, c = column[0], column[1], column[2] if len(column) > 2 else FALSE
            if top:
                column = [*column[2:], build.xor(a, b)]
                continue
            low, carry = full_adder(build, a, b, c)
            column = [*column[3:], low]
            waiting.setdefault(place + 1, []).append(carry)
        result.append(column[0] if column else FALSE)
    return result


def at_most(build: CircuitBuilder, number: Number, bound: int) -> int:
    """Whether a number is at most a constant."""
    if bound >= 1 << len(number):
        return TRUE
    greater = FALSE
    for place, bit in enumerate(number):
        greater = build.both(bit, greater) if bound >> place & 1 else build.either(bit, greater)
    return FALSE if bound < 0 else greater ^ 1


def difference(build: CircuitBuilder, a: Number, b: Number) -> tuple[Number, int]:
    """a − b in two's complement without its sign, and the sign."""
    borrow, result = FALSE, []
    for x, y in zip(a, b, strict=True):
        low, carry = full_adder(build, x ^ 1, y, borrow)
        result.append(low ^ 1)
        borrow = carry
    return result, borrow


def magnitude(build: CircuitBuilder, number: Number, sign: int, bits: int) -> tuple[Number, int]:
    """The lowest bits of |number|, and whether more of them would be needed."""
    carry, result, beyond = sign, [], []
    for place, bit in enumerate(number):
        bit = build.xor(bit, sign)
        if place < bits:
            result.append(build.xor(bit, carry))
            # With all bits the magnitude fits, so the last carry is not asked for.
            carry = build.both(bit, carry) if place + 1 < len(number) else FALSE
        else:
            beyond.append(bit)
    # A carry that leaves the lowest bits is a magnitude of 2^bits.
    return result, build.every([bit ^ 1 for bit in (*beyond, carry)]) ^ 1


def add_square(build: CircuitBuilder, number: Number, to: Columns) -> None:
    """Put the square of a number into columns."""
    for i, x in enumerate(number):
        for j, y in enumerate(number[:i]):
            product = build.both(x, y)
            if j + 1 < i:
                to[i + j + 1].append(product)
            else:
                to[2 * i].append(build.xor(x, product))
                to[2 * i + 1].append(product)
        if i == 0:
            to[0].append(x)


def signed_digits(weight: int) -> list[tuple[int, int]]:
    """A number as few powers of two with signs (non-adjacent form): (exponent, ±1)."""
    result, place = [], 0
    while weight:
        if weight & 1:
            digit = 2 - (weight & 3)
            result.append((place, digit))
            weight -= digit
        weight >>= 1
        place += 1
    return result
