"""From file to records: every fault of the table at once, by row and column, never by value."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from accord.errors import DataError
from accord.records import sources
from accord.records.columns import Integers
from accord.records.layout import Layout, Source
from accord.records.load import load_records
from accord.records.schema import FieldSpec

FIELDS: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    {
        "name": {"type": "text", "encoder": "paper"},
        "day": {"type": "date", "min": "2026-01-01", "max": "2026-01-31", "missing": "skip"},
        "price": {"type": "number", "min": 0, "max": 100, "step": "0.01", "missing": "differs"},
    }
)


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_records(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv",
        "key,title,day,price,note",
        "a,Sony,2026-01-01,5,x",
        "b,Bose,,1,y",
        "c,JBL,2026-01-31,,",
    )
    layout = Layout(id="key", columns={"name": Source(column="title")})
    records = load_records(path, FIELDS, "00", ["name", "note"], layout)
    assert records.ids.to_pylist() == ["a", "c"]
    assert records.left_out == 1
    price = records.columns["price"]
    assert isinstance(price, Integers)
    assert price.values.tolist() == [500, 0]
    assert price.present.tolist() == [True, False]
    assert records.disclosed.to_pylist() == [{"name": "Sony", "note": "x"}, {"name": "JBL", "note": None}]


def test_all_faults_at_once_and_no_value_among_them(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv",
        "id,name,day,price",
        "1,,2026-01-01,SECRET",
        "2,x,2026-02-01,-1",
        "3,x",
        "1,x,never,5",
        ",x,2026-01-01,5",
    )
    with pytest.raises(DataError) as caught:
        load_records(path, FIELDS, "00")
    assert [fault.place for fault in caught.value.faults] == [
        "row 3",
        "row 1, column 'name'",
        "row 1, column 'price'",
        "rows 1, 4, column 'id'",
        "row 2, column 'day'",
        "row 2, column 'price'",
        "row 4, column 'day'",
        "row 5, column 'id'",
    ]
    assert "has 9 faults" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert "never" not in str(caught.value)
    assert caught.value.exit_code == 4


def test_rows_are_counted_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_BLOCK", 200)
    lines = [f"{i},name {i},2026-01-0{1 + i % 9},{i % 50}" for i in range(1, 101)]
    lines[76] = "77,x,2026-01-01,oops"
    lines[90] = "5,x,2026-01-01,1"
    with pytest.raises(DataError) as caught:
        load_records(write(tmp_path / "t.csv", "id,name,day,price", *lines), FIELDS, "00")
    assert [fault.place for fault in caught.value.faults] == [
        "rows 5, 91, column 'id'",
        "row 77, column 'price'",
    ]


def test_a_whole_wrong_column_hides_nothing(tmp_path: Path) -> None:
    lines = [f"{i},{'' if i == 4000 else 'x'},2026-01-01,wrong" for i in range(5000)]
    with pytest.raises(DataError) as caught:
        load_records(write(tmp_path / "t.csv", "id,name,day,price", *lines), FIELDS, "00")
    assert "has 5,001 faults" in str(caught.value)
    assert [fault.place for fault in caught.value.faults] == [
        "rows 1, 2, 3, 4, 5 and 4,995 more, column 'price'",
        "row 4,001, column 'name'",
    ]


def test_columns_that_hold_no_text() -> None:
    table = pa.table({"id": [b"1"], "name": [["x"]], "day": ["2026-01-01"], "price": [1]})
    with pytest.raises(DataError) as caught:
        load_records(table, FIELDS, "00", ["name"])
    assert {fault.place for fault in caught.value.faults} == {"row 1, column 'id'", "row 1, column 'name'"}


def test_a_file_without_records_is_a_mistake_and_a_table_without_is_not(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no records below the header"):
        load_records(write(tmp_path / "t.csv", "id,name,day,price"), FIELDS, "00")
    nothing = pa.table({name: pa.array([], pa.string()) for name in ("id", "name", "day", "price")})
    for table in (nothing, nothing.to_reader()):
        assert len(load_records(table, FIELDS, "00", ["name"])) == 0


def test_ids_of_other_types() -> None:
    table = pa.table({"id": [3, 4], "name": ["a", "b"], "day": ["2026-01-01"] * 2, "price": [1, 2]})
    assert load_records(table, FIELDS, "00").ids.to_pylist() == ["3", "4"]
