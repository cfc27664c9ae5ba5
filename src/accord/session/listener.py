"""Waiting for the partner at an open port, where anybody may call.

Whoever calls has ten seconds to complete the handshake with the partner's card; eight may try at a time, the
others wait in the system's queue. While somebody waits there, two seconds must do: the eldest of the eight
makes room. So a full queue is served before who connects loses patience, and a crowd that says nothing does
not keep the partner out. The first one with the right card is the partner. All
others, be it a port scan, a health check, a wrong or a missing card, somebody who says nothing or says it
slowly, are dropped and noted, and the waiting goes on until its time is over.

One thread serves all: nothing here waits for a single caller. Nothing that a caller says is repeated; it is
noted by its address and by one of a few reasons.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import time
from contextlib import suppress
from typing import Any

from accord.errors import ConnectionLostError, TrustError, UsageError
from accord.session.connect import ASK_CARD, WELCOME, Address, make_context, set_options
from accord.session.identity import Card
from accord.session.notices import Dropped, Listening, Tell
from accord.session.state import State
from accord.wording import counted

CALLERS = 8
CALLER_SECONDS = 10.0
CROWDED_SECONDS = 2.0
"""For a caller while another waits: a handshake takes two round trips. Not counted by address, which partners
behind a gateway share."""
_QUEUE = 100
_FAREWELL_SECONDS = 1.0
_NOTE_SECONDS = 60.0
"""Until the same is noted again of the same address."""
_MOST_NOTED = 1000


def listen(
    address: Address, state: State, card: Card, partner: str, wait: float, tell: Tell
) -> ssl.SSLSocket:
    """Wait for the partner at an address of one's own."""
    context = make_context(ssl.PROTOCOL_TLS_SERVER, state, card)
    server = _server(address)
    with server, _Door(server, context, card, partner, tell) as door:
        tell(Listening(partner, server.getsockname()[1]))
        found = door.open_for(wait)
    if found is not None:
        return found
    raise ConnectionLostError(
        partner=partner,
        problem=f"was not made: {door.nobody} within {counted(round(wait), 'second')}",
        mend=door.mend,
    )


def try_listening(address: Address) -> None:
    """Raise if nothing can listen at this address of one's own. Nobody who calls meanwhile is answered."""
    try:
        family, where = _place(address)
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(where)
    except OSError as error:
        raise _cannot_listen(address, error) from None


def _server(address: Address) -> socket.socket:
    try:
        family, where = _place(address)
        both = family is socket.AF_INET6 and not address.host
        return socket.create_server(where, family=family, backlog=_QUEUE, dualstack_ipv6=both)
    except OSError as error:
        raise _cannot_listen(address, error) from None


def _cannot_listen(address: Address, error: OSError) -> UsageError:
    return UsageError(
        problem=f"Nothing can listen at {address}: {error.strerror or error}. Name another `listen=`."
    )


