"""A copy of a state folder in one file. The way back is restore.py.

An uncompressed tar, 0600, which holds secrets: the key, noise, slots. Its members, in the order in which they
are copied while runs go on:

    state.sqlite        the database at one moment, by SQLite's own backup
    contents/DIGEST     what that names and does not hold itself
    identity.pem        the key and the card
    runs/RUN/…          journal and receipt of the runs that it keeps
    manifest            accord copy 1, a digest, and as JSON: when it was made, the head of the log, and the
                        size and the SHA-256 of every member

What is in `runs` may be longer than at that moment, which is as well: a run goes on from the furthest that it
has kept. Were it copied first, the log could say more than a journal has. Of a run that was not yet charged
at that moment the journal is empty, since what it holds by now follows from noise that the copy lacks.

The invariant: the log of a copy is whole. Whatever else is damaged is copied as it is, and told.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

from accord.errors import CopyOutputError, DamagedError, StateError, UnreadableError, UsageError
from accord.state.files import sync_folder
from accord.state.folder import State
from accord.state.journal import TAG as EMPTY_JOURNAL
from accord.state.journal import scan
from accord.state.log import START, Log, Position
from accord.state.register import KnownRun, Register, decode_entry

Advance = Callable[[int, int], None]
"""How many bytes were copied, of how many."""

MANIFEST = "manifest"
NAMES = re.compile(
    r"state\.sqlite|identity\.pem|manifest|contents/[0-9a-f]{64}|runs/[A-Za-z0-9][A-Za-z0-9._-]{0,63}/"
    r"(?:journal|receipt)"
)
"""What a member may be called."""
MOST_IDENTITY = 1 << 16
PIECE = 1 << 20
_TAG = b"accord copy 1\n"
_ANY_TAG = re.compile(rb"accord copy [0-9]{1,9}\n")
_DIGEST = re.compile("[0-9a-f]{64}")
_TRIES = 3


class Member(NamedTuple):
    """What a member of a copy was when it was copied."""

    size: int
    digest: str


@dataclass(frozen=True)
class CopyManifest:
    """What a copy says of itself."""

    made: datetime
    head: Position
    members: Mapping[str, Member]


@dataclass(frozen=True)
class Copied:
    """What went into a copy."""

    entries: int
    runs: int
    octets: int
    faults: tuple[str, ...]
    """What is damaged, there as here."""


def write_copy(
    state: State, path: Path, now: datetime, *, force: bool = False, advance: Advance = lambda *_: None
) -> Copied:
    """Copy a state folder into a file, whole or not at all, also while runs go on."""
    _require_place(state, path, force)
    try:
        # A folder of one's own: SQLite would make its file with the mode that the user's mask allows.
        with TemporaryDirectory(prefix=".accord-copy-", dir=path.parent) as beside:
            made, copied = _try(state, Path(beside), now, advance)
            os.replace(made, path)
            sync_folder(path.parent)
            return copied
    except OSError as error:
        raise CopyOutputError(path=path, reason=error.strerror or error) from error


def _try(state: State, beside: Path, now: datetime, advance: Advance) -> tuple[Path, Copied]:
    """Begin anew where a run is forgotten while it is copied."""
    for number in range(_TRIES):
        folder = beside / str(number)
        folder.mkdir()
        with suppress(FileNotFoundError):
            return folder / "copy.tar", _write(state, folder, now, advance)
    reason = "runs are forgotten faster than it can be copied"
    raise StateError(path=state.folder, reason=reason, mend="Copy it once that is over.")


def _require_place(state: State, path: Path, force: bool) -> None:
    if not any(state.folder.glob("*")):
        raise UsageError(problem=f"There is nothing to copy in {state.folder}.")
    if path.resolve().is_relative_to(state.folder.resolve()):
        raise UsageError(problem=f"{path} is in the state folder itself. Name a place elsewhere.")
    if path.is_dir():
        raise UsageError(problem=f"{path} is a folder. Name a file in it.")
    if path.exists() and not force:
        raise UsageError(problem=f"{path} already exists. Name another file, or replace it: `force=True`.")


def _write(state: State, beside: Path, now: datetime, advance: Advance) -> Copied:
    log = Log(beside)
    state.database.copy(log.path)
    try:
        register, _ = sum_up(log)
    except DamagedError as error:
        mend = "Nothing was copied. `accord state check` says what is damaged."
        raise DamagedError(path=state.database.path, reason=error.reason, mend=mend) from error
    handle = os.open(beside / "copy.tar", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    with os.fdopen(handle, "w+b") as file:
        total = _total(state)
        archive = _Archive(file, lambda octets: advance(min(octets, total), total))
        faults = _add_all(archive, state, log, register)
        archive.finish(now, register.position)
        octets = file.tell()
        file.flush()
        os.fsync(file.fileno())
    return Copied(register.position.number, len(list_kept(register)), octets, tuple(faults))


def _total(state: State) -> int:
    """About so much is to be copied: runs go on, and what they need for a while comes and goes."""
    total = 0
    for path in state.folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _add_all(archive: _Archive, state: State, log: Log, register: Register) -> list[str]:
    """Everything but the manifest; what is damaged in it."""
    faults = _add_file(archive, "state.sqlite", log.path, "the database")
    named, inside = register.contents(), set[str]()
    # Where the list cannot be read, each content that can be is found all the same.
    with suppress(DamagedError), log.reading() as transaction:
        inside, _ = transaction.list_contents()
    for digest in sorted(named.keys() - inside):
        _add_content(archive, state, digest)
    faults += find_faults(log, named, archive.members)
    if state.identity.exists():
        archive.add_bytes("identity.pem", state.identity.read_bytes()[:MOST_IDENTITY])
    for run in list_kept(register):
        faults += _add_run(archive, state, register, run.name)
    return faults


def _add_content(archive: _Archive, state: State, digest: str) -> None:
    """A content that is a file; that it is missing or damaged is told later."""
    try:
        _add_file(archive, f"contents/{digest}", state.folder / "contents" / digest, "")
    except FileNotFoundError:
        with state.database.reading() as now:
            named = digest in now.register.contents()
        if not named:
            raise


def _add_run(archive: _Archive, state: State, register: Register, run: str) -> list[str]:
    """What grows with a run; what is damaged in it. Raises `FileNotFoundError` if it was just forgotten."""
    place, folder, what = f"runs/{run}", state.run(run), f"the journal of the run {run}"
    if register.runs[run].charged is None:
        archive.add_bytes(f"{place}/journal", EMPTY_JOURNAL)
        return []
    try:
        faults = _add_file(archive, f"{place}/journal", folder / "journal", what)
        with (folder / "journal").open("rb") as file:
            scan(file)
    except FileNotFoundError:
        with state.database.reading() as now:
            kept = now.register.runs[run].kept
        if not kept:
            raise
        faults = [f"{what} is missing"]
    except (OSError, ValueError) as error:
        faults = [f"{what} is damaged: {error}"]
    if (folder / "receipt").exists():
        faults += _add_file(archive, f"{place}/receipt", folder / "receipt", f"receipt of the run {run}")
    return faults


def _add_file(archive: _Archive, name: str, path: Path, what: str) -> list[str]:
    """Add a file as far as it can be read; raises `FileNotFoundError`."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        return [f"{what} cannot be read: {error.strerror}"]
    with file:
        problem = archive.add(name, file, os.fstat(file.fileno()).st_size)
    return [f"{what} cannot be read to its end: {problem}"] if problem else []


