"""Files and tables of every kind are read; a csv is counted before it is believed; workbooks are as csv."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accord.errors import DataError, Fault, UnreadableError
from accord.table.csv_scan import MOST_CELL, MOST_COLUMNS, Stop, scan
from accord.table.layout import Layout
from accord.table.opened import Faults, OpenTable
from accord.table.sniffing import sniff_text
from accord.table.sources import xlsx as sources_xlsx
from accord.table.sources.opening import TableLike, column_names, keep_readable, kind_of, open_table

TABLE = pa.table({"id": ["1", "2", "3"], "name": ["ä", "b", None], "n": [1, 2, 3]})
EXPECTED = [{"name": "ä", "id": "1"}, {"name": "b", "id": "2"}, {"name": None, "id": "3"}]


def rows(source: TableLike, layout: Layout | None = None) -> list[dict[str, object]]:
    table = open_table(source, ["name", "id"], layout or Layout())
    return [row for batch in table.batches for row in batch.to_pylist()]


def test_every_kind_of_file(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(TABLE, tmp_path / "t.csv")
    pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(TABLE, str(tmp_path / "t.arrow"))
    with pa.ipc.new_stream(str(tmp_path / "stream.ipc"), TABLE.schema) as sink:
        sink.write_table(TABLE)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    for name in ("t.csv", "t.parquet", "t.arrow", "stream.ipc", "t.csv.gz"):
        assert rows(tmp_path / name) == rows(str(tmp_path / name)) == EXPECTED, name
        assert column_names(tmp_path / name, Layout()) == ["id", "name", "n"]
    for name in ("x.parquet", "x.arrow"):
        (tmp_path / name).write_bytes(b"no table at all")
        with pytest.raises(UnreadableError):
            column_names(tmp_path / name, Layout())


def test_every_kind_of_object() -> None:
    import duckdb
    import pandas as pd
    import polars as pl

    relation = duckdb.connect().from_arrow(TABLE)
    for source in (TABLE, pl.from_arrow(TABLE), pd.DataFrame(TABLE.to_pylist()), relation):
        assert rows(source) == EXPECTED, type(source)
    kept = keep_readable(TABLE.to_reader())
    assert rows(kept) == rows(kept) == EXPECTED
    assert column_names(kept, Layout()) == ["id", "name", "n"]
    assert keep_readable("a.csv") == "a.csv"


def test_views_dictionaries_and_runs_are_read_as_plain_columns(tmp_path: Path) -> None:
    import polars as pl

    frame = pl.DataFrame({"id": ["1", "2", "3"], "name": ["ä", "b", None]})
    assert rows(frame) == rows(frame.with_columns(pl.col("name").cast(pl.Categorical))) == EXPECTED
    frame.write_ipc(tmp_path / "frame.arrow")
    assert rows(tmp_path / "frame.arrow") == EXPECTED
    plain = pa.array(["x", "x", "y"])
    for column in (plain.dictionary_encode(), pc.run_end_encode(plain), plain.cast(pa.string_view())):
        table = pa.table({"id": ["1", "2", "3"], "name": column})
        assert [row["name"] for row in rows(table)] == ["x", "x", "y"]


# -- csv --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "layout", "names"),
    [
        ("id;name\n1;ä\n".encode("latin-1"), Layout(encoding="latin-1", delimiter=";"), ["ä"]),
        (b"\xef\xbb\xbfid\tname\n1\tx\n", Layout(delimiter="tab"), ["x"]),
        (b"id\tname\n1\tx\n", Layout(delimiter="\\t"), ["x"]),
        (b'id,name\r\n1,"a, ""b""\nc"\r\n', Layout(), ['a, "b"\nc']),
        (b"id,name\n1,'a, ''b'''\n2,12\" screen\n", Layout(quote="'"), ["a, 'b'", '12" screen']),
        (b'id,name\n1,"x\n2,y"\n3,"z"\n', Layout(quote="none"), ['"x', 'y"', '"z"']),
        (b"id,name\n1," + b"x" * MOST_CELL, Layout(), ["x" * MOST_CELL]),
    ],
)
def test_a_csv_is_read_as_its_layout_says(
    content: bytes, layout: Layout, names: list[str], tmp_path: Path
) -> None:
    (tmp_path / "t.txt").write_bytes(content)
    assert [row["name"] for row in rows(tmp_path / "t.txt", layout)] == names


def test_a_row_with_too_few_cells_does_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for titles, layout in (("", Layout()), ('Members\n"as of\n2024"\n', Layout(header=4))):
        path.write_text(f"{titles}id,name\n1,a\n2\n3,b\n4,c,d\n5,e\n")
        table = open_table(path, ["id", "name"], layout)
        assert [row["id"] for batch in table.batches for row in batch.to_pylist()] == ["1", "3", "5"]
        assert [fault.place for fault in table.broken.values()] == ["row 2", "row 4"]
        assert [table.row(i) for i in range(3)] == [1, 3, 5]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(names=st.lists(st.text(st.sampled_from('ab";\n\r é'), max_size=5), min_size=2, max_size=4))
def test_a_header_is_split_as_it_was_written(names: list[str], tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL).writerows([names, ["1"] * len(names)])
    assert column_names(tmp_path / "t.csv", Layout(delimiter=";")) == names
    (tmp_path / "t.csv").write_bytes(b'\n\r\nid,a"b,,"c,""d"')
    assert column_names(tmp_path / "t.csv", Layout()) == ["id", 'a"b', "", 'c,"d']
    assert column_names(tmp_path / "t.csv", Layout(quote="none"))[-2:] == ['"c', '""d"']


def test_no_thread_of_arrow_is_left_by_a_file_that_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that is dropped in mid-file may end the process when Python ends."""
    (tmp_path / "t.csv").write_text("id;name\n1;x\n")
    monkeypatch.setattr(pyarrow.csv, "open_csv", None)
    with pytest.raises(DataError):
        open_table(tmp_path / "t.csv", ["id", "name"], Layout())


