"""Values before and after, for their owner: distinct ones, none of them empty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from accord.entropy import Seeded
from accord.errors import UsageError
from accord.fields.row_ids import made_ids
from accord.fields.schema import FieldSpec
from accord.fields.showing import ShownValue, show_rows, show_values
from accord.table.layout import Layout, Source


def read(**spec: Any) -> FieldSpec:
    return TypeAdapter(FieldSpec).validate_python(spec)


FIELDS = {
    "name": read(type="text", encoder="paper", clean=["accents"], **{"from": ["given", "surname"]}),
    "birth": read(type="date", min="1900-01-01", max="2030-12-31"),
}


def test_ten_distinct_ones_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"{i},José{i // 2},  ,{1 + i % 28:02}.03.1980" for i in range(100)]
    path.write_text("\n".join(["id,given,last,dob", "x,,,", *rows]) + "\n")
    layout = Layout(columns={"surname": "last", "birth": Source(column="dob", format="%d.%m.%Y")})
    assert show_values(path, "name", FIELDS, layout) == [
        ShownValue((f"José{i}", None), f"jose{i}") for i in range(10)
    ]
    assert show_values(path, "birth", FIELDS, layout, 1) == [ShownValue(("01.03.1980",), "1980-03-01")]


def test_what_is_missing_afterwards_is_shown_as_that() -> None:
    field = read(type="text", encoder="hash", derive="soundex", missing="differs")
    table = pa.table({"x": ["李", None, "Li"]})
    assert show_values(table, "x", {"x": field}, Layout()) == [
        ShownValue(("李",), None),
        ShownValue(("Li",), "l000"),
    ]


def test_a_field_that_is_not_agreed() -> None:
    with pytest.raises(UsageError, match=r"no field 'nam' to show\. Did you mean 'name'\?"):
        show_values(pa.table({}), "nam", FIELDS, Layout())


def test_cells_of_some_records_stand_as_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("key,given,dob\nx,José,1.2.1980\ny,,2.2.1980\nz,Ann,\n")
    layout = Layout(id="key", columns={"birth": Source(column="dob", format="%d.%m.%Y")})
    found = show_rows(path, {"x", "z", "nobody"}, ["given", "birth"], layout)
    assert found == {"x": ["José", "1.2.1980"], "z": ["Ann", None]}
    made = Layout(make_ids=True, columns=layout.columns)
    with made_ids(path, made, Seeded(1)) as ids:
        assert ids is not None
    second = ids.ids[1].as_py()
    assert show_rows(path, {second}, ["given", "birth"], made) == {second: [None, "2.2.1980"]}
