from __future__ import annotations

import pytest

from accord.drafting.confirming import change, fields_by_column, find_id, map_names, take_guesses, without_id
from accord.drafting.guessing import Guess
from accord.drafting.kinds import ColumnKind
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
    assert [one.name for one in fields_by_column(columns).values()] == ["brand", "surname"]
    assert map_names(columns, ["surname", "brand", "birth"]) == {"surname": "2", "brand": "a=b"}
    # What is called as agreed need not be said.
    assert map_names(COLUMNS, ["Nr"]) == {"Nr": "Nr"}
