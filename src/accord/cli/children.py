"""Commands of Accord that run as processes of their own, and what they tell as it comes.

The invariant: when the context ends, however it ends, so has every process that was started in it.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

NOTE = "note"
"""A line for people; its fact is `line`."""
ENDED = "ended"
"""The last that is told of a child; its fact is `code`."""
_GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Told:
    """What a child told: one of its events, a note, or its end."""

    child: str
    event: str
    facts: Mapping[str, Any]


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

    def told(self) -> Iterator[Told]:
        """What the children tell, until all of them have ended; more may be started meanwhile."""
        ended = 0
        while ended < len(self._processes):
            told = self._told.get()
            ended += told.event == ENDED
            yield told

    def _follow(self, child: str, process: subprocess.Popen[str]) -> None:
        """Pass on all that one child writes, then its exit code."""
        assert process.stdout is not None
        assert process.stderr is not None
        notes = threading.Thread(target=self._pass_on, args=(child, process.stderr, False), daemon=True)
        notes.start()
        self._pass_on(child, process.stdout, True)
        notes.join()
        self._told.put(Told(child, ENDED, {"code": process.wait()}))

    def _pass_on(self, child: str, stream: IO[str], events: bool) -> None:
        with stream:
            for line in stream:
                self._told.put(_event(child, line) if events else Told(child, NOTE, {"line": line.rstrip()}))


def _ends(process: subprocess.Popen[str], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _event(child: str, line: str) -> Told:
    """The event in a line; what is none is a note."""
    try:
        facts = json.loads(line)
        return Told(child, facts.pop("event"), facts)
    except (ValueError, KeyError, AttributeError):
        return Told(child, NOTE, {"line": line.rstrip()})
