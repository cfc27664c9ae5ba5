"""What the entries of the log add up to: accounts, snapshots, the placing key, releases with noise, runs,
partners.

Every entry is a fact that stays: an account's limits from then on, a run that was charged with all that it
was given, how far a run is, that something was forgotten. `apply` is the one place that says what follows
from it. Contents (noise, slots, receipts, …) are named by their digests, and a run's by their names, too.

    release   noise drawn once under a key (privacy/release.py); numbered, since after `forget` a key may be
              drawn, and is charged, again
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from accord.naming import fold_name
from accord.state.log import START, Position


@dataclass(frozen=True, slots=True)
class AccountSet:
    """An account was made, or has other limits from now on."""

    name: str
    epsilon: str | None
    delta: str | None
    runs: int | None


@dataclass(frozen=True, slots=True)
class AccountRemoved:
    """An account to which nothing was charged is gone."""

    name: str


@dataclass(frozen=True, slots=True)
class SnapshotNamed:
    """A snapshot's name stands for a table, by a digest of it."""

    place: str
    content: str


@dataclass(frozen=True, slots=True)
class PlacingKeyDrawn:
    """By this key full keys are filled in all runs from now on."""

    content: str


@dataclass(frozen=True, slots=True)
class RunBegun:
    """A run that the partner will hear of is kept with what it was given: should this side be cut off before
    it is charged, and the partner not, both can still go on with it."""

    run: str
    manifest: dict[str, Any]
    contents: dict[str, str]


# Not frozen, which takes three times as long to make: of these there may be thousands.
@dataclass(slots=True)
class RunCharged:
    """A run was charged and fixed, with all that its messages follow from: one fact."""

    run: str
    event: str
    account: str
    partner: str
    agreement: str
    """Its digest, in hex, as all bytes here."""
    at: str
    paid: bool
    """Whether the account was charged for it."""
    key: str | None = None
    """Of its release; None where no noise was drawn."""
    noise: str | None = None
    """Drawn for this run; None where it is repeated, or none is needed."""
    snapshot: str | None = None
    uncovered: int = 0
    """For how many records of the table the promise does not hold. No partner is told."""
    manifest: dict[str, Any] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunChanged:
    """How far a run is, and what else it keeps from now on."""

    run: str
    manifest: dict[str, Any] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunDone:
    """A run is done; the same for the rest."""

    run: str
    manifest: dict[str, Any] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunForgotten:
    """What a run kept is gone, with its noise; what it spent stays."""

    run: str


@dataclass(frozen=True, slots=True)
class PartnerAdded:
    """This card, and no other, stands for a partner."""

    name: str
    card: str


@dataclass(frozen=True, slots=True)
class PartnerRemoved:
    """A partner is trusted no longer."""

    name: str


LogEntry = (
    AccountSet
    | AccountRemoved
    | SnapshotNamed
    | PlacingKeyDrawn
    | RunBegun
    | RunCharged
    | RunChanged
    | RunDone
    | RunForgotten
    | PartnerAdded
    | PartnerRemoved
)
_KINDS: dict[str, type[LogEntry]] = {
    kind.__name__: kind
    for kind in (
        AccountSet, AccountRemoved, SnapshotNamed, PlacingKeyDrawn, RunBegun, RunCharged, RunChanged, RunDone,
        RunForgotten, PartnerAdded, PartnerRemoved,
    )
}  # fmt: skip


OfRun = RunBegun | RunCharged | RunChanged | RunDone
_LATER = {kind.__name__.encode() for kind in (RunBegun, RunChanged, RunDone)}
"""Kinds that say something of one run alone, and are read when somebody asks for it."""


_HEAD = ("run", "event")
_PARTS = ("manifest", "contents")
_scan_json = json.JSONDecoder().raw_decode
_write_json = json.JSONEncoder(separators=(",", ":")).encode


def encode_entry(entry: LogEntry) -> bytes:
    """An entry as bytes, in three lines: its kind, with the run that it is of and the event of a charge (JSON
    itself, which is read a third as fast within other JSON); its other facts as a JSON list; and of a run the
    manifest and the names of contents, which are read when somebody asks for it."""
    head = [getattr(entry, name, "") for name in _HEAD]
    facts = [getattr(entry, name) for name in entry.__slots__ if name not in (*_HEAD, *_PARTS)]
    parts = [getattr(entry, name) for name in entry.__slots__ if name in _PARTS]
    line = " ".join([type(entry).__name__, *head])
    return "\n".join([line, _write_json(facts), _write_json(parts)]).encode()


def decode_entry(body: bytes, whole: bool = True) -> LogEntry:
    """What `encode_entry` was given, or that without its last line; raises ValueError. The log has seen to it
    that it is just that, unless the whole of it was made up."""
    line, facts, parts = body.decode().split("\n")
    kind, *head = line.split(" ", len(_HEAD))
    of = [part for part in head if part]
    values = (*of, *_scan_json(facts)[0], *(_scan_json(parts)[0] if whole else ()))
    try:
        return _KINDS[kind](*values)
    except (TypeError, KeyError):
        raise ValueError("not an entry") from None


