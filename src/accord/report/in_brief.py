"""A run in three sentences, for whoever reads no further: what came out, what was shown, what it cost.

They are made of the same facts as the page below them, and hold no value of a record. What is promised is
promised under its condition, which stands in the same sentence. Of a run that has not come to its end, the
second says what the partner can have been shown at the most.
"""

from __future__ import annotations

from accord.privacy.events import is_free
from accord.protocols.parts.answers import tell_cell
from accord.run.answered import UNOPENED
from accord.run.remembered import Remembered
from accord.wording import counted, lasting, sized

_ENDS = {
    "closed": "was closed after wrong answers of {partner}",
    "most_matches": "ended early, since more records match than the agreement lets a side show",
    "no_table": "was closed, since by chance no table held the values of a side",
    "cut": "was closed, since it was cut where it may not go on",
    "unequal": "was closed, since the two sides did not compute the same, or one broke off",
}


def tell_in_brief(run: Remembered) -> tuple[str, str, str]:
    """What came out, what the partner was shown, and what it cost."""
    return _tell_outcome(run), _tell_shown(run), _tell_cost(run)


def _partner(run: Remembered) -> str:
    return run.agreement.party(run.side.other)


# -- what came out ----------------------------------------------------------------------------------------


def _tell_outcome(run: Remembered) -> str:
    if run.ended == "waits":
        return f"The run with {_partner(run)} is not done, and nothing has come out of it yet."
    if run.ended != "done":
        return f"The run {_ENDS[run.ended].format(partner=_partner(run))}; nothing came out of it."
    output = run.agreement.output
    if output.answers:
        return f"The run with {_partner(run)} {_tell_answer(run)}."
    if output.learner is not None:
        return _tell_learner(run)
    if run.matches is None:
        return f"The run with {_partner(run)} is done; how many pairs it found is not kept here."
    return f"The run with {_partner(run)} found {_pairs(run)}{_of_how_many(run)}."


def _tell_answer(run: Remembered) -> str:
    """Each number with what it is within, in most runs."""
    asks, answer = run.agreement.output.asks, run.answer
    if answer is None:
        return f"is done; its answer, {asks}, is not kept here"
    told = tell_cell(answer.cells[0]) if len(answer.cells) == 1 else answer.brief()
    within = ", right within that in 95 of 100 runs" if any(cell.within for cell in answer.cells) else ""
    return f"answered {asks}: {told}{within}; no pair was shown to anybody"


def _tell_learner(run: Remembered) -> str:
    learner = run.agreement.output.learner
    if learner is not run.side:
        return f"The run is done; only {_partner(run)} was told what matches, and you were not told how much."
    if run.matches is None:
        return f"The run is done; what matches is {UNOPENED}."
    return f"The run with {_partner(run)} found {_pairs(run)}{_of_how_many(run)}; only you were told."


def _pairs(run: Remembered) -> str:
    """How many, and of how many that were found where each record is kept in one pair alone."""
    assert run.matches is not None
    told = counted(run.matches, "pair")
    found = run.receipt.facts.get("matches_found") if run.receipt is not None else None
    return told if found is None else f"{told}, kept one to one of {found:,}"


def _of_how_many(run: Remembered) -> str:
    if run.receipt is None:
        return ""
    theirs = run.receipt.facts["parties"][run.side.other.value]["records"]
    return f" among {counted(run.records, 'record')} of yours and {theirs:,} of theirs"


# -- what was shown ---------------------------------------------------------------------------------------


def _tell_shown(run: Remembered) -> str:
    partner = f"Your partner {_partner(run)}"
    if run.account is None and run.ended != "done":
        return f"{partner} was shown at most {_size(run)}: nothing else had been paid for."
    *some, last = [_size(run), *_of_all(run), *_of_matches(run)]
    told = f"{', '.join(some)}, and {last}" if some else last
    if run.ended == "done":
        return f"{partner} was shown {told}; all of it is below, and holds if it followed the protocol."
    return f"{partner} was shown, as far as the run came, at most {told}, if it followed the protocol."


def _size(run: Remembered) -> str:
    return f"how many records you have ({run.records:,})"


def _of_all(run: Remembered) -> list[str]:
    """What it was shown of all records, those without a match included."""
    leaked = run.agreement.leakage(run.side)
    bins = counted(leaked.bins, "bin")
    told = {
        "nothing": "the effects of full keys or of a refusal",
        "answer": "the same answer",
        "noisy counts": f"how full your {bins} are (dummies included)",
    }.get(leaked.guarantee.told, leaked.guarantee.told)
    return [told] if leaked.guarantee.of_all else []


def _of_matches(run: Remembered) -> list[str]:
    """What it was shown of a record that matches."""
    output, leaked = run.agreement.output, run.agreement.leakage(run.side)
    if output.answers or output.learner is run.side:
        return []
    called = "a name of this run alone" if output.ids == "pseudonyms" else "its id"
    told = leaked.guarantee
    where = [] if not told.of_matches else ["where it met"] if told.told == "nothing" else ["its bins"]
    shown = f"of each of your records that match {', '.join([called, *leaked.columns, *where])}"
    encoded = dict.fromkeys([*leaked.fields, *leaked.chosen_by, *leaked.checked_by])
    return [f"{shown} (and in encoded form {', '.join(encoded)})" if encoded else shown]


# -- what it cost -----------------------------------------------------------------------------------------


def _tell_cost(run: Remembered) -> str:
    if run.phases is None or run.bytes is None:
        known = "is known at its end" if run.ended == "waits" else "is not kept"
        return f"{_spent(run)}; how long it took and how many bytes it moved {known}."
    since = ", since it was resumed," if run.resumes else ""
    taken = lasting(sum(run.phases.values()))
    return f"{_spent(run)}; it took{since} {taken} and moved {sized(run.bytes)}."


def _spent(run: Remembered) -> str:
    charged = run.charged
    if run.account is None:
        return "What it spent of your privacy budget is not in the ledger"
    if charged is not None and not is_free(charged):
        return f"It spent {charged.describe()} of the account '{run.dataset}'"
    number = "" if charged is None else f" ({charged.describe()})"
    return f"It spent nothing of the account '{run.dataset}'{number}: {_why_nothing(run)}"


def _why_nothing(run: Remembered) -> str:
    leaked = run.agreement.leakage(run.side)
    if run.agreement.output.exact:
        return "an exact answer promises nothing"
    if leaked.epsilon is None:
        return "the agreement promises nothing"
    if not leaked.epsilon:
        return "nothing that noise would have to hide was shown"
    return "what it showed had been paid for before"
