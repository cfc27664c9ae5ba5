"""What the default engine shows on the wire: nothing by sizes, no tweak twice, no surprise, no trust."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.errors import PeerError, UnsupportedError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Equal, Hamming, Input, Node, Not, Side, SquaredEuclidean
from accord.secure.engine_ot import OtEngine
from accord.secure.ot_permutation import Permutation, Words
from accord.secure.ot_setup import Session, set_up
from accord.secure.party import Buffer, Deadlock, Party, Receive, Send, Wire, run_pair
from tests.secure.conftest import Sessions
from tests.secure.worlds import BITS, POINT, Fixed, random_circuit, table

CIRCUIT = And((AtMost(Hamming(BITS), 3), Not(AtMost(SquaredEuclidean(POINT), 400)), Equal(BITS)))


def both(
    sessions: Sessions, circuit: Node, over: Blocks, a: Table, b: Table
) -> tuple[Party[Any], Party[Any]]:
    engine = OtEngine(sessions[0].sender.k)
    return engine.evaluate(sessions[0], circuit, over, a), engine.evaluate(sessions[1], circuit, over, b)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(0, 1 << 32), st.floats(0, 1), st.floats(0, 1))
def test_sizes_and_order_of_messages_do_not_depend_on_data(
    sessions: Callable[[int], Sessions], seed: int, other: int, real: float, other_real: float
) -> None:
    shape = np.random.default_rng(seed % 5)
    circuit, over = random_circuit(shape), Blocks.whole(13, 9)
    seen = []
    for s, r in ((seed, real), (other, other_real)):
        random, wire = np.random.default_rng(s), Wire()
        a, b = table(random, circuit, Side.A, 13, r), table(random, circuit, Side.B, 9, 1 - r)
        run_pair(*both(sessions(4), circuit, over, a, b), wire)
        seen.append((wire.sizes, wire.rounds))
    assert seen[0] == seen[1]


class Traced(Permutation):
    """π that remembers what it was applied to."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Words] = []

    def apply(self, source: Words, name: str) -> Words:
        self.seen.append(np.array(source).reshape(-1, 2))
        return super().apply(source, name)

    def repeated(self) -> int:
        blocks = np.concatenate(self.seen)
        return len(blocks) - len(np.unique(blocks, axis=0))


def traced_sessions() -> tuple[Sessions, tuple[Traced, Traced]]:
    pis = Traced(), Traced()
    made = run_pair(set_up(Side.A, 4, Fixed("a"), pis[0]), set_up(Side.B, 4, Fixed("b"), pis[1]))
    return made, pis


def test_no_key_and_tweak_are_hashed_twice_in_a_session() -> None:
    made, pis = traced_sessions()
    random = np.random.default_rng(0)
    a, b = table(random, CIRCUIT, Side.A, 40), table(random, CIRCUIT, Side.B, 40)
    for over in (Blocks.whole(40, 40), Blocks.whole(3, 40), Blocks.whole(1, 1)):
        run_pair(*both(made, CIRCUIT, over, a, b))
    assert all(len(np.concatenate(pi.seen)) > 10_000 for pi in pis)
    assert [pi.repeated() for pi in pis] == [0, 0]


def test_the_trace_notices_numbers_that_come_back() -> None:
    made, pis = traced_sessions()
    random = np.random.default_rng(0)
    a, b = table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)
    for _ in range(2):
        for session in made:
            for end in (session.sender, session.receiver):
                end._block = end._row = 0
        run_pair(*both(made, CIRCUIT, Blocks.whole(3, 3), a, b))
    assert all(pi.repeated() for pi in pis)


def counted_table(rows: int, step: int) -> Table:
    """Rows that no library can change."""
    columns = {of.name: np.arange(rows * of.length) * step % (of.high + 1) for of in (BITS, POINT)}
    shaped = {of.name: columns[of.name].reshape(rows, of.length) for of in (BITS, POINT)}
    return Table(shaped, np.arange(rows) % 5 != 0)


def test_the_wire_is_the_one_that_was_agreed_on() -> None:
    """If this fails on purpose, the version tags of the formats have to change with it."""
    wire = Wire()
    made = run_pair(set_up(Side.A, 4, Fixed("a")), set_up(Side.B, 4, Fixed("b")), wire)
    a, b = counted_table(20, 3), counted_table(30, 7)
    run_pair(*both(made, CIRCUIT, Blocks.whole(20, 30), a, b), wire)
    assert wire.digest == "d21eb0b05998fb16f231ab2147913952b386e74dc78485dcc14fed52d05c0174"


def test_what_cannot_be_done_is_refused_before_a_byte(sessions: Callable[[int], Sessions]) -> None:
    circuit = AtMost(Hamming(Input("x", 3, 7)), 1)
    engine, session = OtEngine(), sessions(4)[0]
    empty = Table({}, np.zeros(0, dtype=np.bool_))
    with pytest.raises(UnsupportedError):
        engine.supports(circuit)
    with pytest.raises(UnsupportedError):
        next(engine.evaluate(session, circuit, Blocks.whole(0, 0), empty))


def test_values_outside_their_range_are_refused_before_a_byte(sessions: Callable[[int], Sessions]) -> None:
    bad = Table({BITS.name: np.full((1, BITS.length), 2)}, np.ones(1, dtype=np.bool_))
    with pytest.raises(ValueError, match="outside"):
        next(OtEngine().evaluate(sessions(4)[0], Equal(BITS), Blocks.whole(1, 1), bad))


