"""Cards that are unknown, wrong or expired, and peers that speak something else: refused on both sides."""

from __future__ import annotations

import hmac
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from accord.errors import AccordError, ConnectionLostError, TrustError, UsageError
from accord.notices import Dropped, Listening, Notice, Waiting, tell_nobody
from accord.peer import port as ports
from accord.peer.connect import HostPort, connect, make_context, parse_address
from accord.peer.connection import Reach
from accord.peer.identity import make_identity, own_card
from accord.peer.listener import listen
from accord.peer.partners import add_partner, remove_partner
from accord.side import Side
from accord.state.folder import State
from tests.protocols.worlds import agreement
from tests.run import worlds

Both = tuple[worlds.Organisation, worlds.Organisation]
PATIENCE = 120
"""Seconds for what takes no time: a machine that is busy must not fail a test."""


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return worlds.introduce(tmp_path, agreement())


@pytest.fixture
def until_b_ends(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who listens waits until the other has ended, whatever the clock says, and a little for what it sent."""
    real, over = ports.Acceptor.accept, both[1].ended

    def accept(acceptor: ports.Acceptor[Any], seconds: float) -> Any:
        found, late = None, 20
        while found is None and late:
            found = real(acceptor, 0.05)
            late -= over.is_set() and (late if acceptor.dropped else 1)
        return found

    monkeypatch.setattr(ports.Acceptor, "accept", accept)


@pytest.mark.usefixtures("until_b_ends")
def test_a_partner_without_a_card(both: Both) -> None:
    remove_partner(both[1].state, agreement().party(Side.A))
    left, right = worlds.link_both(*both)
    assert isinstance(right, TrustError)
    assert "no card of 'alice'" in str(right)
    assert "accord partner add 'alice' CARD" in str(right)
    assert isinstance(left, ConnectionLostError), "the one who waits is told that nobody came"
    assert worlds.untouched(*both)


def require_dropped(error: object, words: str) -> None:
    """Who listens has waited to its end, and says whom it dropped."""
    assert isinstance(error, ConnectionLostError), error
    assert error.exit_code == 8
    assert "dropped, the last from 127.0.0.1" in str(error)
    assert words in str(error), error


@pytest.mark.usefixtures("until_b_ends")
@pytest.mark.parametrize("who", [0, 1])
def test_a_new_identity_that_the_partner_does_not_know(both: Both, who: int) -> None:
    """Whoever renewed its identity is refused: who connects at once; who listens notes it and waits on."""
    make_identity(both[who].state, "somebody new", worlds.NOW)
    left, right = worlds.link_both(*both)
    require_dropped(left, "it refuses your card" if who == 0 else "it showed a card other than that of bob")
    assert "exchange cards again" in str(left)
    assert isinstance(right, TrustError), right
    assert right.exit_code == 9
    assert ("did not show the card of" if who == 0 else "refuses your card") in str(right)
    (told,) = both[0].heard(Dropped)
    assert (told.partner, told.host, told.dropped) == ("bob", "127.0.0.1", 1)
    assert worlds.untouched(*both)


@pytest.mark.usefixtures("until_b_ends")
@pytest.mark.parametrize("who", [0, 1])
def test_an_expired_card(both: Both, who: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where both programs would overlook it: TLS itself refuses."""
    from accord.run import link as linking

    own, other = both[who], both[1 - who]
    old = make_identity(own.state, "grown old", worlds.NOW - timedelta(days=365 * 5 + 2))
    add_partner(other.state, agreement().party(own.side), old)
    seen = worlds.link_both(*both)
    assert isinstance(seen[0], TrustError)
    assert ("Your own card" if who == 0 else "The card of bob is valid from") in str(seen[0])
    assert isinstance(seen[1], AssertionError), "A listened with an expired card"
    monkeypatch.setattr(linking, "require_own_card", lambda state, now: own_card(state))
    monkeypatch.setattr(linking, "require_valid", lambda card, partner, now: None)
    left, right = worlds.link_both(*both)
    require_dropped(left, "it refuses your card" if who == 0 else "that has expired")
    assert isinstance(right, TrustError), right
    assert "expired" in str(right), right
    assert worlds.untouched(*both)


@pytest.mark.usefixtures("until_b_ends")
def test_a_plain_text_client_is_refused(both: Both) -> None:
    def speak(port: int) -> list[bytes]:
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n" * 10)
            client.settimeout(PATIENCE)
            return list(iter(lambda: client.recv(4096), b""))

    left, answers = _against(both[0].state, both[1], speak)
    require_dropped(left, "it does not speak TLS 1.3")
    assert not any(b"accord" in answer for answer in answers)


def test_a_plain_text_server_is_refused(both: Both) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            client, _ = server.accept()
            with client:
                client.sendall(b"220 mail.example ESMTP\r\n")
                client.recv(4096)

        threading.Thread(target=serve, daemon=True).start()
        address = HostPort("127.0.0.1", server.getsockname()[1])
        with pytest.raises(TrustError, match=r"does not speak TLS 1\.3"):
            connect(address, both[1].state, both[0].card, "alice", PATIENCE, tell_nobody)


def test_tickets_instead_of_a_welcome_do_not_hold_who_connects(both: Both, tmp_path: Path) -> None:
    """The partner itself, with the right card, sends session tickets faster than OpenSSL takes them in."""
    context = make_context(ssl.PROTOCOL_TLS_SERVER, both[0].state, both[1].card)
    context.keylog_filename = str(tmp_path / "keys")
    outlasted = threading.Event()

    def serve() -> None:
        tls = context.wrap_socket(server.accept()[0], server_side=True)
        with socket.socket(fileno=tls.detach()) as plain, suppress(OSError):
            plain.settimeout(5)
            records = ticket_records((tmp_path / "keys").read_text())
            until = time.monotonic() + 20
            while time.monotonic() < until:
                plain.sendall(next(records))
            outlasted.set()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        address = HostPort("127.0.0.1", server.getsockname()[1])
        with pytest.raises(ConnectionLostError, match="no answer in time"):
            connect(address, both[1].state, both[0].card, "alice", 1, tell_nobody)
    assert not outlasted.is_set(), "as long as tickets came, it waited"


def ticket_records(keys: str) -> Iterator[bytes]:
    """TLS records full of session tickets, from the logged key of the server (RFC 8446, 5.2 and 7.3)."""
    (line,) = [line for line in keys.splitlines() if line.startswith("SERVER_TRAFFIC_SECRET_0")]
    secret = bytes.fromhex(line.split()[2])

    def expand(label: bytes, length: int) -> bytes:
        info = struct.pack(">HB", length, len(label) + 6) + b"tls13 " + label + b"\0"
        return hmac.digest(secret, info + b"\1", "sha384")[:length]

    key, start = AESGCM(expand(b"key", 32)), int.from_bytes(expand(b"iv", 12), "big")
    body = struct.pack(">IIBH1sH", 60, 0, 0, 1, b"x", 0)
    tickets = (b"\x04" + len(body).to_bytes(3, "big") + body) * 900 + b"\x16"
    head = b"\x17\x03\x03" + (len(tickets) + 16).to_bytes(2, "big")
    for number in count():
        yield head + key.encrypt((start ^ number).to_bytes(12, "big"), tickets, head)


@pytest.mark.usefixtures("until_b_ends")
def test_an_older_tls_is_refused(both: Both) -> None:
    def old_client(port: int) -> object:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
            return context.wrap_socket(plain)

    result = _against(both[0].state, both[1], old_client)
    require_dropped(result[0], "it does not speak TLS 1.3")
    assert isinstance(result[1], ssl.SSLError)


@pytest.mark.usefixtures("until_b_ends")
def test_a_client_without_a_card_is_refused(both: Both) -> None:
    def stranger(port: int) -> object:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with (
            socket.create_connection(("127.0.0.1", port), PATIENCE) as plain,
            context.wrap_socket(plain) as secured,
        ):
            return secured.recv(1)

    result = _against(both[0].state, both[1], stranger)
    require_dropped(result[0], "it showed no card")
    assert isinstance(result[1], ssl.SSLError), result


def _against(
    state: State, partner: worlds.Organisation, client: Any, wait: float = PATIENCE
) -> tuple[Any, Any]:
    """A listener and some client."""
    ready, port = threading.Event(), [0]

    def tell(notice: Notice) -> None:
        if isinstance(notice, Listening):
            port[0] = notice.port
            ready.set()

    def second() -> object:
        assert ready.wait(PATIENCE)
        try:
            return client(port[0])
        finally:
            partner.ended.set()

    first = lambda: listen(HostPort("127.0.0.1", 0), state, partner.card, "bob", wait, tell)  # noqa: E731
    left, right = worlds.in_threads(first, second)
    return left, right


@pytest.mark.usefixtures("until_b_ends")
def test_a_silent_client_does_not_hold_the_listener(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "CALLER_SECONDS", 0.5)

    def silent(port: int) -> object:
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
            plain.settimeout(PATIENCE)
            return plain.recv(1)

    left, _ = _against(both[0].state, both[1], silent)
    require_dropped(left, "it did not show a card within")


@pytest.mark.usefixtures("until_b_ends")
def test_only_the_very_card_is_accepted(both: Both, tmp_path: Path) -> None:
    """A second certificate for the same key would pass the chain's check, and is still not the card."""
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

    from accord.peer.identity import _certificate

    content = both[1].state.identity.read_bytes()
    key = load_pem_private_key(content, None)
    other = _certificate(key, "bob", worlds.NOW).public_bytes(Encoding.PEM)
    both[1].state.identity.write_bytes(content[: content.index(b"-----BEGIN CERT")] + other)
    left, right = worlds.link_both(*both, b_options={"reach": Reach(wait=1.0)})
    require_dropped(left, "it showed a card other than that of bob")
    assert isinstance(right, AccordError), right
    assert worlds.untouched(*both)


def test_nobody_listens(both: Both) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    said: list[Notice] = []
    with pytest.raises(ConnectionLostError, match="does not answer"):
        connect(
            HostPort("127.0.0.1", port),
            both[1].state,
            both[0].card,
            "alice",
            1.2,
            said.append,
        )
    assert said == [Waiting("alice", "127.0.0.1", port, "connection refused")], "the user is told once"


def test_nobody_comes_and_the_port_is_taken(both: Both) -> None:
    with pytest.raises(ConnectionLostError, match="nobody came within"):
        listen(HostPort("127.0.0.1", 0), both[0].state, both[1].card, "bob", 0.1, tell_nobody)
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = HostPort("127.0.0.1", server.getsockname()[1])
        with pytest.raises(UsageError, match="Nothing can listen at"):
            listen(taken, both[0].state, both[1].card, "bob", 0.1, tell_nobody)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("example.org:7000", "example.org", 7000),
        ("192.0.2.7:1", "192.0.2.7", 1),
        ("[2001:db8::7]:65535", "2001:db8::7", 65535),
        (":0", "", 0),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    found = parse_address(text, "--listen")
    assert (found.host, found.port) == (host, port)
    assert str(found) == text


@pytest.mark.parametrize("text", ["", "host", "host:", "host:65536", "2001:db8::7:80", "host:1:2", "h:-1"])
def test_wrong_addresses(text: str) -> None:
    with pytest.raises(UsageError, match="`connect=` takes HOST:PORT"):
        parse_address(text, "connect")


def test_a_port_alone_is_told_what_lacks() -> None:
    with pytest.raises(UsageError, match=r"Write 127.0.0.1:7031, or :7031 for every interface"):
        parse_address("7031", "listen")
    with pytest.raises(UsageError, match=r"Write the partner's host in front, such as 192.0.2.7:7031"):
        parse_address("7031", "connect")
