"""The ledger: what was spent on every data set, and the noise that was drawn for it. One per installation.

The invariant: noise reaches a caller only after its cost is on disk, with the run that it is for; and no
noise is drawn twice for one release. One transaction (log.py) looks up, checks, draws, fixes the run, keeps
all of it and charges: there is no moment in which a charge exists without its run, or a run without its
charge. A run is named by its caller: asking again, after a crash, finds the first charge.

An account pays once for each release, and again for a new drawing under the same key after `forget`. Whether
noise is drawn, repeated, charged or refused by a limit is a function of names and agreed parameters alone,
never of what is in a table [MATHS §4.5].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.errors import SnapshotError, StateError, UsageError
from accord.exact import text
from accord.naming import fold_name
from accord.privacy import events
from accord.privacy.budget import Budget, check
from accord.privacy.events import NO_COST, AllPairs, Cost, Event, is_free
from accord.privacy.number import exact
from accord.privacy.release import Snapshot, release_key, snapshot_place
from accord.state.database import Database, Reading, Writing
from accord.state.folder import require_run_name
from accord.state.ledger_accounts import require_account, require_unused
from accord.state.noise import decode_noise, encode_noise
from accord.state.register import (
    AccountRemoved,
    AccountSet,
    KnownRun,
    Register,
    RunCharged,
    RunForgotten,
    SnapshotNamed,
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
    uncovered: int = 0
    """For how many records of the table the promise does not hold. It is kept for the owner alone."""

    @property
    def key(self) -> bytes | None:
        """The release by name; None where no noise is drawn."""
        if is_free(self.event.cost):
            return None
        snapshot = self.snapshot.name if self.snapshot else None
        return release_key(self.dataset, snapshot, self.run, self.place, self.event)


@dataclass(frozen=True, eq=False)
class Charge:
    """The noise to release with, and what this run was charged."""

    noise: NDArray[np.int64] = field(repr=False)
    cost: Cost | None
    """None where nothing is promised."""


@dataclass(frozen=True)
class RunParts:
    """What a run keeps from now on."""

    manifest: dict[str, Any] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict, repr=False)


Fix = Callable[[Charge], RunParts]
"""Fix a run with the noise that it is charged for; nothing of it is sent before this is on disk."""


# Not frozen, as `RunCharged`.
@dataclass(slots=True)
class Entry:
    """A run in the ledger."""

    dataset: str
    drawing: int | None
    """Which release it was made with, by its number; None where it needs no noise."""
    stored: bool
    """Whether its noise is still kept."""
    kept: bool
    """Whether the run itself is, or was forgotten."""
    charged: RunCharged = field(repr=False)

    @property
    def run(self) -> str:
        return self.charged.run

    @property
    def snapshot(self) -> str | None:
        return self.charged.snapshot

    @property
    def partner(self) -> str:
        return self.charged.partner

    @property
    def agreement(self) -> bytes:
        return bytes.fromhex(self.charged.agreement)

    @property
    def key(self) -> bytes | None:
        return None if self.charged.key is None else bytes.fromhex(self.charged.key)

    @property
    def event(self) -> Event:
        return _event(self.charged.event)

    @property
    def uncovered(self) -> int:
        return self.charged.uncovered

    @property
    def paid(self) -> bool:
        return self.charged.paid

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.charged.at)

    @property
    def cost(self) -> Cost | None:
        """What the run was charged; None where nothing is promised."""
        return self.event.cost if self.paid else NO_COST


class Ledger:
    """The ledger in a database. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def charge(
        self, ask: Ask, draw: Callable[[], NDArray[np.int64]], now: datetime, fix: Fix = lambda _: RunParts()
    ) -> Charge:
        """Check the budget, draw or find the noise, fix the run, keep it and charge, sync; then answer.
        Raises without any trace, also if the run was charged before."""
        _check_ask(ask)
        with self._database.writing() as state:
            known = state.register.runs.get(ask.run)
            if known is not None and known.charged is not None:
                raise self._unfit(f"the run '{ask.run}' was charged before")
            return _charge(state, ask, draw, now, fix)

    def recall(self, ask: Ask) -> Charge:
        """The answer to a run that was charged before: the same noise, no new cost."""
        _check_ask(ask)
        with self._database.reading() as state:
            known = state.register.runs.get(ask.run)
            if known is None or known.charged is None:
                raise self._unfit(f"the run '{ask.run}' was never charged")
            entry = _entry(state.register, known, known.charged)
            same = fold_name(entry.dataset) == fold_name(ask.dataset)
            charged = (entry.partner, entry.agreement, entry.event, entry.key)
            if not same or charged != (ask.partner, ask.agreement, ask.event, ask.key):
                raise self._unfit(f"the run '{ask.run}' was charged for another release")
            if known.release is None:
                return Charge(np.zeros(0, dtype=np.int64), entry.cost)
            if not entry.stored:
                raise self._unfit(
                    f"the noise of the run '{ask.run}' was forgotten", "Start a new run; it is charged again."
                )
            return Charge(_read_noise(state, known.release), entry.cost)

    def quote(self, ask: Ask) -> Cost | None:
        """What a new run with this release would be charged, None if it promises nothing. Raises if the
        budget does not allow it, or if the noise that it would repeat is damaged, before anybody waits."""
        _check_ask(ask)
        with self._database.reading() as state:
            register = state.register
            require_account(register, ask.dataset)
            _require_same_table(register, ask)
            release = register.release_of(_hex(ask.key))
            due = release is None
            _check_budget(register, ask.dataset, ask.event if due else AllPairs())
            if release is not None:
                _read_noise(state, release)
            return ask.event.cost if due else NO_COST

    def declare(self, ask: Ask) -> None:
        """Bind the snapshot's name to its table, before anybody is called.

        Were that left to the charge, of two runs that wait under a new name one could be refused before its
        partner's eyes, and so tell that their tables differ.
        """
        _check_ask(ask)
        with self._database.writing() as state:
            require_account(state.register, ask.dataset)
            _declare(state, ask)

    def set_budget(self, dataset: str, budget: Budget) -> None:
        """Make the account of a data set, or replace its limits."""
        self.change_budget(dataset, lambda old: budget)

    def change_budget(self, dataset: str, change: Callable[[Budget | None], Budget]) -> Budget:
        """Make the account of a data set, or change its limits from now on; what is spent stays spent.

        The old limits are read and the new ones written in one transaction.
        """
        check_name("data set", dataset)
        with self._database.writing() as state:
            old = state.register.accounts.get(fold_name(dataset))
            budget = change(None if old is None else _budget(old))
            cost = budget.cost
            epsilon, delta = (text(cost.epsilon), text(cost.delta)) if cost else (None, None)
            state.add(AccountSet(dataset if old is None else old.name, epsilon, delta, budget.runs))
            return budget

    def remove_account(self, dataset: str) -> str:
        """Remove an account to which no run was ever charged, and give its name: it was made by mistake.

        A snapshot that was declared and never linked stays bound to its table: who makes the account anew
        does not come to another table under an old name.
        """
        with self._database.writing() as state:
            name = require_unused(state.register, dataset)
            state.add(AccountRemoved(name))
            return name

    def budgets(self) -> dict[str, Budget]:
        """The limits of every data set, by the name that its owner gave it."""
        with self._database.reading() as state:
            return {one.name: _budget(one) for _, one in sorted(state.register.accounts.items())}

    def find_account(self, dataset: str | None) -> str:
        """The account of that name in its owner's spelling; without a name the only one there is.

        Raises `AccountError` if there is none.
        """
        with self._database.reading() as state:
            return require_account(state.register, dataset)

    def runs(self) -> tuple[Entry, ...]:
        """All runs, oldest first."""
        with self._database.reading() as state:
            return tuple(_entry(state.register, run, charged) for run, charged in state.register.charged())

    def forget(self, run: str) -> tuple[str, ...]:
        """Remove all that was stored for a run, never what it spent; the other runs that relied on the same
        noise."""
        with self._database.writing() as state:
            known = state.register.runs.get(require_run_name(run))
            if known is None:
                raise UsageError(problem=f"The ledger knows no run '{run}'. `accord ledger` lists them.")
            if known.kept:
                state.add(RunForgotten(run))
            others = state.register.runs.values()
            shared = (one for one in others if one.release == known.release is not None)
            return tuple(one.name for one in shared if one is not known)

    def _unfit(self, reason: str, mend: str = "Start a new run.") -> StateError:
        return StateError(path=self._database.path, reason=reason, mend=mend)


