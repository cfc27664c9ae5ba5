"""Two real processes over TLS on loopback, and a proxy between them that cuts or calls for a kill."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from accord.side import Side
from tests.run.faults import Office

_MAIN = "from accord.cli import main; main()"
PATIENCE = 300
"""Seconds for what takes no time: a machine that is busy must not fail a test."""


@dataclass
class Fault:
    """After so many bytes towards the listener or the other way: do this, once. None: cut the connection."""

    after: int
    to_listener: bool
    act: Callable[[], None] | None = None


@dataclass
class Proxy:
    """Forwards one connection, until a fault."""

    target: int
    fault: Fault | None = None
    passed: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    fired: bool = False

    def __post_init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        with socket.socket() as knock:
            # Wakes an accept for which nobody came.
            knock.connect_ex(("127.0.0.1", self.port))
        self._thread.join(PATIENCE)
        self._server.close()
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        client, _ = self._server.accept()
        with client, socket.socket() as listener:
            if listener.connect_ex(("127.0.0.1", self.target)):
                return
            self._forward({client: listener, listener: client}, listener)

    def _forward(self, other: dict[socket.socket, socket.socket], listener: socket.socket) -> None:
        open_ends = set(other)
        while open_ends:
            for source in select.select(list(open_ends), [], [])[0]:
                try:
                    body = source.recv(1 << 16)
                except OSError:
                    body = b""
                if not body:
                    open_ends.discard(source)
                if not self._pass(other[source], body, listener):
                    return

    def _pass(self, target: socket.socket, body: bytes, listener: socket.socket) -> bool:
        """Forward; whether the connection lives on."""
        way, fault = target is listener, self.fault
        due = fault is not None and not self.fired and way is fault.to_listener
        room = fault.after - self.passed[way] if fault and due else len(body)
        self.passed[way] += len(body[:room])
        try:
            target.sendall(body[:room])
            if not body:
                target.shutdown(socket.SHUT_WR)
        except OSError:
            return False
        if fault is None or not due or room > len(body):
            return True
        self.fired = True
        if fault.act is None:
            return False
        fault.act()
        return self._pass(target, body[room:], listener) if body[room:] else True


@dataclass
class Process:
    """One `accord` at work."""

    office: Office
    popen: subprocess.Popen[str]
    events: list[dict[str, Any]] = field(default_factory=list)

    def event(self, name: str) -> dict[str, Any]:
        """Wait for an event."""
        assert self.popen.stdout
        for line in self.popen.stdout:
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == name:
                return self.events[-1]
        raise AssertionError(f"no event '{name}': {self.popen.communicate(timeout=PATIENCE)}")

    def end(self, patience: float = PATIENCE) -> tuple[int, str]:
        """Its exit code and what it said on stderr."""
        out, error = self.popen.communicate(timeout=patience)
        self.events += [json.loads(line) for line in out.splitlines()]
        return self.popen.returncode, error


def start(office: Office, *arguments: object) -> Process:
    """An `accord` of this organisation."""
    words = ["--state", office.state.folder, *arguments, "--json"]
    command = [sys.executable, "-c", _MAIN, *map(str, words)]
    pipe = subprocess.PIPE
    return Process(office, subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True))


@contextmanager
def ended() -> Iterator[Callable[..., Process]]:
    """`start`, for processes that do not outlive a test."""
    started: list[Process] = []

    def begun(office: Office, *arguments: object) -> Process:
        started.append(start(office, *arguments))
        return started[-1]

    try:
        yield begun
    finally:
        for process in started:
            if process.popen.poll() is None:
                process.popen.kill()
                process.popen.communicate()


def link_arguments(office: Office) -> list[object]:
    file = office.data.parent / "agreement.toml"
    file.write_text(office.agreement.to_toml())
    named = ["--agreement", file, "--partner", office.partner, "--out", office.out, "--snapshot", "first"]
    return ["link", office.data, *named, "--force", "--yes"]


@dataclass
class Meeting:
    """Both processes of one attempt, and the proxy between them."""

    processes: dict[Side, Process]
    proxy: Proxy
    ends: dict[Side, tuple[int, str]]


def meet(
    both: dict[Side, Office],
    run: str | None,
    listener: Side = Side.A,
    fault: Fault | None = None,
    kill: tuple[Side, str] | None = None,
    timeout: float = 60,
) -> Meeting:
    """Let both link, or go on with a run; a fault may happen, or a side is killed at one of its events."""
    waits = ["--wait", 120, "--timeout", timeout]

    with ended() as ending:

        def begun(side: Side, way: str, where: str) -> Process:
            what = ["resume", run] if run else link_arguments(both[side])
            return ending(both[side], *what, *waits, way, where)

        processes = {listener: begun(listener, "--listen", "127.0.0.1:0")}
        proxy = Proxy(processes[listener].event("listening")["port"], fault)
        try:
            processes[listener.other] = begun(listener.other, "--connect", f"127.0.0.1:{proxy.port}")
            if kill is not None:
                processes[kill[0]].event(kill[1])
                processes[kill[0]].popen.kill()
            ends = {side: process.end() for side, process in processes.items()}
        finally:
            proxy.close()
    return Meeting(processes, proxy, ends)
