"""Evidence of what a partner signed in a run, for its replay: hashes and signatures, no data.

Who wants the partner to replay a run hands over what it holds of the partner's word: the pledge, the sizes
that both announced, and for each attempt and connection the links of the messages that came, with the
partner's signatures of them; and what it signed itself for the coordinators' connection (`heard`), so that
the partner cannot exchange what it received last. A partner that changed its own record is held to these
(signed.py). What counts are the signatures: a link that none of them covers is left out, the others only
serve to name a message (verdict.py), and sizes are believed where the partner signed for a meeting with them
(transcript.py). Its workers signed with certificates of their own, which it named in a message that it
signed: that message is there as it came (`workers`), and is believed if it is the link that was signed.

    {"evidence": 1, "run": …, "agreement": …, "side": "B", "card": PEM, "pledge": hex,
     "records": {"A": 300, "B": 280},
     "meetings": {NAME: {NUMBER: {"links": hex, "seals": [hex, …], "heard": [hex, …], "workers": hex}, …}}}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

from pydantic import StringConstraints

from accord.accountable.pledge import Pledge, decode_pledge, encode_pledge, require_pledge
from accord.accountable.stored import StoredAttempt, StoredTranscript, decode_seal, encode_seal
from accord.accountable.transcript import LINK, Chain, Meeting, Seal, signed_bytes
from accord.errors import PeerError, TrustError, UnreadableError
from accord.fields.schema import Spec
from accord.peer.identity import Card, parse_card, verifier
from accord.side import Side
from accord.workers.certificates import decode_certificates

_MOST_BYTES = 1 << 30
_Number = Annotated[str, StringConstraints(pattern="^(0|[1-9][0-9]{0,8})$")]
_Hex = Annotated[str, StringConstraints(pattern="^([0-9a-f]{2})*$")]


class _Connection(Spec):
    links: _Hex
    seals: list[_Hex]
    heard: list[_Hex]
    workers: _Hex = ""


class _Records(Spec):
    A: int
    B: int


class _File(Spec):
    evidence: Literal[1]
    run: str
    agreement: _Hex
    side: Literal["A", "B"]
    card: str
    pledge: _Hex
    records: _Records
    meetings: dict[_Hex, dict[_Number, _Connection]]


@dataclass(frozen=True)
class Signatures:
    """What a side signed on one connection."""

    links: list[bytes]
    """Of the messages that it sent, up to its last signature: not signed one by one, and of no weight."""
    seals: list[Seal]
    partner_seals: list[Seal] = field(default_factory=list)
    """What its partner signed on the same connection, by the partner's own record."""
    own_partner_seals: list[Seal] = field(default_factory=list)
    """The same by the record of the side itself."""
    workers: bytes = b""
    """The message in which it named its workers, on the coordinators' connection."""

    def certificates(self, meeting: Meeting, side: Side) -> list[bytes] | None:
        """Those of its workers, if it signed for them. *Requires*: the owner of its card made the seals."""
        links = [meeting.first(0, side), *self.links]
        for seal in self.seals:
            if self.workers and 0 < seal.sent < len(links):
                chain = Chain(meeting, 0, side, links[seal.sent - 1])
                if chain.add(self.workers) == seal.sent_link:
                    return [one.card for one in decode_certificates(self.workers)]
        return None

    @property
    def known(self) -> dict[int, bytes]:
        """Links by the numbers of their messages, up to the last that is signed."""
        last = max((seal.sent for seal in self.seals), default=0)
        return dict(enumerate(self.links[:last], 1)) | {seal.sent: seal.sent_link for seal in self.seals}


@dataclass(frozen=True)
class Evidence:
    """What a side signed in a run."""

    run: str
    agreement: str
    side: Side
    card: Card
    pledge: Pledge
    sizes: dict[Side, int]
    """As both announced them, by the word of who hands this over."""
    meetings: dict[bytes, dict[int, Signatures]]
    """By the name of the meeting and the number of the connection."""


def judge_seals(seals: list[Seal], about: bytes, meeting: bytes, number: int, side: Side, card: Card) -> None:
    """Raise ValueError unless the owner of the card signed each seal."""
    judge = verifier(card)
    for seal in seals:
        judge(seal.signature, signed_bytes(about, meeting, number, side, seal))


