"""Rows that nobody has: every rule on shares says what the plain interpreter says of the rows themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from accord.datasets.starter import starter
from accord.errors import UnsupportedError
from accord.secure.blocks import Blocks, Table, join_halves, split_halves
from accord.secure.circuit import And, AtMost, Input, Node, Opened, Or, SquaredEuclidean, inputs
from accord.secure.cost import price
from accord.secure.engine import require_holding
from accord.secure.ideal import evaluate
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.held import HeldRows, layout_of, payloads
from accord.secure.ot.rows import OwnRows
from accord.secure.ot.settings import Settings
from accord.secure.ot.supply import OtSession
from accord.secure.party import Wire, run_pair
from accord.secure.payloads import TOKEN, put_tokens, read_tokens
from accord.side import Side
from benchmarks.workload import RULES, make_up_table
from tests.secure.engines import OT, World, engine_of
from tests.secure.shares import subtract
from tests.secure.worlds import (
    LEAVES,
    NAMES,
    Fixed,
    Traced,
    random_circuit,
    random_names,
    random_score,
    table,
)

Words = NDArray[np.uint64]


def words(random: Generator, *shape: int) -> Words:
    return random.integers(0, 1 << 64, shape, dtype=np.uint64)


def opened(
    world: World,
    circuit: Node,
    a: Table,
    b: Table,
    random: Generator,
    met: float = 0.7,
    wire: Wire | None = None,
) -> NDArray[np.int64]:
    """Compare row by row, of which B holds shares for some; check what comes out, and give it."""
    engine, count = require_holding(world.engine), len(a.real)
    held = engine.hold(circuit)
    payloads, tops = engine.payloads(held, a)
    last = words(random, count, TOKEN)
    last[:, -1] >>= np.uint64(32)
    payloads[:, -TOKEN:] = last
    masks = words(random, *payloads.shape)
    shares = subtract(payloads, masks, tops)
    there = random.random(count) < met
    shares[~there] = words(random, *shares[~there].shape)
    mine = Table({"held": split_halves(masks)}, np.ones(count, np.bool_))
    theirs = Table({**b.inputs, "held": split_halves(shares)}, np.ones(count, np.bool_))
    ones = np.ones(count, np.int64)
    over = Blocks.of_sizes(ones, ones)
    left, right = (
        engine.open(side, held, over, rows) for side, rows in zip(world.sides, (mine, theirs), strict=True)
    )
    nothing, found = run_pair(left, right, wire)
    rows = np.arange(count)
    assert len(nothing) == 0
    expected = np.flatnonzero(evaluate(circuit, a.inputs, b.inputs, rows, rows) & there)
    assert np.array_equal(np.sort(found[:, 0]), expected)
    assert np.array_equal(found[:, 1:].astype(np.uint64), last[found[:, 0]])
    return found


def tables(random: Generator, circuit: Node, rows: int) -> tuple[Table, Table]:
    """Without dummies."""
    a, b = (table(random, circuit, side, rows, real=2.0) for side in Side)
    return a, b


@pytest.fixture(params=["ot", "ot silent", "ideal"])
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: str(leaf)[:40])
def test_every_leaf(world: World, leaf: Node) -> None:
    random = np.random.default_rng(3)
    opened(world, leaf, *tables(random, leaf, 40), random)


@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_random_circuits_and_scores(world: World, count: int) -> None:
    random = np.random.default_rng(17)
    found = 0
    for number in range(count):
        circuit = random_score(random) if number % 2 else random_circuit(random)
        found += len(opened(world, circuit, *tables(random, circuit, 60), random))
    assert found > 0


@pytest.mark.parametrize("count", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_bits_that_are_multiplied_again(world: World, count: int) -> None:
    """In a new session, for which a price is exact."""
    random, twice = np.random.default_rng(29), 0
    for _ in range(count):
        circuit, ones, wire = random_names(random), np.ones(50, np.int64), Wire()
        world.sides = world.fresh()
        opened(world, circuit, *tables(random, circuit, 50), random, wire=wire)
        held = require_holding(world.engine).hold(circuit)
        twice += compile_circuit(held, "ot").choices.twice
        if world.name in OT:
            cost = price(held, Blocks.of_sizes(ones, ones), "ot", OT[world.name])
            assert (cost.bytes, cost.rounds) == (wire.bytes, wire.rounds)
    assert twice > 0


@pytest.mark.parametrize("name", ["people", "edit", "conjunction"])
def test_rules_as_people_have_them(world_of: Callable[[str], World], name: str) -> None:
    random = np.random.default_rng(5)
    circuit = RULES[name]
    made = (make_up_table(circuit, side, 60) for side in Side)
    a, b = (Table(one.inputs, np.ones(60, np.bool_)) for one in made)
    opened(world_of("ot"), circuit, a, b, random)


def test_nothing_is_opened_where_nothing_met(world: World) -> None:
    random = np.random.default_rng(7)
    always = And(())
    a, b = tables(random, LEAVES[0], 50)
    assert len(opened(world, always, a, b, random, met=0.0)) == 0
    assert len(opened(world, always, a, b, random, met=2.0)) == 50
    assert len(opened(world, Or(()), a, b, random, met=2.0)) == 0


def test_messages_have_the_same_sizes_whatever_met_and_matched(world_of: Callable[[str], World]) -> None:
    sizes = []
    for met in (0.0, 1.0):
        wire, random = Wire(), np.random.default_rng(int(met))
        opened(world_of("ot"), LEAVES[0], *tables(random, LEAVES[0], 77), random, met, wire)
        sizes.append(wire.sizes)
    assert sizes[0] == sizes[1]


def test_a_share_of_a_payload_is_uniform_and_the_two_make_it() -> None:
    """A field of any width: over all masks every value occurs once."""
    tops = np.array([0b1001_1000], np.uint64)
    every = np.arange(256, dtype=np.uint64)[:, None]
    payload = np.full((256, 1), 0b1011_0101, np.uint64)
    shares = subtract(payload, every, tops) & np.uint64(255)
    assert len(np.unique(shares)) == 256
    for low, bits in ((0, 4), (4, 1), (5, 3)):
        mask = np.uint64((1 << bits) - 1)
        field = [(x >> np.uint64(low)) & mask for x in (shares, every, payload)]
        whole = field[0] ^ field[1] if bits == 1 else (field[0] + field[1]) & mask
        assert np.array_equal(whole, field[2])


@pytest.mark.parametrize("name", RULES)
def test_a_layout_has_a_place_of_its_own_for_every_bit(name: str) -> None:
    engine = require_holding(engine_of("ot"))
    program = compile_circuit(engine.hold(RULES[name]), "ot")
    layout = layout_of(program)
    taken = np.concatenate(layout.bits).tolist()
    assert len(taken) == program.terms
    for at, share in zip(layout.own, program.shares, strict=True):
        if at is not None:
            assert at // 64 == (at + share.bits - 1) // 64
            taken += range(at, at + share.bits)
    assert len(set(taken)) == len(taken)
    assert max(taken) < 64 * (layout.words - TOKEN) <= max(taken) + 64
    assert not any(lookup.own for lookup in program.lookups)


@pytest.mark.parametrize("seed", range(40))
def test_a_payload_has_the_bits_of_each_share_wherever_these_are(seed: int) -> None:
    random = np.random.default_rng(seed)
    circuit = random_circuit(random) if seed % 4 == 0 else random_names(random)
    program = compile_circuit(require_holding(engine_of("ot")).hold(circuit), "ot")
    a, rows = tables(random, circuit, 30)[0], np.arange(30)
    own, choices = OwnRows(a.inputs, a.real), program.choices
    made = HeldRows(payloads(program, own))
    for number, share in enumerate(program.shares):
        if share.form.shifts:
            expected = own.choice_bits(program, number, rows)
            assert np.array_equal(made.choice_bits(program, number, rows), expected)
    words = [word for some in choices.words for word in some.tolist()]
    assert sorted(words) == list(range(program.terms)) == list(range(choices.count + choices.twice))
    assert len(set(np.concatenate([[], *layout_of(program).bits]).tolist())) == choices.count


def test_a_bit_that_is_multiplied_three_times_takes_two_transfers() -> None:
    """Only where rows are held in shares."""
    node = And(tuple(AtMost(SquaredEuclidean(Input("x", 1, 3)), bound) for bound in (1, 2, 4)))
    program = compile_circuit(Opened(node, 0), "ot")
    assert (program.terms, program.choices.count, program.choices.twice) == (6, 4, 2)
    assert [bits.tolist() for bits in program.choices.bits] == [[0, 1], [0, 1], [2, 3]]
    plain = compile_circuit(node, "ot")
    assert (plain.choices.count, plain.choices.twice) == (6, 0)


def test_the_people_of_the_starter_have_128_bits_twice() -> None:
    program = compile_circuit(Opened(starter("people").task.lowered.node, 0), "ot")
    assert (program.terms, program.choices.twice) == (634, 128)


def test_people_take_about_seven_hundred_bits() -> None:
    assert require_holding(engine_of("ot")).hold(RULES["people"]).words <= 12 + TOKEN


def test_engines_without_shares_say_so() -> None:
    with pytest.raises(UnsupportedError, match="holds a share"):
        require_holding(engine_of("dual"))


def test_a_token_is_96_bits_and_64_zeros_of_what_its_owner_chose() -> None:
    """Any other of the 160 bits is none; the last 32 zeros are the engine's to look at."""
    random = np.random.default_rng(2)
    payloads, tokens = words(random, 65, 5), words(random, 65, 2)
    put_tokens(payloads, tokens)
    for row in range(64):
        payloads[row, 3 + (row >= 32)] ^= np.uint64(1) << np.uint64(32 + row if row < 32 else row - 32)
    found = np.column_stack([np.arange(65), payloads[:, -TOKEN:].astype(np.int64)])
    kept = read_tokens(found)
    assert kept[:, 0].tolist() == [64]
    assert np.array_equal(
        kept[0, 1:].astype(np.uint64), tokens[64] & np.array([-1, (1 << 32) - 1]).astype(np.uint64)
    )


