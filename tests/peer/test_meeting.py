"""Who connects and who listens: cards that are unknown, wrong or expired; a port where others call, too."""

from __future__ import annotations

import hmac
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from accord.errors import AccordError, ConnectionLostError, TrustError, UsageError
from accord.notices import Dropped, Listening, Notice, Waiting, tell_nobody
from accord.peer import connect as connect_module
from accord.peer import port as ports
from accord.peer.connect import HostPort, connect, make_context, parse_address, trust_error
from accord.peer.connection import Reach
from accord.peer.identity import _certificate, draw_identity, make_identity, own_card, require_identity
from accord.peer.listener import listen
from accord.peer.partners import add_partner, remove_partner
from accord.peer.port import CALLERS
from accord.side import Side
from accord.state.installation import keep_identity
from tests.cli.terminal import free_port
from tests.protocols.worlds import agreement
from tests.run import worlds

Both = tuple[worlds.Organisation, worlds.Organisation]
PATIENCE = 120
"""Seconds for what takes no time: a machine that is busy must not fail a test."""


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return worlds.introduce(tmp_path, agreement())


def test_addresses() -> None:
    for host, port, text in (
        ("example.org", 7000, "example.org:7000"),
        ("2001:db8::7", 65535, "[2001:db8::7]:65535"),
        ("", 0, ":0"),
    ):
        found = parse_address(text, "--listen")
        assert (found.host, found.port, str(found)) == (host, port, text)


# -- whole links that are refused -------------------------------------------------------------------------


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


def require_refused(both: Both, **options: Any) -> AccordError:
    """Who listens has waited to its end, and says whom it dropped; what who connects is told."""
    left, right = worlds.link_both(*both, **options)
    assert isinstance(left, ConnectionLostError), left
    assert left.exit_code == 8
    assert "127.0.0.1" in str(left)
    assert isinstance(right, AccordError), right
    assert worlds.untouched(*both)
    return right


@pytest.mark.usefixtures("until_b_ends")
def test_a_partner_without_a_card(both: Both) -> None:
    remove_partner(both[1].state, agreement().party(Side.A))
    left, right = worlds.link_both(*both)
    assert isinstance(right, TrustError)
    assert isinstance(left, ConnectionLostError), "the one who waits is told that nobody came"
    assert worlds.untouched(*both)


@pytest.mark.usefixtures("until_b_ends")
@pytest.mark.parametrize("who", [0, 1])
def test_a_new_identity_that_the_partner_does_not_know(both: Both, who: int) -> None:
    """Whoever renewed its identity is refused: who connects at once; who listens notes it and waits on."""
    make_identity(both[who].state, "somebody new", worlds.NOW)
    assert require_refused(both).exit_code == 9
    (told,) = both[0].heard(Dropped)
    assert (told.partner, told.host, told.dropped) == ("bob", "127.0.0.1", 1)


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
    assert isinstance(seen[1], AssertionError), "A listened with an expired card"
    monkeypatch.setattr(linking, "require_own_card", lambda state, now: own_card(state))
    monkeypatch.setattr(linking, "require_valid", lambda card, partner, now: None)
    assert require_refused(both).exit_code == 9


@pytest.mark.usefixtures("until_b_ends")
def test_only_the_very_card_is_accepted(both: Both) -> None:
    """A second certificate for the same key would pass the chain's check, and is still not the card."""
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

    content, store = require_identity(both[1].state), both[1].state.store
    other = _certificate(load_pem_private_key(content, None), "bob", worlds.NOW).public_bytes(Encoding.PEM)
    keep_identity(store, content[: content.index(b"-----BEGIN CERT")] + other)
    require_refused(both, b_options={"reach": Reach(wait=1.0)})


# -- who connects -----------------------------------------------------------------------------------------


def reach(port: int, both: Both, wait: float, tell: Callable[[Notice], None] = tell_nobody) -> ssl.SSLSocket:
    return connect(HostPort("127.0.0.1", port), both[1].state, both[0].card, "alice", wait, tell)


