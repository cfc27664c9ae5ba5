"""How a file is written: one answer for all of it, found where there is one, open where there are several."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from accord.errors import UnreadableError
from accord.fields.date_formats import sniff_dates
from accord.fields.load import load_records
from accord.fields.schema import FieldSpec
from accord.table.layout import Layout, Source
from accord.table.sniffing import find_encoding, sniff_text
from accord.table.sources.opening import column_names, open_table

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
        (b"id,name\n" + b"1,x\n" * 100_000 + "2,ä\n".encode("latin-1"), "cp1252"),
    ],
)
def test_encodings(tmp_path: Path, content: bytes, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    assert find_encoding(tmp_path / "t.csv") == encoding
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content))
    assert find_encoding(tmp_path / "t.csv.gz") == encoding


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"id,name\n1,\x81\n", "line 2 is not cp1252 text"),
        # One line must not decide how all others are read.
        ("id,name\n1,Hélène\n2,Geneviève\n".encode("cp1252") + b"3,x\x81y\n", "line 4 is not cp1252 text"),
        (
            "id,name\n1,Müller\n2,Köhler\n".encode() + "3,Jürgen\n".encode("cp1252"),
            "line 4 is not utf-8 text",
        ),
        ("id,name\n1,Иванов\n".encode("cp1251"), "its letters are in no alphabet"),
    ],
)
def test_an_encoding_that_cannot_be_found(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(UnreadableError, match=f"{problem}.*`encoding=`"):
        find_encoding(tmp_path / "t.csv")


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


def test_what_is_named_is_not_found_out(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "id;name;day\n1;ä;y\n", "latin-1")
    named = Layout(encoding="latin-1", delimiter=",", quote="none")
    assert sniff_text(path, named, ("encoding", "delimiter", "quote"), WANTED) == named
    assert sniff_text(path, named, ("encoding",), WANTED).delimiter == ";"
    assert sniff_text(path, named, ("delimiter", "quote"), WANTED).encoding == "cp1252"


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
    batch = next(iter(open_table(path, ["id"], found).batches))
    assert batch.column(0)[0].as_py() == "1"
    assert sniff_text(path, Layout(header=2), ("header",), ()).header == 2


def test_faults_below_titles_are_named_by_row_and_line(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", TITLED + '3,z\n4,"z')
    with pytest.raises(UnreadableError, match="begins in line 9 is not closed"):
        column_names(path, Layout(header=5))
    opened = open_table(write(path, TITLED + "3,z\n"), ["id"], Layout(header=5))
    assert [len(batch) for batch in opened.batches] == [2]
    assert [*opened.broken] == [3]


def days(folder: Path, *cells: str, layout: Layout | None = None) -> tuple[tuple[str, ...], str | None]:
    path = write(folder / "t.csv", "id,name,day\n" + "".join(f'{i},x,"{c}"\n' for i, c in enumerate(cells)))
    found = sniff_dates(path, layout or Layout(), FIELDS)
    return (found["day"].fits, found["day"].best) if found else ((), None)


@pytest.mark.parametrize(
    ("cells", "fits"),
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
def test_dates(tmp_path: Path, cells: list[str], fits: list[str]) -> None:
    assert days(tmp_path, *cells)[0] == tuple(fits)


def test_the_agreed_range_does_not_decide_between_day_and_month(tmp_path: Path) -> None:
    """The file may be of another month than was agreed: that is a fault, no reason to read it otherwise."""
    fields = TypeAdapter(dict[str, FieldSpec]).validate_python(
        {"day": {"type": "date", "min": "2020-03-01", "max": "2020-03-31"}}
    )
    path = write(tmp_path / "t.csv", "id,day\n1,03/04/2020\n2,03/05/2020\n")
    assert sniff_dates(path, Layout(), fields)["day"].fits == ("%d/%m/%Y", "%m/%d/%Y")


def test_the_best_where_none_fits(tmp_path: Path) -> None:
    assert days(tmp_path, "31.12.2020", "1.2.2020", "unknown") == ((), "%d.%m.%Y")
    assert days(tmp_path, "never", "nobody") == ((), None)
    assert days(tmp_path, "", "") == ((), None)


def test_dates_that_need_no_format(tmp_path: Path) -> None:
    named = Layout(columns={"day": Source(column="day", format="%d/%m/%Y")})
    assert days(tmp_path, "01/02/2020", layout=named) == ((), None)
    table = pa.table({"id": ["1"], "name": ["x"], "day": pa.array([0], pa.date32())})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    assert sniff_dates(tmp_path / "t.parquet", Layout(), FIELDS) == {}
    assert sniff_text(tmp_path / "t.parquet", Layout(), (), WANTED) == Layout()


CELLS = st.text(st.sampled_from("ab,;|\t\"' é\n"), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.lists(CELLS, min_size=1, max_size=6),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_is_found_reads_what_was_written(
    tmp_path: Path, cells: list[str], delimiter: str, encoding: str
) -> None:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    rows = [WANTED, *([str(i), cell, "2020-01-31"] for i, cell in enumerate(cells))]
    text = "".join(delimiter.join(map(quoted, row)) + "\n" for row in rows)
    found = sniff_text(write(tmp_path / "t.csv", text, encoding), Layout(), (), WANTED)
    fields = TypeAdapter(dict[str, FieldSpec]).validate_python(
        {"name": {"type": "text", "encoder": "hash", "missing": "differs"}}
    )
    records = load_records(tmp_path / "t.csv", fields, "00", ["name"], found)
    assert records.disclosed["name"].to_pylist() == [cell or None for cell in cells]


def test_a_column_of_dates_is_judged_once_without_what_means_none(tmp_path: Path) -> None:
    year = {"type": "number", "min": 1900, "max": 2030, "step": 1, "from": "birth", "derive": "year"}
    fields: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
        {"year": year | {"missing_values": ["Unknown"]}, "month": year | {"derive": "month", "max": 1911}}
    )
    path = write(tmp_path / "t.csv", "id,dob\n1,20111011\n2,unknown\n")
    found = sniff_dates(path, Layout(columns={"birth": "dob"}), fields)
    assert {name: dates.fits for name, dates in found.items()} == {"birth": ("%Y%m%d",)}
    named = Layout(columns={"birth": Source(column="dob", format="%Y%m%d")})
    assert sniff_dates(path, named, fields) == {}


def test_a_line_that_states_the_delimiter_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffsep=;\r\nid;a,b\r\n1;x,y\r\n2;\r\n".encode())
    layout = sniff_text(path, Layout(), (), ())
    assert layout.delimiter == ";"
    assert column_names(path, layout) == ["id", "a,b"]
    (batch,) = open_table(path, ["id", "a,b"], layout).batches
    assert batch.to_pydict() == {"id": ["1", "2"], "a,b": ["x,y", None]}


def test_rows_below_such_a_line_are_counted_from_the_header_on(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("sep=;\nid;a\n1;x\n2;y;z\n")
    table = open_table(path, ["id"], sniff_text(path, Layout(), (), ()))
    assert sum(batch.num_rows for batch in table.batches) == 1
    assert [fault.place for fault in table.broken.values()] == ["row 2"]
