"""What an accountable run keeps on disk so that it can be replayed: 0600, in the run's folder.

    seed              the seed with its salts                                              (seed.py)
    noise             what the slots were padded with, as it was drawn
    pledges           both sides' signed commitments
    card-A, card-B    the cards that they are signed with
    record/0001/      one attempt; each that went beyond the hellos has a folder of its own
      opening         both hellos
      badges          the certificates of the own workers, which are drawn from the system
      N.received      the messages that were received, each behind its length
      N.sent          a link of the chain for each message that was sent
      N.seals         the signatures that were given (g) and taken (t)                     (transcript.py)

N is 0 for the connection of the coordinators and else the number of a worker. A file grows as messages come:
each was handed to the system before anything that follows from it is sent or kept. So a process that is
killed loses nothing; a machine whose power fails may, and its record then says that it is incomplete.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from accord.accountable.transcript import LINK, Seal
from accord.errors import StateError
from accord.secure.party import Buffer
from accord.side import Side
from accord.state.folder import make_folder, write_private

_RECEIVED = b"accord received 1\n"
_SENT = b"accord sent 1\n"
_SEALS = b"accord seals 1\n"
_OPENING = b"accord opening 1\n"
_BADGES = b"accord badges 1\n"
_LENGTH = struct.Struct("<Q")
_SEAL = struct.Struct("<Q32sQ32s64s")
_GIVEN, _TAKEN = b"g", b"t"
_BUFFER = 1 << 16
_MEND = "Make room; then continue with `accord resume`."


def attempts(run: Path) -> list[Path]:
    """The folders of all attempts that began, in their order."""
    return [path for path in _folders(run) if (path / "opening").exists()]


def _folders(run: Path) -> list[Path]:
    return sorted((path for path in (run / "record").glob("[0-9]*") if path.is_dir()), key=_number)


def _number(folder: Path) -> int:
    return int(folder.name)


def new_attempt(run: Path, hellos: dict[Side, bytes]) -> tuple[int, Path]:
    """The number and the folder of an attempt with these hellos. *Requires*: the run is locked."""
    number = max(map(_number, _folders(run)), default=0) + 1
    folder = run / "record" / f"{number:04d}"
    make_folder(folder.parent)
    make_folder(folder)
    write_private(folder / "opening", _OPENING + hellos[Side.A] + hellos[Side.B])
    return number, folder


def read_opening(folder: Path) -> dict[Side, bytes]:
    """Both hellos of an attempt; raises ValueError if they cannot be read."""
    content = (folder / "opening").read_bytes()
    body = content[len(_OPENING) :]
    if not content.startswith(_OPENING) or len(body) % 2 or not body:
        raise ValueError("not an opening")
    return {Side.A: body[: len(body) // 2], Side.B: body[len(body) // 2 :]}


@dataclass(frozen=True)
class WorkerSigning:
    """What a worker is given of an attempt."""

    number: int
    """Of its connection, from 1 on."""
    meeting: str
    key: str
    """Of its connection, in hex, like the meeting. Secret."""
    folder: str

    def __repr__(self) -> str:
        return f"WorkerSigning({self.number})"


def keep_certificates(folder: Path, cards: list[bytes]) -> None:
    """Keep the certificates of the own workers, in the file `badges`."""
    write_private(folder / "badges", _BADGES + b"".join(_LENGTH.pack(len(card)) + card for card in cards))


def read_certificates(folder: Path) -> list[bytes]:
    """The certificates of the own workers in an attempt; none where it had no workers."""
    path = folder / "badges"
    if not path.exists():
        return []
    content, cards = path.read_bytes(), list[bytes]()
    if not content.startswith(_BADGES):
        raise ValueError("not badges")
    content = content[len(_BADGES) :]
    while content:
        (length,) = _LENGTH.unpack_from(content)
        cards.append(content[_LENGTH.size : _LENGTH.size + length])
        content = content[_LENGTH.size + length :]
    return cards


class TranscriptFiles:
    """Keeps the transcript of one connection in three files; use it as a context."""

    def __init__(self, folder: Path, connection: int) -> None:
        self._folder = folder
        with self._told(), ExitStack() as files:
            at = folder / str(connection)
            # Not buffered: what the journal has kept must be here, too, if this process is killed.
            self._received = files.enter_context(_create(at.with_suffix(".received"), _RECEIVED, 0))
            self._sent = files.enter_context(_create(at.with_suffix(".sent"), _SENT))
            self._seals = files.enter_context(_create(at.with_suffix(".seals"), _SEALS))
            self._files = files.pop_all()

    def __enter__(self) -> TranscriptFiles:
        return self

    def __exit__(self, *_: object) -> None:
        # On a disk that is full the rest cannot be written, and that was told before.
        with suppress(OSError):
            self._files.close()

    def sent(self, link: bytes) -> None:
        with self._told():
            self._sent.write(link)

    def received(self, message: Buffer) -> None:
        head = _LENGTH.pack(len(message))
        few = len(message) < _BUFFER
        with self._told():
            for part in (head + bytes(message),) if few else (head, message):
                left = memoryview(part)
                # A disk that is nearly full takes a part and says so only the next time.
                while len(left):
                    left = left[self._received.write(left) :]

    def gave(self, seal: Seal) -> None:
        with self._told():
            self._seals.write(_GIVEN + encode_seal(seal))
            self._sent.flush()
            self._seals.flush()

    def took(self, seal: Seal) -> None:
        with self._told():
            self._seals.write(_TAKEN + encode_seal(seal))
            self._seals.flush()

    def _told(self) -> _Told:
        return _Told(self._folder)


@dataclass(frozen=True)
class _Told:
    """What fails on the disk is told as what it is."""

    folder: Path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise StateError(path=self.folder, reason=error.strerror, mend=_MEND) from None


def _create(path: Path, tag: bytes, buffer: int = _BUFFER) -> BinaryIO:
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, 0o600)
    file: BinaryIO = os.fdopen(handle, "wb", buffering=buffer)
    file.write(tag)
    file.flush()
    return file


def encode_seal(seal: Seal) -> bytes:
    """A seal in its 144 bytes."""
    return _SEAL.pack(seal.sent, seal.sent_link, seal.received, seal.received_link, seal.signature)


def decode_seal(content: bytes) -> Seal:
    """The seal in these bytes; raises ValueError."""
    if len(content) != _SEAL.size:
        raise ValueError("not a seal")
    return Seal(*_SEAL.unpack(content))


@dataclass(frozen=True)
class StoredTranscript:
    """The record of one connection, to be read."""

    folder: Path
    number: int

    @property
    def there(self) -> bool:
        return self._path("seals").exists()

    def sent(self) -> list[bytes]:
        """The links of the messages that were sent."""
        content = self._read("sent", _SENT)
        return [content[at : at + LINK] for at in range(0, len(content) - LINK + 1, LINK)]

    def seals(self) -> tuple[list[Seal], list[Seal]]:
        """Those that were given, and those that were taken."""
        content, size = self._read("seals", _SEALS), 1 + _SEAL.size
        found: dict[bytes, list[Seal]] = {_GIVEN: [], _TAKEN: []}
        for at in range(0, len(content) - size + 1, size):
            kind = content[at : at + 1]
            if kind not in found:
                raise ValueError("not a record of seals")
            found[kind].append(decode_seal(content[at + 1 : at + size]))
        return found[_GIVEN], found[_TAKEN]

    def received(self) -> Iterator[bytes]:
        """The messages that were received, up to the last whole one; none where nothing was begun."""
        path = self._path("received")
        if not path.exists():
            return
        with path.open("rb") as file:
            _require_tag(file.read(len(_RECEIVED)), _RECEIVED)
            left = path.stat().st_size - len(_RECEIVED)
            while left >= _LENGTH.size:
                (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
                left -= _LENGTH.size + length
                if left < 0:
                    return
                yield file.read(length)

    def _path(self, kind: str) -> Path:
        return self.folder / f"{self.number}.{kind}"

    def _read(self, kind: str, tag: bytes) -> bytes:
        content = self._path(kind).read_bytes()
        _require_tag(content[: len(tag)], tag)
        return content[len(tag) :]


def _require_tag(found: bytes, tag: bytes) -> None:
    """Raise unless a file begins so; one that was killed at once may have a part of it and nothing else."""
    if not tag.startswith(found):
        raise ValueError("not a record of this version")
