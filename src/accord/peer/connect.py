"""How two parties come to a connection: one listens (listener.py), the other connects, both show their cards.

TLS 1.3 with both sides authenticated, by Python's `ssl`. The partner's card is the only trust anchor, and
after the handshake the card that was shown must be that very card, byte for byte. No ticket, no resumption,
no host name: a partner is who holds the key, wherever it connects from.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import NamedTemporaryFile
from typing import TypeVar

from accord.errors import ConnectionLostError, TrustError, UsageError
from accord.notices import Tell, Waiting
from accord.peer.encryption import Ends, Keys, agree_on_keys
from accord.peer.identity import Card, require_identity
from accord.secure.party import Buffer, run
from accord.state.folder import State

T = TypeVar("T")
_HANDSHAKE_SECONDS = 45.0
"""For an attempt: longer than a full queue takes at the listener; who calls again is its last."""
_AGAIN_SECONDS = 0.5
_TELL_SECONDS = 30.0
WELCOME = b"\x06"
_ADDRESS = re.compile(r"(?:\[(?P<six>[^\]]+)\]|(?P<host>[^:\[\]]*)):(?P<port>\d{1,5})")
ASK_CARD = "Compare fingerprints with `accord partner list` and `accord identity`, and exchange cards again."


@dataclass(frozen=True)
class HostPort:
    """Where to listen or to connect."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, argument: str) -> HostPort:
    """HOST:PORT, [IPv6]:PORT, or :PORT for every interface."""
    found = _ADDRESS.fullmatch(text.strip())
    if not found or int(found["port"]) > 65535:
        problem = (
            f"`{argument}=` takes HOST:PORT, such as 192.0.2.7:7000 or [2001:db8::7]:7000, not '{text}'."
        )
        raise UsageError(problem=f"{problem}{_tell_port(text.strip(), argument)}")
    return HostPort(found["six"] or found["host"] or "", int(found["port"]))


def _tell_port(text: str, argument: str) -> str:
    """What to write where somebody wrote a port alone."""
    if not re.fullmatch(r"[0-9]{1,5}", text):
        return ""
    if argument == "listen":
        return f" Write 127.0.0.1:{text}, or :{text} for every interface."
    return f" Write the partner's host in front, such as 192.0.2.7:{text}."


def connect(
    address: HostPort, state: State, card: Card, partner: str, wait: float, tell: Tell
) -> ssl.SSLSocket:
    """Connect to the partner, which may not listen yet, also behind a tunnel that is there already.

    Whatever does not come to a card is tried again until the wait is over; a card that is not the partner's,
    or a partner that does not want ours, ends it at once.
    """
    context = make_context(ssl.PROTOCOL_TLS_CLIENT, require_identity(state), card)
    return keep_calling(address, context, card, partner, wait, tell)


def keep_calling(
    address: HostPort,
    context: ssl.SSLContext,
    card: Card,
    partner: str,
    wait: float,
    tell: Tell,
    before: bytes = b"",
) -> ssl.SSLSocket:
    """`connect` with a context that trusts the card; `before` is said before TLS."""
    until = time.monotonic() + wait
    said = _Said(partner, address, tell)
    while True:
        try:
            return _call(address, context, card, until, before)
        except (OSError, TrustError) as error:
            judged = trust_error(error, partner)
            if isinstance(judged, TrustError):
                raise judged from None
            reason = _in_words(error)
        if time.monotonic() + _AGAIN_SECONDS > until:
            raise ConnectionLostError(
                partner=partner,
                problem=f"was not made: {address} does not answer as {partner} ({reason})",
                mend="Nothing new was charged. Ask the partner whether it listens there and whether a "
                "firewall is in between.",
            )
        said.again(reason)
        time.sleep(_AGAIN_SECONDS)


class _Said:
    """Tells why the partner is not there yet: at once, when that changes, and now and then."""

    def __init__(self, partner: str, address: HostPort, tell: Tell) -> None:
        self._partner, self._address, self._tell = partner, address, tell
        self._last, self._at = "", 0.0

    def again(self, reason: str) -> None:
        now = time.monotonic()
        if reason != self._last or now - self._at > _TELL_SECONDS:
            self._last, self._at = reason, now
            self._tell(Waiting(self._partner, self._address.host or "localhost", self._address.port, reason))


def _call(
    address: HostPort, context: ssl.SSLContext, card: Card, until: float, before: bytes
) -> ssl.SSLSocket:
    """One attempt; raises what went wrong."""
    seconds = max(_AGAIN_SECONDS, min(_HANDSHAKE_SECONDS, until - time.monotonic()))
    plain = socket.create_connection((address.host or "localhost", address.port), seconds)
    try:
        set_options(plain)
        plain.sendall(before)
        # Not closed by the handshake when it fails: an alert must reach the other side first.
        found = context.wrap_socket(plain, do_handshake_on_connect=False)
    except OSError:
        plain.close()
        raise
    return _greet(found, card, seconds, welcomes=False)


def accept(plain: socket.socket, context: ssl.SSLContext, card: Card, seconds: float) -> ssl.SSLSocket:
    """TLS with somebody who has connected already; raises what went wrong."""
    found = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
    return _greet(found, card, seconds, welcomes=True)


def _greet(found: ssl.SSLSocket, card: Card, seconds: float, welcomes: bool) -> ssl.SSLSocket:
    try:
        _within(seconds, found, lambda: _show_cards(found, card, welcomes))
        return found
    except (OSError, TrustError):
        _drain(found)
        raise


