"""What a party writes down: the matching pairs, in the same order and the same columns on both sides.

Rows are ordered by A's id, then by B's: an order that follows from what both know, and that makes the two
files the same byte for byte. Only in a database, where texts and numbers do not join, is one's own id what it
is in one's own table.
"""

from __future__ import annotations

import pyarrow as pa

from accord.agreement.document import Agreement
from accord.errors import UsageError
from accord.fields.columns import Records
from accord.protocols.parts.answers import answer_columns
from accord.protocols.parts.outcome import Outcome
from accord.run.request import Output
from accord.side import Side
from accord.table.pairs import Half, PairTable, pair_columns
from accord.table.sinks.targets import require_free
from accord.table.sources.opening import TableLike, input_places

OWN_ID = "own_id"
"""One's own id, where both sides call their records by other names."""


def arrange_output(agreement: Agreement, records: Records, called: pa.Array, outcome: Outcome) -> PairTable:
    """The pairs of both sides; `called` is what one's own records are called in them."""
    own, theirs = (list(agreement.disclosed(side)) for side in (outcome.side, outcome.side.other))
    shown, named = records.disclosed.select(own), agreement.output.ids == "pseudonyms"
    if named:
        shown = shown.add_column(0, OWN_ID, records.ids) if own else pa.table({OWN_ID: records.ids})
    halves = (
        Half.of(called, shown, records.numbered and not named),
        Half.of(outcome.partner_ids, outcome.partner_columns.select(theirs)),
    )
    a, b = halves if outcome.side is Side.A else halves[::-1]
    return PairTable(a, b, outcome.pairs)


def output_names(agreement: Agreement, of: Side | None = None) -> list[str]:
    """The columns of the output in a table, that of one side if it has some of its own."""
    if agreement.output.answers:
        return answer_columns(agreement.output)
    named = agreement.output.ids == "pseudonyms"
    more = {side: (OWN_ID,) if named and side is of else () for side in Side}
    return list(pair_columns(*((*more[side], *agreement.disclosed(side)) for side in Side)))


def require_learner(agreement: Agreement, side: Side) -> None:
    """Raise for an output of a side that learns nothing."""
    if agreement.output.learner is side.other:
        partner = agreement.party(side.other)
        problem = f"The agreement gives the pairs to {partner} alone, so nothing would be written."
        raise UsageError(problem=f"{problem} Leave out `out=`.")


def require_place(
    output: Output, agreement: Agreement, data: TableLike, side: Side, own: bool = False
) -> None:
    """Raise, before anybody is asked or called, if the output could not be written or would overwrite the
    data. `own`: what is there may be the run's own work."""
    if output.target is not None:
        names = output_names(agreement, side)
        require_free(output.target, input_places(data), names, force=output.force, own=own)
