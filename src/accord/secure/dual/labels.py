"""The labels of all bits of an evaluation: each side takes those of its own, before anything is garbled.

The bits are those of its rows and, for each pair, one that is random: its mask. Labels are rows of the OT
extension, and all choices are checked (`transfer/checked.py`). A row has one label a bit in all pairs that it
is in: so who evaluates has chosen its inputs once and for all, before it sees a table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.secure.garbled.batch import give_labels, label_bytes, take_labels
from accord.secure.party import Party
from accord.secure.transfer.setup import Session

Bits = NDArray[np.uint8]
Words = NDArray[np.uint64]

_PIECE = 1 << 18
"""Labels of one message."""


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """What one side has: labels of its own bits, and W⁰ of the partner's."""

    masks: Bits
    """One for each pair."""
    taken_masks: Words
    """(pairs, 2)"""
    taken_inputs: Words
    """(bits, rows, 2)"""
    given_masks: Words
    given_inputs: Words


def labels_bytes(count: int, rate: int) -> int:
    """Bytes of the messages that bring a side so many labels."""
    whole, rest = divmod(count, _PIECE)
    return whole * label_bytes(_PIECE, rate) + label_bytes(rest, rate)


def exchange_labels(session: Session, masks: Bits, known: Bits, shape: tuple[int, int]) -> Party[Labels]:
    """The labels of one's own masks and bits (bits, rows), and of as many masks of the partner and its bits,
    of this shape. Raises if the partner has not one choice for each."""
    chosen, pairs = np.concatenate([masks, known.reshape(-1)]), len(masks)
    taken = np.empty((len(chosen), 2), dtype=np.uint64)
    given = np.empty((pairs + shape[0] * shape[1], 2), dtype=np.uint64)
    for some in _pieces(len(taken)):
        taken[some] = yield from take_labels(session, chosen[some])
    for some in _pieces(len(given)):
        given[some] = yield from give_labels(session.sender, some.stop - some.start)
    return Labels(
        masks,
        taken[:pairs],
        taken[pairs:].reshape(*known.shape, 2),
        given[:pairs],
        given[pairs:].reshape(*shape, 2),
    )


def times(bits: Bits, delta: Words) -> Words:
    """Δ where a bit is set, (bits, 2)."""
    return bits[:, None].astype(np.uint64) * delta


def _pieces(count: int) -> list[slice]:
    return [slice(first, min(count, first + _PIECE)) for first in range(0, count, _PIECE)]
