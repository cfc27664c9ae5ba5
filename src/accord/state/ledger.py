"""The ledger: what was spent on every data set, and the noise that was drawn for it. One per installation.

The invariant: noise reaches a caller only after its cost is on disk, and no noise is drawn twice for one
release. One transaction looks up, checks, draws, stores and charges. It holds SQLite's write lock from its
beginning (BEGIN IMMEDIATE), so two processes cannot both pass a check that only one may pass; it is synced
with its folder (synchronous = EXTRA) before `charge` returns, so neither a kill nor a power cut can lose a
charge that was answered, and one that was not answered is there whole or not at all. A run is named by its
caller: charging it again, after a crash, finds the first charge.

    accounts   made by their owner, with their limits; found by their folded names (privacy/release.py)
    snapshots  with the first use of a snapshot's name, a digest of the table that it stands for
    drawings   noise by release key; a forgotten drawing keeps its row and loses its noise
    runs       one row a run, also for runs that cost nothing; `paid` where the account was charged
    series     and what their runs found in the table: ledger_series.py

An account pays once for each drawing, and again for a new drawing under the same key after `forget`. Whether
noise is drawn, repeated, charged or refused by a limit is a function of names and agreed parameters alone,
never of what is in a table [MATHS §4.5].
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from accord.errors import LedgerError, SnapshotError, UsageError
from accord.exact import text
from accord.privacy import events
from accord.privacy.budget import Budget, check
from accord.privacy.events import NO_COST, AllPairs, Cost, Event
from accord.privacy.number import exact
from accord.privacy.release import Snapshot, fold_name, release_key, snapshot_place
from accord.protocols.parts.batches import Look
from accord.state.folder import require_run_name
from accord.state.ledger_accounts import remove_account, require_account
from accord.state.ledger_file import LedgerFile, decode_noise, encode_noise
from accord.state.ledger_series import (
    SeriesBook,
    SeriesLook,
    find_series,
    forget_series,
    keep_look,
    require_series,
)


@dataclass(frozen=True)
class Ask:
    """A release that is about to be made."""

    run: str
    dataset: str
    """The account, in any spelling."""
    partner: str
    agreement: bytes
    place: bytes = field(repr=False)
    """The blocking with its bins and its rules for rows to leave out, and the side, in canonical bytes."""
    event: Event
    snapshot: Snapshot | None = None
    series: SeriesLook | None = None

    @property
    def key(self) -> bytes | None:
        """The release by name; None where no noise is drawn."""
        if self.series is not None:
            return self.series.key
        if self.event.cost == NO_COST:
            return None
        snapshot = self.snapshot.name if self.snapshot else None
        return release_key(self.dataset, snapshot, self.run, self.place, self.event)


@dataclass(frozen=True, eq=False)
class Charge:
    """The noise to release with, what this run was charged, and whether the noise was drawn for it."""

    noise: NDArray[np.int64] = field(repr=False)
    cost: Cost
    fresh: bool
    look: Look | None = field(default=None, repr=False)
    """What was kept of a new run of a series, for which `noise` is empty."""


@dataclass(frozen=True)
class Entry:
    """A run in the ledger. `cost` is what the run was charged; `stored` whether its noise is still kept."""

    run: str
    dataset: str
    snapshot: str | None
    partner: str
    agreement: bytes
    key: bytes | None = field(repr=False)
    drawing: int | None
    event: Event
    paid: bool
    at: datetime
    stored: bool
    series: str | None = None

    @property
    def cost(self) -> Cost:
        return self.event.cost if self.paid else NO_COST


class Ledger:
    """The ledger in a file, made if it is missing. Every method is one transaction."""

    def __init__(self, path: Path) -> None:
        self._file = LedgerFile(path)

    def charge(self, ask: Ask, draw: Callable[[], NDArray[np.int64]], now: datetime) -> Charge:
        """Check the budget, draw or find the noise, charge, sync; then answer. Raises without any trace."""
        _check_ask(ask)
        with self._file.writing() as db:
            known = _find_run(db, ask.run)
            return self._repeat(db, ask, known) if known else _charge(db, ask, draw, now)

    def quote(self, ask: Ask) -> Cost:
        """What a new run with this release would be charged; raises if the budget does not allow it."""
        _check_ask(ask)
        with self._file.reading() as db:
            require_account(db, ask.dataset)
            _require_same_table(db, ask)
            if ask.series is not None:
                require_series(db, ask.dataset, ask.series)
            due = _find_noise(db, ask.key)[0] is None
            _check_budget(db, ask.dataset, ask.event if due else AllPairs())
            return ask.event.cost if due else NO_COST

    def declare(self, ask: Ask) -> None:
        """Bind the snapshot's name to its table, before anybody is called.

        Were that left to the charge, of two runs that wait under a new name one could be refused before its
        partner's eyes, and so tell that their tables differ.
        """
        _check_ask(ask)
        with self._file.writing() as db:
            require_account(db, ask.dataset)
            _declare(db, ask)

    def set_budget(self, dataset: str, budget: Budget) -> None:
        """Make the account of a data set, or replace its limits."""
        self.change_budget(dataset, lambda old: budget)

    def change_budget(self, dataset: str, change: Callable[[Budget | None], Budget]) -> Budget:
        """Make the account of a data set, or change its limits from now on; what is spent stays spent.

        The old limits are read and the new ones written in one transaction.
        """
        check_name("data set", dataset)
        with self._file.writing() as db:
            query = "SELECT epsilon, delta, runs FROM accounts WHERE account = ?"
            old = db.execute(query, (fold_name(dataset),)).fetchone()
            budget = change(None if old is None else _budget(old))
            cost = budget.cost
            limits = (*((text(cost.epsilon), text(cost.delta)) if cost else (None, None)), budget.runs)
            db.execute(
                "INSERT INTO accounts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "epsilon = excluded.epsilon, delta = excluded.delta, runs = excluded.runs",
                (fold_name(dataset), dataset, *limits),
            )
            return budget

    def remove_account(self, dataset: str) -> str:
        """Remove an account to which no run was ever charged, and give its name: it was made by mistake."""
        with self._file.writing() as db:
            return remove_account(db, dataset)

    def budgets(self) -> dict[str, Budget]:
        """The limits of every data set, by the name that its owner gave it."""
        with self._file.reading() as db:
            rows = db.execute("SELECT name, epsilon, delta, runs FROM accounts ORDER BY account")
            return {row[0]: _budget(row[1:]) for row in rows}

    def find_account(self, dataset: str | None) -> str:
        """The account of that name in its owner's spelling; without a name the only one there is.

        Raises `AccountError` if there is none.
        """
        with self._file.reading() as db:
            return require_account(db, dataset)

    def series(self, dataset: str, name: str) -> SeriesBook | None:
        """What is known of a series, None if there is none of this name; raises if it cannot go on."""
        with self._file.reading() as db:
            return find_series(db, dataset, name)

    def runs(self) -> tuple[Entry, ...]:
        """All rows, oldest first."""
        with self._file.reading() as db:
            return tuple(_decode_entry(row) for row in db.execute(f"{_SELECT_RUNS} ORDER BY number"))

    def forget(self, run: str) -> tuple[str, ...]:
        """Remove the noise stored for a run, never its row; the other runs that relied on the same noise."""
        with self._file.writing() as db:
            known = _find_run(db, require_run_name(run))
            if known is None:
                raise UsageError(problem=f"The ledger knows no run '{run}'. `accord ledger` lists them.")
            db.execute("UPDATE drawings SET noise = NULL WHERE drawing = ?", (known.drawing,))
            forget_series(db, run)
            others = db.execute(
                "SELECT run FROM runs WHERE drawing = ? AND run <> ? ORDER BY number", (known.drawing, run)
            )
            return tuple(row[0] for row in others)

    def _repeat(self, db: sqlite3.Connection, ask: Ask, known: Entry) -> Charge:
        """The answer to a run that was charged before: the same noise, no new row, no new cost."""
        accounts = fold_name(known.dataset) == fold_name(ask.dataset)
        charged = (known.partner, known.agreement, known.event, known.key)
        if not accounts or charged != (ask.partner, ask.agreement, ask.event, ask.key):
            raise LedgerError(
                path=self._file.path,
                reason=f"the run '{ask.run}' was charged for another release",
                mend="Start a new run.",
            )
        if known.drawing is None:
            return Charge(np.zeros(0, dtype=np.int64), known.cost, False)
        stored = db.execute("SELECT noise FROM drawings WHERE drawing = ?", (known.drawing,)).fetchone()[0]
        if stored is None:
            reason = f"the noise of the run '{ask.run}' was forgotten"
            raise LedgerError(
                path=self._file.path, reason=reason, mend="Start a new run; it is charged again."
            )
        return Charge(_decode_noise(stored), known.cost, False)


_SELECT_RUNS = (
    "SELECT run, accounts.name, snapshot, partner, agreement, runs.key, runs.drawing, event, paid, at, "
    "noise IS NOT NULL, series.name FROM runs JOIN accounts USING (account) "
    "LEFT JOIN drawings USING (drawing) LEFT JOIN looks USING (run) LEFT JOIN series USING (series)"
)


def _charge(db: sqlite3.Connection, ask: Ask, draw: Callable[[], NDArray[np.int64]], now: datetime) -> Charge:
    require_account(db, ask.dataset)
    _declare(db, ask)
    if ask.series is not None:
        require_series(db, ask.dataset, ask.series)
    drawing, stored = _find_noise(db, ask.key)
    due = drawing is None
    _check_budget(db, ask.dataset, ask.event if due else AllPairs())
    noise = np.zeros(0, dtype=np.int64)
    look = None if ask.series is None else keep_look(db, ask.dataset, ask.run, ask.series)
    if stored is not None:
        noise = _decode_noise(stored)
    elif ask.key is not None:
        # What is drawn for a series is kept with its looks.
        noise = draw() if look is None else noise
        row = (ask.key, encode_noise(noise))
        drawing = db.execute("INSERT INTO drawings (key, noise) VALUES (?, ?)", row).lastrowid
    db.execute(
        "INSERT INTO runs (run, account, snapshot, partner, agreement, key, drawing, event, paid, at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(ask.run, fold_name(ask.dataset), ask.snapshot.name if ask.snapshot else None, ask.partner),
            *(ask.agreement, ask.key, drawing, events.encode(ask.event), int(due)),
            now.astimezone(UTC).isoformat(timespec="seconds"),
        ),
    )
    return Charge(noise, ask.event.cost if due else NO_COST, stored is None and ask.key is not None, look)


def _find_noise(db: sqlite3.Connection, key: bytes | None) -> tuple[int | None, bytes | None]:
    query = "SELECT drawing, noise FROM drawings WHERE key = ? AND noise IS NOT NULL"
    found: tuple[int, bytes] | None = db.execute(query, (key,)).fetchone()
    return found or (None, None)


def _decode_noise(stored: bytes) -> NDArray[np.int64]:
    try:
        return decode_noise(stored)
    except ValueError as error:
        raise sqlite3.DatabaseError(str(error)) from None


def _require_same_table(db: sqlite3.Connection, ask: Ask) -> None:
    """Raise if the snapshot's name stands for another table."""
    if ask.snapshot is None:
        return
    query = "SELECT content FROM snapshots WHERE place = ?"
    known = db.execute(query, (_place(ask, ask.snapshot),)).fetchone()
    if known is not None and known[0] != ask.snapshot.content:
        raise SnapshotError(snapshot=ask.snapshot.name, dataset=ask.dataset)


