"""What one run keeps, so that it can go on after a cut and be shown: rows of the store (store.py).

    run       what it was charged, and whether it is done
    part      by name:
        manifest      what the run is and how far, as JSON (manifest.py)
        agreement     as TOML
        slots         the slots with their salts, fixed for the run (their order is as secret as the noise)
        receipt       once both sides have signed it
        key-DIGEST    the key of the digest of the output that a receipt names; a run that is done again has
                      another key, and whichever receipt is there finds its own
    step      the answers of the steps that are done (journal.py)

In its folder, 0700, is nothing that is read again: the lock, held by the process that works on the run, and a
copy of the receipt, to be handed on.

Whoever changes anything here holds the lock. A run whose partner gave three wrong answers is closed. A wrong
answer is never kept, so the run could go on for ever; but that it was refused, and when, tells the partner
something each time.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from accord.errors import (
    ClosedByChanceError,
    ClosedError,
    ClosedUnequalError,
    NotResumedError,
    StateError,
    UsageError,
)
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.slots import Ints, Slots, read_counts
from accord.spill import Scratch
from accord.state.files import write_private
from accord.state.folder import State, require_private
from accord.state.journal import StoredJournal, count_steps
from accord.state.ledger import MANIFEST, RunParts, change_manifest, forget_run, new_run
from accord.state.manifest import Manifest, decode_manifest, encode_manifest
from accord.state.store import Row, Transaction

BROKEN = "Restore it from a copy, or start a new run; under the same snapshot it spends nothing again."
_AGREEMENT = "agreement"
_SLOTS = b"accord slots 1\n"


class StoredRun:
    """A run that is kept."""

    def __init__(self, state: State, manifest: Manifest, charged: bool = False) -> None:
        self._state, self.manifest = state, manifest
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
        """For what is too much for memory: in its folder, which has the owner for it."""
        return Scratch(self.path, f"Make room there; then continue with `accord resume {self.manifest.run}`.")

    def open_journal(self) -> StoredJournal:
        """The journal, to go on with. *Requires*: the run is locked."""
        return StoredJournal(self._state.store, self.manifest.run)

    def steps(self) -> int:
        """How many steps are kept."""
        return count_steps(self._state.store, self.manifest.run)

    def partner_counts(self) -> Ints | None:
        """The noisy counts that the partner opened, of a run with bins that got so far: its second step."""
        with self._state.store.reading() as state:
            answer = state.content("step", self.manifest.run, 1)
        return None if answer is None else read_counts(bytes(answer))

    def read(self, name: str) -> bytes:
        """One of its contents; raises `DamagedError` unless it is there as it was kept."""
        with self._state.store.reading() as state:
            found = state.content("part", self.manifest.run, name)
        if found is None:
            raise StateError(path=self.path, reason=f"the run {self.manifest.run} has no {name}", mend=BROKEN)
        return bytes(found)

    def keep(self, contents: Mapping[str, bytes], **changes: object) -> None:
        """Keep contents, and change what is known of the run with them."""
        run, manifest = self.manifest.run, replace(self.manifest, **changes)  # type: ignore[arg-type]
        told = encode_manifest(manifest)
        with self._state.store.writing() as state:
            for name, content in contents.items():
                state.keep("part", run, name, (content,))
            change_manifest(state, run, {name: told[name] for name in changes})
            if changes.get("done"):
                state.put("run", **_row(state, run) | {"done": 1})
        self.manifest = manifest

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
            raise StateError(path=self._state.store.path, reason=what, mend=BROKEN) from None

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
        with self._state.store.writing() as state:
            forget_run(state, _row(state, self.manifest.run))
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
        if self.manifest.ended == "cut":
            raise NotResumedError(
                problem=f"The run {self.manifest.run} was cut where it may not go on. Both start again with "
                "`accord link`, which costs nothing under the same `snapshot=` and counts as a run."
            )
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
    """A new run, before the partner is told of it."""
    name = manifest.run
    with state.store.writing() as opened:
        if opened.has("run", "name = ?", name):
            reason, mend = "there is a run of this name already", "Run again."
            raise StateError(path=state.run(name), reason=reason, mend=mend)
        opened.put("run", **new_run(opened, name))
        opened.keep("part", name, _AGREEMENT, (manifest.agreement.encode(),))
        change_manifest(opened, name, encode_manifest(manifest))
        state.create_run(name)
    return StoredRun(state, manifest)


def fix_run(partner_records: int, slots: Slots) -> RunParts:
    """What a run keeps besides from its charge on."""
    return RunParts({"partner_records": partner_records}, {"slots": encode_slots(slots)})


def open_run(state: State, run: str) -> StoredRun:
    """A run that is kept."""
    with state.store.reading() as read:
        row = read.row("run", "name = ? AND kept", run)
        if row is None or not read.has("part", "owner = ? AND name = ?", run, _AGREEMENT):
            raise UsageError(problem=f"There is no run '{run}' here. `accord runs` lists them.")
        return _open(state, read, row)


def list_runs(
    state: State, wanted: Callable[[Row], bool] = lambda run: True
) -> tuple[list[StoredRun], list[str]]:
    """All runs that are kept and `wanted`, the latest first; and the names of those that cannot be read."""
    found, broken = list[StoredRun](), list[str]()
    with state.store.reading() as read:
        for row in read.rows("run", "kept"):
            try:
                if wanted(row) and read.has("part", "owner = ? AND name = ?", row["name"], _AGREEMENT):
                    found.append(_open(state, read, row))
            except StateError:
                broken.append(row["name"])
    return sorted(found, key=lambda run: run.manifest.began, reverse=True), broken


def _open(state: State, read: Transaction, row: Row) -> StoredRun:
    name = row["name"]
    found, agreement = (read.content("part", name, part) for part in (MANIFEST, _AGREEMENT))
    try:
        known: dict[str, Any] = json.loads(found or b"")
        manifest = decode_manifest({**known, "agreement": (agreement or b"").decode()})
        if manifest.run != name:
            raise ValueError("not this run")
    except (ValueError, TypeError):
        reason = f"what is kept of the run {name} cannot be read"
        raise StateError(path=state.store.path, reason=reason, mend=BROKEN) from None
    return StoredRun(state, manifest, row["charge"] is not None)


def _row(state: Transaction, run: str) -> Row:
    (row,) = state.rows("run", "name = ?", run)
    return row


def find_waiting(state: State) -> list[Manifest]:
    """The runs that can go on, the latest first."""
    found, broken = list_runs(state, lambda run: not run["done"])
    for name in broken:
        # Raises what is wrong with the first that cannot be read.
        open_run(state, name)
    return [run.manifest for run in found if run.manifest.state == "waits"]


def find_last_done(state: State) -> Manifest | None:
    """The run that was charged last of those that are done, if any is."""
    with state.store.reading() as read:
        done = sorted(read.rows("run", "done AND kept"), key=lambda run: run["charge"])
    return open_run(state, done[-1]["name"]).manifest if done else None


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
