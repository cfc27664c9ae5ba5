"""Programs: widths, dummies, and what has no program."""

from __future__ import annotations

import numpy as np
import pytest

from accord.errors import UnsupportedError
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Edit,
    Equal,
    Graded,
    Hamming,
    Input,
    Not,
    Or,
    Product,
    Reaches,
    SquaredEuclidean,
)
from accord.secure.ot.compiler import Build, compile_circuit
from accord.secure.ot.program import Digit, OwnBit
from tests.secure.worlds import AHEAD, BITS, COSINE, DICE, FAR, LEAVES, random_circuit


def test_the_hamming_distance_of_the_paper_needs_five_bits_dummies_included() -> None:
    program = compile_circuit(AtMost(Hamming(Input("x", 50, 1)), 5), "ot")
    (share,), (lookup,) = program.shares, program.lookups
    assert (share.bits, share.lane, share.penalty, lookup.bits) == (5, 8, 3, 5)
    assert len(share.form.shifts) == 51


def test_a_narrow_lookup_says_what_the_shares_add_up_to() -> None:
    program = compile_circuit(AtMost(Hamming(Input("x", 50, 1)), 5), "ot")
    truth, size = program.lookups[0].truth, 32
    for y, j in np.random.default_rng(0).integers(0, size, (200, 2)):
        assert truth[y, j] == ((y + j) % size <= 2)


def test_of_what_says_the_same_the_lightest_is_taken() -> None:
    """Dice is divided by five; a squared distance is as it was; a sum of two halves costs a bit less."""
    grams, ones = Input("grams", 128, 1), Input("ones", 1, 128)
    dice = Bilinear((Product(grams, grams, -20),), ones, 8, 8, -4 * 128, 16 * 128)
    (share,) = compile_circuit(AtMost(dice, 0), "ot").shares
    assert (share.bits, len(share.form.shifts)) == (8, 128 + 4)
    (share,) = compile_circuit(AtMost(SquaredEuclidean(FAR), 1000**2), "ot").shares
    assert len(share.form.shifts) == 34


def test_a_chain_of_digits_gives_the_sign() -> None:
    program = compile_circuit(AtMost(SquaredEuclidean(FAR), 1000**2), "ot")
    (share,) = program.shares
    assert (share.bits, len(program.lookups)) == (37, 12), "[MATHS §11.3]"
    random = np.random.default_rng(0)
    for value in [-1, 0, 1, *random.integers(-(10**9), 10**9, 100).tolist()]:
        mine = int(random.integers(1 << share.bits))
        yours = (value - mine) % (1 << share.bits)
        state = index = 0
        carry = (0, 0)
        for lookup in program.lookups:
            digit = lookup.shared[0]
            assert isinstance(digit, Digit)
            low, bits = digit.low, digit.bits
            state = (mine >> low & ((1 << bits) - 1)) | (carry[0] << bits)
            index = (yours >> low & ((1 << bits) - 1)) | (carry[1] << bits)
            mask = int(random.integers(2))
            carry = (mask, int(lookup.truth[state, index]) ^ mask)
        assert (carry[0] ^ carry[1]) == (value < 0)


def test_edits_take_one_share_a_place_and_lookups_of_few_bits() -> None:
    program = compile_circuit(Edit(Input("x", 12, 37), 2), "ot")
    assert [(share.bits, share.exclusive, len(share.form.shifts)) for share in program.shares] == [
        (5, True, 38)
    ] * 12
    assert (len(program.lookups), sum(lookup.bits for lookup in program.lookups)) == (94, 309)
    assert max(lookup.bits for lookup in program.lookups) == 6


def test_edits_of_one_text_under_several_bounds_are_counted_once() -> None:
    text = Input("x", 12, 37)
    program = compile_circuit(And((Edit(text, 2), Not(Edit(text, 1)))), "ot")
    assert len(program.shares) == 12
    assert len(program.lookups) < 94 + 12
    apart = compile_circuit(Or((Edit(text, 1), Edit(Input("y", 12, 37), 2))), "ot")
    assert len(apart.shares) == 24


def test_only_where_it_is_lighter_do_penalties_replace_conjuncts() -> None:
    assert compile_circuit(AtMost(Hamming(Input("x", 50, 1)), 5), "ot").shares[0].penalty == 3
    assert compile_circuit(Equal(BITS), "ot").shares[0].penalty == 1
    assert compile_circuit(AtMost(DICE, 0), "ot").shares[0].penalty == 2
    for circuit in (AtMost(COSINE, -20), Not(AtMost(Hamming(BITS), 3)), And((Equal(BITS),))):
        program = compile_circuit(circuit, "ot")
        assert [share.penalty for share in program.shares] == [0]
        assert OwnBit(None) in program.lookups[-1].own


def test_lookups_read_only_what_was_made_before_them_and_stay_small() -> None:
    random = np.random.default_rng(1)
    for _ in range(100):
        program = compile_circuit(random_circuit(random), "ot")
        assert sorted(i for level in program.levels for i in level) == list(range(len(program.lookups)))
        assert program.levels[-1] == [len(program.lookups) - 1]
        assert all(lookup.truth.shape == (1 << lookup.bits,) * 2 for lookup in program.lookups)
        assert all(lookup.bits <= 8 for lookup in program.lookups)


def test_a_comparison_that_occurs_twice_is_made_once() -> None:
    leaf = AtMost(AHEAD, 100)
    once, twice = compile_circuit(And((leaf,)), "ot"), compile_circuit(And((leaf, Not(leaf))), "ot")
    assert len(once.lookups) == len(twice.lookups)


@pytest.mark.parametrize(
    ("circuit", "node"),
    [
        (AtMost(Hamming(Input("x", 3, 2)), 1), "not bits"),
        (AtMost(SquaredEuclidean(Input("x", 2, 1 << 31)), 5), "needs 64 bits"),
        (And((LEAVES[0], Not(AtMost(Bilinear((), None, 0, 0, 0, 1 << 62), 5)))), "over 62 bits"),
        (AtMost(Bilinear((), Input("x", 1, 1), 1 << 70, 1, 0, 9), 5), "over 62 bits"),
    ],
)
def test_what_cannot_be_done_is_named(circuit: object, node: str) -> None:
    with pytest.raises(UnsupportedError, match=f"'ot' cannot evaluate.*{node}"):
        compile_circuit(circuit, "ot")


def test_a_distance_too_wide_for_penalties_is_compared_without() -> None:
    wide = AtMost(SquaredEuclidean(Input("x", 2, (1 << 30) - 1)), 1 << 60)
    assert all(share.penalty == 0 for share in compile_circuit(wide, "ot").shares)
    small = AtMost(SquaredEuclidean(Input("x", 2, 255)), 100)
    assert all(share.penalty > 0 for share in compile_circuit(small, "ot").shares)


def test_a_rule_that_no_pair_could_pay_for_is_refused_before_it_takes_minutes() -> None:
    """A thousand predicates may stand in a partner's agreement."""
    texts = [Edit(Input(f"t{i}", 24, 63), 3) for i in range(300)]
    with pytest.raises(UnsupportedError, match="more than 8,192 lookups"):
        compile_circuit(Reaches(tuple(Graded(((text, 9),), -9) for text in texts), 1), "ot")


def test_the_weight_that_is_kept_is_that_of_the_program() -> None:
    build = Build("ot")
    parts = tuple(Graded(((Edit(Input("t", 5, 9), i), 9 - i), (AtMost(AHEAD, i), -i)), -9) for i in range(3))
    build.answer(And((Reaches(parts, 1), AtMost(DICE, 0))))
    assert build.weight == build.finish(None).weight