def blocks(body: str, size: int) -> list[bytes]:
    whole = body.encode()
    return [whole[i : i + size] for i in range(0, len(whole), size)]


@settings(max_examples=40)
@given(
    st.text(st.sampled_from('ab,;"\n\rä '), max_size=40),
    st.integers(1, 7),
    st.sampled_from([",", ";"]),
    st.sampled_from(['"', None]),
)
def test_counts_are_those_of_pythons_reader(body: str, size: int, delimiter: str, quote: str | None) -> None:
    found = scan(blocks(body, size), delimiter, quote)
    assert found == scan([body.encode()], delimiter, quote)
    how = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    try:
        read = list(csv.reader(io.StringIO(body, newline=""), delimiter=delimiter, strict=True, **how))
    except csv.Error:
        assert found.stop in (Stop.AFTER_QUOTE, Stop.OPEN_QUOTE)
        return
    read = [row for row in read if row]
    assert (found.stop, found.rows) == (Stop.NONE, len(read))
    assert found.columns == (len(read[0]) if read else 0)
    assert found.ragged == sum(len(row) != len(read[0]) for row in read)


@pytest.mark.parametrize(
    ("body", "stop", "row", "column", "line"),
    [
        ("a,b\n1,x\0y\n", Stop.NUL, 1, 2, 2),
        ('a,b\n\n"1\n\n",x\n2,"y"z\n', Stop.AFTER_QUOTE, 2, 2, 6),
        ('a,b\r\n1,"x\r\ny', Stop.OPEN_QUOTE, 1, 2, 3),
        ("a,b\n1,2\n3," + "x" * (MOST_CELL + 1), Stop.LONG_CELL, 2, 2, 3),
        ("a,b\n1,2\n" + "3," * MOST_COLUMNS, Stop.MANY_COLUMNS, 2, MOST_COLUMNS + 1, 3),
    ],
)
def test_where_a_pass_stops(body: str, stop: Stop, row: int, column: int, line: int) -> None:
    found = scan(blocks(body, 1 << 20), ",", '"')
    assert (found.stop, found.row, found.column, found.line) == (stop, row, column, line)
    lines = [b"a,b\n", b"1,2\n" * 9, b"1,2,3,4,5"]
    assert scan(lines[:2], ",", '"', most_row=8).stop is Stop.NONE
    assert scan(lines, ",", '"', most_row=8).stop is Stop.LONG_ROW
    assert scan([b"\n" * 100], ",", '"', most_row=8).stop is Stop.NONE


def test_faults_are_numbered_over_all_chunks_and_broken_rows_count() -> None:
    faults = Faults(OpenTable("it", iter(()), {2: Fault("row 2", "has 3 cells")}))
    faults.note(np.array([False, False, True]), "b", "is odd")
    faults.first = 3
    faults.note(np.ones(6, np.bool_), "a", "is long")
    faults.note(np.zeros(6, np.bool_), "a", "is short")
    faults.note(np.array([True, False]), "b", "is odd")
    assert [(fault.place, fault.count) for fault in faults.in_order()] == [
        ("rows 4, 5, column 'b'", 2),
        ("rows 5, 6, 7, 8, 9 and 1 more, column 'a'", 6),
    ]