def list_kept(register: Register) -> list[KnownRun]:
    """The runs that have folders."""
    return [run for run in register.runs.values() if run.kept and run.begun]


def sum_up(log: Log) -> tuple[Register, dict[int, bytes]]:
    """What a log adds up to, and its links; raises `DamagedError`."""
    register, links = Register(), dict[int, bytes]()
    try:
        with log.reading() as transaction:
            for number, link, body in transaction.entries(START):
                register.apply(decode_entry(body))
                links[number] = link
            register.position = transaction.head
        # Reads what is only read when somebody asks.
        register.contents()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        reason = "its log says what no version of Accord wrote"
        raise DamagedError(path=log.path, reason=reason, mend="") from None
    return register, links


def find_faults(log: Log, named: Mapping[str, str], members: Mapping[str, Member]) -> list[str]:
    """What is damaged of the contents that a database names, in it or as members."""
    found, database = list[str](), "SQLite finds in the database"
    # Each in a transaction of its own: what SQLite cannot read ends it.
    try:
        with log.reading() as transaction:
            found += [f"{database}: {problem}" for problem in transaction.inspect()]
    except DamagedError as error:
        found.append(f"{database}: {error.reason}")
    for digest, what in named.items():
        member = members.get(f"contents/{digest}")
        if member is not None and member.digest != digest:
            found.append(f"{what} is not what was written")
        elif member is None:
            try:
                with log.reading() as transaction:
                    transaction.content(digest, what)
            except DamagedError as error:
                reason = str(error.reason)
                found.append(reason if reason.startswith(what) else f"{what} cannot be read: {reason}")
    return found


