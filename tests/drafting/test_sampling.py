"""The cells of a table by which its columns are guessed, and headers that name no columns."""

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
    assert {one.column: (one.cells, one.names_rows) for one in look.samples} == {
        "n": (("1", "2", "3"), True),
        "day": (("2020-01-31", "2020-02-01"), False),
        "text": (("a", "a"), False),
        "bytes": ((), False),
        "list": ((), False),
    }


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ns"), pa.date32(), pa.date64()])
def test_moments_under_a_name_of_birth_are_dates_of_birth(kind: pa.DataType) -> None:
    days = pa.array([date(1969, 12, 31), date(1980, 2, 29)]).cast(kind)
    samples = look_at(pa.table({"dob": days, "seen": days}), Layout()).samples
    assert samples[0].cells == ("1969-12-31", "1980-02-29")
    guessed = [guess.kind for guess in guess_kinds(samples, keep_sparse=True)]
    assert guessed == [ColumnKind.BIRTH, ColumnKind.DATE]


def test_cells_are_spread_over_a_long_table() -> None:
    table = pa.table({"id": range(5_000), "x": [n // 2500 for n in range(5_000)]})
    look = look_at(table, Layout())
    assert len(look.samples[0].cells) == 1_000
    assert set(look.samples[1].cells) == {"0", "1"}


@pytest.mark.parametrize(
    ("content", "places"),
    [
        ("a,a,b\n1,2,3\n", ["column 'a'"]),
        ("a,,b\n1,2,3\n", [""]),
        ("a,b\n", [""]),
        ("id,a,\n1,x,\n2,z,?\n", [""]),
        # A title stands above the header.
        ("Members 2024,,\nid,a,b\n1,x,y\n", [""]),
        # The first line is a record.
        (
            "7,Smith,1980-01-02,a@b.org\n8,Jones,1975-12-31,\n9,May,1999-03-04,c@d.org",
            ["column 3", "column 4"],
        ),
    ],
)
def test_headers_that_name_no_columns(content: str, places: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(DataError) as raised:
        look_at(path, Layout())
    assert [fault.place for fault in raised.value.faults] == places
    assert not any(cell in str(raised.value) for cell in ("Smith", "1980-01-02", "a@b.org"))


@pytest.mark.parametrize(
    ("content", "columns", "nameless"),
    [
        # A column without name and cells is left out.
        ('id,a,\n1,"x\n,y",\n2,z,\n', ["id", "a"], (3,)),
        # Days are names where other cells stand below.
        ("id,2024-01-01,2024-02-01\n1,3,4\n2,5,6\n", ["id", "2024-01-01", "2024-02-01"], ()),
        ("Members 2024,,\nid,a,b\n1,x,y\n", ["id", "a", "b"], ()),
    ],
)
def test_headers_below_a_title_or_with_odd_names(
    content: str, columns: list[str], nameless: tuple[int, ...], tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    look = look_at(path, sniff_text(path, Layout(), (), ()))
    assert [sample.column for sample in look.samples] == columns
    assert look.nameless == nameless


def test_rows_that_a_column_cannot_tell_apart_are_named() -> None:
    table = pa.table({"id": ["1", "2", "3", "2"], "nr": ["7", "8", None, "9"], "n": ["x", "y", "z", "w"]})
    same, empty, differ = look_at(table, Layout()).samples
    assert all(row in same.clash for row in ("2", "4"))
    assert all(number in empty.clash for number in ("1", "3"))
    assert (differ.clash, differ.names_rows) == ("", True)
