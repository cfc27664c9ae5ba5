"""Files of every kind are read; how one is written is found out once; no row decides how others are read."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import random
from collections.abc import Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from accord.errors import DataError, UnreadableError
from accord.fields.columns import Bits
from accord.fields.date_formats import sniff_dates
from accord.fields.load import load_records
from accord.fields.schema import FieldSpec
from accord.table.code_pages import EIGHT_BITS, likeliest_page
from accord.table.csv_scan import MOST_CELL, MOST_COLUMNS, Stop, scan
from accord.table.layout import Layout, Source
from accord.table.postal import ADDRESSES, PARTS, PLACES, PostalOrder, full_share, likeliest_order, read_part
from accord.table.sniffing import find_encoding, sniff_text
from accord.table.sources import xlsx as sources_xlsx
from accord.table.sources.opening import TableLike, column_names, keep_readable, kind_of, open_table
from tests.fields.made_ids import read_made

TABLE = pa.table({"id": ["1", "2", "3"], "name": ["ä", "b", None], "n": [1, 2, 3]})
EXPECTED = [["ä", "1"], ["b", "2"], [None, "3"]]


def cells(
    source: TableLike, columns: Sequence[str] = ("name", "id"), layout: Layout | None = None
) -> list[list[Any]]:
    table = open_table(source, columns, layout or Layout())
    return [list(row.values()) for batch in table.batches for row in batch.to_pylist()]


def test_every_kind_of_file(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(TABLE, tmp_path / "t.csv")
    pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(TABLE, str(tmp_path / "t.arrow"))
    with pa.ipc.new_stream(str(tmp_path / "stream.ipc"), TABLE.schema) as sink:
        sink.write_table(TABLE)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    for name in ("t.csv", "t.parquet", "t.arrow", "stream.ipc", "t.csv.gz"):
        assert cells(tmp_path / name) == cells(str(tmp_path / name)) == EXPECTED, name
        assert column_names(tmp_path / name, Layout()) == ["id", "name", "n"]


def test_every_kind_of_object_and_column(tmp_path: Path) -> None:
    import duckdb
    import pandas as pd
    import polars as pl

    relation, frame = duckdb.connect().from_arrow(TABLE), pl.DataFrame(TABLE.to_pydict())
    categories = frame.with_columns(pl.col("name").cast(pl.Categorical))
    for source in (TABLE, frame, categories, pd.DataFrame(TABLE.to_pylist()), relation):
        assert cells(source) == EXPECTED, type(source)
    frame.write_ipc(tmp_path / "frame.arrow")
    assert cells(tmp_path / "frame.arrow") == EXPECTED
    kept = keep_readable(TABLE.to_reader())
    assert cells(kept) == cells(kept) == EXPECTED
    assert column_names(kept, Layout()) == ["id", "name", "n"]
    assert keep_readable("a.csv") == "a.csv"
    plain = pa.array(["x", "x", "y"])
    for column in (plain.dictionary_encode(), pc.run_end_encode(plain), plain.cast(pa.string_view())):
        assert cells(pa.table({"name": column}), ["name"]) == [["x"], ["x"], ["y"]]


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
    assert cells(tmp_path / "t.txt", ["name"], layout) == [[name] for name in names]


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


@settings(max_examples=40)
@given(
    st.text(st.sampled_from('ab,;"\n\rä '), max_size=40),
    st.integers(1, 7),
    st.sampled_from([",", ";"]),
    st.sampled_from(['"', None]),
)
def test_counts_are_those_of_pythons_reader(body: str, size: int, delimiter: str, quote: str | None) -> None:
    whole = body.encode()
    found = scan([whole], delimiter, quote)
    assert found == scan([whole[i : i + size] for i in range(0, len(whole), size)], delimiter, quote)
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
    found = scan([body.encode()], ",", '"')
    assert (found.stop, found.row, found.column, found.line) == (stop, row, column, line)
    lines = [b"a,b\n", b"1,2\n" * 9, b"1,2,3,4,5"]
    assert scan(lines[:2], ",", '"', most_row=8).stop is Stop.NONE
    assert scan(lines, ",", '"', most_row=8).stop is Stop.LONG_ROW
    assert scan([b"\n" * 100], ",", '"', most_row=8).stop is Stop.NONE


def test_parquet_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    def ids(source: Path) -> list[str]:
        return [id for (id,) in cells(source, ["id"])]

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


# -- finding out how a file is written -----------------------------------------------------------------------


FIELDS: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    {
        "name": {"type": "text", "encoder": "hash"},
        "day": {"type": "date", "min": "1900-01-01", "max": "2030-12-31"},
    }
)
WANTED = ["id", "name", "day"]


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"id,name\n1,x\n", "utf-8"),
        ("id,name\n1,ä\n".encode(), "utf-8"),
        ("id,name\n1,ä\n".encode("utf-8-sig"), "utf-8-sig"),
        ("id,name\n1,ä\n".encode("utf-16"), "utf-16"),
        ("id,name\n1,ä\n".encode("utf-16-le"), "utf-16-le"),
        ("id,name\n1,ä\n".encode("utf-16-be"), "utf-16-be"),
        ("id,name\n1,ä\n".encode("utf-32"), "utf-32"),
        ("id,name\n1,ä€\n".encode("cp1252"), "cp1252"),
        ("id,name\n1,名前\n".encode("utf-16-be"), "utf-16-be"),
        # A zero is no sign of UTF-16.
        (b"id,name\n1,x\n2,y\0z\n\n", "utf-8"),
        # One letter, after all that anybody would take as a sample.
        (b"id,name\n" + b"1,x\n" * 20_000 + "2,ä\n".encode("latin-1"), "cp1252"),
    ],
)
def test_encodings(tmp_path: Path, content: bytes, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    assert find_encoding(tmp_path / "t.csv") == encoding
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content))
    assert find_encoding(tmp_path / "t.csv.gz") == encoding


@pytest.mark.parametrize(
    ("text", "delimiter", "quote"),
    [
        ("id,name,day\n1,x,y\n", ",", '"'),
        ('id;name;day\n1;"a;b";y\n', ";", '"'),
        ("id\tname\tday\n1\tx,y\tz\n", "\t", '"'),
        ("id|name|day\n1|x|y\n", "|", '"'),
        # More commas than semicolons, and yet the columns are there with semicolons alone.
        ("id;name;day;a,b,c,d,e,f\n1;x,y;z;a\n", ";", '"'),
        ("'id','name','day'\n1,'a,b',y\n", ",", "'"),
        ("id,name,day\n1,'t Hooft,y\n", ",", '"'),
        ('id,name,day\n1,"12 inch,y\n2,15" screen,y\n', ",", "none"),
        # A quote that one row forgot is a fault, no sign that there are no quotes.
        ('id,name,day\n1,"Ann",y\n2,"Bob,y\n3,"Cy",y\n', ",", '"'),
        ('id;name;day\n1;"Ann";y\n2;"Bob;y\n', ";", '"'),
        ("id,name,day\n1,x\n2,y,z\n", ",", '"'),
    ],
)
def test_delimiters_and_quotes(tmp_path: Path, text: str, delimiter: str, quote: str) -> None:
    found = sniff_text(write(tmp_path / "t.csv", text), Layout(), (), WANTED)
    assert (found.delimiter, found.quote) == (delimiter, quote)


TITLED = 'Members; 2024\n\n"Status: \nall"\nid,name,day\n1,x,2024-01-02\n2,y,2024-01-03\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TITLED, 5),
        ("Members 2024,,\n,,\nid,name,day\n1,x,y\n2,x,y\n", 3),
        ("\n\nid,name,day\n1,x,y\n", 1),
        ("id,name,day\n1,x,y\n", 1),
        # A first row with few names is a header where the next one is a record.
        ("id,,,,\n1,a,b,c,d\n2,a,b,c,d\n", 1),
        ("sep=,\nMembers\nid,name,day\n1,x,y\n2,x,y\n", 3),
    ],
)
def test_a_header_is_found_below_titles_and_read_there(tmp_path: Path, text: str, line: int) -> None:
    path = write(tmp_path / "t.csv", text)
    found = sniff_text(path, Layout(), (), ())
    assert (found.header, found.delimiter) == (line, ",")
    assert column_names(path, found)[0] == "id"
    assert cells(path, ["id"], found)[0] == ["1"]
    assert sniff_text(path, Layout(header=2), ("header",), ()).header == 2
    # What is named is not found out.
    write(path, "id;name;day\n1;ä;y\n", "latin-1")
    named = Layout(encoding="latin-1", delimiter=",", quote="none")
    assert sniff_text(path, named, ("encoding", "delimiter", "quote"), WANTED) == named
    assert sniff_text(path, named, ("encoding",), WANTED).delimiter == ";"
    assert sniff_text(path, named, ("delimiter", "quote"), WANTED).encoding == "cp1252"


def days(folder: Path, *texts: str) -> tuple[tuple[str, ...], str | None]:
    path = write(folder / "t.csv", "id,name,day\n" + "".join(f'{i},x,"{c}"\n' for i, c in enumerate(texts)))
    found = sniff_dates(path, Layout(), FIELDS)
    return (found["day"].fits, found["day"].best) if found else ((), None)


@pytest.mark.parametrize(
    ("texts", "fits"),
    [
        (["2026-01-02", ""], ["%Y-%m-%d"]),
        (["31.12.2020", "1.2.2020"], ["%d.%m.%Y"]),
        (["01/02/2020", "11/12/2020"], ["%d/%m/%Y", "%m/%d/%Y"]),
        (["01/02/2020"] * 500 + ["31/12/2020"], ["%d/%m/%Y"]),
        (["01/02/2020"] * 500 + ["12/31/2020"], ["%m/%d/%Y"]),
        (["20200131"], ["%Y%m%d"]),
        (["31 May 2020"], ["%d %b %Y"]),
        (["31 May 2020", "1 June 2020"], ["%d %B %Y"]),
        (["2020-01-31 00:00:00"], ["%Y-%m-%d 00:00:00"]),
        (["31.12.99", "1.1.00"], ["%d.%m.%y"]),
        (["2020-01-31 00:00:00", "2020-01-31 10:00:00"], []),
        # Text dates beside the typed ones of a workbook.
        (["2020-01-31"] * 2 + ["31.12.2020"], ["%Y-%m-%d|%d.%m.%Y"]),
        (["2020-01-31", "01/02/2020"], ["%Y-%m-%d|%d/%m/%Y", "%Y-%m-%d|%m/%d/%Y"]),
        # Formats that do not exclude each other are none together.
        (["31/12/2020", "30/11/2020", "12/31/2020", "11/30/2020", "01/02/2020"], []),
        (["31.12.2020", "x", "31.12.2021", "30.12.2021", "29.12.2021"], ["%d.%m.%Y"]),
        # Not of the year 1011.
        (["20111011"], ["%Y%m%d"]),
    ],
)
def test_dates(tmp_path: Path, texts: list[str], fits: list[str]) -> None:
    assert days(tmp_path, *texts)[0] == tuple(fits)


def test_the_best_where_none_fits_whatever_the_agreed_range(tmp_path: Path) -> None:
    """The file may be of another month than was agreed: that is a fault, no reason to read it otherwise."""
    assert days(tmp_path, "31.12.2020", "1.2.2020", "unknown") == ((), "%d.%m.%Y")
    for texts in (("never", "nobody"), ("", "")):
        assert days(tmp_path, *texts) == ((), None)
    march = {"day": {"type": "date", "min": "2020-03-01", "max": "2020-03-31"}}
    fields = TypeAdapter(dict[str, FieldSpec]).validate_python(march)
    path = write(tmp_path / "t.csv", "id,day\n1,03/04/2020\n2,03/05/2020\n")
    assert sniff_dates(path, Layout(), fields)["day"].fits == ("%d/%m/%Y", "%m/%d/%Y")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
@given(
    names=st.lists(st.text(st.sampled_from("ab,;|\t\"' é\n"), max_size=8), min_size=1, max_size=6),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_is_found_reads_what_was_written(
    tmp_path: Path, names: list[str], delimiter: str, encoding: str
) -> None:
    rows = [WANTED, *([str(i), name, "2020-01-31"] for i, name in enumerate(names))]
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in row] for row in rows]
    text = "".join(delimiter.join(row) + "\n" for row in quoted)
    found = sniff_text(write(tmp_path / "t.csv", text, encoding), Layout(), (), WANTED)
    records = load_records(tmp_path / "t.csv", {"name": LENIENT["name"]}, "00", ["name"], found)
    assert records.disclosed["name"].to_pylist() == [name or None for name in names]


def test_a_column_of_dates_is_judged_once_without_what_means_none(tmp_path: Path) -> None:
    year = {"type": "number", "min": 1900, "max": 2030, "step": 1, "from": "birth", "derive": "year"}
    fields: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
        {"year": year | {"missing_values": ["Unknown"]}, "month": year | {"derive": "month", "max": 1911}}
    )
    path = write(tmp_path / "t.csv", "id,dob\n1,20111011\n2,unknown\n")
    found = sniff_dates(path, Layout(columns={"birth": "dob"}), fields)
    assert {name: dates.fits for name, dates in found.items()} == {"birth": ("%Y%m%d",)}
    # Neither one whose format is named nor one with types needs any.
    named = Layout(columns={"birth": Source(column="dob", format="%Y%m%d")})
    assert sniff_dates(path, named, fields) == {}
    table = pa.table({"id": ["1"], "name": ["x"], "day": pa.array([0], pa.date32())})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    assert sniff_dates(tmp_path / "t.parquet", Layout(), FIELDS) == {}
    assert sniff_text(tmp_path / "t.parquet", Layout(), (), WANTED) == Layout()


def test_a_line_that_states_the_delimiter_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffsep=;\r\nid;a,b\r\n1;x,y\r\n2;\r\n3;y;z\r\n".encode())
    layout = sniff_text(path, Layout(), (), ())
    assert layout.delimiter == ";"
    assert column_names(path, layout) == ["id", "a,b"]
    table = open_table(path, ["id", "a,b"], layout)
    (batch,) = table.batches
    assert batch.to_pydict() == {"id": ["1", "2"], "a,b": ["x,y", None]}
    assert [fault.place for fault in table.broken.values()] == ["row 3"]


SKIPPED = {"missing": "skip", "other": "skip"}
LENIENT: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    {
        "name": {"type": "text", "encoder": "hash", "missing": "differs"},
        "kind": {"type": "category", "values": ["a", "1"]} | SKIPPED,
        "birth": {"type": "date", "min": "1900-01-01", "max": "2030-12-31"} | SKIPPED,
        "price": {"type": "number", "min": 0, "max": 100, "step": 1} | SKIPPED,
    }
)
ODD: dict[str, list[str]] = {
    "name": ["", "x", "1", "1.0", "TRUE", "2020-01-31", "a;b", "a\tb", 'a"b', "a\nb", "'q'", "€", "x" * 9999],
    "kind": ["", "a", "1", "b"],
    "birth": ["", "2020-01-31", "2020-01-02", "1800-01-01"],
    "price": ["", "5", "5.5", "1e2", "1e9", "-1"],
}


def read_around(path: Path, layout: Layout) -> list[Any]:
    """All that is read of the rows but the one in the middle."""
    records = load_records(path, LENIENT, "00", list(LENIENT), layout)
    around = {"1", "3"}
    if layout.make_ids:
        around = {id for row, id in read_made(path).items() if str(row) in around}
    kept = [i for i, name in enumerate(records.ids.to_pylist()) if name in around]
    assert len(kept) == 2
    parts = [c.words if isinstance(c, Bits) else c.values for c in records.columns.values()]
    shown = records.disclosed.take(pa.array(kept)).to_pylist()
    return [records.ids.take(pa.array(kept)).to_pylist(), shown, *(part[kept].tolist() for part in parts)]


@pytest.mark.parametrize(
    ("ending", "layout", "count"),
    [("csv", Layout(), 20), ("csv", Layout(make_ids=True), 8), ("xlsx", Layout(), 8)],
)
def test_no_row_decides_how_others_are_read(ending: str, layout: Layout, count: int, tmp_path: Path) -> None:
    """The row in the middle is every row that can be; its neighbours are read the same."""
    import openpyxl

    draw, seen, path = random.Random(5), [], tmp_path / f"t.{ending}"
    first, last = ["1", "x", "a", "2020-01-02", "7"], ["3", "01/02/2020", "1", "2020-03-04", "8.0"]
    for _ in range(count):
        table = [["id", *LENIENT], first, ["2", *(draw.choice(ODD[name]) for name in LENIENT)], last]
        if ending == "csv":
            quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in cells) for cells in table]
            path.write_text("\n".join(quoted) + "\n")
        else:
            made = openpyxl.Workbook()
            for cells in table:
                made.active.append([float(c) if c.replace(".", "").isdigit() else c for c in cells])
            made.save(path)
        seen.append(read_around(path, layout))
    assert all(one == seen[0] for one in seen)


TEXTS = {
    "Jiří Dvořák; Růžena Šťastná; Český Těšín; Pěnčín": ("cp1250", "iso8859-2", "cp852"),
    "Łukasz Wójcik; Małgorzata Żółkiewska; Jaśmina; Wąsik": ("cp1250", "iso8859-2", "cp852"),
    "Győző Szőke; Török Gyűrűs; Erzsébet Fűtő; Zsófia": ("cp1250", "cp852"),
    "Jürgen Müller; Straße; Käthe Löhr": ("cp1252", "cp850", "mac-roman"),
    "Hélène Lefèvre; François; Noël; Château": ("cp1252", "cp850", "mac-roman"),
    "João Gonçalves; Conceição; Antónia": ("cp1252", "cp850"),
    "Bjørn Ødegård; Åse Sørensen": ("cp1252", "cp850"),
    "Çağlar Yılmaz; Ayşe Işık; Gökçe Büyükçelik": ("cp1254",),
    "Jānis Bērziņš; Kārlis Ozoliņš": ("cp1257",),
    # Signs are no letters, and who has none beyond ASCII has the commonest.
    "Adobe® Acrobat; £12.99; 5 µm; Office™; 20 °C": ("cp1252",),
    # Where two languages are spoken both alphabets count.
    "Hélène Kälin; Geneviève Bühler; André Käser; Thérèse Schär; René Jäggi; Michèle Läderach": ("cp1252",),
    "Bäcker Martínez; Jäger García; Schäfer Rodríguez; Köhler Núñez; Böhm Gómez": ("cp1252",),
    "Gaëlle Krämer; Hélène Schäfer; Mäder; Zoë; Irène": ("cp1252",),
    # A few names from elsewhere do not decide; letters at the edge of a word do, where others do not.
    "Håkansson; Åström; Sjöberg; Änglund; Pålsson; Björk; Måns; Gård; " * 20 + "Hodžic": ("cp1252",),
    "Kovačič; Zupančič; Matjaž; Špela": ("cp1250",),
    "Szabó Győző; Kovács László; Ödön": ("cp1250",),
}
OTHER_LETTERS = {
    "Иванов Сергей; Петрова Наталья; Москва; Смирнов Алексей": ("cp1251", "koi8-r"),
    "Παπαδόπουλος Γιώργος; Αθήνα; Νικολάου Ελένη": ("cp1253",),
}


def test_letters_speak_for_a_page() -> None:
    """Most letters decide, and other letters are not taken for Latin ones."""
    for text, pages in TEXTS.items():
        for page in pages:
            assert likeliest_page([text.encode(page)]) == page
            assert page in EIGHT_BITS
    one, many = "Müller".encode("cp1250"), "Dvořák Šťastný ".encode("cp1250") * 50
    assert likeliest_page([one, many]) == likeliest_page([many, one]) == "cp1250"
    assert likeliest_page([b""]) == "cp1252"
    for text, pages in OTHER_LETTERS.items():
        assert [likeliest_page([text.encode(page)]) for page in pages] == [None] * len(pages)


# -- parts of addresses in one cell -----------------------------------------------------------------------

READ: dict[PostalOrder, dict[str, tuple[str | None, str | None, str | None]]] = {
    "street postcode city": {
        "Via Roma 12, 10121 Torino": ("Via Roma 12", "10121", "Torino"),
        "Lipová 12, 602 00 Brno": ("Lipová 12", "602 00", "Brno"),
        "ul. Długa 5/7, 00-950 Warszawa": ("ul. Długa 5/7", "00-950", "Warszawa"),
        "KERKSTRAAT 5 1017 GA AMSTERDAM": ("KERKSTRAAT 5", "1017 GA", "AMSTERDAM"),
        "Hlavná 1234/5, SK-811 01 Bratislava": ("Hlavná 1234/5", "811 01", "Bratislava"),
        "Rua das Flores 12, 4000-123 Porto, Portugal": ("Rua das Flores 12", "4000-123", "Porto"),
        "Weg 3\n20095 Hamburg\nDeutschland": ("Weg 3", "20095", "Hamburg"),
        "Krátká 3, 101 00 Praha 10 - Vršovice": ("Krátká 3", "101 00", "Praha 10 - Vršovice"),
        "3 rue X, 75010 Paris Cedex 10": ("3 rue X", "75010", "Paris Cedex 10"),
        "Via Roma 12, 10121 Torino (TO)": ("Via Roma 12", "10121", "Torino"),
        "12 Main St, H91 E2K3 Galway": ("12 Main St", "H91 E2K3", "Galway"),
        # The number of a house is no postcode.
        "Dlouhá 1179, Hodonín": ("Dlouhá 1179", None, "Hodonín"),
        "Lipová 12, Brno": ("Lipová 12", None, "Brno"),
        "602 00 Brno": (None, "602 00", "Brno"),
        "Lipová 12": ("Lipová 12", None, None),
    },
    "street city postcode": {
        "12 High St, Flat 3, Leeds, LS1 4AB": ("12 High St, Flat 3", "LS1 4AB", "Leeds"),
        "1234 Main St, Springfield, IL 62704": ("1234 Main St", "62704", "Springfield"),
        "Rua X, 12, São Paulo - SP, 01310-100": ("Rua X, 12", "01310-100", "São Paulo"),
        "5 Pitt St, Sydney, NSW, 2000": ("5 Pitt St", "2000", "Sydney"),
        "Rua X 12, São Paulo, CEP 01310-100": ("Rua X 12", "01310-100", "São Paulo"),
        "1 King St, Toronto, ON K1M 1M4": ("1 King St", "K1M 1M4", "Toronto"),
        "12 High St, Leeds, ls1 4ab": ("12 High St", "ls1 4ab", "Leeds"),
        "London SW1A 1AA": (None, "SW1A 1AA", "London"),
    },
    "postcode city street": {"1051 Budapest, Fő utca 3.": ("Fő utca 3.", "1051", "Budapest")},
    "postcode city": {
        "20095 Hamburg": (None, "20095", "Hamburg"),
        "20095": (None, "20095", None),
        "Hamburg": (None, None, "Hamburg"),
    },
    "city postcode": {"Berlin, 10115": (None, "10115", "Berlin"), "Berlin": (None, None, "Berlin")},
}


def test_the_parts_of_an_address_and_the_order_of_most_cells() -> None:
    for order, cells in READ.items():
        texts = pa.array([*cells], pa.large_string())
        read = zip(*(read_part(texts, part, order).to_pylist() for part in PARTS), strict=True)
        assert dict(zip(cells, read, strict=True)) == cells
        assert likeliest_order([*cells], PLACES if order in PLACES else ADDRESSES) == order
    assert full_share(["Lipová 12, 602 00 Brno", "Lipová 12"], ADDRESSES) == 0.5
    assert full_share([], PLACES) == 0.0
    # Years, and numbers in the names of things.
    for things in (["London, 1897", "Paris 1888"], ["Toy Story 1995 Animation", "Logitech Mouse 1000 Black"]):
        assert full_share(things, (*PLACES, *ADDRESSES)) == 0.0


@settings(max_examples=6)
@given(st.lists(st.text(max_size=30), max_size=6), st.sampled_from([*PLACES, *ADDRESSES]))
def test_no_cell_is_lost_and_none_decides_about_another(cells: list[str], order: PostalOrder) -> None:
    """Whatever stands there, the parts of a cell are those of the cell alone; missing cells stay missing."""
    texts = pa.array([*cells, None], pa.large_string())
    for part in PARTS:
        read = read_part(texts, part, order).to_pylist()
        assert read[-1] is None
        halves = (texts[:1], texts[1:])
        assert read == [cell for half in halves for cell in read_part(half, part, order).to_pylist()]
