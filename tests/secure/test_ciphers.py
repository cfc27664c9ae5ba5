"""AES-128 and SHA-256 between two parties that evaluate circuits of XOR and AND in dual execution.

A number is a list of literals, the lowest bit first. Constants are literals, too: 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import numpy as np
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from accord.secure.blocks import Table
from accord.secure.garbled.boolean import CircuitBuilder
from accord.side import Side
from tests.secure.engines import World
from tests.secure.test_garbled import Number, dual_execution, source


def constant(value: int, bits: int) -> Number:
    return [value >> place & 1 for place in range(bits)]


def xor(build: CircuitBuilder, *numbers: Number) -> Number:
    found = numbers[0]
    for number in numbers[1:]:
        found = [build.xor(x, y) for x, y in zip(found, number, strict=True)]
    return found


def same(build: CircuitBuilder, x: Number, y: Number) -> int:
    return build.every([bit ^ 1 for bit in xor(build, x, y)])


def add(build: CircuitBuilder, *numbers: Number) -> Number:
    """The sum mod 2^bits: one AND a bit."""
    found = numbers[0]
    for number in numbers[1:]:
        carry, total = 0, []
        for x, y in zip(found, number, strict=True):
            left, right = build.xor(x, carry), build.xor(y, carry)
            total.append(build.xor(left, y))
            carry = build.xor(build.both(left, right), carry)
        found = total
    return found


# -- AES -----------------------------------------------------------------------------------------------------

_S_BOX = """
y14=x3^x5 y13=x0^x6 y9=x0^x3 y8=x0^x5 t0=x1^x2 y1=t0^x7 y4=y1^x3 y12=y13^y14 y2=y1^x0 y5=y1^x6 y3=y5^y8
t1=x4^y12 y15=t1^x5 y20=t1^x1 y6=y15^x7 y10=y15^t0 y11=y20^y9 y7=x7^y11 y17=y10^y11 y19=y10^y8 y16=t0^y11
y21=y13^y16 y18=x0^y16 t2=y12&y15 t3=y3&y6 t4=t3^t2 t5=y4&x7 t6=t5^t2 t7=y13&y16 t8=y5&y1 t9=t8^t7
t10=y2&y7 t11=t10^t7 t12=y9&y11 t13=y14&y17 t14=t13^t12 t15=y8&y10 t16=t15^t12 t17=t4^t14 t18=t6^t16
t19=t9^t14 t20=t11^t16 t21=t17^y20 t22=t18^y19 t23=t19^y21 t24=t20^y18 t25=t21^t22 t26=t21&t23 t27=t24^t26
t28=t25&t27 t29=t28^t22 t30=t23^t24 t31=t22^t26 t32=t31&t30 t33=t32^t24 t34=t23^t33 t35=t27^t33 t36=t24&t35
t37=t36^t34 t38=t27^t36 t39=t29&t38 t40=t25^t39 t41=t40^t37 t42=t29^t33 t43=t29^t40 t44=t33^t37 t45=t42^t41
z0=t44&y15 z1=t37&y6 z2=t33&x7 z3=t43&y16 z4=t40&y1 z5=t29&y7 z6=t42&y11 z7=t45&y17 z8=t41&y10 z9=t44&y12
z10=t37&y3 z11=t33&y4 z12=t43&y13 z13=t40&y5 z14=t29&y2 z15=t42&y9 z16=t45&y14 z17=t41&y8 t46=z15^z16
t47=z10^z11 t48=z5^z13 t49=z9^z10 t50=z2^z12 t51=z2^z5 t52=z7^z8 t53=z0^z3 t54=z6^z7 t55=z16^z17 t56=z12^t48
t57=t50^t53 t58=z4^t46 t59=z3^t54 t60=t46^t57 t61=z14^t57 t62=t52^t58 t63=t49^t58 t64=z4^t59 t65=t61^t62
t66=z1^t63 s0=t59^t63 s6=t56^t62 s7=t48^t60 t67=t64^t65 s3=t53^t66 s4=t51^t66 s5=t47^t65 s1=t64^s3 s2=t55^t67
"""
"""Boyar and Peralta, A depth-16 circuit for the AES S-box (2011), with 32 ANDs. Bit 0 is the highest, and
outputs 1, 2, 6 and 7 are inverted."""


def _substitute(build: CircuitBuilder, byte: Number) -> Number:
    known = {f"x{7 - place}": literal for place, literal in enumerate(byte)}
    for step in _S_BOX.split():
        name, what = step.split("=")
        for symbol, gate in (("^", build.xor), ("&", build.both)):
            if symbol in what:
                known[name] = gate(*(known[operand] for operand in what.split(symbol)))
    return [known[f"s{7 - place}"] ^ (7 - place in (1, 2, 6, 7)) for place in range(8)]


def _double(build: CircuitBuilder, byte: Number) -> Number:
    """2·byte in the field of AES."""
    return xor(build, [0, *byte[:7]], [byte[7] if 0x1B >> place & 1 else 0 for place in range(8)])


def aes(build: CircuitBuilder, key: Number, block: Number) -> Number:
    """AES-128 of a block (FIPS 197); bytes follow each other."""
    round_key, state = (
        [number[8 * n : 8 * n + 8] for n in range(16)] for number in (key, xor(build, key, block))
    )
    power = constant(1, 8)
    for number in range(1, 11):
        turned = [_substitute(build, round_key[12 + (n + 1) % 4]) for n in range(4)]
        turned[0], power = xor(build, turned[0], power), _double(build, power)
        for n in range(16):
            round_key[n] = xor(build, round_key[n], turned[n] if n < 4 else round_key[n - 4])
        state = [_substitute(build, state[(5 * n) % 16]) for n in range(16)]
        if number < 10:
            state = [byte for first in range(0, 16, 4) for byte in _mix(build, state[first : first + 4])]
        state = [xor(build, byte, of_key) for byte, of_key in zip(state, round_key, strict=True)]
    return [literal for byte in state for literal in byte]


def _mix(build: CircuitBuilder, column: list[Number]) -> list[Number]:
    every = xor(build, *column)
    return [
        xor(build, column[n], every, _double(build, xor(build, column[n], column[(n + 1) % 4])))
        for n in range(4)
    ]


# -- SHA-256 -------------------------------------------------------------------------------------------------

_PRIMES = [n for n in range(2, 312) if all(n % d for d in range(2, isqrt(n) + 1))]


def _root(number: int, power: int) -> int:
    """The first 32 bits of the fraction of a root."""
    low, high = 0, 1 << 64
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**power <= number << 32 * power else (low, middle)
    return low % (1 << 32)


FIRST = [_root(prime, 2) for prime in _PRIMES[:8]]


def compress(build: CircuitBuilder, state: list[Number], block: list[Number]) -> list[Number]:
    """SHA-256's compression of 8 and 16 words of 32 bits (FIPS 180-4)."""

    def turned(x: Number, *by: int, shift: int = 0) -> Number:
        moved = [x[shift:] + [0] * shift] if shift else []
        return xor(build, *(x[n:] + x[:n] for n in by), *moved)

    schedule = block[:]
    for n in range(16, 64):
        small = turned(schedule[n - 15], 7, 18, shift=3), turned(schedule[n - 2], 17, 19, shift=10)
        schedule.append(add(build, schedule[n - 16], small[0], schedule[n - 7], small[1]))
    a, b, c, d, e, f, g, h = state
    for n, word in enumerate(schedule):
        # The cheapest forms: one AND a bit each.
        chosen = [build.xor(z, build.both(x, build.xor(y, z))) for x, y, z in zip(e, f, g, strict=True)]
        most = [
            build.xor(x, build.both(build.xor(x, y), build.xor(x, z)))
            for x, y, z in zip(a, b, c, strict=True)
        ]
        first = add(build, h, turned(e, 6, 11, 25), chosen, constant(_root(_PRIMES[n], 3), 32), word)
        second = add(build, turned(a, 2, 13, 22), most)
        a, b, c, d, e, f, g, h = add(build, first, second), a, b, c, add(build, d, first), e, f, g
    return [add(build, old, new) for old, new in zip(state, (a, b, c, d, e, f, g, h), strict=True)]