def collect(record: StoredTranscript, meeting: Meeting, side: Side) -> Signatures:
    """What the partner, which is `side`, signed on a connection of which this is the record."""
    own, seals = record.seals()
    last = max((seal.sent for seal in seals), default=0)
    chain, links, workers = Chain(meeting, record.number, side), list[bytes](), b""
    signed = {seal.sent for seal in seals}
    for message in islice(record.received(chain), last):
        links.append(chain.last)
        if not record.number and not workers and len(links) in signed and _names_workers(message):
            workers = message
    # A worker that signs at the end of a share leaves nothing that its coordinator goes on with.
    return Signatures(links, seals, [] if record.number else own, workers=workers)


def _names_workers(message: bytes) -> bool:
    try:
        return bool(decode_certificates(message))
    except (ValueError, PeerError):
        return False


def collect_all(meetings: dict[StoredAttempt, Meeting], side: Side) -> dict[bytes, dict[int, Signatures]]:
    """What the partner signed in these attempts."""
    return {
        meeting.name: {one.number: collect(one, meeting, side) for one in records(attempt)}
        for attempt, meeting in meetings.items()
    }


def records(attempt: StoredAttempt) -> Iterator[StoredTranscript]:
    """The records of the connections of an attempt, the coordinators' first."""
    for number in sorted(int(path.stem) for path in attempt.folder.glob("*.seals")):
        yield StoredTranscript(attempt.folder, number)


def encode_evidence(evidence: Evidence) -> bytes:
    """The evidence as a file."""
    meetings = {
        name.hex(): {
            str(number): {
                "links": b"".join(signed.links).hex(),
                "seals": [encode_seal(seal).hex() for seal in signed.seals],
                "heard": [encode_seal(seal).hex() for seal in signed.partner_seals],
                "workers": signed.workers.hex(),
            }
            for number, signed in connections.items()
        }
        for name, connections in evidence.meetings.items()
    }
    body = {
        "evidence": 1,
        "run": evidence.run,
        "agreement": evidence.agreement,
        "side": evidence.side.value,
        "card": evidence.card.pem.decode(),
        "pledge": encode_pledge(evidence.pledge).hex(),
        "records": {side.value: count for side, count in evidence.sizes.items()},
        "meetings": meetings,
    }
    return json.dumps(body).encode()


def read_evidence(path: Path) -> Evidence:
    """Evidence from a file; raises unless its pledge is signed with its card."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UnreadableError(path=path, reason=error.strerror, mend="Name the partner's evidence.") from None
    try:
        return decode_evidence(content, path)
    except (ValueError, RecursionError, TrustError):
        raise TrustError(
            problem=f"{path} is no evidence that its card signed, or it was changed.",
            mend="Ask the partner to write it again with `accord replay RUN --evidence FILE`.",
        ) from None


def decode_evidence(content: bytes, path: Path) -> Evidence:
    """The evidence in these bytes; raises ValueError or TrustError."""
    if len(content) > _MOST_BYTES:
        raise ValueError("too long")
    found = _File.model_validate_json(content, strict=True)
    side, card = Side(found.side), parse_card(found.card.encode(), path)
    pledge = decode_pledge(bytes.fromhex(found.pledge))
    require_pledge(pledge, card, found.run, found.agreement, side)
    meetings = {
        bytes.fromhex(name): {int(number): _signatures(one) for number, one in connections.items()}
        for name, connections in found.meetings.items()
    }
    sizes = {Side.A: found.records.A, Side.B: found.records.B}
    if not all(0 <= size < 1 << 64 for size in sizes.values()):
        raise ValueError("not sizes")
    return Evidence(found.run, found.agreement, side, card, pledge, sizes, meetings)


def _signatures(found: _Connection) -> Signatures:
    links = bytes.fromhex(found.links)
    if len(links) % LINK:
        raise ValueError("not links")
    seals, heard = ([decode_seal(bytes.fromhex(one)) for one in some] for some in (found.seals, found.heard))
    each = [links[at : at + LINK] for at in range(0, len(links), LINK)]
    return Signatures(each, seals, heard, workers=bytes.fromhex(found.workers))