class KnownRun:
    """A run, as far as it is. Of thousands few are looked at: what is known of one is read when it is."""

    __slots__ = ("_contents", "_manifest", "_unread", "begun", "charged", "done", "kept", "name", "release")

    def __init__(self, name: str) -> None:
        self.name = name
        self.charged: RunCharged | None = None
        self.release: int | None = None
        """Which one it was made with; None where it needs no noise."""
        self.begun = False
        """Or only charged, as by who asks the ledger alone."""
        self.done = False
        self.kept = True
        """Or forgotten."""
        self._unread: list[bytes | OfRun] = []
        self._manifest: dict[str, Any] = {}
        self._contents: dict[str, str] = {}

    @property
    def manifest(self) -> dict[str, Any]:
        """As JSON."""
        self._read()
        return self._manifest

    @property
    def contents(self) -> dict[str, str]:
        """By name."""
        self._read()
        return self._contents

    def add(self, entry: bytes | OfRun) -> None:
        """An entry that changes it."""
        self._unread.append(entry)

    def forget(self) -> None:
        """That it was; what it was called stays, and whether it was done."""
        self._read()
        self.kept, self._contents = False, {}

    def _read(self) -> None:
        while self._unread:
            each = self._unread[0]
            entry = decode_entry(each) if isinstance(each, bytes) else each
            assert isinstance(entry, OfRun)
            if not (isinstance(entry.manifest, dict) and isinstance(entry.contents, dict)):
                raise ValueError("not a run")
            self._manifest |= entry.manifest
            self._contents |= entry.contents
            self._unread.pop(0)


@dataclass(slots=True)
class KnownRelease:
    """Noise that was drawn."""

    key: str
    noise: str | None
    """None once it was forgotten."""


class Register:
    """The sum of the entries up to a place."""

    def __init__(self) -> None:
        self.position: Position = START
        self.accounts: dict[str, AccountSet] = {}
        """By folded name, as everything that owners name."""
        self.snapshots: dict[str, str] = {}
        self.placing_key: str | None = None
        """The digest of the key (placing_key.py), once it was drawn."""
        self.releases: list[KnownRelease] = []
        self.runs: dict[str, KnownRun] = {}
        self.partners: dict[str, str] = {}
        self._by_key: dict[str, int] = {}

    def release_of(self, key: str | None) -> int | None:
        """The release under this key, unless it was forgotten."""
        return None if key is None else self._by_key.get(key)

    def charged(self, account: str | None = None) -> Iterator[tuple[KnownRun, RunCharged]]:
        """All runs that were charged, in their order, or those of an account, by its folded name."""
        runs = ((run, run.charged) for run in self.runs.values())
        return ((run, of) for run, of in runs if of is not None and account in (None, of.account))

    def contents(self) -> dict[str, str]:
        """Every content that is named, by its digest, with what it is, in words."""
        found = {
            digest: f"the {name} of the run {run.name}"
            for run in self.runs.values()
            for name, digest in run.contents.items()
        }
        if self.placing_key is not None:
            found[self.placing_key] = "the placing key"
        for release in self.releases:
            if release.noise is not None:
                found[release.noise] = "the noise of a release"
        return found

    def take(self, body: bytes) -> None:
        """Go on by an entry in bytes; raises ValueError, or when it is read."""
        kind, run, _ = body.split(b" ", 2)
        if kind in _LATER:
            known = self._run(run.decode())
            known.add(body)
            known.begun = True
            known.done |= kind == b"RunDone"
        elif kind == b"RunCharged":
            charged = decode_entry(body, whole=False)
            assert isinstance(charged, RunCharged)
            known = self._run(charged.run)
            known.add(body)
            self._charge(known, charged)
        else:
            self.apply(decode_entry(body))

    def apply(self, entry: LogEntry) -> None:
        """Go on by an entry."""
        match entry:
            case RunBegun() | RunCharged() | RunChanged() | RunDone():
                run = self._run(entry.run)
                run.add(entry)
                run.begun |= not isinstance(entry, RunCharged)
                run.done |= isinstance(entry, RunDone)
                if isinstance(entry, RunCharged):
                    self._charge(run, entry)
            case AccountSet():
                self.accounts[fold_name(entry.name)] = entry
            case AccountRemoved():
                del self.accounts[fold_name(entry.name)]
            case SnapshotNamed():
                self.snapshots[entry.place] = entry.content
            case PlacingKeyDrawn():
                self.placing_key = entry.content
            case RunForgotten():
                self._forget(self.runs[entry.run])
            case PartnerAdded():
                self.partners[entry.name] = entry.card
            case PartnerRemoved():
                del self.partners[entry.name]

    def _run(self, name: str) -> KnownRun:
        known = self.runs.get(name)
        if known is None:
            known = self.runs[name] = KnownRun(name)
        return known

    def _charge(self, run: KnownRun, entry: RunCharged) -> None:
        release = self.release_of(entry.key)
        if entry.key is not None and release is None:
            self.releases.append(KnownRelease(entry.key, entry.noise))
            release = self._by_key[entry.key] = len(self.releases) - 1
        run.charged, run.release = entry, release

    def _forget(self, run: KnownRun) -> None:
        run.forget()
        if run.release is not None:
            release = self.releases[run.release]
            release.noise = None
            if self._by_key.get(release.key) == run.release:
                del self._by_key[release.key]
