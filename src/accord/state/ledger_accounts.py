"""Which account a run is charged to: one that its owner made, by any spelling of its name.

Neither the agreement nor a typing error may open an account, since a fresh one has spent nothing.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterable

from accord.errors import AccountError
from accord.privacy.release import fold_name
from accord.spelling import nearest


def require_account(db: sqlite3.Connection, dataset: str | None) -> str:
    """The account in its owner's spelling; without a name the only one there is. Raises `AccountError`."""
    rows = db.execute("SELECT account, name, confirmed FROM accounts ORDER BY account").fetchall()
    if dataset is None:
        if len(rows) != 1:
            raise AccountError(problem=_say_choose([name for _, name, _ in rows]))
        found = rows[0]
    else:
        found = _find(rows, dataset)
    _, name, confirmed = found
    if not confirmed:
        raise AccountError(
            problem=f"The account '{name}' has no limit, which nobody has confirmed: an older version made "
            f"it. {_say_how(name)}",
            account=name,
        )
    return str(name)


def remove_account(db: sqlite3.Connection, dataset: str) -> str:
    """Remove an account that no run was ever charged to, and give its name; raises `AccountError` otherwise.

    A snapshot that was declared and never linked stays bound to its table: who makes the account anew does
    not come to another table under an old name.
    """
    rows = db.execute("SELECT account, name, confirmed FROM accounts").fetchall()
    account, name, _ = _find(rows, dataset, making=False)
    (runs,) = db.execute("SELECT COUNT(*) FROM runs WHERE account = ?", (account,)).fetchone()
    if runs:
        raise AccountError(
            problem=f"The account '{name}' has {runs:,} {'run' if runs == 1 else 'runs'}, and what a partner "
            "was shown cannot be taken back: it stays."
        )
    db.execute("DELETE FROM accounts WHERE account = ?", (account,))
    return name


def _find(rows: Iterable[tuple[str, str, int]], dataset: str, making: bool = True) -> tuple[str, str, int]:
    """The row of an account, by any spelling of its name; who looks for none to use need not hear how it is
    made."""
    known = {row[0]: row for row in rows}
    if fold_name(dataset) not in known:
        names = {key: row[1] for key, row in known.items()}
        raise AccountError(problem=_say_unknown(dataset, names, making))
    return known[fold_name(dataset)]


def _say_choose(names: list[str]) -> str:
    if not names:
        return f"There is no account for this table yet. {_say_how('NAME')}"
    shown = ", ".join(f"'{name}'" for name in names)
    return f"There are several accounts: {shown}. Say with `dataset=` which one this table belongs to."


def _say_unknown(dataset: str, known: dict[str, str], making: bool) -> str:
    close = nearest(fold_name(dataset), known)
    hint = f"Did you mean '{known[close]}'? " if close else ""
    return f"There is no account '{dataset}'. {hint}{_say_how(dataset) if making else ''}".rstrip()


def _say_how(name: str) -> str:
    given = shlex.quote(name)
    return (
        f"Its owner makes it: `accord ledger budget {given} --epsilon … --delta …` limits what all runs may "
        f"release together, `accord ledger budget {given} --epsilon unlimited` sets no limit."
    )
