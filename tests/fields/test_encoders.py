"""Cells become codes; bad cells are found, all of them, and policies are kept."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from accord.fields.columns import Bits, Integers
from accord.fields.encoders import Encoded, encode
from accord.fields.schema import FieldSpec, TextField


def encoded(cells: pa.Array, format: str | None = None, **spec: Any) -> Encoded:
    return encode("field", TypeAdapter(FieldSpec).validate_python(spec), cells, "00", format)


def codes(result: Encoded) -> list[int | None]:
    assert isinstance(result.column, Integers)
    pairs = zip(result.column.values.tolist(), result.column.present.tolist(), strict=True)
    return [value if present else None for value, present in pairs]


def bad(result: Encoded) -> dict[str, list[int]]:
    return {problem: np.flatnonzero(rows).tolist() for problem, rows in result.bad.items() if rows.any()}


NUMBER: dict[str, Any] = {"type": "number", "min": 0, "max": 10, "step": "0.1", "missing": "differs"}


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(["0", " 2.5 ", "1e1", None, "+.3"]),
        pa.array(["0", "2.5", "10", "", "0.3"]),
        pa.array([0.0, 2.5, 10.0, None, 0.3]),
        pa.array([Decimal("0"), Decimal("2.5"), Decimal("10"), None, Decimal("0.3")]),
    ],
)
def test_numbers_of_every_arrow_type(cells: pa.Array) -> None:
    result = encoded(cells, **NUMBER)
    assert codes(result) == [0, 25, 100, None, 3]
    assert bad(result) == {}


def test_all_bad_numbers_are_found() -> None:
    result = encoded(
        pa.array(["x", "nan", "11", "5", "inf", "-0.1", "1,5", None]), **NUMBER | {"missing": "error"}
    )
    assert bad(result) == {
        "is not a number": [0, 1, 4, 6],
        "is outside the agreed range 0 to 10": [2, 5],
        'is empty (the agreement says missing = "error")': [7],
    }


def test_the_range_is_judged_before_rounding() -> None:
    result = encoded(pa.array([10.04, -0.04, 9.96]), **NUMBER)
    assert bad(result) == {"is outside the agreed range 0 to 10": [0, 1]}


def test_logarithms_are_of_amounts_as_they_are_read() -> None:
    amounts = {**NUMBER, "min": -2, "max": 5, "step": "0.001", "derive": "log"}
    result = encoded(pa.array(["1", "-1000", "1.01e0", "0.001", "0", "", "ten", "200000"]), **amounts)
    assert codes(result)[:3] == [2000, 5000, 2004]
    assert bad(result) == {"is not a number": [6], "is outside the agreed range 0.01 to 100000": [3, 4, 7]}
    dear = encoded(pa.array(["50 EUR"]), **amounts, clean=[{"drop": ["eur"]}])
    assert codes(dear) == [3699]


def test_nan_and_infinity_of_a_float_column() -> None:
    result = encoded(pa.array([float("nan"), 1.0, float("inf"), 1e300]), **NUMBER)
    assert bad(result) == {"is not a number": [0, 2], "is outside the agreed range 0 to 10": [3]}


def test_a_column_that_cannot_be_numbers() -> None:
    result = encoded(pa.array([date(2026, 1, 1), None]), **NUMBER)
    assert bad(result) == {"is not a number": [0]}
    nested = encoded(pa.array([[1], None]), **NUMBER)
    assert list(bad(nested).values()) == [[0]]


LETTERS: dict[str, Any] = {
    "type": "text", "encoder": {"kind": "letters", "length": 4, "alphabet": "abcß "}, "missing": "differs",
}  # fmt: skip


def test_letters_are_those_of_the_folded_text() -> None:
    result = encoded(pa.array(["A b", " c\u00a0 C ", None, "Baß", "abca"]), **LETTERS)
    assert isinstance(result.column, Bits)
    assert bad(result) == {}
    assert result.column.present.tolist() == [True, True, False, True, True]
    spelt = [[1, 5, 2], [3, 5, 3], [], [2, 1, 4], [1, 2, 3, 1]]
    assert result.column.words[:, 0].tolist() == [
        sum(number << 3 * place for place, number in enumerate(row)) for row in spelt
    ]


def test_texts_that_letters_cannot_spell() -> None:
    cells = pa.array(["abcab", "xa", "ab", None, "xxxxx"])
    result = encoded(cells, **LETTERS | {"missing": "error"})
    assert bad(result) == {
        "is longer than the agreed 4 letters": [0, 4],
        "is spelt with a letter outside the agreed alphabet": [1],
        'is empty (the agreement says missing = "error")': [3],
    }
    skipping = encoded(cells, **LETTERS | {"other": "skip"})
    assert bad(skipping) == {}
    left_out = {reason: np.flatnonzero(rows).tolist() for reason, rows in skipping.left_out.items()}
    assert left_out == {
        "longer than the agreed 4 letters": [0, 4],
        "spelt with a letter outside the agreed alphabet": [1],
    }


def test_skip_leaves_records_out() -> None:
    result = encoded(pa.array(["11", None, "1"]), **NUMBER | {"missing": "skip", "other": "skip"})
    reasons = {reason: rows.tolist() for reason, rows in result.left_out.items()}
    outside = "outside the agreed range 0 to 10"
    assert reasons == {outside: [True, False, False], "empty": [False, True, False]}
    assert bad(result) == {}


CATEGORY: dict[str, Any] = {"type": "category", "values": ["Sony", "Bose"]}


def test_categories() -> None:
    cells = pa.array(["sony", " BOSE ", "apple", "", None])
    strict = encoded(cells, **CATEGORY)
    assert bad(strict) == {
        "is not in the agreed list of values": [2],
        'is empty (the agreement says missing = "error")': [3, 4],
    }
    lenient = encoded(cells, **CATEGORY, other="bin", missing="differs")
    assert codes(lenient) == [0, 1, 2, None, None]
    assert bad(lenient) == {}


def test_agreed_values_and_cells_fold_alike() -> None:
    """Final sigma, dotted I and a decomposed accent: what is listed is recognised."""
    values = ["ΑΘΗΝΑΣ", "İzmir", "Café", "Straße"]
    cells = pa.array(["ΑΘΗΝΑΣ", "İZMİR", "CAFE\u0301", "straße"])
    assert codes(encoded(cells, type="category", values=values)) == [0, 1, 2, 3]


DATE: dict[str, Any] = {"type": "date", "min": "2026-01-01", "max": "2026-12-31", "missing": "differs"}


@pytest.mark.parametrize(
    ("cells", "format"),
    [
        (pa.array(["2026-01-01", "2026-01-31", None]), None),
        (pa.array(["01/01/2026", "31/01/2026", ""]), "%d/%m/%Y"),
        (pa.array([date(2026, 1, 1), date(2026, 1, 31), None]), None),
        (pa.array([datetime(2026, 1, 1, 23, 59), datetime(2026, 1, 31), None]), None),
    ],
)
def test_dates(cells: pa.Array, format: str | None) -> None:
    result = encoded(cells, format, **DATE)
    assert codes(result) == [0, 30, None]
    assert bad(result) == {}


def test_bad_dates() -> None:
    result = encoded(pa.array(["2026-02-30", "x", "2027-01-01", "2026-03-01"]), **DATE)
    assert bad(result) == {
        "is not a date written as YYYY-MM-DD; `format=` names another format, missing_values what is empty": [
            0,
            1,
        ],
        "is outside the agreed range 2026-01-01 to 2026-12-31": [2],
    }
    assert bad(encoded(pa.array([True]), **DATE)) == {"is not a date": [0]}
    zoned = pa.array([datetime(2026, 1, 1)], pa.timestamp("s", tz="America/New_York"))
    assert bad(encoded(zoned, **DATE)) == {"is a moment in a time zone, not a day; store days": [0]}
    assert bad(encoded(pa.array(["1.1.2026"]), "%d.%d.%Y", **DATE))


def test_text_is_folded_before_it_is_compared() -> None:
    cells = pa.array(["Ａbc  DEF", " abc\tdef ", "abc def", "abd def", None, "  "])
    for encoder in ("hash", "paper"):
        result = encoded(cells, type="text", encoder=encoder, missing="differs")
        assert isinstance(result.column, Bits)
        words = result.column.words
        assert (words[0] == words[1]).all()
        assert (words[0] == words[2]).all()
        assert (words[0] != words[3]).any()
        assert (words[4:] == 0).all()
        assert result.column.present.tolist() == [True] * 4 + [False] * 2
        assert bad(result) == {}


def test_a_slice_of_an_array_is_read_from_its_offset() -> None:
    whole = pa.array(["x", "abc", "abd"])
    result = encoded(whole.slice(1), type="text", encoder="hash")
    other = encoded(pa.array(["abc", "abd"]), type="text", encoder="hash")
    assert isinstance(result.column, Bits)
    assert isinstance(other.column, Bits)
    assert (result.column.words == other.column.words).all()


def test_unpacked_bits_follow_the_words() -> None:
    words = np.array([[1 | 1 << 63, 1 << 5]], np.uint64)
    bits = Bits(words, 70, np.ones(1, np.bool_)).unpack()
    assert np.flatnonzero(bits[0]).tolist() == [0, 63, 69]


@pytest.mark.parametrize("encoder", ["hash", "paper"])
def test_equal_texts_have_equal_bits_in_every_field_under_one_salt(encoder: str) -> None:
    spec = TextField.model_validate({"type": "text", "encoder": encoder, "missing": "differs"})

    def words(name: str, salt: str) -> list[list[int]]:
        column = encode(name, spec, pa.array(["Ann", "Bob", None]), salt).column
        assert isinstance(column, Bits)
        return column.words.tolist()

    assert words("last", "00") == words("middle", "00") != words("last", "01")


UNREAD: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "number", "min": 0, "max": 9, "step": 1}, "5", "many"),
    ({"type": "number", "min": 0, "max": 9, "step": 1}, "5", "10"),
    ({"type": "number", "min": 1900, "max": 2000, "step": 1, "derive": "year"}, "1980-02-01", "1980-02-31"),
    ({"type": "latitude"}, "5.5", "95"),
    ({"type": "date", "min": "1980-01-01", "max": "1980-12-31"}, "1980-02-01", "1.2.1980"),
    ({"type": "date", "min": "1980-01-01", "max": "1980-12-31"}, "1980-02-01", "1981-02-01"),
    ({"type": "category", "values": ["f", "m"]}, "f", "u"),
    ({"type": "text", "encoder": {"kind": "letters", "length": 3, "alphabet": "abc"}}, "abc", "abcd"),
    ({"type": "text", "encoder": {"kind": "letters", "length": 3, "alphabet": "abc"}}, "abc", "xyz"),
]


@pytest.mark.parametrize(("plain", "good", "odd"), UNREAD)
def test_what_cannot_be_read_is_an_empty_cell_in_every_way(
    plain: dict[str, Any], good: str, odd: str
) -> None:
    spec = TypeAdapter(FieldSpec).validate_python(plain | {"other": "missing", "missing": "differs"})
    strict = spec.model_copy(update={"missing": "error"})
    days = "%Y-%m-%d" if spec.reads_days else None

    def made(of: FieldSpec, *cells: str | None) -> Encoded:
        return encode("x", of, pa.array(cells, pa.large_string()), "00", days)

    def values(of: Encoded) -> Any:
        return of.column.words if isinstance(of.column, Bits) else of.column.values

    found, empty = made(spec, good, odd, None), made(spec, good, None, None)
    assert not found.bad
    assert not found.left_out
    assert sum(int(rows.sum()) for rows in found.unread.values()) == 1
    assert found.column.present.tolist() == empty.column.present.tolist() == [True, False, False]
    assert np.array_equal(values(found), values(empty))
    assert sum(int(rows.sum()) for rows in made(strict, odd).bad.values()) == 1
