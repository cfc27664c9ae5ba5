"""The journal of a run in a file: the answers of its steps, appended one by one, read again in their order.

    accord journal 1\\n
    for each answer:
      8   its length, little-endian
      8   a checksum of it
      8   a checksum of these two, of the tag and of the number of the answer
      …   the answer

The invariant: no answer that was kept is ever taken away, but for a share that both make anew (`meet`), and
none is believed that is not what was kept. An answer counts once it is synced. So at the end of the file
there may be the beginning of one that never counted, since its writing was cut: its head, which is right,
says that more was to come; or its head or its last block never reached the disk and is zeros. That tail is
dropped, and the user is told. Whatever else does not fit is damage, wherever it stands: the file is left as
it is, and the user is told where and what to do.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from accord.errors import DamagedError, PeerError, StateError
from accord.protocols.parts.journal import Answer, unfit
from accord.secure.party import Buffer

TAG = b"accord journal 1\n"
BROKEN = "Restore it from a copy, or start a new run; under the same snapshot it spends nothing again."
_HEAD = struct.Struct("<Q8s")
_SUM = 8
_HEAD_SIZE = _HEAD.size + _SUM
_PIECE = 1 << 20
_BLOCK = 512
"""What a disk writes whole or not at all."""


@dataclass(frozen=True)
class Contents:
    """Where a journal's answers are."""

    starts: list[int]
    """Of each answer, behind its head; and then where the next head would be."""
    ends: list[int]
    """Of the tag, and of each answer."""
    torn: int
    """Bytes behind the last that never counted."""


class FileJournal:
    """A journal to go on with. *Requires*: the run is locked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.fdopen(os.open(path, os.O_RDWR), "r+b", buffering=0)
            with _close_on_failure(self._file):
                found = scan(self._file)
                if found.torn:
                    self._file.truncate(found.ends[-1])
                    os.fsync(self._file.fileno())
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from None
        self._starts, self._ends = found.starts, found.ends
        self.torn = found.torn
        """Bytes of an answer whose writing was cut, which were dropped."""
        self._next = 0
        self._shared = self.steps
        """The steps that the partner has kept, too."""

    @property
    def steps(self) -> int:
        """How many answers are kept."""
        return len(self._ends) - 1

    def first(self) -> bytes | None:
        """The answer of the first step, the partner's commitments."""
        return bytes(self._read(0)) if self.steps else None

    def meet(self, partner_steps: int, at_once: int = 1, anew: bool = False) -> None:
        """Go on where both sides are; the partner may be as many steps behind or ahead as can have been under
        way, see `journal.py`. `anew`: the last step of who is ahead is made anew, and its answer dropped."""
        if abs(partner_steps - self.steps) > at_once:
            raise unfit()
        self._shared = min(self.steps, partner_steps)
        if anew and self.steps > self._shared:
            del self._starts[self._shared :], self._ends[self._shared + 1 :]
            self._file.truncate(self._ends[-1])
            os.fsync(self._file.fileno())

    @property
    def again(self) -> int:
        return self.steps - self._next

    def recall(self) -> Buffer | None:
        if self._next >= self._shared:
            return None
        self._next += 1
        return self._read(self._next - 1)

    def keep(self, answer: Answer) -> None:
        """Append and sync; a step that is done again must have the answer that it had."""
        if self._next < self.steps:
            if not self._same(self._next, answer):
                raise PeerError(problem="another answer than before the connection was cut")
        else:
            self._append(answer)
        self._next += 1

    def close(self) -> None:
        self._file.close()

    def _append(self, answer: Answer) -> None:
        start = self._ends[-1]
        head = _encode_head(self.steps, sum(map(len, answer)), _checksum(answer))
        try:
            self._file.seek(start)
            for part in (head, *answer):
                left = memoryview(part)
                # A disk that is nearly full takes a part and says so only the next time.
                while len(left):
                    left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            mend = "Make room; then continue with `accord resume`."
            raise StateError(path=self._path, reason=error.strerror, mend=mend) from None
        self._starts.append(start + len(head))
        self._ends.append(start + len(head) + sum(map(len, answer)))

    def _same(self, number: int, answer: Answer) -> bool:
        """Whether this is the answer that was kept; in pieces, since both may be long."""
        at, stop = self._starts[number], self._ends[number + 1]
        if sum(map(len, answer)) != stop - at:
            return False
        for part in answer:
            for piece in _pieces(self._file, at, at + len(part)):
                if piece != memoryview(part)[: len(piece)]:
                    return False
                part = memoryview(part)[len(piece) :]
                at += len(piece)
        return True

    def _read(self, number: int) -> Buffer:
        start, stop = self._starts[number], self._ends[number + 1]
        body = bytearray(stop - start)
        at = 0
        for piece in _pieces(self._file, start, stop):
            body[at : at + len(piece)] = piece
            at += len(piece)
        self._file.seek(start - _HEAD_SIZE)
        head = self._file.read(_HEAD_SIZE)
        if at != len(body) or head != _encode_head(number, len(body), _checksum((body,))):
            raise unreadable(self._path, _damaged(number, start))
        return body


