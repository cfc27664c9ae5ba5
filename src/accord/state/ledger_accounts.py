"""Which account a run is charged to: one that its owner made, by any spelling of its name.

Neither the agreement nor a typing error may open an account, since a fresh one has spent nothing.
"""

from __future__ import annotations

import shlex

from accord.errors import AccountError
from accord.naming import fold_name
from accord.state.store import Transaction
from accord.wording import nearest


def require_account(state: Transaction, dataset: str | None) -> str:
    """The account in its owner's spelling; without a name the only one there is. Raises `AccountError`."""
    names = _names(state)
    if dataset is not None:
        return names[_find(names, dataset)]
    if len(names) != 1:
        raise AccountError(problem=_say_choose(list(names.values())))
    return next(iter(names.values()))


def require_unused(state: Transaction, dataset: str) -> str:
    """The account in its owner's spelling; raises `AccountError` if a run was ever charged to it."""
    names = _names(state)
    account = _find(names, dataset, making=False)
    if runs := sum(1 for _ in state.rows("run", "account = ? AND charge IS NOT NULL", account)):
        raise AccountError(
            problem=f"The account '{names[account]}' has {runs:,} {'run' if runs == 1 else 'runs'}, and what "
            "a partner was shown cannot be taken back: it stays."
        )
    return names[account]


def _names(state: Transaction) -> dict[str, str]:
    """The names that owners gave their accounts, by folded name."""
    return {row["name"]: row["shown"] for row in state.rows("account")}


def _find(names: dict[str, str], dataset: str, making: bool = True) -> str:
    """The folded name of an account, by any spelling; who looks for none to use need not hear how it is
    made."""
    account = fold_name(dataset)
    if account not in names:
        raise AccountError(problem=_say_unknown(dataset, names, making))
    return account


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
