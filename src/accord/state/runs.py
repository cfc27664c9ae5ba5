"""What one run keeps, so that it can go on after a cut and be shown.

In the database (database.py), as one entry with its charge and then as changes to it: the manifest, which is
what the run is and how far; and its contents, by name:

    agreement     as TOML
    slots         the slots with their salts, fixed for the run (their order is as secret as the noise)
    receipt       once both sides have signed it
    key-DIGEST    the key of the digest of the output that a receipt names; a run that is done again has
                  another key, and whichever receipt is there finds its own

In its folder, 0700, what grows while the run is under way, and is checked by itself:

    journal       the answers of the steps that are done, each synced before anything that follows is sent
    lock          held by the process that works on the run
    receipt       a copy, to be handed on; nothing here reads it

Whoever changes anything here holds the lock. A run whose partner gave three wrong answers is closed. A wrong
answer is never kept, so the run could go on for ever; but that it was refused, and when, tells the partner
something each time.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from accord.errors import ClosedByChanceError, ClosedError, ClosedUnequalError, StateError, UsageError
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.slots import Ints, Slots, read_counts
from accord.spill import Scratch
from accord.state.database import Reading
from accord.state.files import write_private
from accord.state.folder import State, require_private
from accord.state.journal import BROKEN, TAG, FileJournal, scan, unreadable
from accord.state.ledger import RunParts
from accord.state.manifest import Manifest, decode_manifest, encode_manifest
from accord.state.register import KnownRun, RunBegun, RunChanged, RunDone, RunForgotten

_SLOTS = b"accord slots 1\n"
_OLDER = (
    "Restore the latest one: what was spent since would be spent again. If there is none, count by hand what "
    "the runs cost that it does not know, and move their folders away."
)


class StoredRun:
    """A run that is kept."""

    def __init__(
        self, state: State, manifest: Manifest, contents: Mapping[str, str], charged: bool = False
    ) -> None:
        self._state, self.manifest, self._contents = state, manifest, dict(contents)
        self.charged = charged
        """Or only begun: nothing of it was sent but the size of the table, and it has no slots."""

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._state.run(self.manifest.run)

    @property
    def receipt(self) -> Path:
        """The copy of the receipt that is there to be handed on."""
        return self.path / "receipt"

    @property
    def scratch(self) -> Scratch:
        """For what is too much for memory: beside the journal, which has the room and the owner for it."""
        return Scratch(self.path, f"Make room there; then continue with `accord resume {self.manifest.run}`.")

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

    def names(self) -> tuple[str, ...]:
        """Of its contents."""
        return tuple(self._contents)

    def read(self, name: str) -> bytes:
        """One of its contents; raises `DamagedError` unless it is there as it was kept."""
        run = self.manifest.run
        if name not in self._contents:
            raise StateError(path=self.path, reason=f"the run {run} has no {name}", mend=BROKEN)
        with self._state.database.reading() as state:
            return state.content(self._contents[name], f"the {name} of the run {run}")

    def keep(self, contents: Mapping[str, bytes], **changes: object) -> None:
        """Keep contents, and change what is known of the run with them."""
        manifest = replace(self.manifest, **changes)  # type: ignore[arg-type]
        with self._state.database.writing() as state:
            named = {name: state.keep(content) for name, content in contents.items()}
            told, kind = encode_manifest(manifest), RunDone if changes.get("done") else RunChanged
            state.add(kind(manifest.run, {name: told[name] for name in changes}, named))
        self.manifest = manifest
        self._contents |= named

    def change(self, **changes: object) -> None:
        """Change what is known of the run."""
        self.keep({}, **changes)

    def slots(self) -> Slots:
        """The slots that the run began with."""
        content = self.read("slots")
        try:
            return decode_slots(content)
        except ValueError:
            what = f"the slots of the run {self.manifest.run} cannot be read"
            raise StateError(path=self._state.database.path, reason=what, mend=BROKEN) from None

    def keep_receipt(self, content: bytes, outcome: Outcome, octets: int) -> None:
        """Keep the receipt, the key of its digest of the output, what the phases took, how many bytes went in
        all, and that the run is done."""
        digest, laps = outcome.digest, vars(outcome.phases)
        self.keep(
            {f"key-{digest.value.hex()}": digest.key, "receipt": content},
            done=True,
            matches=outcome.matches,
            answer=None if outcome.answer is None else outcome.answer.encode(),
            matches_found=outcome.matches_found,
            phases={name: lap.seconds for name, lap in laps.items()},
            traffic={name: lap.bytes for name, lap in laps.items()},
            bytes=octets,
        )
        write_private(self.receipt, content)

    def output_key(self, digest: str) -> bytes:
        """The key under which a receipt of this run has this digest of its output."""
        return self.read(f"key-{digest}")

    def abandon(self) -> None:
        """Remove a run that was begun, and that the partner has no part in. *Requires*: it is not charged."""
        assert not self.charged
        with self._state.database.writing() as state:
            state.add(RunForgotten(self.manifest.run))
        self._state.remove_run(self.manifest.run)

    def refuse(self, problem: str) -> None:
        """Count a wrong answer, on disk, before the partner hears of it; raises if it was one too many."""
        self.change(wrong=self.manifest.wrong + 1)
        self.require_open(f"The last was {problem}.")

    def require_open(self, last: str = "") -> None:
        """Raise if the run is closed."""
        if self.manifest.ended == "no_table":
            raise ClosedByChanceError(run=self.manifest.run)
        if self.manifest.ended == "unequal":
            raise ClosedUnequalError(run=self.manifest.run)
        if self.manifest.closed:
            raise ClosedError(
                run=self.manifest.run, partner=self.manifest.partner, count=self.manifest.wrong, last=last
            )

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run, so that no other process works on it, and clear away what a killed one left."""
        with hold(self.path):
            require_private(self.path)
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


