"""Pledges: what both sides of an accountable run are committed to before the first byte that depends on data.

Each side sends two commitments, to its table and to its seed (seed.py), and signs them with the key of its
card. In a series its messages follow from more than its table: from the batch that each record is of, from
the counts that were released, and from what both sides have shown. That is the series as it stood when the
run began:

    looks    what every run so far has found in the table, and the noisy counts of its batch; of this run
             without the counts, which are drawn later and which the partner is told
    counts   the partner's, of the batches that have met before
    before   what both had disclosed to each other

The pledge is then to all of it, with the records that take part, in place of the table alone.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from accord.errors import PeerError
from accord.naming import fold_name
from accord.peer.identity import Card, sign, verify
from accord.protocols.parts.batches import (
    Look,
    encode_looks,
)
from accord.protocols.parts.standing import BatchMeeting
from accord.secure.party import Party, Send, receive
from accord.side import Side
from accord.state.folder import State

_PLEDGE_TAG = b"accord pledge 1\n"
_SERIES_TAG = b"accord pledged series 1\n"
_NUMBERS = struct.Struct("<5Q")
_PART = 32
_SIGNATURE = 64
PLEDGE = 2 * _PART + _SIGNATURE


@dataclass(frozen=True)
class Pledge:
    """A side's commitments for one run, and its signature. Public."""

    commitments: bytes
    signature: bytes

    @property
    def table(self) -> bytes:
        return self.commitments[:_PART]

    @property
    def seed(self) -> bytes:
        return self.commitments[_PART:]


def encode_pledge(pledge: Pledge) -> bytes:
    """A pledge in its 128 bytes."""
    return pledge.commitments + pledge.signature


def decode_pledge(content: bytes) -> Pledge:
    """The pledge in these bytes; whether it is signed, `require_pledge` says."""
    if len(content) != PLEDGE:
        raise ValueError("not a pledge")
    return Pledge(content[: 2 * _PART], content[2 * _PART :])


def require_pledge(pledge: Pledge, card: Card, run: str, agreement: str, side: Side) -> None:
    """Raise ValueError unless the owner of the card made this pledge for this run."""
    verify(card, pledge.signature, _pledged(run, agreement, side, pledge.commitments))


def _pledged(run: str, agreement: str, side: Side, commitments: bytes) -> bytes:
    return _PLEDGE_TAG + run.encode() + bytes.fromhex(agreement) + side.value.encode() + commitments


def exchange_pledges(
    state: State, side: Side, cards: dict[Side, Card], run: str, agreement: str, commitments: bytes
) -> Party[dict[Side, Pledge]]:
    """Pledge, and take the partner's pledge. *Learns*: nothing but that table and seed are fixed."""
    own = Pledge(commitments, sign(state, _pledged(run, agreement, side, commitments)))
    yield Send(encode_pledge(own))
    theirs = decode_pledge((yield from receive(PLEDGE)).tobytes())
    try:
        require_pledge(theirs, cards[side.other], run, agreement, side.other)
    except ValueError:
        raise PeerError(problem="commitments that it did not sign") from None
    return {side: own, side.other: theirs}


# -- in a series ---------------------------------------------------------------------------------------------


def digest_standing(name: str, looks: Sequence[Look], files: Mapping[str, bytes]) -> bytes:
    """A digest of a series as it stands; of the last look without its counts. Its time follows the table, so
    that is to be before a partner looks."""
    *earlier, last = looks
    if last.batch is not None:
        last = Look(replace(last.batch, counts=np.zeros_like(last.batch.counts)), last.gone)
    parts = fold_name(name).encode(), encode_looks([*earlier, last]), files["counts"], files["before"]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()


def digest_series(table: bytes, standing: bytes, run: int, meeting: BatchMeeting) -> bytes:
    """What is pledged: the records that take part, the series as it stands, and which run of it this is."""
    numbers = _NUMBERS.pack(run, *meeting.seen, *meeting.total)
    return hashlib.sha256(_SERIES_TAG + table + standing + numbers).digest()
