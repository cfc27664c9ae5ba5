"""Parties in one thread, and the contract of engines: right answers, sizes without data, no trusted peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.errors import PeerError, UnequalError, UnsupportedError, UsageError
from accord.rules.lowering import lower
from accord.rules.rule import Rule
from accord.secure import ideal
from accord.secure.blocks import Blocks, Table
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
    Or,
    Reaches,
    SquaredEuclidean,
)
from accord.secure.dual.engine import DualEngine
from accord.secure.engines import BUILT_IN, engine_named
from accord.secure.ideal import IdealEngine, match
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import Settings
from accord.secure.party import (
    Deadlock,
    Meter,
    Party,
    Receive,
    Send,
    Wire,
    interleave,
    meter_party,
    run,
    run_pair,
)
from accord.side import Side
from tests.rules import worlds
from tests.secure.engines import EVERY, REAL, World, hostile, replayed, tampered
from tests.secure.worlds import (
    BITS,
    CODE,
    HERE,
    LEAVES,
    POINT,
    TEXT,
    THERE,
    Fixed,
    blocks,
    random_circuit,
    random_score,
    table,
)

# -- parties -------------------------------------------------------------------------------------------------


def asks(question: bytes) -> Party[bytes]:
    yield Send(question)
    return bytes((yield Receive(len(question))))


def echoes(size: int) -> Party[int]:
    got = yield Receive(size)
    yield Send(bytes(got)[::-1])
    return size


def does(*effects: Send | Receive) -> Party[None]:
    for effect in effects:  # noqa: UP028 (a tuple cannot be sent what was received)
        yield effect


def test_both_results_come_back_and_the_wire_is_recorded() -> None:
    wire, meter = Wire(), Meter()
    assert run_pair(meter_party(asks(b"abc"), meter), echoes(3), wire=wire) == (b"cba", 3)
    assert wire.sizes == {Side.A: [3], Side.B: [3]}
    assert (wire.bytes, wire.messages, wire.rounds) == (6, 2, 2)
    assert (meter.sent, meter.received, meter.messages) == (3, 3, 2)


def test_the_digest_sees_content_direction_and_cuts() -> None:
    digests = set()
    for said in ((b"ab",), (b"ax",), (b"a", b"b")):
        sends, receives = [Send(part) for part in said], [Receive(len(part)) for part in said]
        for pair in ((sends, receives), (receives, sends)):
            wire = Wire()
            run_pair(does(*pair[0]), does(*pair[1]), wire=wire)
            digests.add(wire.digest)
    assert len(digests) == 6


@pytest.mark.parametrize(("a", "b"), [([Receive(1)], [Receive(1)]), ([Receive(1)], []), ([], [Receive(1)])])
def test_waiting_for_ever_and_a_message_that_nobody_reads_are_reported(
    a: list[Receive], b: list[Receive]
) -> None:
    with pytest.raises(Deadlock) as found:
        run_pair(does(*a), does(*b))
    assert [side in str(found.value).split() for side in "AB"] == [bool(a), bool(b)]
    with pytest.raises(Deadlock):
        run_pair(does(Send(b"x")), does())


@pytest.mark.parametrize("window", [1, 2, 4, 9])
def test_interleaved_parties_give_their_results_in_order(window: int) -> None:
    for count in (0, 1, 3, 10):
        questions = [bytes([i] * (i + 1)) + b"!" for i in range(count)]
        wire = Wire()
        a, b = run_pair(
            interleave((asks(q) for q in questions), window),
            interleave((echoes(len(q)) for q in questions), window),
            wire=wire,
        )
        assert a == [q[::-1] for q in questions]
        assert b == [len(q) for q in questions]
        assert wire.rounds == 2 * -(-count // window)
    driven = interleave(iter([asks(b"1"), asks(b"2"), asks(b"3")]), 2)
    assert [type(next(driven)) for _ in range(3)] == [Send, Send, Receive], "they overlap"


# -- engine --------------------------------------------------------------------------------------------------

NEAR = AtMost(Hamming(BITS), 3)


@pytest.fixture(params=EVERY, scope="module")
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


@pytest.fixture(params=REAL, scope="module")
def real(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    """Those that run between two parties."""
    return world_of(request.param)


@pytest.mark.parametrize("more", [0, pytest.param(11, marks=pytest.mark.slow)])
def test_random_circuits_and_scores_over_random_blocks(world: World, more: int) -> None:
    """However a table lies in memory; and with weights up to the size of a machine word."""
    random = np.random.default_rng(5)
    weights = (3, 20, 120, 9_999) if world.slow else (1, 3, 20, 120, 9_999, 1 << 40)
    circuits = [random_circuit(random) for _ in range(4 + more)]
    circuits += [random_score(random, weight) for weight in (*weights, *[20] * more)]
    matches = pairs = 0
    for circuit in circuits:
        a, b = (table(random, circuit, side, 30) for side in Side)
        b = Table({name: np.asfortranarray(values) for name, values in b.inputs.items()}, b.real)
        for values in b.inputs.values():
            values.flags.writeable = False
        over = blocks(random, [7, 0, 1, 3 if world.slow else 30], [5, 3, 1, 9], 30)
        matches += world.check(circuit, over, a, b)
        pairs += over.pairs
    assert 0.05 < matches / pairs < 0.6


ALIKE = Graded(((And((NEAR, Both(HERE))), 5), (Not(Both(HERE)), 0)), -4)
SCORES = [
    Reaches((ALIKE, Graded(((And((Equal(CODE), Both(THERE))), 2),), -1)), least) for least in (-5, -1, 0, 1)
]
"""Rows without values do not reach the last, so that no engine need ask whether rows are real."""


@pytest.mark.parametrize("node", [*LEAVES, *SCORES, And(())], ids=lambda node: str(node)[:40])
def test_nodes_alone_and_negated_match_no_dummies(real: World, node: Node) -> None:
    """Nor do dummies match each other where all rows of a side are alike, or where they lack every value."""
    random, (m, n) = np.random.default_rng(6), (4, 4) if real.slow else (17, 13)
    a, b = table(random, node, Side.A, m), table(random, node, Side.B, n)
    same = [
        Table(
            {name: np.repeat(values[:1], len(of.real), axis=0) for name, values in of.inputs.items()}, of.real
        )
        for of in (a, b)
    ]
    pairs = int(np.outer(a.real, b.real).sum())
    assert 0 < pairs < m * n
    for left, right in ((a, b), same):
        found = [real.check(of, Blocks.whole(m, n), left, right) for of in (node, Not(node))]
        assert sum(found) == pairs
    assert sorted(found) == [0, pairs]


@pytest.mark.parametrize(
    ("a_counts", "b_counts"),
    [([], []), ([0], [0]), ([0], [5]), ([5, 0], [0, 3]), ([1], [1]), ([1] * 9, [1] * 9), ([3], [4097])],
)
def test_sizes(world: World, a_counts: list[int], b_counts: list[int]) -> None:
    random = np.random.default_rng(7)
    circuit = Or((NEAR, Equal(BITS)))
    if world.slow and b_counts == [4097]:
        a_counts, b_counts = [15], [3]
    rows = max([1, *a_counts, *b_counts])
    a, b = table(random, circuit, Side.A, rows), table(random, circuit, Side.B, rows)
    world.check(circuit, blocks(random, a_counts, b_counts, rows), a, b)
    world.check(NEAR, blocks(random, a_counts, b_counts, rows), a, b)


@pytest.mark.parametrize("name", REAL)
def test_several_interleaved_batches_and_more_parts_than_one_lookup_holds(
    world_of: Callable[[str], World], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of 64 pairs and labels in pieces of seven. Also scores of as many parts, and one in another."""
    monkeypatch.setattr("accord.secure.ot.sizes._PAIRS", 64)
    monkeypatch.setattr("accord.secure.garbled.batch._CACHE", 0)
    monkeypatch.setattr("accord.secure.dual.labels._PIECE", 7)
    world, random = world_of(name), np.random.default_rng(8)
    fields = [Equal(Input(f"field {i}", 1, 3)) for i in range(20)]
    wide = tuple(map(Not, fields))
    levels = tuple((field, i % 7 - 3) for i, field in enumerate(fields[:9]))
    graded = Graded((*levels, (And(wide), 7), (Both(HERE), 2), (Both(THERE), -2)), 1)
    inner = Reaches((Graded(((NEAR, 2), (Both(HERE), 1)), 0), ALIKE), 2)
    for circuit, m, n in (
        (NEAR, 12, 60),
        (And(wide), 8, 12),
        (Or((And(wide[:9]), Not(Or(wide[5:])))), 8, 12),
        (Reaches((graded, Graded(((And(wide[:9]), 1),), 0)), 2), 8, 12),
        (Reaches((Graded(((And((inner, Both(HERE))), 4), (Equal(BITS), 1)), -1), ALIKE), 3), 8, 12),
    ):
        a, b = table(random, circuit, Side.A, m, real=0.9), table(random, circuit, Side.B, n, real=0.9)
        world.check(circuit, Blocks.whole(m, n), a, b)


