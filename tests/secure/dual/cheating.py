"""What the tests of cheats against `dual` share: evaluations, and what one side garbles wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.errors import PeerError, UnequalError
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import AtMost, Hamming, Input
from accord.secure.dual import batch as dual_batch
from accord.secure.garbled.batch import BatchSide
from accord.secure.party import Wire, run_pair
from accord.side import Side
from tests.secure.engines import World
from tests.secure.worlds import table

X = Input("x", 8, 1)
CIRCUIT = AtMost(Hamming(X), 2)


@dataclass
class Ended:
    """What became of an evaluation: the error, or the honest side's answers; and what passed."""

    error: Exception | None
    answers: NDArray[np.bool_] | None
    wire: Wire


def evaluated(
    world: World,
    circuit: Any,
    rows: tuple[Table, Table],
    honest: Side,
    wrap: Callable[[Any, int], Any] = lambda party, place: party,
) -> Ended:
    wire, over = Wire(), Blocks.whole(len(rows[0].real), len(rows[1].real))
    parties = world.parties(circuit, over, *rows, sides=world.fresh())
    try:
        found = run_pair(wrap(parties[0], 0), wrap(parties[1], 1), wire)
    except (PeerError, UnequalError) as error:
        return Ended(error, None, wire)
    return Ended(None, found[list(Side).index(honest)], wire)


def made_up(circuit: Any = CIRCUIT, rows: int = 5) -> tuple[Table, Table]:
    random = np.random.default_rng(4)
    a, b = (table(random, circuit, side, rows, real=1.0) for side in Side)
    return a, b


@contextmanager
def garbling(change: Callable[[BatchSide, NDArray[np.uint8]], None], side: Side) -> Iterator[None]:
    """What a side garbles for `dual` is changed before it is sent."""
    true = dual_batch._garble

    def garble(own: BatchSide, *rest: Any) -> tuple[Any, NDArray[np.uint8]]:
        zero, message = true(own, *rest)
        if own.session.side is side:
            change(own, message)
        return zero, message

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dual_batch, "_garble", garble)
        yield


def require_refused(ended: Ended, cheat: Side, pairs: int = 25) -> None:
    """The honest side ended the run before it sent its masks."""
    assert isinstance(ended.error, UnequalError)
    opening = -(-pairs // 8) + 32
    sent = ended.wire.sizes[cheat.other][-1]
    assert sent != opening + (32 if cheat is Side.B else 0)
