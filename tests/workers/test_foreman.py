"""A foreman that leads workers of a cluster that is none: what it carries, and what it says of those gone."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from accord.workers import messages
from accord.workers.messages import Cause, Failure, Kind
from accord.workers.relay import call_relay
from tests.workers.clusters import require_ray

require_ray()

# ruff: noqa: E402
from accord.peer.connect import HostPort
from accord.workers import foreman
from accord.workers.foreman import _PlacedWorkers
from accord.workers.ray_worker import PROGRAM, RayWorker

SECONDS = 20.0


class Method:
    """A call of an actor, done in its own thread, in order."""

    def __init__(self, pool: ThreadPoolExecutor, run: Callable[..., Any]) -> None:
        self._pool, self._run = pool, run

    def remote(self, *arguments: object) -> Future[Any]:
        return self._pool.submit(self._run, *arguments)


class Actor:
    """A worker that says back what it is told."""

    def __init__(self, program: str = PROGRAM) -> None:
        pool = ThreadPoolExecutor(1)
        self.program = Method(pool, lambda: program)
        self.answer = Method(pool, self._answer)
        self.call = Method(pool, self._call)

    def _answer(self, kind: int, body: bytes) -> tuple[int, bytes] | None:
        if body == b"die":
            raise RuntimeError
        return None if kind == Kind.MEET else (Kind.ANSWER, body)

    def _call(self, host: str, port: int, token: bytes) -> tuple[int, bytes]:
        with call_relay(HostPort(host, port), token) as made:
            return Kind.READY, made.recv(5)


class Nodes:
    """A cluster that has these workers."""

    host = "127.0.0.1"

    def __init__(self, *actors: Actor) -> None:
        self.actors = list(actors)
        self.gone: dict[int, str] = {}
        self.is_over = threading.Event()

    def place(self, count: int, seconds: float) -> list[Actor]:
        return self.actors[:count] if len(self.actors) >= count else []

    def wait(self, asked: Future[Any]) -> Any:
        return asked.result(SECONDS)

    def watch(self, seconds: float) -> dict[int, str]:
        if self.is_over.wait(0.05):
            raise ConnectionError
        return self.gone


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[socket.socket]]]:
    """Have workers started; the coordinator's ends of their sockets."""
    monkeypatch.setattr(foreman, "in_words", lambda error: type(error).__name__)
    with ExitStack() as stack:

        def begun(nodes: Any, count: int, listens: bool = False) -> list[socket.socket]:
            pairs = [socket.socketpair() for _ in range(count)]
            for ours, theirs in pairs:
                stack.enter_context(theirs)
                stack.enter_context(ours).settimeout(SECONDS)
            placed = _PlacedWorkers(nodes, [theirs for _, theirs in pairs], listens)
            if placed.relay is not None:
                stack.callback(placed.relay.end)
            stack.callback(nodes.is_over.set)
            return [ours for ours, _ in pairs]

        yield begun


def receive(end: socket.socket) -> tuple[Kind, bytes]:
    message = messages.receive(end)
    assert message is not None
    return message.kind, bytes(message.body)


def receive_failure(end: socket.socket) -> Failure:
    kind, body = receive(end)
    assert kind is Kind.FAILURE
    return messages.decode_failure(bytearray(body))


Begin = Callable[..., list[socket.socket]]


def test_what_is_said_is_carried_in_order_to_who_it_is_for(begin: Begin) -> None:
    ends = begin(Nodes(Actor(), Actor(), Actor()), 3)
    for turn in range(50):
        for number, end in enumerate(ends):
            messages.send(end, Kind.JOB, b"%d of %d" % (turn, number))
    for number, end in enumerate(ends):
        assert [receive(end) for _ in range(50)] == [
            (Kind.ANSWER, b"%d of %d" % (turn, number)) for turn in range(50)
        ]


def test_the_partners_connection_is_relayed_to_the_worker_that_it_named(begin: Begin) -> None:
    ends = begin(Nodes(Actor(), Actor()), 2, listens=True)
    with ExitStack() as stack:
        for number, end in enumerate(ends):
            messages.send(end, Kind.MEET, b"whom")
            partner, handed = map(stack.enter_context, socket.socketpair())
            partner.sendall(b"tls %d" % number)
            messages.hand_over(end, handed)
        assert [receive(end) for end in ends] == [(Kind.READY, b"tls 0"), (Kind.READY, b"tls 1")]


def test_a_node_with_another_version_is_named(begin: Begin) -> None:
    _, end = begin(Nodes(Actor(), Actor("0.0.9, wire 1")), 2)
    failure = receive_failure(end)
    assert failure.cause is Cause.FAULT
    assert failure.problem == f"its node has another version of accord: 0.0.9, wire 1 instead of {PROGRAM}"


def test_a_cluster_without_room_says_so(begin: Begin) -> None:
    end, _ = begin(Nodes(Actor()), 2)
    assert receive_failure(end).problem == "the cluster had no room for 2 workers in 60 seconds"


def test_a_call_that_fails_is_the_last_word(begin: Begin) -> None:
    (end,) = begin(Nodes(Actor()), 1)
    messages.send(end, Kind.JOB, b"die")
    messages.send(end, Kind.JOB, b"more")
    assert receive_failure(end).problem == "RuntimeError"
    end.settimeout(0.2)
    with pytest.raises(TimeoutError):
        messages.receive(end)


def test_a_job_that_cannot_be_handed_over_is_told(begin: Begin) -> None:
    """Such as for want of room in the object store."""
    actor = Actor()
    (end,) = begin(Nodes(actor), 1)

    def refuse(*arguments: object) -> None:
        raise MemoryError

    actor.answer.remote = refuse  # type: ignore[method-assign, assignment]
    messages.send(end, Kind.JOB, b"x")
    assert receive_failure(end).problem == "MemoryError"


def test_an_idle_worker_that_is_gone_is_told_once(begin: Begin) -> None:
    nodes = Nodes(Actor(), Actor())
    first, second = begin(nodes, 2)
    nodes.gone = {1: "its node was lost"}
    assert receive_failure(second).problem == "its node was lost"
    messages.send(first, Kind.JOB, b"x")
    assert receive(first) == (Kind.ANSWER, b"x")


def test_a_cluster_that_is_lost_is_told_of_every_worker(begin: Begin) -> None:
    nodes = Nodes(Actor(), Actor())
    ends = begin(nodes, 2)
    nodes.is_over.set()
    assert [receive_failure(end).problem for end in ends] == ["ConnectionError"] * 2


def test_a_node_that_cannot_call_its_coordinator_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    said = RayWorker().call("127.0.0.1", port, bytes(32))
    assert said
    assert said[0] == Kind.FAILURE
    assert (
        "its node cannot call this machine at 127.0.0.1"
        in messages.decode_failure(bytearray(said[1])).problem
    )


def test_messages_in_a_wrong_order_end_a_worker() -> None:
    said = RayWorker().answer(Kind.JOB, b"")
    assert said
    assert messages.decode_failure(bytearray(said[1])) == Failure(Cause.FAULT, "ValueError")
