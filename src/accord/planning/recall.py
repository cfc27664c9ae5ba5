"""The share of the pairs that the rule accepts which an option finds.

What follows from the agreement is exact: a blocking that is complete for the rule brings all of them
together, and the protocol says what it finds of those. Otherwise nobody knows without data, and `None` says
so.
"""

from __future__ import annotations

from accord.agreement.document import Agreement
from accord.protocols.base import Task


def recall_of(agreement: Agreement, task: Task, met: float | None = None) -> float | None:
    """Of the pairs that the rule accepts. `met`: the share that the blocking was seen to bring together."""
    found = task.protocol.share_found(task)
    if not task.blocking.losses(agreement.rule):
        met = 1.0
    return None if found is None or met is None else met * found
