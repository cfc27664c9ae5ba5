"""The ledger: what was spent on every data set, and the noise that was drawn for it. One per installation.

The invariant: noise reaches a caller only after its cost is on disk, with the run that it is for; and no
noise is drawn twice for one release. One transaction (store.py) looks up, checks, draws, fixes the run, keeps
all of it and charges: there is no moment in which a charge exists without its run, or a run without its
charge. A run is named by its caller: asking again, after a crash, finds the first charge.

An account pays once for each release, and again for a new drawing under the same key after `forget`. Whether
noise is drawn, repeated, charged or refused by a limit is a function of names and agreed parameters alone,
never of what is in a table [MATHS §4.5].

    release   noise drawn once under a key (privacy/release.py); numbered, since after `forget` a key may be
              drawn, and is charged, again
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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
from accord.state.folder import require_run_name
from accord.state.ledger_accounts import require_account, require_unused
from accord.state.noise import decode_noise, encode_noise
from accord.state.store import Row, Store, Transaction

MANIFEST = "manifest"
"""The part of a run with what it is and how far, as JSON."""


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
    own: str = ""
    """What the agreement calls this side."""

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


# Not frozen, which takes three times as long to make: of these there may be thousands.
@dataclass(slots=True)
class Entry:
    """A run in the ledger."""

    run: str
    dataset: str
    partner: str
    agreement: bytes
    event: Event
    key: bytes | None
    snapshot: str | None
    at: datetime
    uncovered: int
    paid: bool
    drawing: int | None
    """Which release it was made with, by its number; None where it needs no noise."""
    stored: bool
    """Whether its noise is still kept."""
    kept: bool
    """Whether the run itself is, or was forgotten."""

    @property
    def cost(self) -> Cost | None:
        """What the run was charged; None where nothing is promised."""
        return self.event.cost if self.paid else NO_COST


class Ledger:
    """The ledger in a store. Every method is one transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def charge(
        self, ask: Ask, draw: Callable[[], NDArray[np.int64]], now: datetime, fix: Fix = lambda _: RunParts()
    ) -> Charge:
        """Check the budget, draw or find the noise, fix the run, keep it and charge, sync; then answer.
        Raises without any trace, also if the run was charged before."""
        _check_ask(ask)
        with self._store.writing() as state:
            known = _run(state, ask.run)
            if known is not None and known["charge"] is not None:
                raise self._unfit(f"the run '{ask.run}' was charged before")
            return _charge(state, ask, known, draw, now, fix)

    def recall(self, ask: Ask) -> Charge:
        """The answer to a run that was charged before: the same noise, no new cost."""
        _check_ask(ask)
        with self._store.reading() as state:
            known = _run(state, ask.run)
            if known is None or known["charge"] is None:
                raise self._unfit(f"the run '{ask.run}' was never charged")
            entry = _entry(known, ask.dataset)
            same = known["account"] == fold_name(ask.dataset)
            charged = (entry.partner, entry.agreement, entry.event, entry.key)
            if not same or charged != (ask.partner, ask.agreement, ask.event, ask.key):
                raise self._unfit(f"the run '{ask.run}' was charged for another release")
            if entry.drawing is None:
                return Charge(np.zeros(0, dtype=np.int64), entry.cost)
            if not _is_stored(state, entry.drawing):
                raise self._unfit(
                    f"the noise of the run '{ask.run}' was forgotten", "Start a new run; it is charged again."
                )
            return Charge(_read_noise(state, entry.drawing), entry.cost)

    def quote(self, ask: Ask) -> Cost | None:
        """What a new run with this release would be charged, None if it promises nothing. Raises if the
        budget does not allow it, or if the noise that it would repeat is damaged, before anybody waits."""
        _check_ask(ask)
        with self._store.reading() as state:
            require_account(state, ask.dataset)
            _require_same_table(state, ask)
            release = _release_of(state, ask.key)
            due = release is None
            _check_budget(state, ask.dataset, ask.event if due else AllPairs())
            if release is not None:
                _read_noise(state, release)
            return ask.event.cost if due else NO_COST

    def declare(self, ask: Ask) -> None:
        """Bind the snapshot's name to its table, before anybody is called.

        Were that left to the charge, of two runs that wait under a new name one could be refused before its
        partner's eyes, and so tell that their tables differ.
        """
        _check_ask(ask)
        with self._store.writing() as state:
            require_account(state, ask.dataset)
            _declare(state, ask)

    def set_budget(self, dataset: str, budget: Budget) -> None:
        """Make the account of a data set, or replace its limits."""
        self.change_budget(dataset, lambda old: budget)

    def change_budget(self, dataset: str, change: Callable[[Budget | None], Budget]) -> Budget:
        """Make the account of a data set, or change its limits from now on; what is spent stays spent.

        The old limits are read and the new ones written in one transaction.
        """
        check_name("data set", dataset)
        with self._store.writing() as state:
            name = fold_name(dataset)
            old = state.row("account", "name = ?", name)
            budget = change(None if old is None else _budget(old))
            cost = budget.cost
            epsilon, delta = (text(cost.epsilon), text(cost.delta)) if cost else (None, None)
            shown = dataset if old is None else old["shown"]
            state.put("account", name=name, shown=shown, epsilon=epsilon, delta=delta, runs=budget.runs)
            return budget

    def remove_account(self, dataset: str) -> str:
        """Remove an account to which no run was ever charged, and give its name: it was made by mistake.

        A snapshot that was declared and never linked stays bound to its table: who makes the account anew
        does not come to another table under an old name.
        """
        with self._store.writing() as state:
            name = require_unused(state, dataset)
            state.drop("account", "name = ?", fold_name(name))
            return name

    def budgets(self) -> dict[str, Budget]:
        """The limits of every data set, by the name that its owner gave it."""
        with self._store.reading() as state:
            return {one["shown"]: _budget(one) for one in state.rows("account")}

    def find_account(self, dataset: str | None) -> str:
        """The account of that name in its owner's spelling; without a name the only one there is.

        Raises `AccountError` if there is none.
        """
        with self._store.reading() as state:
            return require_account(state, dataset)

    def runs(self) -> tuple[Entry, ...]:
        """All runs, in the order in which they were charged."""
        with self._store.reading() as state:
            names = {one["name"]: one["shown"] for one in state.rows("account")}
            stored = {one["number"]: bool(one["stored"]) for one in state.rows("release")}
            found = sorted(state.rows("run", "charge IS NOT NULL"), key=lambda run: run["charge"])
            return tuple(
                _entry(row, names[row["account"]], stored.get(row["release"], False)) for row in found
            )

    def forget(self, run: str) -> tuple[str, ...]:
        """Remove all that was stored for a run, never what it spent; the other runs that relied on the same
        noise."""
        with self._store.writing() as state:
            known = _run(state, require_run_name(run))
            if known is None:
                raise UsageError(problem=f"The ledger knows no run '{run}'. `accord ledger` lists them.")
            forget_run(state, known)
            if known["release"] is None:
                return ()
            shared = state.rows("run", "release = ? AND name <> ?", known["release"], run)
            return tuple(one["name"] for one in shared)

    def _unfit(self, reason: str, mend: str = "Start a new run.") -> StateError:
        return StateError(path=self._store.path, reason=reason, mend=mend)


