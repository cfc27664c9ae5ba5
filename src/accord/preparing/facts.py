"""What an agreement says, what each side learns under it, and how a table fits: as plain facts, and in words.

The facts are what `accord check --json` prints. None is a value of a record; those of a table are for its
owner.
"""

from __future__ import annotations

from typing import Any

from accord.agreement.cheaper import cheaper_thresholds
from accord.agreement.disclosure import (
    CONDITION,
    advice,
    finds_all,
    learned_about,
    tell_answer,
    tell_shown_ids,
)
from accord.agreement.document import Agreement
from accord.exact import text
from accord.fields.columns import tell_unlisted
from accord.forecast.expected import look_ahead
from accord.preparing.own_table import TableCheck
from accord.privacy.events import describe_cost, tell_unless
from accord.protocols.base import Leakage
from accord.protocols.parts.answers import tell_unfit
from accord.protocols.parts.people import whom
from accord.side import Side


def facts_of(agreement: Agreement) -> dict[str, Any]:
    """What an agreement says, and what each side learns under it."""
    plan = agreement.plan
    return {
        "digest": agreement.digest,
        "parties": {side.value: agreement.party(side) for side in Side},
        "rule": str(agreement.rule),
        "bins": plan.bins if agreement.protocol.lists_bins else 0,
        "passes": len(plan.passes),
        "bins_per_record": {side.value: plan.per_record(side) for side in Side},
        "complete": finds_all(agreement),
        "protocol": agreement.protocol.name,
        "promise": {side.value: _facts_of_promise(agreement.leakage(side)) for side in Side},
        "answer": _facts_of_answer(agreement),
        "condition": CONDITION,
        "learned_about": {side.value: learned_about(agreement, side) for side in Side},
        "advice": [*advice(agreement), *cheaper_thresholds(agreement)],
    }


def _facts_of_promise(told: Leakage) -> dict[str, Any]:
    """ε and δ as they are agreed, None where nothing is promised; and when they do not hold."""
    numbers = (None if one is None else float(one) for one in (told.epsilon, told.delta))
    return {
        **dict(zip(("epsilon", "delta"), numbers, strict=True)),
        "unless": told.unless,
        "words": describe_cost(told.cost),
    }


def _facts_of_answer(agreement: Agreement) -> dict[str, Any] | None:
    """What is asked instead of the pairs, how near the answer comes to the truth, and what a run spends."""
    output = agreement.output
    if not output.answers:
        return None
    spends = ""
    if output.epsilon is not None:
        unless = tell_unless(agreement.leakage(Side.A).unless)
        people = whom(output.records_per_person, of_answer=True)
        spends = f"; each run spends ε = {text(output.epsilon)} for {people}{unless}"
    return {
        "asked": output.answer,
        "within": agreement.protocol.widths(agreement.task),
        "words": tell_answer(agreement) + spends,
    }


def facts_of_table(agreement: Agreement, side: Side | None, found: TableCheck) -> dict[str, Any]:
    """How the table fits, and under `advice` what its owner should know of it."""
    told = []
    if found.tally.counts_rows and not agreement.output.answers:
        told.append(tell_counting(found.layout.id))
    told += tell_unlisted(found.tally.unlisted)
    if side is not None:
        told += tell_unfit(agreement.output, side, found.read)
        told += tell_shown_ids(agreement, side, found.layout)
    return found.facts | {"advice": told}


def tell_counting(column: str) -> str:
    """A word to the owner whose ids follow the order of a file."""
    return (
        f"The ids in '{column}' go up by one from row to row, and the partner sees those of matches. If they "
        "number the rows of a sorted file, they tell of other rows, too: leave the column out, and have "
        "random ones made with `make_ids=True`."
    )


def tell_unchecked(agreement: Agreement, person: str | None) -> str:
    """What depends on whose data it is."""
    several = any((agreement.protocol.records_per_person(agreement.task, side) or 1) > 1 for side in Side)
    columns = "the columns that you disclose" if agreement.disclose.A + agreement.disclose.B else ""
    if any(agreement.output.columns(side) for side in Side):
        columns = "the columns that the answer is made of"
    people = "how many records each person has" if several or person else ""
    refused = any(agreement.protocol.refusals(agreement.task, side) for side in Side)
    table = "whether your table is refused" if refused and not several else ""
    return " and ".join(filter(None, (columns, people, table)))


def warnings_of(agreement: Agreement, side: Side | None, records: int | None) -> list[str]:
    """Whether ε is small enough, and δ for a table of this size."""
    told = [agreement.leakage(s) for s in ([side] if side is not None else Side)]
    return list(dict.fromkeys(warning for one in told for warning in one.warnings(records)))


def facts_ahead(agreement: Agreement, side: Side | None, found: TableCheck | None) -> dict[str, Any]:
    """What a run is expected to take, where sizes are known, and the advice that comes with it."""
    records = found.read if found is not None else None
    outlook = look_ahead(agreement, side, records)
    if outlook is None:
        return {"advice": []}
    return {"expected": outlook.to_json() | {"words": outlook.describe()}, "advice": [*outlook.notes]}