def _charge(
    state: Writing, ask: Ask, draw: Callable[[], NDArray[np.int64]], now: datetime, fix: Fix
) -> Charge:
    register, key = state.register, _hex(ask.key)
    require_account(register, ask.dataset)
    _declare(state, ask)
    release = register.release_of(key)
    due = release is None
    _check_budget(register, ask.dataset, ask.event if due else AllPairs())
    noise = np.zeros(0, dtype=np.int64)
    if release is not None:
        noise = _read_noise(state, release)
    elif key is not None:
        noise = draw()
    charge = Charge(noise, ask.event.cost if due else NO_COST)
    parts = fix(charge)
    state.add(
        RunCharged(
            run=ask.run,
            account=fold_name(ask.dataset),
            partner=ask.partner,
            agreement=ask.agreement.hex(),
            event=events.encode(ask.event).decode(),
            at=now.astimezone(UTC).isoformat(timespec="seconds"),
            paid=due,
            key=key,
            noise=state.keep(encode_noise(noise)) if due and key is not None else None,
            snapshot=ask.snapshot.name if ask.snapshot else None,
            uncovered=ask.uncovered,
            manifest=parts.manifest,
            contents={name: state.keep(content) for name, content in parts.contents.items()},
        )
    )
    return charge


def _read_noise(state: Reading, release: int) -> NDArray[np.int64]:
    """The noise of a release that is stored."""
    stored = state.register.releases[release].noise
    assert stored is not None
    return decode_noise(state.content(stored, "the noise of a release"))


