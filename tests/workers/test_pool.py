"""How many workers there are and who they are, and what becomes of a run when one of them fails."""

from __future__ import annotations

import gc
import importlib.util
import mmap
import socket
import sys
import time
from itertools import chain, repeat
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock, create_autospec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.datasets.starter import starter
from accord.entropy import Seeded
from accord.errors import AccordError, ConnectionLostError, PeerError, StoppedError, UsageError, WorkerError
from accord.peer.connection import Reach
from accord.peer.handshake import Wish
from accord.protocols.parts import schedule
from accord.protocols.parts.comparers import InTurn
from accord.protocols.parts.journal import UNDER_WAY
from accord.protocols.routed_passes import held_circuit
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Equal, Input
from accord.secure.ot.engine import OtEngine
from accord.side import Side
from accord.state.runs import open_run
from accord.workers import connections, messages
from accord.workers import ray as workers_ray
from accord.workers.choice import MOST_WORKERS, OnCluster, choose_workers, own_wish, require_workers
from accord.workers.local import LocalWorkers
from accord.workers.messages import Answer, Cause, Failure, Kind, Message
from accord.workers.pool import (
    WORTH_SECONDS,
    Figures,
    NoWorkers,
    ProcessPool,
    SharedRounds,
    Sharing,
    WorkOrder,
    _Tally,
    _WorkerProcesses,
    count_workers,
)
from accord.workers.resources import Peak, held_bytes
from tests.run import faults
from tests.run.faults import EXPECTED

pytestmark = pytest.mark.usefixtures("quick")
wishes = st.builds(Wish, st.integers(1, 9), st.booleans())
INPUT = Input("x", 1, 1)
CIRCUIT = Equal(INPUT)


@given(wishes, wishes, st.floats(0, 3 * WORTH_SECONDS))
def test_the_smaller_number_counts_on_both_sides(own: Wish, partner: Wish, seconds: float) -> None:
    found = count_workers(own, partner, seconds)
    assert found == count_workers(partner, own, seconds)
    assert 1 <= found <= min(own.count, partner.count)
    if (own.always and partner.always) or seconds >= WORTH_SECONDS:
        assert found == min(own.count, partner.count)
    elif not (own.always or partner.always):
        assert found == 1


@pytest.mark.parametrize(
    ("kind", "routed", "comparisons", "count"),
    [("people", True, 105_024, 1), ("people", True, 3_100_000, 4), ("products", False, 10_000_000, 1)],
)
def test_workers_start_where_one_takes_long(kind: str, routed: bool, comparisons: int, count: int) -> None:
    """3,100,000 comparisons are those of 300,000 routed people."""
    task, wish = starter(kind).task, Wish(4, always=False)
    circuit = held_circuit(task, Side.A) if routed else task.lowered.node
    for side in Side:
        workers = Mock()
        workers.start.return_value = [bytes(9)] * count
        next(Sharing(wish, wish, workers).gather(side, OtEngine(), circuit, Seeded("workers"), comparisons))
        assert [call.args[0] for call in workers.start.call_args_list] == [count] * (count > 1)
        assert workers.dismiss.called == (count == 1)


# -- who they are -----------------------------------------------------------------------------------------

MEANT: dict[Any, Any] = {
    None: None,
    1: 1,
    256: 256,
    "ray": OnCluster("auto"),
    "8@ray": OnCluster("auto", 8),
    "ray://[2001:db8::7]:10001": OnCluster("ray://[2001:db8::7]:10001"),
    "12@ray://192.0.2.7:10001": OnCluster("ray://192.0.2.7:10001", 12),
}