def begin_run(state: State, manifest: Manifest) -> StoredRun:
    """A new run, before the partner is told of it. A folder that is there though no run was begun has an
    empty journal, and is taken away before the next."""
    with state.database.writing() as opened:
        if manifest.run in opened.register.runs:
            reason, mend = "there is a run of this name already", "Run again."
            raise StateError(path=state.run(manifest.run), reason=reason, mend=mend)
        write_private(state.create_run(manifest.run) / "journal", TAG)
        named = {"agreement": opened.keep(manifest.agreement.encode())}
        opened.add(RunBegun(manifest.run, encode_manifest(manifest), named))
    return StoredRun(state, manifest, named)


def fix_run(partner_records: int, slots: Slots) -> RunParts:
    """What a run keeps besides from its charge on."""
    return RunParts({"partner_records": partner_records}, {"slots": encode_slots(slots)})


def remove_leftovers(state: State) -> list[str]:
    """Remove the folders of runs that were never begun, or that were forgotten, where a process was killed in
    between; their names. Raises at one that the database does not know though steps of it are there: it is
    an older copy, which has forgotten what was spent since, and would draw its noise again."""
    removed = []
    with state.database.writing() as opened:
        known = opened.register.runs
        for folder in sorted(path for path in (state.folder / "runs").glob("[!.]*") if path.is_dir()):
            run = known.get(folder.name)
            if run is None and not _is_empty(folder):
                reason = f"it does not know the run {folder.name}, whose folder is here: it is an older copy"
                raise StateError(path=state.database.path, reason=reason, mend=_OLDER)
            if run is None or not run.kept:
                state.remove_run(folder.name)
                removed.append(folder.name)
    return removed


def _is_empty(folder: Path) -> bool:
    # A journal that was not yet in its place has a dot before its name, and says nothing either.
    files = [path for path in folder.rglob("*") if not path.name.startswith((".journal.", "lock"))]
    return all(path.name == "journal" and path.read_bytes() == TAG for path in files)


def open_run(state: State, run: str) -> StoredRun:
    """A run that is kept."""
    with state.database.reading() as read:
        known = read.register.runs.get(run)
        if known is None or not (known.kept and known.begun):
            raise UsageError(problem=f"There is no run '{run}' here. `accord runs` lists them.")
        return _open(state, read, known, {})


def list_runs(
    state: State, wanted: Callable[[KnownRun], bool] = lambda run: True
) -> tuple[list[StoredRun], list[str]]:
    """All runs that are kept and `wanted`, the latest first; and the names of those that cannot be read."""
    found, broken, agreements = list[StoredRun](), list[str](), dict[str, str]()
    with state.database.reading() as read:
        for known in read.register.runs.values():
            try:
                if known.kept and known.begun and wanted(known):
                    found.append(_open(state, read, known, agreements))
            except (KeyError, ValueError, StateError):
                broken.append(known.name)
    return sorted(found, key=lambda run: run.manifest.began, reverse=True), broken


def _open(state: State, read: Reading, known: KnownRun, agreements: dict[str, str]) -> StoredRun:
    name = known.name
    try:
        digest = known.contents["agreement"]
        if digest not in agreements:
            agreements[digest] = read.content(digest, f"the agreement of the run {name}").decode()
        manifest = decode_manifest({**known.manifest, "agreement": agreements[digest]})
        if manifest.run != name:
            raise ValueError("not this run")
    except (KeyError, ValueError):
        reason = f"what is kept of the run {name} cannot be read"
        raise StateError(path=state.database.path, reason=reason, mend=BROKEN) from None
    return StoredRun(state, manifest, known.contents, known.charged is not None)


def find_waiting(state: State) -> list[Manifest]:
    """The runs that can go on, the latest first."""
    found, broken = list_runs(state, lambda run: not run.done)
    for name in broken:
        # Raises what is wrong with the first that cannot be read.
        open_run(state, name)
    return [run.manifest for run in found if run.manifest.state == "waits"]


def find_last_done(state: State) -> Manifest | None:
    """The run that was charged last of those that are done, if any is."""
    with state.database.reading() as read:
        names = [run.name for run in read.register.runs.values() if run.done and run.kept]
    return open_run(state, names[-1]).manifest if names else None


def find_unfinished(state: State, partner: str, agreement: str) -> tuple[str, ...]:
    """The runs with this partner under this agreement that can go on, the latest first."""
    return tuple(
        run.run for run in find_waiting(state) if (run.partner, run.agreement) == (partner, agreement)
    )


def encode_slots(slots: Slots) -> bytes:
    """The slots as bytes."""
    lengths = struct.pack("<QQ", len(slots.counts), len(slots.record))
    body = lengths + slots.counts.astype("<i8").tobytes() + slots.record.astype("<i8").tobytes()
    return _SLOTS + body + slots.salt + slots.table


def decode_slots(content: bytes) -> Slots:
    """The slots in these bytes; raises ValueError unless `encode_slots` wrote them."""
    body = content[len(_SLOTS) :]
    if not content.startswith(_SLOTS):
        raise ValueError("not slots")
    bins, count = (int.from_bytes(body[at : at + 8], "little") for at in (0, 8))
    if len(body) != 16 + 8 * (bins + count) + 96:
        raise ValueError("not slots")
    counts = np.frombuffer(body, "<i8", bins, 16).astype(np.int64)
    record = np.frombuffer(body, "<i8", count, 16 + 8 * bins).astype(np.int32)
    rest = body[16 + 8 * (bins + count) :]
    return Slots(counts, record, rest[:64], rest[64:])
