"""The default engine beyond the contract: programs, shares, lookups, scores, supply of OTs, and its wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.errors import PeerError, UnsupportedError
from accord.network import Network
from accord.secure.blocks import Blocks, Limit, Table, batches, shapes
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Both,
    Edit,
    Equal,
    Graded,
    Hamming,
    Input,
    Node,
    Not,
    Product,
    Reaches,
    SquaredEuclidean,
)
from accord.secure.cost import price
from accord.secure.ideal import match, weigh
from accord.secure.ot import batch as ot_batch
from accord.secure.ot import compiler
from accord.secure.ot.batch import BatchSide, run_a, run_b
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.distance import correction_bytes, unpack_values
from accord.secure.ot.lookup import (
    answer,
    ask,
    from_wire,
    pack_truth,
    pick,
    pick_numbers,
    question_words,
    to_wire,
)
from accord.secure.ot.rows import OwnRows
from accord.secure.ot.settings import MANY, USUAL, Settings
from accord.secure.ot.sizes import BatchShape, batch_limit, batch_sizes
from accord.secure.ot.supply import Use, needs, schedule
from accord.secure.party import Wire, run_pair
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.setup import set_up
from accord.side import Side
from benchmarks.workload import PEOPLE, RULES, make_up_table
from tests.secure.engines import FEW, World, tampered
from tests.secure.worlds import (
    BITS,
    COSINE,
    DICE,
    HERE,
    LONG,
    Fixed,
    table,
)

# -- programs ------------------------------------------------------------------------------------------------

LARGE = AtMost(Bilinear((Product(LONG, LONG, -3),), Input("ones", 1, 300), 1 << 59, 1, 0, 1 << 61), 5)
HUGE = AtMost(SquaredEuclidean(Input("x", 2, (1 << 30) - 1)), 1 << 60)
SEX, KNOWN = Input("sex", 1, 2), Input("sex known", 1, 1)
SMALL = Graded(((And((Equal(SEX), Both(KNOWN))), 3), (Not(Both(KNOWN)), 0)), -4)
NAME = Graded(
    (
        (And((AtMost(Hamming(LONG), 0), Both(HERE))), 6),
        (And((AtMost(Hamming(LONG), 90), Both(HERE))), 2),
        (Not(Both(HERE)), 0),
    ),
    -5,
)


@pytest.mark.parametrize(
    ("circuit", "width", "size", "rounds"),
    [
        (RULES["hamming50"], 1000, 15_408_320, 21),
        (RULES["hamming50"], 100, 21_832_688, 25),
        (RULES["hamming50"], 32, 36_321_168, 38),
        (RULES["euclidean2d"], 1000, 66_096_520, 145),
        (RULES["equal16"], 1000, 6_464_432, 17),
        (RULES["dice128"], 1000, 39_314_672, 41),
        (RULES["dice1024"], 1000, 345_912_280, 62),
        (RULES["edit"], 1000, 308_006_376, 309),
        (RULES["conjunction"], 1000, 85_942_216, 161),
        (PEOPLE, 1000, 240_288_144, 88),
        # Who is no dummy costs what is not said by a penalty.
        (Equal(BITS), 1000, 4_176_808, 17),
        (And((Equal(BITS),)), 1000, 5_798_632, 25),
        (Not(AtMost(Hamming(BITS), 3)), 1000, 5_798_632, 25),
        (AtMost(DICE, 0), 1000, 5_908_240, 17),
        (AtMost(COSINE, -20), 1000, 14_032_584, 41),
        (HUGE, 1000, 150_086_808, 263),
        # Levels of one overlap, of which one is too large to be divided.
        (Reaches((Graded(((Equal(LONG), 3), (LARGE, 2)), 0),), 2), 1000, 742_645_560, 418),
        # Scores that all reach, that dummies reach, that they do not reach, and that none reaches.
        (Reaches((SMALL, NAME), -9), 1000, 2_845_256, 17),
        (Reaches((SMALL, NAME), 0), 1000, 111_509_296, 77),
        (Reaches((SMALL, NAME), 1), 1000, 111_259_024, 75),
        (Reaches((SMALL, NAME), 10), 1000, 2_845_256, 17),
    ],
    ids=lambda of: str(of)[:40],
)
def test_the_lightest_of_what_says_the_same_is_taken(
    circuit: Node, width: int, size: int, rounds: int
) -> None:
    """Bytes and rounds for about a million pairs between two organisations."""
    cost = price(circuit, square(width, 10**6 // width**2))
    assert (cost.bytes, cost.rounds) == (size, rounds)


def square(width: int, blocks: int = 1) -> Blocks:
    return Blocks.of_sizes(np.full(blocks, width), np.full(blocks, width))


def test_a_rule_that_no_pair_could_pay_for_is_refused_before_it_takes_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand predicates may stand in a partner's agreement. So may a score that no ring holds."""
    texts = [Edit(Input(f"t{i}", 24, 63), 3) for i in range(30)]
    part = Graded(((Equal(LONG), 1 << 62),), 0)
    monkeypatch.setattr(compiler, "MOST_LOOKUPS", 1 << 7)
    for circuit in (Reaches(tuple(Graded(((text, 9),), -9) for text in texts), 1), Reaches((part, part), 2)):
        with pytest.raises(UnsupportedError):
            compile_circuit(circuit, "ot")


