"""What an engine is: an interpreter of circuits between two parties, over blocks of rows.

An engine first says whether it can evaluate a circuit at all, before a byte is sent. `set_up` gives a
session, which serves any number of evaluations; `evaluate` gives both sides the match bits of all pairs of
the blocks, in the order of `blocks.py`. A pair with a dummy never matches. The invariant: what a party sends
has sizes that depend on the circuit and the blocks alone.

Some engines also compare rows that nobody has (`HoldingEngine`): A made a payload of each of its rows, and
then the two sides came to hold shares of payloads, A without knowing of which, B without knowing whether at
all. Each meets one row of B. Nobody learns a match bit; B learns the tokens of those that match.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import UnsupportedError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Circuit, Node, Opened
from accord.secure.party import Party
from accord.secure.payloads import TOKEN
from accord.side import Side


class Engine(Protocol):
    """One way to evaluate circuits."""

    @property
    def name(self) -> str: ...

    def supports(self, circuit: Node) -> None:
        """Raise `UnsupportedError`, with the node, if this engine cannot evaluate the circuit."""

    def set_up(self, side: Side, entropy: Entropy) -> Party[Any]:
        """Make a session with the peer."""

    def evaluate(self, session: Any, circuit: Node, blocks: Blocks, table: Table) -> Party[NDArray[np.bool_]]:
        """The match bit of every pair, known to both sides."""


@runtime_checkable
class HoldingEngine(Engine, Protocol):
    """An engine that compares rows of A which the two sides hold in shares."""

    def hold(self, circuit: Node) -> Opened:
        """The circuit for such rows; raises `UnsupportedError` as `supports` does."""

    def payloads(self, circuit: Opened, table: Table) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """What is held of each of A's rows, (rows, words), without its token; and of each word the highest
        bits of the fields in it, which are shared each for itself."""

    def open(self, session: Any, circuit: Opened, blocks: Blocks, table: Table) -> Party[NDArray[np.int64]]:
        """At B, of each pair that matches: its place, and the two words of its token; at A nothing.

        *Requires*: each block is one pair.
        """


def require_holding(engine: Engine) -> HoldingEngine:
    """The engine as one that compares rows held in shares, or an `UnsupportedError`."""
    if not isinstance(engine, HoldingEngine):
        raise UnsupportedError(engine=engine.name, node="rows of which each side holds a share")
    return engine


def find_matches(
    engine: Engine, session: Any, circuit: Circuit, blocks: Blocks, table: Table
) -> Party[NDArray[np.int64]]:
    """The places of the matches, or with rows held in shares what `open` gives."""
    if isinstance(circuit, Opened):
        return (yield from require_holding(engine).open(session, circuit, blocks, table))
    return np.flatnonzero((yield from engine.evaluate(session, circuit, blocks, table)))


def no_matches(circuit: Circuit) -> NDArray[np.int64]:
    """What `find_matches` gives where nothing matches."""
    return np.zeros((0, TOKEN) if isinstance(circuit, Opened) else 0, np.int64)


def moved(found: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """Matches of pairs that begin at this place."""
    if found.ndim == 1:
        return found + first
    return np.column_stack([found[:, 0] + first, found[:, 1:]])
