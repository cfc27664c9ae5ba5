"""A run for its owner's eyes: all that is kept of it, in the order in which people ask.

What is not kept any more, or not yet, is said where it would stand.
"""

from __future__ import annotations

import numpy as np

from accord.agreement.document import Agreement
from accord.privacy.number import show
from accord.report import receipted
from accord.report.charts import Bar, bars, columns
from accord.report.markup import Markup
from accord.report.page import Section, facts, page, paragraph
from accord.session.accounts import Account
from accord.session.remembered import Bins, Remembered
from accord.side import Side
from accord.wording import counted

_OWN_EYES = (
    "For your eyes only: this page tells what your partner must not learn, such as which slots were dummies. "
    "`accord report RUN --share` makes one for others."
)
_MOST_COLUMNS = 200


def describe_run(run: Remembered) -> str:
    """The page."""
    agreement = run.agreement
    sections = [
        _what_happened(run),
        receipted.agreed(agreement),
        receipted.guarantee(agreement),
        receipted.learned(agreement),
        _spent(run),
        _funnel(run),
        _bins(agreement, run.side, run.bins),
        _time(run),
        _receipt(run),
    ]
    partner = agreement.party(run.side.other)
    return page(f"Run {run.name} with {partner}", _OWN_EYES, sections)


def _missing(what: str) -> Markup:
    return paragraph(what, "missing")


def _what_happened(run: Remembered) -> Section:
    words = {
        "done": "done",
        "closed": "closed, after wrong answers of the partner",
        "most_matches": "ended, as more records match than the agreement lets a side show (most_matches)",
        "waits": "not done",
    }
    again = f"`accord resume {run.name}` goes on with it." if run.ended == "waits" else ""
    resumed = f"; resumed {counted(run.resumes, 'time')}" if run.resumes else ""
    shown: list[tuple[str, Markup | str | int]] = [
        ("Run", run.name),
        ("You are", f"{run.agreement.party(run.side)} ({run.side.value})"),
        ("Began", run.began),
        ("State", f"{words[run.ended]}{resumed}. {again}".strip()),
        ("Table", f"{counted(run.records, 'record')} of the data set '{run.dataset}'" + _snapshot(run)),
        ("Output", run.out or "none was written"),
    ]
    if run.wrong:
        shown.append(("Wrong answers", f"{run.wrong} of the partner, which were refused"))
    return Section("The run", facts(shown))


def _snapshot(run: Remembered) -> str:
    return f", snapshot '{run.snapshot}'" if run.snapshot else ""


def _spent(run: Remembered) -> Section:
    if run.charged is None or run.account is None:
        return Section("What it cost", _missing("The ledger does not have this run."))
    of_run = f"ε = {show(run.charged.epsilon)}, δ = {show(run.charged.delta)}"
    if not run.charged.epsilon:
        of_run += ": nothing was released that had not been paid for"
    account = run.account
    whole = f"ε = {show(account.spent.epsilon)}, δ = {show(account.spent.delta)}"
    shown: list[tuple[str, Markup | str | int]] = [
        ("This run", of_run),
        (f"All {counted(account.runs, 'run')} of '{account.dataset}'", whole),
        ("Left", _left(account)),
    ]
    for partner, cost in account.shown.items():
        shown.append((f"Shown to {partner}", f"ε = {show(cost.epsilon)}, δ = {show(cost.delta)}"))
    return Section("What it cost", facts(shown))


def _left(account: Account) -> str:
    if account.left is None:
        return "no limit was set"
    return f"ε = {show(account.left.epsilon, up=False)}, δ = {show(account.left.delta, up=False)}"


def _funnel(run: Remembered) -> Section:
    if run.receipt is None:
        return Section("From all pairs to the matches", _missing("There is no receipt yet, so no numbers."))
    return receipted.funnel(run.receipt.facts, run.bins.compared if run.bins is not None else None)


def _bins(agreement: Agreement, side: Side, bins: Bins | None) -> Section:
    title = "Bins and dummies"
    if agreement.leakage(side).guarantee.told != "noisy counts":
        return Section(title, paragraph("This protocol has no dummies: it shows no padded bins."))
    if bins is None:
        return Section(title, _missing("The slots of this run cannot be read any more."))
    real, dummies = int(bins.real.sum()), int(bins.dummies.sum())
    says = (
        f"{counted(len(bins.real), 'bin')}, the largest first: {real:,} slots hold records and {dummies:,} "
        f"({dummies / max(1, real + dummies):.0%}) are dummies. The partner saw how long each is and not "
        "where it is divided."
    )
    order = np.argsort(-(bins.real + bins.dummies), kind="stable")
    groups = np.array_split(order, min(_MOST_COLUMNS, len(order)))
    drawn = [Bar("", float(bins.real[g].mean()), float(bins.dummies[g].mean())) for g in groups if len(g)]
    axis = "bins" if len(order) <= _MOST_COLUMNS else f"bins, about {len(order) // len(groups)} in a column"
    return Section(title, columns("Slots in a bin", says, drawn, ("records", "dummies"), axis))


def _time(run: Remembered) -> Section:
    title = "Time and bytes"
    if run.phases is None or run.bytes is None:
        return Section(title, _missing("They were not kept: the run is not done, or older than this report."))
    drawn = [Bar(name, seconds, shown=f"{seconds:,.1f} s") for name, seconds in run.phases.items()]
    since = ", since it was resumed" if run.resumes else ""
    says = f"Where the time went{since}; {run.bytes / 2**20:,.1f} MiB passed in both directions."
    return Section(title, bars("Seconds by phase", says, drawn))


def _receipt(run: Remembered) -> Section:
    if run.receipt is None:
        none = "Both sides sign it at the end of a run; there is none yet, or it cannot be read."
        return Section("The receipt", _missing(none))
    return receipted.signed(run.receipt)