# -- engine wire ---------------------------------------------------------------------------------------------

CIRCUIT = And((NEAR, Not(AtMost(SquaredEuclidean(POINT), 400)), Equal(BITS)))


def shorter(message: bytes) -> bytes:
    return message[:-1] if message else b"\0"


def longer(message: bytes) -> bytes:
    return message + b"\0"


def three_rows() -> tuple[Table, Table]:
    random = np.random.default_rng(0)
    return table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(0, 1 << 32), st.floats(0, 1), st.floats(0, 1))
def test_sizes_and_order_of_messages_do_not_depend_on_data(
    real: World, seed: int, other: int, share: float, other_share: float
) -> None:
    shape = np.random.default_rng(seed % 5)
    m, n = (3, 2) if real.slow else (13, 9)
    circuit = random_score(shape) if seed % 2 else random_circuit(shape)
    over = Blocks.whole(m, n)
    seen = []
    for s, r in ((seed, share), (other, other_share)):
        random = np.random.default_rng(s)
        a, b = table(random, circuit, Side.A, m, r), table(random, circuit, Side.B, n, 1 - r)
        # What was used before decides what is sent, so both begin anew.
        real.sides = real.fresh()
        wire = real.wire(circuit, over, a, b)
        seen.append((wire.sizes, wire.rounds))
    assert seen[0] == seen[1]


