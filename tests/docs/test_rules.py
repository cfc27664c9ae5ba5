"""What the page on rules says of missing values is what rules do."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from accord.fields.load import load_records
from accord.fields.schema import CategoryField
from accord.rules.evaluate import Tables, holds
from accord.rules.text import parse_rule

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"
FIELDS = {"f": CategoryField(type="category", values=("x", "y"), missing="differs")}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_the_truth_table_of_missing_values() -> None:
    found = re.search(r"^\| A's `f` \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE.read_text(), re.M)
    assert found
    head, rows = cells(found[0].split("\n")[0]), [cells(line) for line in found[1].splitlines()]
    assert sorted((a, b) for a, b, *_ in rows) == [("", ""), ("", "y"), ("x", ""), ("x", "x"), ("x", "y")]
    for column, rule in enumerate(head[2:], 2):
        for row in rows:
            sides = [
                load_records(pa.table({"id": ["1"], "f": [value or None]}), FIELDS, "00").columns
                for value in row[:2]
            ]
            first = np.zeros(1, np.int64)
            held = holds(parse_rule(rule.strip("`")), Tables(FIELDS, *sides), first, first)[0]
            assert row[column] == ("yes" if held else "no"), (rule, row)
