"""The tables of docs/fields.md say what the code does."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from accord.fields.making import Cells, make
from accord.fields.recipe import STEPS
from accord.fields.schema import FieldSpec

PAGE = (Path(__file__).parents[2] / "docs" / "fields.md").read_text()


def rows(heading: str) -> list[list[str]]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return lines[2:]


def made(kind: str, before: str, said: str) -> str | None:
    kinds: dict[str, dict[str, Any]] = {
        "text": {"type": "text", "encoder": "hash"},
        "number": {"type": "number", "min": 0, "max": 9999, "step": 1},
        "date": {"type": "date", "min": "1900-01-01", "max": "2030-12-31", "missing": "differs"},
    }
    field: FieldSpec = TypeAdapter(FieldSpec).validate_python(kinds[kind] | tomllib.loads(said))
    return make("x", field, Cells({"x": pa.array([before])}, {})).shown()[0].as_py()


@pytest.mark.parametrize("row", rows("Steps"), ids=lambda row: row[0])
def test_steps(row: list[str]) -> None:
    step, _, before, after = (cell.strip("`") for cell in row)
    written = step if step.startswith("{") else f'"{step}"'
    assert made("text", before, f"clean = [{written}]") == after


def test_every_step_is_told() -> None:
    assert [row[0].strip("`") for row in rows("Steps")][:-1] == list(STEPS)


@pytest.mark.parametrize("row", rows("Derived values"), ids=lambda row: row[0])
def test_derived_values(row: list[str]) -> None:
    how, kinds, _, before, after = (cell.strip("`") for cell in row)
    kind = "date" if kinds == "date" else "text"
    assert made(kind, before, f"derive = {how}") == after
    if "number" in kinds:
        assert made("number", before, f"derive = {how}") == after
