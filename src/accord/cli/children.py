"""Commands of Accord that run as processes of their own, and what they tell as it comes.

The invariant: when the context ends, however it ends, so has every process that was started in it.
"""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from accord.notices import Notice, decode_notice

_GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Note:
    """A line for people."""

    line: str


@dataclass(frozen=True)
class Ended:
    """The last that is heard of a child."""

    code: int


@dataclass(frozen=True)
class Told:
    """What was heard of a child."""

    child: str
    what: Notice | Note | Ended


class Children:
    """Processes of `accord COMMAND --json`; use it as a context."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []
        self._told: queue.SimpleQueue[Told] = queue.SimpleQueue()

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end(0.0)

    def start(
        self, child: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        """Start a command in a folder."""
        process = subprocess.Popen(
            [sys.executable, "-m", "accord", *arguments],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        self._processes.append(process)
        threading.Thread(target=self._follow, args=(child, process), daemon=True).start()

    def end(self, patience: float) -> None:
        """End every child that has not ended by itself within these seconds."""
        until = time.monotonic() + patience
        for process in self._processes:
            if not _ends(process, max(0.0, until - time.monotonic())):
                process.terminate()
        for process in self._processes:
            if not _ends(process, _GRACE_SECONDS):
                process.kill()
                process.wait()

    def hear(self) -> Iterator[Told]:
        """What the children tell, until all of them have ended; more may be started meanwhile."""
        ended = 0
        while ended < len(self._processes):
            told = self._told.get()
            ended += isinstance(told.what, Ended)
            yield told

    def _follow(self, child: str, process: subprocess.Popen[str]) -> None:
        """Pass on all that one child writes, then its exit code."""
        assert process.stdout is not None
        assert process.stderr is not None
        notes = threading.Thread(target=self._pass_on, args=(child, process.stderr, False), daemon=True)
        notes.start()
        self._pass_on(child, process.stdout, True)
        notes.join()
        self._told.put(Told(child, Ended(process.wait())))

    def _pass_on(self, child: str, stream: IO[str], notices: bool) -> None:
        with stream:
            for line in stream:
                self._told.put(Told(child, _read(line) if notices else Note(line.rstrip())))


def _ends(process: subprocess.Popen[str], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _read(line: str) -> Notice | Note:
    """The notice in a line; what is none is a note."""
    try:
        return decode_notice(line)
    except ValueError:
        return Note(line.rstrip())
