"""A partner that lies to a real process, over a real socket: bounded time, 1 GiB, the documented exit code.

The victim is `accord link` or `accord resume` in a process of its own, whose largest memory the system tells
at its end. The liar has the right card and the whole protocol; it runs here, over the real channel, and
changes one thing.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from accord.errors import AccordError
from accord.notices import tell_nobody
from accord.peer.channel import Patience, TlsChannel
from accord.peer.connect import HostPort, connect, exchange_keys
from accord.peer.encryption import Ends
from accord.peer.frames import Kind, encode_header
from accord.peer.handshake import HELLO, Hello, encode_hello
from accord.protocols.greedy import GreedyClean
from accord.protocols.parts import disclosed
from accord.run.link import reopen
from accord.run.stages import Linked, begin, go_on
from accord.secure.party import Buffer, Party, Receive, Send, receive, run
from accord.side import Side
from accord.state.runs import open_run
from tests.run import faults, processes
from tests.run.faults import Office
from tests.run.processes import Process, link_arguments
from tests.run.test_resume import EXPECTED
from tests.run.test_tampered import Change, tampered

GIB = 1 << 30
SECONDS = 60.0


@dataclass(frozen=True)
class End:
    """How a victim ended."""

    code: int
    said: str
    memory: int
    """Its largest resident set, in bytes."""
    seconds: float


def ended(process: Process, patience: float = SECONDS) -> End:
    """Wait for it; the system tells what it took."""
    began = time.monotonic()
    code, said = process.end(patience)
    return End(code, said, process.memory, time.monotonic() - began)


def some(names: Iterable[str], *fast: str) -> list[Any]:
    """All of them, those that are not named slow: in one process each of them is tested elsewhere, too."""
    return [name if name in fast else pytest.param(name, marks=pytest.mark.slow) for name in names]


Liar = Callable[[Office, TlsChannel], object]


def lie(both: dict[Side, Office], liar: Liar, name: str | None = None) -> End:
    """A's process, new or resumed, against a B that lies."""
    mine, theirs = both[Side.A], both[Side.B]
    what = ["resume", name] if name else link_arguments(mine)
    with processes.ended() as start:
        victim = start(mine, *what, "--wait", 30, "--timeout", 10, "--listen", "127.0.0.1:0")
        address = HostPort("127.0.0.1", victim.event("listening")["port"])
        connection = connect(address, theirs.state, faults.card(mine), "alice", 10, tell_nobody)
        ends = Ends(theirs.state.identity.read_bytes(), faults.card(mine), "alice", listens=False)
        channel = TlsChannel(connection, exchange_keys(connection, ends), "alice", Patience(silence=SECONDS))

        def work() -> None:
            with suppress(AccordError, ConnectionError):
                liar(theirs, channel)

        thread = threading.Thread(target=work)
        thread.start()
        found = ended(victim)
        thread.join(SECONDS)
        channel.close()
        assert not thread.is_alive()
    return found


def require_bounded(found: End, code: int, words: str) -> None:
    assert found.code == code, found.said
    assert re.search(words, found.said), found.said
    assert "unexpected" not in found.said
    assert found.memory < GIB, f"{found.memory >> 20} MiB"
    assert found.seconds < SECONDS


# -- before a run ------------------------------------------------------------------------------------------


def other_agreement(content: bytes) -> Liar:
    def liar(office: Office, channel: TlsChannel) -> None:
        def party() -> Party[None]:
            yield from receive(HELLO)
            yield Send(encode_hello(Hello(Side.B, bytes(32), bytes(32))))
            size = int.from_bytes(bytes((yield Receive(8))), "little")
            yield Send(len(content).to_bytes(8, "little"))
            yield from receive(size)
            yield Send(content)
            yield from receive(1)

        run(party(), channel)

    return liar


