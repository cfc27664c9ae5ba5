"""How long work takes, by times that were measured once: `python -m benchmarks.pace` measures them anew.

The work of the `ot` engine is nearly linear in what its program counts: bits of lookups, entries of their
tables, bits of shared numbers, and for each row of A in a block (strip) its choices. Over thirteen circuits,
of 1.2 to 24 µs a pair, these times are within 6 % for a pair, and mostly within a third for a strip, of what
one core of a Neoverse-N1 took. The work of the other engines goes with the bytes that they send.

An intersection needs no engine. What it takes is a time for each value that is listed and for each that is
asked for, and the time of the VOLE (`secure/transfer/vole.py`), which goes by cells if there are few, and by
rounds of millions otherwise. Its sides wait for each other more than they work at once, so these times are
those of a run from its first message to its last.

So a plan needs no clock, no kernel and no machine: the same public numbers give the same choice everywhere,
to both sides, and to who drafts an agreement. How fast a machine is, beside the one that was measured, is one
number, its *pace*, by which times are shown and nothing is chosen (forecast/pace.py).

The other times are of the processor, of both parties together; in a linkage each does about half of it, at
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from accord.protocols.parts.lanes import Lane, sessions
from accord.secure.blocks import Blocks
from accord.secure.circuit import Circuit, Opened
from accord.secure.cost import Price, price_like
from accord.secure.engine import PLUGGED
from accord.secure.okvs.sizes import store_shape
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.program import Program
from accord.secure.transfer.vole import USUAL

FEED = 0.3
"""Seconds to fill a reserve of silent OTs once."""
LISTED, ASKED = 1.5e-6, 2.5e-6
"""Seconds for a value that an intersection lists, and for one that it asks for, every other of which is
found."""
POINT = 1.4e-6
"""Seconds for a point that is programmed in routing."""
FEW_CELL, MANY_CELLS, MORE_CELLS = 5e-5, 0.8, 0.35
"""Seconds of a VOLE: for a cell where all are made of OTs alone; otherwise for its first round, and for each
further one."""
DUAL_BYTE = 4.5e-8
"""Seconds a byte that the engine sends."""
STRIP, ALONE = (1.06e-6, 0.53e-6), (0.7e-6, 0.18e-6)
"""Seconds for a choice of a strip, with OTs that are made one by one and with silent ones; the latter of
pairs that stand alone, which need no trees."""
_BLOCK = 64
_SHARE = 0.55
"""Of the work of both parties, what the busier one does."""


@dataclass(frozen=True)
class PairSeconds:
    """Seconds of both parties: for a pair, and for a strip more."""

    pair: float
    strip: float


@dataclass(frozen=True)
class Speed:
    """What one circuit takes."""

    made: PairSeconds
    """With OTs that are made one by one."""
    silent: PairSeconds
    byte: float = 0.0
    """For the engines without such OTs."""

    def processor(self, price: Price) -> float:
        """Seconds of the busier party for work of this price."""
        pace = self.silent if price.feeds else self.made
        work = pace.pair * price.comparisons + pace.strip * price.strips + FEED * price.feeds
        return _SHARE * (work + self.byte * price.bytes)


def seconds_to_compare(circuit: Circuit, engine: str, pairs: int) -> float:
    """Seconds of the busier party to compare so many pairs: one by one where shares are opened, otherwise in
    blocks of 64 by 64. Both parties get the same number, which decides whether workers start: a change of
    these times is a change of the wire format."""
    sizes = np.ones(_BLOCK, np.int64) if isinstance(circuit, Opened) else np.full(1, _BLOCK)
    sample = Blocks.of_sizes(sizes, sizes)
    price = price_like(circuit, sample, pairs / sample.pairs, engine)
    return speed_of(circuit, engine).processor(price)


def vole_rounds(cells: int) -> int:
    """Rounds of a VOLE of so many cells; none where it is made of OTs alone."""
    return 0 if cells <= USUAL.few else -(-cells // USUAL.outputs)


def _vole(cells: int) -> float:
    rounds = vole_rounds(cells)
    return MANY_CELLS + MORE_CELLS * (rounds - 1) if rounds else FEW_CELL * cells


def intersecting(listed: int, asked: int) -> float:
    """Seconds of an intersection, from its set-up to its matches."""
    return _vole(store_shape(asked).total) + LISTED * listed + ASKED * asked


def routing(lanes: Sequence[Lane]) -> float:
    """Seconds to bring the records of all passes together, before they are compared."""
    voles = sum(_vole(sum(lane.bins for lane in some)) for some in sessions(lanes))
    return voles + sum(ASKED * one.queries + POINT * one.programmed for one in lanes if one.routes)


@lru_cache(maxsize=64)
def speed_of(circuit: Circuit, engine: str) -> Speed:
    """What a circuit takes with an engine."""
    if engine != "ot":
        none = PairSeconds(0.0, 0.0)
        return Speed(none, none, DUAL_BYTE if engine == "dual" else PLUGGED[engine].seconds_a_byte)
    return _speed(compile_circuit(circuit, "ot"))


def _speed(program: Program) -> Speed:
    lookups = sum(lookup.bits for lookup in program.lookups)
    entries = sum((1 << lookup.bits) * lookup.lane for lookup in program.lookups)
    shared = sum(int(share.widths.sum()) for share in program.shares)
    made = 0.92 + 0.609 * lookups + 0.00117 * shared
    silent = 0.66 + 0.0544 * lookups + 0.0012 * entries + 0.00113 * shared + 0.22 * len(program.shares)
    strips = ALONE if program.opens else STRIP
    return Speed(
        PairSeconds(1e-6 * made, strips[0] * program.choices.count),
        PairSeconds(1e-6 * silent, strips[1] * program.choices.count),
    )
