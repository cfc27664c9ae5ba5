"""A session of garbled circuits: the two OT extensions, and the tapes that were made of circuits."""

from __future__ import annotations

from dataclasses import dataclass, field

from accord.secure.circuit import Node
from accord.secure.garbled.compiler import boolean_circuit
from accord.secure.garbled.tape import Tape, tapes_of
from accord.secure.transfer.setup import Session


@dataclass(eq=False, repr=False)
class GarbledSession:
    """The two OT extensions, the number of the next table, and the tapes of the circuits so far."""

    ot: Session
    tables: int = 0
    _tapes: dict[Node, tuple[Tape, Tape]] = field(default_factory=dict)

    @property
    def aes_blocks(self) -> int:
        return self.ot.aes_blocks

    def tapes(self, circuit: Node) -> tuple[Tape, Tape]:
        """The tapes of a circuit where A garbles and where B does, made once."""
        if circuit not in self._tapes:
            self._tapes[circuit] = tapes_of(boolean_circuit(circuit))
        return self._tapes[circuit]
