"""Circuits of XOR and AND: how small they are, what they say, and the S-box of AES between two parties."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import xor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray

from accord.errors import UnsupportedError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Bilinear, Both, Hamming, Input, Node, Product, SquaredEuclidean
from accord.secure.dual.engine import evaluate_tapes
from accord.secure.garbled import boolean
from accord.secure.garbled.boolean import Boolean, CircuitBuilder, Element, Flags, Gate, Source, source_bits
from accord.secure.garbled.compiler import boolean_circuit
from accord.secure.garbled.tape import tapes_of
from accord.secure.ideal import match
from accord.secure.party import run_pair
from accord.side import Side
from benchmarks.workload import RULES
from tests.secure.engines import World
from tests.secure.worlds import COUNT, HERE, STEP, THERE, table

Answer = NDArray[np.bool_]
Number = list[int]
"""Literals, the lowest bit first. Constants are literals, too: 0 and 1."""
BITS = 4
"""Bits of each side's rows in `any_circuit`."""


def source(build: CircuitBuilder, side: Side, name: str, bits: int) -> Number:
    """The bits of an input of one element a bit."""
    of = Input(name, bits, 1)
    return [build.source(Element(side, of, place, 0)) for place in range(bits)]


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


def tables_of(circuit: Boolean) -> int:
    """What a pair sends of a circuit, the same whoever garbles: two tables an AND, one if a bit is known."""
    (tables,) = {tape.tables for tape in tapes_of(circuit)}
    return tables


def test_constants_fold_and_equal_gates_are_one() -> None:
    build = CircuitBuilder()
    (x,), (y,) = source(build, Side.A, "x", 1), source(build, Side.B, "y", 1)
    assert (build.xor(x, 0), build.xor(x, 1), build.xor(x, x), build.xor(x, x ^ 1)) == (x, x ^ 1, 0, 1)
    assert (build.both(x, 1), build.both(x, 0), build.both(x, x), build.both(x, x ^ 1)) == (x, 0, x, 0)
    assert (build.either(x, 1), build.either(x, 0)) == (1, x)
    assert build.xor(x, y) == build.xor(y, x) == build.xor(x ^ 1, y ^ 1) == build.xor(x ^ 1, y) ^ 1
    assert build.both(x, y) == build.both(y, x) != build.both(x ^ 1, y)
    assert (build.every([]), build.every([x]), build.every([x, 1, x])) == (1, x, x)


# -- circuits of rules ---------------------------------------------------------------------------------------


def check(node: Node, seed: int, rows: int) -> None:
    """Row by row in the clear; the contract of engines garbles circuits."""
    random = np.random.default_rng(seed)
    a, b = table(random, node, Side.A, rows), table(random, node, Side.B, rows)
    ones = np.ones(rows, dtype=np.int64)
    over = Blocks(np.arange(rows), ones, np.arange(rows), ones)
    assert (in_the_clear(boolean_circuit(node), a, b) == match(node, over, a, b)).all()


def test_distances_and_weights_at_every_kind_of_bound() -> None:
    """Weights without an offset, with one side, and with common factors."""
    bits, grade = Input("bits", 5, 1), Input("grade", 5, 6)
    both = (Product(bits, grade, -6), Product(bits, bits, 14))
    for length in (1, 2):
        for bound in (0, 1, 2, 3, 4, 15, 16, 24, 25, 26, 48, 49, 50, 97, 98):
            check(AtMost(SquaredEuclidean(Input("x", length, 7)), bound), bound, 2000)
    for value in (
        Bilinear(both, None, 0, 0, -180, 70),
        Bilinear(both, STEP, 0, 4, -180, 4070),
        Bilinear(both, STEP, -8, 0, -8180, 70),
        Bilinear((), COUNT, 3, -3, -27, 27),
        Bilinear((), None, 0, 0, -1, 1),
        Bilinear((Product(grade, grade, 1),), None, 0, 0, 0, 180),
    ):
        for bound in (-100, -7, -1, 0, 1, 5, 100, 1000):
            check(AtMost(value, bound), bound + 1000, 300)


