"""How the coordinators tell each other who their workers are: certificates, and halves of routing tokens.

Over the coordinators' own channel, which is authenticated by the cards; so worker i of one side can demand
the very certificate of worker i of the other, byte for byte, and no authority is needed for it.

Each is told as

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

CERTIFICATE = 2 + MOST_CARD + TOKEN


@dataclass(frozen=True)
class WorkerCertificate:
    """A worker, as the other side is told of it."""

    card: bytes
    half: bytes = field(repr=False)


def encode_certificate(own: WorkerCertificate) -> bytes:
    """A certificate and a half in their bytes."""
    if len(own.card) > MOST_CARD or len(own.half) != TOKEN:
        raise ValueError("a certificate is too long")
    return len(own.card).to_bytes(2, "little") + own.card.ljust(MOST_CARD, b"\0") + own.half


def decode_certificate(content: bytes) -> WorkerCertificate:
    """Those in these bytes."""
    length = int.from_bytes(content[:2], "little")
    card, rest = content[2 : 2 + length], content[2 + length : 2 + MOST_CARD]
    try:
        if len(content) != CERTIFICATE or length > MOST_CARD or any(rest):
            raise ValueError("not a certificate")
        card_from_der(card, Path("a certificate"))
    except (ValueError, TrustError):
        raise PeerError(problem="a certificate of a worker that cannot be read") from None
    return WorkerCertificate(card, content[2 + MOST_CARD :])


def exchange_certificates(own: list[WorkerCertificate]) -> Party[list[WorkerCertificate]]:
    """Say who one's workers are; the partner's, of which there are as many."""
    yield Send(b"".join(map(encode_certificate, own)))
    content = (yield from receive(CERTIFICATE * len(own))).tobytes()
    return [decode_certificate(content[at : at + CERTIFICATE]) for at in range(0, len(content), CERTIFICATE)]
