"""Columns as they are called and filled in real tables (`columns.toml`), what each is taken for, and by which
cells."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.drafting.confirming import change, find_fields, take_guesses
from accord.drafting.guessing import Guess, Sample, guess_kinds
from accord.drafting.headers import without_qualifiers
from accord.drafting.kinds import SEVERAL, ColumnKind
from accord.drafting.proposing import suggest
from accord.drafting.reading import Reading, order_of, propose, share_marks
from accord.drafting.sampling import look_at
from accord.errors import DataError
from accord.table.layout import Layout
from accord.table.sniffing import sniff_text

FOLDER = Path(__file__).parent
CASES: dict[str, Any] = tomllib.loads(FOLDER.joinpath("columns.toml").read_text("utf-8"))


def cells_of(text: str) -> Iterator[str]:
    """The cells that a row of the file has, with K{0..39} spelt out."""
    for cell in map(str.strip, text.split("|")):
        if counted := re.fullmatch(r"(.*)\{(\d+)\.\.(\d+)\}(.*)", cell):
            start, first, last, end = counted.groups()
            yield from (f"{start}{number}{end}" for number in range(int(first), int(last) + 1))
        else:
            yield cell


def read(case: Mapping[str, Any], rows: Sequence[str]) -> tuple[list[Sample], list[str]]:
    """The columns as samples of one length, and what they are."""
    parts = [re.split(r" \| | \|$", row, maxsplit=2) for row in rows]
    cells = [[*cells_of(text[0])] * case.get("times", 1) if text else [] for _, _, *text in parts]
    length = max(map(len, cells))
    samples = []
    for (header, *_), some in zip(parts, cells, strict=True):
        column = tuple(islice(cycle(some), length))
        names_rows = case.get("ids", True) and len(set(column)) == len(column)
        filled = case.get("filled", {}).get(header, 1.0)
        samples.append(Sample(header, column, names_rows, filled_share=filled))
    return samples, [kind for _, kind, *_ in parts]


def told(guess: Guess) -> str:
    """A guess as the file writes it."""
    name = f":{guess.name}" if guess.name else ""
    return f"{guess.kind}{name}" + (f"<{guess.meant}" if guess.meant else "")


def require_guesses(case: Mapping[str, Any], rows: Sequence[str]) -> None:
    samples, wanted = read(case, rows)
    guesses = guess_kinds(samples, case.get("keep", False))
    found = [f"{one.column}: {told(one)}" for one in guesses]
    assert found == [
        f"{sample.column}: {told(guess) if kind == '*' else kind}"
        for sample, guess, kind in zip(samples, guesses, wanted, strict=True)
    ]
    for sample, guess in zip(samples, guesses, strict=True):
        assert bool(guess.note) == (guess.kind is ColumnKind.SKIP)
        assert not any(cell in guess.note for cell in sample.cells if len(cell) > 3), "a note shows no cell"


@pytest.mark.parametrize("case", CASES["table"], ids=lambda case: case["of"])
def test_columns_of_a_table_are_taken_for_what_they_are(case: dict[str, Any]) -> None:
    require_guesses(case, case["columns"])


@pytest.mark.parametrize("case", CASES["alone"], ids=lambda case: case["of"])
def test_columns_by_themselves_are_taken_for_what_they_are(case: dict[str, Any]) -> None:
    for row in case["columns"]:
        require_guesses(case, [row])


@pytest.mark.parametrize("kind", CASES["words"])
def test_headers_of_eighteen_languages(kind: str) -> None:
    words, _, cells = CASES["words"][kind].partition(" | ")
    for word in words.split():
        require_guesses({"ids": False}, [f"{word} | {kind} | {cells}"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["id", "name", "dob", "Ort", "price", "lat", "x", "", "=", "e-mail"])
            | st.text(max_size=9),
            st.lists(st.text(max_size=12) | st.dates().map(str) | st.floats().map(str), max_size=6),
        ),
        max_size=8,
    )
)
def test_any_table_has_a_guess_that_an_agreement_can_hold(table: list[tuple[str, list[str]]]) -> None:
    samples = [Sample(name, tuple(cells), len(set(cells)) == len(cells)) for name, cells in table]
    guesses = guess_kinds(samples)
    assert [guess.column for guess in guesses] == [name for name, _ in table]
    once = [one.kind for one in guesses if one.kind not in SEVERAL and one.kind is not ColumnKind.SKIP]
    assert len(once) == len(set(once))
    assert all(guess.note for guess in guesses if guess.kind is ColumnKind.SKIP)


@pytest.mark.parametrize("cell", ["a" * 6_000, "€" + " " * 3_000 + "x", "5 " + "ab " * 2_000 + "!"])
@pytest.mark.parametrize("column", ["x7", "street", "price"])
def test_a_long_cell_fits_no_pattern(column: str, cell: str) -> None:
    """A pattern of cubic time would take minutes."""
    guess = guess_kinds([Sample(column, (cell,))])[0]
    assert guess.kind in (ColumnKind.TEXT, ColumnKind.STREET if column == "street" else ColumnKind.SKIP)


def test_qualifiers_go_only_where_a_word_is_left() -> None:
    headers = ["birth_year", "birth_month", "street_number", "address_2", "party_name", "home_id"]
    assert without_qualifiers(headers) == headers
    assert without_qualifiers(["CUSTOMER_ADDRESS_CITY", "x_zip", "y_zip"]) == ["city", "x_zip", "y_zip"]


@pytest.mark.parametrize(
    ("cells", "limits"),
    [
        (("31.01.62", "01.02.25", "03.04.11"), ("1900-01-01", "2026-12-31")),
        (("1880-01-02", "1799-12-31", "1801", "x"), ("1700-01-01", "2026-12-31")),
    ],
)
def test_the_range_of_births_ends_this_year(cells: tuple[str, ...], limits: tuple[str, str]) -> None:
    fields = find_fields(change(take_guesses(guess_kinds([Sample("dob", cells)])), ["dob=birth"]))
    assert suggest(fields, [Sample("dob", cells)], date(2026, 11, 19)).ranges == {"birth": limits}


# -- what a layout says of the cells (`readings.toml`) ----------------------------------------

READINGS: list[dict[str, Any]] = tomllib.loads(FOLDER.joinpath("readings.toml").read_text("utf-8"))["case"]


def found(reading: Reading) -> dict[str, Any]:
    """A reading as the file writes it, without what is empty."""
    rest = {name: getattr(reading, name) for name in ("unknown", "unknown_cells", "unsure", "lone")}
    said = {**reading.said, **{name: value for name, value in rest.items() if value}}
    return {name: [*value] if isinstance(value, tuple) else value for name, value in said.items()}


@pytest.mark.parametrize("case", READINGS, ids=lambda case: case["of"])
def test_columns_are_read_as_they_are_written(case: dict[str, Any]) -> None:
    for row in case["rows"]:
        cells = tuple(row["cells"].split(" | ")) * case.get("times", 1)
        agreed = tuple(row.get("agreed", "").split())
        reading = propose(ColumnKind(row["kind"]), Sample(row.get("header", "c"), cells), agreed)
        asked = ("kind", "header", "cells", "agreed")
        wanted = {name: value for name, value in row.items() if name not in asked and value}
        assert found(reading) == wanted, row["cells"]
        assert not any(cell in reading.tell() for cell in reading.unknown)


def test_whole_names_begin_with_the_surname_where_given_names_follow() -> None:
    assert order_of(Sample("c", ("Smith Mary", "Jones Linda"))) == "surname given"
    assert order_of(Sample("c", ("Mary Smith", "Linda Jones"))) == "given surname"


def test_a_code_of_unknown_is_one_in_every_column_of_codes() -> None:
    table = {
        "sex": (ColumnKind.SEX, ("F", "M", "U")),
        "race": (ColumnKind.CATEGORY, ("W", "B", "U")),
        "ethnic": (ColumnKind.CATEGORY, ("HL", "NL", "UN")),
        "initial": (ColumnKind.MIDDLE, ("A", "B", "U")),
    }

    def shared(table: Mapping[str, tuple[ColumnKind, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
        samples = [Sample(name, cells * 20) for name, (_, cells) in table.items()]
        marked = share_marks({name: kind for name, (kind, _) in table.items()}, samples)
        return {one.column: propose(table[one.column][0], one).said.get("missing", ()) for one in marked}

    assert shared(table) == {"sex": ("U",), "race": ("U",), "ethnic": ("UN",), "initial": ()}
    assert shared(table | {"sex": (ColumnKind.SEX, ("F", "M"))})["race"] == ()
    numbers = {
        "sex": (ColumnKind.SEX, ("1", "2", "9")),
        "status": (ColumnKind.CATEGORY, ("1", "2", "9")),
    }
    assert shared(numbers) == {"sex": ("9",), "status": ("9",)}
    assert shared(numbers | {"status": (ColumnKind.CATEGORY, ("7", "8", "9"))})["status"] == ()


# -- the cells by which columns are guessed -----------------------------------------------------------------

TITLE = "Members 2024,,\nid,a,b\n1,x,y\n"
"""A title stands above the header."""


def test_cells_are_texts_whatever_the_file(tmp_path: Path) -> None:
    columns = {
        "n": ([1, 2, 3], ("1", "2", "3")),
        "day": ([date(2020, 1, 31), None, date(2020, 2, 1)], ("2020-01-31", "2020-02-01")),
        "text": ([" a ", "", "a"], ("a", "a")),
        "bytes": ([b"x", b"y", b"z"], ()),
        "list": ([[1], [2], [3]], ()),
    }
    table = pa.table({name: cells for name, (cells, _) in columns.items()})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    look = look_at(tmp_path / "t.parquet", Layout())
    assert look.rows == 3
    assert {one.column: one.cells for one in look.samples} == {
        name: read for name, (_, read) in columns.items()
    }
    assert [one.column for one in look.samples if one.names_rows] == ["n"]


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
        (TITLE, [""]),
        # The first line is a record.
        (
            "7,Smith,1980-01-02,a@b.org\n8,Jones,1975-12-31,\n9,May,1999-03-04,c@d.org",
            ["column 3", "column 4"],
        ),
    ],
)
def test_headers_that_name_no_columns(content: str, places: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(DataError) as raised:
        look_at(tmp_path / "t.csv", Layout())
    assert [fault.place for fault in raised.value.faults] == places
    assert not any(cell in str(raised.value) for cell in ("Smith", "1980-01-02", "a@b.org"))


@pytest.mark.parametrize(
    ("content", "columns", "nameless"),
    [
        # A column without name and cells is left out. Days are names where other cells stand below.
        ('id,a,\n1,"x\n,y",\n2,z,\n', "id a", (3,)),
        ("id,2024-01-01,2024-02-01\n1,3,4\n2,5,6\n", "id 2024-01-01 2024-02-01", ()),
        (TITLE, "id a b", ()),
    ],
)
def test_headers_below_a_title_or_with_odd_names(
    content: str, columns: str, nameless: tuple[int, ...], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(content)
    look = look_at(tmp_path / "t.csv", sniff_text(tmp_path / "t.csv", Layout(), (), ()))
    assert [sample.column for sample in look.samples] == columns.split()
    assert look.nameless == nameless


def test_rows_that_a_column_cannot_tell_apart_are_named() -> None:
    table = pa.table({"id": ["1", "2", "3", "2"], "nr": ["7", "8", None, "9"], "n": ["x", "y", "z", "w"]})
    same, empty, differ = look_at(table, Layout()).samples
    assert all(row in same.clash for row in ("2", "4"))
    assert all(number in empty.clash for number in ("1", "3"))
    assert (differ.clash, differ.names_rows) == ("", True)
