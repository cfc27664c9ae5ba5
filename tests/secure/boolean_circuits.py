"""Circuits of XOR and AND that no rule has: AES-128, SHA-256's compression, sums, and any at random.

A number is a list of literals, the lowest bit first. Constants are literals, too: 0 and 1.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from accord.secure.blocks import Table
from accord.secure.circuit import Input
from accord.secure.garbled.boolean import Boolean, CircuitBuilder, Element, Flags, Gate, Source, source_bits
from accord.side import Side

Number = list[int]
BITS = 4
"""Bits of each side's rows in `any_circuit`."""


def constant(value: int, bits: int) -> Number:
    return [value >> place & 1 for place in range(bits)]


def source(build: CircuitBuilder, side: Side, name: str, bits: int) -> Number:
    """The bits of an input of one element a bit."""
    of = Input(name, bits, 1)
    return [build.source(Element(side, of, place, 0)) for place in range(bits)]


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


def less(build: CircuitBuilder, x: Number, y: Number) -> int:
    """x < y."""
    borrow = 0
    for a, b in zip(x, y, strict=True):
        borrow = build.xor(build.both(build.xor(a ^ 1, borrow), build.xor(b, borrow)), borrow)
    return borrow


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


# -- any circuit ---------------------------------------------------------------------------------------------


def any_circuit(random: Generator, gates: int) -> Boolean:
    """A circuit of gates at random over bits of both sides, and over whether rows are real."""
    build = CircuitBuilder()
    literals = [0, *(build.source(Flags(side, (), True)) for side in Side)]
    for side in Side:
        literals += source(build, side, side.value, BITS)
    for _ in range(gates):
        x, y = (literals[place] ^ int(random.integers(2)) for place in random.integers(0, len(literals), 2))
        literals.append(build.both(x, y) if random.random() < 0.6 else build.xor(x, y))
    return build.finish(literals[-1] ^ int(random.integers(2)))


def in_the_clear(circuit: Boolean, a: Table, b: Table) -> NDArray[np.bool_]:
    """The circuit's answer for row i of A and row i of B."""
    known = dict[Source, NDArray[np.bool_]]()
    for side, of in ((Side.A, a), (Side.B, b)):
        sources = circuit.sources(side)
        rows = source_bits(sources, lambda field, of=of: of.inputs[field.name], of.real)  # type: ignore[misc]
        known.update(zip(sources, rows.astype(np.bool_), strict=True))
    wires = {0: np.zeros(len(a.real), dtype=np.bool_)}
    for wire in circuit.needed:
        what = circuit.what(wire)
        if isinstance(what, Gate):
            x, y = (wires[literal >> 1] ^ bool(literal & 1) for literal in (what.left, what.right))
            wires[wire] = x ^ y if what.kind == "xor" else x & y
        else:
            wires[wire] = known[what]
    return wires[circuit.output >> 1] ^ bool(circuit.output & 1)
