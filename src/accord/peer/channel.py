"""One's own end of a TLS connection, and of the layer inside it, as the channel that a party runs over.

Two threads move bytes, so that sending, receiving and computing overlap: one sends what waits in the outbox,
and pings when there is nothing to send; one receives ahead, up to a few MiB, and then lets the partner wait
(back-pressure by TCP). The outbox is bounded, since a partner may send without ever reading: while more than
`_QUEUED` waits in it, `send` waits, and the receiving thread goes on. That is no deadlock between two honest
parties: neither sends so much in several messages while the other does, too; a single one always finds room.

A partner is given up when nothing at all came from it for `silence` seconds; when a message has begun and
after a grace comes slower than a rate, on average, at any moment; or when no message begins in four times the
time that the step should take and `message` seconds more, whether it pings or not. So no trickle of bytes, of
whatever kind, keeps a connection alive. A `send` that waits gives up after the time that the next message
would have, at the same rate for what the partner does take. The time in which this side computes does not
count.

OpenSSL allows one call on a connection at a time, so both threads share a lock and never wait while they hold
it. Each encrypts or decrypts what is inside TLS (encryption.py) without it.
"""

from __future__ import annotations

import queue
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from accord.arguments import require_seconds
from accord.errors import AccordError, ConnectionLostError, OwnOlderStateError, PeerError, StoppedError
from accord.peer.encryption import PACKET, Decrypter, Encrypter, Keys
from accord.peer.frames import HEADER, Frame, Kind, Reason, decode_header, decode_reason, encode_header
from accord.secure.party import Buffer

