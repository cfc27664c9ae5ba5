"""The way back from a copy of a state folder (backup.py).

The invariant: a copy is put in place whole or not at all, and takes nothing back that a partner has seen, as
far as that can be known here. So its log must begin with the log that is here; journals that have gone on
from those of the copy are kept as they are here, and so is the placing key if the copy has none. What only
the partner knows cannot be known.

The copy is unpacked beside the folder and judged there. Then nobody may write here until it is in place: the
database is locked, and so is every run. The two folders are exchanged in one step where the system can.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import os
import shutil
import sys
import tarfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO

from accord.errors import DamagedError, StateError, UnreadableError, UsageError
from accord.privacy import events
from accord.privacy.events import NO_COST, describe_cost, is_free
from accord.state.backup import (
    MANIFEST,
    MOST_IDENTITY,
    NAMES,
    PIECE,
    Advance,
    CopyManifest,
    Member,
    decode_copy_manifest,
    find_faults,
    list_kept,
    sum_up,
)
from accord.state.database import Database
from accord.state.files import make_folder, sync_folder
from accord.state.folder import State
from accord.state.inspection import Inspection, has_log
from accord.state.journal import TAG, scan
from accord.state.log import Log
from accord.state.register import KnownRun, PlacingKeyDrawn, Register, RunCharged
from accord.state.runs import hold
from accord.wording import counted

_MOST_MANIFEST = 1 << 28
_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""


@dataclass(frozen=True)
class Forgotten:
    """What is here, and not in a copy."""

    entries: int = 0
    charged: tuple[RunCharged, ...] = ()
    folders: tuple[str, ...] = ()
    """Of runs that neither the copy knows nor what can be read of the log here."""
    damage: str = ""
    """Why the log here cannot be read to its end."""
    placing_key: bool = False
    """Whether the placing key that is here is neither in the copy nor can be added to it."""

    def __bool__(self) -> bool:
        return bool(self.entries or self.folders)


@dataclass(frozen=True)
class Restored:
    """What was put in place."""

    entries: int
    runs: int
    made: str
    """When the copy was."""
    forgotten: Forgotten
    replaced: Path | None
    """Where the folder is that was here."""
    gone_on: tuple[str, ...]
    """Runs whose journals here were further than those of the copy, and were kept."""
    faults: tuple[str, ...]


@dataclass(frozen=True)
class _Copy:
    """A copy that was unpacked, and whose log is whole."""

    made: str
    register: Register
    links: dict[int, bytes]
    faults: tuple[str, ...]


def restore_copy(
    target: Path,
    path: Path,
    now: datetime,
    *,
    force: bool = False,
    advance: Advance = lambda *_: None,
) -> Restored:
    """Put a copy in the place of a state folder, which stays beside it. With `force` also if it does not know
    all that is here, or was damaged already."""
    target = target.resolve()
    with _folder_beside(target) as made:
        copy = _judge(path, made, _unpack(path, made, advance))
        if copy.faults and not force:
            raise UsageError(problem=_tell_faults(path, copy.faults))
        with ExitStack() as held:
            here = _hold(target, held)
            forgotten = _compare(target, copy, here)
            if forgotten and not force:
                raise UsageError(problem=tell_forgotten(forgotten, copy.made))
            gone_on = _take_over(target, made, copy.register, here)
            replaced = _put_in_place(made, target, now)
    entries, runs = copy.register.position.number, len(list_kept(copy.register))
    return Restored(entries, runs, copy.made, forgotten, replaced, gone_on, copy.faults)


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """A folder on the same disk; taken away again, unless it was put in place."""
    make_folder(target.parent)
    with _told(target):
        made = Path(mkdtemp(prefix=f"{target.name}.restoring-", dir=target.parent))
        own = made.stat().st_ino
        try:
            yield made
        finally:
            # After an exchange it is the folder that was here which has this name.
            if made.exists() and made.stat().st_ino == own:
                shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _told(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        mend = "Nothing was changed. Make room there, and see that you may write; then restore it again."
        raise StateError(path=target, reason=error.strerror or error, mend=mend) from error


# -- what is told --------------------------------------------------------------------------------------------


def _tell_faults(path: Path, faults: tuple[str, ...]) -> str:
    lines = "\n".join(f"  {fault}" for fault in faults)
    return (
        f"{path} holds what was damaged already when it was made:\n{lines}\n"
        "Nothing was changed. Take a copy that is older and whole, or say `force=True`."
    )


def tell_forgotten(forgotten: Forgotten, made: str) -> str:
    """Why a copy is refused."""
    lines = "\n".join(list_forgotten(forgotten))
    return (
        f"The copy of {made} does not know all that is here, and partners have seen it:\n{lines}\n"
        "Nothing was changed. Take a later copy; or say `force=True`, and count what is listed by hand with "
        "`accord ledger budget`."
    )


def list_forgotten(forgotten: Forgotten) -> list[str]:
    """What a copy does not know, line by line."""
    lines = []
    if forgotten.entries:
        verb = "is" if forgotten.entries == 1 else "are"
        lines.append(f"{counted(forgotten.entries, 'entry', 'entries')} of the log {verb} not in it")
    lines += [_tell_charged(charged) for charged in forgotten.charged]
    lines += [f"the run {name}, of which only its folder tells" for name in forgotten.folders]
    if forgotten.placing_key:
        lines.append(
            "the placing key: later runs leave out other records of full keys than partners have seen"
        )
    if forgotten.damage:
        lines.append(f"whatever cannot be read any more: {forgotten.damage}")
    return [f"  {line}" for line in lines]


def _tell_charged(charged: RunCharged) -> str:
    cost = events.decode(charged.event.encode()).cost if charged.paid else NO_COST
    told = "nothing" if is_free(cost) else describe_cost(cost)
    return (
        f"the run {charged.run} with {charged.partner} on '{charged.account}', {charged.at}, charged {told}"
    )


# -- unpacking -----------------------------------------------------------------------------------------------


def _unpack(path: Path, made: Path, advance: Advance) -> CopyManifest:
    """Unpack a copy, and check every byte of it but the filling."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise UnreadableError(path=path, reason=error.strerror, mend="") from None
    with file:
        size, found = os.fstat(file.fileno()).st_size, dict[str, Member]()
        while (info := _read_head(file, path, found)).name != MANIFEST:
            found[info.name] = _write_file(made / info.name, _pieces(file, info.size))
            file.seek(-info.size % tarfile.BLOCKSIZE, os.SEEK_CUR)
            advance(file.tell(), size)
        manifest = decode_copy_manifest(file.read(info.size), path)
        file.seek(-info.size % tarfile.BLOCKSIZE, os.SEEK_CUR)
        if found != manifest.members or any(piece.strip(b"\0") for piece in _pieces(file, size)):
            raise _damaged(path, "it is not what was written")
    return manifest


