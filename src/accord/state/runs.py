"""What one run keeps on disk, so that it can go on after a cut: 0600, in a folder of its own.

    run.json    what the run is: agreement, partner, side, data set, sizes, files; and whether it is done
    slots       the slots with their salts, fixed for the run (their order is as secret as the noise)
    journal     the answers of the steps that are done, each synced before anything that follows is sent
    lock        held by the process that works on the run
    receipt     the receipt, once both sides have signed it
    key-DIGEST  the key of the digest of the output that a receipt names; a run that is done again has another
                key, and whichever receipt is there finds its own
    counts      of a run of a series: the partner's noisy counts of the batches that it had shown before
    before      of a run of a series: what both had disclosed to each other before
    pairs, shown    of one that is done: the pairs that it found, and what both have disclosed by then
    seed, noise, pledges, record    of an accountable run: stored.py
    looks       of an accountable run of a series, in place of the noise: accountable/pledge.py

Every file has a version; the journal's is in `journal.py`. Whoever changes anything here holds the lock.

A run whose partner gave three wrong answers is closed. A wrong answer is never kept, so the run could go on
for ever; but that it was refused, and when, tells the partner something each time.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from accord.errors import ClosedError, StateError, UsageError
from accord.privacy.release import fold_name
from accord.protocols.base import Task
from accord.protocols.parts.batches import Look, decode_looks
from accord.protocols.parts.phases import Lap, Phases
from accord.protocols.parts.shown import Shown, decode_shown, encode_shown
from accord.protocols.parts.slots import Ints, Slots, read_counts
from accord.protocols.parts.standing import BatchMeeting
from accord.protocols.series import MOST_BATCHES
from accord.side import Side
from accord.spill import Scratch
from accord.state.folder import State, write_private
from accord.state.journal import BROKEN, TAG, FileJournal, scan, unreadable
from accord.table.address import find_address
from accord.table.layout import Layout
from accord.table.pairs import PairTable
from accord.table.sinks.targets import Target, as_target_or_none
from accord.table.sources.opening import Place

T = TypeVar("T")

_VERSION = 1
_SLOTS = b"accord slots 1\n"
_MOST_WRONG = 3


@dataclass(frozen=True)
class StoredRequest:
    """What a run was asked for besides agreement, partner, account and series, in words that mean the same in
    any folder: what `resume` takes where nothing is named anew."""

    data: str
    """Where the table is; empty if Python had it."""
    layout: str
    """How it is laid out, as JSON."""
    out: str
    raw: bool
    snapshot: str | None
    listen: str
    connect: str
    workers: int | str | None
    """Without the owner's word for a cluster, which is for one time."""
    unchanged_only: bool = False
    """Of a run of a series, with the next two: what its owner said of the table."""
    mostly_new: bool = False
    let_wait: bool = False

    def source(self, run: str) -> Place:
        """Where the data was."""
        if not self.data:
            raise UsageError(problem=f"The run {run} was not given a file. Name the data with `data=`.")
        return find_address(self.data) or Path(self.data)

    @property
    def target(self) -> Target | None:
        """Where the pairs were to go."""
        # A file has its path from the root on, whatever stands in it.
        return Path(self.out) if self.out.startswith("/") else as_target_or_none("out", self.out or None)

    def read_layout(self) -> Layout:
        return Layout.from_json(self.layout)


