"""Rows held in shares: matches open, or are tallied, as the plain interpreter says of the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from accord.datasets.starter import starter
from accord.errors import UnsupportedError
from accord.protocols.parts.comparers import InTurn
from accord.secure.blocks import Blocks, Table, join_halves, split_halves
from accord.secure.circuit import (
    And,
    AtMost,
    Equal,
    Index,
    Input,
    Node,
    Number,
    Opened,
    Or,
    SquaredEuclidean,
    Tally,
    inputs,
    own_inputs,
)
from accord.secure.cost import price
from accord.secure.engine import is_found, moved, no_matches, require_holding
from accord.secure.ideal import evaluate, rows_of
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.held import layout_of
from accord.secure.ot.program import Bit, Program, ShareBit
from accord.secure.ot.settings import Settings
from accord.secure.ot.supply import OtSession
from accord.secure.party import Wire, run_pair
from accord.secure.payloads import TOKEN, put_tokens, read_tokens
from accord.secure.renewal import Renewing
from accord.side import Side
from benchmarks.workload import RULES
from tests.secure.engines import OT, World, engine_of
from tests.secure.worlds import (
    LEAVES,
    NAMES,
    Fixed,
    Traced,
    random_circuit,
    random_names,
    random_score,
    subtract,
    table,
)

# -- held ----------------------------------------------------------------------------------------------------

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
    nothing, found = run_pair(left, right, wire=wire)
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


@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_random_circuits_and_scores(world: World, count: int) -> None:
    """Whatever met and matched, messages have the same sizes."""
    random, found = np.random.default_rng(17), 0
    for number in range(count):
        circuit = random_score(random) if number % 2 else random_circuit(random)
        sizes = []
        for met in (0.7, 0.0):
            world.sides, wire = world.fresh(), Wire()
            found += len(opened(world, circuit, *tables(random, circuit, 60), random, met, wire))
            sizes.append(wire.sizes)
        assert sizes[0] == sizes[1]
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


def test_nothing_is_opened_or_counted_where_nothing_met(world: World) -> None:
    random, always = np.random.default_rng(7), And(())
    a, b = tables(random, LEAVES[0], 50)
    assert len(opened(world, always, a, b, random, met=0.0)) == 0
    assert len(opened(world, always, a, b, random, met=2.0)) == 50
    assert len(opened(world, Or(()), a, b, random, met=2.0)) == 0
    Given(always, tally_of(Index(2), 3, 20), 0, random).run(world)
    given = Given(always, tally_of(Index(2), 3, 20), 200, random, met=0.0)
    given.run(world)
    assert not given.sums.any()


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


def test_a_layout_has_a_place_of_its_own_for_every_bit() -> None:
    engine = require_holding(engine_of("ot"))
    for rule in RULES.values():
        program = compile_circuit(engine.hold(rule), "ot")
        layout = layout_of(program)
        taken = np.concatenate(layout.bits).tolist()
        for at, share in zip(layout.own, program.shares, strict=True):
            taken += [] if at is None else range(at, at + share.bits)
        assert len(set(taken)) == len(taken)
        assert max(taken) < 64 * (layout.words - TOKEN) <= max(taken) + 64
    with pytest.raises(UnsupportedError):
        require_holding(engine_of("dual"))


def test_a_bit_that_is_multiplied_three_times_takes_two_transfers() -> None:
    """Only where rows are held in shares."""
    node = And(tuple(AtMost(SquaredEuclidean(Input("x", 1, 3)), bound) for bound in (1, 2, 4)))
    program, plain = compile_circuit(Opened(node, 0), "ot"), compile_circuit(node, "ot")
    assert (program.terms, program.choices.count, program.choices.twice) == (6, 4, 2)
    assert [bits.tolist() for bits in program.choices.bits] == [[0, 1], [0, 1], [2, 3]]
    assert (plain.choices.count, plain.choices.twice) == (6, 0)
    assert require_holding(engine_of("ot")).hold(RULES["people"]).words <= 12 + TOKEN
    people = compile_circuit(Opened(starter("people").task.lowered.node, 0), "ot")
    assert (people.terms, people.choices.twice) == (634, 128)


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


def test_a_row_that_meets_several_is_refused(world_of: Callable[[str], World]) -> None:
    world = world_of("ot")
    engine = require_holding(world.engine)
    held = engine.hold(LEAVES[0])
    rows = Table({"held": np.zeros((2, 2 * held.words), np.int64)}, np.ones(2, np.bool_))
    with pytest.raises(ValueError):
        list(engine.open(world.fresh()[0], held, Blocks.whole(2, 2), rows))


def traced(settings: Settings) -> tuple[tuple[OtSession, OtSession], tuple[Traced, Traced]]:
    pis, engine = (Traced(), Traced()), OtEngine(settings)
    made = run_pair(engine.set_up(Side.A, Fixed("a"), pis[0]), engine.set_up(Side.B, Fixed("b"), pis[1]))
    return made, pis


def open_twice(sides: tuple[OtSession, OtSession], settings: Settings) -> None:
    """Two evaluations of a session, in which bits serve twice."""
    world, random, circuit = World("ot"), np.random.default_rng(2), And(NAMES[:4])
    world.engine, world.sides = OtEngine(settings), sides
    for _ in range(2):
        opened(world, circuit, *tables(random, circuit, 30), random)


@pytest.mark.parametrize("name", ["ot", "ot silent"])
def test_no_key_and_tweak_are_hashed_twice_in_a_session(name: str) -> None:
    """Those of the openings and of tallies are among them."""
    made, pis = traced(OT[name])
    open_twice(made, OT[name])
    engine, random = OtEngine(OT[name]), np.random.default_rng(6)
    given = Given(LEAVES[0], tally_of(Index(3), 5, 32), 40, random)
    circuit, *both = given.held(engine)
    for _ in range(2):
        every = zip(made, both, strict=True)
        left, right = (engine.open(side, circuit, given.blocks, table) for side, table in every)
        run_pair(left, right)
    assert all(len(np.concatenate(pi.seen)) > 1_000 for pi in pis)
    assert [pi.repeated() for pi in pis] == [0, 0]


# -- tally ---------------------------------------------------------------------------------------------------

Ints = NDArray[np.int64]
MET = Equal(Input("met", 48, 1))
"""Zeros in every row, which shares that are no payload do not come to."""


def tally_of(by: Index | Number | None, weights: int, bits: int) -> Tally:
    return Tally(by, Input("weights", weights, (1 << bits) - 1), bits)


def ones(count: int) -> NDArray[np.bool_]:
    return np.ones(count, np.bool_)


class Given:
    """Rows of both sides for a circuit, and what both come to hold of them where they met."""

    def __init__(self, node: Node, of: Tally, count: int, random: Generator, met: float = 0.7) -> None:
        self.node, self.of, self.count, self.random = And((node, MET)), of, count, random
        a, b = tables(random, node, count)
        zeros = np.zeros((count, MET.of.length), np.int64)
        given = {} if of.by is None else {of.by.of.name: random.integers(0, 2, (count, of.by.of.length))}
        self.weights = random.integers(-(1 << of.bits - 1), 1 << of.bits - 1, (count, of.weights.length))
        self.a = {**a.inputs, "met": zeros, **given}
        self.b = {**b.inputs, "met": zeros, "weights": self.weights % (1 << of.bits)}
        self.there = random.random(count) < met

    @property
    def sums(self) -> Ints:
        rows = np.arange(self.count)
        counts = evaluate(self.node, self.a, self.b, rows, rows) & self.there
        return (rows_of(self.of, self.a, rows[counts]).T @ self.weights[counts]).reshape(-1) % (
            1 << self.of.bits
        )

    def held(self, engine: object) -> tuple[Opened, Table, Table]:
        """The circuit, and the tables of the two sides."""
        holding = require_holding(engine)  # type: ignore[arg-type]
        circuit = holding.hold(self.node, self.of)
        payloads, tops = holding.payloads(circuit, Table(self.a, ones(self.count)))
        masks = words(self.random, *payloads.shape)
        shares = subtract(payloads, masks, tops)
        shares[~self.there] = words(self.random, *shares[~self.there].shape)
        mine, theirs = {"held": split_halves(masks)}, {**self.b, "held": split_halves(shares)}
        return circuit, Table(mine, ones(self.count)), Table(theirs, ones(self.count))

    @property
    def blocks(self) -> Blocks:
        return Blocks.of_sizes(np.ones(self.count, np.int64), np.ones(self.count, np.int64))

    def run(self, world: World) -> None:
        """In a new session, for which a price is exact."""
        world.sides, wire = world.fresh(), Wire()
        circuit = self.shares(world, wire)[0]
        if world.name in OT:
            cost = price(circuit, self.blocks, "ot", OT[world.name])
            assert (cost.bytes, cost.rounds) == (wire.bytes, wire.rounds)

    def shares(self, world: World, wire: Wire | None = None) -> tuple[Opened, Ints, Ints]:
        """The circuit and what both sides come to, after all that must hold of it."""
        engine = require_holding(world.engine)
        circuit, *both = self.held(engine)
        left, right = (
            engine.open(side, circuit, self.blocks, rows)
            for side, rows in zip(world.sides, both, strict=True)
        )
        shares = run_pair(left, right, wire=wire)
        assert all(is_found(circuit, share, self.count) for share in shares)
        assert np.array_equal((shares[0] + shares[1])[0] % (1 << self.of.bits), self.sums)
        return circuit, *shares


SHAPES = [
    (None, 12, 8),
    (Number(1), 1, 62),
    (Number(11), 2, 26),
    (Index(3), 5, 26),
    (Index(12), 2, 13),
    (Index(10), 10, 26),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shares_add_up_to_the_plain_sums(world: World, shape: tuple[Index | Number | None, int, int]) -> None:
    random = np.random.default_rng(SHAPES.index(shape))
    for count in (1, 60):
        Given(LEAVES[0], tally_of(*shape), count, random).run(world)


@pytest.mark.parametrize("count", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_any_circuit_is_tallied(world: World, count: int) -> None:
    random, found = np.random.default_rng(5), 0
    for number in range(count):
        circuit = (random_circuit, random_score, random_names)[number % 3](random)
        rows, weights, bits = (int(random.integers(*ends)) for ends in ((0, 13), (1, 13), (8, 63)))
        by = (Index, Number)[number // 2 % 2](rows) if rows else None
        given = Given(circuit, tally_of(by, weights, bits), 60, random)
        given.run(world)
        found += int(np.count_nonzero(given.sums))
    assert found > 0


@pytest.mark.parametrize("name", ["ot", "ot silent"])
def test_several_batches(
    monkeypatch: pytest.MonkeyPatch, world_of: Callable[[str], World], name: str
) -> None:
    """More than are under way at once."""
    monkeypatch.setattr("accord.secure.ot.sizes._PAIRS", 64)
    Given(LEAVES[0], tally_of(Index(3), 2, 30), 64 * 9 + 5, np.random.default_rng(2)).run(world_of(name))


def test_each_share_of_the_work_gives_a_row() -> None:
    """Two sessions in turn, and pieces of an evaluation between which secrets are looked at."""
    given, engine = Given(LEAVES[0], tally_of(Index(2), 2, 40), 90, np.random.default_rng(3)), OtEngine()
    circuit, *both = given.held(engine)

    def two(side: Side, table: Table):  # type: ignore[no-untyped-def]
        comparer = yield from InTurn(2).gather(side, engine, circuit, Fixed(side.value), 90)
        comparer.ask(given.blocks, table)
        return (yield from comparer.answer())

    def pieces(side: Side, table: Table):  # type: ignore[no-untyped-def]
        lasting = Renewing(engine, every=40)
        session = yield from lasting.set_up(side, Fixed(side.value))
        return (yield from lasting.open(session, circuit, given.blocks, table))

    for work, rows in ((two, 2), (pieces, 3)):
        a, b = run_pair(*(work(side, table) for side, table in zip(Side, both, strict=True)))
        assert a.shape == b.shape == (rows, 4)
        assert np.array_equal((a + b).sum(axis=0) % (1 << 40), given.sums)


def test_a_tally_has_one_row_of_its_ring_and_what_each_side_brings() -> None:
    of = tally_of(Index(2), 3, 20)
    circuit = engine_held(of)
    row = np.arange(6)[None]
    assert np.array_equal(moved(circuit, row, 100), row)
    assert no_matches(circuit).shape == (0, 6)
    assert is_found(circuit, row, 1)
    for wrong in (row[:, :5], row[:0], np.repeat(row, 2, axis=0), row - 1, row + (1 << 20)):
        assert not is_found(circuit, wrong, 1)
    assert of.by is not None
    assert inputs(circuit, Side.A) == (circuit.held,)
    assert inputs(circuit, Side.B) == (*inputs(LEAVES[8], Side.B), of.weights, circuit.held)
    assert own_inputs(circuit, Side.A) == (*inputs(LEAVES[8], Side.A), of.by.of)
    engine = require_holding(engine_of("ot"))
    saved = [
        engine.hold(LEAVES[0]).words - engine.hold(LEAVES[0], tally_of(by, 3, 20)).words
        for by in (None, Number(64))
    ]
    assert saved == [3, 2], "nothing opens, and a number has bits"


def engine_held(of: Tally) -> Opened:
    return require_holding(engine_of("ot")).hold(LEAVES[8], of)


def test_a_share_alone_is_uniform(world_of: Callable[[str], World]) -> None:
    """Of 1,728 shares of 8 bits, the upper and the lower 4 in 16 classes each: Σ (n − e)²/e has 15 degrees of
    freedom and is over 58.4 with probability 5·10⁻⁷; four of these: a false alarm in 500,000."""
    random, world = np.random.default_rng(4), world_of("ot")
    given = (Given(LEAVES[0], tally_of(Index(12), 12, 8), 20, random, float(met % 2)) for met in range(12))
    seen = [one.shares(world)[1:] for one in given]
    for rows in zip(*seen, strict=True):
        shares = np.concatenate(rows, axis=1)[0]
        for nibble in (shares >> 4, shares & 15):
            expected = len(shares) / 16
            assert ((np.bincount(nibble, minlength=16) - expected) ** 2 / expected).sum() < 58.4


def test_a_pair_is_in_one_row_whatever_its_index() -> None:
    """Of every number of rows up to 33 and some more, for every index that its bits can hold."""
    for rows in (*range(1, 34), 63, 64, 65, 100, 127, 128, 129, 200):
        program = compile_circuit(Opened(LEAVES[8], 0, tally_of(Index(rows), 1, 8)), "ot")
        length = Index(rows).of.length
        index = np.arange(1 << length)
        bits = {len(program.shares) - length + n: index >> n & 1 for n in range(length)}
        assert not _outputs(program, rows - 1, bits, 0 * index).any()
        found = _outputs(program, rows - 1, bits, 0 * index + 1)
        assert (found.sum(axis=0) == 1).all()
        assert (found.argmax(axis=0)[:rows] == np.arange(rows)).all(), "each has its own"


def _outputs(program: Program, last: int, bits: dict[int, Ints], answer: Ints) -> Ints:
    """What comes of the last lookups of a program, with random shares of what they read."""
    first, random = len(program.lookups) - last, np.random.default_rng(7)
    known = {first - 1: answer}

    def value(wire: object) -> Ints:
        if isinstance(wire, ShareBit):
            return bits[wire.share]
        assert isinstance(wire, Bit)
        return reduce(np.bitwise_xor, (known[one] for one in wire.others), known[wire.lookup])

    for number in range(first, len(program.lookups)):
        lookup, state = program.lookups[number], random.integers(0, 4, len(answer))
        low, high = map(value, lookup.shared)
        known[number] = lookup.truth[state, state ^ low ^ high << 1].astype(np.int64)
    return np.stack([value(bit) for bit in program.outputs])


@pytest.mark.parametrize(("name", "by"), [("ot", Index(3)), ("ot", Number(5)), ("ot silent", Index(10))])
def test_whoever_flips_bits_of_a_row_makes_it_another_row(
    world_of: Callable[[str], World], name: str, by: Index | Number
) -> None:
    """B flips bits of its share, A has any bits: a pair is in one row, or its number is another."""
    random, world = np.random.default_rng(8), world_of(name)
    given = Given(LEAVES[0], tally_of(by, 1, 20), 90, random)
    circuit, mine, theirs = given.held(world.engine)
    layout = layout_of(compile_circuit(circuit, "ot"))
    flips = random.integers(0, 2, (given.count, by.of.length))
    held = join_halves(theirs.inputs["held"])
    for at, flip in zip(layout.own[-by.of.length :], flips.T, strict=True):
        assert at is not None
        held[:, at // 64] ^= flip.astype(np.uint64) << np.uint64(at % 64)
    theirs.inputs["held"] = split_halves(held)  # type: ignore[index]
    engine = require_holding(world.engine)
    sides = zip(world.sides, (mine, theirs), strict=True)
    left, right = (engine.open(side, circuit, given.blocks, rows) for side, rows in sides)
    a, b = run_pair(left, right)
    before = given.sums
    given.a[by.of.name] = given.a[by.of.name] ^ flips
    assert np.array_equal((a + b)[0] % (1 << 20), given.sums)
    assert not np.array_equal(given.sums, before)
    if isinstance(by, Index):
        assert given.sums.sum() % (1 << 20) == before.sum() % (1 << 20), "the total is what it was"


def test_a_ring_that_no_number_of_a_machine_holds_is_refused() -> None:
    for bits in (0, 63):
        with pytest.raises(ValueError):
            tally_of(None, 1, bits)
