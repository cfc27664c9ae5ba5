"""A partner that is broken or means harm: a clear error that names it, nothing lost, no hang, no blow-up.

Over a real TLS connection a scripted partner says what it likes before anything is charged.
"""

from __future__ import annotations

import re
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.errors import (
    AccordError,
    ConnectionLostError,
    DifferentAgreementError,
    PeerError,
    RefusedError,
    StoppedError,
)
from accord.notices import Listening, Notice, tell_nobody
from accord.peer.channel import Patience
from accord.peer.connect import HostPort, connect, exchange_keys
from accord.peer.connection import Reach
from accord.peer.encryption import Ends
from accord.peer.frames import HEADER, Kind, encode_header
from accord.peer.handshake import HELLO, Hello, encode_hello
from accord.peer.partners import find_partner
from accord.run.offer import agree
from accord.run.verbs import link
from accord.side import Side
from accord.state.runs import list_runs
from tests.peer.inside import Inside
from tests.run import faults
from tests.run.faults import Office

QUICK = Patience(silence=6.0, message=3.0, grace=2.0)
PATIENCE = 60.0


class Peer:
    """A partner with the right card that says whatever a test wants."""

    def __init__(self, office: Office, connection: Inside) -> None:
        self.office, self.connection = office, connection

    def raw(self, content: bytes) -> None:
        self.connection.sendall(content)

    def message(self, content: bytes) -> None:
        self.raw(encode_header(Kind.MESSAGE, len(content)) + content)

    def receive(self, size: int) -> bytes:
        """The next message, of this size."""
        return self._exactly(HEADER + size)[HEADER:]

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self.connection.recv(size - len(found))
            assert part
            found += part
        return found

    def hello(self, **changes: Any) -> bytes:
        digest = bytes.fromhex(self.office.agreement.digest)
        return encode_hello(replace(Hello(Side.B, digest, bytes(32)), **changes))

    def greet(self) -> None:
        self.receive(HELLO)
        self.message(self.hello())

    def wait_for_the_end(self) -> None:
        """Read until the other side is gone."""
        while self.connection.recv(1 << 16):
            pass

    def leave(self, content: bytes) -> None:
        """Say this and go."""
        self.raw(content)
        self.connection.close()


Script = Callable[[Peer], object]


def attack(folder: Path, script: Script, kind: str = "greedy") -> AccordError:
    """What A's `link` raises against this partner; neither a charge nor a run is left."""
    both = faults.offices(folder, kind)
    mine, theirs = both[Side.A], both[Side.B]
    port: list[int] = []
    listening, raised = threading.Event(), []

    def tell(notice: Notice) -> None:
        if isinstance(notice, Listening):
            port.append(notice.port)
            listening.set()

    def work() -> None:
        try:
            link(
                mine.data, mine.agreement, partner="bob", listen="127.0.0.1:0", out=mine.out,
                state=mine.state.folder, tell=tell, reach=Reach(patience=QUICK, wait=PATIENCE),
                confirm=agree,
            )  # fmt: skip
        except BaseException as error:
            raised.append(error)

    threads = threading.active_count()
    thread = threading.Thread(target=work)
    thread.start()
    assert listening.wait(PATIENCE)
    card = find_partner(theirs.state, "alice")
    address = HostPort("127.0.0.1", port[0])
    with connect(address, theirs.state, card, "alice", PATIENCE, tell_nobody) as connection:
        # The victim may have gone already: that is what it should do.
        with suppress(OSError):
            ends = Ends(theirs.state.identity.read_bytes(), card, "alice", listens=False)
            script(Peer(theirs, Inside(connection, exchange_keys(connection, ends))))
        thread.join(PATIENCE)
    assert not thread.is_alive(), "a hang"
    assert threading.active_count() == threads, "a thread was left"
    assert not mine.out.exists()
    assert not mine.ledger.runs(), "something was charged"
    # Who does not hear the partner's size cannot know whether that was charged, and could go on with it.
    assert not any(run.charged for run in list_runs(mine.state)[0])
    (error,) = raised
    assert isinstance(error, AccordError)
    return error


def trickle(peer: Peer) -> None:
    for octet in encode_header(Kind.MESSAGE, HELLO) + peer.hello():
        peer.raw(bytes([octet]))
        time.sleep(0.3)


def ping_flood(peer: Peer) -> None:
    while True:
        peer.raw(encode_header(Kind.PING, 0) * 1000)


def ping_slowly(peer: Peer) -> None:
    while True:
        peer.raw(encode_header(Kind.PING, 0))
        time.sleep(0.3)


def other_agreement(size: int, content: bytes) -> Script:
    def script(peer: Peer) -> None:
        peer.receive(HELLO)
        peer.message(peer.hello(digest=bytes(32)))
        peer.message(size.to_bytes(8, "little"))
        peer.message(content)
        peer.wait_for_the_end()

    return script


def after_hello(content: bytes) -> Script:
    def script(peer: Peer) -> None:
        peer.greet()
        peer.message(content)
        peer.wait_for_the_end()

    return script