@dataclass(frozen=True)
class Manifest:
    """What a run is, and how far it is."""

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
    request: StoredRequest
    done: bool = False
    resumes: int = 0
    """How often the two sides met again to go on."""
    replaces: str = ""
    """The output that the run may replace: what it has written, or what its owner said so of."""
    wrong: int = 0
    """How many answers of the partner did not fit the protocol."""
    ended: Literal["", "most_matches"] = ""
    """Why the run would end again where it has ended: it passed a bound of the agreement, on either side."""
    matches: int | None = None
    """The pairs of the output, once there is a receipt."""
    matches_found: int | None = None
    """The pairs that were found, where only the best one-to-one set of them is kept."""
    phases: dict[str, float] | None = None
    """Seconds by phase, since the two sides met last; once the run is done."""
    bytes: int | None = None
    """Sent and received, likewise."""
    traffic: dict[str, int] | None = None
    """Of these, by phase; what is left is the greeting, the output's digest and the receipt."""
    series: str = ""
    """What the series is called, if it is a run of one; then also:"""
    series_run: int = 0
    """The number of the run with this partner, from 1 on."""
    look: int = 0
    """How many looks at the table the ledger had with this run."""
    seen: tuple[int, int] = (0, 0)
    """Batches of A and of B that had met before."""
    total: tuple[int, int] = (1, 1)
    """Batches of A and of B in this run."""

    @property
    def closed(self) -> bool:
        """Whether the run has refused so much that it does not go on."""
        return self.wrong >= _MOST_WRONG

    @property
    def state(self) -> Literal["done", "closed", "most_matches", "waits"]:
        """How far it is; only a run that waits has something to go on to."""
        return "done" if self.done else "closed" if self.closed else self.ended or "waits"

    def is_of(self, series: str, dataset: str) -> bool:
        """Whether it is a run of this series of this account."""
        named = fold_name(self.series), fold_name(self.dataset)
        return bool(self.series) and named == (fold_name(series), fold_name(dataset))

    @property
    def meeting(self) -> BatchMeeting:
        """Which batches met in it."""
        return BatchMeeting(self.seen, self.total)


