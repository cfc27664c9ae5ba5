"""The bits that a side feeds into a circuit of XOR and AND, computed of its own rows alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from accord.secure.circuit import Input
from accord.secure.garbled.boolean import Element, Flags, OwnNumber, Source

Ints = NDArray[np.int64]
Reader = Callable[[Input], Ints]
"""Gives the rows of an input, shape (rows, length)."""


def source_bits(sources: Sequence[Source], read: Reader, real: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """One bit for each source and row, shape (sources, rows); `real` has the rows that are no dummies."""
    result = np.empty((len(sources), len(real)), dtype=np.uint8)
    elements: dict[Input, list[int]] = {}
    for place, source in enumerate(sources):
        match source:
            case Element(_, of):
                elements.setdefault(of, []).append(place)
            case Flags(_, flags, with_real):
                bits = [read(of)[:, 0] != 0 for of in flags] + ([real] if with_real else [])
                result[place] = np.logical_and.reduce(bits)
            case OwnNumber(_, of, weight, add, bit):
                # Mod 2^64, which is all that a number of at most 64 bits depends on.
                factor, offset = np.uint64(weight % (1 << 64)), np.uint64(add % (1 << 64))
                number = read(of)[:, 0].astype(np.uint64) * factor + offset
                result[place] = (number >> np.uint64(bit)) & np.uint64(1)
    for of, places in elements.items():
        chosen = [source for source in (sources[p] for p in places) if isinstance(source, Element)]
        values = read(of).T[[source.index for source in chosen]]
        result[places] = (values >> np.array([[source.bit] for source in chosen])) & 1
    return result
