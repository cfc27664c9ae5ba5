"""Lanes: what is public of each pass of routing (routing.py), from sizes, keys and caps alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from accord.secure.okvs.cuckoo import table_bins
from accord.secure.prf.binned import MOST_HASHED, binned_bytes
from accord.secure.prf.programmed import programmed_bytes
from accord.side import Side

HASHES = 3
"""Bins that a query may be in."""


@dataclass(frozen=True)
class Lane:
    """What is public of one pass: who may meet how often."""

    routes: ClassVar[bool] = True
    number: int
    entries: dict[Side, int]
    """Of each side: its records, each as often as it can have a key."""
    caps: dict[Side, int]
    asker: Side

    @property
    def queries(self) -> int:
        return self.entries[self.asker] * self.caps[self.asker.other]

    @property
    def points(self) -> int:
        return self.entries[self.asker.other] * self.caps[self.asker]

    @property
    def programmed(self) -> int:
        return HASHES * self.points

    @cached_property
    def bins(self) -> int:
        """As many are compared."""
        return table_bins(self.queries)

    @property
    def hashed(self) -> int:
        """Blocks, for the values of both sides."""
        return 2 * (self.queries + self.programmed)


class EveryPair(Lane):
    """All records of one side meet all of the other, so that nothing need be routed."""

    routes = False

    @cached_property
    def bins(self) -> int:
        return self.entries[Side.A] * self.entries[Side.B]


def sessions(lanes: Sequence[Lane]) -> list[list[Lane]]:
    """Of the passes that are routed, those that one session of the oblivious function serves, together."""
    found, hashed = list[list[Lane]](), 0
    for lane in (one for one in lanes if one.routes):
        hashed += lane.hashed
        if not found or hashed > MOST_HASHED:
            found.append([])
            hashed = lane.hashed
        found[-1].append(lane)
    return found


def routing_bytes(lanes: Sequence[Lane], words: int) -> int:
    """Bytes in both directions, with payloads of so many words, without the comparisons."""
    asked = sum(binned_bytes(sum(lane.bins for lane in some)) for some in sessions(lanes))
    return asked + sum(programmed_bytes(lane.programmed, words) for lane in lanes if lane.routes)