class RunFolder:
    """What a run keeps, in its folder."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.path = folder
        self.manifest = manifest

    @property
    def receipt(self) -> Path:
        return self.path / "receipt"

    @property
    def scratch(self) -> Scratch:
        """For what is too much for memory: beside the journal, which has the room and the owner for it."""
        return Scratch(self.path, f"Make room there; then continue with `accord resume {self.manifest.run}`.")

    def keep_phases(self, phases: Phases, octets: int) -> None:
        """What the phases took, and how many bytes went in all. *Requires*: the run is locked."""
        laps: dict[str, Lap] = vars(phases)
        self.change(
            phases={name: lap.seconds for name, lap in laps.items()},
            traffic={name: lap.bytes for name, lap in laps.items()},
            bytes=octets,
        )

    def open_journal(self) -> FileJournal:
        """The journal, to go on with. *Requires*: the run is locked."""
        return FileJournal(self.path / "journal")

    def steps(self) -> int:
        """How many steps are kept; nothing is changed, so the run may be in use."""
        path = self.path / "journal"
        try:
            with path.open("rb") as file:
                return len(scan(file).starts)
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from None

    def partner_counts(self) -> Ints | None:
        """The noisy counts that the partner opened, of a run with bins that got so far: its second step."""
        path = self.path / "journal"
        try:
            with path.open("rb") as file:
                found = scan(file)
                if len(found.starts) < 2:
                    return None
                file.seek(found.starts[1])
                return read_counts(file.read(found.ends[2] - found.starts[1]))
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from None

    def read(self, name: str) -> bytes:
        """What one of its files holds."""
        return self._decoded(name, bytes)

    def counts_before(self, bins: int) -> Ints:
        """The partner's counts that a run of a series began with, in so many bins a batch."""
        met = self.manifest.seen[1 if self.manifest.side == "A" else 0]

        def decode(content: bytes) -> Ints:
            # With fewer of them the partner could open others for the rest, and nobody would notice.
            if len(content) != 8 * met * bins:
                raise ValueError("not the counts of the batches that have met")
            return np.frombuffer(content, "<i8").astype(np.int64)

        return self._decoded("counts", decode)

    def looks(self) -> tuple[Look, ...]:
        """What an accountable run of a series, and all before it, found in the table."""
        return self._decoded("looks", decode_looks)

    def slots(self) -> Slots:
        """The slots that the run began with."""
        return self._decoded("slots", decode_slots)

    def _decoded(self, name: str, decode: Callable[[bytes], T]) -> T:
        path = self.path / name
        try:
            return decode(path.read_bytes())
        except (OSError, ValueError):
            raise StateError(path=path, reason="it cannot be read", mend=BROKEN) from None

    def change(self, **changes: object) -> None:
        """Change what is known of the run."""
        self.manifest = replace(self.manifest, **changes)  # type: ignore[arg-type]
        _write_manifest(self.path, self.manifest)

    def keep_receipt(
        self, content: bytes, key: bytes, digest: str, matches: int, matches_found: int | None
    ) -> None:
        """Keep the receipt and the key of its digest of the output, and the run as done."""
        write_private(self.path / f"key-{digest}", key)
        write_private(self.receipt, content)
        self.change(done=True, matches=matches, matches_found=matches_found)

    def shown(self, name: Literal["before", "shown"], task: Task, side: Side) -> Shown:
        """What both sides of a series had disclosed before the run, or after it."""
        batches = self.manifest.seen if name == "before" else self.manifest.total

        def decode(content: bytes) -> Shown:
            found = decode_shown(content, task.shape(side.other, 0))
            of = batches if side is Side.A else batches[::-1]
            if any(len(out) > met * task.blocking.bins for out, met in zip(found.removed, of, strict=True)):
                raise ValueError("more batches than the run had")
            return found

        return self._decoded(name, decode)

    def keep_series(self, found: PairTable, shown: Shown) -> None:
        """Keep the pairs of a run of a series, from which all pairs of the series are put together, and what
        both have disclosed by now, with which the next run begins."""
        write_private(self.path / "shown", encode_shown(shown))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, found.schema) as file:
            for batch in found.to_batches():
                file.write_batch(batch)
        write_private(self.path / "pairs", sink.getvalue().to_pybytes())

    def pairs(self) -> pa.Table:
        """The pairs of a run of a series that is done."""
        return self._decoded("pairs", lambda content: pa.ipc.open_file(pa.BufferReader(content)).read_all())

    def refuse(self, problem: str) -> None:
        """Count a wrong answer, on disk, before the partner hears of it; raises if it was one too many."""
        self.change(wrong=self.manifest.wrong + 1)
        self.require_open(f"The last was {problem}.")

    def require_open(self, last: str = "") -> None:
        """Raise if the run is closed."""
        if self.manifest.closed:
            raise ClosedError(
                run=self.manifest.run, partner=self.manifest.partner, count=self.manifest.wrong, last=last
            )

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run, so that no other process works on it, and clear away what a killed one left."""
        with hold(self.path):
            for left in self.path.glob(".*"):
                # A folder is none of ours: some file systems and tools put theirs everywhere.
                if left.is_symlink() or not left.is_dir():
                    left.unlink(missing_ok=True)
            yield


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Hold a run's folder against other processes; nothing to hold where there is none."""
    if not folder.is_dir():
        yield
        return
    handle = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                problem=f"Another process works on the run {folder.name}. Wait for it, or stop it."
            ) from None
        yield
    finally:
        os.close(handle)


def create_run(
    state: State, manifest: Manifest, slots: Slots, files: Mapping[str, bytes] | None = None
) -> RunFolder:
    """A new run on disk, with what else it keeps from its beginning on."""
    if state.run(manifest.run).exists():
        raise StateError(
            path=state.run(manifest.run), reason="there is a run of this name already", mend="Run again."
        )
    folder = state.create_run(manifest.run)
    write_private(folder / "slots", encode_slots(slots))
    write_private(folder / "journal", TAG)
    for name, content in (files or {}).items():
        write_private(folder / name, content)
    # Last: a run is there once its manifest is.
    _write_manifest(folder, manifest)
    return RunFolder(folder, manifest)


