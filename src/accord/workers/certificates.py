"""How the coordinators tell each other who their workers are: certificates, and halves of routing tokens.

Over the coordinators' own channel, which is authenticated by the cards; so worker i of one side can demand
the very certificate of worker i of the other, byte for byte, and no authority is needed for it. The message
is signed (party.py), so that what a worker signs is signed by its owner. For each worker

    2      the length of its certificate
    1022   the certificate in DER, and zeros
    32     half of a token (routing.py)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from accord.errors import PeerError, TrustError
from accord.peer.identity import card_from_der
from accord.secure.party import Party, Send, receive
from accord.workers.messages import MOST_CARD
from accord.workers.routing import TOKEN

BADGE = 2 + MOST_CARD + TOKEN


@dataclass(frozen=True)
class Badge:
    """A worker, to the other side."""

    card: bytes
    half: bytes = field(repr=False)


def encode_badge(badge: Badge) -> bytes:
    """A badge in its bytes."""
    if len(badge.card) > MOST_CARD or len(badge.half) != TOKEN:
        raise ValueError("a certificate is too long")
    return len(badge.card).to_bytes(2, "little") + badge.card.ljust(MOST_CARD, b"\0") + badge.half


def decode_badge(content: bytes) -> Badge:
    """The badge in these bytes."""
    length = int.from_bytes(content[:2], "little")
    card, rest = content[2 : 2 + length], content[2 + length : 2 + MOST_CARD]
    try:
        if length > MOST_CARD or any(rest):
            raise ValueError("not a badge")
        card_from_der(card, Path("a badge"))
    except (ValueError, TrustError):
        raise PeerError(problem="a certificate of a worker that cannot be read") from None
    return Badge(card, content[2 + MOST_CARD :])


def exchange_badges(own: list[Badge]) -> Party[list[Badge]]:
    """Say who one's workers are; the partner's, of which there are as many."""
    yield Send(b"".join(map(encode_badge, own)), signed=True)
    content = (yield from receive(BADGE * len(own), signed=True)).tobytes()
    return [decode_badge(content[at : at + BADGE]) for at in range(0, len(content), BADGE)]
