"""Dual execution beyond the contract of engines: known cheats learn one bit, and no tweak comes twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import xor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.errors import ConnectionLostError, PeerError, UnequalError, UnfairError, UsageError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Equal, Hamming, Input, Not, SquaredEuclidean
from accord.secure.dual import batch as dual_batch
from accord.secure.dual import engine as dual_engine
from accord.secure.dual.batch import Masked, run_batch
from accord.secure.dual.engine import DualEngine
from accord.secure.dual.equality import Results
from accord.secure.dual.labels import Labels
from accord.secure.garbled.batch import BatchSide
from accord.secure.party import Buffer, Party, Receive, Wire, run_pair
from accord.secure.transfer import setup
from accord.side import Side
from tests.run.cheats import TREES, flip_choices
from tests.secure.engines import World, tampered
from tests.secure.worlds import BITS, POINT, Fixed, Traced, table

X = Input("x", 8, 1)
NEAR = AtMost(Hamming(X), 2)
TWO = Equal(Input("x", 2, 1))
"""One AND of the two bits, beside those that ask whether rows are real."""
WIDE = And((AtMost(Hamming(BITS), 3), Not(AtMost(SquaredEuclidean(POINT), 400)), Equal(BITS)))
ENGINE = DualEngine()
Bytes = NDArray[np.uint8]
Worlds = Callable[[str], World]


@dataclass
class Ended:
    """What became of an evaluation: the error, or the honest side's answers; and what passed."""

    error: Exception | None
    answers: NDArray[np.bool_] | None
    wire: Wire


def evaluated(
    world: World,
    circuit: Any,
    rows: tuple[Table, Table],
    honest: Side,
    wrap: Callable[[Any, int], Any] = lambda party, place: party,
) -> Ended:
    wire, over = Wire(), Blocks.whole(len(rows[0].real), len(rows[1].real))
    parties = world.parties(circuit, over, *rows, sides=world.fresh())
    try:
        found = run_pair(wrap(parties[0], 0), wrap(parties[1], 1), wire=wire)
    except (PeerError, UnequalError) as error:
        return Ended(error, None, wire)
    return Ended(None, found[list(Side).index(honest)], wire)


def made_up() -> tuple[Table, Table]:
    random = np.random.default_rng(4)
    a, b = (table(random, NEAR, side, 5, real=1.0) for side in Side)
    return a, b


def rows_of(of_a: Any, of_b: Any) -> tuple[Table, Table]:
    """Real rows of X, or of two bits."""
    a, b = (Table({"x": np.array(rows, np.int64)}, np.ones(len(rows), np.bool_)) for rows in (of_a, of_b))
    return a, b


@pytest.fixture(params=Side, ids=lambda side: f"{side.value} cheats")
def cheat(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Side:
    """Who cheats. It does not mind what it is told, and goes on."""
    side, true = request.param, Results._require

    def require(self: Results, said: bytes, expected: bytes) -> None:
        if self._session.side is not side:
            true(self, said, expected)

    monkeypatch.setattr(Results, "_require", require)
    return Side(side)


Change = Callable[[BatchSide, Labels, Bytes], None]


@contextmanager
def garbling(change: Change, side: Side) -> Iterator[None]:
    """What a side garbles is changed before it is sent."""
    true = dual_batch._garble

    def garble(own: BatchSide, labels: Labels, pairs: slice) -> tuple[Any, Bytes]:
        zero, message = true(own, labels, pairs)
        if own.session.side is side:
            change(own, labels, message)
        return zero, message

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dual_batch, "_garble", garble)
        yield


def spoil_gates(own: BatchSide, labels: Labels, message: Bytes) -> None:
    message[: 16 * own.batch.pairs] ^= 1


def spoil_decoding(own: BatchSide, labels: Labels, message: Bytes) -> None:
    """As any other way to make the other side believe in another answer."""
    message[16 * own.tape.tables * own.batch.pairs] ^= 1


