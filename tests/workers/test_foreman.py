"""A foreman that leads workers of a cluster that is none: what it carries, and what it says of those gone."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from accord.peer.connect import HostPort
from accord.workers import foreman, messages
from accord.workers.foreman import _PlacedWorkers
from accord.workers.messages import Cause, Failure, Kind
from accord.workers.relay import call_relay
from tests.workers.clusters import require_ray

require_ray()

# ruff: noqa: E402
from accord.workers.cluster import in_words
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


Begin = Callable[..., list[socket.socket]]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
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


def failed(end: socket.socket) -> Failure:
    kind, body = receive(end)
    assert kind is Kind.FAILURE
    return messages.decode_failure(bytearray(body))


def test_what_is_said_is_carried_in_order_to_who_it_is_for(begin: Begin) -> None:
    """And the partner's connection is relayed to the worker that it named."""
    ends = begin(Nodes(Actor(), Actor()), 2, listens=True)
    for turn in range(20):
        for number, end in enumerate(ends):
            messages.send(end, Kind.JOB, b"%d of %d" % (turn, number))
    for number, end in enumerate(ends):
        said = [receive(end) for _ in range(20)]
        assert said == [(Kind.ANSWER, b"%d of %d" % (turn, number)) for turn in range(20)]
    with ExitStack() as stack:
        for number, end in enumerate(ends):
            messages.send(end, Kind.MEET, b"whom")
            partner, handed = map(stack.enter_context, socket.socketpair())
            partner.sendall(b"tls %d" % number)
            messages.hand_over(end, handed)
        assert [receive(end) for end in ends] == [(Kind.READY, b"tls 0"), (Kind.READY, b"tls 1")]


def test_a_worker_that_cannot_be_had_or_is_gone_is_told(begin: Begin) -> None:
    """Another version, no room, a call that fails, a job that cannot be handed over, a node or all lost."""
    version = failed(begin(Nodes(Actor(), Actor("0.0.9, wire 1")), 2)[1])
    assert version.cause is Cause.FAULT
    assert all(program in version.problem for program in (PROGRAM, "0.0.9, wire 1"))
    assert "2 workers" in failed(begin(Nodes(Actor()), 2)[0]).problem
    (dying,) = begin(Nodes(Actor()), 1)
    for body in (b"die", b"more"):
        messages.send(dying, Kind.JOB, body)
    assert failed(dying).problem == "RuntimeError"
    dying.settimeout(0.2)
    with pytest.raises(TimeoutError):
        messages.receive(dying)
    actor = Actor()
    (full,) = begin(Nodes(actor), 1)

    def refuse(*arguments: object) -> None:
        raise MemoryError

    actor.answer.remote = refuse  # type: ignore[method-assign, assignment]
    messages.send(full, Kind.JOB, b"x")
    assert failed(full).problem == "MemoryError"
    nodes = Nodes(Actor(), Actor())
    first, second = begin(nodes, 2)
    nodes.gone = {1: "its node was lost"}
    assert failed(second).problem == "its node was lost"
    messages.send(first, Kind.JOB, b"x")
    assert receive(first) == (Kind.ANSWER, b"x")
    nodes.is_over.set()
    assert failed(first).problem == "ConnectionError"


def test_a_node_says_why_it_cannot_begin_and_nothing_that_ray_quotes() -> None:
    from ray import exceptions

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    said: Any = [RayWorker().call("127.0.0.1", port, bytes(32)), RayWorker().answer(Kind.JOB, b"")]
    assert [kind for kind, _ in said] == [Kind.FAILURE] * 2
    problems = [messages.decode_failure(bytearray(body)).problem for _, body in said]
    assert "127.0.0.1" in problems[0]
    assert problems[1] == "ValueError"
    errors = (
        exceptions.OutOfMemoryError("canary"),
        exceptions.NodeDiedError("canary"),
        exceptions.RayActorError(error_msg="canary: No module named accord"),
        exceptions.RayActorError(error_msg="canary"),
        RuntimeError("canary"),
    )
    told = {in_words(error) for error in errors}
    assert len(told) == len(errors)
    assert not any("canary" in words for words in told)
