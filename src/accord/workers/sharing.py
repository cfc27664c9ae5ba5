"""How the rounds of a run are shared out.

    1  both hellos said how many workers each side wants. The counts say how long one worker would take, by
       the times of planning/machine.py and no clock. The smaller number decides.
    2  the workers start and make their keys; the coordinators exchange the certificates (certificates.py)
    3  worker i of one side connects to worker i of the other
    4  each round is cut into shares (protocols/parts/shares.py); worker i gets share i of every round in
       order, on both sides, so that no word about it is needed

Who the workers are is left to `PairedWorkers`: processes that are sent messages (pool.py).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.peer.handshake import Wish
from accord.planning.machine import seconds_to_compare
from accord.protocols.parts.comparers import Comparer, InTurn
from accord.protocols.parts.journal import UNDER_WAY
from accord.protocols.parts.shares import Share, cut
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Circuit
from accord.secure.engine import AtOnceEngine, Engine, is_found, moved, no_matches
from accord.secure.party import Party
from accord.side import Side
from accord.workers.certificates import WorkerCertificate, exchange_certificates
from accord.workers.routing import TOKEN, make_token

Ints = NDArray[np.int64]

WORTH_SECONDS = 20
"""Expected seconds from which on workers start: two of them take two seconds to start and 10.4 to compare."""


def count_workers(own: Wish, partner: Wish, seconds: float) -> int:
    """Workers of each side, where one of them would take so many seconds: the same on both sides."""
    return min(wish.count if wish.always or seconds >= WORTH_SECONDS else 1 for wish in (own, partner))


@dataclass(frozen=True, eq=False)
class SharedRound:
    """A round that is shared out."""

    shares: tuple[Share, ...]
    circuit: Circuit
    found: dict[int, Ints] = field(default_factory=dict)
    """By worker: the places in the round, or what an engine's `open` gives."""

    @property
    def is_answered(self) -> bool:
        return len(self.found) == len(self.shares)

    def answer(self, share: Share, found: Ints) -> bool:
        """Take the matches within a share, as a list of numbers; whether it can be so."""
        wide = no_matches(self.circuit).shape[1:]
        if found.size % math.prod(wide):
            return False
        some = found.reshape(-1, *wide)
        self.found[share.worker] = moved(self.circuit, some, share.first)
        return is_found(self.circuit, some, share.blocks.pairs)

    @property
    def places(self) -> Ints:
        """Those of all matches, in order. *Requires*: the round is answered."""
        return np.concatenate(
            [no_matches(self.circuit), *(self.found[share.worker] for share in self.shares)]
        )


class PairedWorkers(Protocol):
    """Workers of one side, each with one of the partner's at the other end of a connection."""

    def dismiss(self) -> None:
        """None are needed."""

    def start(self, count: int, side: Side, engine: Engine, circuit: Circuit) -> list[bytes]:
        """Start so many; their certificates."""

    def meet(self, cards: list[bytes], tokens: list[bytes]) -> None:
        """Have each meet the partner's with this certificate, by this token."""

    def give(self, shared: SharedRound, rows: list[Table]) -> None:
        """A round, with one's own rows of each share."""

    def finish(self, shared: SharedRound) -> None:
        """Return when this round, the first that was not finished, is answered."""


@dataclass(frozen=True)
class Sharing:
    """Those who compare, once it is known how many they are."""

    own: Wish
    partner: Wish
    workers: PairedWorkers

    def gather(
        self, side: Side, engine: Engine, circuit: Circuit, entropy: Entropy, most: int
    ) -> Party[Comparer]:
        count = 1
        if not isinstance(engine, AtOnceEngine):
            seconds = seconds_to_compare(circuit, engine.name, most)
            count = count_workers(self.own, self.partner, seconds)
        if count == 1:
            self.workers.dismiss()
            return (yield from InTurn().gather(side, engine, circuit, entropy, most))
        cards = self.workers.start(count, side, engine, circuit)
        own = [WorkerCertificate(card, entropy.bytes(TOKEN)) for card in cards]
        theirs = yield from exchange_certificates(own)
        of_a, of_b = (own, theirs) if side is Side.A else (theirs, own)
        tokens = [make_token(a.half, b.half) for a, b in zip(of_a, of_b, strict=True)]
        self.workers.meet([one.card for one in theirs], tokens)
        return SharedRounds(self.workers, side, circuit, count)


@dataclass(frozen=True)
class SharedRounds:
    """The workers as a comparer."""

    workers: PairedWorkers
    side: Side
    circuit: Circuit
    count: int
    under_way: int = UNDER_WAY
    _asked: deque[SharedRound] = field(default_factory=deque)

    def ask(self, blocks: Blocks, table: Table) -> None:
        shared = SharedRound(cut(blocks.a_counts, blocks.b_counts, self.count), self.circuit)
        self._asked.append(shared)
        self.workers.give(shared, [share.rows(table, self.side is Side.A) for share in shared.shares])

    def answer(self) -> Party[Ints]:
        shared = self._asked.popleft()
        self.workers.finish(shared)
        yield from ()
        return shared.places