def said(make: Callable[[Peer], bytes]) -> Script:
    def script(peer: Peer) -> None:
        peer.raw(make(peer))
        peer.wait_for_the_end()

    return script


def framed(kind: int, length: int) -> bytes:
    return (kind << 56 | length).to_bytes(8, "little")


KEYS = "".join(f"key{i} = 1\n" for i in range(100_000)).encode()
LOUD = faults.agreement().to_toml().replace('A = [\n    "x"', 'A = [\n    "\\u001b[2J"').encode()


SCRIPTS: dict[str, tuple[Script, type[AccordError], str]] = {
    "garbage": (said(lambda p: b"\xa5" * 5000), PeerError, "unknown kind"),
    "an unknown kind": (said(lambda p: framed(9, 4) + b"abcd"), PeerError, "unknown kind"),
    "a huge frame": (said(lambda p: framed(1, (1 << 56) - 1)), PeerError, "where 256 were due"),
    "a short frame": (said(lambda p: framed(1, 3) + b"abc"), PeerError, "a message of 3 bytes"),
    "a long ping": (said(lambda p: framed(2, 7)), PeerError, "wrong length"),
    "a long stop": (said(lambda p: framed(3, 7)), PeerError, "wrong length"),
    "an unknown reason": (said(lambda p: framed(3, 1) + b"\xff"), PeerError, "unknown reason"),
    "a reason": (said(lambda p: framed(3, 1) + b"\x01"), StoppedError, "ledger refuses"),
    "an open packet": (
        lambda p: p.connection.connection.sendall(bytes([9, 0, 0, 0]) + bytes(25)), PeerError, "does not open"
    ),
    "a packet too long": (
        lambda p: p.connection.connection.sendall(b"\xff" * 4), PeerError, "a packet of a wrong length"
    ),
    "an empty packet": (
        lambda p: p.connection.connection.sendall(bytes(20)), PeerError, "a packet of a wrong length"
    ),
    "half a hello": (
        lambda p: p.leave(framed(1, HELLO) + p.hello()[:100]), ConnectionLostError, "closed|cut"
    ),
    "no hello": (said(lambda p: framed(1, HELLO) + b"x" * HELLO), PeerError, "no hello of Accord"),
    "half a header": (lambda p: p.leave(b"\0\0\0"), ConnectionLostError, "closed|cut"),
    "silence": (lambda p: p.wait_for_the_end(), ConnectionLostError, "silent|no whole message"),
    "trickled bytes": (trickle, ConnectionLostError, "no whole message"),
    "a flood of pings": (ping_flood, PeerError, "nothing but pings"),
    "nothing but pings": (ping_slowly, ConnectionLostError, "no whole message"),
    "our own hello": (lambda p: p.message(p.receive(HELLO)), RefusedError, "Both of you are side A"),
    "a replayed hello": (after_hello(bytes(HELLO)), PeerError, "a message of 256 bytes where 8"),
    "too many records": (after_hello((1 << 62).to_bytes(8, "little")), RefusedError, "more than can be"),
    "records that no memory holds": (
        after_hello(((1 << 31) - 1).to_bytes(8, "little")), RefusedError, "GB of memory"
    ),
    "another run": (
        said(lambda p: framed(1, HELLO) + p.hello(run="0123456789abcdef")), RefusedError, "resumes the run"
    ),
    "a huge agreement": (other_agreement(1 << 60, b""), PeerError, "several megabytes"),
    "an agreement that is none": (other_agreement(3, b"\xff\x00["), AccordError, "cannot be read"),
    "a terminal's commands": (other_agreement(len(LOUD), LOUD), DifferentAgreementError, "theirs: �.2J"),
    "a hundred thousand unknown keys": (other_agreement(len(KEYS), KEYS), AccordError, "cannot be read"),
    "deep nesting": (other_agreement(9000, b"a=" + b"[" * 8998), AccordError, "cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_before_anything_is_charged(name: str, tmp_path: Path) -> None:
    script, kind, words = SCRIPTS[name]
    tracemalloc.start()
    spent = time.process_time()
    try:
        error = attack(tmp_path, script, "all-pairs" if "memory" in name else "greedy")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(error, kind), error
    assert str(error).replace("\n", "").isprintable()
    assert "bob" in str(error) or "Both of you" in str(error), error
    assert re.search(words, str(error)), error
    assert error.exit_code in {3, 7, 8, 10}
    assert peak < 64 << 20, "an announced size was believed"
    # Processor time of both sides, the scripts' own included: waiting must not cost any.
    assert time.process_time() - spent < 20


def test_a_peer_that_does_not_speak_tls(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with server, server.accept()[0] as plain:
            plain.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 100)

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(AccordError) as caught:
        link(
            both[Side.A].data, both[Side.A].agreement, partner="bob", state=both[Side.A].state.folder,
            connect=f"127.0.0.1:{server.getsockname()[1]}", reach=Reach(patience=QUICK, wait=PATIENCE),
            confirm=agree,
        )  # fmt: skip
    thread.join(PATIENCE)
    assert caught.value.exit_code in {8, 9}
    assert "bob" in str(caught.value)
