"""Rows held in shares: matches open, or are tallied, as the plain interpreter says of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    Graded,
    Hamming,
    Index,
    Input,
    Node,
    Not,
    Number,
    Opened,
    Or,
    Reaches,
    SquaredEuclidean,
    Tally,
    inputs,
    own_inputs,
)
from accord.secure.cost import price
from accord.secure.engine import Engine, is_found, moved, no_matches, require_holding
from accord.secure.ideal import evaluate, rows_of
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.held import layout_of
from accord.secure.ot.settings import USUAL, Settings
from accord.secure.party import Wire, run_pair
from accord.secure.payloads import TOKEN, put_tokens, read_tokens
from accord.secure.renewal import Renewing
from accord.side import Side
from benchmarks.workload import PEOPLE, RULES
from tests.secure.engines import OT, World, engine_of
from tests.secure.worlds import (
    BITS,
    LEAVES,
    NAMES,
    POINT,
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
Ints = NDArray[np.int64]


def words(random: Generator, *shape: int) -> Words:
    return random.integers(0, 1 << 64, shape, dtype=np.uint64)


def tables(random: Generator, circuit: Node, rows: int) -> tuple[Table, Table]:
    """Without dummies."""
    a, b = (table(random, circuit, side, rows, real=2.0) for side in Side)
    return a, b


def tally_of(by: Index | Number | None, weights: int, bits: int) -> Tally:
    return Tally(by, Input("weights", weights, (1 << bits) - 1), bits)


def ones(count: int) -> NDArray[np.bool_]:
    return np.ones(count, np.bool_)


MET = Equal(Input("met", 48, 1))
"""Zeros in every row, which shares that are no payload do not come to."""


class Given:
    """Pairs of rows, of which B holds shares where they met, and what must come of them."""

    def __init__(self, node: Node, of: Tally | None, count: int, random: Generator, met: float = 0.7) -> None:
        self.node, self.of, self.count, self.random = node, of, count, random
        a, b = tables(random, node, count)
        self.a, self.b = dict(a.inputs), dict(b.inputs)
        if of is not None:
            self.node = And((node, MET))
            self.a["met"] = self.b["met"] = np.zeros((count, MET.of.length), np.int64)
            self.weights = random.integers(-(1 << of.bits - 1), 1 << of.bits - 1, (count, of.weights.length))
            self.b["weights"] = self.weights % (1 << of.bits)
            if of.by is not None:
                self.a[of.by.of.name] = random.integers(0, 2, (count, of.by.of.length))
        self.tokens = words(random, count, TOKEN)
        self.tokens[:, -1] >>= np.uint64(32)
        self.there = random.random(count) < met
        single = np.ones(count, np.int64)
        self.blocks = Blocks.of_sizes(single, single)

    @property
    def counts(self) -> NDArray[np.bool_]:
        """Which pairs met and match."""
        rows = np.arange(self.count)
        return evaluate(self.node, self.a, self.b, rows, rows) & self.there

    @property
    def sums(self) -> Ints:
        assert self.of is not None
        sums = rows_of(self.of, self.a, np.flatnonzero(self.counts)).T @ self.weights[self.counts]
        return sums.reshape(-1) % (1 << self.of.bits)

    def held(self, engine: Engine) -> tuple[Opened, Table, Table]:
        """The circuit, and the tables of the two sides."""
        holding = require_holding(engine)
        circuit = holding.hold(self.node, self.of)
        payloads, tops = holding.payloads(circuit, Table(self.a, ones(self.count)))
        if self.of is None:
            payloads[:, -TOKEN:] = self.tokens
        masks = words(self.random, *payloads.shape)
        shares = subtract(payloads, masks, tops)
        shares[~self.there] = words(self.random, *shares[~self.there].shape)
        mine, theirs = {"held": split_halves(masks)}, {**self.b, "held": split_halves(shares)}
        return circuit, Table(mine, ones(self.count)), Table(theirs, ones(self.count))

    def open(
        self, engine: Engine, sides: tuple[Any, Any], wire: Wire | None = None
    ) -> tuple[Opened, Ints, Ints]:
        """The circuit and what both sides come to, after all that must hold of it."""
        circuit, *both = self.held(engine)
        shares = self.run_both(engine, sides, circuit, *both, wire=wire)
        self.require(circuit, *shares)
        return circuit, *shares

    def run_both(
        self, engine: Engine, sides: tuple[Any, Any], circuit: Opened, *both: Table, wire: Wire | None = None
    ) -> tuple[Ints, Ints]:
        left, right = (
            require_holding(engine).open(side, circuit, self.blocks, rows)
            for side, rows in zip(sides, both, strict=True)
        )
        return run_pair(left, right, wire=wire)

    def require(self, circuit: Opened, left: Ints, right: Ints) -> None:
        if self.of is None:
            assert len(left) == 0
            assert np.array_equal(np.sort(right[:, 0]), np.flatnonzero(self.counts))
            assert np.array_equal(right[:, 1:].astype(np.uint64), self.tokens[right[:, 0]])
        else:
            assert is_found(circuit, left, self.count)
            assert is_found(circuit, right, self.count)
            assert np.array_equal((left + right)[0] % (1 << self.of.bits), self.sums)

    def run(self, world: World) -> Wire:
        """In a new session, for which a price is exact."""
        world.sides, wire = world.fresh(), Wire()
        circuit = self.open(world.engine, world.sides, wire)[0]
        if world.name in OT:
            cost = price(circuit, self.blocks, "ot", OT[world.name])
            assert (cost.bytes, cost.rounds) == (wire.bytes, wire.rounds)
        return wire


@pytest.fixture(params=["ot", "ot silent", "ideal"])
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


@pytest.mark.parametrize("count", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_any_circuit_is_opened_and_tallied(world: World, count: int) -> None:
    """Whatever met and matched, messages have the same sizes."""
    random, found, twice = np.random.default_rng(5), 0, 0
    for leaf in LEAVES:
        Given(leaf, None, 60, random).run(world)
    for number in range(count):
        circuit = (random_circuit, random_score, random_names)[number % 3](random)
        met, missed = (Given(circuit, None, 60, random, share) for share in (0.7, 0.0))
        assert met.run(world).sizes == missed.run(world).sizes
        rows, weights, bits = (int(random.integers(*ends)) for ends in ((0, 13), (1, 13), (8, 63)))
        by = (Index, Number)[number // 2 % 2](rows) if rows else None
        tallied = Given(circuit, tally_of(by, weights, bits), 60, random)
        tallied.run(world)
        found += int(met.counts.sum()) * int(np.count_nonzero(tallied.sums))
        twice += compile_circuit(Opened(circuit, 0), "ot").choices.twice
    assert found * twice > 0


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


def test_nothing_is_opened_or_counted_where_nothing_met(world: World) -> None:
    random, of = np.random.default_rng(7), tally_of(Index(2), 3, 20)
    for node, met, expected in ((And(()), 0.0, 0), (And(()), 2.0, 50), (Or(()), 2.0, 0)):
        opened = Given(node, None, 50, random, met)
        opened.run(world)
        assert opened.counts.sum() == expected
    for count in (0, 200):
        tallied = Given(And(()), of, count, random, met=0.0)
        tallied.run(world)
        assert not tallied.sums.any()


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


CIRCUIT = And((AtMost(Hamming(BITS), 3), Not(AtMost(SquaredEuclidean(POINT), 400)), Equal(BITS)))
WIDE = Reaches((Graded(((Equal(BITS), 9_000), (AtMost(Hamming(BITS), 3), 70_000)), -5),) * 2, 3)
"""Its weights take lookups with tables of many blocks."""


class TracedWorld:
    """A session of `ot` whose permutations remember what they were applied to."""

    def __init__(self, settings: Settings) -> None:
        self.pis, self.engine = (Traced(), Traced()), OtEngine(settings)
        a, b = (self.engine.set_up(*given) for given in zip(Side, map(Fixed, "ab"), self.pis, strict=True))
        self.sides = run_pair(a, b)

    def evaluate(self, circuit: Node, m: int, n: int) -> None:
        random, over = np.random.default_rng(0), Blocks.whole(m, n)
        tables = (table(random, circuit, side, rows) for side, rows in ((Side.A, m), (Side.B, n)))
        both = zip(self.sides, tables, strict=True)
        left, right = (self.engine.evaluate(of, circuit, over, rows) for of, rows in both)
        run_pair(left, right)


@pytest.mark.parametrize(
    "circuit", [CIRCUIT, *(pytest.param(of, marks=pytest.mark.slow) for of in (PEOPLE, WIDE))]
)
@pytest.mark.parametrize("name", ["ot", "ot silent", pytest.param("ot field=4", marks=pytest.mark.slow)])
def test_no_key_and_tweak_are_hashed_twice_in_a_session(name: str, circuit: Node) -> None:
    """Neither in evaluations nor in openings, of which some bits serve twice, nor in tallies."""
    world, random = TracedWorld(OT[name]), np.random.default_rng(2)
    for m, n in ((20, 20), (3, 20), (1, 1)):
        world.evaluate(circuit, m, n)
    for _ in range(2):
        Given(And(NAMES[:4]), None, 30, random).open(world.engine, world.sides)
        Given(LEAVES[0], tally_of(Index(3), 5, 32), 40, random).open(world.engine, world.sides)
    for pi in world.pis:
        assert sum(map(len, pi.seen)) == pi.aes_blocks > 10_000
        assert pi.repeated() == 0


def test_the_trace_notices_numbers_that_come_back() -> None:
    world = TracedWorld(USUAL)
    for _ in range(2):
        for session in world.sides:
            for end in (session.ot.sender, session.ot.receiver):
                end._block = 0
        world.evaluate(CIRCUIT, 3, 3)
    assert all(pi.repeated() for pi in world.pis)


# -- tally ---------------------------------------------------------------------------------------------------


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
    for bits in (0, 63):
        with pytest.raises(ValueError):
            tally_of(None, 1, bits)
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
    seen = [one.open(world.engine, world.sides)[1:] for one in given]
    for rows in zip(*seen, strict=True):
        shares = np.concatenate(rows, axis=1)[0]
        for nibble in (shares >> 4, shares & 15):
            expected = len(shares) / 16
            assert ((np.bincount(nibble, minlength=16) - expected) ** 2 / expected).sum() < 58.4


@pytest.mark.parametrize(
    ("name", "by"),
    [
        *(("ot", Index(rows)) for rows in (2, 3, 5, 6, 7, 11, 17, 33, 100)),
        ("ot", Number(5)),
        ("ot silent", Index(10)),
    ],
    ids=str,
)
def test_flipped_bits_of_a_row_make_it_another_row(
    world_of: Callable[[str], World], name: str, by: Index | Number
) -> None:
    """B flips bits of its share, A has any bits: a pair is in one row, or its number is another."""
    world = world_of(name)
    given = Given(LEAVES[0], tally_of(by, 1, 20), 90, np.random.default_rng(8))
    circuit, mine, theirs = given.held(world.engine)
    layout = layout_of(compile_circuit(circuit, "ot"))
    flips = given.random.integers(0, 2, (given.count, by.of.length))
    held = join_halves(theirs.inputs["held"])
    for at, flip in zip(layout.own[-by.of.length :], flips.T, strict=True):
        assert at is not None
        held[:, at // 64] ^= flip.astype(np.uint64) << np.uint64(at % 64)
    changed = Table({**theirs.inputs, "held": split_halves(held)}, theirs.real)
    before = given.sums
    given.a[by.of.name] = given.a[by.of.name] ^ flips
    assert not np.array_equal(given.sums, before)
    given.require(circuit, *given.run_both(world.engine, world.sides, circuit, mine, changed))
    if isinstance(by, Index):
        assert given.sums.sum() % (1 << 20) == before.sum() % (1 << 20), "the total is what it was"