def test_as_many_workers_as_were_said_and_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes need nobody to be asked. A cluster without room is left. Who has none has none to trust."""
    for said, meant in MEANT.items():
        assert require_workers(said, False) == meant
        for trust in ("yes", *([] if isinstance(meant, OnCluster) else [True])):
            with pytest.raises(UsageError) as caught:
                require_workers(said, trust)
            assert "trust_cluster" in str(caught.value)
    assert (own_wish(None).count >= 1, own_wish(None).always) == (True, False)
    with choose_workers(3, False, Reach()) as chosen:
        assert (chosen.wish, chosen.make) == (Wish(3, always=True), LocalWorkers)
    monkeypatch.setattr(workers_ray, "RayWorkers", Foreign)
    for room, most, wanted in ((3, 8, 3), (12, 8, 8), (1000, MOST_WORKERS, MOST_WORKERS)):
        with choose_workers(OnCluster(f"ray://head:{room}", most), True, Reach(listen=":0")) as chosen:
            found: Any = chosen.make()
            assert (chosen.wish, found) == (Wish(wanted, always=True), chosen.make())
            assert (found.given, found.ended) == ((f"ray://head:{room}", True, True), False)
        assert found.ended
    with pytest.raises(UsageError), choose_workers(OnCluster("x:0"), False, Reach()):
        pass
    monkeypatch.undo()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught, choose_workers(OnCluster("auto"), False, Reach()):
        pass
    assert "accord[ray]" in str(caught.value)


class Foreign:
    """A cluster with so much room."""

    def __init__(self, address: str, vouched: bool, listens: bool) -> None:
        self.given, self.ended = (address, vouched, listens), False
        self.room = int(address.rsplit(":", 1)[1])

    def end(self) -> None:
        self.ended = True


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells anonymous memory")
def test_the_most_memory_is_what_was_there_for_a_while_and_in_no_file(tmp_path: Path) -> None:
    large = 1 << 27
    with Peak() as peak:
        looked, read = [], peak.read
        peak.read = lambda: looked.append(1) or read()  # type: ignore[method-assign, func-returns-value]
        # Garbage that would be collected in between would count as less.
        gc.collect()
        before = read()
        held = np.ones(large, np.uint8)
        while not looked[1:]:
            time.sleep(0.01)
        del held
        assert held_bytes() < before + large // 2
        # Some of what was held before may have been given back meanwhile.
        assert read() >= before + 0.5 * large
    with open(tmp_path / "file", "w+b") as file:
        file.truncate(large)
        before = held_bytes()
        with mmap.mmap(file.fileno(), large, access=mmap.ACCESS_READ) as mapped:
            assert not any(mapped[at] for at in range(0, large, mmap.PAGESIZE))
            assert held_bytes() < before + large // 2


# -- what they say ----------------------------------------------------------------------------------------


def fake(*says: tuple[int, Message | None]) -> Any:
    """Workers that say what a test wants, and hold what they are told."""
    workers = create_autospec(LocalWorkers, instance=True)
    workers.hand_over.side_effect = AssertionError
    workers.receive.side_effect = chain(says, repeat(None))
    workers.how_it_ended.return_value = "it was killed by signal 9"
    return workers


def partner() -> Any:
    """The partner's coordinator, which may have something to say."""
    made = Mock()
    made.lost.side_effect = lambda problem: ConnectionLostError(partner="bob", problem=problem, mend="")
    return made


def answer(*places: int) -> Message:
    made = Answer(np.array(places, np.int64), 10, 20, 1_000_000, 1 << 20)
    return Message(Kind.ANSWER, bytearray(b"".join(messages.encode_answer(made))))


def failure(cause: Cause, problem: str = "a message of 3 bytes") -> Message:
    return Message(Kind.FAILURE, bytearray(messages.encode_failure(Failure(cause, problem))))


def pool(workers: Any) -> ProcessPool:
    made = ProcessPool(Wish(2, always=True), Reach(connect="partner:1"), lambda: workers)
    made.tallies[:] = [_Tally(messages.decode_answer(answer().body)) for _ in range(2)]
    return made


def shared(workers: ProcessPool, other: Any = None) -> SharedRounds:
    """The workers when they have met those of the partner: what they were for, they know."""
    processes = _WorkerProcesses(workers, cast(WorkOrder, None), other or partner(), (INPUT,))
    return SharedRounds(processes, Side.A, CIRCUIT, 2)


def ask(comparer: SharedRounds) -> None:
    """Two blocks of 12 rows against 3: 36 pairs for each of two workers."""
    table = Table({"x": np.ones((24, 1), np.int64)}, np.ones(24, np.bool_))
    comparer.ask(Blocks.of_sizes(np.array([12, 12]), np.array([3, 3])), table)


def answered(comparer: SharedRounds) -> Any:
    with pytest.raises(StopIteration) as end:
        next(comparer.answer())
    return end.value.value.tolist()


def test_answers_come_in_any_order_and_are_put_in_theirs() -> None:
    """Rounds end in order, though a worker may be ahead of the other by several."""
    heard = fake((1, answer(0)), (1, answer(5)), (0, answer(1, 35)), (0, answer()))
    workers = pool(heard)
    comparer = shared(workers)
    workers.expect(7.5)
    for _ in range(2):
        ask(comparer)
    told = [call.args for call in heard.send.call_args_list]
    assert [(worker, kind) for worker, kind, *_ in told] == [(0, Kind.JOB), (1, Kind.JOB)] * 2
    jobs = [messages.decode_job(bytearray(b"".join(parts)), (INPUT,)) for _, _, *parts in told]
    seconds = [job.seconds for job in jobs]
    assert seconds == [7.5, 7.5, 0.0, 0.0]
    assert answered(comparer) == [1, 35, 36]
    assert answered(comparer) == [41]
    assert workers.figures() == Figures(20, 40, (36_000, 36_000), (1 << 20, 1 << 20))