def test_sessions_of_different_settings_part_at_once() -> None:
    with pytest.raises(PeerError, match="another version"):
        run_pair(set_up(Side.A, 2, Fixed("a")), set_up(Side.B, 4, Fixed("b")))
    with pytest.raises(ValueError, match="k is"):
        next(set_up(Side.A, 3, Fixed("a")))


def tampered(party: Party[Any], message: int, change: Callable[[bytes], bytes]) -> Party[Any]:
    """The same party, but one of the messages that it sends is changed on its way."""
    answer: Buffer | None = None
    sent = 0
    while True:
        try:
            effect = next(party) if answer is None else party.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(effect, Send):
            changed = change(bytes(effect.buffer)) if sent == message else effect.buffer
            sent += 1
            yield Send(changed)
            answer = None
        else:
            answer = yield effect


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[:-1],
    "empty": lambda data: data[:0] if data else b"\0",
    "trailing": lambda data: data + b"\0",
    "doubled": lambda data: data * 2 or b"\0",
    "oversized": lambda data: data + bytes(1 << 20),
}


def fresh(k: int = 4) -> Sessions:
    return run_pair(set_up(Side.A, k, Fixed("a")), set_up(Side.B, k, Fixed("b")))


@pytest.mark.parametrize("side", list(Side), ids=str)
@pytest.mark.parametrize("message", range(4))
@pytest.mark.parametrize("change", CHANGES)
def test_a_set_up_message_of_another_size_is_a_peer_error(side: Side, message: int, change: str) -> None:
    parties = {of: set_up(of, 4, Fixed(of.value)) for of in Side}
    parties[side] = tampered(parties[side], message, CHANGES[change])
    with pytest.raises(PeerError, match="were due"):
        run_pair(parties[Side.A], parties[Side.B])


def messages_of(side: Side) -> Iterator[int]:
    """Numbers of the messages that a side sends for `CIRCUIT` and one batch."""
    wire, random = Wire(), np.random.default_rng(0)
    a, b = table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)
    run_pair(*both(fresh(), CIRCUIT, Blocks.whole(3, 3), a, b), wire)
    return iter(range(len(wire.sizes[side])))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("side", list(Side), ids=str)
def test_a_message_of_another_size_is_a_peer_error(side: Side, change: str) -> None:
    random = np.random.default_rng(0)
    a, b = table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)
    numbers = list(messages_of(side))
    assert len(numbers) > 3
    sessions = fresh()
    for message in numbers:
        parties = list(both(sessions, CIRCUIT, Blocks.whole(3, 3), a, b))
        place = 0 if side is Side.A else 1
        parties[place] = tampered(parties[place], message, CHANGES[change])
        with pytest.raises(PeerError, match="were due"):
            run_pair(parties[0], parties[1])
        with pytest.raises(RuntimeError, match="broken off"):
            run_pair(*both(sessions, CIRCUIT, Blocks.whole(3, 3), a, b))
        sessions = fresh()


def hostile(data: st.DataObject, party: Party[Any]) -> Party[None]:
    """A peer that answers every wait with bytes of any content, mostly of the right size."""
    answer: Buffer | None = None
    while True:
        try:
            effect = next(party) if answer is None else party.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(effect, Receive):
            answer = yield effect
        else:
            size = len(effect.buffer)
            kind = data.draw(st.sampled_from(["as is", "noise", "noise", "size"]))
            if kind == "as is":
                yield effect
            elif kind == "noise":
                seed = data.draw(st.integers(0, 1 << 32))
                yield Send(np.random.default_rng(seed).bytes(size))
            else:
                yield Send(bytes(data.draw(st.integers(0, 2 * size + 2))))


def survives(data: st.DataObject, victim: Side) -> None:
    """Whatever the peer sends, its victim ends with an answer of the right shape or with a peer error."""
    random = np.random.default_rng(0)
    a, b = table(random, CIRCUIT, Side.A, 3), table(random, CIRCUIT, Side.B, 3)

    def whole(side: Side, rows: Table) -> Party[Any]:
        session: Session = yield from set_up(side, 4, Fixed(side.value))
        return (yield from OtEngine().evaluate(session, CIRCUIT, Blocks.whole(3, 3), rows))

    parties = [whole(Side.A, a), whole(Side.B, b)]
    place = 0 if victim is Side.A else 1
    parties[1 - place] = hostile(data, parties[1 - place])
    try:
        answer = run_pair(parties[0], parties[1])[place]
    except PeerError:
        return
    except Deadlock:
        raise AssertionError("a hang") from None
    assert answer.shape == (9,)


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from(list(Side)))
def test_a_hostile_peer_gets_an_error_or_an_answer_but_no_crash(data: st.DataObject, victim: Side) -> None:
    survives(data, victim)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(st.data(), st.sampled_from(list(Side)))
def test_fuzz_a_hostile_peer(data: st.DataObject, victim: Side) -> None:
    survives(data, victim)


def test_bits_after_the_last_answer_are_refused(sessions: Callable[[int], Sessions]) -> None:
    random, circuit = np.random.default_rng(0), AtMost(Hamming(BITS), 3)
    a, b = table(random, circuit, Side.A, 3), table(random, circuit, Side.B, 3)
    left, right = both(fresh(), circuit, Blocks.whole(3, 3), a, b)
    with pytest.raises(PeerError, match="after the last"):
        run_pair(left, tampered(right, 1, lambda data: data[:-1] + bytes([data[-1] | 128])))