def test_how_long_texts_are_does_not_show(real: World) -> None:
    wires = []
    for letters in (0, TEXT.high):
        rows = Table({TEXT.name: np.full((4, TEXT.length), letters)}, np.ones(4, dtype=np.bool_))
        real.sides = real.fresh()
        wires.append(real.wire(Edit(TEXT, 2), Blocks.whole(4, 4), rows, rows))
    assert (wires[0].sizes, wires[0].rounds) == (wires[1].sizes, wires[1].rounds)


def test_what_cannot_be_done_is_refused_before_a_byte(real: World) -> None:
    empty = Table({}, np.zeros(0, dtype=np.bool_))
    for circuit in (
        AtMost(Hamming(Input("x", 3, 7)), 1),
        Not(AtMost(SquaredEuclidean(Input("x", 2, (1 << 31) - 1)), 1 << 40)),
        Not(AtMost(Bilinear((), Input("step", 1, 9), 1 << 62, 1, 0, 9), 3)),
        And((Equal(BITS), Not(AtMost(Bilinear((), None, 0, 0, 0, 1 << 62), 5)))),
    ):
        with pytest.raises(UnsupportedError) as refused:
            real.engine.supports(circuit)
        assert refused.value.facts["engine"] == real.engine.name
        with pytest.raises(UnsupportedError):
            next(real.engine.evaluate(real.sides[0], circuit, Blocks.whole(0, 0), empty))


def test_values_outside_their_range_are_refused_before_a_byte(real: World) -> None:
    bad = Table({BITS.name: np.full((1, BITS.length), 2)}, np.ones(1, dtype=np.bool_))
    with pytest.raises(ValueError):
        next(real.engine.evaluate(real.sides[0], Equal(BITS), Blocks.whole(1, 1), bad))


@pytest.mark.parametrize("side", list(Side), ids=str)
def test_a_set_up_message_of_another_size_is_a_peer_error(real: World, side: Side) -> None:
    honest = real.set_up_of(side)
    numbers = range(sum(isinstance(effect, Send) for effect in honest))
    assert len(numbers) >= 3
    for message in numbers:
        parties = {of: real.engine.set_up(of, Fixed(of.value)) for of in Side}
        change = (shorter, longer)[message % 2]
        parties[side] = tampered(replayed(honest), message, change)
        with pytest.raises(PeerError):
            run_pair(parties[Side.A], parties[Side.B])


@pytest.mark.parametrize("side", list(Side), ids=str)
@pytest.mark.parametrize("change", [shorter, longer])
def test_a_message_of_another_size_is_a_peer_error(
    real: World, side: Side, change: Callable[[bytes], bytes]
) -> None:
    a, b = three_rows()
    over, place = Blocks.whole(3, 3), list(Side).index(side)
    # The first evaluation of a session says more: it stocks up for those that follow.
    real.wire(CIRCUIT, over, a, b)
    numbers = range(len(real.wire(CIRCUIT, over, a, b).sizes[side]))
    assert len(numbers) >= 2
    sides = real.fresh()
    for message in numbers:
        parties = real.parties(CIRCUIT, over, a, b, sides)
        parties[place] = tampered(parties[place], message, change)
        with pytest.raises(PeerError):
            run_pair(parties[0], parties[1])
        with pytest.raises(RuntimeError, match="broken off"):
            next(real.parties(CIRCUIT, over, a, b, sides)[1 - place])
        real.mend(sides)


