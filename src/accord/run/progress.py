"""How far a run is, for whoever started it."""

from __future__ import annotations

from typing import Protocol

from accord.notices import Progress
from accord.protocols.parts.own_side import Status
from accord.workers.pool import Figures


class Metered(Protocol):
    """A connection that counts."""

    sent: int
    received: int

    @property
    def seconds(self) -> float: ...


def progress_of(status: Status, line: Metered, workers: Figures) -> Progress:
    """The time left is an upper estimate, since matches make later work smaller."""
    seconds = line.seconds
    share = status.comparisons / max(1, status.most_comparisons)
    return Progress(
        comparisons=status.comparisons,
        most_comparisons=status.most_comparisons,
        matches=status.matches,
        bytes=line.sent + line.received + workers.traffic,
        seconds=round(seconds, 2),
        seconds_left=round(seconds / share - seconds, 1) if share else None,
        rates=workers.rates,
    )