MIB = 1 << 20
AGREEMENTS = {
    "80 kB of dotted keys": ("a." * 200 + "a = 1\n") * 200,
    "4 MiB of dotted keys": ("a." * 500 + "a = 1\n") * (4 * MIB // 1006),
    "4 MiB of tables": "".join(f"[t{i}.b.c.d.e.f.g.h]\n" for i in range(160_000)),
    "as many tables as are allowed": "".join(f"[t{i}.b.c.d.e.f.g.h]\n" for i in range(6_000)),
    "4 MiB of lists": "a = [" + "[]," * MIB + "]",
    "4 MiB of values": "a = [" + "1," * (2 * MIB - 10) + "]",
    "as many columns as are allowed": "disclose.A = [" + '"",' * (1 << 19) + "]",
    "4 MiB of brackets": "a = " + "[" * (4 * MIB - 10),
    "4 MiB of one rule": 'rule = "' + "(" * (4 * MIB - 20) + '"',
}


@pytest.mark.parametrize("name", some(AGREEMENTS, "80 kB of dotted keys"))
def test_an_agreement_that_is_made_to_be_large(name: str, tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    found = lie(both, other_agreement(AGREEMENTS[name].encode()))
    require_bounded(found, 3, "bob's agreement cannot be read by this version of Accord")
    assert not both[Side.A].ledger.runs()


# -- in a run ----------------------------------------------------------------------------------------------


def wide(folder: Path, kind: str, rows: int) -> dict[Side, Office]:
    """Two organisations with so many records, which all match."""
    both = faults.offices(folder, kind)
    for side, office in both.items():
        lines = [f"{side.value}{i},{i % 16},{i // 16 % 16}\n" for i in range(rows)]
        office.data.write_text("id,x,y\n" + "".join(lines))
    return both


def honest(office: Office, channel: TlsChannel) -> Linked:
    return run(begin(office.ready(), channel), channel)


def changing(change: Change) -> Liar:
    return lambda office, channel: run(tampered(begin(office.ready(), channel), change), channel)


def shown(message: Buffer) -> int | None:
    """How many records a message announces, if it does; the engine's messages may be as short."""
    if len(message) != 16:
        return None
    count, size = np.frombuffer(message, dtype="<u8").tolist()
    return count if count < 1000 and size < GIB else None


def announced(records: int | None, content: Callable[[int], bytes], least: int = 0) -> Liar:
    """B shows as many records as it has, or so many, in this content, once they are more than `least`."""

    def liar(office: Office, channel: TlsChannel) -> None:
        def party() -> Party[Any]:
            answer: Any = None
            own = begin(office.ready(), channel)
            body: bytes | None = None
            while True:
                effect = own.send(answer)
                answer = None
                if isinstance(effect, Send) and body is not None:
                    yield Send(body)
                    body = None
                elif isinstance(effect, Send) and (count := shown(effect.buffer) or 0) > least:
                    body = content(count)
                    yield Send(np.array([records or count, len(body)], "<u8").tobytes())
                else:
                    answer = yield effect

        run(party(), channel)

    return liar


def zeros(count: int) -> bytes:
    """As many bytes as so many records may have."""
    return bytes(count * MIB)


@pytest.mark.slow
def test_a_mebibyte_of_zeros_for_every_record(tmp_path: Path) -> None:
    """For one of the later pieces, which have more records: they were received, copied and kept on disk."""
    both = wide(tmp_path, "plain", 500)
    found = lie(both, announced(None, zeros, least=100))
    require_bounded(found, 7, "disclosed records in an unknown format")
    name = faults.common_run(both)
    assert name
    path = both[Side.A].state.run(name) / "journal"
    assert path.stat().st_size < MIB


def swollen(office: Office, channel: TlsChannel) -> None:
    """B's columns are as long as those of its records may be; at their very end stands what is no text."""
    true = disclosed.encode

    def encode(own: disclosed.Disclosed) -> bytes:
        texts = pa.array(["x" * (MIB - 200)] * len(own), pa.large_string())
        return true(replace(own, columns=own.columns.set_column(1, "y", texts)))[:-1] + b"\xff"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disclosed, "encode", encode)
        honest(office, channel)


@pytest.mark.slow
def test_long_columns_of_which_the_last_byte_is_wrong(tmp_path: Path) -> None:
    """What is well-formed to its end is held once, and not kept."""
    both = wide(tmp_path, "plain", 500)
    require_bounded(lie(both, swollen), 7, "not UTF-8")
    name = faults.common_run(both)
    assert name
    assert (both[Side.A].state.run(name) / "journal").stat().st_size < MIB


def one_id(folder: Path) -> Liar:
    def liar(office: Office, channel: TlsChannel) -> None:
        with pytest.MonkeyPatch.context() as patch:
            true = GreedyClean._disclosure

            def disclosure(self: GreedyClean, records: Any) -> Any:
                told = true(self, records)
                return replace(told, ids=pa.array(["same"] * len(told), pa.large_string()))

            patch.setattr(GreedyClean, "_disclosure", disclosure)
            honest(office, channel)

    return liar


def at(number: int, content: Callable[[bytes], bytes]) -> Change:
    """B's n-th message is another."""
    return lambda n, frame, before: content(frame) if n == number else frame


def forged(number: int, frame: bytes, before: list[bytes]) -> bytes:
    """The signature, which comes after version and time, is none."""
    return bytes(64) if before and len(before[-1]) == 40 else frame


def other_digest(number: int, frame: bytes, before: list[bytes]) -> bytes:
    """The digest, which comes after half of a key, is another."""
    return bytes(32) if before and len(before[-1]) == len(frame) == 32 else frame


RUNS: dict[str, tuple[Liar, int, str]] = {
    "a huge table": (
        changing(at(1, lambda frame: ((1 << 31) - 1).to_bytes(8, "little"))), 7, "GB of memory|than can be",
    ),
    "counts it had not committed to": (
        changing(at(3, lambda frame: frame[:-8] + b"\1" + frame[-7:])), 7, "had committed to",
    ),
    "huge counts": (changing(at(3, lambda frame: frame[:32] + b"\x7f" * (len(frame) - 32))), 7, "committed"),
    "a message that is too long": (changing(at(2, lambda frame: frame + bytes(MIB))), 7, "were due"),
    "noise instead of the engine's messages": (
        changing(lambda n, frame, before: os.urandom(len(frame)) if n > 4 else frame), 7, "does not fit",
    ),
    "more records than it has": (announced(1 << 40, lambda count: b"x"), 7, "more than its table holds"),
    "more records than are due": (announced(9, lambda count: b"x"), 7, "can match"),
    "more bytes than records can have": (
        announced(None, lambda count: bytes(2 * count * MIB + 100)), 7, "bytes for",
    ),
    "a text that is not there": (announced(None, lambda count: disclosed._TAG), 7, "end too early"),
    "slots beyond all": (
        announced(None, lambda count: disclosed._TAG + b"\xff" * 4 * count + bytes(1000)), 7, "more slots",
    ),
    "another digest of the output": (changing(other_digest), 7, "digest of an output other"),
    "a wrong signature": (changing(forged), 7, "signature"),
}  # fmt: skip


@pytest.mark.parametrize("name", some(RUNS, "more bytes than records can have"))
def test_a_lie_in_a_run(name: str, tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    liar, code, words = RUNS[name]
    found = lie(both, liar)
    require_bounded(found, code, words)
    mine = both[Side.A]
    run_name = faults.common_run(both)
    if run_name:
        assert f"accord resume {run_name}" in found.said
        assert open_run(mine.state, run_name).manifest.wrong == 1


@pytest.mark.slow
def test_one_id_for_all(tmp_path: Path) -> None:
    both = wide(tmp_path, "greedy", 40)
    require_bounded(lie(both, one_id(tmp_path)), 7, "same id")


# -- after a lie -------------------------------------------------------------------------------------------


def resumed(name: str, change: Change | None, office: Office, channel: TlsChannel) -> Linked:
    with reopen(office.state, name) as (own, kept):
        party = go_on(own, kept, channel)
        return run(tampered(party, change) if change else party, channel)


@pytest.mark.slow
def test_a_run_is_resumed_after_two_lies_and_closed_by_the_third(tmp_path: Path) -> None:
    """Each lie ends the process that is lied to with 7; then it has the pairs, or the run is over."""
    both = faults.offices(tmp_path / "two")
    require_bounded(lie(both, changing(forged)), 7, "signature")
    name = faults.common_run(both)
    assert name
    require_bounded(lie(both, partial(resumed, name, forged), name), 7, "signature")
    found = lie(both, partial(resumed, name, None), name)
    assert found.code == 0, found.said
    assert both[Side.A].out.read_bytes() == EXPECTED["greedy"]

    both = faults.offices(tmp_path / "three")
    require_bounded(lie(both, changing(forged)), 7, "signature")
    name = faults.common_run(both)
    assert name
    require_bounded(lie(both, partial(resumed, name, forged), name), 7, "signature")
    found = lie(both, partial(resumed, name, forged), name)
    require_bounded(found, 7, f"The run {name} is closed: 3 answers of bob")
    with processes.ended() as start:
        refused = ended(start(both[Side.A], "resume", name, "--listen", "127.0.0.1:0"))
    require_bounded(refused, 7, "is closed")


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"x", encode_header(Kind.PING, 0)], ids=["a message", "pings"])
def test_no_trickle_keeps_a_process(content: bytes, tmp_path: Path) -> None:
    """A byte of a message every second ends after a minute, nothing but pings after ten."""
    both = faults.offices(tmp_path)
    mine, theirs = both[Side.A], both[Side.B]
    limit = 600 if len(content) > 1 else 60
    with processes.ended() as start:
        victim = start(mine, *link_arguments(mine), "--wait", 30, "--timeout", 10, "--listen", "127.0.0.1:0")
        address = HostPort("127.0.0.1", victim.event("listening")["port"])
        with connect(address, theirs.state, faults.card(mine), "alice", 10, tell_nobody) as raw:
            over = threading.Event()

            def trickle() -> None:
                with suppress(OSError):
                    raw.sendall(b"" if len(content) > 1 else encode_header(Kind.MESSAGE, HELLO))
                    while not over.wait(1.0):
                        raw.sendall(content)

            thread = threading.Thread(target=trickle)
            thread.start()
            found = ended(victim, limit + 60)
            over.set()
            thread.join()
    assert (found.code, found.memory < GIB) == (8, True), found.said
    assert "no whole message" in found.said
    assert limit - 5 < found.seconds < limit + 30
