"""Waiting for the partner at an open port, where anybody may call (port.py).

The first one with the right card is the partner. All others, a wrong or a missing card among them, are
dropped and noted. The port stays open after it, for the partner's workers (routing.py), until its owner
closes it.
"""

from __future__ import annotations

import selectors
import socket
import ssl

from accord.errors import ConnectionLostError, TrustError
from accord.notices import Listening, Tell
from accord.peer.connect import ASK_CARD, ENDED, WELCOME, HostPort, make_context
from accord.peer.identity import Card, require_identity
from accord.peer.port import Acceptor, Caller, open_port
from accord.state.folder import State
from accord.wording import counted


def listen(
    address: HostPort, state: State, card: Card, partner: str, wait: float, tell: Tell
) -> ssl.SSLSocket:
    """Wait for the partner at an address of one's own, and for nobody after it."""
    with open_port(address) as server:
        return wait_for_partner(server, state, card, partner, wait, tell)


def wait_for_partner(
    server: socket.socket, state: State, card: Card, partner: str, wait: float, tell: Tell
) -> ssl.SSLSocket:
    """The partner's connection at this port, which stays open."""
    context = make_context(ssl.PROTOCOL_TLS_SERVER, require_identity(state), card)

    def admit(plain: socket.socket, host: str) -> _Candidate:
        wrapped = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        return _Candidate(wrapped, host, card, partner)

    with Acceptor(server, admit, partner, tell) as acceptor:
        tell(Listening(partner, server.getsockname()[1]))
        found = acceptor.accept(wait)
        if found is not None:
            return found.connection
        problem = f"was not made: {_nobody(acceptor)} within {counted(round(wait), 'second')}"
        raise ConnectionLostError(partner=partner, problem=problem, mend=_mend(acceptor))


def _nobody(acceptor: Acceptor[_Candidate]) -> str:
    """Who came, if not the partner."""
    if acceptor.last is None:
        return "nobody came"
    callers = "caller was" if acceptor.dropped == 1 else "callers were"
    return (
        f"{acceptor.dropped:,} {callers} dropped, the last from {acceptor.last.host}: {acceptor.last.reason};"
    )


def _mend(acceptor: Acceptor[_Candidate]) -> str:
    cards = f" {ASK_CARD}" if acceptor.last is not None and "card" in acceptor.last.reason else ""
    ask = "Ask the partner to connect, or wait longer with `reach=accord.Reach(wait=…)`."
    return f"Nothing new was charged. {ask}{cards}"


class _Candidate(Caller[ssl.SSLSocket]):
    """Somebody who called, until it has shown the partner's card or is gone."""

    awaited = "show a card"

    def __init__(self, connection: ssl.SSLSocket, host: str, card: Card, partner: str) -> None:
        super().__init__(connection, host)
        self._card, self._partner = card, partner

    def turn(self) -> bool:
        """Go on with the handshake; whether it is done and has shown this very card."""
        try:
            self.connection.do_handshake()
        except ssl.SSLWantReadError:
            self.wants = selectors.EVENT_READ
            return False
        except ssl.SSLWantWriteError:
            self.wants = selectors.EVENT_WRITE
            return False
        if self.connection.getpeercert(binary_form=True) != self._card.der:
            raise TrustError(problem="", mend="")
        self.connection.send(WELCOME)
        return True

    def reason(self, error: Exception) -> str:
        name = (getattr(error, "reason", None) or "").upper()
        if isinstance(error, ssl.SSLCertVerificationError):
            return {
                9: f"it showed a card of {self._partner} that is not valid yet",
                10: f"it showed a card of {self._partner} that has expired",
            }.get(error.verify_code, f"it showed a card other than that of {self._partner}")
        if isinstance(error, TrustError):
            return f"it showed a card other than that of {self._partner}"
        if "CERTIFICATE" in name and "RETURN" in name:
            return "it showed no card"
        if "ALERT" in name and "VERSION" not in name and "INTERNAL" not in name:
            return "it refuses your card"
        if isinstance(error, ssl.SSLError) and not isinstance(error, ENDED):
            return "it does not speak TLS 1.3 as Accord does"
        return "it went away"
