"""From cells to codes: how a field is agreed on, its value made, encoded, and what is no value found."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from accord.errors import DataError
from accord.fields import making
from accord.fields.columns import Bits, Integers
from accord.fields.encoders import Encoded, encode
from accord.fields.load import load_records
from accord.fields.making import Cells, Made, make
from accord.fields.own_cells import read_cells
from accord.fields.recipe import Drop, Prefix
from accord.fields.schema import FieldSpec, agreed_columns, is_made
from accord.table.layout import Layout, Source

Spec = dict[str, Any]
TEXT: Spec = {"type": "text", "encoder": "hash", "missing": "differs"}
NUMBER: Spec = {"type": "number", "min": 0, "max": 10, "step": "0.1", "missing": "differs"}
DATE: Spec = {"type": "date", "min": "1900-01-01", "max": "2030-12-31"}
YEAR: Spec = {"type": "number", "min": 1900, "max": 2030, "step": 1, "from": "birth", "derive": "year"}
LETTERS: Spec = {"kind": "letters", "length": 4, "alphabet": "abcß "}


def field(**spec: Any) -> FieldSpec:
    return TypeAdapter(FieldSpec).validate_python(spec)


def encoded(cells: pa.Array | list[Any], format: str | None = None, **spec: Any) -> Encoded:
    array = cells if isinstance(cells, pa.Array) else pa.array(cells)
    return encode("field", field(**spec), array, "00", format)


def codes(result: Encoded) -> list[int | None]:
    assert isinstance(result.column, Integers)
    pairs = zip(result.column.values.tolist(), result.column.present.tolist(), strict=True)
    return [value if present else None for value, present in pairs]


def rows(found: Mapping[str, Any]) -> list[list[int]]:
    """The rows of each kind of fault, without its words."""
    return [np.flatnonzero(marks).tolist() for marks in found.values() if marks.any()]


# -- what is agreed ---------------------------------------------------------------------------------------


def test_how_many_codes_and_bits_a_field_has() -> None:
    assert field(type="number", min=-1, max=1, step="0.5").high == 4  # type: ignore[union-attr]
    assert field(type="category", values=["a", "b"]).high == 1  # type: ignore[union-attr]
    assert field(type="category", values=["a", "b"], other="bin").high == 2  # type: ignore[union-attr]
    assert field(type="date", min="2026-01-01", max="2026-01-31").high == 30  # type: ignore[union-attr]
    assert field(type="latitude").high == 180_000_000  # type: ignore[union-attr]
    digits = {"kind": "letters", "length": 5, "alphabet": "0123456789"}
    kinds = ("paper", "hash", {"kind": "letters", "length": 12}, digits)
    texts = [field(type="text", encoder=encoder) for encoder in kinds]
    assert [text.bits for text in texts] == [50, 80, 12 * 6, 5 * 4]  # type: ignore[union-attr]
    bloom = {"kind": "bloom", "bits": 50, "hashes": 1, "grams": 3}
    assert texts[0].model_dump()["encoder"] == bloom


@pytest.mark.parametrize("plain", [TEXT, NUMBER, DATE, {"type": "latitude"}])
def test_what_is_not_said_is_not_written(plain: Spec) -> None:
    written = field(**plain).model_dump(mode="json")
    assert not {"from", "sources", "clean", "missing_values", "derive"} & set(written)
    spelt: Spec = {"from": "x", "clean": [], "missing_values": [], "derive": None}
    assert field(**plain, **spelt).model_dump(mode="json") == written | {"from": "x"}


def test_what_is_said_is_read_again() -> None:
    steps = ["titles", {"drop": ["von", "van"]}, "accents"]
    said = {"from": ["given", "surname"], "clean": steps, "missing_values": ["U"], "derive": {"prefix": 3}}
    spec = field(**TEXT, **said)
    assert (spec.clean[1], spec.derive) == (Drop(drop=("von", "van")), Prefix(prefix=3))
    written = spec.model_dump(mode="json")
    assert {key: written[key] for key in said} == said
    assert field(**written) == spec
    assert field(**TEXT, **{"from": ["given"]}).model_dump(mode="json")["from"] == "given"
    assert "other" not in field(**TEXT, other="error").model_dump()
    skipping = field(**TEXT | {"encoder": LETTERS}, other="skip")
    assert skipping.model_dump()["other"] == "skip"


def test_columns_and_fields_that_are_made() -> None:
    fields = {
        "given": field(**TEXT),
        "sound": field(**TEXT, **{"from": "given", "derive": "soundex"}),
        "name": field(**TEXT, **{"from": ["given", "surname"]}),
    }
    assert agreed_columns(fields) == ("given", "surname")
    assert agreed_columns(fields, ("sound", "city")) == ("given", "surname", "city")
    made = [name for name in ("given", "sound", "name", "city") if is_made(name, fields)]
    assert made == ["sound", "name"]


# -- own columns, as a layout says ------------------------------------------------------------------------


def read(cells: Mapping[str, Any], **source: Any) -> list[Any]:
    batch = pa.record_batch({name: pa.array(column) for name, column in cells.items()})
    found: list[Any] = read_cells(Source.model_validate(source), batch).to_pylist()
    return found


def one(cells: list[Any], **source: Any) -> list[Any]:
    return read({"x": cells}, column="x", **source)


def test_columns_are_joined_by_a_blank_or_as_a_format_is_written() -> None:
    cells = {"no": ["5", "", None], "way": ["High St", "Ring", " "]}
    assert read(cells, columns=["no", "way"]) == ["5 High St", "Ring", None]
    parts = {"by": ["1980", "1999", None], "bm": [1.0, 12.0, 3.0], "bd": [" 5", "31", "1"]}
    assert read(parts, columns=["by", "bm", "bd"], format="%Y-%m-%d") == ["1980-01-05", "1999-12-31", None]
    assert read(parts, columns=["bd", "bm", "by"], format="%d.%m.%Y.")[:2] == ["05.01.1980.", "31.12.1999."]
    zero = {"by": ["1980"], "bm": ["0"], "bd": ["1"]}
    assert read(zero, columns=["by", "bm", "bd"], format="%Y-%m-%d", missing=["0"]) == [None]


def test_marks_values_years_codes_and_zeros() -> None:
    assert one(["k.A.", " K.a. ", "-", "x"], missing=["k.A.", "-"]) == [None] * 3 + ["x"]
    assert one([9999.0, 1.5], missing=["9999"]) == [None, 1.5]
    assert read({"x": ["a"]}, absent=True) == [None]
    assert one([" W", "männlich", "d", None], values={"w": "f", "Männlich": "m"}) == ["f", "m", "d", None]
    assert one(["30", "0", "150", "151", "x", None], as_of="2024-06-30") == [
        *("1994", "2024", "1874", "151", "x", None)
    ]
    assert one([30.0], as_of="2024-06-30") == ["1994"]
    assert one(["31.12.1980", "1975"], part="year", format="%d.%m.%Y") == ["1980", "1975"]
    assert one(["4600", "30800", "B 12", None], digits=5) == ["04600", "30800", "B 12", None]
    codes = ["D-10115", "FR-75001", "PL-00-950", "00-950", "SW1A 1AA", "GB - SW1A 1AA", "02139-1234"]
    bare = ["10115", "75001", "00-950", "00-950", "SW1A 1AA", "SW1A 1AA", "02139-1234"]
    assert one(codes, part="postcode") == bare
    assert one(["66482 Zweibrücken", "10115"], part="city", order="postcode city") == ["Zweibrücken", None]


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


AMOUNTS = {
    ".": {
        "$399.00": "399.00", "USD 1,299.5": "1299.5", "12": "12", "-3.50 €": "-3.50", "£ 5.-": "5",
        "1'200.00": "1200.00", "Fr. 12": "12", "Fr. 12.50": "12.50", "Rs. 500": "500", "S/. 5": "5",
        "-Fr. 1'200.50": "-1200.50", "€.50": ".50", "\N{MINUS SIGN}5": "-5", "1,234,567": "1234567",
        "free": None, "12,50": None, "1,2345": None, "12 12": None, "1.2.3": None,
    },
    ",": {
        "1.299,00 €": "1299.00", "EUR 5,5": "5.5", "12": "12", "12,– €": "12", "2 500,00 kr": "2500.00",
        "kr.5,50": "5.50", "€ \N{MINUS SIGN} 5,5": "-5.5", "\N{MINUS SIGN}€5,5": "-5.5",
        "1\N{NO-BREAK SPACE}200,5 €": "1200.5", "n/a": None, "1.5.2020": None, "12.50": None,
    },
}  # fmt: skip
"""By the sign before decimals; what is no amount stays as it is."""


@pytest.mark.parametrize("decimal", AMOUNTS)
def test_an_amount_is_read_rightly_or_not_at_all(decimal: str) -> None:
    wanted = AMOUNTS[decimal]
    assert one([*wanted], decimal=decimal) == [number or cell for cell, number in wanted.items()]


# -- values -----------------------------------------------------------------------------------------------


def made(columns: Spec, format: str | None = None, **spec: Any) -> Made:
    arrays = {name: pa.array(cells) for name, cells in columns.items()}
    return make("x", field(**spec), Cells(arrays, dict.fromkeys(arrays, format)))


def values(columns: Spec, format: str | None = None, **spec: Any) -> list[str | None]:
    return made(columns, format, **spec).shown().to_pylist()


def test_texts_are_joined_and_what_means_none_is_taken_out() -> None:
    columns = {"a": ["Ann ", None, "", "U", "u"], "b": [" Lee", "Lee", " ", "Lee", "unknown"]}
    spec = TEXT | {"from": ["a", "b"], "missing_values": ["U", "Unknown"]}
    assert values(columns, **spec) == ["ann lee", "lee", None, "lee", None]
    assert rows(made({"a": [b"x", None], "b": ["y", "z"]}, **TEXT | {"from": ["a", "b"]}).bad) == [[0]]


def test_numbers_that_mean_none_whatever_their_spelling() -> None:
    whole: Spec = {"type": "number", "min": 0, "max": 999, "step": 1, "from": "a"}
    spec = whole | {"missing_values": ["999", "n/a"]}
    assert values({"a": ["999", "999.0", "+9.99e2", "N/A", "7", None]}, **spec) == [*[None] * 4, "7", None]
    assert values({"a": [999.0, 7.0, None]}, **spec) == [None, "7", None]
    assert values({"a": [999, 7]}, **spec) == [None, "7"]
    prefix = whole | {"derive": {"prefix": 3}, "clean": ["digits only"]}
    assert values({"a": ["902 10", "00501"]}, **prefix) == ["902", "005"]


def test_days_in_the_format_of_their_column_and_their_parts() -> None:
    cells = {"birth": ["01.01.1900", "02.03.1980", "Unknown", "1900-01-01", "x", None]}
    spec = DATE | {"from": "birth", "missing_values": ["1900-01-01", "unknown"]}
    found = made(cells, "%d.%m.%Y", **spec)
    assert found.shown().to_pylist() == [None, "1980-03-02", None, None, None, None]
    assert rows(found.bad) == [[4]]
    assert values({"birth": [date(1900, 1, 1), date(1980, 3, 2)]}, **spec) == [None, "1980-03-02"]
    both = ["02.03.1980", "1980-03-02", "1980"]
    first = made({"birth": both}, "%d.%m.%Y|%Y-%m-%d", **DATE | {"from": "birth"})
    assert first.shown().to_pylist() == ["1980-03-02", "1980-03-02", None], "by the first format that fits"
    assert rows(first.bad) == [[2]]
    day = {"birth": ["1980-03-02", None]}
    listed: Spec = {"type": "category", "values": [str(day) for day in range(1, 32)]}
    for of, derived, value in (
        (YEAR, "year", "1980"),
        (TEXT, "month", "3"),
        (listed, "day", "2"),
        (DATE | {"missing": "differs"}, "swapped", "1980-02-03"),
    ):
        assert values(day, **of | {"from": "birth", "derive": derived}) == [value, None]


@pytest.mark.parametrize("cells", [["1980-03-02", "unknown"], ["02.03.1980", "unknown"]])
def test_a_column_of_dates_is_days_to_every_field(cells: list[str]) -> None:
    """However each side writes them: else equal days would be different texts."""
    arrays = {"birth": pa.array(cells), "phone": pa.array(["1", None])}
    format = "%d.%m.%Y" if "." in cells[0] else None
    of = Cells(arrays, {"birth": format}, dated={"birth": date.max})

    def shown(**spec: Any) -> list[str | None]:
        return make("x", field(**TEXT, **spec), of).shown().to_pylist()

    assert shown(**{"from": "birth"}) == ["1980-03-02", "unknown"]
    assert shown(**{"from": ["birth", "phone"]}) == ["1980-03-02 1", "unknown"]
    cut = {"derive": {"prefix": 4}, "missing_values": ["unknown"]}
    assert shown(**{"from": "birth"}, **cut) == ["1980", None]


def test_a_column_of_dates_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parse = making.parse_date

    def noted(value: str, how: str, last: date) -> date | None:
        parsed.append(value)
        return parse(value, how, last)

    monkeypatch.setattr(making, "parse_date", noted)
    born = field(**TEXT | {"from": "birth", "derive": "day"})
    fields = {"birth": field(**DATE), "year": field(**YEAR), "born": born}
    table = pa.table({"id": ["1", "2", "3"], "born_on": ["02.03.1980", "02.03.1980", "05.06.1990"]})
    layout = Layout(columns={"birth": Source(column="born_on", format="%d.%m.%Y")})
    years = load_records(table, fields, "00", (), layout).columns["year"]
    assert parsed == ["02.03.1980", "05.06.1990"]
    assert isinstance(years, Integers)
    assert years.values.tolist() == [80, 80, 90]


@pytest.mark.parametrize(
    ("cell", "year"), [("01.02.62", "1962"), ("01.02.26", "2026"), ("31.12.26", "2026"), ("01.01.27", "1927")]
)
def test_years_of_two_digits_are_never_after_the_agreed_range(cell: str, year: str) -> None:
    """A year that is derived follows the day that its column has for all fields."""
    fields = {"birth": field(**DATE | {"max": "2026-12-31"}), "year": field(**YEAR | {"max": 2099})}
    layout = Layout(columns={"birth": Source(column="birth", format="%d.%m.%y")})
    table = pa.table({"id": ["1"], "birth": [cell], "city": ["Rome"]})
    shown = load_records(table, fields, "00", ["birth", "year", "city"], layout).disclosed
    assert shown.select(["year", "city"]).to_pylist() == [{"year": year, "city": "Rome"}]


def test_faults_name_the_owners_column_once_and_the_field_that_is_made(tmp_path: Path) -> None:
    fields = {
        "birth": field(**DATE),
        "year": field(**YEAR | {"max": 2000}),
        "sound": field(type="text", encoder="hash", **{"from": "given", "derive": "soundex"}),
    }
    path = tmp_path / "a.csv"
    path.write_text("id,given,dob\n1,Ann,1980-13-01\n2,李,2010-01-01\n3,,1990-01-01\n")
    with pytest.raises(DataError) as caught:
        load_records(path, fields, "00", (), Layout(columns={"birth": "dob"}))
    faults = caught.value.faults
    places = ["row 1, column 'dob'", "row 2, column 'dob'", "rows 2, 3, column 'given'"]
    assert [fault.place for fault in faults] == places
    assert ["'year'" in faults[1].problem, "'sound'" in faults[2].problem] == [True, True]


# -- codes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cells",
    [
        ["0", " 2.5 ", "1e1", None, "+.3"],
        ["0", "2.5", "10", "", "0.3"],
        [0.0, 2.5, 10.0, None, 0.3],
        [Decimal("0"), Decimal("2.5"), Decimal("10"), None, Decimal("0.3")],
    ],
)
def test_numbers_of_every_arrow_type(cells: list[Any]) -> None:
    result = encoded(cells, **NUMBER)
    assert codes(result) == [0, 25, 100, None, 3]
    assert rows(result.bad) == []


def test_all_bad_numbers_are_found_and_the_range_is_judged_before_rounding() -> None:
    odd = ["x", "nan", "11", "5", "inf", "-0.1", "1,5", None]
    assert rows(encoded(odd, **NUMBER | {"missing": "error"}).bad) == [[0, 1, 4, 6], [2, 5], [7]]
    assert rows(encoded([10.04, -0.04, 9.96], **NUMBER).bad) == [[0, 1]]
    assert rows(encoded([float("nan"), 1.0, float("inf"), 1e300], **NUMBER).bad) == [[0, 2], [3]]
    for other in (pa.array([date(2026, 1, 1), None]), pa.array([[1], None])):
        assert rows(encoded(other, **NUMBER).bad) == [[0]]
    skipping = encoded(["11", None, "1"], **NUMBER | {"missing": "skip", "other": "skip"})
    assert (rows(skipping.left_out), rows(skipping.bad)) == ([[0], [1]], [])


def test_logarithms_are_of_amounts_as_they_are_read() -> None:
    amounts = {**NUMBER, "min": -2, "max": 5, "step": "0.001", "derive": "log"}
    result = encoded(["1", "-1000", "1.01e0", "0.001", "0", "", "ten", "200000"], **amounts)
    assert codes(result)[:3] == [2000, 5000, 2004]
    assert rows(result.bad) == [[6], [3, 4, 7]]
    assert codes(encoded(["50 EUR"], **amounts, clean=[{"drop": ["eur"]}])) == [3699]


def test_letters_are_those_of_the_folded_text() -> None:
    spec = TEXT | {"encoder": LETTERS}
    result = encoded(["A b", " c\u00a0 C ", None, "Baß", "abca"], **spec)
    assert isinstance(result.column, Bits)
    assert rows(result.bad) == []
    assert result.column.present.tolist() == [True, True, False, True, True]
    spelt = [[1, 5, 2], [3, 5, 3], [], [2, 1, 4], [1, 2, 3, 1]]
    numbers = [sum(number << 3 * place for place, number in enumerate(row)) for row in spelt]
    assert result.column.words[:, 0].tolist() == numbers
    unspelt = ["abcab", "xa", "ab", None, "xxxxx"]
    assert rows(encoded(unspelt, **spec | {"missing": "error"}).bad) == [[0, 4], [1], [3]]
    skipping = encoded(unspelt, **spec | {"other": "skip"})
    assert (rows(skipping.left_out), rows(skipping.bad)) == ([[0, 4], [1]], [])


def test_categories_are_cleaned_and_folded_as_cells_are() -> None:
    """Final sigma, dotted I and a decomposed accent: what is listed is recognised."""
    category: Spec = {"type": "category", "values": ["Sony", "Bose"]}
    cells = ["sony", " BOSE ", "apple", "", None]
    assert rows(encoded(cells, **category).bad) == [[2], [3, 4]]
    lenient = encoded(cells, **category, other="bin", missing="differs")
    assert (codes(lenient), rows(lenient.bad)) == ([0, 1, 2, None, None], [])
    listed = ["ΑΘΗΝΑΣ", "İzmir", "Café", "Straße"]
    assert codes(encoded(["ΑΘΗΝΑΣ", "İZMİR", "CAFE\u0301", "straße"], type="category", values=listed)) == [
        *range(4)
    ]
    bare: Spec = {"type": "category", "values": ["Zürich", "Genève"], "clean": ["accents"], "other": "skip"}
    assert codes(encoded(["ZURICH", "geneve"], **bare)) == [0, 1]


@pytest.mark.parametrize(
    ("cells", "format"),
    [
        (["2026-01-01", "2026-01-31", None], None),
        (["01/01/2026", "31/01/2026", ""], "%d/%m/%Y"),
        ([date(2026, 1, 1), date(2026, 1, 31), None], None),
        ([datetime(2026, 1, 1, 23, 59), datetime(2026, 1, 31), None], None),
    ],
)
def test_dates(cells: list[Any], format: str | None) -> None:
    spec = DATE | {"min": "2026-01-01", "max": "2026-12-31", "missing": "differs"}
    result = encoded(cells, format, **spec)
    assert (codes(result), rows(result.bad)) == ([0, 30, None], [])
    assert rows(encoded(["2026-02-30", "x", "2027-01-01", "2026-03-01"], **spec).bad) == [[0, 1], [2]]
    zoned = pa.array([datetime(2026, 1, 1)], pa.timestamp("s", tz="America/New_York"))
    for odd, how in ((pa.array([True]), None), (zoned, None), (pa.array(["1.1.2026"]), "%d.%d.%Y")):
        assert rows(encoded(odd, how, **spec).bad) == [[0]]


@pytest.mark.parametrize("encoder", ["hash", "paper"])
def test_text_is_folded_and_has_equal_bits_in_every_field_under_one_salt(encoder: str) -> None:
    spec = field(**TEXT | {"encoder": encoder})

    def words(name: str, salt: str, cells: pa.Array) -> list[list[int]]:
        column = encode(name, spec, cells, salt).column
        assert isinstance(column, Bits)
        assert column.present.tolist() == [bool(cell and cell.strip()) for cell in cells.to_pylist()]
        return column.words.tolist()

    cells = pa.array(["Ａbc  DEF", " abc\tdef ", "abc def", "abd def", None, "  "])
    found = words("last", "00", cells)
    assert found[0] == found[1] == found[2] != found[3]
    assert not np.array(found[4:]).any()
    assert found == words("middle", "00", cells) != words("last", "01", cells)
    assert words("last", "00", cells.slice(2)) == found[2:], "a slice of an array is read from its offset"


@pytest.mark.parametrize(
    ("plain", "good", "odd"),
    [
        ({"type": "number", "min": 0, "max": 9, "step": 1}, "5", "many"),
        ({"type": "number", "min": 0, "max": 9, "step": 1}, "5", "10"),
        (
            {"type": "number", "min": 1900, "max": 2000, "step": 1, "derive": "year"},
            "1980-02-01",
            "1980-02-31",
        ),
        ({"type": "latitude"}, "5.5", "95"),
        ({"type": "date", "min": "1980-01-01", "max": "1980-12-31"}, "1980-02-01", "1.2.1980"),
        ({"type": "date", "min": "1980-01-01", "max": "1980-12-31"}, "1980-02-01", "1981-02-01"),
        ({"type": "category", "values": ["f", "m"]}, "f", "u"),
        ({"type": "text", "encoder": LETTERS}, "abc", "abcab"),
        ({"type": "text", "encoder": LETTERS}, "abc", "xyz"),
    ],
)
def test_what_cannot_be_read_is_an_empty_cell_in_every_way(plain: Spec, good: str, odd: str) -> None:
    spec = field(**plain | {"other": "missing", "missing": "differs"})
    strict = spec.model_copy(update={"missing": "error"})
    days = "%Y-%m-%d" if spec.reads_days else None

    def of(spec: FieldSpec, *cells: str | None) -> Encoded:
        return encode("x", spec, pa.array(cells, pa.large_string()), "00", days)

    def stored(of: Encoded) -> Any:
        return of.column.words if isinstance(of.column, Bits) else of.column.values

    found, empty = of(spec, good, odd, None), of(spec, good, None, None)
    assert not found.bad
    assert not found.left_out
    assert sum(int(marks.sum()) for marks in found.unread.values()) == 1
    assert found.column.present.tolist() == empty.column.present.tolist() == [True, False, False]
    assert np.array_equal(stored(found), stored(empty))
    assert sum(int(marks.sum()) for marks in of(strict, odd).bad.values()) == 1
