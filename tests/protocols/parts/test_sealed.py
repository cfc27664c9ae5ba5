"""Sealed rows: who has the key reads the row, and nobody else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


MADE_UP = {
    "longer than there is": [255, 255, 0, 0],
    "no UTF-8": [1, 0, 0, 0, 0xFF],
    "no id": [255, 255, 255, 255],
    "no room for the next": [113, 0, 0, 0],
}


@pytest.mark.parametrize("made_up", MADE_UP.values(), ids=MADE_UP)
def test_a_row_that_was_made_up_is_not_among_those_opened(made_up: list[int]) -> None:
    """And the others are: who made it up learns nothing by it."""
    columns = pa.table({"x": pa.array(["1", None], pa.large_string())})
    rows = seal_rows(RUN, pa.array(["a", "b"]), columns, keys(2), ROOM)
    wrong = np.zeros((1, rows.shape[1]), np.uint8)
    wrong[0, 8 : 8 + len(made_up)] = made_up
    third = wrong ^ sealed._expand(RUN, keys(3)[2:], rows.shape[1])
    found, ids, shown = open_rows(
        RUN, np.concatenate([rows[:1], third, rows[1:]]), keys(3)[[0, 2, 1]], ("x",)
    )
    assert found.tolist() == [0, 2]
    assert ids.to_pylist() == ["a", "b"]
    assert shown["x"].to_pylist() == ["1", None]


def test_what_a_row_takes() -> None:
    records = worlds.records([(1, 12)], worlds.agreement(), prefix="r")
    assert taken_bytes(records).tolist() == [4 + 2 + 4 + 1 + 4 + 2]
