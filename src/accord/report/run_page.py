"""A run for its owner's eyes: all that is kept of it, in the order in which people ask.

What is not kept any more, or not yet, is said where it would stand.
"""

from __future__ import annotations

from collections.abc import Mapping

from accord.privacy.events import Cost, describe_cost
from accord.privacy.number import show
from accord.protocols.parts.answers import AnswerCell, tell_cell
from accord.report import receipt_page
from accord.report.charts import Bar, bars, fill
from accord.report.in_brief import tell_in_brief
from accord.report.markup import Markup, element, join, prose
from accord.report.page import Section, facts, page, paragraph
from accord.run.answered import HIDDEN, UNOPENED
from accord.run.remembered import Forgotten, Remembered, no_receipt
from accord.state.accounts import Account
from accord.wording import counted, lasting, sized, tell_share

_OWN_EYES = (
    "For your eyes only: this page tells what your partner must not learn, such as your accounts and files, "
    "or which slots are dummies. `accord report RUN --share` makes one for others."
)


def describe_run(run: Remembered) -> str:
    """The page."""
    agreement = run.agreement
    sections = [
        _what_happened(run),
        receipt_page.tell_agreement(agreement),
        receipt_page.guarantee(agreement),
        _learned(run),
        _spent(run),
        _funnel(run),
        _bins(run),
        _time(run),
        _receipt(run),
    ]
    partner = agreement.party(run.side.other)
    return page(f"Run {run.name} with {partner}", _OWN_EYES, sections, tell_in_brief(run))


def _missing(what: str) -> Markup:
    return paragraph(what, "missing")


def _what_happened(run: Remembered) -> Section:
    words = {
        "done": "done",
        "closed": "closed, after wrong answers of the partner",
        "most_matches": "ended: more records match than the agreement lets a side show (most_matches)",
        "no_table": "closed: by chance, no table held the values of a side",
        "cut": "closed: it was cut where it may not go on",
        "unequal": "closed: the two sides did not compute the same, or one broke off",
        "waits": "not done",
    }
    again = f"; `accord resume {run.name}` continues it" if run.ended == "waits" else ""
    resumed = f"; resumed {counted(run.resumes, 'time')}" if run.resumes else ""
    shown: list[tuple[str, Markup | str | int]] = [
        *_came_out(run),
        ("Run", run.name),
        ("You are", f"{run.agreement.party(run.side)} ({run.side.value})"),
        ("Began", run.began[:16].replace("T", " ")),
        ("State", prose(f"{words[run.ended]}{resumed}{again}")),
        *_table(run),
        ("Output", _output(run)),
    ]
    if run.wrong:
        shown.append(("Wrong answers", f"{run.wrong} of the partner, which were refused"))
    return Section("The run", facts(shown))


def _came_out(run: Remembered) -> list[tuple[str, Markup | str | int]]:
    """What came out where it is no file of pairs on both sides: an answer, each number with its interval."""
    output = run.agreement.output
    if run.answer is not None:
        return [("Answer", _tell_cell(cell)) for cell in run.answer.cells]
    if run.ended != "done" or output.learner is None:
        return []
    if output.learner is not run.side:
        return [("Matches", HIDDEN)]
    told = UNOPENED if run.matches is None else f"{run.matches:,}, which only you were told"
    return [("Matches", told)]


def _tell_cell(cell: AnswerCell) -> str:
    told = f"{' · '.join(cell.names)}: {tell_cell(cell)}"
    if not cell.within:
        return told
    low, high = cell.value - cell.within, cell.value + cell.within
    return f"{told}, so from {low:,} to {high:,} in 95 of 100 runs"


def _output(run: Remembered) -> str:
    if not run.out or run.ended in ("closed", "most_matches", "no_table", "unequal", "cut"):
        return "none was written"
    return run.out if run.ended == "done" else f"none yet; at its end {run.out}"


def _learned(run: Remembered) -> Section:
    if run.ended == "done":
        said = run.receipt.facts if run.receipt is not None else None
        return receipt_page.tell_learned(run.agreement, said, receipt_page.LEARNED)
    return receipt_page.tell_learned(run.agreement, title="What each side learns in a run that is done")


def _table(run: Remembered) -> list[tuple[str, Markup | str | int]]:
    snapshot = f", snapshot '{run.snapshot}'" if run.snapshot else ""
    return [("Table", f"{counted(run.records, 'record')} of the data set '{run.dataset}'{snapshot}")]


def _spent(run: Remembered) -> Section:
    if run.account is None:
        return Section("What it cost", _missing("The ledger does not have this run."))
    shows = run.agreement.leakage(run.side).guarantee.told == "noisy counts"
    found = _charged(run.charged, run.account, shows)
    if run.uncovered:
        told = f"The promise does not hold for {tell_share(run.uncovered, run.records)}. Nobody else is told."
        return Section(found.title, join([paragraph(told), found.body]))
    if run.agreement.output.epsilon is None:
        return found
    each = "This covers matching records, too. Every run that asks again spends as much."
    return Section(found.title, join([paragraph(each), found.body]))


