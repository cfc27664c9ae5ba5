"""Pairs in the order of both ids, each once; put beside each other some at a time; as readers want them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.side import Side
from accord.spill import Scratch
from accord.table import pairs
from accord.table.layout import Layout
from accord.table.pairs import Half, IdOrder, Paired, PairTable, SomePairs, order_pairs
from accord.table.sinks import files as sinks
from accord.table.sources.opening import open_table

ids = st.lists(st.text(max_size=4), max_size=8, unique=True)
places = st.lists(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=9), max_size=5)
cells = st.lists(st.none() | st.text("ab", max_size=8), min_size=1, max_size=6)
SCRIPT = "<script>alert('x')</script>"


def order(texts: list[str]) -> IdOrder:
    return IdOrder.of(pa.array(texts, pa.large_string()))


@given(ids, ids, places, st.integers(0, 9), st.integers(1, 5))
def test_pairs_are_in_order_and_each_once(
    a: list[str], b: list[str], found: list[list[tuple[int, int]]], most: int, size: int
) -> None:
    some = [[(i % len(a), j % len(b)) for i, j in batch] if a and b else [] for batch in found]
    batches: list[SomePairs] = []
    for batch in some:
        rows = np.array(batch, np.int64).reshape(-1, 2)
        batches.append((rows[:, 0], rows[:, 1]))
    left_order = order(a)
    assert [a[row] for row in left_order.rows] == sorted(a, key=str.encode)
    assert [left_order.rows[place] for place in left_order.places] == list(range(len(left_order)))
    got = order_pairs(left_order, order(b), batches, Scratch(most=most))
    every = {pair for batch in some for pair in batch}
    expected = sorted(every, key=lambda pair: (a[pair[0]].encode(), b[pair[1]].encode()))
    assert list(zip(got.of(Side.A).tolist(), got.of(Side.B).tolist(), strict=True)) == expected
    assert len(got) == len(expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "PIECE", size)
        pieces = [list(zip(*map(np.ndarray.tolist, rows), strict=True)) for rows in got.pieces()]
    assert [pair for piece in pieces for pair in piece] == expected
    assert all(len(piece) <= size for piece in pieces)
    left, right = got.places(0, len(got))
    assert (np.diff(left * max(1, len(b)) + right) > 0).all()


def half(side: str, shown: list[str | None]) -> Half:
    ids = pa.array([f"{side}{i}" for i in range(len(shown))], pa.large_string())
    table = pa.concat_tables([pa.table({"x": pa.array([cell], pa.large_string())}) for cell in shown])
    return Half.of(ids, table)


def together(a: Half, b: Half, rows: list[tuple[int, int]], most: int = 1 << 20) -> PairTable:
    found = np.array(rows, np.int64).reshape(-1, 2).T
    orders = IdOrder.of(a.ids), IdOrder.of(b.ids)
    return PairTable(a, b, order_pairs(*orders, [(found[0], found[1])], Scratch(most=most)))


@given(
    cells, cells, st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30), st.integers(1, 40)
)
def test_batches_are_the_table(
    a: list[str | None], b: list[str | None], met: list[tuple[int, int]], size: int
) -> None:
    rows = sorted({(i % len(a), j % len(b)) for i, j in met})
    found = together(half("a", a), half("b", b), rows[::-1] + rows, most=size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "_BATCH_BYTES", size)
        batches = list(found.to_batches())
    assert pa.Table.from_batches(batches).equals(found.table())
    assert found.table().to_pylist() == [
        {"id_a": f"a{i}", "id_b": f"b{j}", "x_a": a[i], "x_b": b[j]} for i, j in rows
    ]
    assert found.head(3).equals(found.table().slice(0, 3))
    assert found.ids().equals(found.table().select(["id_a", "id_b"]))
    octets = [sum(len(cell or "") for row in batch.to_pylist() for cell in row.values()) for batch in batches]
    assert all(batch.num_rows == 1 or count <= size for batch, count in zip(batches, octets, strict=True))
    assert len(found) == len(rows)


def wide(own: int, theirs: int, octets: int) -> PairTable:
    """Every record of A with every one of B, whose cells are long."""
    texts = [chr(97 + i) * octets for i in range(theirs)]
    every = [(i, j) for i in range(own) for j in range(theirs)]
    return together(half("a", ["x"] * own), half("b", [*texts]), every)


@pytest.mark.parametrize("ending", sinks.ENDINGS)
def test_batches_are_written_as_the_whole_in_bounded_memory(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As counted by Arrow, which holds the cells: 4 MiB of pairs."""
    monkeypatch.setattr(pairs, "_BATCH_BYTES", 1 << 16)
    found, some, whole = wide(32, 16, 1 << 13), tmp_path / f"some{ending}", tmp_path / f"all{ending}"
    counted, usual = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(counted)
    try:
        sinks.write_table(found, some)
    finally:
        pa.set_memory_pool(usual)
    assert 1 << 16 <= counted.max_memory() < 1 << 20
    sinks.write_table(found.table(), whole)
    assert ending != ".csv" or some.read_bytes() == whole.read_bytes()
    read = [open_table(path, found.schema.names, Layout()).batches for path in (some, whole)]
    assert pa.Table.from_batches(read[0]).equals(pa.Table.from_batches(read[1]))


class Result(Paired):
    def __init__(self, rows: int) -> None:
        names = [SCRIPT if row == 0 else None if row == 1 else f"n{row}" for row in range(rows)]
        ids = [pa.array([f"{side}{i}" for i in range(rows)], pa.large_string()) for side in "ab"]
        orders = IdOrder.of(ids[0]), IdOrder.of(ids[1])
        pairs = order_pairs(*orders, [(np.arange(rows), np.arange(rows))], Scratch())
        shown = {"name": pa.array(names, pa.large_string())}
        self._found = PairTable(Half(ids[0], {}), Half(ids[1], shown), pairs)

    @property
    def found(self) -> PairTable:
        return self._found

    def _facts(self) -> dict[str, str]:
        return {"matches": f"{len(self.found):,}", "run": "<b>"}


def test_a_notebook_shows_a_few_rows_and_runs_nothing_of_theirs() -> None:
    shown = Result(12)._repr_html_()
    assert SCRIPT not in shown
    assert "&lt;script&gt;" in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == 2 + 1 + 10
    assert ("2 more" in shown, "more" in Result(3)._repr_html_()) == (True, False)
    assert "matches 12" in repr(Result(12))
    assert "\n" not in repr(Result(12))


def test_the_pairs_are_the_same_in_every_library_and_a_missing_one_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = Result(3)
    assert result.to_pandas()["id_a"].tolist() == ["a0", "a1", "a2"]
    assert result.to_polars()["id_a"].to_list() == ["a0", "a1", "a2"]
    assert pa.table(result).equals(result.pairs)
    for library, convert in (("pandas", result.to_pandas), ("polars", result.to_polars)):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(UsageError) as caught:
            convert()
        assert library in str(caught.value)
