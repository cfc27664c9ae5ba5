"""A cell is the same text from every home; whole numbers are known as such though they are texts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from pydantic import TypeAdapter

from accord.errors import DataError
from accord.fields.columns import Bits
from accord.fields.load import load_records
from accord.fields.schema import FieldSpec
from accord.table.cell_text import as_text, batch_rows, from_python, is_whole, to_text, without_text
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike
from tests.postgres import Server

CELLS: list[tuple[Any, pa.DataType, str | None]] = [
    (None, pa.string(), None),
    ("", pa.string(), None),
    (" ", pa.string(), " "),
    (True, pa.bool_(), "true"),
    (False, pa.bool_(), "false"),
    (7, pa.int32(), "7"),
    (7.0, pa.float64(), "7"),
    (-0.25, pa.float64(), "-0.25"),
    (-0.0, pa.float64(), "0"),
    (1e-7, pa.float64(), "1e-7"),
    (123456789012.0, pa.float64(), "123456789012"),
    (1e300, pa.float64(), "1e+300"),
    (0.5, pa.float32(), "0.5"),
    (Decimal("5.00"), pa.decimal128(9, 2), "5.00"),
    (Decimal("0.0000001000"), pa.decimal128(20, 10), "0.0000001000"),
    (date(2026, 1, 31), pa.date32(), "2026-01-31"),
    *((datetime(2026, 1, 31), pa.timestamp(unit), "2026-01-31") for unit in ("s", "ms", "us", "ns")),
    *(
        (datetime(2026, 1, 31, 10, 20), pa.timestamp(unit), "2026-01-31 10:20:00")
        for unit in ("s", "ms", "us", "ns")
    ),
    (datetime(2026, 1, 31, 0, 0, 0, 500_000), pa.timestamp("us"), "2026-01-31 00:00:00.5"),
    (datetime(2026, 1, 31, tzinfo=UTC), pa.timestamp("us", "UTC"), "2026-01-31 00:00:00+00:00"),
    (
        datetime(2026, 1, 31, 1, tzinfo=timezone(timedelta(hours=1))),
        pa.timestamp("us", "Europe/Berlin"),
        "2026-01-31 00:00:00+00:00",
    ),
    (time(10, 20), pa.time32("s"), "10:20:00"),
    (time(10, 20), pa.time64("us"), "10:20:00"),
    (time(10, 20, 0, 250_000), pa.time64("ns"), "10:20:00.25"),
]


@pytest.mark.parametrize(("cell", "kind", "text"), CELLS)
def test_arrow_and_python_write_the_same(cell: Any, kind: pa.DataType, text: str | None) -> None:
    assert to_text(pa.array([None, cell], kind)).to_pylist() == [None, text]
    if isinstance(cell, Decimal) or getattr(cell, "tzinfo", None) is not None:
        return
    assert as_text(cell) == text
    for beside in (None, "x", 5, b"\0"):
        assert to_text(from_python([beside, cell]))[1].as_py() == text, "whatever stands beside it"


def test_what_has_no_text() -> None:
    column = from_python(["a", b"\0", None, b"x", 2])
    assert to_text(column).to_pylist() == ["a", None, None, None, "2"]
    found = {kind: np.flatnonzero(rows).tolist() for kind, rows in without_text(column).items()}
    assert found == {"large_binary": [1, 3]}
    for cells in (pa.array([None, b"x"]), pa.array([None, b"x"], pa.binary(1)), pa.array([None, [1]])):
        assert to_text(cells).to_pylist() == [None, None]
        assert [rows.tolist() for rows in without_text(cells).values()] == [[False, True]]
    assert without_text(pa.array(["a"])) == {}


# -- one table in every home --------------------------------------------------------------------------------

TEXT = {"type": "text", "encoder": "hash", "missing": "differs"}
FIELDS: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    dict.fromkeys(("flag", "moment", "hour", "note"), TEXT)
)
ROWS: list[tuple[Any, ...]] = [
    ("a", True, datetime(2026, 1, 31), time(10, 20), "x", 7.0),
    ("b", False, datetime(2026, 1, 31, 10, 20), time(0), "", 0.5),
    ("c", None, None, None, None, None),
]
NAMES = ("id", "flag", "moment", "hour", "note", "n")
CSV = """id,flag,moment,hour,note,n
a,true,2026-01-31,10:20:00,x,7
b,false,2026-01-31 10:20:00,00:00:00,,0.5
c,,,,,
"""
KINDS = ("text", "boolean", "timestamp", "time", "text", "double precision")


def table() -> pa.Table:
    return pa.table(dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True)))


def read(source: TableLike) -> list[Any]:
    found = load_records(source, FIELDS, "00", [*NAMES[1:]])
    parts = [c.words.tolist() for c in found.columns.values() if isinstance(c, Bits)]
    assert len(parts) == len(FIELDS)
    return [found.ids.to_pylist(), found.disclosed.to_pylist(), parts]


def in_every_home(folder: Path, postgres: Server) -> dict[str, TableLike]:
    import polars as pl

    made, columns = table(), ", ".join(f"{n} {k}" for n, k in zip(NAMES, KINDS, strict=True))
    pyarrow.parquet.write_table(made, folder / "t.parquet")
    with duckdb.connect(str(folder / "t.duckdb")) as database:
        database.execute(f"CREATE TABLE t ({columns})")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    name = postgres.add_database()
    values = [", ".join("NULL" if c is None else f"'{c}'" for c in row) for row in ROWS]
    inserts = [f"INSERT INTO t VALUES ({row})" for row in values]  # noqa: S608
    postgres.run(f"CREATE TABLE t ({columns})", *inserts, database=name)
    frame: Any = pl.from_arrow(made)
    return {
        "arrow": made,
        "parquet": str(folder / "t.parquet"),
        "duckdb": f"duckdb:{folder}/t.duckdb?table=t",
        "postgres": f"postgres:{name}?table=t",
        "polars": frame,
    }


def test_every_home_has_the_texts_of_the_csv(tmp_path: Path, postgres: Server) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    expected = read(str(tmp_path / "t.csv"))
    assert expected[1][1] == {
        "flag": "false",
        "moment": "2026-01-31 10:20:00",
        "hour": "00:00:00",
        "note": None,
        "n": "0.5",
    }
    for home, source in in_every_home(tmp_path, postgres).items():
        assert read(source) == expected, home


def test_an_empty_id_is_a_fault_in_every_home(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('id,name\n"",x\nb,y\n')
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as database:
        database.execute("CREATE TABLE t (id, name)")
        database.execute("INSERT INTO t VALUES ('', 'x'), ('b', 'y')")
        database.commit()
    homes: list[TableLike] = [
        str(tmp_path / "t.csv"),
        f"sqlite:{tmp_path}/t.sqlite?table=t",
        pa.table({"id": ["", "b"], "name": ["x", "y"]}),
    ]
    fields: dict[str, FieldSpec] = {"name": FIELDS["note"]}
    for home in homes:
        with pytest.raises(DataError, match="every record needs an id"):
            load_records(home, fields, "00")


@pytest.mark.parametrize("column", ["note", "n", "whose"])
def test_raw_bytes_are_faults_in_any_column_and_leave_their_neighbours(column: str, tmp_path: Path) -> None:
    """A column that a field reads, one that is only disclosed, and that of the people."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as database:
        database.execute("CREATE TABLE t (id, note, n, whose)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(f"p{i}", i, i, i) for i in range(9)])
        database.execute(f"UPDATE t SET {column} = x'00ff' WHERE id = 'p4'")  # noqa: S608
        database.commit()
        fields: dict[str, FieldSpec] = {"note": FIELDS["note"]}
        layout = Layout(person="whose")
        with pytest.raises(DataError) as caught:
            load_records(
                f"sqlite:{tmp_path}/t.sqlite?table=t", fields, "00", ["note", "n"], layout, per_person=9
            )
        assert f"row 5, column '{column}': holds large_binary values" in str(caught.value)
        assert "row 4" not in str(caught.value)
        cells = from_python([row[0] for row in database.execute(f"SELECT {column} FROM t ORDER BY id")])  # noqa: S608
    assert to_text(cells).to_pylist() == [None if i == 4 else str(i) for i in range(9)]


@pytest.mark.parametrize(
    ("cells", "whole"),
    [
        ([1, -2], True),
        ([2**63 - 1, -(2**63)], True),
        ([2**63], False),
        ([1, None], False),
        ([1, "2"], False),
        ([True, False], False),
        ([1.0, 2.0], False),
        (["1", "2"], False),
    ],
)
def test_whole_numbers_are_noted(cells: list[Any], whole: bool) -> None:
    batch = batch_rows([(cell,) for cell in cells], ["id"])
    assert batch.column("id").type == pa.large_string()
    assert is_whole(batch.schema.field("id")) == whole


def test_types_of_arrow_that_every_database_has() -> None:
    assert all(is_whole(pa.field("id", kind)) for kind in (pa.int8(), pa.int64(), pa.uint32()))
    assert not any(is_whole(pa.field("id", kind)) for kind in (pa.uint64(), pa.string(), pa.float64()))
