"""Ledgers of version 1, read once and kept as version 2, in the transaction that opens them.

What was spent stays spent. In version 1 whoever wrote the agreement named the account, so that spellings of
one name stood for several accounts: names that fold together become one, with all their runs, and of limits
the smaller. An account without a limit was never chosen by anybody and must be confirmed once. Noise was
named by a digest of counts, which no release is any more: it is kept for the runs that were drawn with it,
so that a cut run can go on, and no new run finds it.
"""

from __future__ import annotations

import sqlite3

from accord.exact import text
from accord.privacy.budget import MOST_EPSILON
from accord.privacy.number import exact
from accord.privacy.release import fold_name
from accord.state.ledger_schema import SCHEMA

Limits = tuple[str | None, str | None, int | None]


def migrate(db: sqlite3.Connection) -> None:
    """From version 1 to 2. *Requires* a transaction that holds the write lock."""
    budgets = db.execute("SELECT dataset, epsilon, delta, runs FROM budgets ORDER BY dataset").fetchall()
    used = db.execute("SELECT dataset FROM runs GROUP BY dataset ORDER BY min(number)").fetchall()
    for table in ("runs", "drawings"):
        db.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    db.execute("DROP INDEX one_noise_a_key")
    for statement in SCHEMA:
        db.execute(statement)
    spelt: dict[str, str] = {}
    for name, *_ in (*budgets, *used):
        spelt.setdefault(fold_name(name), name)
    for account, name in spelt.items():
        limits = _smallest([row[1:] for row in budgets if fold_name(row[0]) == account])
        row = (account, name, *limits, int(limits[0] is not None))
        db.execute("INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?)", row)
    db.execute("INSERT INTO drawings SELECT drawing, key, noise FROM old_drawings")
    db.create_function("fold_name", 1, fold_name, deterministic=True)
    db.execute(
        "INSERT INTO runs SELECT number, run, fold_name(dataset), NULL, partner, agreement, NULL, drawing, "
        "event, paid, at FROM old_runs ORDER BY number"
    )
    for table in ("old_runs", "old_drawings", "budgets"):
        db.execute(f"DROP TABLE {table}")


def _smallest(limits: list[Limits]) -> Limits:
    """The least of each limit among those that set it; ε beyond all bounds is no limit."""
    costs = [
        (exact(e, "a limit"), exact(d, "a limit")) for e, d, _ in limits if e is not None and d is not None
    ]
    costs = [(e, d) for e, d in costs if e <= MOST_EPSILON]
    runs = min((runs for _, _, runs in limits if runs is not None), default=None)
    if not costs:
        return None, None, runs
    return text(min(e for e, _ in costs)), text(min(d for _, d in costs)), runs
