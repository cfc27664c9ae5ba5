"""Whether pairs, in any order, are those of a receipt."""

from __future__ import annotations

import random

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from accord.protocols.confirm import output_digest
from accord.run.receipt import is_signed
from accord.spill import Scratch
from accord.table.pairs import IdOrder, order_pairs

KEY = bytes(range(64))
Names = list[tuple[str, str]]


def columns(names: Names) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """In two pieces each."""
    half = len(names) // 2
    a, b = (
        pa.chunked_array([[p[i] for p in names[:half]], [p[i] for p in names[half:]]], pa.large_string())
        for i in range(2)
    )
    return a, b


texts = st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), unique=True, max_size=8)


@given(texts, st.randoms(use_true_random=False))
def test_any_order_of_the_very_pairs(names: Names, rng: random.Random) -> None:
    ids = [sorted({pair[i] for pair in names}, key=str.encode, reverse=True) for i in range(2)]
    a, b = (pa.array(some, pa.large_string()) for some in ids)
    rows = tuple(pa.array([ids[i].index(pair[i]) for pair in names], pa.int64()).to_numpy() for i in range(2))
    pairs = order_pairs(IdOrder.of(a), IdOrder.of(b), [(rows[0], rows[1])], Scratch())
    digest = output_digest(KEY, a, b, pairs).hex()
    shuffled = rng.sample(names, len(names))
    assert is_signed(digest, KEY, columns(shuffled))
    assert not is_signed(digest, KEY, columns([*shuffled, ("new id", "")]))
    if names:
        assert not is_signed(digest, KEY, columns(shuffled[1:]))
        assert not is_signed(digest, KEY, columns([*shuffled, shuffled[0]]))
