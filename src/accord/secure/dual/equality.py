"""Whether both sides of a dual execution came to the same, and only then what it is.

Each side has a digest h over all pairs, of the labels of z in what A garbled and in what B garbled: one of
each it evaluated, and the other it looks up for the z that it decoded. The digests are equal exactly if both
decoded the same z everywhere and both evaluated labels that belong to it.

    A → B   choices of 256 OTs, the bits of A's h, checked: A has rows t, B has q and q ⊕ Δ
    B → A   s, the hash of B's h and of the rows that belong to it
            A hashes its own h and rows: if that is not s, the run ends
    A → B   h, which B compares with its own; A's masks, and a hash of their labels in what B garbled
    B → A   B's masks, and a hash of their labels in what A garbled

**A that cheats** has one choice in each OT (`transfer/checked.py`), so it holds the rows of one digest. If
that is B's, it finds s right. If not, s is the hash of at least one row that lies Δ away from one it holds,
and so a random string to it: whatever it tries later, it learns of B's digest that it is not the one. **B
that cheats** learns nothing by the choices, and one s fits one digest of A, by the collisions that SHA-256
does not have: h is hashed itself, since rows tell h only if Δ, which B alone chose, is not zero. That A goes
on tells that it is A's, that A ends tells that it is not. So either has one guess at the other's digest and
one bit in return. Whoever guesses wrongly shows itself; and to hang up after s, or after A's masks, closes
the run as well: by then the partner may know.

Masks are opened by their labels: to open another bit takes the other label, which lies Δ away.

No group and no assumption beside those of the OTs and SHA-256 as a random oracle.
"""

from __future__ import annotations

import hashlib
from hmac import compare_digest
from typing import Any

import numpy as np

from accord.errors import ConnectionLostError, StoppedError, UnequalError, UnfairError
from accord.secure.dual.batch import Masked
from accord.secure.dual.labels import Bits, Labels, Words, times
from accord.secure.garbled.batch import give_labels, label_bytes, take_labels
from accord.secure.party import Party, Send, receive
from accord.secure.transfer.packing import bits_from_wire, bits_to_wire
from accord.secure.transfer.setup import Session
from accord.side import Side

DIGEST = 32
ROUNDS = 4
_BITS = 8 * DIGEST
_TAG = b"accord/dual/test/2 "
_PIECE = 1 << 16


def opened_bytes(pairs: int, rate: int) -> int:
    """Bytes of a test and of the masks that follow it, in both directions."""
    return label_bytes(_BITS, rate) + 4 * DIGEST + 2 * -(-pairs // 8)


def _hash(what: bytes, number: int) -> Any:
    return hashlib.sha256(_TAG + what + number.to_bytes(8, "little"))


class Results:
    """What one side has of all pairs, in the order of the batches, until they are opened."""

    def __init__(self, session: Session, labels: Labels, number: int) -> None:
        """`number`: of the test in its session."""
        self._session, self._own, self._number = session, labels, number
        self._bits = np.empty(len(labels.masks), dtype=np.uint8)
        self._labels = _hash(b"labels", number)

    def add(self, batch: Masked, pairs: slice) -> None:
        """Take the next batch."""
        self._bits[pairs] = batch.bits
        for side in Side:
            self._labels.update(np.ascontiguousarray(batch.labels[side], "<u8"))

    def open(self) -> Party[Bits]:
        """The answers. Raises, before a mask of this side is sent, unless both have the same digest; and
        unless the partner's masks are those with which it evaluated."""
        digest = self._labels.digest()
        if self._session.side is Side.A:
            yield from self._ask(digest)
            yield Send(digest + self._opening())
            try:
                theirs = self._read((yield from _answer_to_secrets(self._opening_size)))
            except UnequalError:
                raise UnfairError() from None
        else:
            yield from self._answer(digest)
            message = yield from _answer_to_secrets(DIGEST + self._opening_size)
            self._require(message[:DIGEST].tobytes(), digest)
            theirs = self._read(message[DIGEST:])
            yield Send(self._opening())
        return self._bits ^ self._own.masks ^ theirs

    def _ask(self, digest: bytes) -> Party[None]:
        """A's part: whether B has this digest."""
        rows = yield from take_labels(self._session, _bits(digest))
        said = (yield from receive(DIGEST)).tobytes()
        self._require(said, self._rows_digest(rows, digest))

    def _answer(self, digest: bytes) -> Party[None]:
        """B's part: the rows of its digest, hashed."""
        end = self._session.sender
        rows = yield from give_labels(end, _BITS)
        yield Send(self._rows_digest(rows ^ times(_bits(digest), end.delta), digest))

    def _require(self, said: bytes, expected: bytes) -> None:
        if not compare_digest(said, expected):
            raise UnequalError()

    def _rows_digest(self, rows: Words, digest: bytes) -> bytes:
        """With the digest itself: rows of a sender whose Δ is zero belong to any."""
        found = _hash(b"rows", self._number)
        found.update(digest)
        found.update(np.ascontiguousarray(rows, "<u8"))
        return bytes(found.digest())

    @property
    def _opening_size(self) -> int:
        return -(-len(self._bits) // 8) + DIGEST

    def _opening(self) -> bytes:
        """This side's masks, and the hash of their labels."""
        masks, none = self._own.masks, np.zeros(2, np.uint64)
        proof = self._proof(self._session.side, self._own.taken_masks, masks, none)
        return bits_to_wire(masks).tobytes() + proof

    def _read(self, message: Bits) -> Bits:
        """The partner's masks; raises unless it has their labels."""
        masks = bits_from_wire(message[:-DIGEST], len(self._bits)).astype(np.uint8)
        side, delta = self._session.side.other, self._session.sender.delta
        self._require(message[-DIGEST:].tobytes(), self._proof(side, self._own.given_masks, masks, delta))
        return masks

    def _proof(self, side: Side, rows: Words, masks: Bits, delta: Words) -> bytes:
        """The hash of rows ⊕ masks·Δ, some at a time."""
        found = _hash(b"masks of " + side.value.encode(), self._number)
        for first in range(0, len(masks), _PIECE):
            some = slice(first, first + _PIECE)
            found.update(np.ascontiguousarray(rows[some] ^ times(masks[some], delta), "<u8"))
        return bytes(found.digest())


def _answer_to_secrets(size: int) -> Party[Bits]:
    """What comes after this side has sent what the partner can learn from: to hang up now is no way out."""
    try:
        return (yield from receive(size))
    except (ConnectionLostError, StoppedError) as error:
        if isinstance(error, StoppedError) and error.ends:
            raise
        raise UnfairError() from None


def _bits(digest: bytes) -> Bits:
    return np.unpackbits(np.frombuffer(digest, dtype=np.uint8), bitorder="little")
