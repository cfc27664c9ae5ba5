"""What a party writes down: the matching pairs, in the same order and the same columns on both sides.

Rows are ordered by A's id, then by B's: an order that follows from what both know, and that makes the two
files the same byte for byte.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.protocols.outcome import Outcome
from accord.records.columns import Records
from accord.records.pairing import Half, PairTable
from accord.side import Side


def arrange_output(agreement: Agreement, side: Side, records: Records, outcome: Outcome) -> PairTable:
    """The pairs of both sides."""
    mine = (records.ids, records.disclosed, outcome.own)
    theirs = (outcome.partner_ids, outcome.partner_columns, outcome.partner)
    a, b = (mine, theirs) if side is Side.A else (theirs, mine)
    order = np.lexsort((_ranks(b[0])[b[2]], _ranks(a[0])[a[2]]))
    halves = [
        Half.of(ids, shown.select(list(agreement.disclosed(which))), rows[order])
        for (ids, shown, rows), which in ((a, Side.A), (b, Side.B))
    ]
    return PairTable(halves[0], halves[1])


def _ranks(ids: pa.Array) -> NDArray[np.int64]:
    """The place of each id among all, by its bytes."""
    ranks = np.empty(len(ids), np.int64)
    ranks[np.asarray(pc.sort_indices(ids))] = np.arange(len(ids))
    return ranks
