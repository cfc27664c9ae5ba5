"""One side of a session as a process of its own: the command line's `main`, watched, with chosen noise.

Nothing here is known to the program: functions of it are replaced in this process alone. What is written
down are the frames, one line each, as they happen:

    came      the kind and the length of a frame that arrives; pings are left out, which come by the clock
    sent, received, stopped    what the party does, in its own order

What is chosen is what a proof may choose: the noise, so that the announced counts are given ones (*coupled
noise*), and where sizes may follow from it (greedy; slices of what is disclosed), the places of matching
records in their bins. All other randomness is the program's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from accord.cli import main
from accord.entropy import Entropy
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.peer import channel
from accord.peer.channel import TlsChannel
from accord.peer.frames import Frame, Kind
from accord.peer.frames import decode_header as decode_frame
from accord.privacy.noise_answers import TwoSided
from accord.program import own_environment
from accord.protocols import laplace
from accord.protocols.parts import slots
from accord.protocols.parts.slots import Slots
from accord.run import link
from accord.workers import local, worker

Plan = dict[str, Any]
"""What a process is told: where its lines go (`trace`), and what it chooses.

`counts`    the bin sizes that it announces
`reports`   of each id the bin that it reports; those of the others, and of rows left out, are under ''
`answer`    what it adds to each number of an answer
`first`     the ids that come first in their bins, in this order
`cut`       the message, counted from 1, that no longer reaches it
`cheat`     how it departs from the protocol, for a control
"""


def run(plan: Plan, arguments: list[str]) -> None:
    """`accord` with these arguments, in this process; what it prints is in files."""
    for stream, handle in ((sys.stdout, 1), (sys.stderr, 2)):
        stream.flush()
        file = os.open(f"{plan['trace']}.{handle}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(file, handle)
        os.close(file)
    # Of the process that this one is a copy of.
    sys.stdin = open(os.devnull)  # noqa: SIM115
    sys.argv = ["accord", *arguments]
    watch(Path(plan["trace"]), plan.get("cut"))
    choose(plan)
    main()


def work(plan: Plan, number: int) -> None:
    """A worker, by its number."""
    watch(Path(f"{plan['trace']}-{number}"))
    worker.main()


def watch(trace: Path, cut: int | None = None) -> None:
    """Write down the frames of this process, which has one connection."""
    file = trace.open("w", buffering=1)

    def note(*what: object) -> None:
        file.write(json.dumps(what) + "\n")

    decode, send, receive, stop = decode_frame, TlsChannel.send, TlsChannel.receive, TlsChannel.stop
    count = 0

    def decode_header(header: bytes | bytearray) -> Frame:
        frame = decode(header)
        if frame.kind is not Kind.PING:
            note("came", frame.kind.name, frame.length)
        return frame

    def sending(self: TlsChannel, buffer: Any) -> None:
        note("sent", len(buffer))
        send(self, buffer)

    def receiving(self: TlsChannel, size: int, *look: Any) -> Any:
        nonlocal count
        count += 1
        if count == cut:
            note("cut")
            raise self.lost("was cut")
        found = receive(self, size, *look)
        note("received", size)
        return found

    def stopping(self: TlsChannel, reason: Any) -> None:
        note("stopped", reason.name)
        stop(self, reason)

    # No ping but after a quarter of the timeout: what the proxy sees follows from the messages alone.
    replaced: Plan = {"decode_header": decode_header, "_PING_SECONDS": 1e9}
    vars(channel).update(replaced)
    for name, method in (("send", sending), ("receive", receiving), ("stop", stopping)):
        setattr(TlsChannel, name, method)


def choose(plan: Plan) -> None:
    """Replace what is drawn by what is chosen."""
    if (counts := plan.get("counts")) is not None:

        def dummies(self: Any, records: Records, entropy: Entropy) -> Any:
            return CHEATS[plan.get("cheat", "")](np.array(counts), true_counts(self, records))

        vars(laplace)["NoisyCounts"].draw = dummies
    if (answer := plan.get("answer")) is not None:
        TwoSided.draw = lambda self, count, entropy: [answer] * count  # type: ignore[method-assign]
    if plan.get("cheat") == "rows left out are not counted":
        vars(link)["load_records"] = lambda *given: replace(load_records(*given), left_out=0)
    order = plan.get("first", [])
    vars(slots)["shuffle_slots"] = placing(slots.shuffle_slots, order)
    vars(local)["start_module"] = starting(plan)


def true_counts(release: Any, records: Records) -> Any:
    _, bins = release.task.blocking.place(release.side, records.columns, len(records))
    return np.bincount(bins, minlength=release.task.blocking.bins)


def _honest(counts: Any, true: Any) -> Any:
    assert (counts >= true).all(), "noise is never below 0"
    return counts - true


CHEATS: dict[str, Callable[[Any, Any], Any]] = {
    "": _honest,
    "rows left out are not counted": _honest,
    "true counts": lambda counts, true: np.zeros_like(true),
    "bins without records are not filled": lambda counts, true: np.where(true > 0, counts - true, 0),
}
"""How many dummies each bin gets."""


def placing(shuffle: Callable[..., Slots], first: list[str]) -> Callable[..., Slots]:
    """Slots in random order, but for those of these records, which stand before the others of their bins."""

    def placed(record: Any, bins: Any, count: int, records: Records, entropy: Entropy) -> Slots:
        made = shuffle(record, bins, count, records, entropy)
        rank = {name: place for place, name in enumerate(first)}
        ids = records.ids.to_pylist()
        ranks = np.array([rank.get(ids[one], len(first)) if one >= 0 else len(first) for one in made.record])
        order = np.lexsort((ranks, np.repeat(np.arange(count), made.counts)))
        return replace(made, record=made.record[order])

    return placed


def starting(plan: Plan) -> Callable[..., Any]:
    """What starts workers: each as a process of this module, with its number."""
    started: list[Any] = []

    def start_module(module: str, end: Any, folder: str = ".") -> Any:
        with end:
            number = len(started) + 1
            words = [sys.executable, "-P", "-m", __name__, json.dumps(plan), str(number)]
            environment = own_environment()
            environment["PYTHONPATH"] += os.pathsep + str(Path(__file__).parents[2])
            quiet = subprocess.DEVNULL
            started.append(
                subprocess.Popen(
                    words, stdin=end.fileno(), stdout=quiet, stderr=quiet, env=environment, process_group=0
                )
            )
        return started[-1]

    return start_module


if __name__ == "__main__":
    work(json.loads(sys.argv[1]), int(sys.argv[2]))
