"""Sealed rows: who has the key reads the row, and nobody else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import PeerError
from accord.protocols.parts import sealed
from accord.protocols.parts.sealed import open_rows, seal_rows, sealed_bytes, taken_bytes
from tests.protocols import worlds

cells = st.none() | st.text(max_size=6)
ROOM = 120
RUN = b"a run"


def keys(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 63, (count, 2), np.uint64)


@given(st.lists(st.tuples(st.text(max_size=6), cells, cells), max_size=6))
def test_what_is_sealed_is_opened(rows: list[tuple[str, str | None, str | None]]) -> None:
    ids, x, y = (pa.array([row[i] for row in rows], pa.large_string()) for i in range(3))
    columns = pa.table({"x": x, "y": y})
    made = seal_rows(RUN, ids, columns, keys(len(rows)), ROOM)
    assert made.shape == (len(rows), sealed_bytes(ROOM))
    found, names, shown = open_rows(RUN, made, keys(len(rows)), ("x", "y"))
    assert found.tolist() == list(range(len(rows)))
    assert names.to_pylist() == ids.to_pylist()
    assert shown.to_pydict() == columns.to_pydict()


def test_another_key_or_run_opens_nothing() -> None:
    ids, nothing = pa.array(["a", "b"]), pa.table({})
    made = seal_rows(RUN, ids, nothing, keys(2), ROOM)
    assert not len(open_rows(RUN, made, keys(2, seed=2), ())[0])
    assert not len(open_rows(b"another", made, keys(2), ())[0])
    mixed = np.concatenate([keys(1), keys(1, seed=2)])
    assert open_rows(RUN, made, mixed, ())[0].tolist() == [0]


def test_long_and_short_rows_look_alike() -> None:
    """Bits of 200 rows of one letter and of twenty: shares of ones within 5 deviations of a half, a false
    alarm in 10⁶."""
    for letters in (1, 20):
        made = seal_rows(RUN, pa.array(["x" * letters] * 200), pa.table({}), keys(200), ROOM)
        bits = np.unpackbits(made)
        assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(bits))


@pytest.mark.parametrize("at", [0, 1])
def test_a_row_that_says_more_than_there_is_was_made_up(at: int) -> None:
    rows = np.zeros((1, sealed_bytes(ROOM)), np.uint8)
    rows[0, 8:12] = 255, 255, 0, 0
    if at:
        rows[0, 8:13] = 1, 0, 0, 0, 0xFF
    made = rows ^ sealed._expand(RUN, keys(1), rows.shape[1])
    with pytest.raises(PeerError, match="a sealed row that is none"):
        open_rows(RUN, made, keys(1), ())


def test_what_a_row_takes() -> None:
    records = worlds.records([(1, 12)], worlds.agreement(), prefix="r")
    assert taken_bytes(records).tolist() == [4 + 2 + 4 + 1 + 4 + 2]
