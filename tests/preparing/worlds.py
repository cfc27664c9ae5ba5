"""A shop's table in every form that Python has of one, and a draft for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

import accord
from accord.preparing.draft import Draft

ROWS: list[dict[str, str | None]] = [
    {
        "sku": "s1",
        "title": "Sony Turntable PSLX350H",
        "maker": "Sony",
        "price": "149.00",
        "phone": "0301234567",
    },
    {"sku": "s2", "title": "Bose Acoustimass 5", "maker": "Bose", "price": "399 EUR", "phone": "0301234568"},
    {"sku": "s3", "title": "Bose Wave radio", "maker": "Bose", "price": "unknown", "phone": None},
]
CELLS = sorted({str(cell) for row in ROWS for cell in row.values() if cell} - {"s1", "s2", "s3"})
TYPES = {"sku": "id", "title": "text:title", "maker": "category:brand", "price": "price", "phone": "skip"}
PARTIES = ("north", "south")


def shop() -> pa.Table:
    return pa.Table.from_pylist(ROWS)


@cache
def drafted() -> Draft:
    """The draft of the shop, made once: what is learnt for it takes a second."""
    return accord.draft(
        accord.propose(shop()).confirm(types=TYPES, parties=PARTIES, records=(100, 100), disclose=["brand"])
    )


def _file(folder: Path) -> Path:
    path = folder / "shop.csv"
    pa.csv.write_csv(shop(), path)
    return path


def _pandas(folder: Path) -> Any:
    import pandas

    return pandas.DataFrame(ROWS)


def _polars(folder: Path) -> Any:
    import polars

    return polars.DataFrame(ROWS)


def _duckdb(folder: Path) -> Any:
    import duckdb

    rows = shop()
    return duckdb.connect().from_arrow(rows)


FORMS: dict[str, Callable[[Path], Any]] = {
    "file": _file,
    "arrow": lambda folder: shop(),
    "stream": lambda folder: shop().to_reader(),
    "pandas": _pandas,
    "polars": _polars,
    "duckdb": _duckdb,
}