def test_words_travel_as_halves() -> None:
    some = words(np.random.default_rng(1), 5, 3)
    halves = split_halves(some)
    assert halves.shape == (5, 6)
    assert halves.max() < 1 << 32
    assert np.array_equal(join_halves(halves), some)


def test_a_row_that_meets_several_is_refused(world_of: Callable[[str], World]) -> None:
    world = world_of("ot")
    engine = require_holding(world.engine)
    held = engine.hold(LEAVES[0])
    rows = Table({"held": np.zeros((2, 2 * held.words), np.int64)}, np.ones(2, np.bool_))
    with pytest.raises(ValueError, match="meets one other"):
        list(engine.open(world.fresh()[0], held, Blocks.whole(2, 2), rows))


def test_inputs_are_the_share_and_what_b_has() -> None:
    held = require_holding(engine_of("ot")).hold(LEAVES[8])
    assert inputs(held, Side.A) == (held.held,)
    assert inputs(held, Side.B) == (*inputs(LEAVES[8], Side.B), held.held)


# -- nothing twice -----------------------------------------------------------------------------------------


def traced(settings: Settings) -> tuple[tuple[OtSession, OtSession], tuple[Traced, Traced]]:
    pis, engine = (Traced(), Traced()), OtEngine(settings)
    made = run_pair(engine.set_up(Side.A, Fixed("a"), pis[0]), engine.set_up(Side.B, Fixed("b"), pis[1]))
    return made, pis


