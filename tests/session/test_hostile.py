"""A partner that is broken or means harm: a clear error that names it, nothing lost, no hang, no blow-up.

Over a real TLS connection a scripted partner says what it likes; in memory a partner that follows the
protocol has its frames changed on the way, one after the other.
"""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.errors import (
    AccordError,
    ConnectionLostError,
    DifferentAgreementError,
    PeerError,
    RefusedError,
    StoppedError,
)
from accord.protocols.slots import Slots, make_slots
from accord.secure.circuit import Side
from accord.secure.ot_batch import run_b
from accord.secure.party import Party, Send
from accord.session.channel import Patience
from accord.session.connect import Address, connect
from accord.session.connection import Reach
from accord.session.course import Linked
from accord.session.frames import HEADER, Kind, encode_header
from accord.session.handshake import HELLO, Hello, encode_hello
from accord.session.link import link
from accord.session.partners import find_partner
from accord.session.store import runs
from tests.session import faults
from tests.session.faults import Ending, Office, Wire
from tests.session.test_resume import EXPECTED

QUICK = Patience(silence=1.0, message=2.0)
PATIENCE = 60.0


class Peer:
    """A partner with the right card that says whatever a test wants."""

    def __init__(self, office: Office, connection: ssl.SSLSocket) -> None:
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
        self.connection.settimeout(PATIENCE)
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

    def tell(event: str, facts: Mapping[str, object]) -> None:
        if event == "listening":
            port.append(int(str(facts["port"])))
            listening.set()

    def work() -> None:
        try:
            link(
                mine.data, mine.agreement, partner="bob", listen="127.0.0.1:0", out=mine.out,
                state=mine.state.folder, tell=tell, reach=Reach(patience=QUICK, wait=PATIENCE),
            )  # fmt: skip
        except BaseException as error:
            raised.append(error)

    threads = threading.active_count()
    thread = threading.Thread(target=work)
    thread.start()
    assert listening.wait(PATIENCE)
    card = find_partner(theirs.state, "alice")
    address = Address("127.0.0.1", port[0])
    with connect(address, theirs.state, card, "alice", PATIENCE, lambda event, port: None) as connection:
        # The victim may have gone already: that is what it should do.
        with suppress(OSError):
            script(Peer(theirs, connection))
        thread.join(PATIENCE)
    assert not thread.is_alive(), "a hang"
    assert threading.active_count() == threads, "a thread was left"
    assert not mine.out.exists()
    assert not mine.ledger.runs(), "something was charged"
    assert runs(mine.state) == ([], [])
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
    "a reason": (said(lambda p: framed(3, 1) + b"\x01"), StoppedError, "declined"),
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
    "a terminal's commands": (other_agreement(len(LOUD), LOUD), DifferentAgreementError, "only: �.2J"),
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
        )  # fmt: skip
    thread.join(PATIENCE)
    assert caught.value.exit_code in {8, 9}
    assert "bob" in str(caught.value)


# -- in memory: a partner that follows the protocol, and a wire that does not ------------------------------

Change = Callable[[int, bytes, list[bytes]], bytes | None]
"""What becomes of B's n-th frame, given what B sent before; None: nothing arrives."""


def tampered(party: Party[Linked], change: Change) -> Party[Linked]:
    """The same party, with what it sends changed on the way."""
    answer: Any = None
    before: list[bytes] = []
    while True:
        try:
            effect = party.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(effect, Send):
            sent = bytes(effect.buffer)
            arriving = change(len(before), sent, before)
            before.append(sent)
            if arriving is not None:
                yield Send(arriving)
            answer = None
        else:
            answer = yield effect


def against(both: dict[Side, Office], change: Change) -> Ending:
    """A against a B whose frames are changed."""
    parties = faults.linking(both)
    parties[Side.B] = tampered(parties[Side.B], change)
    return faults.drive(parties, Wire())


def require_unharmed(both: dict[Side, Office], kind: str, result: Linked | BaseException | None) -> None:
    """A has the right output or none, was charged once, and can link again at no cost."""
    mine = both[Side.A]
    assert result is None or isinstance(result, AccordError | Linked), repr(result)
    if isinstance(result, Linked):
        assert mine.out.read_bytes() == EXPECTED[kind]
    elif mine.out.exists():
        # The output is written once both sides have confirmed it; what failed was the receipt.
        assert mine.out.read_bytes() == EXPECTED[kind]
    faults.require_one_charge(mine, least=0)
    name = faults.common_run(both)
    if name:
        again = faults.resume(both, name)[Side.A]
        assert isinstance(again, Linked | PeerError) or again is None
    faults.require_done(faults.link(both), both, EXPECTED[kind])


def garbled(at: int, seed: int) -> Change:
    def change(number: int, frame: bytes, before: list[bytes]) -> bytes:
        if number != at or not frame:
            return frame
        noise = np.random.default_rng(seed).integers(0, 256, len(frame), dtype=np.uint8)
        return (np.frombuffer(frame, np.uint8) ^ noise).tobytes()

    return change


