"""How much the relay carries, beside the same bytes over one loopback connection.

`python -m benchmarks.relay` sends 2 GiB from one process to another, directly and through a relay in a third,
in turn, three times. Each line has MB a second of both, and the processor time that the relay took for each
GB. `--copy` goes without `splice`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import statistics
import time
from multiprocessing.connection import Connection

from accord.workers.relay import Relay, call_relay
from accord.workers.routing import make_token

TOKEN = make_token(bytes(32), bytes(32))
PIECE = 1 << 20
TIMES = 3
PROCESSES = multiprocessing.get_context("fork")


def send(to: socket.socket, count: int) -> None:
    piece = bytes(PIECE)
    for _ in range(count // PIECE):
        to.sendall(piece)
    # Until the other has read it all.
    to.recv(1)


def receive(source: socket.socket, count: int, tell: Connection) -> None:
    """Tell the MB a second, from the first bytes to the last."""
    buffer, left = bytearray(PIECE), count - len(source.recv(1))
    began = time.perf_counter()
    while left and (got := source.recv_into(buffer)):
        left -= got
    source.sendall(b"x")
    tell.send(count / (time.perf_counter() - began) / 1e6)


def measure(sends: socket.socket, receives: socket.socket, count: int) -> float:
    """MB a second between two connections that lead to each other somehow."""
    ours, theirs = PROCESSES.Pipe()
    both = [
        PROCESSES.Process(target=send, args=(sends, count)),
        PROCESSES.Process(target=receive, args=(receives, count, theirs)),
    ]
    for process in both:
        process.start()
    sends.close()
    receives.close()
    rate: float = ours.recv()
    for process in both:
        process.join()
    return rate


def connected() -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
    return one, other


def relayed(count: int) -> tuple[float, float]:
    """MB a second, and the relay's seconds of a processor for each GB."""
    relay = Relay("127.0.0.1", [TOKEN], 60.0)
    partner, handed = connected()
    with handed:
        relay.bring(0, handed)
    worker = call_relay(relay.where, TOKEN)
    began = time.process_time()
    rate = measure(partner, worker, count)
    seconds = time.process_time() - began
    relay.end()
    return rate, seconds / (count / 1e9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--copy", action="store_true")
    given = parser.parse_args()
    if given.copy and hasattr(os, "splice"):
        del os.splice
    count = given.mib << 20
    rows = [(measure(*connected(), count), *relayed(count)) for _ in range(TIMES)]
    for row in rows:
        print("direct {:6.0f} MB/s   relayed {:6.0f} MB/s   relay {:.2f} s/GB".format(*row))
    print("medians: " + "  ".join(f"{statistics.median(column):.2f}" for column in zip(*rows, strict=True)))


if __name__ == "__main__":
    main()
