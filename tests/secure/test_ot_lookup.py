"""Lookups: B gets its entry of A's table, for every width, and nothing else fits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from accord.secure.ot_lookup import (
    answer,
    ask,
    from_wire,
    opened,
    packed_truth,
    patterns,
    question_words,
    table_bytes,
    to_wire,
)
from tests.secure.conftest import Sessions


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("count", [1, 9, 3001])
def test_the_entry_of_the_table_arrives(sessions: Callable[[int], Sessions], bits: int, count: int) -> None:
    a, b = sessions(4)
    random = np.random.default_rng(bits)
    truth = random.random((5, 1 << bits)) < 0.5
    state = random.integers(0, 5, count).astype(np.uint8)
    index = random.integers(0, 1 << bits, count).astype(np.uint8)
    question = np.empty(question_words(count, bits, 4), dtype=np.uint64)
    masks = ask(b.receiver, index, bits, question)
    tables = answer(a.sender, packed_truth(truth), state, bits, question)
    wire = to_wire(tables, bits)
    assert wire.nbytes == table_bytes(count, bits)
    got = opened(from_wire(wire, bits), masks[:count], index)
    assert (got == truth[state, index]).all()
    # With any other index the masks do not fit: the bits are as good as random.
    other = opened(from_wire(wire, bits), masks[:count], index ^ np.uint8(1))
    if count > 3000:
        assert 0.4 < (other == truth[state, index ^ 1]).mean() < 0.6


def test_entry_j_is_bit_j() -> None:
    truth = np.zeros((1, 128), dtype=np.bool_)
    truth[0, [0, 5, 64, 127]] = True
    assert packed_truth(truth).tolist() == [[1 | 1 << 5, 1 | 1 << 63]]
    assert patterns(7)[6].tolist() == [0, (1 << 64) - 1]
    assert patterns(1)[0, 0] & 3 == 2