def test_a_plain_text_server_is_refused_and_a_port_without_one_tried_again(both: Both) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            client, _ = server.accept()
            with client:
                client.sendall(b"220 mail.example ESMTP\r\n")
                client.recv(4096)

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(TrustError):
            reach(port, both, PATIENCE)
    said: list[Notice] = []
    with pytest.raises(ConnectionLostError):
        reach(port, both, 1.2, said.append)
    assert said == [Waiting("alice", "127.0.0.1", port, "connection refused")], "the user is told once"


@pytest.mark.parametrize("error", [ssl.SSLEOFError(), ssl.SSLZeroReturnError(), ConnectionResetError()])
def test_an_end_without_a_word_is_no_stranger(error: Exception) -> None:
    """Of a tunnel whose far end is not there, whichever Python names it."""
    assert isinstance(trust_error(error, "bob"), ConnectionLostError)
    assert isinstance(trust_error(ssl.SSLError(), "bob"), TrustError)


def test_tickets_instead_of_a_welcome_do_not_hold_who_connects(both: Both, tmp_path: Path) -> None:
    """The partner itself, with the right card, sends session tickets faster than OpenSSL takes them in."""
    context = make_context(ssl.PROTOCOL_TLS_SERVER, require_identity(both[0].state), both[1].card)
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
        with pytest.raises(ConnectionLostError):
            reach(server.getsockname()[1], both, 0.3)
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


@contextmanager
def tunnel_to_nobody(port: int) -> Iterator[None]:
    """A tunnel whose far end is not there: it accepts, and closes."""

    def work() -> None:
        with suppress(OSError):
            while True:
                server.accept()[0].close()

    with socket.create_server(("127.0.0.1", port)) as server:
        thread = threading.Thread(target=work)
        thread.start()
        yield
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_who_connects_tries_again_also_through_a_tunnel(both: Both) -> None:
    """First nobody listens; then a tunnel does, without a far end; then the partner is there."""
    said: list[Notice] = []
    where, step = HostPort("127.0.0.1", free_port()), threading.Semaphore(0)

    def tell(notice: Notice) -> None:
        said.append(notice)
        step.release()

    def serve() -> ssl.SSLSocket:
        assert step.acquire(timeout=PATIENCE)
        with tunnel_to_nobody(where.port):
            assert step.acquire(timeout=PATIENCE)
        return listen(where, both[0].state, both[1].card, "bob", PATIENCE, tell_nobody)

    ends = worlds.in_threads(lambda: reach(where.port, both, PATIENCE, tell), serve)
    for end in ends:
        end.close()
    first, second = (told for told in said[:2] if isinstance(told, Waiting))
    assert (first.host, first.port) == (second.host, second.port) == (where.host, where.port)
    assert first.reason != second.reason


# -- who listens ------------------------------------------------------------------------------------------


def test_nobody_comes_and_the_port_is_taken(both: Both) -> None:
    with pytest.raises(ConnectionLostError):
        listen(HostPort("127.0.0.1", 0), both[0].state, both[1].card, "bob", 0.1, tell_nobody)
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = HostPort("127.0.0.1", server.getsockname()[1])
        with pytest.raises(UsageError):
            listen(taken, both[0].state, both[1].card, "bob", 0.1, tell_nobody)


@contextmanager
def calling(port: int, count: int = 1) -> Iterator[list[socket.socket]]:
    """So many connections to a port, which say nothing."""
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(("127.0.0.1", port), 20)) for _ in range(count)]


