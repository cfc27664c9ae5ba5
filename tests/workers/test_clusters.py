"""Workers on a cluster: a foreman that leads them, and a real one of two nodes, of which some is lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accord.errors import TrustError, UsageError
from accord.peer.connect import HostPort
from accord.side import Side
from accord.workers import foreman, messages
from accord.workers.foreman import _PlacedWorkers
from accord.workers.messages import Cause, Failure, Kind
from accord.workers.ray import RayWorkers
from accord.workers.relay import call_relay
from tests.run import faults
from tests.run.faults import EXPECTED
from tests.workers import clusters
from tests.workers.clusters import Cluster
from tests.workers.test_workers import Meeting, children, is_running, meet, require_done, require_resumed

clusters.require_ray()

# ruff: noqa: E402
from accord.workers.cluster import in_words
from accord.workers.ray_worker import PROGRAM, RayWorker

SECONDS = 20.0
TRUSTED = "--trust-cluster"
PATIENCE = 120


def actor(program: str = PROGRAM) -> Any:
    """A worker that says back what it is told; its calls are done in a thread of its own, in order."""

    def answer(kind: int, body: bytes) -> tuple[int, bytes] | None:
        if body == b"die":
            raise RuntimeError
        return None if kind == Kind.MEET else (Kind.ANSWER, body)

    def call(host: str, port: int, token: bytes) -> tuple[int, bytes]:
        with call_relay(HostPort(host, port), token) as made:
            return Kind.READY, made.recv(5)

    def method(run: Callable[..., Any]) -> Any:
        return SimpleNamespace(remote=partial(pool.submit, run))

    pool = ThreadPoolExecutor(1)
    return SimpleNamespace(program=method(lambda: program), answer=method(answer), call=method(call))


class Nodes:
    """A cluster that has these workers."""

    host = "127.0.0.1"

    def __init__(self, *actors: Any) -> None:
        self.actors = list(actors)
        self.gone: dict[int, str] = {}
        self.is_over = threading.Event()

    def place(self, count: int, seconds: float) -> list[Any]:
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
    ends = begin(Nodes(actor(), actor()), 2, listens=True)
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
    version = failed(begin(Nodes(actor(), actor("0.0.9, wire 1")), 2)[1])
    assert version.cause is Cause.FAULT
    assert all(program in version.problem for program in (PROGRAM, "0.0.9, wire 1"))
    assert "2 workers" in failed(begin(Nodes(actor()), 2)[0]).problem
    (dying,) = begin(Nodes(actor()), 1)
    for body in (b"die", b"more"):
        messages.send(dying, Kind.JOB, body)
    assert failed(dying).problem == "RuntimeError"
    dying.settimeout(0.2)
    with pytest.raises(TimeoutError):
        messages.receive(dying)
    refusing = actor()
    (full,) = begin(Nodes(refusing), 1)

    def refuse(*arguments: object) -> None:
        raise MemoryError

    refusing.answer.remote = refuse
    messages.send(full, Kind.JOB, b"x")
    assert failed(full).problem == "MemoryError"
    nodes = Nodes(actor(), actor())
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


# -- a real cluster ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with clusters.running(1, **clusters.OPEN) as found:
        yield found
        found.require_empty()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("side", "workers", "count"),
    [(Side.A, "ray", 3), (Side.B, "2@ray", 2), (Side.A, "2@ray://127.0.0.1:{}", 2)],
)
def test_a_side_on_a_cluster_and_one_that_is_not(
    side: Side, workers: str, count: int, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the partner's workers send to the side that listens is relayed. Also with Ray Client.

    Where there is no cluster none is started, and a cluster that anybody reaches is refused.
    """
    with pytest.raises(TrustError):
        RayWorkers("auto", vouched=False, listens=True)
    both = faults.offices(tmp_path, "plain")
    numbers: dict[Side, int | str] = {
        side: f"{workers.format(cluster.client)} {TRUSTED}",
        side.other: count,
    }
    meeting = meet(both, None, numbers)
    require_done(meeting, both, EXPECTED["plain"])
    for process in meeting.both.values():
        assert len(process.events[-1]["peak_mib"]) == 1 + min(count, 2)
    cluster.require_empty()
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(UsageError):
        RayWorkers("auto", vouched=True, listens=False)