def _require_same_table(register: Register, ask: Ask) -> None:
    """Raise if the snapshot's name stands for another table."""
    if ask.snapshot is None:
        return
    known = register.snapshots.get(_place(ask, ask.snapshot))
    if known is not None and known != ask.snapshot.content.hex():
        raise SnapshotError(snapshot=ask.snapshot.name, dataset=ask.dataset)


def _declare(state: Writing, ask: Ask) -> None:
    """Keep what the snapshot's name stands for, unless it stands for another table."""
    _require_same_table(state.register, ask)
    if ask.snapshot is not None and _place(ask, ask.snapshot) not in state.register.snapshots:
        state.add(SnapshotNamed(_place(ask, ask.snapshot), ask.snapshot.content.hex()))


def _place(ask: Ask, snapshot: Snapshot) -> str:
    return snapshot_place(ask.dataset, snapshot.name, ask.place).hex()


def _check_budget(register: Register, dataset: str, asked: Event) -> None:
    account = fold_name(dataset)
    runs = [charged for _, charged in register.charged(account)]
    past = [_event(run.event) for run in runs if run.paid]
    check(dataset, _budget(register.accounts[account]), past, len(runs), asked)


def _entry(register: Register, run: KnownRun, charged: RunCharged) -> Entry:
    drawing = None if run.release is None else run.release + 1
    stored = run.release is not None and register.releases[run.release].noise is not None
    return Entry(register.accounts[charged.account].name, drawing, stored, run.kept, charged)


@cache
def _event(encoded: str) -> Event:
    """Made once: most runs of an account are for the same."""
    return events.decode(encoded.encode())


def _hex(key: bytes | None) -> str | None:
    return None if key is None else key.hex()


def _budget(limits: AccountSet) -> Budget:
    if limits.epsilon is None or limits.delta is None:
        return Budget(None, limits.runs)
    return Budget(Cost(exact(limits.epsilon, "ε"), exact(limits.delta, "δ")), limits.runs)


def _check_ask(ask: Ask) -> None:
    require_run_name(ask.run)
    check_name("data set", ask.dataset)
    check_name("partner", ask.partner)
    if ask.snapshot is not None:
        check_name("snapshot", ask.snapshot.name)


def check_name(what: str, name: str) -> None:
    """Raise unless the ledger can keep this name."""
    if not (0 < len(name) <= 100 and name.isprintable() and name == name.strip() and fold_name(name)):
        raise UsageError(
            problem=f"A {what} is named by 1 to 100 printable characters, without spaces at either end."
        )