def _charged(charged: Cost | None, account: Account, shows: bool | None = None) -> Section:
    """What was paid; `shows` says whether the protocol shows counts at all, None where that is forgotten."""
    of_run = describe_cost(charged)
    if charged is None:
        of_run += ", and nothing is charged"
    elif shows is False and not charged.epsilon:
        of_run += ": this protocol shows no counts, so nothing is charged"
    elif not charged.epsilon:
        unknown = ", or nothing at all" if shows is None else ""
        of_run += f": nothing was released that had not been paid for{unknown}"
    whole = describe_cost(account.spent)
    shown: list[tuple[str, Markup | str | int]] = [
        ("This run", of_run),
        (f"All runs of '{account.dataset}'", f"{whole}; {counted(account.runs, 'run')}"),
        ("Left", _left(account)),
    ]
    for partner, cost in account.shown.items():
        shown.append((f"Shown to {partner}", describe_cost(cost)))
    return Section("What it cost", join([facts(shown), _budget(charged, account)]))


def _budget(charged: Cost | None, account: Account) -> Markup:
    """ε of the account as a bar, where it has a limit."""
    if account.left is None or account.spent is None or charged is None:
        return Markup("")
    before = float(account.spent.epsilon - charged.epsilon)
    drawn = [
        Bar("other runs", before, shown=f"ε = {show(account.spent.epsilon - charged.epsilon)}"),
        Bar("this run", float(charged.epsilon), shown=f"ε = {show(charged.epsilon)}"),
        Bar("left", float(account.left.epsilon), shown=f"ε = {show(account.left.epsilon, up=False)}"),
    ]
    return bars("ε of the account", "How the ε of the account is divided, by sums.", drawn)


def _left(account: Account) -> str:
    parts = []
    if account.left is not None:
        parts += [account.left.describe(up=False)]
    if account.runs_left is not None:
        parts += [counted(account.runs_left, "run")]
    return "; ".join(parts) or "no limit was set"


def _funnel(run: Remembered) -> Section:
    if run.receipt is None:
        return Section(
            "From all pairs to the matches", _missing(f"There are no numbers. {no_receipt(run.ended)}")
        )
    compared = run.bins.compared if run.bins is not None else None
    return receipt_page.funnel(run.agreement, run.receipt.facts, compared)


def _bins(run: Remembered) -> Section:
    title, bins = "Bins and dummies", run.bins
    if run.agreement.leakage(run.side).guarantee.told != "noisy counts":
        return Section(title, paragraph("This protocol has no dummies: it shows no padded bins."))
    if bins is None:
        return Section(title, _missing("The slots of this run cannot be read any more."))
    real, dummies = int(bins.real.sum()), int(bins.dummies.sum())
    says = (
        f"{counted(len(bins.real), 'bin')}, the largest first: {real:,} slots hold records and {dummies:,} "
        f"({dummies / max(1, real + dummies):.0%}) are dummies. The partner saw how "
        "long each is and not where it is divided."
    )
    return Section(title, fill("Slots in a bin", says, bins.real, bins.dummies))


_PHASES = {
    "set_up": "counts of bins, and the engine's set-up",
    "compare": "comparisons",
    "disclose": "disclosure of what matches",
}


def _time(run: Remembered) -> Section:
    title = "Time and bytes"
    if run.phases is None or run.bytes is None:
        return Section(title, _missing("They were not kept: the run is not done, or older than this report."))
    since = ", since it was resumed" if run.resumes else ""
    times = [Bar(_PHASES.get(n, n), taken, shown=lasting(taken)) for n, taken in run.phases.items()]
    drawn = bars("Time by phase", f"Where the time went{since}.", times)
    return Section(title, join([drawn, _traffic(run.bytes, run.traffic, since)]))


def _traffic(octets: int, by_phase: Mapping[str, int] | None, since: str) -> Markup:
    says = f"{sized(octets)} passed in both directions{since}."
    if by_phase is None:
        return join([paragraph(says), _missing("By phase they were not kept: the run is older than that.")])
    rest = octets - sum(by_phase.values())
    parts = {**{_PHASES.get(n, n): part for n, part in by_phase.items()}, "greeting, digests, receipt": rest}
    drawn = [Bar(n, part, shown=sized(part)) for n, part in parts.items()]
    return bars("Bytes by phase", says, drawn)


def _receipt(run: Remembered) -> Section:
    if run.receipt is None:
        return Section("The receipt", _missing(no_receipt(run.ended)))
    found = receipt_page.tell_signatures(run.agreement, run.receipt)
    return found


def describe_forgotten(run: Forgotten) -> str:
    """The page of a run of which the ledger alone knows."""
    gone = (
        "What the run kept is no longer here: it was forgotten, or its folder is gone. What was agreed and "
        "guaranteed, who learned what, how many pairs matched, its bins, its times and its receipt cannot be "
        "told. If the run came to its end, your partner was given the receipt, too; the agreement, whose "
        "digest is below, both of you had."
    )
    shown: list[tuple[str, Markup | str | int]] = [
        ("Run", run.name),
        ("Partner", run.partner),
        ("Began", run.at[:16].replace("T", " ")),
        ("Table", f"the data set '{run.dataset}'" + (f", snapshot '{run.snapshot}'" if run.snapshot else "")),
        ("Agreement", element("code", run.agreement)),
    ]
    sections = [
        Section("What is missing", _missing(gone)),
        Section("What the ledger knows", facts(shown)),
        _charged(run.charged, run.account),
    ]
    return page(f"Run {run.name} with {run.partner}, forgotten", "For your eyes only.", sections)