@pytest.mark.slow
def test_both_sides_on_clusters(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "greedy")
    with clusters.running(2, **clusters.OPEN) as found:
        workers = f"2@ray {TRUSTED}"
        require_done(meet(both, None, dict.fromkeys(Side, workers)), both, EXPECTED["greedy"])
        found.require_empty()


def require_resumed_on(
    cluster: Cluster, folder: Path, act: Callable[[Meeting], object], codes: tuple[int, int], *where: str
) -> None:
    """What happens to side A after a round ends both and all workers; resumed, the output is the same."""

    def after_a_round(meeting: Meeting) -> None:
        meeting.both[Side.A].event("progress")
        act(meeting)

    workers: list[dict[Side, int | str]] = [{Side.A: f"{one} {TRUSTED}", Side.B: 2} for one in where]
    ends = dict(zip(Side, codes, strict=True))
    require_resumed(folder, after_a_round, ends, workers[0], workers[1], cluster.require_empty)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "codes"),
    [
        ("worker", (13, 10)),
        ("interrupt", (130, 10)),
        ("coordinator", (-signal.SIGKILL, 8)),
        ("foreman", (13, 10)),
        ("foreman of a client", (13, 10)),
    ],
)
def test_whoever_is_killed_the_run_goes_on(
    who: str, codes: tuple[int, int], cluster: Cluster, tmp_path: Path
) -> None:
    """Ray ends the workers of a driver that is gone; those of a client when it does not come back."""
    foremen: list[int] = []

    def kill(meeting: Meeting) -> None:
        popen = meeting.both[Side.A].popen
        foremen.extend(children(popen.pid))
        if who == "interrupt":
            popen.send_signal(signal.SIGINT)
        elif who == "coordinator":
            popen.kill()
        else:
            os.kill(cluster.workers()[0] if who == "worker" else foremen[0], signal.SIGKILL)

    where = f"2@ray://127.0.0.1:{cluster.client}" if who.endswith("client") else "2@ray"
    require_resumed_on(cluster, tmp_path, kill, codes, where, where)
    assert len(foremen) == 1
    until = time.monotonic() + PATIENCE
    while any(map(is_running, foremen)):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.slow
def test_a_node_that_is_lost(tmp_path: Path) -> None:
    with clusters.running(1, **clusters.OPEN) as found:
        require_resumed_on(found, tmp_path, lambda _: found.lose_node(), (13, 10), "2@ray", "1@ray")


def guarded(folder: Path) -> dict[str, str]:
    """What all who use a cluster with TLS and a token must set; the certificate is for this machine."""
    hosts = ",".join(["DNS:localhost", *(f"IP:{host}" for host in {"127.0.0.1", own_address()})])
    certificate, key = str(folder / "node.crt"), str(folder / "node.key")
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    more = ["-subj", "/CN=node", "-addext", f"subjectAltName={hosts}", "-out", certificate, "-keyout", key]
    subprocess.run([*command, *more], check=True, capture_output=True)
    return {
        "RAY_USE_TLS": "1",
        "RAY_TLS_CA_CERT": certificate,
        "RAY_TLS_SERVER_CERT": certificate,
        "RAY_TLS_SERVER_KEY": key,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "5" * 64,
    }


def own_address() -> str:
    """Where Ray thinks that this machine is; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as towards:
        try:
            towards.connect(("8.8.8.8", 80))
        except OSError:
            return "127.0.0.1"
        return str(towards.getsockname()[0])


@pytest.mark.slow
def test_a_cluster_with_tls_and_tokens_need_not_be_vouched_for(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    with clusters.running(1, **guarded(tmp_path)) as found:
        for address in ("auto", f"ray://127.0.0.1:{found.client}"):
            workers = RayWorkers(address, vouched=False, listens=False)
            workers.end()
            assert workers.room == 2
        require_done(meet(both, None, {Side.A: "ray", Side.B: 2}), both, EXPECTED["plain"])
        found.require_empty()


@pytest.mark.slow
@pytest.mark.parametrize("lacks", ["token", "tls", "token of others"])
def test_one_of_them_is_not_enough(lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged is what the cluster does, not how this machine is set."""
    lacking = {"RAY_USE_TLS": "0"} if lacks == "tls" else {"RAY_AUTH_MODE": "disabled"}
    with clusters.running(1, **guarded(tmp_path) | lacking):
        if lacks == "token of others":
            monkeypatch.setenv("RAY_AUTH_MODE", "token")
        with pytest.raises((TrustError, UsageError)):
            RayWorkers("auto", vouched=False, listens=False)