def test_parquet_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    def ids(source: Path) -> list[str]:
        batches = open_table(source, ["id"], Layout()).batches
        return [str(id) for batch in batches for id in batch["id"].to_pylist()]

    (tmp_path / "t").mkdir()
    for number, name in ((2, "b.pq"), (1, "a.parquet"), (3, "c.PARQUET"), (4, "d[1].parquet")):
        pyarrow.parquet.write_table(pa.table({"id": [f"{number}", f"{number}x"]}), tmp_path / "t" / name)
    for other in ("_SUCCESS", ".a.parquet.crc", "_metadata.parquet", "notes.csv"):
        (tmp_path / "t" / other).write_text("not a table")
    assert ids(tmp_path / "t") == ["1", "1x", "2", "2x", "3", "3x", "4", "4x"]
    assert ids(tmp_path / "t" / "[ab].*") == ["1", "1x", "2", "2x"]
    assert ids(tmp_path / "*" / "a.parquet") == ["1", "1x"]
    assert ids(tmp_path / "t" / "d[1].parquet") == ["4", "4x"]
    assert column_names(tmp_path / "t", Layout()) == ["id"]
    assert kind_of(tmp_path / "t") == "parquet"


# -- workbooks --------------------------------------------------------------------------------------------


def book(path: Path, *rows: list[Any], title: str = "Data") -> Path:
    import openpyxl

    made = openpyxl.Workbook()
    made.active.title = title
    for row in rows:
        made.active.append(row)
    made.save(path)
    return path


def cells(path: Path, columns: list[str], layout: Layout | None = None) -> list[list[object]]:
    table = open_table(path, columns, layout or Layout())
    return [list(row.values()) for batch in table.batches for row in batch.to_pylist()]


def test_cells_as_a_csv_would_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the pieces in which a sheet is read."""
    monkeypatch.setattr(sources_xlsx, "_CHUNK", 3)
    monkeypatch.setattr(sources_xlsx, "_BLOCK", 50)
    given_: list[Any] = [7, "007", 1.5, -0.25, 1e300, True, date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5)]
    path = book(tmp_path / "t.xlsx", ["id", "cell"], *([i, cell] for i, cell in enumerate(given_)))
    texts = ["7", "007", "1.5", "-0.25", "1e+300", "TRUE", "2026-01-02", "2026-01-02 03:04:05"]
    assert cells(path, ["cell", "id"]) == [[text, str(i)] for i, text in enumerate(texts)]
    assert column_names(path, Layout()) == ["id", "cell"]
    book(path, ["id", 5, None, "x"], [1, time(10, 3), "note", None], [None], [2, "a", "", "b"])
    assert cells(path, ["5", "x"]) == [["10:03:00", None], ["a", "b"]]
    assert column_names(path, Layout()) == ["id", "5", "x"]


def test_a_table_of_a_sheet_begins_in_any_cell_and_below_titles(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", [None], [None, "id", "a"], [None, 1, "x"])
    assert cells(path, ["a", "id"]) == [["x", "1"]]
    titles: list[list[Any]] = [["Members 2024"], [], ["as of", date(2024, 1, 2)], ["id", "a", "b", "c"]]
    book(path, *titles, [1, "x", "y", "z"], [None, None, None, None], [2, "x", "y", None])
    found = sniff_text(path, Layout(), (), ())
    assert found.header == 4
    assert cells(path, ["b", "id"], found) == [["y", "1"], ["y", "2"]]
    assert column_names(path, found) == ["id", "a", "b", "c"]


def test_the_first_sheet_or_the_one_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import openpyxl

    path = tmp_path / "t.xlsx"
    made = openpyxl.Workbook()
    made.active.append(["id"])
    other = made.create_sheet("OwnSide & yours")
    for row in (["key", "sum"], ["k", "#N/A"]):
        other.append(row)
    other["B2"].data_type = "e"
    made.save(path)
    assert cells(path, ["id"]) == []
    named = Layout(sheet="OwnSide & yours")
    assert cells(path, ["key"], named) == [["k"]], "a formula that failed in a column that nobody wants"
    with pytest.raises(DataError) as caught:
        cells(path, ["sum"], named)
    assert [fault.place for fault in caught.value.faults] == ["cells B2"]
    assert sources_xlsx.sheet_names(path) == ["Sheet", "OwnSide & yours"]
    monkeypatch.setattr(sources_xlsx, "_MOST_BYTES", 1 << 10)
    with pytest.raises(UnreadableError):
        cells(path, ["id"])


def test_a_damaged_workbook_is_read_or_refused(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", ["id"], *([str(i)] for i in range(100)))
    whole = path.read_bytes()
    for at in range(0, len(whole), 293):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with contextlib.suppress(DataError, UnreadableError):
            assert len(cells(path, ["id"])) == 100
