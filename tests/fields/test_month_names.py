"""Months in the words of twelve languages."""

from __future__ import annotations

from datetime import date

import pytest

from accord.fields.date_formats import FORMATS
from accord.fields.making import parse_date


@pytest.mark.parametrize(
    "text",
    [
        *("3 de mayo de 1980", "3. Mai 1980", "3 mai 1980", "3 maggio 1980", "3 mei 1980"),
        *("3 de maio de 1980", "3 maja 1980", "3 maj 1980", "03-May-1980", "May 3, 1980"),
        *("3 MAYO 1980", "3. mai 1980"),
    ],
)
def test_a_month_is_read_in_any_language(text: str) -> None:
    assert {day for how in FORMATS if (day := parse_date(text, how))} == {date(1980, 5, 3)}


@pytest.mark.parametrize(
    ("text", "month"),
    [("7 août 1999", 8), ("7 févr. 1999", 2), ("7 października 1999", 10), ("7. März 1999", 3)],
)
def test_accents_and_dots_do_not_matter(text: str, month: int) -> None:
    assert {day for how in FORMATS if (day := parse_date(text, how))} == {date(1999, month, 7)}


def test_the_first_of_a_month_may_be_an_ordinal_and_other_words_are_no_months() -> None:
    assert parse_date("1er avril 1980", "%d %B %Y") == date(1980, 4, 1)
    assert parse_date("3 de nada de 1980", "%d de %B de %Y") is None
