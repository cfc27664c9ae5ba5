"""My side of a run: everything private that a protocol works on, fixed before its first message.

It is built once. A new run takes slots that were just made, a resumed one those on disk; from then on both
are the same program.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import DataError, Fault
from accord.fields.columns import Records
from accord.privacy.events import Event
from accord.protocols.parts.comparers import InTurn, Staff
from accord.protocols.parts.journal import Forgetful, Journal
from accord.protocols.parts.phases import Stopwatch
from accord.protocols.parts.slots import ANY_PADDING, Padding, Slots
from accord.side import Side
from accord.spill import Scratch

MOST_RECORDS = (1 << 31) - 1
"""More records than this no table may have: a slot keeps the number of its record in 32 bits."""


def require_size(records: int) -> None:
    """Raise unless one's own table can be linked: it has a record, and not too many."""
    if not records:
        raise DataError("the table", [Fault("", "There are no records in it.", "Is it the right one?")])
    if records > MOST_RECORDS:
        problem = f"There are {records:,} records in it, but at most {MOST_RECORDS:,} can be linked."
        raise DataError("the table", [Fault("", problem, "Link it in parts.")])


@dataclass(frozen=True)
class Status:
    """How far a linkage is: public numbers only."""

    comparisons: int
    most_comparisons: int
    matches: int | None
    """None where nobody may know before the end."""


Watch = Callable[[Status], None]
Expect = Callable[[int, int], None]
"""Told, when a step begins, how many secure comparisons it has, and how many steps of work in the clear."""


@dataclass(frozen=True)
class OwnSide:
    """One side's private part of a run."""

    side: Side
    records: Records = field(repr=False)
    partner_size: int
    slots: Slots = field(repr=False)
    entropy: Entropy = field(repr=False)
    released: tuple[Event, ...] = ()
    padding: Padding = ANY_PADDING
    """The most dummies that the partner can have."""
    journal: Journal = field(default_factory=Forgetful)
    scratch: Scratch = field(default_factory=Scratch)
    """For what is too much for memory."""
    priority: NDArray[np.uint64] | None = field(default=None, repr=False)
    """Which records of a full key are placed, where the protocol places records."""
    staff: Staff = field(default_factory=InTurn)
    """Who compares."""
    watch: Watch = lambda status: None
    expect: Expect = lambda comparisons, clear: None
    clock: Callable[[], float] = time.perf_counter
    traffic: Callable[[], int] = lambda: 0
    """Bytes so far, where somebody counts them."""

    @property
    def stopwatch(self) -> Stopwatch:
        """One that starts now."""
        return Stopwatch(self.clock, self.traffic)
