"""An engine whose sessions do not grow old: new secrets once a session has hashed 2³² blocks.

What protects a session's secrets shrinks with the number C of blocks that its permutation was applied to
(`docs/engines.md`, *Concrete security*), so C has a bound. Each side counts its own blocks. Before a session
would have compared more than 2²⁰ pairs since the last time, which both know, they tell each other their
counts; if one of them has reached the bound, both make a new set-up: new base OTs, a new Δ on each side, a
new key of the permutation. What is asked for in one evaluation may be more, as a round of a linkage can be;
it is done in pieces of at most as many. So between two looks a session grows by 2²⁰ pairs, whatever is asked.

The counts follow from the circuit and the sizes of blocks, so they tell nothing. A partner that lies about
its own makes set-ups come sooner, or later for itself: one's own count is never taken from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Node, Opened, Tally
from accord.secure.engine import Engine, moved, require_holding
from accord.secure.party import Party, Send, receive
from accord.side import Side

MOST_BLOCKS = 1 << 32
EVERY = 1 << 20
"""The most pairs between two looks. Both are parts of the protocol."""
_COUNT = 8


@dataclass(eq=False, repr=False)
class Lasting:
    """The present session of an engine, and what it has done since somebody looked."""

    side: Side
    entropy: Entropy
    made: Any
    pairs: int = 0
    set_ups: int = 1


@dataclass(frozen=True)
class Renewing:
    """The same engine, with sessions that are made anew."""

    engine: Engine
    most_blocks: int = MOST_BLOCKS
    every: int = EVERY

    @property
    def name(self) -> str:
        return self.engine.name

    def supports(self, circuit: Node) -> None:
        self.engine.supports(circuit)

    def set_up(self, side: Side, entropy: Entropy) -> Party[Lasting]:
        return Lasting(side, entropy, (yield from self.engine.set_up(side, entropy)))

    def evaluate(
        self, session: Lasting, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        found = []
        for piece in blocks.cut(self.every):
            yield from self._count(session, piece.pairs)
            found.append((yield from self.engine.evaluate(session.made, circuit, piece, table)))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def hold(self, circuit: Node, tally: Tally | None = None) -> Opened:
        return require_holding(self.engine).hold(circuit, tally)

    def payloads(self, circuit: Opened, table: Table) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        return require_holding(self.engine).payloads(circuit, table)

    def open(
        self, session: Lasting, circuit: Opened, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.int64]]:
        engine, found, done = require_holding(self.engine), [], 0
        for piece in blocks.cut(self.every):
            yield from self._count(session, piece.pairs)
            some = yield from engine.open(session.made, circuit, piece, table)
            found.append(moved(circuit, some, done))
            done += piece.pairs
        return np.concatenate(found)

    def _count(self, session: Lasting, pairs: int) -> Party[None]:
        """So many pairs are next; look before they are too many."""
        if session.pairs + pairs > self.every:
            yield from self._look(session)
        session.pairs += pairs

    def _look(self, session: Lasting) -> Party[None]:
        """Tell the counts, and make a new session if one of them is at the bound."""
        session.pairs = 0
        # The engine in the clear hashes nothing.
        own = getattr(session.made, "aes_blocks", 0)
        yield Send(own.to_bytes(_COUNT, "little"))
        other = int.from_bytes((yield from receive(_COUNT)).tobytes(), "little")
        if max(own, other) >= self.most_blocks:
            session.made = yield from self.engine.set_up(session.side, session.entropy)
            session.set_ups += 1
