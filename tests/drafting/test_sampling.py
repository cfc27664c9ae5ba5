from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from accord.drafting.guessing import guess_kinds
from accord.drafting.kinds import ColumnKind
from accord.drafting.sampling import look_at
from accord.errors import DataError
from accord.table.layout import Layout
from accord.table.sniffing import sniff_text


def test_cells_are_texts_whatever_the_file(tmp_path: Path) -> None:
    table = pa.table(
        {
            "n": [1, 2, 3],
            "day": [date(2020, 1, 31), None, date(2020, 2, 1)],
            "text": [" a ", "", "a"],
            "bytes": pa.array([b"x", b"y", b"z"]),
            "list": [[1], [2], [3]],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    look = look_at(tmp_path / "t.parquet", Layout())
    assert look.rows == 3
    found = {one.column: (one.cells, one.names_rows) for one in look.samples}
    assert found["n"] == (("1", "2", "3"), True)
    assert found["day"] == (("2020-01-31", "2020-02-01"), False)
    assert found["text"] == (("a", "a"), False)
    assert found["bytes"] == found["list"] == ((), False)


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ns"), pa.date32(), pa.date64()])
def test_moments_under_a_name_of_birth_are_dates_of_birth(kind: pa.DataType, tmp_path: Path) -> None:
    days = pa.array([date(1969, 12, 31), date(1980, 2, 29)]).cast(kind)
    pyarrow.parquet.write_table(pa.table({"dob": days, "seen": days}), tmp_path / "t.parquet")
    samples = look_at(tmp_path / "t.parquet", Layout()).samples
    assert samples[0].cells == ("1969-12-31", "1980-02-29")
    assert [guess.kind for guess in guess_kinds(samples, keep_sparse=True)] == [
        ColumnKind.BIRTH,
        ColumnKind.DATE,
    ]


def test_cells_are_spread_over_a_long_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,x\n" + "".join(f"{n},{n // 2500}\n" for n in range(5_000)))
    look = look_at(tmp_path / "t.csv", Layout())
    assert len(look.samples[0].cells) == 1_000
    assert set(look.samples[1].cells) == {"0", "1"}


@pytest.mark.parametrize("content", ["a,a,b\n1,2,3\n", "a,,b\n1,2,3\n", "a,b\n"])
def test_headers_that_name_no_columns(content: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(DataError):
        look_at(tmp_path / "t.csv", Layout())


def test_a_column_without_name_and_cells_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('id,a,\n1,"x\n,y",\n2,z,\n')
    look = look_at(path, Layout())
    assert [sample.column for sample in look.samples] == ["id", "a"]
    assert look.nameless == (3,)
    path.write_text("id,a,\n1,x,\n2,z,?\n")
    with pytest.raises(DataError, match="Column 3 has no name"):
        look_at(path, Layout())


def test_a_title_above_the_header_is_suspected(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Members 2024,,\nid,a,b\n1,x,y\n")
    with pytest.raises(DataError, match="title stand above the header"):
        look_at(path, Layout())
    assert [one.column for one in look_at(path, sniff_text(path, Layout(), (), ())).samples] == [
        "id",
        "a",
        "b",
    ]


def test_a_first_line_that_is_a_record_is_told_and_none_of_it_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = ["7,Smith,1980-01-02,a@b.org", "8,Jones,1975-12-31,", "9,May,1999-03-04,c@d.org"]
    path.write_text("\n".join(rows))
    with pytest.raises(DataError) as told:
        look_at(path, Layout())
    assert [fault.place for fault in told.value.faults] == ["column 3", "column 4"]
    shown = " ".join(map(str, told.value.faults))
    assert not any(cell in shown for cell in rows[0].split(","))
    # Days are names where what stands below is something else.
    path.write_text("id,2024-01-01,2024-02-01\n1,3,4\n2,5,6\n")
    assert [sample.column for sample in look_at(path, Layout()).samples][1] == "2024-01-01"


def test_rows_that_a_column_cannot_tell_apart_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,nr,n\n1,7,x\n2,8,y\n3,,z\n2,9,w\n")
    same, empty, differ = look_at(path, Layout()).samples
    assert same.clash == "rows 2 and 4 have the same"
    assert empty.clash == "1 cell of it is empty, the first in row 3"
    assert (differ.clash, differ.names_rows) == ("", True)