def _read_head(file: BinaryIO, path: Path, found: Collection[str]) -> tarfile.TarInfo:
    """The next member. Not by `tarfile.open`, which takes many kinds of archives."""
    try:
        info = tarfile.TarInfo.frombuf(file.read(tarfile.BLOCKSIZE), "ascii", "strict")
    except (tarfile.HeaderError, UnicodeError):
        if not found:
            raise UnreadableError(path=path, reason="it is no copy of a state folder", mend="") from None
        raise _damaged(path, "it is not what was written, or was cut") from None
    most = {MANIFEST: _MOST_MANIFEST, "identity.pem": MOST_IDENTITY}.get(info.name, info.size)
    known = info.type == tarfile.REGTYPE and NAMES.fullmatch(info.name) and 0 <= info.size <= most
    if not known or info.name in found:
        raise _damaged(path, "it holds what no copy of a state folder does")
    return info


def _write_file(place: Path, pieces: Iterator[bytes]) -> Member:
    """Make a file, on disk; what it is."""
    for folder in reversed(place.parents):
        folder.mkdir(mode=0o700, exist_ok=True)
    place.unlink(missing_ok=True)
    digest, size = hashlib.sha256(), 0
    with os.fdopen(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as made:
        for piece in pieces:
            made.write(piece)
            digest.update(piece)
            size += len(piece)
        made.flush()
        os.fsync(made.fileno())
    return Member(size, digest.hexdigest())


def _pieces(file: BinaryIO, left: int) -> Iterator[bytes]:
    """The next so many bytes, or less if it ends before."""
    while left and (piece := file.read(min(PIECE, left))):
        left -= len(piece)
        yield piece


def _damaged(path: Path, reason: object) -> DamagedError:
    return DamagedError(path=path, reason=reason, mend="Take another copy.")


# -- judging -------------------------------------------------------------------------------------------------


def _judge(path: Path, made: Path, manifest: CopyManifest) -> _Copy:
    """What a copy knows, if its log is whole."""
    log = Log(made)
    try:
        register, links = sum_up(log)
    except DamagedError as error:
        raise _damaged(path, error.reason) from error
    if register.position != manifest.head:
        raise _damaged(path, "its log is not the one of its manifest")
    faults = find_faults(log, register.contents(), manifest.members)
    return _Copy(manifest.made.isoformat(), register, links, tuple(faults))


def _hold(target: Path, held: ExitStack) -> Inspection:
    """What is here, as far as it can be read; nobody else changes it as long as it is held."""
    here = Inspection(State(target))
    if has_log(here.state):
        # Who cannot read it does not add to it.
        with suppress(DamagedError):
            held.enter_context(Log(target).writing())
        here.inspect_log()
    for folder in _list_folders(target):
        known = here.register.runs.get(folder.name)
        try:
            # Of thousands most are done, and a process may have only so many files open.
            with ExitStack() as briefly:
                (briefly if known is not None and known.done else held).enter_context(hold(folder))
        except UsageError:
            problem = f"The run {folder.name} is under way here. Wait for it, or stop it; then restore."
            raise UsageError(problem=problem) from None
    return here


def _list_folders(target: Path) -> list[Path]:
    return sorted(path for path in (target / "runs").glob("[!.]*") if path.is_dir())


def _compare(target: Path, copy: _Copy, here: Inspection) -> Forgotten:
    """What is here, and not in the copy."""
    there = {of.run: of for _, of in copy.register.charged()}
    entries = sum(copy.links.get(number) != link for number, link in here.links.items())
    entries += len(here.unreadable - copy.links.keys())
    charged = {of.run: of for _, of in here.register.charged() if there.get(of.run) != of}
    # A run with answers was charged; only a whole log is believed that it was not.
    known = there.keys() | charged.keys() | (set(here.register.runs) if _is_whole(here) else set())
    folders = [path for path in _list_folders(target) if path.name not in known and _has_any(path)]
    damage = here.damages[0].problem if here.damages else ""
    if not has_log(here.state) and _list_folders(target):
        damage = "its database is missing or empty, though runs are here"
    names = tuple(path.name for path in folders)
    return Forgotten(entries, tuple(charged.values()), names, damage, _loses_key(copy.register, here))


def _loses_key(copy: Register, here: Inspection) -> bool:
    digest = here.register.placing_key
    if digest is None or copy.placing_key is not None:
        return digest not in (None, copy.placing_key)
    try:
        here.content(digest)
    except DamagedError:
        return True
    return False


def _is_whole(here: Inspection) -> bool:
    return here.whole and has_log(here.state)


def _has_any(folder: Path) -> bool:
    """Whether a run left more than an empty journal."""
    named = (path for path in folder.rglob("*") if path.is_file())
    files = (path for path in named if not path.name.startswith((".journal.", "lock")))
    return any(path.name != "journal" or path.stat().st_size > len(TAG) for path in files)


# -- putting in place ----------------------------------------------------------------------------------------


def _take_over(target: Path, made: Path, copy: Register, here: Inspection) -> tuple[str, ...]:
    """Keep what has grown here since the copy: the placing key, if the copy has none, and journals; the runs
    whose journals have grown."""
    digest = here.register.placing_key
    if digest is not None and copy.placing_key is None and not _loses_key(copy, here):
        with Database(made).writing() as state:
            state.add(PlacingKeyDrawn(state.keep(here.content(digest))))
    gone_on = []
    for run in list_kept(copy):
        if not _is_same(run, here):
            continue
        old, new = target / "runs" / run.name, made / "runs" / run.name
        if _goes_on(old / "journal", new / "journal"):
            _copy_file(old / "journal", new / "journal")
            gone_on.append(run.name)
    return tuple(gone_on)


def _is_same(run: KnownRun, here: Inspection) -> bool:
    """Whether a run has the noise here that it has in the copy: what it kept since follows from that."""
    known = here.register.runs.get(run.name)
    if known is None or known.charged is None:
        # Where the log here is damaged, the journals alone tell.
        return run.charged is not None and not _is_whole(here)
    return known.charged == run.charged


def _goes_on(here: Path, there: Path) -> bool:
    """Whether a journal is longer here, and begins as it is there."""
    before, now = _end_of_journal(there) if there.exists() else 0, _end_of_journal(here)
    if before is None or now is None or now <= before:
        return False
    with here.open("rb") as one, there.open("rb") if before else io.BytesIO() as other:
        return all(a == b for a, b in zip(_pieces(one, before), _pieces(other, before), strict=True))


def _end_of_journal(path: Path) -> int | None:
    """Where its last answer ends; None if it is damaged."""
    try:
        with path.open("rb") as file:
            return scan(file).ends[-1]
    except (OSError, ValueError):
        return None


def _copy_file(path: Path, place: Path) -> None:
    with path.open("rb") as file:
        _write_file(place, _pieces(file, path.stat().st_size))


def _put_in_place(made: Path, target: Path, now: datetime) -> Path | None:
    """Give a folder the name of another; where that is from now on."""
    for folder in (made, *(path for path in made.rglob("*") if path.is_dir())):
        sync_folder(folder)
    replaced, old = (_aside(target, now), target.stat().st_ino) if target.exists() else (None, None)
    try:
        _rename(made, target, replaced)
    except OSError as error:
        mend = "Nothing was changed. Restore it to another place, and move it here by hand."
        if replaced is not None and not target.exists():
            mend = f"What was here is whole: rename {replaced} to {target} by hand."
        elif old is not None and target.stat().st_ino != old:
            mend = f"The copy is in place. What was here is whole, as {made}: move it away by hand."
        raise StateError(path=target, reason=error.strerror, mend=mend) from error
    # Whichever of the two names reaches the disk, it is that of a whole folder.
    with suppress(OSError):
        sync_folder(target.parent)
    return replaced


def _rename(made: Path, target: Path, replaced: Path | None) -> None:
    """In one step if that is possible; undone if it fails."""
    if replaced is None:
        os.rename(made, target)
    elif _exchange(made, target):
        try:
            os.rename(made, replaced)
        except OSError:
            _exchange(made, target)
            raise
    else:
        os.rename(target, replaced)
        try:
            os.rename(made, target)
        except OSError:
            with suppress(OSError):
                os.rename(replaced, target)
            raise


def _aside(target: Path, now: datetime) -> Path:
    """A name that is free, for the folder that was here."""
    first = f"{target.name}.replaced-{now.date().isoformat()}"
    names = (first, *(f"{first}-{number}" for number in range(1, 10_000)))
    return next(path for name in names if not os.path.lexists(path := target.with_name(name)))


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system or the disk cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    return rename is not None and rename(_HERE, bytes(one), _HERE, bytes(other), _EXCHANGE) == 0
