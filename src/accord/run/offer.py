"""What a run would release and spend: everything its owner should know before saying yes.

Nothing is drawn here and nothing is charged.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from accord.agreement.disclosure import CONDITION, EXACT, learned_about, tell_answer
from accord.agreement.document import Agreement
from accord.agreement.learnt import describe_origin
from accord.arguments import require
from accord.errors import UsageError
from accord.fields.columns import Records, Unlisted, tell_unlisted
from accord.forecast.expected import Outlook
from accord.naming import fold_name
from accord.privacy.events import CROWDED, Cost, Event, NoisyAnswer, covered_records, describe_cost, is_free
from accord.protocols.parts.answers import tell_unfit
from accord.rules.breakdown import is_short, tell_shortly
from accord.rules.rule import Rule
from accord.side import Side
from accord.state.accounts import Account, account
from accord.state.ledger import Ask, Ledger
from accord.wording import counted, tell_share

_SHOWN = 5
_TOLD_ANYWAY = ("epsilon-high", "delta-above-one-over-n")
"""Warnings that the promise itself comes with."""


@dataclass(frozen=True, repr=False)
class Offer:
    """What the owner of the data is asked to agree to."""

    agreement: Agreement
    side: Side
    dataset: str
    snapshot: str | None
    known: tuple[str, ...]
    """The snapshots of this data set so far, oldest first."""
    forgotten: bool
    """Whether this very release was made before, and its noise was forgotten."""
    records: int
    left_out: int
    event: Event
    cost: Cost | None
    """What this run would be charged: nothing if the release of the snapshot was paid for before. None where
    nothing is promised."""
    account: Account
    """The data set's account before the run."""
    unfinished: tuple[str, ...] = ()
    """Runs with this partner under this agreement that are not done, the latest first."""
    room: tuple[str, ...] = ()
    """What this machine lacks room for, in words."""
    outlook: Outlook | None = None
    """What the run is expected to take, as far as one's own table tells."""
    unlisted: Unlisted = field(default_factory=dict)
    """Cells that are none of the agreed values of their field."""
    unfit: tuple[str, ...] = ()
    """What an answer counts otherwise than the owner may think, in words."""
    uncovered: int = 0
    """For how many of the records the promise does not hold, which nobody else is told."""

    def __str__(self) -> str:
        """The screen that `ask` shows."""
        return describe(self)

    def __repr__(self) -> str:
        records, spends = counted(self.records, "record"), describe_cost(self.cost)
        return f"<Offer: to {self.partner}, of '{self.dataset}', {records}, spends {spends}>"

    @property
    def partner(self) -> str:
        return self.agreement.party(self.side.other)

    @property
    def learned(self) -> list[str]:
        """What the partner will learn, in words."""
        return learned_about(self.agreement, self.side)

    @property
    def warnings(self) -> tuple[str, ...]:
        first = () if self.outlook is None or self.outlook.warning is None else (self.outlook.warning,)
        told = (one.text for one in first if one.code not in _TOLD_ANYWAY)
        of_promise = self.agreement.leakage(self.side).warnings(self.records)
        return (
            *told,
            *((EXACT,) if self.agreement.output.exact else ()),
            *of_promise,
            *(() if self.outlook is None else self.outlook.notes),
            *self._fewer_records(),
            *tell_unlisted(self.unlisted),
            *self.unfit,
            *self.room,
        )

    def _fewer_records(self) -> tuple[str, ...]:
        """That what the account adds up holds for fewer records of a person than before."""
        asked, before = covered_records(self.event), self.account.covers
        if asked is None or before is None or asked >= before:
            return ()
        return (
            f"So far the sums of '{self.dataset}' hold for people with up to {before} records; with this run "
            f"they hold for {asked}.",
        )


def make_offer(
    agreement: Agreement,
    side: Side,
    records: Records,
    ledger: Ledger,
    ask: Ask,
    unfinished: tuple[str, ...] = (),
    room: tuple[str, ...] = (),
    outlook: Outlook | None = None,
) -> Offer:
    """The offer; raises if the budget does not allow the run."""
    cost = ledger.quote(ask)
    found = account(ledger.find_account(ask.dataset), ledger.runs(), ledger.budgets())
    runs = [run for run in ledger.runs() if run.dataset == found.dataset]
    return Offer(
        agreement=agreement,
        side=side,
        dataset=found.dataset,
        snapshot=ask.snapshot.name if ask.snapshot is not None else None,
        known=tuple(dict.fromkeys(run.snapshot for run in runs if run.snapshot is not None)),
        forgotten=any(run.key is not None and run.key == ask.key and not run.stored for run in runs),
        records=records.size,
        left_out=records.left_out,
        event=ask.event,
        cost=cost,
        account=found,
        unfinished=unfinished,
        room=room,
        outlook=outlook,
        unlisted=records.unlisted,
        unfit=tuple(tell_unfit(agreement.output, side, records)),
        uncovered=ask.uncovered,
    )


