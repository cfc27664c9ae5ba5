"""Where the OTs of an evaluation come from: made one by one (SoftSpoken), or silently from a reserve.

Silent OTs cost a bit each where SoftSpoken's cost sixteen or more, but a reserve is made two million at a
time, and the first one needs many ordinary OTs. So a session begins with SoftSpoken, and from the evaluation
on that takes it over `many` OTs in one direction it draws on the reserve, which is fed before it runs dry.

Both sides compute the same schedule, from the sizes of the batches and what the session has used so far.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from accord.secure.blocks import Shapes
from accord.secure.ot.lookup import asked
from accord.secure.ot.program import Program
from accord.secure.ot.settings import Settings
from accord.secure.ot.sizes import WINDOW
from accord.secure.party import Party
from accord.secure.transfer.extension import Receiver, Sender, padded_count
from accord.secure.transfer.setup import Session
from accord.secure.transfer.silent import SilentReceiver, SilentSender
from accord.side import Side


@dataclass(frozen=True)
class Use:
    """What has been used of the OTs in one direction, and what is ready in the reserve."""

    made: int = 0
    ready: int = 0


@dataclass(frozen=True)
class SupplyStage:
    """Batches up to `last`, for which OTs are ready once the reserves were fed so often."""

    last: int
    feeds: tuple[int, int]


@dataclass(frozen=True)
class SupplySchedule:
    """The stages of an evaluation, whether its OTs are silent, and what has been used after it.

    Pairs are for the two directions: the OTs of the distances, in which A chooses, and those of the lookups.
    """

    stages: tuple[SupplyStage, ...]
    silent: tuple[bool, bool]
    after: tuple[Use, Use]


def needs(program: Program, sizes: Shapes) -> NDArray[np.int64]:
    """OTs that each batch takes, shape (2, batches): for distances and tallies, and double for lookups."""
    distances, tallied = program.choices.count * sizes.strips, program.tallied * sizes.pairs
    bits = Counter([lookup.bits for lookup in program.lookups] + ([1] if program.opens else []))
    lookups = [
        sum(many * padded_count(asked(int(pairs), b)) for b, many in bits.items()) for pairs in sizes.pairs
    ]
    single = -(-distances // 128) * 128 + -(-tallied // 128) * 128
    return np.stack([single, np.array(lookups, dtype=np.int64).reshape(-1)])


def schedule(needed: NDArray[np.int64], before: tuple[Use, Use], settings: Settings) -> SupplySchedule:
    """When to feed which reserve, so that no batch asks for more than there is."""
    outputs = [code.outputs for code in settings.codes]
    uses = [replace(use, made=use.made + int(n.sum())) for use, n in zip(before, needed, strict=True)]
    silently = [settings.saves and use.made >= settings.many for use in uses]
    stages: list[SupplyStage] = []
    # Batches wait for each other where a reserve is fed, so it is fed for all that are under way at once.
    for first in range(0, needed.shape[1], WINDOW):
        counts = needed[:, first : first + WINDOW].sum(axis=1).tolist()
        feeds = [0, 0]
        for way in (0, 1):
            if silently[way]:
                feeds[way] = max(0, -(-(counts[way] - uses[way].ready) // outputs[way]))
                ready = uses[way].ready + feeds[way] * outputs[way] - counts[way]
                uses[way] = replace(uses[way], ready=ready)
        if any(feeds) or not stages:
            stages.append(SupplyStage(first, (feeds[0], feeds[1])))
        stages[-1] = replace(stages[-1], last=min(first + WINDOW, needed.shape[1]))
    return SupplySchedule(tuple(stages), (silently[0], silently[1]), (uses[0], uses[1]))


@dataclass(eq=False, repr=False)
class OtSession:
    """One side's ends, ordinary and silent, and what has been used of them."""

    ot: Session
    settings: Settings
    used: tuple[Use, Use] = (Use(), Use())
    _sender: SilentSender = field(init=False)
    _receiver: SilentReceiver = field(init=False)

    def __post_init__(self) -> None:
        of_distances, of_lookups = self.settings.codes
        received, sent = (of_distances, of_lookups) if self.side is Side.A else (of_lookups, of_distances)
        self._sender = SilentSender(self.ot.sender, sent)
        self._receiver = SilentReceiver(self.ot.receiver, self.ot.entropy, received)

    @property
    def side(self) -> Side:
        return self.ot.side

    @property
    def aes_blocks(self) -> int:
        return self.ot.aes_blocks

    def feed(self, feeds: tuple[int, int]) -> Party[None]:
        """Fill the reserves: A receives in distances, B in lookups."""
        ends: tuple[SilentReceiver | SilentSender, ...]
        ends = (self._receiver, self._sender) if self.side is Side.A else (self._sender, self._receiver)
        for end, count in zip(ends, feeds, strict=True):
            for _ in range(count):
                yield from end.feed()

    def ends(self, silent: tuple[bool, bool]) -> Ends:
        """The ends that an evaluation uses."""
        of_distances, of_lookups = silent
        receives, sends = (of_distances, of_lookups) if self.side is Side.A else (of_lookups, of_distances)
        return Ends(
            self.side,
            self._sender if sends else self.ot.sender,
            self._receiver if receives else self.ot.receiver,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Ends:
    """One side's two ends in an evaluation."""

    side: Side
    sender: Sender | SilentSender
    receiver: Receiver | SilentReceiver

    @property
    def rates(self) -> tuple[int, int]:
        """Bits that an OT costs, of the distances and of the lookups."""
        mine = self.receiver.rate, self.sender.rate
        return mine if self.side is Side.A else mine[::-1]
