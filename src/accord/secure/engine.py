"""What an engine is: an interpreter of circuits between two parties, over blocks of rows.

An engine first says whether it can evaluate a circuit at all, before a byte is sent. `set_up` gives a
session, which serves any number of evaluations; `evaluate` gives both sides the match bits of all pairs of
the blocks, in the order of `blocks.py`. A pair with a dummy never matches. The invariant: what a party sends
has sizes that depend on the circuit and the blocks alone.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import UsageError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Node, Side
from accord.secure.party import Party


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


NAMES = ("ot", "garbled", "paillier", "paillier-packed")


def engine_named(name: str) -> Engine:
    """The engine that an agreement names."""
    if name == "ot":
        from accord.secure.engine_ot import OtEngine

        return OtEngine()
    if name == "garbled":
        from accord.secure.engine_garbled import GarbledEngine

        return GarbledEngine()
    if name in ("paillier", "paillier-packed"):
        from accord.secure.engine_paillier import PaillierEngine

        return PaillierEngine(packed=name == "paillier-packed")
    raise UsageError(problem=f"There is no engine '{name}'. Engines: {', '.join(NAMES)}.")
