"""Workers as processes on this machine.

Each has a socket to this process as its standard input, over which it is told everything (jobs.py), and a
process group of its own, so that an interrupt at the terminal reaches the coordinator alone. The invariant:
when `end` returns, every process that was started here has ended; and if this process is killed, the sockets
close with it, upon which they end by themselves.
"""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from accord.session import jobs
from accord.session.jobs import Kind, Message

_GRACE_SECONDS = 2.0
_ROOT = Path(__file__).parents[2]
"""Where the package is: the worker must be the same program."""


class LocalWorkers:
    """Processes, by their numbers from 0 on."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._sockets: list[socket.socket] = []
        self._heard: queue.SimpleQueue[tuple[int, Message | None]] = queue.SimpleQueue()

    def start(self, count: int) -> None:
        """Start so many."""
        path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
        for number in range(count):
            ours, theirs = socket.socketpair()
            self._sockets.append(ours)
            with theirs:
                # -P: whatever lies in the current folder is not this program.
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "accord.session.worker"],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=os.environ | {"PYTHONPATH": path},
                    process_group=0,
                )
            self._processes.append(process)
            threading.Thread(target=self._follow, args=(number, ours), daemon=True).start()

    def say(self, worker: int, kind: Kind, *parts: bytes | memoryview) -> None:
        """Tell a worker something; that it is gone is heard by `hear`."""
        with suppress(OSError):
            jobs.say(self._sockets[worker], kind, *parts)

    def hand_over(self, worker: int, connection: socket.socket) -> None:
        """Give a connection to a worker."""
        with suppress(OSError):
            jobs.hand_over(self._sockets[worker], connection)

    def hear(self, seconds: float) -> tuple[int, Message | None] | None:
        """What a worker says next, within so many seconds; no message if it has ended."""
        try:
            return self._heard.get(timeout=seconds)
        except queue.Empty:
            return None

    def how_it_ended(self, worker: int) -> str:
        """In words."""
        try:
            code = self._processes[worker].wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "it closed its connection to this process"
        return f"it was killed by signal {-code}" if code < 0 else f"it ended with code {code}"

    def end(self) -> None:
        """End all of them."""
        for ours in self._sockets:
            with suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + _GRACE_SECONDS
        for process in self._processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for ours in self._sockets:
            ours.close()

    def _follow(self, number: int, ours: socket.socket) -> None:
        """Pass on all that one worker says."""
        message: Message | None = None
        with suppress(OSError, ValueError):
            while (message := jobs.hear(ours)) is not None:
                self._heard.put((number, message))
        self._heard.put((number, None))