# -- between two parties -------------------------------------------------------------------------------------


def rows_of(**columns: list[bytes]) -> Table:
    """Bits of byte strings, the lowest bit of the first byte first."""
    bits = {
        name: np.unpackbits(np.array([list(row) for row in rows], np.uint8), axis=1, bitorder="little")
        for name, rows in columns.items()
    }
    count = len(next(iter(columns.values())))
    return Table({name: of.astype(np.int64) for name, of in bits.items()}, np.ones(count, np.bool_))


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_aes_of_a_key_and_a_block_that_two_parties_have(world_of: Callable[[str], World]) -> None:
    """The example of FIPS 197 and another key; B has ciphertexts, of which one bit may be wrong."""
    build = CircuitBuilder()
    key, block = source(build, Side.A, "key", 128), source(build, Side.B, "block", 128)
    circuit = build.finish(same(build, aes(build, key, block), source(build, Side.B, "cipher", 128)))
    keys, plain = (
        [bytes(range(16)), bytes(range(200, 216))],
        bytes.fromhex("00112233445566778899aabbccddeeff"),
    )
    ciphers = [Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(plain) for key in keys]
    assert ciphers[0].hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
    said = [*ciphers, *(flipped(ciphers[0], bit) for bit in (0, 63, 127))]
    found = dual_execution(
        world_of("dual"), circuit, rows_of(key=keys), rows_of(block=[plain] * 5, cipher=said)
    )
    assert found.tolist() == [[True, False, False, False, False], [False, True, False, False, False]]


@pytest.mark.slow
def test_sha_256_of_a_message_that_two_parties_have_in_halves(world_of: Callable[[str], World]) -> None:
    build = CircuitBuilder()
    words = [(side, f"{side.value}{n}") for side in Side for n in range(8)]
    block = [source(build, side, name, 32) for side, name in words]
    made = compress(build, [constant(word, 32) for word in FIRST], block)
    digest = source(build, Side.B, "digest", 256)
    circuit = build.finish(same(build, [literal for word in made for literal in word], digest))
    message = bytes(range(40, 95))
    padded = message + b"\x80" + (8 * len(message)).to_bytes(8, "big")
    hashing = hashes.Hash(hashes.SHA256())
    hashing.update(message)

    def turned(content: bytes) -> bytes:
        """Words with the lowest byte first."""
        return b"".join(content[at : at + 4][::-1] for at in range(0, len(content), 4))

    right = turned(hashing.finalize())
    halves = {name: [turned(padded)[4 * n : 4 * n + 4]] for n, (_, name) in enumerate(words)}
    a = rows_of(**{name: rows for name, rows in halves.items() if name.startswith("A")})
    of_b = {name: rows * 2 for name, rows in halves.items() if name.startswith("B")}
    b = rows_of(**of_b, digest=[right, flipped(right, 200)])
    assert dual_execution(world_of("dual"), circuit, a, b).tolist() == [[True, False]]