_AHEAD = 1 << 25
_QUEUED = 1 << 28
_QUEUED_AGAIN_SECONDS = 0.05
_OVERHEAD = 1 << 9
"""What Python adds to a chunk, however small."""
_SMALL = 1 << 14
_SLOWEST = 16_000.0
"""Bytes a second, under which a message that has begun is given up."""
_STEPS = 4.0
"""How many times the predicted time of a step the partner may take."""
_PIECE = 1 << 20
NOTHING_CHARGED = "Nothing was charged. Run again when it is fixed."
_LINK_AGAIN = (
    "both link again: under the same snapshot that costs nothing again, without one it is charged again."
)
_FOR_GOOD = {
    Reason.BOUND: "The run would end here again. If its bound is too low, agree on another; then ",
    Reason.NO_TABLE: "The run is closed here, too; ",
    Reason.UNEQUAL: "The run is closed here, too. Find out why: each attempt gives one that cheats another "
    "bit. Then ",
}
_LINGER_SECONDS = 3.0
_PING_SECONDS = 2.0
"""Without anything else to send: soon enough for a partner that is less patient than this side."""
_PINGS_A_SECOND = 10.0


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds."""

    silence: float = 60.0
    """Without a single byte from the partner."""
    message: float = 600.0
    """For the next message to begin, beside four times the predicted time of the step."""
    grace: float = 60.0
    """For a message that has begun, before its rate counts."""

    def __post_init__(self) -> None:
        for argument in ("silence", "message", "grace"):
            require_seconds(argument, getattr(self, argument))


class TlsChannel:
    """A connected TLS socket as a channel; its owner closes it."""

    def __init__(
        self, connection: ssl.SSLSocket, keys: Keys, partner: str, patience: Patience | None = None
    ) -> None:
        self.sent = self.received = self._written = 0
        self.run = ""
        self._once = False
        """The run that this connection serves, once it is on disk."""
        self._heard = False
        """Whether the partner has said anything in this run: if not, it may not have stored it."""
        self._began = time.monotonic()
        self._expected = 0.0
        self._partner = partner
        self._patience = patience or Patience()
        self._socket = connection
        self._socket.setblocking(False)
        self._encrypter, self._decrypter = Encrypter(keys.sent), Decrypter(keys.received)
        self._lock = threading.Lock()
        self._outbox: queue.SimpleQueue[tuple[Kind, Buffer] | None] = queue.SimpleQueue()
        self._ready = threading.Condition()
        self._chunks: deque[memoryview] = deque()
        self._held = 0
        self._problem: str | None = None
        self._is_fault = False
        """Whether it is one of the partner."""
        self._closing = False
        self._pings = 0
        self._begun: Frame | None = None
        """The header of a message that has begun to come, and that nobody waited for yet."""
        self._threads = [threading.Thread(target=t, daemon=True) for t in (self._send_all, self._read_ahead)]
        for thread in self._threads:
            thread.start()

    # -- what a party uses --------------------------------------------------------------------------------

    def send(self, buffer: Buffer) -> None:
        self._wait_for_room()
        self.sent += HEADER + len(buffer)
        # Nobody would take it from there; what the partner said before the end can still be received.
        if self._problem is None:
            self._outbox.put((Kind.MESSAGE, buffer))

    def receive(self, size: int, look: Callable[[Buffer], None] | None = None) -> Buffer:
        frame = self._next_message()
        if frame.length != size:
            raise PeerError(problem=f"a message of {frame.length:,} bytes where {size:,} were due")
        # Memory is taken as it is written to.
        buffer = np.empty(size, dtype=np.uint8).data
        began = time.monotonic()
        for start in range(0, size, _PIECE):
            self._fill(buffer[start : start + _PIECE], began + self._patience.grace, start)
            if look is not None:
                look(buffer[: start + _PIECE])
        return buffer

    def expect(self, seconds: float) -> None:
        """The step that begins should take the partner so long."""
        self._expected = seconds

    def attend(self) -> None:
        """Hear what the partner has said while this side waited for something else; does not wait.

        Raises if the partner stopped, or is gone. A message that has come is left to be received.
        """
        while self._begun is None:
            with self._ready:
                if not self._chunks:
                    if self._problem is not None:
                        raise self._ended
                    return
            self._begun = self._next_frame(time.monotonic() + self._patience.grace)
        if self._problem is not None:
            # With nobody to answer it, the message that has begun is of no use.
            raise self._ended

    def lost(self, problem: str) -> ConnectionLostError:
        """What to raise where the connection to the partner ended, and how to go on."""
        return ConnectionLostError(partner=self._partner, problem=problem, mend=self._mend)

    @property
    def _ended(self) -> AccordError:
        """What to raise where nothing more will come."""
        problem = self._problem or ""
        return PeerError(problem=problem) if self._is_fault else self.lost(problem)

    def started(self, run: str, once: bool = False) -> None:
        """From now on there is something to go on with; if it goes on at all, of a run that asks `once`."""
        self.run, self._heard, self._once = run, False, once

    @property
    def _mend(self) -> str:
        if not self.run:
            return NOTHING_CHARGED
        if self._once:
            return (
                f"What was done is kept: `accord resume {self.run}` on both sides goes on, unless its "
                "questions were cut. Then both run `accord link` again: it costs nothing and counts as a run."
            )
        if not self._heard:
            return (
                f"Your side is kept: continue with `accord resume {self.run}` on both sides. If "
                f"{self._partner} has no such run, {_LINK_AGAIN}"
            )
        return f"What was done is kept: continue with `accord resume {self.run}` on both sides."

    @property
    def seconds(self) -> float:
        """How long the connection has lasted."""
        return time.monotonic() - self._began

    # -- the end ------------------------------------------------------------------------------------------

    def stop(self, reason: Reason) -> None:
        """Tell the partner why this side ends."""
        self._outbox.put((Kind.STOP, bytes([reason])))

    def close(self) -> None:
        """Send what waits, let the partner read it, and end."""
        self._outbox.put(None)
        self._threads[0].join(_LINGER_SECONDS)
        with self._ready:
            self._closing = True
            self._ready.notify_all()
        # To close with unread bytes would reset the connection and take away what the partner has to read.
        self._shut(socket.SHUT_WR)
        self._threads[1].join(_LINGER_SECONDS)
        self._shut(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_LINGER_SECONDS)
        self._socket.close()

    def _shut(self, how: int) -> None:
        # The connection below: OpenSSL's own farewell would need the lock and the partner.
        with suppress(OSError):
            socket.socket.shutdown(self._socket, how)

    # -- receiving ----------------------------------------------------------------------------------------

    def _next_message(self) -> Frame:
        """The header of the next message; pings before it are taken, a stop is raised."""
        # What was queued here must reach the partner first, however long the line takes for it.
        unsent = (self.sent - self._written) / _SLOWEST
        until = time.monotonic() + self._patience.message + _STEPS * self._expected + unsent
        frame, self._begun = self._begun, None
        while frame is None:
            frame = self._next_frame(until)
        return frame

    def _next_frame(self, until: float) -> Frame | None:
        """The header of the next frame if it is a message; a ping is taken, a stop is raised."""
        header = bytearray(HEADER)
        self._fill(memoryview(header)[:1], until)
        self._fill(memoryview(header)[1:], min(until, time.monotonic() + self._patience.grace))
        frame = decode_header(header)
        if frame.kind is Kind.MESSAGE:
            self._heard = True
            return frame
        if frame.kind is Kind.STOP:
            body = bytearray(1)
            self._fill(memoryview(body), time.monotonic() + self._patience.grace)
            self._raise_stopped(decode_reason(body))
        self._count_ping()
        return None

    def _count_ping(self) -> None:
        """The time that has passed answers for pings: a flood of them would burn ours.

        They are no part of what was received, as they are none of what was sent: both sides tell one number.
        """
        self._pings += 1
        self.received -= HEADER
        if self._pings > 10_000 + self.seconds * _PINGS_A_SECOND:
            raise PeerError(problem="nothing but pings")

    def _raise_stopped(self, reason: Reason) -> None:
        mend = self._mend
        if self.run and reason.ends:
            mend = f"{_FOR_GOOD[reason]}{_LINK_AGAIN}"
        kind = OwnOlderStateError if reason is Reason.OLDER else StoppedError
        raise kind(partner=self._partner, reason=reason.words, mend=mend, ends=reason.ends)

    def _fill(self, view: memoryview, until: float, before: int | None = None) -> None:
        """Fill the view from what was received by then.

        `before`: of a message of which so many bytes have come, and every byte gives the rest more time.
        """
        self.received += len(view)
        while len(view):
            count = self._take(view, until + (before or 0) / _SLOWEST)
            view = view[count:]
            before = None if before is None else before + count

    def _take(self, view: memoryview, until: float) -> int:
        with self._ready:
            while not self._chunks:
                if self._problem is not None:
                    raise self._ended
                left = until - time.monotonic()
                if left <= 0 or not self._ready.wait(left):
                    if time.monotonic() < until:
                        continue
                    raise self.lost("brings no whole message within the time allowed")
            chunk = self._chunks[0]
            count = min(len(chunk), len(view))
            self._held -= count
            if count == len(chunk):
                self._chunks.popleft()
                self._held -= _OVERHEAD
            else:
                self._chunks[0] = chunk[count:]
            self._ready.notify_all()
        view[:count] = chunk[:count]
        return count

    def _read_ahead(self) -> None:
        """The receiving thread."""
        try:
            while self._room():
                count = self._read(self._decrypter.room)
                if not count:
                    return self._end("was closed by the partner")
                self._keep(count)
        except PeerError as error:
            self._end(error.problem, is_fault=True)
        except Exception as error:
            # Whatever it is: a thread that ended silently would leave the party waiting.
            self._end("has gone silent" if isinstance(error, TimeoutError) else "was cut")

    def _keep(self, count: int) -> None:
        """Keep what so many more bytes have brought, up to a packet that is wrong."""
        came = []
        try:
            for chunk in self._decrypter.decrypt(count):
                came.append(chunk)
        finally:
            # At once: to wake the party for every small packet would take longer than to open it.
            with self._ready:
                if not self._closing:
                    self._chunks.extend(came)
                    self._held += sum(map(len, came)) + _OVERHEAD * len(came)
                self._ready.notify_all()

    def _room(self) -> bool:
        with self._ready:
            while self._held > _AHEAD and not self._closing:
                self._ready.wait()
        return True

    def _read(self, chunk: memoryview) -> int:
        """Wait for bytes and take what is there, at most a chunk; 0 at the end of the connection."""
        count = 0
        while count < len(chunk):
            try:
                with self._lock:
                    got = self._socket.recv_into(chunk[count:])
            except ssl.SSLWantReadError:
                if count:
                    break
                if not _wait(self._socket, select.POLLIN, self._patience.silence):
                    raise TimeoutError from None
                continue
            except ssl.SSLWantWriteError:
                _wait(self._socket, select.POLLOUT, self._patience.silence)
                continue
            if not got:
                break
            count += got
        return count

    # -- sending ------------------------------------------------------------------------------------------

    def _wait_for_room(self) -> None:
        """Wait while too much is queued, as long as the partner takes some of it."""
        before = self._written
        until = time.monotonic() + self._patience.message + _STEPS * self._expected
        with self._ready:
            while self.sent - self._written > _QUEUED and self._problem is None:
                left = until + (self._written - before) / _SLOWEST - time.monotonic()
                if left <= 0:
                    raise self.lost("does not take what is sent within the time allowed")
                # Not notified: that would wake whoever waits here for every record of TLS.
                self._ready.wait(min(left, _QUEUED_AGAIN_SECONDS))

    def _send_all(self) -> None:
        """The sending thread."""
        try:
            while True:
                try:
                    due = self._outbox.get(timeout=min(_PING_SECONDS, self._patience.silence / 4))
                except queue.Empty:
                    due = (Kind.PING, b"")
                if due is None:
                    return
                kind, buffer = due
                header = encode_header(kind, len(buffer))
                parts = [header + bytes(buffer)] if len(buffer) <= _SMALL else [header, buffer]
                for part in parts:
                    self._write(memoryview(part), kind is Kind.MESSAGE)
        except Exception as error:
            # Whatever it is: a thread that ended silently would leave the party waiting.
            self._end("has gone silent" if isinstance(error, TimeoutError) else "was cut")

    def _write(self, part: memoryview, counts: bool) -> None:
        for start in range(0, len(part), PACKET):
            piece = part[start : start + PACKET]
            self._write_packet(self._encrypter.encrypt(piece))
            self._written += len(piece) if counts else 0
            if self._problem is not None:
                return

    def _write_packet(self, left: memoryview) -> None:
        while len(left):
            try:
                with self._lock:
                    left = left[self._socket.send(left) :]
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError) as wants:
                if self._problem is not None:
                    # Nobody waits for the rest; after half a packet no other can follow.
                    raise
                # A partner that does not read is busy; whether it is alive, the reading thread knows.
                writes = isinstance(wants, ssl.SSLWantWriteError)
                _wait(self._socket, select.POLLOUT if writes else select.POLLIN, 1.0)

    def _end(self, problem: str, is_fault: bool = False) -> None:
        with self._ready:
            if self._problem is None:
                self._problem, self._is_fault = problem, is_fault
            self._ready.notify_all()


def _wait(connection: socket.socket, event: int, seconds: float) -> bool:
    """Wait until the connection can be read or written."""
    poll = select.poll()
    poll.register(connection.fileno(), event)
    return bool(poll.poll(max(0.0, seconds) * 1000))
