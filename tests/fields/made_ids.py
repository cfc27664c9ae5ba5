"""Ids that were made for the rows of a file, as any program reads them."""

from __future__ import annotations

import csv
from pathlib import Path

from accord.table.sources.opening import ids_file


def read_made(table: Path) -> dict[int, str]:
    """By the number of a row, its id; rows that are gone have none."""
    with ids_file(table).open(newline="") as file:
        return {int(line["row"]): line["id"] for line in csv.DictReader(file) if line["row"]}