class _Archive:
    """A tar that is being written."""

    def __init__(self, file: BinaryIO, tick: Callable[[int], None]) -> None:
        """`tick` is told how many bytes it has."""
        self._file, self._tick = file, tick
        self.members: dict[str, Member] = {}

    def add_bytes(self, name: str, content: bytes) -> None:
        self.add(name, io.BytesIO(content), len(content))

    def add(self, name: str, source: BinaryIO, size: int) -> str:
        """Add a member of at most so many bytes; why it could not be read so far, if it could not."""
        start, digest, done, problem = self._file.tell(), hashlib.sha256(), 0, ""
        self._file.write(bytes(tarfile.BLOCKSIZE))
        while done < size:
            try:
                piece = source.read(min(PIECE, size - done))
            except OSError as error:
                problem = str(error.strerror)
                break
            if not piece:
                break
            self._file.write(piece)
            digest.update(piece)
            done += len(piece)
            self._tick(self._file.tell())
        self._file.write(bytes(-done % tarfile.BLOCKSIZE))
        self._write_head(start, name, done)
        self.members[name] = Member(done, digest.hexdigest())
        return problem

    def finish(self, made: datetime, head: Position) -> None:
        """Add the manifest, and the end."""
        self.add_bytes(MANIFEST, encode_copy_manifest(CopyManifest(made, head, dict(self.members))))
        self._file.write(bytes(2 * tarfile.BLOCKSIZE))

    def _write_head(self, start: int, name: str, size: int) -> None:
        """Only now: what is copied may grow, or be cut, meanwhile."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        # One has room for long files, the other for long names.
        long = len(name) > tarfile.LENGTH_NAME
        self._file.seek(start)
        self._file.write(info.tobuf(tarfile.USTAR_FORMAT if long else tarfile.GNU_FORMAT, "ascii", "strict"))
        self._file.seek(0, os.SEEK_END)


def encode_copy_manifest(manifest: CopyManifest) -> bytes:
    """The manifest as bytes."""
    head = {"entries": manifest.head.number, "link": manifest.head.link.hex()}
    facts = {"made": manifest.made.isoformat(), **head, "members": manifest.members}
    body = json.dumps(facts, separators=(",", ":")).encode()
    return _TAG + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def decode_copy_manifest(content: bytes, path: Path) -> CopyManifest:
    """What `encode_copy_manifest` was given; `path` is the copy's, for whoever hears that it is none."""
    if not content.startswith(_TAG) and _ANY_TAG.match(content):
        reason, mend = "another version of Accord wrote it", "Use that one."
        raise UnreadableError(path=path, reason=reason, mend=mend)
    digest, _, body = content.removeprefix(_TAG).partition(b"\n")
    try:
        if not content.startswith(_TAG) or hashlib.sha256(body).hexdigest().encode() != digest:
            raise ValueError("not a manifest")
        facts = json.loads(body)
        members = {str(name): Member(size, digest) for name, (size, digest) in facts["members"].items()}
        if not all(type(size) is int and _DIGEST.fullmatch(digest) for size, digest in members.values()):
            raise ValueError("not a manifest")
        head = Position(int(facts["entries"]), bytes.fromhex(facts["link"]))
        return CopyManifest(datetime.fromisoformat(facts["made"]), head, members)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        reason, mend = "its manifest is not what was written", "Take another copy."
        raise DamagedError(path=path, reason=reason, mend=mend) from None