def forget_run(state: Transaction, run: Row) -> None:
    """Remove what a run kept, with its noise; one that was never charged leaves nothing."""
    state.drop("part", "owner = ?", run["name"])
    state.drop("step", "run = ?", run["name"])
    if run["charge"] is None:
        state.drop("run", "name = ?", run["name"])
        return
    state.put("run", **run | {"kept": 0})
    if run["release"] is not None:
        (release,) = state.rows("release", "number = ?", run["release"])
        state.drop("part", "owner = ?", _noise(run["release"]))
        state.put("release", **release | {"stored": 0})


def _charge(
    state: Transaction,
    ask: Ask,
    known: Row | None,
    draw: Callable[[], NDArray[np.int64]],
    now: datetime,
    fix: Fix,
) -> Charge:
    require_account(state, ask.dataset)
    _declare(state, ask)
    release = _release_of(state, ask.key)
    due = release is None
    _check_budget(state, ask.dataset, ask.event if due else AllPairs())
    noise = np.zeros(0, dtype=np.int64)
    if release is not None:
        noise = _read_noise(state, release)
    elif ask.key is not None:
        noise, release = draw(), state.next("release", "number")
        state.put("release", number=release, key=ask.key.hex(), stored=1)
        state.keep("part", _noise(release), "noise", (encode_noise(noise),))
    charge = Charge(noise, ask.event.cost if due else NO_COST)
    charged = {
        "charge": state.next("run", "charge"),
        "account": fold_name(ask.dataset),
        "partner": ask.partner,
        "own": ask.own,
        "agreement": ask.agreement.hex(),
        "event": events.encode(ask.event).decode(),
        "at": now.astimezone(UTC).isoformat(timespec="seconds"),
        "paid": int(due),
        "release": release,
        "key": None if ask.key is None else ask.key.hex(),
        "snapshot": ask.snapshot.name if ask.snapshot else None,
        "uncovered": ask.uncovered,
    }
    state.put("run", **(known or new_run(state, ask.run)) | charged)
    parts = fix(charge)
    change_manifest(state, ask.run, parts.manifest)
    for name, content in parts.contents.items():
        state.keep("part", ask.run, name, (content,))
    return charge