def flipped(at: int, seed: int) -> Change:
    def change(number: int, frame: bytes, before: list[bytes]) -> bytes:
        if number != at or not frame:
            return frame
        place = int(np.random.default_rng(seed).integers(len(frame) * 8))
        return bytes(b ^ (1 << place % 8 if i == place // 8 else 0) for i, b in enumerate(frame))

    return change


def shortened(at: int, seed: int) -> Change:
    return lambda number, frame, before: frame[:-1] if number == at else frame


def lengthened(at: int, seed: int) -> Change:
    return lambda number, frame, before: frame + b"\0" if number == at else frame


def replayed(at: int, seed: int) -> Change:
    """An earlier frame of the same size instead, if there is one."""

    def change(number: int, frame: bytes, before: list[bytes]) -> bytes:
        same = [old for old in before if len(old) == len(frame)]
        return same[-1] if number == at and same else frame

    return change


def swallowed(at: int, seed: int) -> Change:
    return lambda number, frame, before: None if number == at else frame


CHANGES = (garbled, flipped, shortened, lengthened, replayed, swallowed)


def frames_of_b(folder: Path, kind: str) -> int:
    both, wire = faults.offices(folder, kind), Wire()
    faults.link(both, wire)
    return sum(sender is Side.B for sender, _ in wire.passed)


@pytest.mark.parametrize("make", CHANGES)
def test_some_frames_changed_on_the_way(
    make: Callable[[int, int], Change], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults.quicken(monkeypatch)
    count = frames_of_b(tmp_path / "whole", "plain")
    start = CHANGES.index(make)
    for at in range(start, count, 7):
        both = faults.offices(tmp_path / str(at), "plain")
        result = against(both, make(at, at))[Side.A]
        require_unharmed(both, "plain", result)


@pytest.mark.slow
@pytest.mark.parametrize("kind", faults.KINDS)
@pytest.mark.parametrize("make", CHANGES)
def test_every_frame_changed_on_the_way(
    make: Callable[[int, int], Change], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults.quicken(monkeypatch)
    for at in range(frames_of_b(tmp_path / "whole", kind)):
        both = faults.offices(tmp_path / str(at), kind)
        result = against(both, make(at, at))[Side.A]
        require_unharmed(both, kind, result)


def test_counts_that_contradict_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B commits to, and opens, more than its nine records and its noise can come to."""
    real = make_slots

    def padded(plan: Any, side: Side, records: Any, dummies: Any, entropy: Any) -> Slots:
        return real(plan, side, records, dummies + (5000 if side is Side.B else 0), entropy)

    both = faults.offices(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("accord.session.course.make_slots", padded)
        result = faults.link(both)[Side.A]
    assert isinstance(result, PeerError)
    assert "no table of its size" in str(result)
    require_unharmed(faults.offices(tmp_path / "new"), "greedy", result)


def test_counts_that_contradict_the_commitment(tmp_path: Path) -> None:
    """Hello, size, commitments, counts: in B's fourth frame one count is one more."""

    def change(number: int, frame: bytes, before: list[bytes]) -> bytes:
        return frame[:-8] + bytes([frame[-8] ^ 1]) + frame[-7:] if number == 3 else frame

    both = faults.offices(tmp_path)
    result = against(both, change)[Side.A]
    assert isinstance(result, PeerError)
    assert "differ from those it had committed to" in str(result)


def test_a_match_that_the_rule_denies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B ends a batch with the answers in the clear: it adds a match of its own making, in every way there is.

    Whichever pair it names, A must not believe it, whether greedy or not, and must not write it down.
    """
    faults.quicken(monkeypatch)
    real, seen = run_b, []

    def lying(half: Any) -> Party[Any]:
        party = real(half)
        answer: Any = None
        held: Send | None = None
        while True:
            try:
                effect = party.send(answer)
            except StopIteration as end:
                assert held is not None
                bits = np.unpackbits(np.frombuffer(held.buffer, np.uint8), bitorder="little")
                bits[np.flatnonzero(bits[: half.batch.pairs] == 0)[:1]] = 1
                seen.append(half.batch.pairs)
                yield Send(np.packbits(bits, bitorder="little").tobytes())
                return end.value
            if held is not None:
                yield held
                held = None
            if isinstance(effect, Send):
                held, answer = effect, None
            else:
                answer = yield effect

    for kind in ("greedy", "all-pairs", "plain"):
        both = faults.offices(tmp_path / kind, kind)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("accord.secure.engine_ot.run_b", lying)
            result = faults.link(both)[Side.A]
        assert seen
        assert isinstance(result, PeerError) or result is None, result
        require_unharmed(both, kind, result)


def test_a_wrong_signature_on_the_receipt(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    count = frames_of_b(tmp_path / "whole", "plain")
    result = against(both, flipped(count - 1, 5))[Side.A]
    assert isinstance(result, PeerError)
    assert "signature that does not fit" in str(result)
    require_unharmed(both, "plain", result)
