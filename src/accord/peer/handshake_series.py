"""What two parties tell each other before a run of a series: where each of them stands.

    512 bytes: what the series is called; the number of this run; how many batches of A and of B have met; how
    many batches this side has now; a digest of all noisy counts of the batches that have met; how many of the
    partner's batches this side has ever had the counts of, in a run that was cut, too

All of it is the same on both sides but for the numbers of batches, or somebody has lost a run, restored an
old copy of its state, or means another series; then nobody draws or charges anything. A side of whose batches
the partner has heard more than it has ever drawn lost its state, and would draw one of them again. The
opening holds nothing that the partner has not seen.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError, RefusedError
from accord.naming import fold_name
from accord.protocols.series import MOST_BATCHES
from accord.secure.party import Party, Send, receive
from accord.side import Side

_MAGIC = b"series 1"
_NAME = 400
"""Bytes of a name of 100 characters, each of which takes at most 4."""
_FIELDS = struct.Struct(f"<8s{_NAME}sQQQQ32sQ")
_SIZE = 512
_COUNTS = b"accord series counts 1\n"


@dataclass(frozen=True)
class Opening:
    """Where a side stands."""

    name: str
    run: int
    """From 1 on, with this partner."""
    seen: tuple[int, int]
    """Batches of A and of B that have met."""
    total: int
    """Batches of this side."""
    counts: bytes
    """A digest of the counts of those that have met."""
    heard: int = 0
    """Batches of the partner whose counts were ever received."""
    drawn: int = 0
    """Batches of this side that were drawn before; this is not sent."""


def counts_digest(a: NDArray[np.int64], b: NDArray[np.int64]) -> bytes:
    """Of the noisy counts of A's and of B's batches that have met."""
    lengths = np.array([len(a), len(b)])
    return hashlib.sha256(
        _COUNTS + b"".join(part.astype("<i8").tobytes() for part in (lengths, a, b))
    ).digest()


def encode_opening(own: Opening) -> bytes:
    """An opening in its 512 bytes."""
    words = _FIELDS.pack(_MAGIC, own.name.encode(), own.run, *own.seen, own.total, own.counts, own.heard)
    return words.ljust(_SIZE, b"\0")


def decode_opening(content: bytes) -> Opening:
    """The opening in these bytes."""
    magic, name, run, a, b, total, counts, heard = _FIELDS.unpack_from(content)
    try:
        text = name.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        text = ""
    if magic != _MAGIC or not text.isprintable() or not text or any(content[_FIELDS.size :]):
        raise PeerError(problem="no opening of a series")
    return Opening(text, run, (a, b), total, counts, heard)


def exchange_openings(own: Opening, side: Side, partner: str) -> Party[int]:
    """Tell where this side stands; how many batches the partner has. Raises unless both stand at the same
    place."""
    yield Send(encode_opening(own))
    theirs = decode_opening((yield from receive(_SIZE)).tobytes())
    if fold_name(theirs.name) != fold_name(own.name):
        raise RefusedError(
            problem=f"{partner} calls the series '{theirs.name}', and you '{own.name}'. Both name the same "
            "with `series=`."
        )
    if theirs.run != own.run:
        behind, ahead = (partner, "you") if theirs.run < own.run else ("you", partner)
        raise RefusedError(
            problem=f"{partner} is at run {theirs.run:,} of the series '{own.name}', and you are at run "
            f"{own.run:,}. {_MEND.format(behind=behind, ahead=ahead)}"
        )
    if (theirs.seen, theirs.counts) != (own.seen, own.counts):
        raise RefusedError(
            problem=f"{partner} remembers other bin counts of the runs of '{own.name}' so far than you: one "
            "of you has another state than then. Restore it from its latest copy on that side; if it is "
            "lost, begin a series of another name, which is a new release and is charged."
        )
    if theirs.heard > own.drawn:
        raise RefusedError(
            problem=f"{partner} has had bin counts of {theirs.heard:,} of your batches of '{own.name}', but "
            f"your state knows {own.drawn:,}: it is an older copy, and would draw noise again that "
            f"{partner} has seen. Restore the latest copy; if there is none, begin a series of another name, "
            "which is a new release and is charged."
        )
    if not own.seen[0 if side is Side.B else 1] < theirs.total <= MOST_BATCHES:
        raise PeerError(problem="a number of batches that does not fit the series", partner=partner)
    return theirs.total


_MEND = (
    "If the last run was cut before both had its receipt, `accord resume` on both sides finishes it. "
    "Otherwise {behind} lost a run that {ahead} kept: restore the latest copy of that state; if there is "
    "none, begin a series of another name, which is a new release and is charged."
)
