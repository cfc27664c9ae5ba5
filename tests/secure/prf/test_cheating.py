"""An asker that departs from the OT extension, to get the lister's key, is found out before it has it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Seeded, words
from accord.errors import PeerError
from accord.secure.party import Party, run_pair
from accord.secure.prf.oblivious import Oblivious, Points, Seeds
from accord.secure.transfer.extension import Receiver, Tile
from accord.side import Side
from tests.secure.prf.test_oblivious import TINY

Words = NDArray[np.uint64]


@pytest.mark.parametrize("asked", [3, 300], ids=["of OTs alone", "silent"])
@pytest.mark.parametrize("trees", [1, 16])
def test_corrections_for_other_choices_are_refused(
    asked: int, trees: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One flipped bit in a tree would open eight bits of Δ to guesses that a match confirms; one in each of
    sixteen trees all of it, and with Δ the values of all points."""
    extend = Receiver.extend

    def flipping(end: Receiver, choices: Words, corrections: Words, count: int) -> Iterator[Tile]:
        yield from extend(end, choices, corrections, count)
        first, length = next(end._tiles(count))
        for tree in range(trees):
            corrections[first + tree * (length // 64)] ^= np.uint64(1)

    def asks(end: Oblivious, points: Points) -> Party[Seeds]:
        yield from end.meet()
        monkeypatch.setattr(Receiver, "extend", flipping)
        return (yield from end.ask(points, lambda done: None))

    def answers(end: Oblivious, points: Points) -> Party[Seeds]:
        yield from end.meet()
        return (yield from end.answer(asked, points, lambda done: None))

    points = words(Seeded("points"), 2 * asked).reshape(-1, 2)
    a, b = (Oblivious(side, Seeded(side.value), TINY) for side in Side)
    with pytest.raises(PeerError, match="one choice each"):
        run_pair(asks(a, points), answers(b, points))
