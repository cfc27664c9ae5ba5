"""The garbled engine beyond the contract: no tweak twice, a wire that stays, views that say nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Equal, Hamming, Node, Not, SquaredEuclidean
from accord.secure.garbled import gates as garbled_gates
from accord.secure.garbled.boolean import source_bits
from accord.secure.garbled.compiler import boolean_circuit
from accord.secure.garbled.gates import Feed, colours, evaluate, garble
from accord.secure.garbled.kernels import open_tables
from accord.secure.garbled.session import GarbledSession
from accord.secure.garbled.tape import Tape, tape_of
from accord.secure.party import Send, Wire, run_pair
from accord.secure.transfer.base import COUNT
from accord.secure.transfer.permutation import Permutation, Words
from accord.secure.transfer.tree import SEED
from accord.side import Side
from reproduction.engines.garbled import GarbledEngine
from tests.run.cheats import TREES, flip_choices
from tests.secure.engines import World, tampered
from tests.secure.traced import Traced
from tests.secure.transfer.encapsulation import given_messages
from tests.secure.worlds import BITS, DICE, POINT, Fixed, table

CIRCUIT = And((AtMost(Hamming(BITS), 3), Not(AtMost(SquaredEuclidean(POINT), 400)), Equal(BITS)))
ENGINE = GarbledEngine()


def traced() -> tuple[tuple[GarbledSession, GarbledSession], tuple[Traced, Traced]]:
    pis = Traced(), Traced()
    a, b = (ENGINE.set_up(side, Fixed(side.value), pi) for side, pi in zip(Side, pis, strict=True))
    return run_pair(a, b), pis


def run(made: tuple[GarbledSession, GarbledSession], circuit: Node, over: Blocks, rows: int) -> None:
    random = np.random.default_rng(0)
    a, b = table(random, circuit, Side.A, rows), table(random, circuit, Side.B, rows)
    run_pair(ENGINE.evaluate(made[0], circuit, over, a), ENGINE.evaluate(made[1], circuit, over, b))


def test_no_label_and_tweak_are_hashed_twice_in_a_session() -> None:
    """π(x) ⊕ t, which the second application of π sees, is the same only for the same label and tweak."""
    made, pis = traced()
    for over in (Blocks.whole(40, 40), Blocks.whole(3, 40), Blocks.whole(1, 1)):
        run(made, CIRCUIT, over, 40)
    run(made, AtMost(DICE, 0), Blocks.whole(20, 20), 20)
    assert all(len(np.concatenate(pi.seen)) > 100_000 for pi in pis)
    assert [pi.repeated() for pi in pis] == [0, 0]


def test_the_trace_notices_numbers_that_come_back() -> None:
    made, pis = traced()
    for _ in range(2):
        for session in made:
            session.tables = 0
            for end in (session.ot.sender, session.ot.receiver):
                end._block = 0
        run(made, CIRCUIT, Blocks.whole(3, 3), 3)
    assert all(pi.repeated() for pi in pis)


@given_messages()
def test_the_wire_is_the_one_that_was_agreed_on() -> None:
    """If this fails on purpose, the version tags of the formats have to change with it."""
    wire = Wire()
    a, b = (ENGINE.set_up(side, Fixed(side.value)) for side in Side)
    made = run_pair(a, b, wire)
    tables = []
    for rows, step in ((20, 3), (30, 7)):
        columns = {of: np.arange(rows * of.length) * step % (of.high + 1) for of in (BITS, POINT)}
        inputs = {of.name: values.reshape(rows, of.length) for of, values in columns.items()}
        tables.append(Table(inputs, np.arange(rows) % 5 != 0))
    over = Blocks.whole(20, 30)
    left, right = (ENGINE.evaluate(made[i], CIRCUIT, over, tables[i]) for i in range(2))
    run_pair(left, right, wire)
    assert wire.digest == "02fba900af423e32b0765b5be8eb442f3a89fef52f4eb0dbf181438a23386fb7"


def test_delta_is_odd_so_that_the_labels_of_a_wire_have_two_colours(
    world_of: Callable[[str], World],
) -> None:
    assert all(session.ot.sender.delta[0] & np.uint64(1) for session in world_of("garbled").sides)


@pytest.mark.parametrize("side", list(Side))
def test_bits_after_the_last_answer_are_refused(side: Side) -> None:
    """Of the evaluator's answers, and of the bits with which the garbler lets it decode."""
    random = np.random.default_rng(0)
    a, b = table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)
    made = World("garbled").sides
    parties = [
        ENGINE.evaluate(made[0], CIRCUIT, Blocks.whole(3, 3), a),
        ENGINE.evaluate(made[1], CIRCUIT, Blocks.whole(3, 3), b),
    ]
    place = list(Side).index(side)
    parties[place] = tampered(parties[place], 1, lambda data: data[:-1] + bytes([data[-1] | 128]))
    with pytest.raises(PeerError, match="after the last"):
        run_pair(parties[0], parties[1])


def test_choices_that_differ_by_tree_are_refused_before_a_table_is_sent(
    world_of: Callable[[str], World],
) -> None:
    """Unless the piece of Δ that belongs to the tree is guessed, here as 0."""
    random, world, guessed = np.random.default_rng(0), world_of("garbled"), 0
    tables = table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)
    for tree in range(TREES):
        made, wire = world.fresh(), Wire()
        flip_choices(made[1].ot.receiver, [tree])
        piece = int.from_bytes(made[0].ot.sender.delta.tobytes(), "little") >> 4 * tree & 15
        a, b = (ENGINE.evaluate(made[i], CIRCUIT, Blocks.whole(3, 3), tables[i]) for i in range(2))
        if piece == 0:
            run_pair(a, b, wire)
            guessed += 1
            continue
        with pytest.raises(PeerError, match="one choice each"):
            run_pair(a, b, wire)
        assert wire.sizes[Side.A] == [0], "A begins the batch, and sends no more"
        with pytest.raises(RuntimeError, match="was broken off"):
            next(ENGINE.evaluate(made[0], CIRCUIT, Blocks.whole(3, 3), tables[0]))
    assert guessed < TREES // 4