# -- lookup --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lane", "bits"), [(8, 1), (8, 4), (16, 2), (16, 3)])
def test_a_shared_number_shows_nothing(world_of: Callable[[str], World], bits: int, lane: int) -> None:
    """What B opens is uniform whatever the state, and every bit of the other entries looks random.

    Each frequency is within 5.2 standard deviations of a half: false-alarm rate 2e-7 a bit, under 1e-3 in
    all.
    """
    a, b = (session.ot for session in world_of("ot").fresh())
    count, random = 20_000, np.random.default_rng(200 + bits)
    one = np.dtype(f"u{lane // 8}")
    numbers = random.integers(0, 9, (2, 1 << bits)).astype(one)
    index = random.integers(0, 1 << bits, count).astype(np.uint8)
    mine = random.integers(0, (1 << lane) - 1, count, dtype=one, endpoint=True)
    for state in (0, 1):
        states = np.full(count, state, dtype=np.uint8)
        question = np.empty(question_words(count, bits, b.receiver.rate), dtype=np.uint64)
        masks = ask(b.receiver, index, bits, question, lane)[:count]
        tables = answer(a.sender, pick_numbers(numbers, states, mine), count, bits, question, lane)
        seen = from_wire(to_wire(tables, bits, lane), bits, lane) ^ masks
        entries = seen.view(one)[:, : 1 << bits]
        assert (entries[np.arange(count), index] + mine == numbers[state, index]).all()
        for j in range(1 << bits):
            # Who could take A's share from another entry would know the state.
            others = entries[index != j, j] + mine[index != j] - numbers[state, j]
            for some in (entries[index == j, j].copy(), others):
                coins = np.unpackbits(some.view(np.uint8).reshape(-1, lane // 8), axis=1)
                assert (abs(coins.mean(0) - 0.5) < 5.2 * 0.5 / np.sqrt(len(coins))).all()


@pytest.mark.parametrize("bits", [1, 2, 5, 8])
def test_a_shared_lookup_shows_one_uniform_bit_and_nothing_else(
    world_of: Callable[[str], World], bits: int
) -> None:
    """What B can open of a table that A masked: every bit but its own is a constant 0 or looks random.

    A's sharing bit is what a second bit would betray. Each frequency is within 5.2 standard deviations of a
    half: false-alarm rate 2e-7 a bit, under 1e-4 for all of them.
    """
    a, b = (session.ot for session in world_of("ot").fresh())
    count = 20_000
    random = np.random.default_rng(100 + bits)
    truth = random.random((3, 1 << bits)) < 0.5
    state = random.integers(0, 3, count).astype(np.uint8)
    index = random.integers(0, 1 << bits, count).astype(np.uint8)
    question = np.empty(question_words(count, bits, b.receiver.rate), dtype=np.uint64)
    masks = ask(b.receiver, index, bits, question)[:count]
    tables = answer(a.sender, pick(pack_truth(truth), state), count, bits, question)
    share = random.integers(0, 2, count).astype(np.uint64)
    wire = to_wire(tables ^ (np.uint64(0) - share)[:, None], bits)
    sent = np.unpackbits(wire.reshape(count, -1), axis=1, bitorder="little").astype(np.int64)
    known = np.unpackbits(masks.view(np.uint8).reshape(count, -1), axis=1, bitorder="little")
    seen = sent ^ known[:, : sent.shape[1]]
    assert not sent[:, 1 << bits :].any(), "bits beyond the table's entries left A"
    for entry in range(1 << bits):
        others = index != entry
        guess = seen[others, entry] ^ share[others].astype(np.int64) ^ truth[state[others], entry]
        assert abs(guess.mean() - 0.5) < 5.2 * 0.5 / np.sqrt(others.sum())
    own = seen[np.arange(count), index]
    assert (own == truth[state, index] ^ share.astype(np.bool_)).all()


# -- scores ------------------------------------------------------------------------------------------------


class Seen:
    """What the two sides hold after a batch of the benchmark's score, for pairs whose levels are known."""

    def __init__(self, world: World, rows: int = 120) -> None:
        self.program = compile_circuit(PEOPLE, "ot")
        (batch,) = batches(Blocks.whole(rows, rows), Limit(rows * rows), 4)
        tables = [_alike(make_up_table(PEOPLE, side, rows)) for side in Side]
        self.sides = []
        for session, own in zip(world.fresh(), tables, strict=True):
            ends, entropy = session.ends((False, False)), session.ot.entropy
            self.sides.append(BatchSide(ends, entropy, self.program, batch, OwnRows(own.inputs, own.real)))
        self.answers = run_pair(run_a(self.sides[0]), run_b(self.sides[1]))
        left, right = np.repeat(np.arange(rows), rows), np.tile(np.arange(rows), rows)
        zero = [_without_dummies(own) for own in tables]
        self.levels = [weigh(part, zero[0], zero[1], left, right) for part in PEOPLE.parts]

    def numbers(self) -> list[NDArray[Any]]:
        """All that is shared, of both sides, as bits (pairs, bits)."""
        found = []
        for side in self.sides:
            found += [
                bits[:, None] for number, bits in side.bits.items() if number < len(side.program.lookups) - 1
            ]
            found += [_as_bits(values, 8 * values.itemsize) for values in side.numbers.values()]
            for share, values in zip(side.program.shares, side.shares, strict=True):
                if share.form.shifts:
                    found.append(_as_bits(values, share.bits))
        return found


def _alike(own: Table) -> Table:
    """Rows of few kinds, half of them with slips, so that every level occurs often."""
    random, rows = np.random.default_rng(6), len(own.real)
    for name, values in own.inputs.items():
        if name.endswith(" bits"):
            values[:] = random.integers(0, 2, (4, values.shape[1]))[np.arange(rows) % 4]
            values[::2] ^= random.random(values[::2].shape) < 0.06
    for name in [name for name in own.inputs if name.endswith(" ones")]:
        own.inputs[name][:] = own.inputs[name.replace("ones", "bits")].sum(axis=1, keepdims=True)
    return own


def _without_dummies(own: Table) -> dict[str, NDArray[np.int64]]:
    return {name: values * own.real[:, None] for name, values in own.inputs.items()}


def _as_bits(values: NDArray[Any], bits: int) -> NDArray[Any]:
    return (values[:, None] >> np.arange(bits, dtype=values.dtype)) & values.dtype.type(1)


def test_what_a_side_holds_tells_nothing_of_levels(world_of: Callable[[str], World]) -> None:
    """For every level of every field, each bit of every share is a fair coin to each side by itself.

    Each frequency is within 6 standard deviations of a half: false-alarm rate 2e-9 for each of some 6,000.
    """
    seen = Seen(world_of("ot"))
    assert 1000 < seen.answers[0].sum() < 10_000
    held, tested = seen.numbers(), 0
    for part, weights in zip(PEOPLE.parts, seen.levels, strict=True):
        assert set(np.unique(weights)) == set(part.weights)
        for level in part.weights:
            pairs = np.flatnonzero(weights == level)
            assert len(pairs) > 100
            assert all(_is_fair(bits[pairs]) for bits in held)
            # It would be seen if the level stood anywhere in the clear.
            assert not _is_fair((weights == part.weights[0])[pairs, None])
            tested += sum(bits.shape[1] for bits in held)
    assert tested > 5000


def _is_fair(bits: NDArray[Any]) -> bool:
    return bool((abs(bits.mean(axis=0) - 0.5) <= 6 * 0.5 / np.sqrt(len(bits))).all())


# -- settings ------------------------------------------------------------------------------------------------

HAMMING = compile_circuit(RULES["hamming50"], "ot")


def groups_of(settings: Settings, *widths: int) -> list[int]:
    sizes = np.array(widths)
    return settings.groups(HAMMING, Blocks.of_sizes(sizes, sizes)).tolist()


def test_groups_and_fields_grow_with_the_block_and_with_the_slowness_of_the_line() -> None:
    slow, fast = Settings(Network(10, 20)), Settings(Network(10_000, 1))
    assert groups_of(USUAL, 1, 8, 32, 100, 1000) == [1, 1, 2, 4, 4]
    assert (groups_of(slow, 1, 1000), groups_of(fast, 1, 1000)) == ([1, 6], [1, 2])
    assert groups_of(Settings(group=3), 1, 1000) == [3, 3]
    sizes = np.array([1000, 0, 3]), np.array([1000, 9, 0])
    assert USUAL.groups(HAMMING, Blocks.of_sizes(*sizes)).tolist()[0] == 4
    assert USUAL.groups(HAMMING, Blocks.of_sizes(np.zeros(0, int), np.zeros(0, int))).shape == (0,)
    assert (USUAL.k, USUAL.saves, fast.k, fast.saves) == (8, True, 4, False)
    assert not Settings(silent=False).saves
    assert Settings(field=2).k == 2
    with pytest.raises(ValueError, match="k is"):
        next(set_up(Side.A, 3, Fixed("a")))


# -- supply --------------------------------------------------------------------------------------------------

NEW = (Use(), Use())


def test_few_pairs_stay_with_softspoken_and_many_do_not() -> None:
    """What a session has used before counts."""
    few, many = np.array([[100], [1000]]), np.array([[100], [USUAL.many]])
    assert schedule(few, NEW, USUAL).silent == (False, False)
    assert schedule(many, NEW, USUAL).silent == (False, True)
    assert schedule(many, NEW, Settings(silent=False)).silent == (False, False)
    assert schedule(many, NEW, Settings(Network(1000, 1))).silent == (False, False)
    half = np.array([[0], [USUAL.many // 2]])
    first = schedule(half, NEW, USUAL)
    assert first.silent == (False, False)
    assert schedule(half, first.after, USUAL).silent == (False, True)


@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 9000)), max_size=12), st.integers(0, 5000))
def test_every_batch_finds_what_it_asks_for(counts: list[tuple[int, int]], many: int) -> None:
    settings = Settings(many=many, code=FEW)
    needed = np.array(counts, dtype=np.int64).reshape(-1, 2).T
    plan = schedule(needed, NEW, settings)
    ready, first = [0, 0], 0
    for stage in plan.stages:
        assert any(stage.feeds) or first == 0
        for way in (0, 1):
            ready[way] += stage.feeds[way] * settings.codes[way].outputs
            if plan.silent[way]:
                ready[way] -= int(needed[way, first : stage.last].sum())
            assert ready[way] >= 0 or not plan.silent[way]
        first = stage.last
    assert first == needed.shape[1]
    assert [use.ready for use in plan.after] == ready
    assert all(r < code.outputs for r, code in zip(ready, settings.codes, strict=True))


# -- single --------------------------------------------------------------------------------------------------

PAIRS = 120
USED = Use(made=MANY)
ONE_EACH = np.ones(PAIRS, np.int64)
BACKWARDS = np.arange(PAIRS)[::-1].copy()
ALONE = Blocks(np.arange(PAIRS), ONE_EACH, BACKWARDS, ONE_EACH)
SHARED = Blocks(
    np.arange(PAIRS), np.append(ONE_EACH[20:], 20), np.append(BACKWARDS[20:], PAIRS - 1), ONE_EACH[19:]
)
"""Of which 20 rows of A meet one row of B."""


@pytest.mark.parametrize(
    ("circuit", "over"),
    [
        *((RULES[name], ALONE) for name in ("hamming50", "euclidean2d", "edit", "conjunction", "dice128")),
        (AtMost(SquaredEuclidean(Input("far", 2, (1 << 20) - 1)), 1 << 30), ALONE),
        (RULES["hamming50"], SHARED),
    ],
    ids=lambda of: str(of)[:40],
)
def test_pairs_that_stand_alone_give_the_answers_and_bytes_of_stretches_of_one_row(
    world_of: Callable[[str], World], circuit: Node, over: Blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In lanes of 8 to 64 bits, and where letters are shared bit by bit."""
    world, (a, b) = world_of("ot field=1"), (make_up_table(circuit, side, PAIRS) for side in Side)
    digests = set()
    for alone in (True, False):
        if not alone:
            monkeypatch.setattr(ot_batch, "stands_alone", lambda batch: False)
        world.sides, wire = world.fresh(), Wire()
        found, other = run_pair(*world.parties(circuit, over, a, b), wire=wire)
        digests.add(wire.digest)
        assert (found == match(circuit, over, a, b)).all()
        assert (found == other).all()
    assert len(digests) == 1


def test_batches_are_large_and_what_is_under_way_at_once_is_bounded() -> None:
    for rule in RULES.values():
        program = compile_circuit(rule, "ot")
        pairs, ones = batch_limit(program, alone=True).most, np.ones(40_000, np.int64)
        assert pairs >= min(1 << 15, 400_000 // program.terms)
        assert batch_sizes(program, (1, 1), BatchShape(pairs, pairs, pairs, pairs)).total <= 1 << 22
        sizes = shapes(Blocks.of_sizes(ones, ones), batch_limit(program, alone=True))
        plan = schedule(needs(program, sizes), (USED, USED), USUAL)
        assert max(max(stage.feeds) for stage in plan.stages) <= 2


# -- engine --------------------------------------------------------------------------------------------------


def test_bits_after_the_last_answer_and_padding_that_is_not_zero_are_refused(
    world_of: Callable[[str], World],
) -> None:
    random, circuit, world = np.random.default_rng(0), AtMost(Hamming(BITS), 3), world_of("ot")
    a, b = (table(random, circuit, side, 3) for side in Side)
    left, right = world.parties(circuit, Blocks.whole(3, 3), a, b, world.fresh())
    program = compile_circuit(circuit, "ot")
    with pytest.raises(PeerError):
        run_pair(left, tampered(right, len(program.levels), lambda data: data[:-1] + bytes([data[-1] | 128])))
    (share,), (batch,) = program.shares, batches(Blocks.whole(3, 3), Limit(100))
    corrections = np.zeros(correction_bytes(share, batch.columns), np.uint8)
    unpack_values(Permutation(), share, batch, corrections)
    corrections[-1] = 1
    with pytest.raises(PeerError):
        unpack_values(Permutation(), share, batch, corrections)


# -- scores between two parties ------------------------------------------------------------------------------


@pytest.mark.parametrize(("bounds", "ring"), [((0, 20), 4), ((20, 0), 8)], ids=["implied", "implying"])
def test_a_level_that_another_implies_needs_a_smaller_ring(
    world_of: Callable[[str], World], bounds: tuple[int, int], ring: int
) -> None:
    levels = tuple(
        (AtMost(Hamming(LONG), bound), weight) for bound, weight in zip(bounds, (9, 4), strict=True)
    )
    circuit, random = Reaches((Graded(levels, -3),), 4), np.random.default_rng(4)
    a, b = (table(random, circuit, side, 30, 0.9) for side in Side)
    base = random.integers(0, 2, LONG.length)
    for part in (a, b):
        flips = random.random((30, LONG.length)) < random.choice([0, 0.03, 0.2], (30, 1))
        part.inputs[LONG.name][:] = base ^ flips
    assert world_of("ot").check(circuit, Blocks.whole(30, 30), a, b)
    assert min(part.bits for part in compile_circuit(circuit, "ot").sums[:2]) == ring
