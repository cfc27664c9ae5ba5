"""What the partner learns about one side's table, as data: the whole of it, by the theorem of `linkage.py`.

`accord.disclosure` puts it into words for people; an audit can compare it with what a transcript shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from accord.protocols.spec import Laplace
from accord.protocols.task import Task
from accord.secure.circuit import Side


@dataclass(frozen=True)
class Leakage:
    """Of one side's table the partner learns its size, and this."""

    bins: int
    """Noisy counts of so many bins; 0 where no count is released."""
    epsilon: Fraction
    delta: Fraction
    """The guarantee of those counts for each record that matches nothing; 0 and 0 without counts."""
    columns: tuple[str, ...]
    """Of each matching record: its id and these columns."""
    fields: tuple[str, ...]
    """Of each matching record, in encoded form, so that its other matches are found: greedy."""
    beyond_blocking: bool
    """Whether matches that the blocking does not compare are among those found."""


def leakage(task: Task, side: Side) -> Leakage:
    """What running this task reveals about a side, whatever the other side computes from it."""
    protocol = task.protocol
    noisy = isinstance(protocol, Laplace)
    return Leakage(
        bins=task.blocking.bins if noisy else 0,
        epsilon=protocol.privacy(side).epsilon if isinstance(protocol, Laplace) else Fraction(0),
        delta=protocol.privacy(side).delta if isinstance(protocol, Laplace) else Fraction(0),
        columns=task.disclose[side],
        fields=task.shown_fields,
        beyond_blocking=noisy and protocol.greedy and protocol.closure == "all",
    )