def test_a_wrong_ciphertext_in_a_tree_is_found_out_by_the_check_or_not_opened() -> None:
    """Which of the two of a level A opens follows from a bit of its Δ: so it tests that bit, and ends the
    session, and with it Δ, in one of two cases."""
    random = np.random.default_rng(0)
    tables = table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)
    sent = [effect for effect in World("garbled").set_up_of(Side.B) if isinstance(effect, Send)]
    assert len(sent[-1].buffer) == 2 * SEED * COUNT, "the last are the ciphertexts"
    refused = []
    for which in (0, 1):

        def change(data: bytes, at: int = 16 * which) -> bytes:
            return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

        a, b = (ENGINE.set_up(side, Fixed(side.value)) for side in Side)
        made = run_pair(a, tampered(b, len(sent) - 1, change))
        left, right = (ENGINE.evaluate(made[i], CIRCUIT, Blocks.whole(3, 3), tables[i]) for i in range(2))
        with suppress(PeerError):
            run_pair(left, right)
            continue
        refused.append(which)
    # On the first level of the first tree the path is the highest bit of its piece of Δ; the other is opened.
    assert refused == [1 - (int(made[0].ot.sender.delta[0]) >> 3 & 1)]


Seen = list[NDArray[np.uint64]]


def garbled_views(tape: Tape, a: Table, b: Table, seed: int) -> tuple[Seen, Words, NDArray[np.bool_]]:
    """A garbles: what B sees of every gate's output label (lowest bits), the tables, and the answers.

    Each row has labels of its own, and pair i is row i of A with row i of B.
    """
    random, count = np.random.default_rng(seed), len(a.real)
    ours, known = (
        source_bits(sources, lambda of, t=t: t.inputs[of.name], t.real)  # type: ignore[misc]
        for sources, t in ((tape.ours, a), (tape.theirs, b))
    )
    delta = random.integers(0, 1 << 63, 2, dtype=np.uint64) | np.uint64(1)
    zero = random.integers(0, 1 << 63, (len(tape.theirs), count, 2), dtype=np.uint64)
    zero ^= random.integers(0, 2, zero.shape, dtype=np.uint64) << np.uint64(63)
    every = np.arange(count)
    tables = np.empty(2 * tape.tables * count, dtype=np.uint64)
    labels = zero ^ (known[:, :, None] * delta)
    seen: Seen = []

    def watched(gates: NDArray[np.int64], *rest: NDArray[np.uint64]) -> None:
        open_tables(gates, *rest)  # type: ignore[arg-type]
        seen.extend(rest[-1][place, ::2] & np.uint64(1) for place in gates[:, 1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(garbled_gates, "open_tables", watched)
        made = garble(Permutation(), tape, Feed(zero, every, ours, every), delta, 0, tables)
        found = evaluate(
            Permutation(), tape, Feed(labels, every, np.zeros_like(ours), every), known, 0, tables
        )
    return seen, tables, (colours(made) ^ colours(found)).astype(np.bool_)


def one_of_two(first: bool, count: int) -> tuple[Table, Table]:
    """Rows that agree on one predicate of the conjunction below and not on the other."""
    bits = np.zeros((count, BITS.length), dtype=np.int64)
    near, far = np.zeros((count, 2), dtype=np.int64), np.full((count, 2), 31)
    real = np.ones(count, dtype=np.bool_)
    a = Table({BITS.name: bits, POINT.name: near}, real)
    return a, Table({BITS.name: bits if first else 1 - bits, POINT.name: far if first else near}, real)


def test_an_evaluator_does_not_learn_which_predicate_failed() -> None:
    """Every colour and every bit of every table is a fair coin to it, whichever predicate it was.

    About 200 gates and two cases at 4,096 pairs: |z| < 6.5 for each keeps the false alarm below α = 1e-6.
    """
    circuit = And((AtMost(Hamming(BITS), 3), AtMost(SquaredEuclidean(POINT), 400)))
    tape, count = tape_of(boolean_circuit(circuit), Side.A), 4096
    for seed, first in enumerate((True, False)):
        seen, tables, answers = garbled_views(tape, *one_of_two(first, count), seed)
        assert not answers.any()
        assert 50 < len(seen) < 200
        for colour in seen:
            assert abs(2 * float(colour.sum()) - count) < 6.5 * np.sqrt(count)
        ones = float(np.unpackbits(tables.view(np.uint8)).sum())
        assert abs(2 * ones - 64 * len(tables)) < 6.5 * np.sqrt(64 * len(tables))


def test_both_sides_garble_in_turns() -> None:
    """Tables are nearly all of the bytes, and each side sends about half of them."""
    circuit, wire = AtMost(Hamming(BITS), 3), Wire()
    random = np.random.default_rng(1)
    a, b = table(random, circuit, Side.A, 250), table(random, circuit, Side.B, 250)
    made, over = World("garbled").sides, Blocks.whole(250, 250)
    run_pair(ENGINE.evaluate(made[0], circuit, over, a), ENGINE.evaluate(made[1], circuit, over, b), wire)
    sent = {side: sum(sizes) for side, sizes in wire.sizes.items()}
    assert 0.4 < sent[Side.A] / wire.bytes < 0.6