def new_run(state: Transaction, name: str) -> Row:
    """The row of a run that begins."""
    return {"name": name, "number": state.next("run", "number"), "done": 0, "kept": 1}


def change_manifest(state: Transaction, run: str, changes: Mapping[str, Any]) -> None:
    """Change what is kept of a run as JSON."""
    found = state.content("part", run, MANIFEST)
    known = {} if found is None else json.loads(found)
    state.keep("part", run, MANIFEST, (json.dumps({**known, **changes}).encode(),))


def _entry(row: Row, dataset: str, stored: bool = False) -> Entry:
    return Entry(
        run=row["name"],
        dataset=dataset,
        partner=row["partner"],
        agreement=bytes.fromhex(row["agreement"]),
        event=_event(row["event"]),
        key=None if row["key"] is None else bytes.fromhex(row["key"]),
        snapshot=row["snapshot"],
        at=datetime.fromisoformat(row["at"]),
        uncovered=row["uncovered"],
        paid=bool(row["paid"]),
        drawing=row["release"],
        stored=stored,
        kept=bool(row["kept"]),
    )


def _run(state: Transaction, name: str) -> Row | None:
    return state.row("run", "name = ?", name)


def _noise(release: int) -> str:
    """The owner of a release's noise: no run is called so."""
    return f":{release}"


def _release_of(state: Transaction, key: bytes | None) -> int | None:
    """The release under this key, unless it was forgotten."""
    if key is None:
        return None
    row = state.row("release", "key = ? AND stored", key.hex())
    return None if row is None else row["number"]


def _is_stored(state: Transaction, release: int) -> bool:
    (row,) = state.rows("release", "number = ?", release)
    return bool(row["stored"])


def _read_noise(state: Transaction, release: int) -> NDArray[np.int64]:
    """The noise of a release that is stored."""
    stored = state.content("part", _noise(release), "noise")
    if stored is None:
        raise state.damaged("the noise of a release is missing")
    return decode_noise(bytes(stored))


def _require_same_table(state: Transaction, ask: Ask) -> bool:
    """Raise if the snapshot's name stands for another table; whether it stands for one at all."""
    if ask.snapshot is None:
        return True
    known = state.row("snapshot", "place = ?", _place(ask, ask.snapshot))
    if known is not None and known["content"] != ask.snapshot.content.hex():
        raise SnapshotError(snapshot=ask.snapshot.name, dataset=ask.dataset)
    return known is not None


def _declare(state: Transaction, ask: Ask) -> None:
    """Keep what the snapshot's name stands for, unless it stands for another table."""
    if not _require_same_table(state, ask) and ask.snapshot is not None:
        state.put("snapshot", place=_place(ask, ask.snapshot), content=ask.snapshot.content.hex())


def _place(ask: Ask, snapshot: Snapshot) -> str:
    return snapshot_place(ask.dataset, snapshot.name, ask.place).hex()


def _check_budget(state: Transaction, dataset: str, asked: Event) -> None:
    name = fold_name(dataset)
    (account,) = state.rows("account", "name = ?", name)
    runs = list(state.rows("run", "account = ? AND charge IS NOT NULL", name))
    past = [_event(run["event"]) for run in sorted(runs, key=lambda run: run["charge"]) if run["paid"]]
    check(dataset, _budget(account), past, len(runs), asked)


@cache
def _event(encoded: str) -> Event:
    """Made once: most runs of an account are for the same."""
    return events.decode(encoded.encode())


def _budget(limits: Row) -> Budget:
    if limits["epsilon"] is None or limits["delta"] is None:
        return Budget(None, limits["runs"])
    return Budget(Cost(exact(limits["epsilon"], "ε"), exact(limits["delta"], "δ")), limits["runs"])


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
