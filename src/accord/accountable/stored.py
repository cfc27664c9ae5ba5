"""What an accountable run keeps so that it can be replayed.

In the database, with the run (runs.py):

    seed              the seed with its salts                                              (seed.py)
    noise             what the slots were padded with, as it was drawn
    pledges           both sides' signed commitments
    card-A, card-B    the cards that they are signed with
    opening-N         both hellos of attempt N; each that went beyond the hellos is one
    certificates-N    those of the own workers in it, which are drawn from the system

In files that grow, in `record/N/` of the run's folder, with 0 for the connection of the coordinators and else
the number of a worker:

    0.received        the messages that were received, each behind its length and its link of the chain, which
                      tells whether it is what was received
    0.sent            a link of the chain for each message that was sent
    0.seals           the signatures that were given (g) and taken (t)                     (transcript.py)

A file grows as messages come: each was handed to the system before anything that follows from it is sent or
kept. So a process that is killed loses nothing; a machine whose power fails may, and its record then says
that it is incomplete.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from accord.accountable.transcript import LINK, Chain, Seal
from accord.errors import StateError
from accord.secure.party import Buffer
from accord.side import Side
from accord.state.files import make_folder
from accord.state.runs import StoredRun

_RECEIVED = b"accord received 1\n"
_SENT = b"accord sent 1\n"
_SEALS = b"accord seals 1\n"
_OPENING = b"accord opening 1\n"
_CERTIFICATES = b"accord certificates 1\n"
_LENGTH = struct.Struct("<Q")
_HEAD = struct.Struct("<Q32s")
_SEAL = struct.Struct("<Q32sQ32s64s")
_GIVEN, _TAKEN = b"g", b"t"
_BUFFER = 1 << 16
_MEND = "Make room; then continue with `accord resume`."


@dataclass(frozen=True)
class StoredAttempt:
    """One attempt at a run that went beyond the hellos."""

    run: StoredRun
    number: int

    @property
    def folder(self) -> Path:
        """Where its transcripts are."""
        return self.run.path / "record" / f"{self.number:04d}"

    def hellos(self) -> dict[Side, bytes]:
        """Both hellos, as they were said; raises ValueError if they cannot be read."""
        content = self.run.read(f"opening-{self.number}")
        body = content[len(_OPENING) :]
        if not content.startswith(_OPENING) or len(body) % 2 or not body:
            raise ValueError("not an opening")
        return {Side.A: body[: len(body) // 2], Side.B: body[len(body) // 2 :]}

    def keep_certificates(self, cards: list[bytes]) -> None:
        """Keep those of the own workers."""
        content = _CERTIFICATES + b"".join(_LENGTH.pack(len(card)) + card for card in cards)
        self.run.keep({f"certificates-{self.number}": content})

    def certificates(self) -> list[bytes]:
        """The same again; none where the attempt had no workers. Raises ValueError."""
        name = f"certificates-{self.number}"
        if name not in self.run.names():
            return []
        content, cards = self.run.read(name), list[bytes]()
        if not content.startswith(_CERTIFICATES):
            raise ValueError("not certificates")
        content = content[len(_CERTIFICATES) :]
        while content:
            (length,) = _LENGTH.unpack_from(content.ljust(_LENGTH.size, b"\0"))
            cards.append(content[_LENGTH.size : _LENGTH.size + length])
            content = content[_LENGTH.size + length :]
        return cards


def attempts(run: StoredRun) -> list[StoredAttempt]:
    """All attempts that began, in their order."""
    found = (name.partition("opening-") for name in run.names())
    return [
        StoredAttempt(run, number)
        for number in sorted(int(rest) for before, tag, rest in found if tag and not before)
    ]


def new_attempt(run: StoredRun, hellos: dict[Side, bytes]) -> StoredAttempt:
    """An attempt with these hellos. *Requires*: the run is locked."""
    # A folder without an opening was left by one that was killed between the two.
    folders = (int(path.name) for path in (run.path / "record").glob("[0-9]*"))
    made = StoredAttempt(run, max([0, *folders, *(one.number for one in attempts(run))]) + 1)
    make_folder(made.folder.parent)
    make_folder(made.folder)
    run.keep({f"opening-{made.number}": _OPENING + hellos[Side.A] + hellos[Side.B]})
    return made


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

    def received(self, message: Buffer, link: bytes) -> None:
        head = _HEAD.pack(len(message), link)
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

    def received(self, chain: Chain) -> Iterator[bytes]:
        """The messages that were received, up to the last whole one; none where nothing was begun. Raises
        ValueError at the first that is not what was received, by the chain that it is a link of."""
        path = self._path("received")
        if not path.exists():
            return
        with path.open("rb") as file:
            _require_tag(file.read(len(_RECEIVED)), _RECEIVED)
            left = path.stat().st_size - len(_RECEIVED)
            while left >= _HEAD.size:
                length, link = _HEAD.unpack(file.read(_HEAD.size))
                left -= _HEAD.size + length
                if left < 0:
                    return
                message = file.read(length)
                if chain.add(message) != link:
                    raise ValueError("not what was received")
                yield message

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