def test_the_circuits_that_the_documentation_names_have_their_sizes() -> None:
    """ANDs of the rule alone. All flags of a side cost one half, 'this row is real' among them."""
    assert {name: tables_of(boolean_circuit(rule)) for name, rule in RULES.items()} == {
        "hamming50": 2 * (51 + 1),
        "euclidean2d": 2 * (279 + 1),
        "equal16": 2 * (15 + 1),
        "dice128": 2 * (212 + 1),
        "dice1024": 2 * (1565 + 1),
        "edit": 2 * (498 + 1),
        "conjunction": 2 * (51 + 279 + 15 + 2 + 1),
        "people": 2 * (1268 + 1),
    }
    long = boolean_circuit(AtMost(Hamming(Input("x", 200, 1)), 50))
    assert max(tape.places for tape in tapes_of(long)) < len(long.needed) / 3, "places are used again"
    near = AtMost(Hamming(Input("x", 9, 1)), 3)
    flagged = And((near, Both(HERE), And((Both(THERE), Both(STEP)))))
    assert tables_of(boolean_circuit(flagged)) == tables_of(boolean_circuit(near))
    assert tables_of(boolean_circuit(And(()))) == 1


def test_a_rule_of_too_many_gates_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boolean, "MOST_WIRES", 50)
    with pytest.raises(UnsupportedError):
        boolean_circuit(AtMost(Hamming(Input("x", 20, 1)), 5))


# -- the S-box of AES and any circuit, between two parties ---------------------------------------------------

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


def substitute(build: CircuitBuilder, byte: Number) -> Number:
    known = {f"x{7 - place}": literal for place, literal in enumerate(byte)}
    for step in _S_BOX.split():
        name, what = step.split("=")
        for symbol, gate in (("^", build.xor), ("&", build.both)):
            if symbol in what:
                known[name] = gate(*(known[operand] for operand in what.split(symbol)))
    return [known[f"s{7 - place}"] ^ (7 - place in (1, 2, 6, 7)) for place in range(8)]


def s_box(byte: int) -> int:
    """FIPS 197, 5.1.1: the inverse in the field, and a sum of what it is when turned."""

    def product(x: int, y: int) -> int:
        found = 0
        for place in range(8):
            found ^= x * (y >> place & 1)
            x = x << 1 ^ (0x11B if x >> 7 else 0)
        return found

    inverse = next((x for x in range(256) if product(x, byte) == 1), 0)
    turned = (inverse << place | inverse >> 8 - place for place in range(5))
    return reduce(xor, turned) & 255 ^ 0x63


def dual_execution(world: World, circuit: Boolean, a: Table, b: Table) -> Answer:
    """The answers for all pairs, the same on both sides."""
    over, tapes = Blocks.whole(len(a.real), len(b.real)), tapes_of(circuit)
    parties = [evaluate_tapes(s, tapes, over, rows) for s, rows in zip(world.fresh(), (a, b), strict=True)]
    found, other = run_pair(parties[0], parties[1])
    assert (found == other).all()
    return found.reshape(len(a.real), len(b.real))


def test_the_s_box_of_aes(world_of: Callable[[str], World]) -> None:
    """A has bytes, and B has what they are to become: each byte of A matches its own."""
    build = CircuitBuilder()
    x, y = (source(build, side, side.value, 8) for side in Side)
    circuit = build.finish(
        build.every([build.xor(a, b) ^ 1 for a, b in zip(substitute(build, x), y, strict=True)])
    )
    some = np.random.default_rng(1).permutation(256)[:40]
    of_a, of_b = some, np.array([s_box(byte) for byte in some.tolist()])
    a, b = (
        Table({side.value: of[:, None] >> np.arange(8) & 1}, np.ones(40, np.bool_))
        for side, of in ((Side.A, of_a), (Side.B, of_b))
    )
    assert (dual_execution(world_of("dual"), circuit, a, b) == np.eye(40, dtype=np.bool_)).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 60), st.integers(0, 1 << 32))
def test_any_circuit_says_in_dual_execution_what_it_says_in_the_clear(
    world_of: Callable[[str], World], gates: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    circuit = any_circuit(random, gates)
    a, b = (Table({side.value: random.integers(0, 2, (5, BITS))}, random.random(5) < 0.8) for side in Side)
    rows = np.repeat(np.arange(5), 5), np.tile(np.arange(5), 5)
    pairs = [
        Table({name: values[some] for name, values in one.inputs.items()}, one.real[some])
        for one, some in zip((a, b), rows, strict=True)
    ]
    found = dual_execution(world_of("dual"), circuit, a, b)
    assert (found.reshape(-1) == in_the_clear(circuit, pairs[0], pairs[1])).all()
