"""How much a channel carries with the layer of encryption inside TLS, beside TLS alone.

`python -m benchmarks.channel` lets two processes on loopback send to each other over the channel of a
linkage, with the inner layer (peer/encryption.py) and without it, in turn, five times each: 2 GiB in messages
of 1 MiB, one way and then both ways at once; small messages, one way and as questions and answers. Medians go
to `docs/results/channel.csv`: MB or thousands of messages a second; the ratio of the two, of each turn; and
the seconds of processors that both sides took together, which say more where others use them, too.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import platform
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from accord.notices import Listening, Notice, tell_nobody
from accord.peer import channel as channels
from accord.peer.channel import TlsChannel
from accord.peer.connection import Reach, open_channel
from accord.peer.identity import Card, make_identity
from accord.secure.party import Buffer
from accord.state.folder import State, open_state

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "channel.csv"
PROCESSES = multiprocessing.get_context("fork")
MIB = 1 << 20
SMALL = 64
TIMES = 5


class Open:
    """No inner layer: what is sent is what it was."""

    def __init__(self, key: bytes) -> None:
        self.room = memoryview(b"")
        self._renew()

    def _renew(self) -> None:
        self.room = memoryview(bytearray(1 << 18))

    def encrypt(self, piece: Buffer) -> Buffer:
        return piece

    def decrypt(self, count: int) -> Iterator[memoryview]:
        yield self.room[:count]
        self._renew()


def send(channel: TlsChannel, count: int, size: int) -> None:
    body = bytes(size)
    for _ in range(count):
        channel.send(body)


def receive(channel: TlsChannel, count: int, size: int) -> None:
    for _ in range(count):
        channel.receive(size)


def one_way(channel: TlsChannel, listens: bool, count: int, size: int) -> None:
    if listens:
        receive(channel, count, size)
        channel.send(b"x")
    else:
        send(channel, count, size)
        channel.receive(1)


def both_ways(channel: TlsChannel, listens: bool, count: int, size: int) -> None:
    sender = threading.Thread(target=send, args=(channel, count, size))
    sender.start()
    receive(channel, count, size)
    sender.join()
    one_way(channel, listens, 1, 1)


def in_turn(channel: TlsChannel, listens: bool, count: int, size: int) -> None:
    for _ in range(count):
        if listens:
            channel.receive(size)
            channel.send(bytes(size))
        else:
            channel.send(bytes(size))
            channel.receive(size)


def cases(mib: int) -> dict[str, tuple[Callable[..., None], int, int, float, str]]:
    """What is sent, how often and in which size; how much that is, and of what."""
    return {
        "1 MiB messages, one way": (one_way, mib, MIB, mib * MIB / 1e6, "MB"),
        "1 MiB messages, both ways at once": (both_ways, mib, MIB, 2 * mib * MIB / 1e6, "MB"),
        "64-byte messages, one way": (one_way, 64 * mib, SMALL, 64 * mib / 1e3, "thousand"),
        "64-byte messages, question and answer": (in_turn, 4 * mib, SMALL, 8 * mib / 1e3, "thousand"),
    }


@contextmanager
def introduced() -> Iterator[list[tuple[State, Card]]]:
    """Two who have made an identity each."""
    with tempfile.TemporaryDirectory() as folder:
        states = [open_state(Path(folder) / name, {}) for name in "ab"]
        yield [(state, make_identity(state, state.folder.name, datetime.now(UTC))) for state in states]


def work(who: list[tuple[State, Card]], listens: bool, case: Any, layer: bool, pipe: Connection) -> None:
    """One process: says at which port it listens, if it does, and then what it took."""
    if not layer:
        vars(channels).update(Encrypter=Open, Decrypter=Open)
    state, card = who[not listens][0], who[listens][1]

    def tell(notice: Notice) -> None:
        if isinstance(notice, Listening):
            pipe.send(notice.port)

    reach = Reach(listen="127.0.0.1:0") if listens else Reach(connect=f"127.0.0.1:{pipe.recv()}")
    told = tell if listens else tell_nobody
    with open_channel(reach, state, card, "the other", told) as channel:
        one_way(channel, listens, 1, 1)
        began, spent = time.perf_counter(), time.process_time()
        case[0](channel, listens, *case[1:3])
        pipe.send((time.perf_counter() - began, time.process_time() - spent))
        one_way(channel, listens, 1, 1)


def measure(who: list[tuple[State, Card]], case: Any, layer: bool) -> tuple[float, float]:
    """How much a second, and the seconds of processors."""
    pipes = [PROCESSES.Pipe() for _ in range(2)]
    both = [
        PROCESSES.Process(target=work, args=(who, listens, case, layer, pipe[1]))
        for listens, pipe in zip((True, False), pipes, strict=True)
    ]
    for process in both:
        process.start()
    pipes[1][0].send(pipes[0][0].recv())
    took = [pipe[0].recv() for pipe in pipes]
    for process in both:
        process.join()
    return case[3] / max(seconds for seconds, _ in took), sum(spent for _, spent in took)


def compare(who: list[tuple[State, Card]], name: str, case: Any, times: int) -> dict[str, object]:
    """Both, in turn, with the order reversed every time."""
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for turn in range(times):
        for layer in (True, False) if turn % 2 else (False, True):
            found[layer].append(measure(who, case, layer))
    rates = {layer: [rate for rate, _ in rows] for layer, rows in found.items()}
    spent = {layer: statistics.median(seconds for _, seconds in rows) for layer, rows in found.items()}
    ratio = statistics.median(
        with_it / alone for with_it, alone in zip(rates[True], rates[False], strict=True)
    )
    return {
        "what": name,
        "unit_per_second": case[4],
        "tls_alone": f"{statistics.median(rates[False]):.3g}",
        "with_inner_layer": f"{statistics.median(rates[True]):.3g}",
        "ratio": f"{ratio:.2f}",
        "processor_seconds_tls_alone": f"{spent[False]:.2f}",
        "processor_seconds_with_inner_layer": f"{spent[True]:.2f}",
        "times": times,
        "load": f"{os.getloadavg()[0]:.1f}",
        "processor": platform.machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    with introduced() as who:
        rows = []
        for name, case in cases(given.mib).items():
            rows.append(compare(who, name, case, given.times))
            print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    with given.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