def unreadable(path: Path, error: Exception) -> StateError:
    """What is told of a journal that cannot be used: what is damaged, and what to do."""
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        return StateError(path=path, reason=error.strerror, mend="See that you may read it; then run again.")
    reason = "it is missing" if isinstance(error, OSError) else str(error)
    return DamagedError(path=path, reason=reason, mend=BROKEN)


def scan(file: BinaryIO) -> Contents:
    """Find every answer and check it; raises ValueError, which says what is damaged."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(len(TAG)) != TAG:
        raise ValueError("it does not begin as a journal does")
    starts: list[int] = []
    ends = [len(TAG)]
    while ends[-1] + _HEAD_SIZE <= size and not _is_torn(file, len(starts), ends[-1], size):
        file.seek(ends[-1])
        length, _ = _HEAD.unpack(file.read(_HEAD.size))
        starts.append(ends[-1] + _HEAD_SIZE)
        ends.append(starts[-1] + length)
    return Contents(starts, ends, size - ends[-1])


def _is_torn(file: BinaryIO, number: int, at: int, size: int) -> bool:
    """Whether what begins here never counted; raises unless that, or the answer, is certain."""
    file.seek(at)
    found = file.read(_HEAD_SIZE)
    start = at + len(found)
    length, checksum = _HEAD.unpack(found[: _HEAD.size])
    if found != _encode_head(number, length, checksum):
        if _zeros(file, start - _SUM, size):
            return True
        raise _damaged(number, at)
    if length > size - start:
        return True
    stop = start + length
    digest = hashlib.sha256()
    for piece in _pieces(file, start, stop):
        digest.update(piece)
    if digest.digest()[:_SUM] == checksum:
        return False
    if stop == size and _zeros(file, max(start, (size - 1) // _BLOCK * _BLOCK), size):
        return True
    raise _damaged(number, at)


def _damaged(number: int, at: int) -> ValueError:
    return ValueError(f"the answer of step {number + 1}, at byte {at:,}, is damaged")


def _encode_head(number: int, length: int, checksum: bytes) -> bytes:
    head = _HEAD.pack(length, checksum)
    return head + _checksum((TAG, number.to_bytes(8, "little"), head))


def _checksum(parts: Answer) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()[:_SUM]


def _pieces(file: BinaryIO, start: int, stop: int) -> Iterator[bytes]:
    """The bytes between two places, a piece at a time; less if the file ends before."""
    while start < stop:
        file.seek(start)
        piece = file.read(min(_PIECE, stop - start))
        if not piece:
            return
        yield piece
        start += len(piece)


def _zeros(file: BinaryIO, start: int, stop: int) -> bool:
    return not any(piece.strip(b"\0") for piece in _pieces(file, start, stop))


@contextmanager
def _close_on_failure(file: BinaryIO) -> Iterator[None]:
    """Close the file if what is done with it fails."""
    try:
        yield
    except BaseException:
        file.close()
        raise
