"""Lanes: what is public of each pass of routing (routing.py), from sizes, keys and caps alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from accord.secure.okvs.cuckoo import table_bins
from accord.secure.prf.oblivious import asked_bytes
from accord.secure.prf.programmed import programmed_bytes
from accord.side import Side

HASHES = 3
"""Bins that a query may be in."""


@dataclass(frozen=True)
class Lane:
    """What is public of one pass: who may meet how often."""

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

    def sent(self, words: int) -> int:
        """Bytes in both directions, with payloads of so many words, without the comparisons."""
        return asked_bytes(self.queries) + programmed_bytes(self.programmed, words)


class EveryPair(Lane):
    """All records of one side meet all of the other, so that nothing need be routed."""

    @property
    def queries(self) -> int:
        return 0

    @property
    def points(self) -> int:
        return 0

    @cached_property
    def bins(self) -> int:
        return self.entries[Side.A] * self.entries[Side.B]

    def sent(self, words: int) -> int:
        return 0
