"""Labels: one of each bit, in pieces whose sizes are known, and checked before anything is garbled."""

from __future__ import annotations

import numpy as np
import pytest

from accord.errors import PeerError
from accord.secure.blocks import Blocks
from accord.secure.dual import labels as dual_labels
from accord.secure.dual.labels import exchange_labels, labels_bytes, times
from accord.secure.party import Wire, run_pair
from accord.side import Side
from tests.run.cheats import TREES, flip_choices
from tests.secure.dual.cheating import CIRCUIT, made_up
from tests.secure.engines import World


@pytest.mark.parametrize("piece", [1 << 18, 64, 7])
def test_labels_differ_by_delta_where_a_bit_is_set(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dual_labels, "_PIECE", piece)
    random, wire = np.random.default_rng(0), Wire()
    shapes = (3, 20), (2, 30)
    known = [random.integers(0, 2, shape, dtype=np.uint8) for shape in shapes]
    masks = [random.integers(0, 2, 50, dtype=np.uint8) for _ in shapes]
    sides = [side.ot for side in World("dual").sides]
    parties = [exchange_labels(sides[i], masks[i], known[i], shapes[1 - i]) for i in range(2)]
    made = run_pair(parties[0], parties[1], wire)
    for own in (0, 1):
        delta, mine, theirs = sides[1 - own].sender.delta, made[own], made[1 - own]
        assert (mine.taken_masks == theirs.given_masks ^ times(masks[own], delta)).all()
        inputs = times(known[own].reshape(-1), delta).reshape(*shapes[own], 2)
        assert (mine.taken_inputs == theirs.given_inputs ^ inputs).all()
    assert wire.bytes == sum(labels_bytes(50 + a * b, 32) for a, b in shapes)
    assert wire.rounds == 1


def test_choices_that_differ_by_tree_are_refused_before_a_table_is_sent(cheat: Side) -> None:
    world, rows, place = World("dual"), made_up(), list(Side).index(cheat)
    for tree in range(0, TREES, 4):
        sides, wire = world.fresh(), Wire()
        flip_choices(sides[place].ot.receiver, [tree])
        piece = int.from_bytes(sides[1 - place].ot.sender.delta.tobytes(), "little") >> 4 * tree & 15
        parties = world.parties(CIRCUIT, Blocks.whole(5, 5), *rows, sides=sides)
        if piece == 0:
            continue
        with pytest.raises(PeerError, match="one choice each"):
            run_pair(parties[0], parties[1], wire)
        assert len(wire.sizes[cheat.other]) <= 1, "its own choices, and no table"
