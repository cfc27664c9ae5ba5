"""What travels inside the encrypted connection: frames. `docs/wire.md` is the same in words.

    8 bytes   little-endian: the kind in the highest byte, the length of the body in the other seven
    body      as many bytes

A MESSAGE is what a party sends; its length is known to the receiver before it comes. A PING has no body and
says that the sender is alive and works. A STOP has one byte, the reason, and ends the connection. Reasons are
a closed list: a partner that stops can put nothing else into what its partner reads.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from accord.errors import Ending, PeerError

HEADER = 8
_WORD = struct.Struct("<Q")
_LENGTH = (1 << 56) - 1


class Kind(IntEnum):
    """The kinds of frames."""

    MESSAGE = 1
    PING = 2
    STOP = 3


class Reason(IntEnum):
    """Why a party stopped."""

    LEDGER = 1
    DATA = 2
    INTERRUPTED = 3
    PROTOCOL = 4
    REFUSED = 5
    FAULT = 6
    STATE = 7
    WORKER = 8
    BOUND = 9
    NO_TABLE = 10
    UNEQUAL = 11
    OLDER = 12

    @property
    def words(self) -> str:
        return _WORDS[self]

    @property
    def ends(self) -> Ending:
        """What a run that stops for it ends by for good."""
        return _ENDS.get(self, "")


_WORDS = {
    Reason.LEDGER: "its ledger refuses the run",
    Reason.DATA: "its data or its output cannot be used",
    Reason.INTERRUPTED: "it was interrupted",
    Reason.PROTOCOL: "it received something from here that does not fit the protocol",
    Reason.REFUSED: "it refuses this connection",
    Reason.FAULT: "something unexpected went wrong there",
    Reason.STATE: "its stored run does not fit this one",
    Reason.WORKER: "one of its workers ended",
    Reason.BOUND: "more of its records match than the agreement lets it show",
    Reason.NO_TABLE: "by chance, no table holds its values",
    Reason.UNEQUAL: "what the two sides computed is not the same",
    Reason.OLDER: "your state is older than one that it saw",
}

_ENDS: dict[Reason, Ending] = {
    Reason.BOUND: "most_matches",
    Reason.NO_TABLE: "no_table",
    Reason.UNEQUAL: "unequal",
}


@dataclass(frozen=True)
class Frame:
    """A frame's header."""

    kind: Kind
    length: int


def encode_header(kind: Kind, length: int) -> bytes:
    """The eight bytes before a body."""
    if not 0 <= length <= _LENGTH:
        raise ValueError("a frame holds up to 2^56 - 1 bytes")
    return _WORD.pack(kind << 56 | length)


def decode_header(header: bytes | bytearray) -> Frame:
    """The kind and the length that eight bytes announce."""
    (word,) = _WORD.unpack(header)
    try:
        frame = Frame(Kind(word >> 56), word & _LENGTH)
    except ValueError:
        raise PeerError(problem="a frame of an unknown kind") from None
    if frame.length != {Kind.PING: 0, Kind.STOP: 1}.get(frame.kind, frame.length):
        raise PeerError(problem="a ping or a stop of a wrong length")
    return frame


def decode_reason(body: bytes | bytearray) -> Reason:
    """The reason of a STOP."""
    try:
        return Reason(body[0])
    except ValueError:
        raise PeerError(problem="a stop for an unknown reason") from None
