"""From cells to values: columns joined, values that mean none, dates read once."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter, ValidationError

from accord.errors import DataError
from accord.fields import making
from accord.fields.columns import Integers
from accord.fields.load import load_records
from accord.fields.making import Cells, Made, make, parse_date
from accord.fields.schema import FieldSpec
from accord.table.layout import Layout, Source

TEXT: dict[str, Any] = {"type": "text", "encoder": "hash", "missing": "differs"}
YEAR: dict[str, Any] = {
    "type": "number",
    "min": 1900,
    "max": 2030,
    "step": 1,
    "from": "birth",
    "derive": "year",
}
DATE: dict[str, Any] = {"type": "date", "min": "1900-01-01", "max": "2030-12-31"}


def read(**spec: Any) -> FieldSpec:
    return TypeAdapter(FieldSpec).validate_python(spec)


def made(columns: dict[str, Any], format: str | None = None, **spec: Any) -> Made:
    arrays = {
        name: cells if isinstance(cells, pa.Array) else pa.array(cells) for name, cells in columns.items()
    }
    return make("x", read(**spec), Cells(arrays, dict.fromkeys(arrays, format)))


def values(columns: dict[str, Any], format: str | None = None, **spec: Any) -> list[str | None]:
    return made(columns, format, **spec).shown().to_pylist()


def bad(found: Made) -> dict[str, list[int]]:
    return {problem: np.flatnonzero(rows).tolist() for problem, rows in found.bad.items() if rows.any()}


def test_columns_are_joined_by_one_blank_and_empty_ones_left_out() -> None:
    columns = {"a": ["Ann ", None, "", "U", "u"], "b": [" Lee", "Lee", " ", "Lee", "unknown"]}
    spec = TEXT | {"from": ["a", "b"], "missing_values": ["U", "Unknown"]}
    assert values(columns, **spec) == ["ann lee", "lee", None, "lee", None]


def test_numbers_that_mean_none_whatever_their_spelling() -> None:
    spec: dict[str, Any] = {
        "type": "number",
        "min": 0,
        "max": 120,
        "step": 1,
        "missing_values": ["999", "n/a"],
        "from": "a",
    }
    assert values({"a": ["999", "999.0", "+9.99e2", "N/A", "7", None]}, **spec) == [*[None] * 4, "7", None]
    assert values({"a": [999.0, 7.0, None]}, **spec) == [None, "7", None]
    assert values({"a": pa.array([999, 7])}, **spec) == [None, "7"]
    prefix: dict[str, Any] = {
        "type": "number",
        "min": 0,
        "max": 999,
        "step": 1,
        "from": "a",
        "derive": {"prefix": 3},
    }
    assert values({"a": ["902 10", "00501"]}, **prefix, clean=["digits only"]) == ["902", "005"]


def test_days_that_mean_none_in_the_format_of_their_column() -> None:
    cells = {"birth": ["01.01.1900", "02.03.1980", "Unknown", "1900-01-01", "x", None]}
    spec = DATE | {"from": "birth", "missing_values": ["1900-01-01", "unknown"]}
    found = made(cells, "%d.%m.%Y", **spec)
    assert found.shown().to_pylist() == [None, "1980-03-02", None, None, None, None]
    (rows,) = bad(found).values()
    assert rows == [4]
    typed = {"birth": pa.array([date(1900, 1, 1), date(1980, 3, 2)])}
    assert values(typed, **spec) == [None, "1980-03-02"]


def test_parts_of_days_as_numbers_texts_and_categories() -> None:
    cells = {"birth": ["1980-03-02", None]}
    assert values(cells, **YEAR) == ["1980", None]
    assert values(cells, **TEXT | {"from": "birth", "derive": "month"}) == ["3", None]
    listed: dict[str, Any] = {
        "type": "category",
        "values": [str(day) for day in range(1, 32)],
        "from": "birth",
        "derive": "day",
    }
    assert values(cells, **listed) == ["2", None]
    assert values(cells, **DATE | {"from": "birth", "derive": "swapped", "missing": "differs"}) == [
        "1980-02-03",
        None,
    ]


def test_a_column_of_dates_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parse = making.parse_date

    def noted(value: str, how: str, last: date) -> date | None:
        parsed.append(value)
        return parse(value, how, last)

    monkeypatch.setattr(making, "parse_date", noted)
    fields = {
        "birth": read(**DATE),
        "year": read(**YEAR),
        "born": read(**TEXT | {"from": "birth", "derive": "day"}),
    }
    table = pa.table({"id": ["1", "2", "3"], "born_on": ["02.03.1980", "02.03.1980", "05.06.1990"]})
    layout = Layout(columns={"birth": Source(column="born_on", format="%d.%m.%Y")})
    records = load_records(table, fields, "00", (), layout)
    assert parsed == ["02.03.1980", "05.06.1990"]
    years = records.columns["year"]
    assert isinstance(years, Integers)
    assert years.values.tolist() == [80, 80, 90]


def test_values_of_a_list_are_cleaned_as_cells_are() -> None:
    spec = read(type="category", values=["Zürich", "Genève"], clean=["accents"], other="skip")
    records = load_records(pa.table({"id": ["1", "2"], "city": ["ZURICH", "geneve"]}), {"city": spec}, "00")
    column = records.columns["city"]
    assert isinstance(column, Integers)
    assert column.values.tolist() == [0, 1]
    with pytest.raises(ValueError, match="values must differ from each other"):
        read(type="category", values=["Zürich", "Zurich"], clean=["accents"])


def test_faults_name_the_owners_column_once_and_the_field_that_is_made(tmp_path: Path) -> None:
    fields = {
        "birth": read(**DATE),
        "year": read(**YEAR | {"max": 2000}),
        "sound": read(type="text", encoder="hash", **{"from": "given", "derive": "soundex"}),
    }
    path = tmp_path / "a.csv"
    path.write_text("id,given,dob\n1,Ann,1980-13-01\n2,李,2010-01-01\n3,,1990-01-01\n")
    with pytest.raises(DataError) as caught:
        load_records(path, fields, "00", (), Layout(columns={"birth": "dob"}))
    faults = [(fault.place, fault.problem) for fault in caught.value.faults]
    assert [place for place, _ in faults] == [
        "row 1, column 'dob'",
        "row 2, column 'dob'",
        "rows 2, 3, column 'given'",
    ]
    assert faults[0][1].startswith("is not a date written as YYYY-MM-DD")
    assert faults[1][1] == "is outside the agreed range 1900 to 2000 (field 'year')."
    assert (
        faults[2][1]
        == "is empty, or gives no value (the agreement says missing = \"error\") (field 'sound')."
    )


def test_a_field_without_its_column_is_told_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,Given,city\n1,Ann,x\n")
    with pytest.raises(DataError, match=r"column 'given': was not found\. Did you mean 'Given'\?"):
        load_records(path, {"sound": read(**TEXT, **{"from": "given", "derive": "soundex"})}, "00")


def test_a_made_field_can_be_disclosed_in_place_of_its_column() -> None:
    table = pa.table({"id": ["1"], "birth": ["1980-03-02"], "city": ["Rome"]})
    shown = load_records(table, {"year": read(**YEAR)}, "00", ["year", "city"]).disclosed
    assert shown.to_pydict() == {"year": ["1980"], "city": ["Rome"]}


def test_bytes_are_no_text() -> None:
    found = made({"a": pa.array([b"x", None]), "b": ["y", "z"]}, **TEXT | {"from": ["a", "b"]})
    assert list(bad(found).values()) == [[0]]


@pytest.mark.parametrize(
    ("cells", "format"), [(["1980-03-02", "unknown"], None), (["02.03.1980", "unknown"], "%d.%m.%Y")]
)
def test_a_column_of_dates_is_days_to_every_field(cells: list[str], format: str | None) -> None:
    """However each side writes them: else equal days would be different texts."""
    arrays = {"birth": pa.array(cells), "phone": pa.array(["1", None])}
    of = Cells(arrays, {"birth": format}, dated={"birth": date.max})

    def shown(**spec: Any) -> list[str | None]:
        return make("x", read(**TEXT, **spec), of).shown().to_pylist()

    assert shown(**{"from": "birth"}) == ["1980-03-02", "unknown"]
    assert shown(**{"from": ["birth", "phone"]}) == ["1980-03-02 1", "unknown"]
    cut = {"derive": {"prefix": 4}, "missing_values": ["unknown"]}
    assert shown(**{"from": "birth"}, **cut) == ["1980", None]


@pytest.mark.parametrize("value", ["01.01.1900", "1/1/1900", "1900-1-1"])
def test_a_day_that_means_none_is_written_in_one_way(value: str) -> None:
    with pytest.raises(ValidationError, match="write days as YYYY-MM-DD"):
        read(**DATE, missing_values=[value])
    assert read(**DATE, missing_values=["1900-01-01", "unknown", "n/a"])


@pytest.mark.parametrize(
    "text",
    ["1980-02-29", "1981-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "1980-13-01", "1980-2-1",
     "1980-W05-1", "19800201", "1980-02-01 ", "1980-02-01T00", "１９８０-02-01", "", "+980-01-01"],
)  # fmt: skip
def test_days_are_read_as_the_slow_way_reads_them(text: str) -> None:
    try:
        slowly = datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        slowly = None
    assert parse_date(text, "%Y-%m-%d") == slowly


@pytest.mark.parametrize(
    ("cell", "wanted"), [("01.02.62", "1962-02-01"), ("01.02.25", "2025-02-01"), ("29.02.28", "1928-02-29")]
)
def test_years_of_two_digits_are_never_after_the_agreed_range(cell: str, wanted: str) -> None:
    """A year that is derived follows the day that its column has for all fields."""
    fields = {
        "birth": read(type="date", min="1900-01-01", max="2026-12-31"),
        "year": read(**YEAR | {"max": 2099}),
    }
    table = pa.table({"id": ["1"], "birth": [cell]})
    layout = Layout(columns={"birth": Source(column="birth", format="%d.%m.%y")})
    shown = load_records(table, fields, "00", ["birth", "year"], layout).disclosed
    assert shown["year"].to_pylist() == [wanted[:4]]


def test_a_cell_is_read_by_the_first_format_that_fits() -> None:
    cells = ["02.03.1980", "1980-03-02", "1980"]
    found = made({"birth": cells}, **DATE | {"from": "birth"}, format="%d.%m.%Y|%Y-%m-%d")
    assert found.shown().to_pylist() == ["1980-03-02", "1980-03-02", None]
    assert [*bad(found).values()] == [[2]]