def _place(address: Address) -> tuple[socket.AddressFamily, Any]:
    """Where to listen. No host means every interface, of both families where the system can."""
    if not address.host and socket.has_dualstack_ipv6():
        return socket.AF_INET6, ("::", address.port)
    family, *_, where = socket.getaddrinfo(
        address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return family, where


class _Caller:
    """Somebody who called, until it is the partner or gone."""

    def __init__(self, connection: ssl.SSLSocket, host: str) -> None:
        self.connection, self.host = connection, host
        now = time.monotonic()
        self.until, self.yields = now + CALLER_SECONDS, now + CROWDED_SECONDS
        self.wants = selectors.EVENT_READ
        self.leaving = False

    def shows(self, card: Card) -> bool:
        """Go on with the handshake; whether it is done and has shown this very card."""
        try:
            self.connection.do_handshake()
        except ssl.SSLWantReadError:
            self.wants = selectors.EVENT_READ
            return False
        except ssl.SSLWantWriteError:
            self.wants = selectors.EVENT_WRITE
            return False
        if self.connection.getpeercert(binary_form=True) != card.der:
            raise TrustError(problem="", mend="")
        self.connection.send(WELCOME)
        return True

    def leave(self) -> None:
        """Let it read the alert: closing with unread bytes would take that away."""
        self.leaving, self.wants = True, selectors.EVENT_READ
        self.until = time.monotonic() + _FAREWELL_SECONDS
        with suppress(OSError):
            socket.socket.shutdown(self.connection, socket.SHUT_WR)

    def gone(self) -> bool:
        """Read what it still says; whether that was all."""
        try:
            return not socket.socket.recv(self.connection, 4096)
        except (BlockingIOError, InterruptedError):
            return False
        except (OSError, ValueError):
            return True


class _Door:
    """The open port and who stands at it; use it as a context."""

    def __init__(
        self, server: socket.socket, context: ssl.SSLContext, card: Card, partner: str, tell: Tell
    ) -> None:
        self._server, self._context, self._card = server, context, card
        self._partner, self._tell = partner, tell
        self._callers: list[_Caller] = []
        self._dropped = 0
        self._last: Dropped | None = None
        self._noted: dict[tuple[str, str], float] = {}
        server.setblocking(False)

    def __enter__(self) -> _Door:
        return self

    def __exit__(self, *_: object) -> None:
        for caller in self._callers:
            caller.connection.close()

    @property
    def nobody(self) -> str:
        """Who came, if not the partner."""
        if self._last is None:
            return "nobody came"
        callers = "caller was" if self._dropped == 1 else "callers were"
        return f"{self._dropped:,} {callers} dropped, the last from {self._last.host}: {self._last.reason};"

    @property
    def mend(self) -> str:
        cards = f" {ASK_CARD}" if self._last is not None and "card" in self._last.reason else ""
        ask = "Ask the partner to connect, or wait longer with `reach=accord.Reach(wait=…)`."
        return f"Nothing new was charged. {ask}{cards}"

    def open_for(self, seconds: float) -> ssl.SSLSocket | None:
        """The partner's connection, if it comes in so many seconds."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            turns, more = self._ready(until)
            for caller in turns:
                if self._serve(caller):
                    self._callers.remove(caller)
                    return caller.connection
            if more:
                self._make_room()
                self._let_in()
            self._expire()
        return None

    def _ready(self, until: float) -> tuple[list[_Caller], bool]:
        """Wait for something to happen; whose turn it is, and whether somebody new is to be let in."""
        with selectors.DefaultSelector() as selector:
            soonest = min([until, *(caller.until for caller in self._callers)])
            if len(self._callers) < CALLERS or self._callers[0].yields <= time.monotonic():
                selector.register(self._server, selectors.EVENT_READ)
            else:
                soonest = min(soonest, self._callers[0].yields)
            for caller in self._callers:
                selector.register(caller.connection, caller.wants, caller)
            found = selector.select(max(0.0, soonest - time.monotonic()))
        return [key.data for key, _ in found if key.data is not None], any(
            key.data is None for key, _ in found
        )

    def _make_room(self) -> None:
        """Let go whoever stands at the door the longest, if all places are taken."""
        if len(self._callers) == CALLERS:
            eldest = self._callers[0]
            if not eldest.leaving:
                seconds = counted(round(CROWDED_SECONDS), "second")
                self._note(eldest, f"it did not show a card within {seconds}, and others wait")
            self._close(eldest)

    def _let_in(self) -> None:
        # Who called may be gone already.
        with suppress(OSError):
            plain, where = self._server.accept()
            host = str(where[0]).removeprefix("::ffff:")
            plain.setblocking(False)
            set_options(plain)
            wrapped = self._context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
            self._callers.append(_Caller(wrapped, host))

    def _serve(self, caller: _Caller) -> bool:
        """A caller's turn; whether it is the partner."""
        if caller.leaving:
            if caller.gone():
                self._close(caller)
            return False
        try:
            return caller.shows(self._card)
        except (OSError, TrustError) as error:
            self._note(caller, _reason(error, self._partner))
            caller.leave()
            return False

    def _expire(self) -> None:
        for caller in [c for c in self._callers if c.until <= time.monotonic()]:
            if not caller.leaving:
                self._note(caller, f"it did not show a card within {CALLER_SECONDS:.0f} seconds")
            self._close(caller)

    def _close(self, caller: _Caller) -> None:
        self._callers.remove(caller)
        caller.connection.close()

    def _note(self, caller: _Caller, reason: str) -> None:
        """Tell whom nobody let in; not the same again and again."""
        self._dropped += 1
        self._last = Dropped(self._partner, caller.host, reason, self._dropped)
        now, key = time.monotonic(), (caller.host, reason)
        if now - self._noted.get(key, -_NOTE_SECONDS) < _NOTE_SECONDS:
            return
        if len(self._noted) < _MOST_NOTED:
            self._noted[key] = now
            self._tell(self._last)


def _reason(error: Exception, partner: str) -> str:
    """Why a caller is not the partner, in words of our own."""
    name = (getattr(error, "reason", None) or "").upper()
    if isinstance(error, ssl.SSLCertVerificationError):
        return {
            9: f"it showed a card of {partner} that is not valid yet",
            10: f"it showed a card of {partner} that has expired",
        }.get(error.verify_code, f"it showed another card than that of {partner}")
    if isinstance(error, TrustError):
        return f"it showed another card than that of {partner}"
    if "CERTIFICATE" in name and "RETURN" in name:
        return "it showed no card"
    if "ALERT" in name and "VERSION" not in name and "INTERNAL" not in name:
        return "it refuses your card"
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return "it does not speak TLS 1.3 as Accord does"
    return "it went away"
