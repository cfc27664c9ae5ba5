"""Columns as they are called and filled in real tables (`columns.toml`), and what each is taken for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.drafting.confirming import change, find_fields, take_guesses
from accord.drafting.guessing import Guess, Sample, guess_kinds
from accord.drafting.headers import without_qualifiers
from accord.drafting.kinds import SEVERAL, ColumnKind
from accord.drafting.proposing import suggest

CASES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("columns.toml").read_text("utf-8"))


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
