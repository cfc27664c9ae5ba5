"""What is damaged in a state folder, found by reading all of it.

The invariant: nothing is told as whole that was not read, and nobody waits for it. SQLite's lock is held for
the log, then for one content at a time, so runs go on meanwhile, and one may be forgotten; what was found of
such a run is dropped in the end.

A log that is damaged is believed in nothing else, but here it is read on behind the damage: each link is also
the beginning of the next, so that one entry that was changed is told apart from all others, and everything
that the others name is still looked at. What no entry names is taken away, and only where nothing is damaged:
else it may be just what is missed.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from traceback import clear_frames
from typing import Any

from accord.errors import AccordError, DamagedError, StateError
from accord.state.folder import State
from accord.state.journal import scan
from accord.state.log import PATIENCE_SECONDS, START, Log, Position
from accord.state.manifest import decode_manifest
from accord.state.register import KnownRun, OfRun, Register, RunCharged, decode_entry
from accord.state.runs import StoredRun, remove_leftovers
from accord.wording import counted

Advance = Callable[[int, int], None]
"""How many bytes were read, of how many."""

_PIECE = 1 << 20
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR", "SQLITE_FULL")
_UNKNOWN = "What was charged, and what runs need, is not known for certain: nothing is linked before it is."
_ENTRIES = {
    "AccountSet": "the limits of the account",
    "AccountRemoved": "that an account was removed:",
    "SnapshotNamed": "which table a snapshot is:",
    "PlacingKeyDrawn": "the placing key",
    "RunBegun": "the beginning of the run",
    "RunCharged": "the charge of the run",
    "RunChanged": "how far a run is:",
    "RunDone": "the end of the run",
    "RunForgotten": "that a run was forgotten:",
    "PartnerAdded": "the card of the partner",
    "PartnerRemoved": "that a partner was removed:",
}
_NEEDED = {
    "agreement": "The run can neither be shown nor resumed.",
    "slots": "The run cannot be resumed; what it found is not lost by that.",
    "receipt": "The partner has the same receipt: ask for a copy.",
}
_NO_KEY = (
    "No routed run can begin or go on: another key would leave out other records, and a partner could "
    "compare. Restore a copy."
)
_NO_RESUME = "The run cannot be resumed."


@dataclass(frozen=True)
class Damage:
    """One thing that is not as it was written, and what that means."""

    place: str
    """The file, by its path in the state folder."""
    problem: str
    meaning: str
    run: str | None = None
    digest: str | None = None
    """Of the content, if it is one."""

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}. {self.meaning}".rstrip()


class InspectedRun(StoredRun):
    """A run whose contents are read even if the log is damaged."""

    def __init__(self, found: Inspection, manifest: Any, known: KnownRun) -> None:
        super().__init__(found.state, manifest, known.contents, known.charged is not None)
        self._found = found

    def read(self, name: str) -> bytes:
        return self._found.content(self._contents[name]) if name in self._contents else super().read(name)

    def is_sound(self, name: str) -> bool:
        """Whether it has this content, as it was kept."""
        return name in self._contents and self._contents[name] not in self._found.bad


class Inspection:
    """A state folder that is being inspected, and what was found."""

    def __init__(self, state: State, advance: Advance = lambda read, total: None) -> None:
        self.state, self._log, self._advance = state, Log(state.folder), advance
        self.register = Register()
        """What the entries add up to, also where some are damaged."""
        self.whole = True
        """Whether the log is as it was written."""
        self.links: dict[int, bytes] = {}
        """Of each entry that is as it was written, by its number."""
        self.unreadable: set[int] = set()
        """Entries that are there, and are not what was written."""
        self.contents = self.read = 0
        self.bad: set[str] = set()
        """The digests of contents that are damaged."""
        self.damages: list[Damage] = []
        self.removed: list[str] = []
        """What no entry names, and was taken away."""
        self.runs: list[InspectedRun] = []
        """Those that are kept and can be read."""
        self._total = 0
        for path in _files(state.folder):
            # What a run renames meanwhile is counted under neither name.
            with suppress(FileNotFoundError):
                self._total += path.stat().st_size

    @property
    def entries(self) -> int:
        """How many are as they were written."""
        return len(self.links)

    @property
    def kept(self) -> list[KnownRun]:
        """The runs that are kept."""
        return [run for run in self.register.runs.values() if run.kept and run.manifest]

    def tell(self, place: str, problem: str, meaning: str, run: str | None = None) -> None:
        """Something is damaged."""
        self.damages.append(Damage(place, problem, meaning, run))

    def tick(self, octets: int) -> None:
        """So many bytes more were read."""
        self.read += octets
        self._advance(min(self.read, self._total), self._total)

    def content(self, digest: str) -> bytes:
        """A content; raises `DamagedError`."""
        with self._log.reading() as transaction:
            return transaction.content(digest, "it")

    def inspect(self) -> None:
        """Read everything that can be judged without knowing what a run is: log, contents, journals."""
        # Before the log: a run's folder has more than an empty journal only once the log knows the run.
        folders = sorted(path for path in (self.state.folder / "runs").glob("*") if path.is_dir())
        if has_log(self.state):
            self.inspect_log()
            self._inspect_contents()
        elif folders or any((self.state.folder / name).is_dir() for name in ("runs", "contents")):
            self.whole = False
            self.tell("state.sqlite", "it is missing or empty, though runs are here", _UNKNOWN)
        for known in self.kept:
            self._open(known)
        self._inspect_folders(folders)

    def settle(self) -> None:
        """Drop what was found of runs that were forgotten meanwhile; take away what nothing names."""
        if not self.whole or not has_log(self.state):
            return
        with self.state.database.reading() as now:
            kept = {name for name, run in now.register.runs.items() if run.kept}
            named = now.register.contents()
        gone = self.register.runs.keys() - kept
        self.damages = [
            one for one in self.damages if one.run not in gone and (one.digest is None or one.digest in named)
        ]
        if not self.damages:
            try:
                self.removed += [f"runs/{name}" for name in remove_leftovers(self.state)]
            except AccordError:
                self.tell("runs", "it holds what no run is", "Find out who put it there.")
            self._remove_orphans()

    # -- the log ---------------------------------------------------------------------------------------------

    def inspect_log(self) -> None:
        """Sum up the entries, also behind a damage."""
        try:
            with self._log.reading() as transaction:
                with self._judging(""):
                    for problem in transaction.inspect():
                        self._tell_log(f"SQLite finds in it: {problem}")
                for number, link, body in transaction.entries(START):
                    self._take(Position(number, link), body)
        except DamagedError as error:
            # What hangs on the error holds a cursor, and that SQLite's lock, which others wait for.
            clear_frames(error.__traceback__)
            before = len(self.damages)
            self._read_on()
            if len(self.damages) == before:
                self._tell_log(str(error.reason))

    def _take(self, position: Position, body: bytes) -> None:
        self.register.position = position
        self.links[position.number] = position.link
        self.tick(len(body))
        try:
            entry = decode_entry(body)
            self.register.apply(entry)
            if isinstance(entry, OfRun):
                # Read at once: it raises only then.
                _ = self.register.runs[entry.run].manifest
        except (ValueError, KeyError, TypeError, AttributeError):
            self._tell_log(f"entry {position.number:,} of its log says nothing that follows from the others")

    def _read_on(self) -> None:
        """Behind the first damage: which entries are as they were, by the links on both of their sides."""
        self.whole = False
        with self._judging("state.sqlite"), closing(_connect(self._log.path)) as db:
            last = {self.register.position}
            query = "SELECT number, body, link FROM entries WHERE number > ? ORDER BY number"
            for number, body, link in db.execute(query, (self.register.position.number,)):
                at = max(one.number for one in last)
                if number != at + 1:
                    self._tell_log(f"entries {at + 1:,} to {number - 1:,} of its log are missing")
                    last = {Position(number, link)}
                    continue
                made = {one.then(bytes(body)) for one in last} if isinstance(body, bytes) else set()
                found = Position(number, link)
                if found in made:
                    last = {found}
                    self._take(found, body)
                else:
                    self.unreadable.add(number)
                    self._tell_log(f"entry {number:,} of its log is not what was written", _say_entry(body))
                    last = {found, *made}
            head = [Position(*row) for row in db.execute("SELECT number, link FROM head")]
            if len(head) != 1 or head[0] not in last:
                self._tell_log(f"its log does not end with entry {max(one.number for one in last):,}")

    def _tell_log(self, problem: str, said: str = "") -> None:
        self.whole = False
        self.tell("state.sqlite", problem, f"{said} {_UNKNOWN}".lstrip())

    @contextmanager
    def _judging(self, place: str) -> Iterator[None]:
        """What SQLite cannot read is damaged; told here, unless it will be told anyway."""
        try:
            yield
        except (DamagedError, sqlite3.Error) as error:
            if (getattr(error, "sqlite_errorname", None) or "").startswith(_BUSY):
                raise
            self.whole = False
            if place:
                reason = error.reason if isinstance(error, DamagedError) else error
                self.tell(place, str(reason), _UNKNOWN)

    # -- contents --------------------------------------------------------------------------------------------

    def _inspect_contents(self) -> None:
        uses = uses_of(self.register)
        inside, files = set[str](), set[str]()
        with self._judging(""), self._log.reading() as transaction:
            inside, files = transaction.list_contents()
        for digest in sorted(uses):
            self.contents += 1
            place = f"contents/{digest}" if digest in files and digest not in inside else "state.sqlite"
            problem = self._inspect_content(digest, place)
            if problem:
                self.bad.add(digest)
                what, meaning, run = uses[digest]
                self.damages.append(Damage(place, f"{what} {problem}", meaning, run, digest))

    def _inspect_content(self, digest: str, place: str) -> str:
        """What is wrong with it, if anything is."""
        try:
            if place == "state.sqlite":
                self.tick(len(self.content(digest)))
            elif self._digest_file(self.state.folder / place) != digest:
                return "is not what was written"
        except DamagedError as error:
            return str(error.reason).removeprefix("it ")
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        return ""

    def _digest_file(self, path: Path) -> str:
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
                self.tick(len(piece))
        return digest.hexdigest()

    def _remove_orphans(self) -> None:
        # Whoever keeps a content holds this lock until an entry names it.
        with self._log.writing() as transaction:
            now = Register()
            for _, _, body in transaction.entries(START):
                now.apply(decode_entry(body))
            named, folder = now.contents().keys(), self.state.folder / "contents"
            for digest in sorted(transaction.list_contents()[0] - named):
                transaction.drop(digest)
                self.removed.append(f"the content {digest} in state.sqlite")
            for path in sorted(folder.glob("*")):
                if path.name not in named:
                    path.unlink(missing_ok=True)
                    self.removed.append(f"contents/{path.name}")

    # -- runs ------------------------------------------------------------------------------------------------

    def _open(self, known: KnownRun) -> None:
        """Its manifest, and its journal."""
        place, agreement = f"runs/{known.name}/journal", known.contents.get("agreement", "")
        self._inspect_journal(place, tell_run(known), known.name)
        if agreement in self.bad:
            return
        try:
            text = self.content(agreement).decode()
            manifest = decode_manifest({**known.manifest, "agreement": text})
        except (ValueError, KeyError, StateError):
            what = f"what is kept of {tell_run(known)} cannot be read"
            self.tell("state.sqlite", what, "It can neither be shown nor resumed.", known.name)
            return
        self.runs.append(InspectedRun(self, manifest, known))

    def _inspect_journal(self, place: str, what: str, run: str) -> None:
        meaning = f"It is that of {what}, which cannot be resumed."
        try:
            with (self.state.folder / place).open("rb") as file:
                ends = scan(file).ends
                self.tick(ends[-1])
        except FileNotFoundError:
            self.tell(place, "it is missing", meaning, run)
        except OSError as error:
            self.tell(place, f"it cannot be read: {error.strerror}", meaning, run)
        except ValueError as error:
            self.tell(place, str(error), meaning, run)

    def _inspect_folders(self, folders: list[Path]) -> None:
        """Those of runs that the log does not know, with anything in them."""
        for folder in folders:
            if folder.name not in self.register.runs and (steps := _steps(folder)) != 0:
                far = "what cannot be read" if steps is None else counted(steps, "step")
                problem = f"the database does not know this run, which has {far}"
                meaning = "What it spent is not in the ledger: ask the partner, and count it by hand."
                if not self.whole:
                    meaning = "It may be in what cannot be read of the database."
                self.tell(f"runs/{folder.name}", problem, meaning)


def has_log(state: State) -> bool:
    """Whether there is a database; an empty file is none, and SQLite would take it for a new one."""
    path = state.database.path
    return path.exists() and path.stat().st_size > 0


def tell_run(run: KnownRun) -> str:
    """Which run it is, in words."""
    partner, account = (run.manifest.get(name) for name in ("partner", "dataset"))
    return f"the run {run.name}" + (f" with {partner} on '{account}'" if partner and account else "")


def uses_of(register: Register) -> dict[str, tuple[str, str, str | None]]:
    """Every content that is named, by its digest: what it is, what is lost without it, and its run."""
    found: dict[str, tuple[str, str, str | None]] = {}
    for run in register.runs.values():
        for name, digest in run.contents.items():
            key = name.startswith("key-")
            lost = "Its output can no longer be verified." if key else _NEEDED.get(name, _NO_RESUME)
            what = "key of the output" if key else name
            found.setdefault(digest, (f"the {what} of {tell_run(run)}", lost, run.name))
    if register.placing_key is not None:
        found[register.placing_key] = ("the placing key", _NO_KEY, None)
    sharing: dict[int | None, list[RunCharged]] = {}
    for run, charged in register.charged():
        sharing.setdefault(run.release, []).append(charged)
    for number, release in enumerate(register.releases):
        if release.noise is not None:
            found[release.noise] = _noise_of(register, sharing.get(number, []))
    return found


def _noise_of(register: Register, runs: list[RunCharged]) -> tuple[str, str, str | None]:
    if not runs:
        return "the noise of a release", "No run that is known was made with it.", None
    charged, name = runs[0], runs[0].run
    account = register.accounts.get(charged.account)
    owner = charged.account if account is None else account.name
    names = ", ".join(run.run for run in runs)
    if charged.snapshot is None:
        return f"the noise of the run {name} on '{owner}'", "The run cannot be resumed.", name
    what = f"the noise of the snapshot '{charged.snapshot}' of '{owner}'"
    return what, f"Nothing can be linked under that name; these runs cannot be resumed: {names}.", name


def _steps(folder: Path) -> int | None:
    """How much is in the folder of a run: its steps, 0 if nothing is, None if that cannot be told."""
    try:
        with (folder / "journal").open("rb") as file:
            return len(scan(file).starts)
    except FileNotFoundError:
        return 0
    except (OSError, ValueError):
        return None


def _say_entry(body: object) -> str:
    """What an entry that is damaged seems to have said."""
    line, _, facts = (body if isinstance(body, bytes) else b"").decode(errors="replace").partition("\n")
    kind, _, run = line.partition(" ")
    # The first of its facts: the name of an account or of a partner, or the place of a snapshot.
    name = run or next(iter(re.findall(r'^\["([^"]{1,100})"', facts)), "")
    if kind not in _ENTRIES or not name or not name.isprintable():
        return "What it said cannot be told."
    return f"It seems to be {_ENTRIES[kind]} {name}."


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=PATIENCE_SECONDS)


def _files(folder: Path) -> Iterator[Path]:
    yield from (path for path in folder.glob("state.sqlite"))
    yield from (path for path in (folder / "contents").glob("*") if path.is_file())
    yield from (path for path in (folder / "runs").rglob("*") if path.is_file())