# -- rules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ot", "dual"])
@given(rule=worlds.rules, a=worlds.tables, b=worlds.tables, seed=st.integers(0, 1 << 16))
def test_the_engines_answer_every_rule(
    world_of: Callable[[str], World],
    name: str,
    rule: Rule,
    a: list[worlds.Row],
    b: list[worlds.Row],
    seed: int,
) -> None:
    tables, _, _ = worlds.both(a, b)
    lowered, random = lower(rule, worlds.FIELDS), np.random.default_rng(seed)
    left = Table(lowered.inputs(Side.A, tables.a), random.random(len(a)) < 0.8)
    right = Table(lowered.inputs(Side.B, tables.b), random.random(len(b)) < 0.8)
    world_of(name).check(lowered.node, Blocks.whole(len(a), len(b)), left, right)


# -- ideal ---------------------------------------------------------------------------------------------------


def test_it_agrees_with_a_loop_over_all_pairs() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        circuit = random_circuit(random)
        a, b = table(random, circuit, Side.A, 12), table(random, circuit, Side.B, 12)
        over = blocks(random, [3, 0, 5], [4, 2, 1], 12)
        expected, at = [], [0, 0]
        for m, n in zip(over.a_counts, over.b_counts, strict=True):
            for i in over.a_rows[at[0] : at[0] + m]:
                for j in over.b_rows[at[1] : at[1] + n]:
                    holds = ideal.evaluate(circuit, a.inputs, b.inputs, np.array([i]), np.array([j]))[0]
                    expected.append(bool(holds and a.real[i] and b.real[j]))
            at = [at[0] + m, at[1] + n]
        assert match(circuit, over, a, b).tolist() == expected


def test_alone_in_a_process_the_plain_interpreter_refuses() -> None:
    class Peer:
        def send(self, buffer: object) -> None: ...

        def receive(self, size: int, look: object = None) -> bytes:
            return b""

    empty = Table({}, np.zeros(0, dtype=np.bool_))
    with pytest.raises(RuntimeError, match="one process"):
        run(IdealEngine().evaluate(Side.B, And(()), Blocks.whole(0, 0), empty), Peer())


def test_engines_have_names_and_those_of_other_names_or_settings_part_at_once() -> None:
    assert [engine_named(name).name for name in BUILT_IN] == list(BUILT_IN)
    with pytest.raises(UsageError):
        engine_named("magic")

    def hello(text: bytes) -> Party[None]:
        yield Send(text)
        yield Receive(0)

    ot, dual = OtEngine(), DualEngine()
    for other in (
        dual.set_up(Side.B, Fixed("b")),
        OtEngine(Settings(silent=False)).set_up(Side.B, Fixed("b")),
        hello(b"accord/ot/0 12345678" + bytes(32)),
    ):
        with pytest.raises(PeerError):
            run_pair(ot.set_up(Side.A, Fixed("a")), other)
    with pytest.raises(PeerError):
        run_pair(dual.set_up(Side.A, Fixed("a")), hello(b"accord/dual/0 k=4" + bytes(32)))


@pytest.mark.parametrize(
    "fuzz",
    [
        settings(max_examples=12, deadline=None),
        pytest.param(settings(max_examples=2000), marks=pytest.mark.slow),
    ],
    ids=["few", "many"],
)
def test_a_hostile_peer_gets_an_error_or_an_answer_but_no_crash(real: World, fuzz: settings) -> None:
    """Whatever the peer sends, its victim ends with an answer of the right shape or with a refusal."""
    a, b = three_rows()

    def whole(side: Side, rows: Table) -> Party[Any]:
        session = yield from real.engine.set_up(side, Fixed(side.value))
        return (yield from real.engine.evaluate(session, CIRCUIT, Blocks.whole(3, 3), rows))

    @fuzz
    @given(st.data(), st.sampled_from([0, 1]), st.booleans())
    def survives(data: st.DataObject, victim: int, after_set_up: bool) -> None:
        if after_set_up:
            parties = real.parties(CIRCUIT, Blocks.whole(3, 3), a, b, real.fresh())
        else:
            parties = [whole(Side.A, a), whole(Side.B, b)]
        parties[1 - victim] = hostile(data, parties[1 - victim])
        try:
            answer = run_pair(parties[0], parties[1])[victim]
        except (PeerError, UnequalError):
            return
        except Deadlock:
            raise AssertionError("a hang") from None
        assert answer.shape == (9,)

    survives()
