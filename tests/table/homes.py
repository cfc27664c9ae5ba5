"""One table of people, and the homes that it may have: files and databases."""

from __future__ import annotations

import random
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from accord.fields.schema import DateField, FieldSpec, NumberField
from tests.table.databases import Home

FIELDS: dict[str, FieldSpec] = {
    "born": DateField(type="date", min=date(1900, 1, 1), max=date(2100, 1, 1)),
    "height": NumberField(type="number", min=Fraction(0), max=Fraction(300), step=Fraction(1, 4)),
}
DISCLOSED = ("name", "born")


def people(count: int = 40) -> pa.Table:
    """People in the order of their ids; some have no name."""
    numbers = range(count)
    return pa.table(
        {
            "id": [f"p{i:05d}" for i in numbers],
            "name": [None if i % 7 == 3 else f"Zoë {i % 5}" for i in numbers],
            "born": pa.array(
                [date(1950, 1, 1) + timedelta(days=97 * (i % 500)) for i in numbers], pa.date32()
            ),
            "height": [150 + i * 0.75 for i in numbers],
        }
    )


def shuffled(table: pa.Table, seed: int = 1) -> pa.Table:
    """The same rows in another order, as a database may give them."""
    rows = random.Random(seed).sample(range(table.num_rows), table.num_rows)
    return table.take(pa.array(rows, pa.int64()))


def write_csv(table: pa.Table, folder: Path) -> str:
    pyarrow.csv.write_csv(table, folder / "people.csv")
    return str(folder / "people.csv")


def write_parquet(table: pa.Table, folder: Path) -> str:
    pyarrow.parquet.write_table(table, folder / "people.parquet")
    return str(folder / "people.parquet")


def write_table(table: pa.Table, home: Home) -> str:
    """As the table `people` of a database; gives its address."""
    rows = [f"({', '.join(map(_quote, row.values()))})" for row in table.to_pylist()]
    home.run(
        "CREATE TABLE people (id varchar(20), name varchar(20), born date, height numeric(9, 2))",
        *([f"INSERT INTO people VALUES {', '.join(rows)}"] if rows else []),  # noqa: S608
    )
    return str(home.address("people"))


def _quote(cell: Any) -> str:
    return "NULL" if cell is None else f"'{cell}'"
