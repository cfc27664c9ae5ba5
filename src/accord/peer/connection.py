"""A connection to the partner for as long as it is needed, and what the partner is told at its end.

Whatever ends a run on this side, the partner hears at once and by a closed list of reasons that something
ended, and not more.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from accord.arguments import require, require_seconds, require_text
from accord.errors import (
    AccountError,
    BudgetError,
    ClosedError,
    ConnectionLostError,
    DifferentAgreementError,
    InterruptedEarlyError,
    InterruptedRunError,
    NoTableError,
    OlderStateError,
    OutputError,
    PeerError,
    RefusedError,
    SnapshotError,
    StateError,
    StoppedError,
    TooManyMatchesError,
    TrustError,
    UnequalError,
    UsageError,
    WorkerError,
)
from accord.notices import Connected, Tell
from accord.peer.channel import Patience, TlsChannel
from accord.peer.connect import connect, exchange_keys, parse_address
from accord.peer.encryption import Ends
from accord.peer.frames import Reason
from accord.peer.identity import Card, require_identity
from accord.peer.listener import listen, wait_for_partner
from accord.peer.port import try_listening
from accord.state.folder import State

_REASONS: tuple[tuple[type[BaseException], Reason | None], ...] = (
    (StoppedError, None),
    (ConnectionLostError, None),
    (PeerError, Reason.PROTOCOL),
    (ClosedError, Reason.PROTOCOL),
    (RefusedError, Reason.REFUSED),
    (DifferentAgreementError, Reason.REFUSED),
    (TrustError, Reason.REFUSED),
    (BudgetError, Reason.LEDGER),
    (SnapshotError, Reason.LEDGER),
    (AccountError, Reason.LEDGER),
    (StateError, Reason.STATE),
    (OutputError, Reason.DATA),
    (WorkerError, Reason.WORKER),
    (TooManyMatchesError, Reason.BOUND),
    (NoTableError, Reason.NO_TABLE),
    (UnequalError, Reason.UNEQUAL),
    (OlderStateError, Reason.OLDER),
    (KeyboardInterrupt, Reason.INTERRUPTED),
    (BaseException, Reason.FAULT),
)

_SAY_IT = (ConnectionLostError, StoppedError, ClosedError, TooManyMatchesError, NoTableError, UnequalError)
"""Errors that say themselves what to do about a run that has begun."""


@dataclass(frozen=True)
class Reach:
    """How to come to the partner, and how long to wait."""

    listen: str = ""
    connect: str = ""
    wait: float = 600.0
    """Seconds to wait for the partner to appear."""
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        require_text("listen", self.listen, "0.0.0.0:7000")
        require_text("connect", self.connect, "192.0.2.7:7000")
        require_seconds("wait", self.wait)
        require("patience", self.patience, "a Patience", Patience)

    def require_way(self) -> Reach:
        """This, if exactly one way is named."""
        if bool(self.listen) == bool(self.connect):
            raise UsageError(problem="Name one of `listen=` and `connect=`, as HOST:PORT.")
        parse_address(self.listen or self.connect, "listen" if self.listen else "connect")
        return self

    def require_free(self) -> None:
        """Raise if nothing can listen where it shall; to connect needs nothing here."""
        if self.listen:
            try_listening(parse_address(self.listen, "listen"))


@contextmanager
def open_channel(
    reach: Reach, state: State, card: Card, partner: str, tell: Tell, port: socket.socket | None = None
) -> Iterator[TlsChannel]:
    """A channel to the partner; errors inside are told to the partner as a reason and name the partner.

    `port` is one that is open already where this side listens, and that stays open.
    """
    # What it is now is what TLS shows, though it may be renewed while this side waits.
    ends = Ends(require_identity(state), card, partner, listens=not reach.connect)
    if port is not None:
        found = wait_for_partner(port, state, card, partner, reach.wait, tell)
    elif reach.listen:
        found = listen(parse_address(reach.listen, "listen"), state, card, partner, reach.wait, tell)
    else:
        found = connect(parse_address(reach.connect, "connect"), state, card, partner, reach.wait, tell)
    channel = TlsChannel(found, exchange_keys(found, ends), partner, reach.patience)
    try:
        tell(Connected(partner))
        yield channel
    except BaseException as error:
        reason = next(reason for kind, reason in _REASONS if isinstance(error, kind))
        if reason is not None:
            channel.stop(reason)
        raise _name_partner(error, partner, channel.run) from None
    finally:
        # Who is interrupted twice has heard at the first time what became of the run, or will at once.
        with suppress(KeyboardInterrupt):
            channel.close()


def _name_partner(error: BaseException, partner: str, run: str) -> BaseException:
    """The same error, with the partner's name, and with what to do about a run that has begun."""
    if isinstance(error, KeyboardInterrupt):
        return InterruptedRunError(run=run) if run else InterruptedEarlyError()
    if isinstance(error, PeerError):
        error = PeerError(problem=error.problem, partner=partner)
    if isinstance(error, TooManyMatchesError):
        error = TooManyMatchesError(most=error.most, shown=error.shown, partner=partner)
    if isinstance(error, UnequalError):
        error = type(error)(partner=partner)
    if run and not isinstance(error, _SAY_IT):
        error.add_note(_how_to_go_on(error, run))
    return error


def _how_to_go_on(error: BaseException, run: str) -> str:
    if isinstance(error, OutputError):
        again = f"`accord resume {run} --out OTHER`, and the partner `accord resume {run}`"
        return f"What was done is kept, and is not charged again. Go on with {again}."
    return f"What was done is kept. When it is fixed, continue with `accord resume {run}`."
