"""How two parties come to a connection: one listens, the other connects, both show their cards.

TLS 1.3 with both sides authenticated, by Python's `ssl`. The partner's card is the only trust anchor, and
after the handshake the card that was shown must be that very card, byte for byte. No ticket, no resumption,
no host name: a partner is who holds the key, wherever it connects from.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from dataclasses import dataclass

from accord.errors import ConnectionLostError, TrustError, UsageError
from accord.session.identity import Card
from accord.session.notices import Listening, Tell, Waiting
from accord.session.state import State

_HANDSHAKE_SECONDS = 20.0
_WELCOME = b"\x06"
_ADDRESS = re.compile(r"(?:\[(?P<six>[^\]]+)\]|(?P<host>[^:\[\]]*)):(?P<port>\d{1,5})")
_ASK_CARD = "Compare fingerprints with `accord partner list` and `accord identity`, and exchange cards again."


@dataclass(frozen=True)
class Address:
    """Where to listen or to connect."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, option: str) -> Address:
    """HOST:PORT, [IPv6]:PORT, or :PORT for every interface."""
    found = _ADDRESS.fullmatch(text.strip())
    if not found or int(found["port"]) > 65535:
        problem = f"{option} takes HOST:PORT, such as 192.0.2.7:7000 or [2001:db8::7]:7000, not '{text}'."
        raise UsageError(problem=problem)
    return Address(found["six"] or found["host"] or "", int(found["port"]))


def listen(
    address: Address, state: State, card: Card, partner: str, wait: float, tell: Tell
) -> ssl.SSLSocket:
    """Wait for the partner at an address of one's own."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, state, card)
    try:
        server = _server(address)
    except OSError as error:
        problem = f"Nothing can listen at {address}: {error.strerror or error}. Name another --listen."
        raise UsageError(problem=problem) from None
    with server:
        server.settimeout(wait)
        tell(Listening(partner, server.getsockname()[1]))
        try:
            plain, _ = server.accept()
        except TimeoutError:
            raise ConnectionLostError(
                partner=partner,
                problem=f"was not made: nobody came within {wait:,.0f} seconds",
                mend="Ask the partner to connect, or wait longer with --wait.",
            ) from None
    return _secure(plain, context, card, partner, server_side=True)


def connect(
    address: Address, state: State, card: Card, partner: str, wait: float, tell: Tell
) -> ssl.SSLSocket:
    """Connect to the partner, which may not listen yet."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, state, card)
    plain = _dial(address, partner, wait, tell)
    return _secure(plain, context, card, partner, server_side=False)


def _server(address: Address) -> socket.socket:
    # No host means every interface, of both families where the system can.
    if not address.host and socket.has_dualstack_ipv6():
        everywhere = ("::", address.port)
        return socket.create_server(everywhere, family=socket.AF_INET6, dualstack_ipv6=True)
    family, *_, where = socket.getaddrinfo(
        address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return socket.create_server(where, family=family)


def _dial(address: Address, partner: str, wait: float, tell: Tell) -> socket.socket:
    until, told = time.monotonic() + wait, False
    while True:
        try:
            return socket.create_connection((address.host or "localhost", address.port), _HANDSHAKE_SECONDS)
        except OSError as error:
            reason = error.strerror or str(error) or "no answer"
        if time.monotonic() + 0.5 > until:
            raise ConnectionLostError(
                partner=partner,
                problem=f"was not made: {address} does not answer ({reason.lower()})",
                mend="Ask the partner whether it listens there and whether a firewall is in between.",
            )
        if not told:
            tell(Waiting(partner, address.port))
            told = True
        time.sleep(0.5)


def _context(kind: int, state: State, card: Card) -> ssl.SSLContext:
    context = ssl.SSLContext(kind)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    # The card is the anchor; a host name would say nothing about who answers.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=card.pem.decode())
    context.load_cert_chain(state.identity)
    if kind == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
    return context


def _secure(
    plain: socket.socket, context: ssl.SSLContext, card: Card, partner: str, server_side: bool
) -> ssl.SSLSocket:
    try:
        plain.settimeout(_HANDSHAKE_SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # Not closed by the handshake when it fails: the alert must reach the other side first.
        found = context.wrap_socket(plain, server_side=server_side, do_handshake_on_connect=False)
    except OSError:
        plain.close()
        raise ConnectionLostError(partner=partner, problem="was cut", mend="Try again.") from None
    try:
        found.do_handshake()
        if found.getpeercert(binary_form=True) != card.der:
            raise TrustError(problem=f"Who answered is not {partner}.", mend=_ASK_CARD)
        _welcome(found, server_side)
        return found
    except (OSError, TrustError) as error:
        _drain(found)
        raise trust_error(error, partner) from None


def _welcome(connection: ssl.SSLSocket, server_side: bool) -> None:
    """In TLS 1.3 who connects is done before its card is judged: one byte tells it that it was accepted."""
    if server_side:
        connection.sendall(_WELCOME)
    elif connection.recv(1) != _WELCOME:
        raise ConnectionResetError


def _drain(connection: ssl.SSLSocket) -> None:
    """Let the other side read the alert: closing with unread bytes would take it away."""
    try:
        socket.socket.shutdown(connection, socket.SHUT_WR)
        connection.settimeout(1.0)
        for _ in range(64):
            if not socket.socket.recv(connection, 4096):
                break
    except (OSError, ValueError):
        pass
    finally:
        connection.close()


def trust_error(error: Exception, partner: str) -> TrustError | ConnectionLostError:
    """A failed handshake in words: who does not trust whom, and why."""
    if isinstance(error, TrustError):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = {
            9: f"The card of {partner} is not valid yet.",
            10: f"The card of {partner} has expired.",
        }.get(error.verify_code, f"Who answered did not show the card of {partner}.")
        return TrustError(problem=problem, mend=_ASK_CARD)
    reason = (getattr(error, "reason", None) or "").upper()
    if "EXPIRED" in reason:
        mend = "Make a new one with `accord identity --renew` and hand it over."
        return TrustError(problem=f"{partner} refuses your card: it has expired.", mend=mend)
    if "ALERT" in reason and "VERSION" not in reason and "INTERNAL" not in reason:
        return TrustError(problem=f"{partner} refuses your card: it is not the one it knows.", mend=_ASK_CARD)
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        problem = f"Who answered does not speak TLS 1.3 as Accord does, so it is not {partner}."
        return TrustError(problem=problem, mend="Check host and port on both sides.")
    mend = "Ask whether the partner saw an error, and whether something in between ends connections."
    return ConnectionLostError(partner=partner, problem="was cut before it was secured", mend=mend)
