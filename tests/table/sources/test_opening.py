"""Files and tables of every kind are read; what cannot be read says why and how to mend it."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accord.errors import AccordError, DataError, UnreadableError
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, column_names, keep_readable, open_table

TABLE = pa.table({"id": ["1", "2", "3"], "name": ["ä", "b", None], "n": [1, 2, 3]})


def rows(source: TableLike, layout: Layout | None = None) -> list[dict[str, object]]:
    table = open_table(source, ["name", "id"], layout or Layout())
    return [row for batch in table.batches for row in batch.to_pylist()]


EXPECTED = [{"name": "ä", "id": "1"}, {"name": "b", "id": "2"}, {"name": None, "id": "3"}]


def test_every_kind_of_file(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(TABLE, tmp_path / "t.csv")
    pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(TABLE, str(tmp_path / "t.arrow"))
    with pa.ipc.new_stream(str(tmp_path / "stream.ipc"), TABLE.schema) as sink:
        sink.write_table(TABLE)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    for name in ("t.csv", "t.parquet", "t.arrow", "stream.ipc", "t.csv.gz"):
        assert rows(tmp_path / name) == EXPECTED, name
        assert rows(str(tmp_path / name)) == EXPECTED, name


def test_every_kind_of_object() -> None:
    import pandas as pd
    import polars as pl

    relation = duckdb.connect().from_arrow(TABLE)
    for source in (TABLE, pl.from_arrow(TABLE), pd.DataFrame(TABLE.to_pylist()), relation):
        assert rows(source) == EXPECTED, type(source)


def test_views_dictionaries_and_runs_are_read_as_plain_columns(tmp_path: Path) -> None:
    import polars as pl

    frame = pl.DataFrame({"id": ["1", "2", "3"], "name": ["ä", "b", None]})
    categorical = frame.with_columns(pl.col("name").cast(pl.Categorical))
    assert rows(frame) == rows(categorical) == EXPECTED
    frame.write_ipc(tmp_path / "frame.arrow")
    assert rows(tmp_path / "frame.arrow") == EXPECTED
    runs = pc.run_end_encode(pa.array(["x", "x", "y"]))
    for column in (
        pa.array(["x", "x", "y"]).dictionary_encode(),
        runs,
        pa.array(["x", "x", "y"], pa.string_view()),
    ):
        table = pa.table({"id": ["1", "2", "3"], "name": column})
        assert [row["name"] for row in rows(table)] == ["x", "x", "y"]


def test_objects_that_arrow_refuses(tmp_path: Path) -> None:
    import pandas as pd

    with pytest.raises(UnreadableError, match="The table cannot be read"):
        rows(pd.DataFrame({"id": ["1", 2], "name": [object(), "x"]}))
    pyarrow.feather.write_feather(TABLE, str(tmp_path / "t.arrow"), compression="uncompressed")
    whole = bytearray((tmp_path / "t.arrow").read_bytes())
    at = whole.rindex("ä".encode())
    whole[at : at + 2] = b"\xff\xff"
    (tmp_path / "t.arrow").write_bytes(whole)
    with pytest.raises(UnreadableError):
        rows(tmp_path / "t.arrow")


def test_encoding_delimiter_and_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes("id;name\n1;ä\n".encode("latin-1"))
    assert rows(path, Layout(encoding="latin-1", delimiter=";")) == [{"name": "ä", "id": "1"}]
    path.write_bytes(b"\xef\xbb\xbfid\tname\n1\tx\n")
    assert rows(path, Layout(delimiter="tab")) == [{"name": "x", "id": "1"}]
    path.write_bytes(b'id,name\r\n1,"a, ""b""\nc"\r\n')
    assert rows(path) == [{"name": 'a, "b"\nc', "id": "1"}]


def test_a_row_with_too_few_cells_does_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,name\n1,a\n2\n3,b\n4,c,d\n5,e\n")
    table = open_table(path, ["id", "name"], Layout())
    assert [row["id"] for batch in table.batches for row in batch.to_pylist()] == ["1", "3", "5"]
    assert [fault.place for fault in table.broken.values()] == ["row 2", "row 4"]
    assert [table.row(i) for i in range(3)] == [1, 3, 5]


@pytest.mark.parametrize(
    ("name", "content", "layout", "problem"),
    [
        ("none.csv", None, Layout(), "no such file"),
        ("zero.csv", b"", Layout(), r"empty \(0 bytes\)"),
        ("blank.csv", b"\n\n", Layout(), "cannot be read"),
        ("x.parquet", b"no parquet", Layout(), "Is it what its name says"),
        ("x.arrow", b"no arrow at all", Layout(), "cannot be read"),
        ("x.doc", b"abc", Layout(), "Known are .csv"),
        ("no_ending", b"abc", Layout(), "ending '' is not known"),
        ("latin.csv", "id,name\n1,x\n2,é\n".encode("latin-1"), Layout(), "line 3 is not utf-8 text"),
        ("x.csv", b"id,name\n1,x\n", Layout(encoding="klingon"), "not a known encoding"),
        ("x.csv", b"id,name\n1,x\n", Layout(encoding="utf-16"), "not utf-16 text"),
        ("x.csv", b"id,name\n1,x\n", Layout(encoding="base64"), "not a known encoding"),
        ("x.csv", b"id,name\n1,x\n", Layout(delimiter=";;"), "one ASCII character"),
        ("x.csv", b"id,name\n1,x\n", Layout(delimiter="\n"), "one ASCII character"),
        ("nul.csv", b"id,name\n1,x\n2,y\0z\n", Layout(), "line 3 holds a NUL character"),
        ("wide.csv", "id,name\n1,x\n".encode("utf-16-le"), Layout(), "Is it UTF-16"),
        ("x.csv", b"id,name\n1,x\n", Layout(delimiter="§"), "one ASCII character"),
        ("open.csv", b'id,name\n1,"12 inch\n2,b\n3,c\n', Layout(), "begins in line 2 is not closed"),
        ("late.csv", b'id,name\n1,"12 inch\n2,15" screen\n3,c\n', Layout(), "near line 3"),
        ("x.csv.gz", b"no gzip", Layout(), "cannot be read"),
        (
            "cut.csv.gz",
            gzip.compress(b"id,name\n" + b"1,x\n" * 5000, mtime=0)[:60],
            Layout(),
            "cannot be read",
        ),
    ],
)
def test_what_cannot_be_read(
    tmp_path: Path, name: str, content: bytes | None, layout: Layout, problem: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableError, match=problem) as caught:
        rows(tmp_path / name, layout)
    assert caught.value.exit_code == 4


def test_the_nearest_name_whatever_its_case(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("ID,Full Name\n1,x\n")
    with pytest.raises(DataError, match="Did you mean 'ID'") as caught:
        open_table(path, ["id", "full_name"], Layout())
    assert "Did you mean 'Full Name'?" in str(caught.value)
    assert str(caught.value).count("--columns-of") == 1
    assert f"`accord init --from {path} --for AGREEMENT`; or map each with `columns=`" in str(caught.value)
    assert column_names(path, Layout()) == ["ID", "Full Name"]


def test_the_columns_of_every_kind_of_file(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(TABLE, tmp_path / "t.csv")
    pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(TABLE, str(tmp_path / "t.arrow"))
    for name in ("t.csv", "t.parquet", "t.arrow"):
        assert column_names(tmp_path / name, Layout()) == ["id", "name", "n"]
    (tmp_path / "x.parquet").write_bytes(b"no parquet")
    with pytest.raises(UnreadableError, match="Is it what its name says"):
        column_names(tmp_path / "x.parquet", Layout())


def test_long_cells_are_read_and_longer_ones_are_not(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,name\n1," + "é" * (1 << 19) + "\n2,x\n")
    assert [len(str(row["name"])) for row in rows(path)] == [1 << 19, 1]
    path.write_text("id,name\n1,x\n2," + "é" * (1 << 19) + "e\n")
    with pytest.raises(UnreadableError, match=r"row 2, the cell .* is longer than 1 MiB.*Row 1 is the first"):
        rows(path)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(bytes(b"x" * (64 << 20)), 1))
    with pytest.raises(UnreadableError, match="the header, the cell in column 1 is longer than 1 MiB"):
        rows(tmp_path / "t.csv.gz")


def test_many_columns_and_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"c{i}" for i in range(10**6)) + "\n")
    with pytest.raises(UnreadableError, match="more than 16,384 columns"):
        rows(path)
    wide = pa.table({f"c{i}": [1] for i in range(16_385)})
    with pytest.raises(UnreadableError, match="more than 16,384 columns"):
        rows(wide)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(UnreadableError, match="a pipe or a device"):
        rows(tmp_path / "pipe.csv")


def test_quotes_other_than_the_usual(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,name\n1,'a, ''b'''\n2,12\" screen\n")
    assert [row["name"] for row in rows(path, Layout(quote="'"))] == ["a, 'b'", '12" screen']
    path.write_text('id,name\n1,"x\n2,y"\n3,"z"\n')
    assert [row["name"] for row in rows(path, Layout(quote="none"))] == ['"x', 'y"', '"z"']
    for quote in ("''", ",", "§", ""):
        with pytest.raises(UnreadableError, match="a quote is one ASCII character"):
            rows(path, Layout(quote=quote))


def test_a_folder_and_a_number_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="it is a folder"):
        rows(tmp_path)
    with pytest.raises(UnreadableError, match="A int cannot be read"):
        rows(17)  # type: ignore[arg-type]


def test_missing_and_repeated_columns_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("nam,x,x,id\n1,2,3,4\n")
    with pytest.raises(DataError) as caught:
        open_table(path, ["name", "x", "price", "id"], Layout())
    assert [fault.place for fault in caught.value.faults] == ["column 'name'", "column 'x'", "column 'price'"]
    assert "Did you mean 'nam'?" in str(caught.value)
    path.write_text("id;name\n1;2\n")
    with pytest.raises(DataError, match="delimiter"):
        open_table(path, ["id", "name"], Layout())


def test_a_file_without_a_header_shows_no_value(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("17,SECRET\n18,OTHER\n")
    with pytest.raises(DataError, match="Is the first line a header") as caught:
        rows(tmp_path / "t.csv")
    assert "SECRET" not in str(caught.value)


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(AccordError):
        rows(tmp_path / "t.parquet")


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.text(st.sampled_from('ab";\n\r é'), max_size=5), min_size=2, max_size=4))
def test_a_header_is_split_as_it_was_written(names: list[str], tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL).writerows([names, ["1"] * len(names)])
    assert column_names(tmp_path / "t.csv", Layout(delimiter=";")) == names


def test_a_header_behind_empty_lines_and_without_quotes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'\n\r\nid,a"b,,"c,""d"')
    assert column_names(tmp_path / "t.csv", Layout()) == ["id", 'a"b', "", 'c,"d']
    assert column_names(tmp_path / "t.csv", Layout(quote="none"))[-2:] == ['"c', '""d"']
    (tmp_path / "t.csv").write_bytes(b"\n\n")
    with pytest.raises(UnreadableError, match="no table of cells"):
        column_names(tmp_path / "t.csv", Layout())


def test_no_thread_of_arrow_is_left_by_a_file_that_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that is dropped in mid-file may end the process when Python ends."""
    (tmp_path / "t.csv").write_text("id;name\n1;x\n")
    monkeypatch.setattr(pyarrow.csv, "open_csv", None)
    with pytest.raises(DataError, match="only one column"):
        open_table(tmp_path / "t.csv", ["id", "name"], Layout())


def test_what_pandas_refuses_is_said_without_the_cell() -> None:
    import pandas

    with pytest.raises(UnreadableError, match="column 'code' holds values of several kinds") as caught:
        open_table(pandas.DataFrame({"id": [1, 2], "code": [5, "secret"]}), ["id"], Layout())
    assert "secret" not in str(caught.value)
    with pytest.raises(UnreadableError, match="duplicate column names found"):
        open_table(pandas.DataFrame([[1, 2]], columns=["a", "a"]), ["a"], Layout())


def test_a_stream_is_kept_and_what_can_be_read_again_is_not_copied() -> None:
    kept = keep_readable(TABLE.to_reader())
    assert rows(kept) == rows(kept) == EXPECTED
    assert column_names(kept, Layout()) == ["id", "name", "n"]
    assert keep_readable("a.csv") == "a.csv"
