"""An exact answer over all pairs: the passes of routed_answers.py, without anything to route.

B asks. A pair's payload is that of A's row, all of it A's share; B's share is zero. A row that was left out
has random words in its place, on either side, and so meets nothing but with probability 2⁻⁷². Shares of pairs
are made when they are compared: memory does not grow with their number.

Noise is for routed alone: here one record may match every record of the other side, and noise that hides it
would hide the answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from accord.entropy import KEY, MASKS, Derived, words
from accord.protocols.parts.comparers import Comparer
from accord.protocols.parts.lanes import EveryPair, Lane
from accord.protocols.parts.outcome import Digest, Outcome
from accord.protocols.parts.phases import Phases
from accord.protocols.routed_answers import AnswerPasses
from accord.protocols.routing import Placing
from accord.secure.party import Party
from accord.side import Side

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


def every_pair(sizes: tuple[int, int]) -> EveryPair:
    """The one pass, for tables of A and of B of these sizes."""
    by_side = dict(zip(Side, sizes, strict=True))
    return EveryPair(0, by_side, {side: by_side[side] for side in Side}, Side.B)


class EveryPairAnswer(AnswerPasses):
    """One pass, in which each row of B meets each of A."""

    def place(self, lane: Lane) -> Placing:
        """Nowhere in particular."""
        rows, nothing = np.arange(len(self.own.records)), np.zeros(0, np.int64)
        return Placing(rows, nothing.astype(np.uint64), nothing, 0)

    def compare(self, lane: Lane, comparer: Comparer) -> Party[tuple[Ints, Ints]]:
        drawn = Derived(self.own.entropy.stream(f"{MASKS} rows left out").bytes(KEY))
        size, lists = len(self.own.records), lane.entries[Side.A]
        payloads = np.zeros((1, self.circuit.words), np.uint64)
        if not self.asks:
            own, _ = self.payload()
            payloads = own if size else payloads

        def bins(part: slice) -> tuple[Ints, Words]:
            """A's rows of one row of B after the other. One that was left out takes as long as any: all have
            random words, and of some row, any, its payload."""
            pair = np.arange(part.start, part.stop)
            row = pair // lists if self.asks else pair % lists
            random = words(drawn, len(pair) * self.circuit.words).reshape(len(pair), -1)
            gone, some = row >= size, (random[:, 0] % np.uint64(len(payloads))).astype(np.int64)
            held = payloads[some if len(payloads) == 1 else np.where(gone, some, row)]
            return np.where(gone, -1, row), np.where(gone[:, None], random, held)

        return np.zeros(0, np.int64), (yield from self.engine_says(lane, comparer, bins))

    def nobody(self, digest: Digest, phases: Phases) -> Outcome:
        """Every row has a slot, as with pairs."""
        return replace(super().nobody(digest, phases), partner_slots=self.own.partner_size)
