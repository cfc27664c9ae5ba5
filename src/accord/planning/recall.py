"""The share of the pairs that the rule accepts which an option finds.

What follows from the agreement is exact: a blocking that is complete for the rule brings all of them
together, and the protocol says what it finds of those. Otherwise nobody knows without data, and `None` says
so. With a table some of its records are taken once as they are and once with made-up errors (`errors.py`):
of the pairs that the rule accepts, it is seen which the blocking brings together.
"""

from __future__ import annotations

import numpy as np

from accord.agreement.document import Agreement
from accord.fields.columns import Records
from accord.protocols.base import Task
from accord.rules.evaluate import Tables, holds


def recall_of(agreement: Agreement, task: Task, met: float | None = None) -> float | None:
    """Of the pairs that the rule accepts. `met`: the share that the blocking was seen to bring together."""
    found = task.protocol.share_found(task)
    if not task.blocking.losses(agreement.rule):
        met = 1.0
    return None if found is None or met is None else met * found


def share_met(task: Task, a: Records, b: Records) -> float | None:
    """Of the rows that the rule calls the same, row by row, the share that meets; None of none."""
    tables, rows = Tables(task.fields, a.columns, b.columns), np.arange(len(a))
    accepted = rows[holds(task.rule, tables, rows, rows)]
    if not len(accepted):
        return None
    return float(task.blocking.compares(tables, accepted, accepted).mean())