def stranger(**settings: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for name, value in settings.items():
        setattr(context, name, value)
    return context


def call_as_strangers(port: int, folder: Path) -> Iterator[None]:
    """A port scan, a health check, an older TLS, a missing card, a wrong one: each is dropped in its turn."""
    with calling(port):
        pass
    yield
    with calling(port) as (client,):
        client.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        while answer := client.recv(4096):
            assert b"accord" not in answer
    yield
    identity, unknown = folder / "stranger.pem", stranger()
    identity.write_bytes(draw_identity("stranger", datetime.now(UTC))[0])
    unknown.load_cert_chain(identity)
    for context in (stranger(maximum_version=ssl.TLSVersion.TLSv1_2), stranger(), unknown):
        with (
            calling(port) as (client,),
            suppress(ssl.SSLError, ConnectionError),
            context.wrap_socket(client) as secured,
        ):
            assert not secured.recv(1)
        yield


@contextmanager
def listening(both: Both) -> Iterator[tuple[int, Callable[[], None], Callable[[], list[Dropped]]]]:
    """A listens at a port; with the first function B connects and gets in; the second: who was dropped."""
    told, ready, where = list[Notice](), threading.Event(), HostPort("127.0.0.1", 0)

    def tell(notice: Notice) -> None:
        told.append(notice)
        ready.set()

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(listen, where, both[0].state, both[1].card, "bob", PATIENCE, tell)
        assert ready.wait(PATIENCE)
        assert isinstance(told[0], Listening)
        port = told[0].port

        def enter() -> None:
            with reach(port, both, PATIENCE):
                found.result(PATIENCE).close()

        yield port, enter, lambda: [notice for notice in told if isinstance(notice, Dropped)]


def test_whoever_is_not_the_partner_is_dropped_and_it_is_said_why(both: Both, tmp_path: Path) -> None:
    """And some who say nothing are still there when the partner comes."""
    with listening(both) as (port, enter, dropped):
        for number, _ in enumerate(call_as_strangers(port, tmp_path), 1):
            until = time.monotonic() + PATIENCE
            # The same of the same address is not noted twice: an older TLS is told as the health check is.
            while len(dropped()) < number - (number > 2):
                assert time.monotonic() < until
                time.sleep(0.01)
        with calling(port, CALLERS - 1):
            enter()
        assert len({notice.reason for notice in dropped()}) == len(dropped()) == 4
        assert {notice.host for notice in dropped()} == {"127.0.0.1"}


def trickle(clients: list[socket.socket], over: threading.Event) -> None:
    """What could become a handshake, byte by byte."""
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)
    for octet in range(len(hello)):
        for client in clients:
            with suppress(OSError):
                client.send(hello[octet : octet + 1])
        if over.wait(0.1):
            return


@pytest.mark.parametrize(
    ("crowd", "slow", "changes"),
    [
        (CALLERS + 3, True, {"CALLER_SECONDS": 1.0}),
        (12, False, {"CALLERS": 2, "CROWDED_SECONDS": 0.2}),
    ],
)
def test_a_crowd_makes_room_for_the_partner(
    crowd: int, slow: bool, changes: dict[str, float], both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than may try at a time come first, and are slow or say nothing; each is dropped in its time.

    With ten seconds for each of those that say nothing the wait would be over before.
    """
    assert ports._QUEUE / CALLERS * ports.CROWDED_SECONDS < connect_module._HANDSHAKE_SECONDS - 10
    for name, value in changes.items():
        monkeypatch.setattr(ports, name, value)
    over = threading.Event()
    with listening(both) as (port, enter, dropped), calling(port, crowd) as clients:
        thread = threading.Thread(target=trickle, args=(clients if slow else [], over))
        thread.start()
        enter()
        over.set()
        thread.join()
    assert len(dropped()) == 1


def test_the_wait_ends_also_with_callers_at_the_door(both: Both) -> None:
    over, clients = threading.Event(), ExitStack()

    def tell(notice: Notice) -> None:
        if isinstance(notice, Listening):
            callers = clients.enter_context(calling(notice.port, 2 * CALLERS))
            threading.Thread(target=trickle, args=(callers, over), daemon=True).start()

    with clients, pytest.raises(ConnectionLostError):
        listen(HostPort("127.0.0.1", 0), both[0].state, both[1].card, "bob", 2.0, tell)
    over.set()
