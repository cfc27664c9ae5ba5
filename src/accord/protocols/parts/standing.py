"""What stands already when a run over bins begins: nothing, or what the earlier runs of its series left.

    meeting          the batches of both sides, and which of them have met
    partner_counts   the noisy counts that the partner opened for those that have
    shown            what both have disclosed to each other
    rows             of which batch each of the own records is

A run alone is one batch on either side that has met nothing, and keeps nothing of what it shows. Every
protocol with bins goes on from this, and none asks which kind of run it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accord.protocols.parts.batches import Released
from accord.protocols.parts.shown import Shown
from accord.side import Side

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class BatchMeeting:
    """The batches of both sides in one run: how many of each have met those of the other, and how many there
    are. Public."""

    seen: tuple[int, int] = (0, 0)
    """Of A and of B."""
    total: tuple[int, int] = (1, 1)

    def of(self, side: Side) -> tuple[int, int]:
        """(batches that the partner has seen, all batches) of a side."""
        place = 0 if side is Side.A else 1
        return self.seen[place], self.total[place]

    def pairs(self) -> tuple[Ints, Ints]:
        """The pairs (batch of A, batch of B) that have not met, each once."""
        a, b = (grid.ravel() for grid in np.indices(self.total))
        fresh = (a >= self.seen[0]) | (b >= self.seen[1])
        return a[fresh], b[fresh]

    def bin_pairs(self, pairs: tuple[Ints, Ints], bins: int) -> tuple[Ints, Ints]:
        """The pairs of bins that are compared: those of the blocking, in every pair of batches that have not
        met. Bin b of batch s is number s · bins + b."""
        a, b = self.pairs()
        left, right = a[:, None] * bins + pairs[0], b[:, None] * bins + pairs[1]
        return left.ravel(), right.ravel()


@dataclass(frozen=True, eq=False)
class Disclosures:
    """What a run of a series knows of disclosed records, and keeps for the next one."""

    shown: Shown
    """What both had disclosed before the run."""
    rows: Released = field(repr=False)
    """The own records."""


@dataclass(frozen=True, eq=False)
class Standing:
    """What a run goes on from. Public, but for what is remembered."""

    meeting: BatchMeeting = BatchMeeting()
    partner_counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """Of the partner's batches that have met, batch after batch, without what is out of them."""
    new_sizes: tuple[int, ...] | None = None
    """The declared sizes of the partner's other batches; None where its one batch is its whole table."""
    remembered: Disclosures | None = None
    """Nothing where no later run goes on from this one."""

    @property
    def shown(self) -> Shown | None:
        """What both had disclosed before the run, where that is kept."""
        return None if self.remembered is None else self.remembered.shown

    def sizes(self, announced: int) -> tuple[int, ...]:
        """How many records the partner has in each of its batches that have not met, of so many in all."""
        return (announced,) if self.new_sizes is None else self.new_sizes


ALONE = Standing()
"""Nothing stands, and nothing will."""