def open_twice(sides: tuple[OtSession, OtSession], settings: Settings, rewind: bool) -> None:
    """Two evaluations of a session; with `rewind` the second takes the OTs of the first. Bits serve twice."""
    engine, random, circuit = OtEngine(settings), np.random.default_rng(2), And(NAMES[:4])
    held, ones = engine.hold(circuit), np.ones(30, np.int64)
    a, b = tables(random, circuit, 30)
    payloads, tops = engine.payloads(held, a)
    masks = words(random, *payloads.shape)
    real = np.ones(30, np.bool_)
    mine = Table({"held": split_halves(masks)}, real)
    theirs = Table({**b.inputs, "held": split_halves(subtract(payloads, masks, tops))}, real)
    over = Blocks.of_sizes(ones, ones)
    for _ in range(2):
        if rewind:
            for side in sides:
                for end in (side.ot.sender, side.ot.receiver):
                    end._block = 0
        run_pair(engine.open(sides[0], held, over, mine), engine.open(sides[1], held, over, theirs))


@pytest.mark.parametrize("name", ["ot", "ot silent"])
def test_no_key_and_tweak_are_hashed_twice_in_a_session(name: str) -> None:
    """Those of the openings are among them."""
    made, pis = traced(OT[name])
    open_twice(made, OT[name], rewind=False)
    assert all(len(np.concatenate(pi.seen)) > 1_000 for pi in pis)
    assert [pi.repeated() for pi in pis] == [0, 0]


def test_transfers_that_are_used_twice_would_be_noticed() -> None:
    made, pis = traced(OT["ot field=4"])
    open_twice(made, OT["ot field=4"], rewind=True)
    assert all(pi.repeated() for pi in pis)
