"""What an engine is: an interpreter of circuits between two parties, over blocks of rows.

An engine first says whether it can evaluate a circuit at all, before a byte is sent. `set_up` gives a
session, which serves any number of evaluations; `evaluate` gives both sides the match bits of all pairs of
the blocks, in the order of `blocks.py`. A pair with a dummy never matches. The invariant: what a party sends
has sizes that depend on the circuit and the blocks alone.

Some engines also compare rows that nobody has (`HoldingEngine`): A made a payload of each of its rows, and
then the two sides came to hold shares of payloads, A without knowing of which, B without knowing whether at
all. Each meets one row of B. Nobody learns a match bit; B learns the last words (`payloads.py`) of those that
match, or with a tally each side a share of sums over them, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import UnsupportedError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Circuit, Node, Opened, Tally
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

    def hold(self, circuit: Node, tally: Tally | None = None) -> Opened:
        """The circuit for such rows; raises `UnsupportedError` as `supports` does."""

    def payloads(self, circuit: Opened, table: Table) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """What is held of each of A's rows, (rows, words), without what opens; and of each word the
        highest bits of the fields in it, which are shared each for itself."""

    def open(self, session: Any, circuit: Opened, blocks: Blocks, table: Table) -> Party[NDArray[np.int64]]:
        """At B, of each pair that matches: its place, and its last `TOKEN` words; at A nothing.
        With a tally one row at both sides: a share of each of its sums over all pairs.

        What is no payload is opened once in 2³²; in a tally it counts if the circuit holds for it. An
        `Equal` of t bits that are alike in all rows of both sides, as a conjunct of the circuit, holds for it
        with probability 2^−t.

        *Requires*: each block is one pair.
        """


@runtime_checkable
class AtOnceEngine(Engine, Protocol):
    """An engine that tests an evaluation as a whole before it shows anything of it, so that a run must be
    one: each test lets a partner that cheats ask for one bit."""

    def most_pairs(self, circuit: Node) -> int:
        """What one evaluation takes at the most."""

    def most_rows(self, circuit: Node) -> tuple[int, int]:
        """The same in rows of A and of B."""


class PricedEngine(Engine, Protocol):
    """An engine that says what it sends."""

    def price(self, circuit: Node, blocks: Blocks) -> tuple[int, int]:
        """Bytes and rounds of an evaluation, from public numbers."""

    @property
    def set_up_bytes(self) -> int:
        """What a set-up sends, in both directions."""


@dataclass(frozen=True)
class PluggedEngine:
    """An engine that a plug-in registers, and what is said of it."""

    engine: PricedEngine
    seconds: float
    """For a comparison on a slow machine: by this the partner's patience is measured."""
    seconds_a_byte: float
    """Of the processor, for a byte that it sends."""
    cheating: str
    """What a partner that departs from the protocol can do, in words."""
    later: str = ""
    """Why a partner that stores the session reads it with a quantum computer; empty if it does not."""


PLUGGED: dict[str, PluggedEngine] = {}


def register_engine(name: str, engine: PluggedEngine) -> None:
    """Let agreements name this engine, in this process."""
    PLUGGED[name] = engine


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


def is_found(circuit: Circuit, found: NDArray[np.int64], pairs: int) -> bool:
    """Whether this may be what `find_matches` gives for so many pairs."""
    if found.shape[1:] != no_matches(circuit).shape[1:]:
        return False
    if isinstance(circuit, Opened) and circuit.tally is not None:
        return len(found) == 1 and bool((found >> circuit.tally.bits == 0).all())
    places = found if found.ndim == 1 else found[:, 0]
    return not len(places) or bool(0 <= places.min() <= places.max() < pairs)


def no_matches(circuit: Circuit) -> NDArray[np.int64]:
    """What `find_matches` gives where nothing matches."""
    if not isinstance(circuit, Opened):
        return np.zeros(0, np.int64)
    return np.zeros((0, 1 + TOKEN if circuit.tally is None else circuit.tally.cells), np.int64)


def moved(circuit: Circuit, found: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """Matches of pairs that begin at this place; what is tallied has none."""
    if not isinstance(circuit, Opened):
        return found + first
    if circuit.tally is not None:
        return found
    return np.column_stack([found[:, 0] + first, found[:, 1:]])
