"""What one run keeps on disk, so that it can go on after a cut: 0600, in a folder of its own.

    run.json    what the run is: agreement, partner, side, data set, sizes, files; and whether it is done
    slots       the slots with their salts, fixed for the run (their order is as secret as the noise)
    journal     the answers of the steps that are done, each synced before anything that follows is sent
    lock        held by the process that works on the run
    receipt     the receipt, once both sides have signed it
    output-key  the key of the receipt's digest of the output

Every file has a version; a tail of the journal that was cut off while it was written is dropped.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from accord.errors import PeerError, StateError, UsageError
from accord.protocols.slots import Slots
from accord.records.layout import Layout
from accord.session.connection import Reach
from accord.session.state import State, write_private

_VERSION = 1
_SLOTS = b"accord slots 1\n"
_JOURNAL = b"accord journal 1\n"
_RECORD = struct.Struct("<Q8s")
_BROKEN = "Restore it from a copy, or start a new run: `accord link` does not spend again on unchanged data."


@dataclass(frozen=True)
class Manifest:
    """What a run is. `data`, `out`, `listen` and `connect` are what `resume` takes where nothing is named."""

    run: str
    partner: str
    side: str
    dataset: str
    agreement: str
    """The agreement as TOML."""
    records: int
    partner_records: int
    table: str
    """The digest of the own table, in hex."""
    began: str
    data: str = ""
    layout: str = "{}"
    """How the data file is laid out, as JSON."""
    out: str = ""
    listen: str = ""
    connect: str = ""
    done: bool = False

    def source(self) -> Path:
        """Where the data was."""
        if not self.data:
            raise UsageError(problem=f"The run {self.run} was not given a file. Name the data with --data.")
        return Path(self.data)

    def read_layout(self) -> Layout:
        return Layout.from_json(self.layout)

    def reach(self, waits: Reach) -> Reach:
        """The way that the run took to its partner."""
        return replace(waits, listen=self.listen, connect=self.connect)


class Run:
    """One run's folder."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self.manifest = manifest

    @property
    def receipt(self) -> Path:
        return self._folder / "receipt"

    @property
    def output_key(self) -> Path:
        return self._folder / "output-key"

    @property
    def journal(self) -> FileJournal:
        return FileJournal(self._folder / "journal")

    def slots(self) -> Slots:
        """The slots that the run began with."""
        path = self._folder / "slots"
        try:
            return decode_slots(path.read_bytes())
        except (OSError, ValueError):
            raise StateError(path=path, reason="its slots cannot be read", mend=_BROKEN) from None

    def change(self, **changes: object) -> None:
        """Change what is known of the run."""
        self.manifest = replace(self.manifest, **changes)  # type: ignore[arg-type]
        _write_manifest(self._folder, self.manifest)

    def keep_receipt(self, content: bytes, key: bytes) -> None:
        """Keep the receipt and the key of its digest, and the run as done."""
        write_private(self.output_key, key)
        write_private(self.receipt, content)
        self.change(done=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run, so that no other process works on it."""
        path = self._folder / "lock"
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    problem=f"Another process works on the run {self.manifest.run}. Wait for it, or stop it."
                ) from None
            yield
        finally:
            os.close(handle)


def create_run(state: State, manifest: Manifest, slots: Slots) -> Run:
    """A new run on disk."""
    folder = state.create_run(manifest.run)
    write_private(folder / "slots", encode_slots(slots))
    write_private(folder / "journal", _JOURNAL)
    # Last: a run is there once its manifest is.
    _write_manifest(folder, manifest)
    return Run(folder, manifest)


def open_run(state: State, run: str) -> Run:
    """A run that is on disk."""
    folder = state.run(run)
    path = folder / "run.json"
    try:
        found = json.loads(path.read_bytes())
        if found.pop("version") != _VERSION:
            raise ValueError("another version")
        return Run(folder, Manifest(**found))
    except FileNotFoundError:
        raise UsageError(problem=f"There is no run '{run}' here. `accord runs` lists them.") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise StateError(path=path, reason="it cannot be read", mend=_BROKEN) from None


def runs(state: State) -> list[Run]:
    """All runs on disk, the latest first."""
    names = [path.parent.name for path in (state.folder / "runs").glob("*/run.json")]
    return sorted((open_run(state, name) for name in names), key=lambda r: r.manifest.began, reverse=True)


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    body = json.dumps({"version": _VERSION, **asdict(manifest)}, indent=1)
    write_private(folder / "run.json", body.encode())


def encode_slots(slots: Slots) -> bytes:
    """The slots as bytes, with a checksum in front."""
    lengths = struct.pack("<QQ", len(slots.counts), len(slots.record))
    body = lengths + slots.counts.astype("<i8").tobytes() + slots.record.astype("<i8").tobytes()
    body += slots.salt + slots.table
    return _SLOTS + hashlib.sha256(body).digest() + body


def decode_slots(content: bytes) -> Slots:
    """The slots in these bytes; raises ValueError unless `encode_slots` wrote them."""
    start = len(_SLOTS) + 32
    body = content[start:]
    if content[:start] != _SLOTS + hashlib.sha256(body).digest():
        raise ValueError("not slots, or damaged")
    bins, count = struct.unpack_from("<QQ", body)
    counts = np.frombuffer(body, "<i8", bins, 16).astype(np.int64)
    record = np.frombuffer(body, "<i8", count, 16 + 8 * bins).astype(np.int64)
    rest = body[16 + 8 * (bins + count) :]
    if len(rest) != 96:
        raise ValueError("not slots")
    return Slots(counts, record, rest[:64], rest[64:])


class FileJournal:
    """The answers of a run in a file, appended one by one and read again in their order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.fdopen(os.open(path, os.O_RDWR), "r+b", buffering=0)
            self._ends = self._scan()
            # What was cut off while it was written never counted.
            self._file.truncate(self._ends[-1])
        except (OSError, ValueError):
            raise StateError(path=path, reason="it cannot be read", mend=_BROKEN) from None
        self._next = 0
        self._expected: bytes | None = None

    @property
    def steps(self) -> int:
        """How many answers are kept."""
        return len(self._ends) - 1

    def first(self) -> bytes | None:
        """The answer of the first step, the partner's commitments and counts."""
        return self._read(0) if self.steps else None

    def meet(self, partner_steps: int) -> None:
        """Go on where both sides are; the partner may be one step behind or ahead, see `journal.py`."""
        if not self.steps - 1 <= partner_steps <= self.steps + 1:
            raise PeerError(problem="a number of finished steps that does not fit this run")
        if partner_steps < self.steps:
            self._expected = self._read(self.steps - 1)
            self._ends.pop()
            self._file.truncate(self._ends[-1])

    def recall(self) -> bytes | None:
        if self._next == self.steps:
            return None
        self._next += 1
        return self._read(self._next - 1)

    def keep(self, answer: bytes) -> None:
        """Append and sync; a step that is done again must have the answer that it had."""
        if self._expected is not None and answer != self._expected:
            raise PeerError(problem="another answer than before the connection was cut")
        self._expected = None
        record = _RECORD.pack(len(answer), _checksum(answer)) + answer
        try:
            self._file.seek(self._ends[-1])
            self._file.write(record)
            os.fdatasync(self._file.fileno())
        except OSError as error:
            mend = "Make room; then go on with `accord resume`."
            raise StateError(path=self._path, reason=error.strerror, mend=mend) from None
        self._ends.append(self._ends[-1] + len(record))
        self._next += 1

    def close(self) -> None:
        self._file.close()

    def _read(self, number: int) -> bytes:
        start = self._ends[number]
        self._file.seek(start)
        record = self._file.read(self._ends[number + 1] - start)
        length, checksum = _RECORD.unpack_from(record)
        body = record[_RECORD.size :]
        if len(body) != length or _checksum(body) != checksum:
            raise StateError(path=self._path, reason="it is damaged", mend=_BROKEN)
        return body

    def _scan(self) -> list[int]:
        """Where each whole record ends; the first place is the end of the tag."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        if self._file.read(len(_JOURNAL)) != _JOURNAL:
            raise ValueError("not a journal")
        ends = [len(_JOURNAL)]
        while ends[-1] + _RECORD.size <= size:
            self._file.seek(ends[-1])
            length, _ = _RECORD.unpack(self._file.read(_RECORD.size))
            if ends[-1] + _RECORD.size + length > size:
                break
            ends.append(ends[-1] + _RECORD.size + length)
        return ends


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:8]
