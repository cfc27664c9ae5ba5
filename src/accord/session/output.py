"""What a party writes down: the matching pairs, in the same order and the same columns on both sides.

Rows are ordered by A's id, then by B's: an order that follows from what both know, and that makes the two
files the same byte for byte.
"""

from __future__ import annotations

from accord.agreement.document import Agreement
from accord.protocols.outcome import Outcome
from accord.records.columns import Records
from accord.records.pairing import Half, PairTable
from accord.side import Side


def arrange_output(agreement: Agreement, records: Records, outcome: Outcome) -> PairTable:
    """The pairs of both sides."""
    mine = (records.ids, records.disclosed)
    theirs = (outcome.partner_ids, outcome.partner_columns)
    both = (mine, theirs) if outcome.side is Side.A else (theirs, mine)
    a, b = (
        Half.of(ids, shown.select(list(agreement.disclosed(side))))
        for (ids, shown), side in zip(both, Side, strict=True)
    )
    return PairTable(a, b, outcome.pairs)
