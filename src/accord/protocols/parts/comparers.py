"""Who compares the pairs of a round: engine sessions in this very program, or workers elsewhere.

A *staff* is gathered once a run, when it is known how much there is to compare, and gives a *comparer*. It is
asked about rounds, in order, several of which may be under way, and answers in the same order. What is asked
never depends on who answers: the schedule knows nothing of a staff.

Here is the staff without workers: one or more engine sessions that speak in turn over the party's own
channel. A linkage on its own, a simulation and most tests have one; several show, in one thread, that the
outcome does not depend on their number.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from accord.entropy import MASKS, Entropy
from accord.protocols.parts.shares import cut
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Circuit
from accord.secure.engine import AtOnceEngine, Engine, find_matches, moved, no_matches
from accord.secure.party import Party
from accord.secure.renewal import Renewing
from accord.side import Side

Ints = NDArray[np.int64]


class Comparer(Protocol):
    """Compares rounds, in order."""

    @property
    def under_way(self) -> int:
        """How many rounds are worth asking about before the first is answered."""

    def ask(self, blocks: Blocks, table: Table) -> None:
        """Begin with a round. *Requires*: the rows of the blocks follow each other."""

    def answer(self) -> Party[Ints]:
        """The places of the matches of the first round that was asked about and not answered, or of rows held
        in shares what an engine's `open` gives."""


class Staff(Protocol):
    """Those who compare."""

    def gather(
        self, side: Side, engine: Engine, circuit: Circuit, entropy: Entropy, most: int
    ) -> Party[Comparer]:
        """Be ready to compare up to so many pairs."""


@dataclass(frozen=True)
class InTurn:
    """Engine sessions over the party's own channel."""

    sessions: int = 1
    under_way: int = 1

    def gather(
        self, side: Side, engine: Engine, circuit: Circuit, entropy: Entropy, most: int
    ) -> Party[Comparer]:
        made: list[Any] = []
        whole = isinstance(engine, AtOnceEngine)
        engine = engine if whole else Renewing(engine)
        for number in range(1 if whole else self.sessions):
            masks = entropy.stream(f"{MASKS} {number}" if number else MASKS)
            made.append((yield from engine.set_up(side, masks)))
        return _InTurn(engine, circuit, side, tuple(made), self.under_way)


@dataclass(frozen=True)
class _InTurn:
    engine: Engine
    circuit: Circuit
    side: Side
    sessions: tuple[Any, ...]
    under_way: int
    _asked: deque[tuple[Blocks, Table]] = field(default_factory=deque)

    def ask(self, blocks: Blocks, table: Table) -> None:
        self._asked.append((blocks, table))

    def answer(self) -> Party[Ints]:
        blocks, table = self._asked.popleft()
        found = []
        for share in cut(blocks.a_counts, blocks.b_counts, len(self.sessions)):
            own, session = share.rows(table, self.side is Side.A), self.sessions[share.worker]
            some = yield from find_matches(self.engine, session, self.circuit, share.blocks, own)
            found.append(moved(self.circuit, some, share.first))
        return np.concatenate(found) if found else no_matches(self.circuit)
