from __future__ import annotations

from datetime import date

import pytest

from accord.drafting.confirming import (
    Column,
    Columns,
    change,
    explain,
    find_fields,
    find_id,
    take_guesses,
    without_id,
)
from accord.drafting.guessing import Guess
from accord.drafting.kinds import ColumnKind, Confirmed
from accord.errors import UsageError

COLUMNS = take_guesses(
    [Guess("Nr", ColumnKind.ID), Guess("a=b", ColumnKind.TEXT), Guess("2", ColumnKind.SKIP, "empty")]
)


def kinds(columns: object) -> list[ColumnKind]:
    return [one.is_.kind for one in columns]  # type: ignore[attr-defined]


def test_a_column_is_named_or_counted_and_its_name_goes_first() -> None:
    assert kinds(change(COLUMNS, ["3=phone"])) == [ColumnKind.ID, ColumnKind.TEXT, ColumnKind.PHONE]
    assert kinds(change(COLUMNS, ["2=phone"])) == [ColumnKind.ID, ColumnKind.TEXT, ColumnKind.PHONE]
    assert kinds(change(COLUMNS, ["a=b=city"])) == [ColumnKind.ID, ColumnKind.CITY, ColumnKind.SKIP]
    for wrong in ("4=phone", "0=phone", "Nr", "=phone", "Nr="):
        with pytest.raises(UsageError):
            change(COLUMNS, [wrong])


def test_there_is_one_id_or_none() -> None:
    changed = change(COLUMNS, ["a=b=id"])
    assert kinds(changed) == [ColumnKind.SKIP, ColumnKind.ID, ColumnKind.SKIP]
    assert find_id(changed) == "a=b"
    assert find_id(without_id(COLUMNS)) is None


def test_fields_are_found_under_the_names_that_were_agreed() -> None:
    columns = change(COLUMNS, ["a=b=category:brand", "3=surname"])
    assert [(one.is_.name, one.own) for one in find_fields(columns)] == [
        ("brand", ("a=b",)),
        ("surname", ("2",)),
    ]


def columns(**kinds: ColumnKind) -> Columns:
    return take_guesses([Guess(name, kind) for name, kind in kinds.items()])


def found(of: Columns, as_of: date | None = None) -> dict[str, tuple[str, ...]]:
    return {one.is_.name: one.own for one in find_fields(of, as_of)}


def notes(of: Columns, as_of: date | None = None) -> dict[str, str]:
    return {one.name: one.note for one in explain(of, as_of) if one.note}


YEAR, MONTH, DAY = ColumnKind.BIRTH_YEAR, ColumnKind.BIRTH_MONTH, ColumnKind.BIRTH_DAY


def test_parts_are_one_field_where_they_are_complete() -> None:
    parts = columns(d=DAY, no=ColumnKind.HOUSE, m=MONTH, y=YEAR, way=ColumnKind.STREET)
    assert found(parts) == {"birth": ("d", "m", "y"), "street": ("no", "way")}
    assert not notes(parts)
    assert found(columns(y=YEAR, m=MONTH)) == {"birth_year": ("y",)}
    assert "one of them has no column" in notes(columns(y=YEAR, m=MONTH))["m"]
    full = columns(b=ColumnKind.BIRTH, y=YEAR, a=ColumnKind.AGE)
    assert found(full) == {"birth": ("b",)}
    assert [*notes(full)] == ["y", "a"]
    assert "no street" in notes(columns(no=ColumnKind.HOUSE))["no"]


def test_an_age_is_a_year_of_birth_on_some_day() -> None:
    age = columns(a=ColumnKind.AGE, s=ColumnKind.SURNAME)
    assert found(age) == {"surname": ("s",)}
    assert "--as-of 2024-06-30" in notes(age)["a"]
    day = date(2024, 6, 30)
    assert found(age, day) == {"birth_year": ("a",), "surname": ("s",)}
    assert not notes(age, day)


def test_words_before_a_family_name_are_read_before_it() -> None:
    columns = (
        Column("achternaam", Confirmed(ColumnKind.SURNAME)),
        Column("tussenvoegsel", Confirmed(ColumnKind.PREFIX)),
    )
    (found,) = find_fields(columns)
    assert found.is_.name == "surname"
    assert found.own == ("tussenvoegsel", "achternaam")
    (lone,) = explain(columns[1:], None)
    assert "no family name" in lone.note
