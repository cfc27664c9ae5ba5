"""All that is kept here of one run, put together for a report: manifest, ledger, slots, journal, receipt.

What is not kept any more is None: a report says so. What is damaged is raised. Nothing is changed, so the run
may be in use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.errors import TrustError
from accord.privacy.events import Cost
from accord.protocols.parts.answers import Answered
from accord.run.answered import agreement_of, answer_of
from accord.run.receipt import Receipt, receipt_of
from accord.side import Side
from accord.state.accounts import Account, account
from accord.state.folder import State
from accord.state.ledger import Entry, Ledger
from accord.state.runs import StoredRun, open_run

Ints = NDArray[np.int64]
Ended = Literal["done", "closed", "most_matches", "no_table", "unequal", "cut", "waits"]


@dataclass(frozen=True, eq=False)
class Bins:
    """One side's bins as only it knows them."""

    side: Side
    real: Ints
    dummies: Ints
    compared: int | None
    """Comparisons with a real record of this side; None where the partner's counts are not kept, or where a
    run does not compare all that the counts ask for."""


@dataclass(frozen=True)
class Remembered:
    """What is known of a run."""

    name: str
    agreement: Agreement
    side: Side
    dataset: str
    snapshot: str
    records: int
    began: str
    ended: Ended
    resumes: int
    wrong: int
    out: str
    phases: Mapping[str, float] | None
    bytes: int | None
    traffic: Mapping[str, int] | None
    """Of these bytes, by phase."""
    charged: Cost | None
    """None where nothing is promised, or the ledger does not have the run."""
    account: Account | None
    """None where the ledger does not have the run."""
    receipt: Receipt | None
    bins: Bins | None
    matches: int | None = None
    """The pairs that this side was told."""
    answer: Answered | None = None
    """What both learned where nobody is shown."""
    uncovered: int = 0
    """For how many records the promise does not hold, as the ledger has it."""


@dataclass(frozen=True)
class Forgotten:
    """What the ledger still knows of a run that was forgotten, or whose folder is gone."""

    name: str
    partner: str
    dataset: str
    snapshot: str
    agreement: str
    """Its digest, in hex."""
    at: str
    charged: Cost | None
    account: Account


def remember(state: State, name: str) -> Remembered | Forgotten:
    """What is kept of a run; raises if nothing is known of one of this name."""
    ledger = Ledger(state.store)
    entries = ledger.runs()
    entry = next((one for one in entries if one.run == name), None)
    if entry is not None and not entry.kept:
        return _forgotten(entry, account(entry.dataset, entries, ledger.budgets()))
    run = open_run(state, name)
    known = run.manifest
    agreement = agreement_of(known)
    side, asked = Side(known.side), known.request
    return Remembered(
        name=name,
        agreement=agreement,
        side=side,
        dataset=known.dataset,
        snapshot=asked.snapshot or "",
        records=known.records,
        began=known.began,
        ended=known.state,
        resumes=known.resumes,
        wrong=known.wrong,
        out=asked.out,
        phases=known.phases,
        bytes=known.bytes,
        traffic=known.traffic,
        charged=entry.cost if entry is not None else None,
        account=account(entry.dataset, entries, ledger.budgets()) if entry is not None else None,
        receipt=_receipt(run),
        bins=_bins(run, agreement, side),
        matches=known.matches,
        answer=answer_of(known),
        uncovered=0 if entry is None else entry.uncovered,
    )


def no_receipt(ended: Ended) -> str:
    """Why a run that ended so has no receipt that could be shown."""
    return {
        "done": "Its receipt cannot be read, or is not the one that both signed at the end of this run.",
        "waits": "It has no receipt yet: both sides sign one at the end.",
        "closed": "It has no receipt: it was closed before its end.",
        "most_matches": "It has no receipt: it ended early, since more records match than a side may show.",
        "no_table": "It has no receipt: it was closed, since by chance no table held the values of a side.",
        "cut": "It has no receipt: it was cut where it may not go on.",
        "unequal": "It has no receipt: the two sides did not compute the same, or one broke off.",
    }[ended]


def _forgotten(entry: Entry, whole: Account) -> Forgotten:
    return Forgotten(
        name=entry.run,
        partner=entry.partner,
        dataset=entry.dataset,
        snapshot=entry.snapshot or "",
        agreement=entry.agreement.hex(),
        at=entry.at.isoformat(),
        charged=entry.cost,
        account=whole,
    )


def _receipt(run: StoredRun) -> Receipt | None:
    try:
        return receipt_of(run) if run.manifest.done else None
    except TrustError:
        return None


def _bins(run: StoredRun, agreement: Agreement, side: Side) -> Bins | None:
    if agreement.leakage(side).guarantee.told != "noisy counts" or not run.charged:
        return None
    real, dummies = run.slots().filled
    return Bins(side, real, dummies, _compared(run, agreement, side, real))


def _compared(run: StoredRun, agreement: Agreement, side: Side, real: Ints) -> int | None:
    """From the counts that the partner opened, which are the answer of the second step of a run with bins."""
    theirs = run.partner_counts()
    if theirs is None:
        return None
    task, protocol = agreement.task, agreement.protocol
    if agreement.leakage(side).fields or protocol.share_found(task) != 1:
        # What was spared while the run went on is not kept.
        return None
    counts = (real, theirs) if side is Side.A else (theirs, real)
    if any(len(side) != task.blocking.bins for side in counts):
        return None
    rows = protocol.compared(task, counts)
    return None if rows is None else int((rows[0].astype(np.int64) * rows[1]).sum())