def _declare(db: sqlite3.Connection, ask: Ask) -> None:
    """Keep what the snapshot's name stands for, unless it stands for another table."""
    _require_same_table(db, ask)
    if ask.snapshot is not None:
        kept = (_place(ask, ask.snapshot), ask.snapshot.content)
        db.execute("INSERT OR IGNORE INTO snapshots VALUES (?, ?)", kept)


def _place(ask: Ask, snapshot: Snapshot) -> bytes:
    return snapshot_place(ask.dataset, snapshot.name, ask.place)


def _check_budget(db: sqlite3.Connection, dataset: str, asked: Event) -> None:
    account = (fold_name(dataset),)
    limits = db.execute("SELECT epsilon, delta, runs FROM accounts WHERE account = ?", account).fetchone()
    rows = db.execute("SELECT event, paid FROM runs WHERE account = ?", account).fetchall()
    past = [events.decode(event) for event, paid in rows if paid]
    check(dataset, _budget(limits), past, len(rows), asked)


def _find_run(db: sqlite3.Connection, run: str) -> Entry | None:
    row = db.execute(f"{_SELECT_RUNS} WHERE run = ?", (run,)).fetchone()
    return _decode_entry(row) if row else None


def _decode_entry(row: tuple[object, ...]) -> Entry:
    run, dataset, snapshot, partner, agreement, key, drawing, event, paid, at, stored, series = row
    assert isinstance(agreement, bytes)
    assert isinstance(event, bytes)
    assert key is None or isinstance(key, bytes)
    assert snapshot is None or isinstance(snapshot, str)
    assert drawing is None or isinstance(drawing, int)
    assert series is None or isinstance(series, str)
    return Entry(
        *(str(run), str(dataset), snapshot, str(partner), agreement, key, drawing),
        *(events.decode(event), bool(paid), datetime.fromisoformat(str(at)), bool(stored), series),
    )


def _budget(row: tuple[str | None, str | None, int | None]) -> Budget:
    epsilon, delta, runs = row
    if epsilon is None or delta is None:
        return Budget(None, runs)
    return Budget(Cost(exact(epsilon, "ε"), exact(delta, "δ")), runs)


def _check_ask(ask: Ask) -> None:
    require_run_name(ask.run)
    check_name("data set", ask.dataset)
    check_name("partner", ask.partner)
    if ask.snapshot is not None:
        check_name("snapshot", ask.snapshot.name)
    if ask.series is not None:
        check_name("series", ask.series.name)


def check_name(what: str, name: str) -> None:
    """Raise unless the ledger can keep this name."""
    if not (0 < len(name) <= 100 and name.isprintable() and name == name.strip() and fold_name(name)):
        raise UsageError(
            problem=f"A {what} is named by 1 to 100 printable characters, without spaces at either end."
        )