def _show_cards(connection: ssl.SSLSocket, card: Card, welcomes: bool) -> None:
    """The handshake, and the byte of welcome, said or heard."""
    connection.do_handshake()
    if connection.getpeercert(binary_form=True) != card.der:
        raise TrustError(problem="Whoever answered showed a card other than the partner's.", mend=ASK_CARD)
    # Who connects is done before its own card was judged: one byte tells it that it was accepted.
    if welcomes:
        connection.sendall(WELCOME)
    elif connection.recv(1) != WELCOME:
        raise ConnectionResetError


def exchange_keys(connection: ssl.SSLSocket, ends: Ends) -> Keys:
    """The keys of the layer inside TLS; a connection that does not come to them is closed."""
    connection.settimeout(_HANDSHAKE_SECONDS)
    try:
        return _within(_HANDSHAKE_SECONDS, connection, lambda: run(agree_on_keys(ends), _Bare(connection)))
    except BaseException as error:
        _drain(connection)
        if isinstance(error, OSError):
            raise _lost_early(ends.partner) from None
        raise


class _Bare:
    """A TLS connection with nothing inside it yet."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._connection = connection

    def send(self, buffer: Buffer) -> None:
        self._connection.sendall(buffer)

    def receive(self, size: int, look: Callable[[Buffer], None] | None = None) -> Buffer:
        found = b""
        while len(found) < size:
            came = self._connection.recv(size - len(found))
            if not came:
                raise ConnectionResetError
            found += came
        return found


def _within(seconds: float, connection: ssl.SSLSocket, work: Callable[[], T]) -> T:
    """What this work with a connection comes to, in a thread of its own.

    One read of OpenSSL lasts as long as the other side sends what TLS keeps to itself, such as tickets. No
    deadline and no signal would be heard in it, so the caller waits beside it, and cuts the connection.
    """
    done: Future[T] = Future()

    def try_it() -> None:
        try:
            done.set_result(work())
        except Exception as error:
            # Whatever it is: it is raised where somebody waits for it.
            done.set_exception(error)

    thread = threading.Thread(target=try_it, daemon=True)
    thread.start()
    try:
        return done.result(seconds)
    finally:
        if not done.done():
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
        thread.join(1.0)


def _in_words(error: Exception) -> str:
    """What a failed attempt came to."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError | ConnectionResetError | BrokenPipeError):
        return "the connection was closed before a card was shown"
    return ((error.strerror if isinstance(error, OSError) else None) or "no answer").lower()


def set_options(plain: socket.socket) -> None:
    """What every connection is set to."""
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def make_context(kind: int, identity: bytes, card: Card | None) -> ssl.SSLContext:
    """TLS 1.3 with an identity, for a partner with this card. Without a card nobody is trusted yet."""
    context = ssl.SSLContext(kind)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    # The card is the anchor; a host name would say nothing about who answers.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    if card is not None:
        trust(context, card)
    with _in_a_file(identity) as file:
        context.load_cert_chain(file)
    if kind == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
    return context


@contextmanager
def _in_a_file(content: bytes) -> Iterator[str]:
    """A key as OpenSSL takes it, from a file only: in memory, where nobody finds it on a disk, or where there
    is no such thing one that is 0600 and gone at once."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("identity"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with NamedTemporaryFile() as named:
            named.write(content)
            named.flush()
            yield named.name


def trust(context: ssl.SSLContext, card: Card) -> None:
    """Make this card the anchor of a context that has none."""
    context.load_verify_locations(cadata=card.pem.decode())


def _drain(connection: ssl.SSLSocket) -> None:
    """Let the other side read the alert: closing with unread bytes would take it away."""
    until = time.monotonic() + 1.0
    try:
        socket.socket.shutdown(connection, socket.SHUT_WR)
        while (left := until - time.monotonic()) > 0:
            connection.settimeout(left)
            if not socket.socket.recv(connection, 4096):
                break
    except (OSError, ValueError):
        pass
    finally:
        connection.close()


ENDED = ssl.SSLEOFError, ssl.SSLZeroReturnError
"""An end without a word has either name, by the version of Python."""


def trust_error(error: Exception, partner: str) -> TrustError | ConnectionLostError:
    """A failed handshake in words: who does not trust whom, and why."""
    if isinstance(error, TrustError):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = {
            9: f"The card of {partner} is not valid yet.",
            10: f"The card of {partner} has expired.",
        }.get(error.verify_code, f"Whoever answered did not show the card of {partner}.")
        return TrustError(problem=problem, mend=ASK_CARD)
    reason = (getattr(error, "reason", None) or "").upper()
    if "EXPIRED" in reason:
        mend = "Make a new one with `accord identity --renew` and hand it over."
        return TrustError(problem=f"{partner} refuses your card: it has expired.", mend=mend)
    if "ALERT" in reason and "VERSION" not in reason and "INTERNAL" not in reason:
        return TrustError(problem=f"{partner} refuses your card: it is not the one it knows.", mend=ASK_CARD)
    if isinstance(error, ssl.SSLError) and not isinstance(error, ENDED):
        problem = f"Whoever answered does not speak TLS 1.3 as Accord does, so it is not {partner}."
        return TrustError(problem=problem, mend="Check host and port on both sides.")
    return _lost_early(partner)


def _lost_early(partner: str) -> ConnectionLostError:
    mend = "Ask whether the partner saw an error, and whether something in between ends connections."
    return ConnectionLostError(partner=partner, problem="was cut before it was secured", mend=mend)