def open_run(state: State, run: str) -> RunFolder:
    """A run that is on disk."""
    folder = state.run(run)
    path = folder / "run.json"
    try:
        return RunFolder(folder, decode_manifest(path.read_bytes()))
    except FileNotFoundError:
        raise UsageError(problem=f"There is no run '{run}' here. `accord runs` lists them.") from None
    except (OSError, ValueError):
        raise StateError(path=path, reason="it cannot be read", mend=BROKEN) from None


def list_runs(state: State) -> tuple[list[RunFolder], list[str]]:
    """All runs on disk, the latest first; and the names of those that cannot be read."""
    found, broken = [], []
    for path in sorted((state.folder / "runs").glob("*/run.json")):
        try:
            found.append(open_run(state, path.parent.name))
        except (StateError, UsageError):
            broken.append(path.parent.name)
    return sorted(found, key=lambda run: run.manifest.began, reverse=True), broken


def find_waiting(state: State) -> list[Manifest]:
    """The runs that can go on, the latest first."""
    found = [run.manifest for run in list_runs(state)[0]]
    return [run for run in found if run.state == "waits" and not is_overtaken(run, found)]


def is_overtaken(run: Manifest, runs: list[Manifest]) -> bool:
    """Whether a run of a series was linked again, and this or a later one is done: it has nothing to add."""
    return (
        bool(run.series)
        and not run.done
        and any(
            other.done
            and other.partner == run.partner
            and other.is_of(run.series, run.dataset)
            and other.series_run >= run.series_run
            for other in runs
        )
    )


def find_unfinished(state: State, partner: str, agreement: str) -> tuple[str, ...]:
    """The runs with this partner under this agreement that can go on, the latest first."""
    return tuple(
        run.run for run in find_waiting(state) if (run.partner, run.agreement) == (partner, agreement)
    )


def read_output_key(state: State, run: str, digest: str) -> bytes:
    """The key under which a receipt of this run has this digest of its output."""
    path = state.run(run) / f"key-{digest}"
    try:
        return path.read_bytes()
    except OSError:
        raise StateError(
            path=path, reason="the key of the output is missing", mend="It is kept with the run."
        ) from None


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    write_private(folder / "run.json", encode_manifest(manifest))


def encode_manifest(manifest: Manifest) -> bytes:
    """The manifest as JSON, with a version."""
    return json.dumps({"version": _VERSION, **asdict(manifest)}, indent=1).encode()


@cache
def _as_manifest() -> TypeAdapter[Manifest]:
    """Made once: every run that is kept is read before another begins."""
    return TypeAdapter(Manifest)


def decode_manifest(content: bytes) -> Manifest:
    """The manifest in these bytes; raises ValueError unless `encode_manifest` could have written them."""
    try:
        found = json.loads(content)
        if not isinstance(found, dict) or found.pop("version", None) != _VERSION:
            raise ValueError("not a manifest of this version")
        manifest = _as_manifest().validate_json(json.dumps(found), strict=True)
        manifest.request.read_layout()
    except (ValidationError, RecursionError):
        raise ValueError("not a manifest") from None
    sizes = manifest.records, manifest.partner_records, manifest.series_run, manifest.look
    possible = all(0 <= size < 1 << 63 for size in sizes)
    possible &= all(0 <= batches <= MOST_BATCHES for batches in (*manifest.seen, *manifest.total))
    known = asdict(manifest)
    odd = set(found) - set(known) or set(found["request"]) - set(known["request"])
    if odd or manifest.side not in ("A", "B") or not possible:
        raise ValueError("not a manifest")
    return manifest


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
    bins, count = (int.from_bytes(body[at : at + 8], "little") for at in (0, 8))
    if len(body) != 16 + 8 * (bins + count) + 96:
        raise ValueError("not slots")
    counts = np.frombuffer(body, "<i8", bins, 16).astype(np.int64)
    record = np.frombuffer(body, "<i8", count, 16 + 8 * bins).astype(np.int32)
    rest = body[16 + 8 * (bins + count) :]
    return Slots(counts, record, rest[:64], rest[64:])
