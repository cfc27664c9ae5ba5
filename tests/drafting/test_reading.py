"""What a layout should say of cells (`readings.toml`): marks, spellings, numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from accord.drafting.guessing import Sample
from accord.drafting.kinds import ColumnKind
from accord.drafting.reading import Reading, order_of, propose, share_marks

CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("readings.toml").read_text("utf-8"))[
    "case"
]


def found(reading: Reading) -> dict[str, Any]:
    """A reading as the file writes it, without what is empty."""
    said = {name: [*value] if isinstance(value, tuple) else value for name, value in reading.said.items()}
    rest = {
        "unknown": [*reading.unknown],
        "unknown_cells": reading.unknown_cells,
        "unsure": [*reading.unsure],
        "lone": reading.lone,
    }
    return said | {name: value for name, value in rest.items() if value}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["of"])
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
