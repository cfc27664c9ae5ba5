"""An open port at which anybody may call, and who is let in there.

Whoever calls has ten seconds to say what is awaited; so many may try at a time, eight where each of them is a
TLS handshake, and the others wait in the system's queue. While somebody waits there, two seconds must do: the
eldest makes room. So a full queue is served before who connects loses patience, and a crowd that says nothing
does not keep the one out who is awaited. All others, be it a port scan, a health check, somebody who says
nothing or says it slowly, are dropped and noted, and the waiting goes on until its time is over.

One thread serves all: nothing here waits for a single caller. Nothing that a caller says is repeated; it is
noted by its address and by one of a few reasons. What is awaited is a card (listener.py) or the token of a
worker (routing.py): a `Caller` knows.
"""

from __future__ import annotations

import selectors
import socket
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from accord.errors import TrustError, UsageError
from accord.notices import Dropped, Tell
from accord.peer.connect import HostPort, set_options
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


def try_listening(address: HostPort) -> None:
    """Raise if nothing can listen at this address of one's own. Nobody who calls meanwhile is answered."""
    try:
        family, where = _place(address)
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(where)
    except OSError as error:
        raise _cannot_listen(address, error) from None


def open_port(address: HostPort) -> socket.socket:
    """A port of one's own at which callers queue; its owner closes it."""
    try:
        family, where = _place(address)
        both = family is socket.AF_INET6 and not address.host
        server = socket.create_server(where, family=family, backlog=_QUEUE, dualstack_ipv6=both)
    except OSError as error:
        raise _cannot_listen(address, error) from None
    server.setblocking(False)
    return server


def _cannot_listen(address: HostPort, error: OSError) -> UsageError:
    return UsageError(
        problem=f"Nothing can listen at {address}: {error.strerror or error}. Name another `listen=`."
    )


def _place(address: HostPort) -> tuple[socket.AddressFamily, Any]:
    """Where to listen. No host means every interface, of both families where the system can."""
    if not address.host and socket.has_dualstack_ipv6():
        return socket.AF_INET6, ("::", address.port)
    family, *_, where = socket.getaddrinfo(
        address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return family, where


S = TypeVar("S", bound=socket.socket)


class Caller(Generic[S]):
    """Somebody who called, until it is the one who is awaited or gone."""

    awaited = "say what is expected"

    def __init__(self, connection: S, host: str) -> None:
        self.connection, self.host = connection, host
        now = time.monotonic()
        self.until, self.yields = now + CALLER_SECONDS, now + CROWDED_SECONDS
        self.wants = selectors.EVENT_READ
        self.leaving = False

    @abstractmethod
    def turn(self) -> bool:
        """Go on without waiting; whether this is the one. Raises OSError or TrustError if it cannot be."""

    @abstractmethod
    def reason(self, error: Exception) -> str:
        """Why it is not the one, in words of our own."""

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


C = TypeVar("C", bound=Caller[Any])


class Acceptor(Generic[C]):
    """Lets callers in at a port; use it as a context. The port stays open after it."""

    def __init__(
        self,
        server: socket.socket,
        admit: Callable[[socket.socket, str], C],
        partner: str,
        tell: Tell,
        most: int = CALLERS,
    ) -> None:
        self._server, self._admit = server, admit
        self._partner, self._tell, self._most = partner, tell, most
        self._callers: list[C] = []
        self.dropped = 0
        self.last: Dropped | None = None
        """The last who was."""
        self._noted: dict[tuple[str, str], float] = {}

    def __enter__(self) -> Acceptor[C]:
        return self

    def __exit__(self, *_: object) -> None:
        for caller in self._callers:
            caller.connection.close()

    def accept(self, seconds: float) -> C | None:
        """The one who is awaited, if it comes in so many seconds; its connection is the caller's now."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            turns, more = self._ready(until)
            for caller in turns:
                if self._serve(caller):
                    self._callers.remove(caller)
                    return caller
            if more:
                self._make_room()
                self._let_in()
            self._expire()
        return None

    def _ready(self, until: float) -> tuple[list[C], bool]:
        """Wait for something to happen; whose turn it is, and whether somebody new is to be let in."""
        with selectors.DefaultSelector() as selector:
            soonest = min([until, *(caller.until for caller in self._callers)])
            if len(self._callers) < self._most or self._callers[0].yields <= time.monotonic():
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
        """Let go whoever has been here the longest, if all places are taken."""
        if len(self._callers) == self._most:
            eldest = self._callers[0]
            if not eldest.leaving:
                seconds = counted(round(CROWDED_SECONDS), "second")
                self._note(eldest, f"it did not {eldest.awaited} within {seconds}, and others wait")
            self._close(eldest)

    def _let_in(self) -> None:
        # Who called may be gone already.
        with suppress(OSError):
            plain, where = self._server.accept()
            host = str(where[0]).removeprefix("::ffff:")
            plain.setblocking(False)
            set_options(plain)
            self._callers.append(self._admit(plain, host))

    def _serve(self, caller: C) -> bool:
        """A caller's turn; whether it is the one."""
        if caller.leaving:
            if caller.gone():
                self._close(caller)
            return False
        try:
            return caller.turn()
        except (OSError, TrustError) as error:
            self._note(caller, caller.reason(error))
            caller.leave()
            return False

    def _expire(self) -> None:
        for caller in [c for c in self._callers if c.until <= time.monotonic()]:
            if not caller.leaving:
                self._note(caller, f"it did not {caller.awaited} within {CALLER_SECONDS:.0f} seconds")
            self._close(caller)

    def _close(self, caller: C) -> None:
        self._callers.remove(caller)
        caller.connection.close()

    def _note(self, caller: C, reason: str) -> None:
        """Tell whom nobody let in; not the same again and again."""
        self.dropped += 1
        self.last = Dropped(self._partner, caller.host, reason, self.dropped)
        now, key = time.monotonic(), (caller.host, reason)
        if now - self._noted.get(key, -_NOTE_SECONDS) < _NOTE_SECONDS:
            return
        if len(self._noted) < _MOST_NOTED:
            self._noted[key] = now
            self._tell(self.last)
