"""Own columns as a layout says that they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from accord.errors import DataError
from accord.fields.load import load_records
from accord.fields.own_cells import read_cells
from accord.fields.schema import CategoryField, DateField, FieldSpec, NumberField, TextField
from accord.table.layout import Layout, Source


def read(cells: Mapping[str, Any], **source: Any) -> list[Any]:
    batch = pa.record_batch({name: pa.array(column) for name, column in cells.items()})
    found: list[Any] = read_cells(Source.model_validate(source), batch).to_pylist()
    return found


def test_parts_of_a_date_are_joined_as_its_format_is_written() -> None:
    parts = {"by": ["1980", "1999", None], "bm": [1.0, 12.0, 3.0], "bd": [" 5", "31", "1"]}
    assert read(parts, columns=["by", "bm", "bd"], format="%Y-%m-%d") == ["1980-01-05", "1999-12-31", None]
    assert read(parts, columns=["bd", "bm", "by"], format="%d.%m.%Y.")[:2] == ["05.01.1980.", "31.12.1999."]
    zero = {"by": ["1980"], "bm": ["0"], "bd": ["1"]}
    assert read(zero, columns=["by", "bm", "bd"], format="%Y-%m-%d", missing=["0"]) == [None]


def test_texts_are_joined_by_a_blank_and_what_is_missing_is_skipped() -> None:
    cells = {"no": ["5", "", None], "way": ["High St", "Ring", " "]}
    assert read(cells, columns=["no", "way"]) == ["5 High St", "Ring", None]


def test_marks_for_missing_are_compared_folded_and_leave_numbers_alone() -> None:
    assert read({"x": ["k.A.", " K.a. ", "-", "x"]}, column="x", missing=["k.A.", "-"]) == [None] * 3 + ["x"]
    assert read({"x": [9999.0, 1.5]}, column="x", missing=["9999"]) == [None, 1.5]
    assert read({"x": ["a"]}, absent=True) == [None]


def test_values_are_read_as_others_whatever_their_letter_case() -> None:
    values = {"w": "f", "Männlich": "m"}
    assert read({"s": [" W", "männlich", "d", None]}, column="s", values=values) == ["f", "m", "d", None]


@pytest.mark.parametrize(
    ("name", "order", "given", "surname"),
    [
        ("John Doe", None, "John", "Doe"),
        ("Doe, John", None, "John", "Doe"),
        ("Doe,John Paul", "given surname", "John Paul", "Doe"),
        ("Doe John Paul", "surname given", "John Paul", "Doe"),
        ("Ludwig van Beethoven", None, "Ludwig", "van Beethoven"),
        ("van der Berg Jan", "surname given", "Jan", "van der Berg"),
        ("John Doe Jr.", None, "John", "Doe"),
        ("Madonna", None, None, "Madonna"),
        (None, None, None, None),
    ],
)
def test_a_whole_name_has_two_parts(
    name: str | None, order: str | None, given: str | None, surname: str | None
) -> None:
    cells = {"n": pa.array([name], pa.large_string())}
    assert read(cells, column="n", part="given", order=order) == [given]
    assert read(cells, column="n", part="surname", order=order) == [surname]


def test_amounts_are_plain_numbers_and_what_is_none_stays() -> None:
    english = ["$399.00", "USD 1,299.5", "12", "-3.50 €", "free", "£ 5.-", "1'200.00"]
    plain = ["399.00", "1299.5", "12", "-3.50", "free", "5", "1200.00"]
    assert read({"p": english}, column="p", decimal=".") == plain
    german = ["1.299,00 €", "EUR 5,5", "12", "12,– €", "2 500,00 kr", "n/a"]
    assert read({"p": german}, column="p", decimal=",") == ["1299.00", "5.5", "12", "12", "2500.00", "n/a"]


@pytest.mark.parametrize(
    ("decimal", "cell", "number"),
    [
        (".", "Fr. 12", "12"),
        (".", "Fr. 12.50", "12.50"),
        (".", "Rs. 500", "500"),
        (".", "-Fr. 1'200.50", "-1200.50"),
        (",", "kr.5,50", "5.50"),
        (".", "S/. 5", "5"),
        (".", "€.50", ".50"),
        (".", "\N{MINUS SIGN}5", "-5"),
        (",", "€ \N{MINUS SIGN} 5,5", "-5.5"),
        (",", "\N{MINUS SIGN}€5,5", "-5.5"),
        (",", "1\N{NO-BREAK SPACE}200,5 €", "1200.5"),
        (".", "1,234,567", "1234567"),
        (",", "1.5.2020", None),
        (".", "12,50", None),
        (",", "12.50", None),
        (".", "1,2345", None),
        (".", "12 12", None),
        (".", "1.2.3", None),
    ],
)
def test_an_amount_is_read_rightly_or_not_at_all(decimal: str, cell: str, number: str | None) -> None:
    assert read({"p": [cell]}, column="p", decimal=decimal) == [number or cell]


def test_ages_dates_and_postcodes() -> None:
    assert read({"a": ["30", "0", "x", None]}, column="a", as_of="2024-06-30") == ["1994", "2024", "x", None]
    assert read({"a": [30.0]}, column="a", as_of="2024-06-30") == ["1994"]
    assert read({"d": ["31.12.1980", "1975"]}, column="d", part="year", format="%d.%m.%Y") == ["1980", "1975"]
    codes = ["D-10115", "FR-75001", "PL-00-950", "00-950", "SW1A 1AA", "GB - SW1A 1AA", "02139-1234"]
    bare = ["10115", "75001", "00-950", "00-950", "SW1A 1AA", "SW1A 1AA", "02139-1234"]
    assert read({"c": codes}, column="c", part="postcode") == bare


FIELDS: dict[str, FieldSpec] = {
    "birth": DateField(type="date", min="1900-01-01", max="2029-12-31"),  # type: ignore[arg-type]
    "sex": CategoryField(type="category", values=("f", "m")),
    "name": TextField(type="text", encoder={"kind": "hash"}),  # type: ignore[arg-type]
    "price": NumberField(type="number", min=0, max=9, step=1, missing="differs"),  # type: ignore[arg-type]
}
LAYOUT = Layout(
    id="nr",
    columns={
        "birth": Source(columns=("y", "m", "d"), format="%Y-%m-%d"),
        "sex": Source(column="s", values={"w": "f"}, missing=("-",)),
        "name": Source(columns=("first", "last")),
        "price": Source(absent=True),
    },
)
TABLE = {
    "nr": ["1", "2"], "y": ["1980", "1981"], "m": ["2", "3"], "d": ["30", "1"], "s": ["w", "-"],
    "first": ["Ann", ""], "last": ["Lee", "Poe"],
}  # fmt: skip


def test_faults_name_the_row_and_all_columns() -> None:
    with pytest.raises(DataError) as caught:
        load_records(pa.table(TABLE), FIELDS, "salt", (), LAYOUT)
    told = [str(fault) for fault in caught.value.faults]
    assert any(one.startswith("row 1, column 'y + m + d': is not a date") for one in told)
    assert any(one.startswith("row 2, column 's': is empty") for one in told)
    assert len(told) == 2


def test_what_counts_as_empty_may_be_no_number() -> None:
    fields = {"city": TextField(type="text", encoder={"kind": "hash"}, missing="differs")}  # type: ignore[arg-type]
    table = pa.table({"id": ["1", "2"], "c": pa.array([float("nan"), 5.0])})
    layout = Layout(columns={"city": Source(column="c", missing=("NaN",))})
    assert load_records(table, fields, "salt", ("city",), layout).disclosed.to_pydict() == {
        "city": [None, "5"]
    }
    with pytest.raises(DataError, match="row 1, column 'c': is NaN or infinite"):
        load_records(table, fields, "salt", ("city",), Layout(columns={"city": "c"}))
    with pytest.raises(DataError, match="row 1, column 'c': is NaN or infinite"):
        load_records(table, fields, "salt", ("city",), Layout(id="c", columns=layout.columns))


@pytest.mark.parametrize(
    ("column", "cells", "kind", "place"),
    [
        ("last", pa.array([["Lee"], None]), "list", "first + last"),
        ("last", pa.array([b"Lee", None]), "binary", "first + last"),
        ("y", pa.array([["1980"], None]), "list", "y + m + d"),
    ],
)
def test_what_is_no_text_is_a_fault_where_columns_are_joined_too(
    column: str, cells: pa.Array, kind: str, place: str
) -> None:
    table = pa.table({**TABLE, "d": ["28", "1"], "s": ["w", "m"], "first": ["Ann", "Eve"], column: cells})
    with pytest.raises(DataError) as caught:
        load_records(table, FIELDS, "salt", (), LAYOUT)
    told = [str(fault) for fault in caught.value.faults]
    assert any(one.startswith(f"row 1, column '{place}': holds {kind}") for one in told), told
    assert not any(one.startswith("row 2") and "holds" in one for one in told)


def test_a_table_is_disclosed_as_it_is_read() -> None:
    table = pa.table({**TABLE, "d": ["28", "1"], "s": ["w", "m"]})
    read = load_records(table, FIELDS, "salt", ("sex", "birth"), LAYOUT)
    assert read.disclosed.to_pydict() == {"sex": ["f", "m"], "birth": ["1980-02-28", "1981-03-01"]}


def test_a_postcode_and_a_city_in_one_cell_are_read_apart() -> None:
    cells = ["66482 Zweibrücken", "D-01067 Dresden", "1011 AB Amsterdam", "00-950 Warszawa", "10115", "Bonn"]
    first = {"column": "x", "order": "postcode city"}
    codes = ["66482", "01067", "1011 AB", "00-950", "10115", None]
    assert read({"x": cells}, part="postcode", **first) == codes
    cities = ["Zweibrücken", "Dresden", "Amsterdam", "Warszawa", None, "Bonn"]
    assert read({"x": cells}, part="city", **first) == cities
    last = {"column": "x", "order": "city postcode"}
    assert read({"x": ["Boston, MA 02139", "1010"]}, part="postcode", **last) == ["02139", "1010"]
    assert read({"x": ["Boston, MA 02139", "1010"]}, part="city", **last) == ["Boston, MA", None]


def test_numbers_get_their_zeros_back_and_other_cells_stay() -> None:
    assert read({"x": ["4600", "30800", "B 12", None]}, column="x", digits=5) == [
        "04600",
        "30800",
        "B 12",
        None,
    ]


@pytest.mark.parametrize("said", [{"part": "city"}, {"part": "given", "order": "city postcode"}])
def test_an_order_is_of_what_the_part_is_of(said: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="order"):
        Source.model_validate({"column": "x", **said})
