"""Workers as processes on this machine.

Each has a socket to this process (connections.py) as its standard input, and a process group of its own, so
that an interrupt at the terminal reaches the coordinator alone. The invariant: when `end` returns, every
process that was started here has ended; and if this process is killed, the sockets close with it, upon which
they end by themselves.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time

from accord import plugins
from accord.program import own_environment
from accord.workers.connections import WorkerSockets

_GRACE_SECONDS = 2.0


def start_module(module: str, end: socket.socket, folder: str = ".") -> subprocess.Popen[bytes]:
    """A module of this very program, in a process whose standard input is this end of a socket."""
    with end:
        # -P: whatever lies in the current folder is not this program.
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=end.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=own_environment(*plugins.folders()),
            cwd=folder,
            process_group=0,
        )


def end_process(process: subprocess.Popen[bytes], until: float) -> None:
    """Wait for its end until then, and no longer."""
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class LocalWorkers(WorkerSockets):
    """Processes, by their numbers from 0 on."""

    def __init__(self) -> None:
        super().__init__()
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, count: int) -> None:
        """Start so many."""
        for _ in range(count):
            self._processes.append(start_module("accord.workers.worker", self.open()))

    def how_it_ended(self, worker: int) -> str:
        """In words."""
        try:
            code = self._processes[worker].wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "it closed its connection to this process"
        return f"it was killed by signal {-code}" if code < 0 else f"it ended with code {code}"

    def end(self) -> None:
        """End all of them."""
        self.shut_down()
        until = time.monotonic() + _GRACE_SECONDS
        for process in self._processes:
            end_process(process, until)
        self.close()