def require_refused(ended: Ended, cheat: Side, pairs: int = 25) -> None:
    """The honest side ended the run before it sent its masks."""
    assert isinstance(ended.error, UnequalError)
    opening = -(-pairs // 8) + 32
    assert ended.wire.sizes[cheat.other][-1] != opening + (32 if cheat is Side.B else 0)


# -- what is garbled -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [spoil_gates, spoil_decoding])
def test_wrong_gates_and_a_wrong_decoding_are_refused(world_of: Worlds, cheat: Side, change: Change) -> None:
    with garbling(change, cheat):
        require_refused(evaluated(world_of("dual"), NEAR, made_up(), cheat.other), cheat)


@pytest.mark.parametrize("matters", [True, False])
def test_other_inputs_where_one_garbles_are_refused_if_an_answer_differs(
    world_of: Worlds, cheat: Side, matters: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If none does, nobody notices, and the answers are right: that it is so is the one bit."""
    true = BatchSide.bits

    def bits(self: BatchSide, garbler: bool) -> Bytes:
        found = true(self, garbler)
        if garbler and self.session.side is cheat:
            found[0] ^= 1
        return found

    monkeypatch.setattr(BatchSide, "bits", bits)
    near = np.zeros((5, 8), np.int64)
    far = near.copy()
    # At a distance of 2 one bit more decides, at one of 5 it does not.
    far[:, 1 : 3 if matters else 6] = 1
    ended = evaluated(world_of("dual"), NEAR, rows_of(near, far), cheat.other)
    if matters:
        require_refused(ended, cheat)
    else:
        assert ended.error is None
        assert ended.answers is not None
        assert not ended.answers.any()


def test_masks_that_differ_by_direction_are_refused(
    world_of: Worlds, cheat: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = dual_batch._garble

    def garble(own: BatchSide, labels: Any, pairs: slice) -> Any:
        if own.session.side is cheat:
            masks = labels.masks.copy()
            masks[0] ^= 1
            labels = type(labels)(masks, *list(vars(labels).values())[1:])
        return true(own, labels, pairs)

    monkeypatch.setattr(dual_batch, "_garble", garble)
    require_refused(evaluated(world_of("dual"), NEAR, made_up(), cheat.other), cheat)


def failing(world: World, cheat: Side, bits: tuple[int, int], at: int, asks: bool) -> Ended:
    """One pair, of which a table of the AND is wrong. The honest side takes it if its label of the bit has
    the colour 1; who garbled knows which value that is, and if it `asks` changes nothing unless it is 1."""

    def change(own: BatchSide, labels: Labels, message: Bytes) -> None:
        if not (asks and labels.given_inputs[at, 0, 0] & np.uint64(1)):
            message[16 * at : 16 * at + 16] ^= 255

    values = {cheat: [[0, 0]], cheat.other: [bits]}
    with garbling(change, cheat):
        return evaluated(world, TWO, rows_of(values[Side.A], values[Side.B]), cheat.other)


def test_a_table_that_fails_for_one_value_of_a_bit_tells_that_bit_and_no_more(
    world_of: Worlds, cheat: Side
) -> None:
    """With inputs that have this bit the run ends, and all of them look alike: the same messages, the same
    end. With the others it goes on, and the answer is right. To know the other bit takes another run."""
    world, every = world_of("dual"), [(x, y) for x in (0, 1) for y in (0, 1)]
    # The colour of a label follows from the honest side's seeds, which are fixed here.
    taken = [at for at in (0, 1) if failing(world, cheat, (0, 0), at, asks=False).error]
    assert taken, "other seeds are needed"
    at = taken[0]
    ended = {bits: failing(world, cheat, bits, at, asks=True) for bits in every}
    for bits, one in ended.items():
        if bits[at]:
            assert isinstance(one.error, UnequalError)
        else:
            assert one.answers is not None
            assert one.answers.tolist() == [bits == (0, 0)]
    first, second = (one.wire.sizes for bits, one in ended.items() if bits[at])
    assert first == second


def test_what_a_cheat_decodes_before_it_is_refused_are_coins(world_of: Worlds, cheat: Side) -> None:
    """Whatever the honest side's rows are: with rows that all match and with rows of which none does it sees
    fair coins. With 2,500 pairs |z| < 6.5 keeps the false alarm below α = 1e-6 for all cases together."""
    seen: list[Bytes] = []
    true = Results.add

    def add(self: Results, batch: Any, pairs: slice) -> None:
        if self._session.side is cheat:
            seen.append(batch.bits)
        true(self, batch, pairs)

    ends = []
    with garbling(spoil_gates, cheat), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Results, "add", add)
        for value in (0, 1):
            rows = {cheat: np.zeros((50, 8)), cheat.other: np.full((50, 8), value)}
            seen.clear()
            ends.append(evaluated(world_of("dual"), NEAR, rows_of(rows[Side.A], rows[Side.B]), cheat.other))
            require_refused(ends[-1], cheat, 2500)
            bits = np.concatenate(seen)
            assert len(bits) == 2500
            assert abs(2 * float(bits.sum()) - 2500) < 6.5 * 50
    assert ends[0].wire.sizes == ends[1].wire.sizes


def test_any_message_that_is_another_is_refused(world_of: Worlds) -> None:
    rows, world = made_up(), world_of("dual")
    whole = evaluated(world, NEAR, rows, Side.A)
    for place, side in enumerate(Side):
        for number in range(len(whole.wire.sizes[side])):

            def change(party: Any, at: int, place: int = place, number: int = number) -> Any:
                flipped = tampered(party, number, lambda data: bytes(byte ^ 255 for byte in data))
                return flipped if at == place else party

            assert evaluated(world, NEAR, rows, side.other, change).error is not None, (side, number)


# -- the test of all answers ---------------------------------------------------------------------------------


def test_masks_that_are_opened_wrongly_are_refused(
    world_of: Worlds, cheat: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mask is bound by its label: to flip an answer takes the label that lies Δ away."""
    true = Results._opening

    def opening(self: Results) -> bytes:
        said = bytearray(true(self))
        if self._session.side is cheat:
            said[0] ^= 1
        return bytes(said)

    monkeypatch.setattr(Results, "_opening", opening)
    ended = evaluated(world_of("dual"), NEAR, made_up(), cheat.other)
    assert isinstance(ended.error, UnequalError)
    if cheat is Side.A:
        assert ended.wire.sizes[Side.B][-1] == 32, "B has sent no mask"


def test_a_digest_that_is_guessed_wrongly_tells_only_that(
    world_of: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What B answers fits the digest that A chose, and no other: A ends the run, with B's masks unsent."""
    true = Results._answer
    for bit in (0, 7, 100, 255):
        flip = (1 << bit).to_bytes(32, "little")
        monkeypatch.setattr(
            Results, "_answer", lambda self, digest, flip=flip: true(self, bytes(map(xor, digest, flip)))
        )
        ended = evaluated(world_of("dual"), NEAR, made_up(), Side.A)
        assert isinstance(ended.error, UnequalError)
        assert ended.wire.sizes[Side.B][-1] == 32


@pytest.mark.parametrize("wrong", ["tables", "one bit of each"])
def test_a_delta_of_zero_makes_no_other_digest_fit(
    cheat: Side, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken once: rows that differ by nothing belonged to any digest, and so did their hash."""
    true, order = setup._draw_delta, iter([Side.B, Side.A])

    def draw(*given: Any) -> Any:
        made = true(*given)
        return made * 0 if next(order) is cheat else made

    def change(own: BatchSide, labels: Labels, message: Bytes) -> None:
        assert not own.session.sender.delta.any()
        tables = message[:-4]
        noise = np.random.default_rng(5).integers(0, 256, len(tables))
        tables[:] = noise if wrong == "tables" else tables ^ 1

    monkeypatch.setattr(setup, "_draw_delta", draw)
    made = run_pair(ENGINE.set_up(Side.A, Seeded("A")), ENGINE.set_up(Side.B, Seeded("B")))
    over, wire = Blocks.whole(5, 5), Wire()
    both = [ENGINE.evaluate(own, NEAR, over, rows) for own, rows in zip(made, made_up(), strict=True)]
    with garbling(change, cheat), pytest.raises(UnequalError) as raised:
        run_pair(both[0], both[1], wire=wire)
    require_refused(Ended(raised.value, None, wire), cheat)


def hanging_up(party: Party[Any], waits: list[int], at: int = -1) -> Party[Any]:
    """A party to which the line is cut where it waits for the message of this number; `waits` gets all."""
    answer: Buffer | None = None
    while True:
        try:
            effect = next(party) if answer is None else party.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(effect, Receive):
            waits.append(effect.size)
            if len(waits) - 1 == at:
                party.throw(ConnectionLostError(partner="bob", problem="was cut", mend=""))
        answer = yield effect
        answer = b"" if answer is None else answer


@pytest.mark.parametrize("honest", list(Side))
def test_to_hang_up_when_one_may_know_closes_the_run(world_of: Worlds, honest: Side) -> None:
    """A after it has sent its masks, B after its answer to the test: the last that each waits for. Before,
    nobody has learnt anything."""
    rows, place, waits = made_up(), list(Side).index(honest), list[int]()

    def cut(at: int, waits: list[int]) -> Callable[[Any, int], Any]:
        return lambda party, which: hanging_up(party, waits, at) if which == place else party

    evaluated(world_of("dual"), NEAR, rows, honest, cut(-1, waits))
    last = len(waits) - 1
    with pytest.raises(ConnectionLostError):
        evaluated(world_of("dual"), NEAR, rows, honest, cut(last - 1, []))
    assert isinstance(evaluated(world_of("dual"), NEAR, rows, honest, cut(last, [])).error, UnfairError)


def test_choices_that_differ_by_tree_are_refused_before_a_table_is_sent(
    world_of: Worlds, cheat: Side
) -> None:
    world, rows, place = world_of("dual"), made_up(), list(Side).index(cheat)
    for tree in range(0, TREES, 4):
        sides, wire = world.fresh(), Wire()
        flip_choices(sides[place].ot.receiver, [tree])
        piece = int.from_bytes(sides[1 - place].ot.sender.delta.tobytes(), "little") >> 4 * tree & 15
        if piece == 0:
            continue
        with pytest.raises(PeerError):
            run_pair(*world.parties(NEAR, Blocks.whole(5, 5), *rows, sides=sides), wire=wire)
        assert len(wire.sizes[cheat.other]) <= 1, "its own choices, and no table"


# -- the engine ----------------------------------------------------------------------------------------------


def test_no_label_and_tweak_are_hashed_twice_in_a_session() -> None:
    pis = Traced(labels=True), Traced(labels=True)
    a, b = (ENGINE.set_up(side, Fixed(side.value), pi) for side, pi in zip(Side, pis, strict=True))
    made, random = run_pair(a, b), np.random.default_rng(0)
    for sizes in ((12, 14), (1, 1), (3, 2)):
        left, right = (table(random, WIDE, s, n) for s, n in zip(Side, sizes, strict=True))
        over = Blocks.whole(*sizes)
        run_pair(ENGINE.evaluate(made[0], WIDE, over, left), ENGINE.evaluate(made[1], WIDE, over, right))
    assert all(len(np.concatenate(pi.seen)) > 50_000 for pi in pis)
    assert [pi.repeated() for pi in pis] == [0, 0]


def test_both_garble_everything_and_a_row_has_the_same_labels_in_all_batches(
    world_of: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So who evaluates has chosen its inputs once: all choices come before the first table, row by row."""
    random, wire = np.random.default_rng(1), Wire()
    a, b = table(random, NEAR, Side.A, 100), table(random, NEAR, Side.B, 100)
    batches, labels = [], set[bytes]()

    def noted(garbling: BatchSide, evaluating: BatchSide, own: Labels, pairs: slice) -> Party[Masked]:
        batches.append(pairs)
        labels.add(own.taken_inputs.tobytes())
        return run_batch(garbling, evaluating, own, pairs)

    monkeypatch.setattr(dual_engine, "run_batch", noted)
    left, right = world_of("dual").parties(NEAR, Blocks.whole(100, 100), a, b)
    run_pair(left, right, wire=wire)
    assert len(batches) > 4
    assert len(labels) == 2
    assert 0.45 < sum(wire.sizes[Side.A]) / wire.bytes < 0.55


def test_more_pairs_than_one_test_takes_are_refused(
    world_of: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = AtMost(SquaredEuclidean(Input("x", 8, (1 << 16) - 1)), 1 << 30)
    assert ENGINE.most_pairs(NEAR) == 1 << 24
    assert ENGINE.most_pairs(large) < 1 << 22
    assert ENGINE.most_rows(NEAR) == ((1 << 24) // 9, (1 << 24) // 9)
    monkeypatch.setattr(dual_engine, "MOST_PAIRS", 8)
    session, rows = world_of("dual").sides[0], table(np.random.default_rng(0), NEAR, Side.A, 3)
    with pytest.raises(UsageError):
        next(ENGINE.evaluate(session, NEAR, Blocks.whole(3, 3), rows))