def describe(offer: Offer) -> str:
    """What is spent, what is left and what the partner will learn, before anything leaves."""
    account, side, agreed = offer.account, offer.side, offer.agreement
    lines = [
        f"You are      {agreed.party(side)} ({side.value}); partner: {offer.partner} ({side.other.value})",
        f"Agreement    {agreed.digest[:16]}…, a match is: {_describe_rule(agreed.rule)}",
        *_describe_learnt(offer),
        f"Records      {_describe_records(offer)}",
        *([] if offer.outlook is None else [f"Expected     {offer.outlook.describe()}"]),
        *([f"Answer       {told}"] if (told := tell_answer(agreed)) else []),
        *_describe_snapshot(offer),
        *_describe_unfinished(offer),
        f"This spends  {_describe_cost(offer)}",
        f"Account      '{offer.dataset}': spent so far {describe_cost(account.spent)}; "
        f"left: {_describe_left(account)}",
        *_describe_uncovered(offer),
        *_describe_bound(offer),
        "",
        f"What {offer.partner} will learn about your table:",
        *(f"  - {line}" for line in offer.learned),
        CONDITION,
        *(f"Warning: {warning}" for warning in offer.warnings),
    ]
    return "\n".join(lines)


def _describe_rule(rule: Rule) -> str:
    """In one line; a long one is laid out by `accord check`."""
    return tell_shortly(rule) + ("" if is_short(rule) else "; see `accord check`")


def _describe_records(offer: Offer) -> str:
    left_out = f", {offer.left_out:,} of them left out by the agreement's policies" if offer.left_out else ""
    return f"{offer.records:,}{left_out}"


def _describe_learnt(offer: Offer) -> list[str]:
    """Where the rule comes from, if it was learnt: whoever learnt it may have had its own records in mind."""
    agreed = offer.agreement
    if agreed.learnt_from is None:
        return []
    names = {side: agreed.party(side) for side in Side}
    return [f"Rule         {describe_origin(agreed.learnt_from, names)}"]


def _describe_cost(offer: Offer) -> str:
    if offer.agreement.output.exact:
        return "no ε, since an exact answer promises nothing; it counts as a run"
    if offer.cost is None:
        return "nothing, and promises nothing: the agreement calls the bins of your records public"
    cost = offer.cost.describe()
    if is_free(offer.event.cost):
        return f"{cost}; it counts as a run"
    if isinstance(offer.event, NoisyAnswer):
        return f"{cost}. This holds for matching records, too. Every run that asks again spends as much"
    if is_free(offer.cost):
        return f"nothing: the release of '{offer.snapshot}' was paid for before; it counts as a run"
    if offer.snapshot is None:
        return f"{cost}; so does every run of a table without `snapshot=`"
    return cost


def _describe_snapshot(offer: Offer) -> list[str]:
    """What the ledger knows of the name, so that a typing error shows."""
    if offer.snapshot is None:
        return []
    known = {fold_name(name): name for name in offer.known}
    if fold_name(offer.snapshot) not in known:
        others = f"; known: {', '.join(list(known.values())[-_SHOWN:])}" if known else ""
        return [f"Snapshot     '{offer.snapshot}', new{others}"]
    if is_free(offer.cost):
        return [f"Snapshot     '{offer.snapshot}', known"]
    why = "its noise was forgotten" if offer.forgotten else "this is another release of it (bins, ε, δ)"
    if isinstance(offer.event, NoisyAnswer):
        why = "an answer has fresh noise in every run, and is paid for each time"
    return [f"Snapshot     '{offer.snapshot}', known, but {why}"]


def _describe_uncovered(offer: Offer) -> list[str]:
    """For how many of the own records the condition of the promise is not met."""
    if not offer.uncovered:
        return []
    return [f"Not covered  {tell_share(offer.uncovered, offer.records)}: each {CROWDED}"]


def _describe_bound(offer: Offer) -> list[str]:
    """How many of the own records are shown at most."""
    most = offer.agreement.bounds.get(offer.side)
    if most is None:
        return []
    share = f" ({most})" if most.share is not None else ""
    return [
        f"Shows        at most {counted(most.of(offer.records), 'record')}{share}; a run ends before one more"
    ]


def _describe_unfinished(offer: Offer) -> list[str]:
    """A run that was cut goes on at no cost, which is easily forgotten."""
    if not offer.unfinished:
        return []
    latest, others = offer.unfinished[0], len(offer.unfinished) - 1
    more = f"; {others:,} more in `accord runs`" if others else ""
    return [f"Unfinished   a run under this agreement; `accord resume {latest}` continues it{more}"]


def _describe_left(account: Account) -> str:
    left = "unlimited"
    if account.left is not None:
        left = account.left.describe(up=False)
    if account.budget.runs is None:
        return left
    return f"{left}; {counted(max(0, account.budget.runs - account.runs), 'run')}"


def ask(offer: Offer) -> bool:
    """Show the offer and ask the person at the keyboard, also in a notebook."""
    require("offer", offer, "an Offer; give accord.ask itself as `confirm=`", Offer)
    sys.stderr.write(describe(offer) + "\n")
    sys.stderr.flush()
    try:
        return input("Continue? [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, RuntimeError):
        # Without a keyboard: the second, where there is no stdin at all.
        problem = "Nobody can answer here: read what is spent, then give accord.agree as `confirm=`."
        raise UsageError(problem=problem) from None


def agree(offer: Offer) -> bool:
    """Yes to whatever the offer says: for scripts whose owner has already decided."""
    return True
