"""A ledger of version 1 is read: spending stays, names merge, its noise serves only the runs that drew it."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from accord.errors import AccountError, BudgetError, LedgerError, UsageError
from accord.privacy import events
from accord.privacy.budget import Budget
from accord.privacy.events import NO_COST, AllPairs, Cost, Event, Promise
from accord.privacy.release import Snapshot
from accord.state import noise_format
from accord.state.accounts import accounts
from accord.state.ledger import Ask, Ledger
from tests.spent import SpentError

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TENTH = Promise(Cost(Fraction(1, 10), Fraction(1, 10**9)))

VERSION_1 = """
CREATE TABLE budgets (dataset TEXT PRIMARY KEY, epsilon TEXT, delta TEXT, runs INTEGER);
CREATE TABLE drawings (drawing INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL, noise BLOB);
CREATE UNIQUE INDEX one_noise_a_key ON drawings (key) WHERE noise IS NOT NULL;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE, dataset TEXT NOT NULL,
    partner TEXT NOT NULL, agreement BLOB NOT NULL, key BLOB, drawing INTEGER REFERENCES drawings,
    event BLOB NOT NULL, paid INTEGER NOT NULL, at TEXT NOT NULL
);
CREATE INDEX runs_of_dataset ON runs (dataset);
PRAGMA user_version = 1;
PRAGMA application_id = 1094929479;
"""
BUDGETS = [
    ("North", "1/3", "1e-6", 9),
    ("north", "0.5", "2^-40", None),
    ("cap", None, None, 3),
    ("free", str(10**400), "1e-9", None),
]
DRAWINGS = [(b"k1", [4, 0, 7]), (b"k2", None), (b"k3", [5])]
RUNS: list[tuple[str, str, str, int | None, Event, int]] = [
    # run, data set, partner, drawing, event, paid
    ("r1", "north", "p", 1, TENTH, 1),
    ("r2", "NORTH", "q", 1, TENTH, 1),
    ("r3", "North", "p", 2, TENTH, 1),
    ("r4", "north", "q", 1, TENTH, 0),
    ("r5", "free", "p", 3, TENTH, 1),
    ("r6", "free", "p", None, AllPairs(), 1),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    where = tmp_path / "ledger.sqlite"
    db = sqlite3.connect(where)
    db.executescript(VERSION_1)
    db.executemany("INSERT INTO budgets VALUES (?, ?, ?, ?)", BUDGETS)
    for key, noise in DRAWINGS:
        stored = None if noise is None else noise_format.encode(np.array(noise, dtype=np.int64))
        db.execute("INSERT INTO drawings (key, noise) VALUES (?, ?)", (key, stored))
    for run, dataset, partner, drawing, event, paid in RUNS:
        named = None if drawing is None else DRAWINGS[drawing - 1][0]
        facts = (events.encode(event), paid, NOW.isoformat())
        row = (run, dataset, partner, b"agreement", named, drawing, *facts)
        db.execute("INSERT INTO runs VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()
    return where


def ask(run: str, dataset: str, event: Event = TENTH, partner: str = "p", snapshot: str | None = None) -> Ask:
    declared = None if snapshot is None else Snapshot(snapshot, b"")
    return Ask(run, dataset, partner, b"agreement", b"place", event, declared)


def never() -> np.ndarray:
    raise SpentError


def test_names_that_fold_together_merge_with_all_they_spent_and_the_smaller_limits(path: Path) -> None:
    ledger = Ledger(path)
    found = {account.dataset: account for account in accounts(ledger.runs(), ledger.budgets())}
    assert sorted(found) == ["North", "cap", "free"]
    north = found["North"]
    assert north.budget == Budget(Cost(Fraction(1, 3), Fraction(1, 2**40)), 9)
    assert (north.runs, north.spent) == (4, Cost(Fraction(3, 10), Fraction(3, 10**9)))
    assert (found["free"].runs, found["free"].spent) == (2, TENTH.cost)
    assert found["cap"].budget == Budget(None, 3)
    assert [(run.run, run.at, run.paid) for run in ledger.runs()] == [
        (run, NOW, bool(paid)) for run, *_, paid in RUNS
    ]


def test_what_was_spent_counts(path: Path) -> None:
    ledger = Ledger(path)
    with pytest.raises(BudgetError):
        ledger.charge(ask("r7", "north"), never, NOW)


def test_an_account_without_a_limit_is_confirmed_once(path: Path) -> None:
    ledger = Ledger(path)
    for name in ("free", "FREE", "cap"):
        with pytest.raises(AccountError, match="nobody has confirmed"):
            ledger.find_account(name)
        with pytest.raises(AccountError, match="nobody has confirmed"):
            ledger.charge(ask("r7", name), never, NOW)
    ledger.set_budget("free", Budget())
    ledger.set_budget("cap", Budget(Cost(Fraction(1), Fraction(1, 10)), 3))
    assert Ledger(path).find_account("Free") == "free"
    assert Ledger(path).find_account("cap") == "cap"


def test_a_run_that_was_cut_finds_its_noise_and_no_other_does(path: Path) -> None:
    ledger = Ledger(path)
    # Also where nobody has confirmed the account: a run that goes on spends nothing.
    for run, dataset, noise in (("r1", "north", [4, 0, 7]), ("r5", "free", [5])):
        again = ledger.charge(ask(run, dataset), never, NOW)
        assert (again.noise.tolist(), again.cost, again.fresh) == (noise, TENTH.cost, False)
    assert ledger.charge(ask("r6", "free", AllPairs()), never, NOW).cost == NO_COST
    with pytest.raises(LedgerError, match="forgotten"):
        ledger.charge(ask("r3", "north"), never, NOW)
    with pytest.raises(LedgerError, match="another release"):
        ledger.charge(ask("r1", "free"), never, NOW)
    with pytest.raises(LedgerError, match="another release"):
        ledger.charge(ask("r1", "north", partner="q"), never, NOW)
    ledger.set_budget("free", Budget())
    for run, snapshot in (("r7", None), ("r8", "now")):
        fresh = ledger.charge(ask(run, "free", snapshot=snapshot), lambda: np.array([9]), NOW)
        assert (fresh.noise.tolist(), fresh.cost, fresh.fresh) == ([9], TENTH.cost, True)


def test_it_is_read_once_and_forgets_as_before(path: Path) -> None:
    Ledger(path)
    ledger = Ledger(path)
    assert ledger.forget("r4") == ("r1", "r2")
    with pytest.raises(LedgerError, match="forgotten"):
        ledger.charge(ask("r1", "north"), never, NOW)


def test_a_migration_that_fails_leaves_the_old_ledger(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE budgets SET epsilon = 'much' WHERE dataset = 'north'")
    db.close()
    with pytest.raises(UsageError, match="a limit must be a number"):
        Ledger(path)
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (6,)
    db.close()


def test_a_ledger_of_version_2_gets_room_for_series(tmp_path: Path) -> None:
    where = tmp_path / "ledger.sqlite"
    ledger = Ledger(where)
    ledger.set_budget("north", Budget())
    first = ledger.charge(ask("r1", "north"), lambda: np.array([7]), NOW)
    with sqlite3.connect(where) as db:
        for table in ("looks", "series"):
            db.execute(f"DROP TABLE {table}")
        db.execute("PRAGMA user_version = 2")
    db.close()
    again = Ledger(where)
    assert again.charge(ask("r1", "north"), never, NOW).noise.tolist() == first.noise.tolist() == [7]
    assert again.series("north", "monthly") is None
    with sqlite3.connect(where) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (3,)
    db.close()
