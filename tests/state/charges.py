"""Processes that charge runs: `python -m tests.state.charges MODE FOLDER ARGUMENT`."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from accord.errors import BudgetError
from accord.privacy.events import Cost, Event, Promise
from accord.privacy.release import Snapshot
from accord.state.ledger import Ask, Ledger
from accord.state.store import Store

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TENTH = Promise(Cost(Fraction(1, 10), Fraction(1, 10**9)))
PURE = Promise(Cost(Fraction(1, 10), Fraction(0)))


def ask(
    run: str,
    place: bytes = b"k",
    dataset: str = "d",
    partner: str = "p",
    event: Event = TENTH,
    snapshot: str | None = "s",
    content: bytes = b"content",
) -> Ask:
    declared = None if snapshot is None else Snapshot(snapshot, content)
    return Ask(run, dataset, partner, b"agreement", place, event, declared)


def charge(ledger: Ledger, run: str, key: str) -> list[int]:
    drawn = np.frombuffer(os.urandom(64), dtype=np.uint8).astype(np.int64)
    return ledger.charge(ask(run, key.encode(), event=PURE), lambda: drawn, NOW).noise.tolist()


def go_on(folder: Path, name: str) -> None:
    """Charge releases that all have, and in turn some of its own, until refused. Prints each run and its
    noise once it is answered."""
    ledger, i = Ledger(Store(folder)), 0
    sys.stdin.readline()
    with suppress(BudgetError):
        while True:
            for run, key in ((f"{name}-{i}", str(i)), (f"{name}-{i}-own", f"{name}-{i}")):
                print(json.dumps([run, charge(ledger, run, key)]), flush=True)  # noqa: T201
            i += 1


def die(folder: Path, every: str) -> None:
    """For every instruction of a charge, in steps, fork a child that charges a run and dies there."""
    whole = _fork(folder, "whole", 0)[1][0]
    results = [[f"v-{at}", *_fork(folder, f"v-{at}", at)] for at in range(1, whole + 11, int(every))]
    print(json.dumps([whole, results]))  # noqa: T201


def _fork(folder: Path, run: str, at: int) -> tuple[bool, list[Any]]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        ledger = Ledger(Store(folder))
        count = _kill_at(at)
        noise = charge(ledger, run, run)
        os.write(writer, json.dumps([count(), noise]).encode())
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 1 << 16)
    os.close(reader)
    killed = os.waitpid(pid, 0)[1] == signal.SIGKILL
    return killed, json.loads(answer) if answer else []


def _kill_at(at: int) -> Callable[[], int]:
    real, ticks = sqlite3.connect, 0

    def tick() -> int:
        nonlocal ticks
        ticks += 1
        if ticks == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def connect(*given: Any, **named: Any) -> sqlite3.Connection:
        db = real(*given, **named)
        db.set_progress_handler(tick, 1)
        return db

    sqlite3.connect = connect  # type: ignore[assignment]
    return lambda: ticks


if __name__ == "__main__":
    {"go on": go_on, "die": die}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])