@pytest.mark.parametrize(
    ("says", "error"),
    [
        ([None], WorkerError),
        ([failure(Cause.PARTNER)], PeerError),
        ([failure(Cause.FAULT, "MemoryError")], WorkerError),
        ([failure(Cause.LOST)], ConnectionLostError),
        ([answer(36)], WorkerError),
        ([answer(), answer()], WorkerError),
        ([Message(Kind.READY, bytearray())], WorkerError),
    ],
)
def test_a_worker_that_fails_ends_the_run(
    says: list[Message | None], error: type[AccordError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_REASON_SECONDS", 0.05)
    comparer = shared(pool(fake(*((1, message) for message in says))))
    ask(comparer)
    with pytest.raises(error) as caught:
        next(comparer.answer())
    assert caught.value.facts.get("number") == (2 if error is WorkerError else None)


def test_what_the_partner_says_comes_first() -> None:
    """A connection between workers that was cut because the partner stopped: its reason is what counts."""
    other = partner()
    stopped = StoppedError(partner="bob", reason="one of its workers ended", mend="")
    other.attend.side_effect = chain([None], repeat(stopped))
    comparer = shared(pool(fake((0, failure(Cause.LOST)))), other)
    ask(comparer)
    with pytest.raises(StoppedError):
        next(comparer.answer())


@pytest.mark.parametrize(
    ("kind", "error"), [(Kind.CERTIFICATE, WorkerError), (Kind.READY, ConnectionLostError)]
)
def test_a_worker_that_stalls_is_given_up(
    kind: Kind, error: type[AccordError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it has a key one of this side, and after it one of the partner's."""
    monkeypatch.setattr(connections, "MEET_SECONDS", 0.1)
    with pytest.raises(error) as caught:
        connections.Replies(fake((0, Message(kind, bytearray()))), partner()).from_all(kind, 2)
    assert caught.value.facts.get("number") == (2 if error is WorkerError else None)


def test_a_pool_ends_with_its_context_and_its_port() -> None:
    workers = Mock()
    with ProcessPool(Wish(2, always=True), Reach(listen="127.0.0.1:0"), lambda: workers) as made:
        assert made.port is not None
        port = made.port.getsockname()[1]
    workers.end.assert_called_once()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5)
    with ProcessPool(own_wish(1), Reach(listen="127.0.0.1:0"), Mock) as alone:
        assert alone.port is None


# -- a whole run in memory, with several sessions that speak in turn ---------------------------------------


def speak_in_turn(patch: pytest.MonkeyPatch, count: int) -> None:
    """From now on every run has so many sessions over the coordinators' own channel."""
    patch.setattr(NoWorkers, "comparers", lambda *_: InTurn(count, UNDER_WAY))


@pytest.mark.parametrize("kind", ["greedy", pytest.param("plain", marks=pytest.mark.slow)])
@pytest.mark.parametrize("counts", [(1, 4), (4, 1), pytest.param((2, 3), marks=pytest.mark.slow)])
def test_a_run_goes_on_with_another_number(
    kind: str, counts: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = faults.offices(tmp_path, kind)
    speak_in_turn(monkeypatch, counts[0])
    faults.link(both, faults.Wire(frames=40 * counts[0]))
    name = faults.the_run(both)
    before = {side: faults.stored(office, name)[1] for side, office in both.items()}
    speak_in_turn(monkeypatch, counts[1])
    faults.require_done(faults.resume(both, name), both, EXPECTED[kind])
    for side, office in both.items():
        assert faults.stored(office, name)[1][: len(before[side])] == before[side], "a kept answer was lost"


UNDER = 2 + UNDER_WAY + 1
"""Steps that one side has kept where all that the other lacks are rounds."""


@pytest.mark.parametrize(
    ("rounds", "frames", "kept", "goes_on"),
    [
        (6, 160, {Side.A: UNDER, Side.B: UNDER - UNDER_WAY}, True),
        (6, 160, {Side.A: UNDER, Side.B: UNDER - UNDER_WAY - 1}, False),
        (1 << 30, None, {Side.B: 3}, True),
        (1 << 30, None, {Side.B: 2}, False),
    ],
)
def test_a_side_may_be_as_many_rounds_behind_as_can_be_under_way(
    rounds: int,
    frames: int | None,
    kept: dict[Side, int],
    goes_on: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The side that is ahead does them again and comes to the answers that it had; more is refused.

    No round is asked again once what follows it is kept: other records could be put into a finished run.
    """
    monkeypatch.setattr(schedule.Schedule.__init__, "__defaults__", (rounds,))
    both = faults.offices(tmp_path, "plain")
    speak_in_turn(monkeypatch, 2 if frames else 1)
    faults.link(both, faults.Wire(frames=frames))
    name = faults.the_run(both)
    for side, steps in kept.items():
        with both[side].state.store.writing() as state:
            done = state.steps(name)
            assert frames or done == 4, "commitments, counts, one round and the disclosure"
            state.drop("step", "run = ? AND number >= ?", name, steps)
    speak_in_turn(monkeypatch, 3 if frames else 1)
    ending = faults.resume(both, name)
    if goes_on:
        faults.require_done(ending, both, EXPECTED["plain"])
        return
    assert isinstance(ending[Side.A], PeerError)
    assert frames or open_run(both[Side.A].state, name).manifest.wrong == 1
