"""Circuits of XOR and AND: how small they are, what they say, and published ones between two parties."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.errors import UnsupportedError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Bilinear, Both, Hamming, Input, Node, Product, SquaredEuclidean
from accord.secure.dual.engine import evaluate_tapes
from accord.secure.garbled import boolean
from accord.secure.garbled.boolean import FALSE, TRUE, Boolean, CircuitBuilder
from accord.secure.garbled.compiler import boolean_circuit
from accord.secure.garbled.tape import tapes_of
from accord.secure.ideal import match
from accord.secure.party import run_pair
from accord.side import Side
from tests.secure.boolean_circuits import (
    BITS,
    FIRST,
    add,
    aes,
    any_circuit,
    compress,
    constant,
    in_the_clear,
    less,
    same,
    source,
)
from tests.secure.engines import World
from tests.secure.worlds import COUNT, HERE, STEP, THERE, table

Answer = NDArray[np.bool_]


def tables_of(circuit: Boolean) -> int:
    """What a pair sends of a circuit, the same whoever garbles: two tables an AND, one if a bit is known."""
    (tables,) = {tape.tables for tape in tapes_of(circuit)}
    return tables


# -- parts --------------------------------------------------------------------------------------------------


def test_constants_fold_and_equal_gates_are_one() -> None:
    build = CircuitBuilder()
    (x,), (y,) = source(build, Side.A, "x", 1), source(build, Side.B, "y", 1)
    assert (build.xor(x, FALSE), build.xor(x, TRUE), build.xor(x, x), build.xor(x, x ^ 1)) == (x, x ^ 1, 0, 1)
    assert (build.both(x, TRUE), build.both(x, FALSE), build.both(x, x), build.both(x, x ^ 1)) == (x, 0, x, 0)
    assert (build.either(x, TRUE), build.either(x, FALSE)) == (TRUE, x)
    assert build.xor(x, y) == build.xor(y, x) == build.xor(x ^ 1, y ^ 1) == build.xor(x ^ 1, y) ^ 1
    assert build.both(x, y) == build.both(y, x) != build.both(x ^ 1, y)
    assert (build.every([]), build.every([x]), build.every([x, TRUE, x])) == (TRUE, x, x)


# -- circuits of rules ---------------------------------------------------------------------------------------


def check(node: Node, seed: int, rows: int) -> None:
    """Row by row in the clear; the contract of engines garbles circuits."""
    random = np.random.default_rng(seed)
    a, b = table(random, node, Side.A, rows), table(random, node, Side.B, rows)
    ones = np.ones(rows, dtype=np.int64)
    over = Blocks(np.arange(rows), ones, np.arange(rows), ones)
    assert (in_the_clear(boolean_circuit(node), a, b) == match(node, over, a, b)).all()


@pytest.mark.parametrize("length", [1, 2])
def test_squared_distances_at_every_kind_of_bound(length: int) -> None:
    for bound in (0, 1, 2, 3, 4, 15, 16, 24, 25, 26, 48, 49, 50, 97, 98):
        check(AtMost(SquaredEuclidean(Input("x", length, 7)), bound), bound, 2000)


def test_weights_without_an_offset_with_one_side_and_with_common_factors() -> None:
    bits, grade = Input("bits", 5, 1), Input("grade", 5, 6)
    both = (Product(bits, grade, -6), Product(bits, bits, 14))
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
    """ANDs of the rule alone; the two bits 'this row is real' cost one more, half each."""
    from benchmarks.workload import RULES

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


def test_flags_of_a_side_cost_one_half_however_many_they_are() -> None:
    near = AtMost(Hamming(Input("x", 9, 1)), 3)
    flagged = And((near, Both(HERE), And((Both(THERE), Both(STEP)))))
    assert tables_of(boolean_circuit(flagged)) == tables_of(boolean_circuit(near))
    assert tables_of(boolean_circuit(And(()))) == 1


def test_a_rule_of_too_many_gates_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boolean, "MOST_WIRES", 50)
    with pytest.raises(UnsupportedError):
        boolean_circuit(AtMost(Hamming(Input("x", 20, 1)), 5))


# -- published circuits, and any, between two parties --------------------------------------------------------


def dual_execution(world: World, circuit: Boolean, a: Table, b: Table) -> Answer:
    """The answers for all pairs, the same on both sides."""
    over, tapes = Blocks.whole(len(a.real), len(b.real)), tapes_of(circuit)
    parties = [evaluate_tapes(s, tapes, over, rows) for s, rows in zip(world.fresh(), (a, b), strict=True)]
    found, other = run_pair(parties[0], parties[1])
    assert (found == other).all()
    return found.reshape(len(a.real), len(b.real))


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


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 20), st.integers(0, 1 << 32))
def test_sums_and_comparisons_of_numbers_of_both(
    world_of: Callable[[str], World], bits: int, seed: int
) -> None:
    """x + y + 5 mod 2^bits < z, with x of A."""
    build, random = CircuitBuilder(), np.random.default_rng(seed)
    x = source(build, Side.A, "x", bits)
    y, z = (source(build, Side.B, name, bits) for name in "yz")
    circuit = build.finish(less(build, add(build, x, y, constant(5 % (1 << bits), bits)), z))
    numbers = random.integers(0, 1 << bits, (3, 6))
    a, b = (
        Table({name: numbers[n][:, None] >> np.arange(bits) & 1 for n, name in some}, np.ones(6, np.bool_))
        for some in ([(0, "x")], [(1, "y"), (2, "z")])
    )
    expected = (numbers[0][:, None] + numbers[1] + 5) % (1 << bits) < numbers[2]
    assert (dual_execution(world_of("dual"), circuit, a, b) == expected).all()


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
