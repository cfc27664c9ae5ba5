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
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Node
from accord.secure.party import Party
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
