"""Pairs that are put beside each other some at a time: the same table, in a few MiB."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.spill import Scratch
from accord.table import pairing
from accord.table.id_order import IdOrder
from accord.table.layout import Layout
from accord.table.pairing import Half, PairTable
from accord.table.pairs import order_pairs
from accord.table.sinks import files as sinks
from accord.table.sources.opening import open_table

cells = st.lists(st.none() | st.text(max_size=8), min_size=1, max_size=6)


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
    a: list[str | None], b: list[str | None], pairs: list[tuple[int, int]], size: int
) -> None:
    rows = sorted({(i % len(a), j % len(b)) for i, j in pairs})
    found = together(half("a", a), half("b", b), rows[::-1] + rows, most=size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairing, "_BATCH_BYTES", size)
        batches = list(found.to_batches())
    assert pa.Table.from_batches(batches).equals(found.table())
    assert found.table().to_pylist() == [
        {"id_a": f"a{i}", "id_b": f"b{j}", "x_a": a[i], "x_b": b[j]} for i, j in rows
    ]
    assert found.head(3).equals(found.table().slice(0, 3))
    assert found.ids().equals(found.table().select(["id_a", "id_b"]))
    assert all(batch.num_rows == 1 or sum(_octets(batch)) <= size for batch in batches)
    assert len(found) == len(rows)


def _octets(batch: pa.RecordBatch) -> list[int]:
    return [len((cell or "").encode()) for column in batch.columns for cell in column.to_pylist()]


def wide(own: int, theirs: int, octets: int) -> PairTable:
    """Every record of A with every one of B, whose cells are long."""
    texts = [chr(97 + i) * octets for i in range(theirs)]
    every = [(i, j) for i in range(own) for j in range(theirs)]
    return together(half("a", ["x"] * own), half("b", [*texts]), every)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_what_is_written_in_batches_is_what_was_written_at_once(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = wide(4, 3, 1 << 10)
    monkeypatch.setattr(pairing, "_BATCH_BYTES", 1 << 12)
    assert len(list(found.to_batches())) > 2
    for name, table in (("some", found), ("all", found.table())):
        sinks.write_table(table, tmp_path / f"{name}{ending}")
    if ending == ".csv":
        assert (tmp_path / "some.csv").read_bytes() == (tmp_path / "all.csv").read_bytes()
    names = found.schema.names
    read = [open_table(tmp_path / f"{name}{ending}", names, Layout()).batches for name in ("some", "all")]
    assert pa.Table.from_batches(read[0]).equals(pa.Table.from_batches(read[1]))


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_memory_does_not_grow_with_the_pairs(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As counted by Arrow, which holds the cells: 64 MiB of pairs."""
    monkeypatch.setattr(pairing, "_BATCH_BYTES", 1 << 20)
    found = wide(64, 16, 1 << 16)
    counted, usual = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(counted)
    try:
        sinks.write_table(found, tmp_path / f"out{ending}")
    finally:
        pa.set_memory_pool(usual)
    assert 1 << 20 <= counted.max_memory() < 16 << 20
