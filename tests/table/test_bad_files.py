"""Bad files, and what is told of each; where that does not say what to do, docs/prepare.md does."""

from __future__ import annotations

import gzip
import os
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pydantic import TypeAdapter

from accord.errors import AccordError
from accord.fields.columns import Bits
from accord.fields.date_formats import sniff_dates
from accord.fields.load import load_records
from accord.fields.schema import FieldSpec
from accord.table.layout import Layout
from accord.table.sniffing import sniff_text
from tests.fields.made_ids import read_made

PAGE = Path(__file__).parents[2] / "docs" / "prepare.md"
BIRTH = {"type": "date", "min": "1900-01-01", "max": "2030-12-31"}
FIELDS: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    {
        "name": {"type": "text", "encoder": "hash"},
        "birth": BIRTH,
        "price": {"type": "number", "min": 0, "max": 100, "step": "0.01"},
    }
)
HEADER = "id,name,birth,price\n"
GOOD = HEADER + "1,Ann,2020-01-31,5\n2,Bob,2020-02-28,6\n"
DAY = datetime(2020, 1, 31, tzinfo=UTC)
Make = Callable[[Path], Path]


def text(content: str, encoding: str = "utf-8", name: str = "t.csv") -> Make:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content.encode(encoding))
        return folder / name

    return make


def octets(content: bytes, name: str) -> Make:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def columns(**cells: Any) -> Make:
    """A parquet file with one record, these cells in it being others."""

    def make(folder: Path) -> Path:
        row = {"id": "1", "name": "Ann", "birth": DAY.date(), "price": 5.0, **cells}
        pyarrow.parquet.write_table(pa.Table.from_pylist([row]), folder / "t.parquet")
        return folder / "t.parquet"

    return make


def book(place: str, cell: Any, **at: int) -> Make:
    """A workbook with one record and a cell."""

    import openpyxl

    def make(folder: Path) -> Path:
        made = openpyxl.Workbook()
        rows: list[list[Any]] = [[*HEADER.strip().split(",")], ["1", "Ann", "2020-01-31", 5]]
        for i, row in enumerate(rows, at.get("row", 1)):
            for j, value in enumerate(row, 1):
                made.active.cell(i, j, value)
        made.active[place] = cell
        if cell == "#N/A":
            made.active[place].data_type = "e"
        made.save(folder / "t.xlsx")
        return folder / "t.xlsx"

    return make


def folder_itself(folder: Path) -> Path:
    (folder / "t.csv").mkdir()
    return folder / "t.csv"


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "t.csv")
    return folder / "t.csv"


def cut(folder: Path) -> Path:
    path = columns()(folder)
    path.write_bytes(path.read_bytes()[:-20])
    return path


BAD: dict[str, Make] = {
    "a file that is not there": lambda folder: folder / "none.csv",
    "a folder without parquet files": folder_itself,
    "a pipe without a writer": pipe,
    "an ending that is not known": text(GOOD, name="t.doc"),
    "an empty file": text(""),
    "empty lines only": text("\n\n\n"),
    "a header and nothing below": text(HEADER),
    "no header": text(GOOD.removeprefix(HEADER)),
    "semicolons": text(GOOD.replace(",", ";")),
    "tabs": text(GOOD.replace(",", "\t"), name="t.tsv"),
    "bars": text(GOOD.replace(",", "|"), name="t.txt"),
    "Windows or Latin-1 letters": text(GOOD.replace("Ann", "Änn €"), "cp1252"),
    "UTF-16": text(GOOD, "utf-16"),
    "UTF-16 without a byte order mark": text(GOOD, "utf-16-le"),
    "a NUL in a cell": text(GOOD.replace("Bob", "B\0b")),
    "a quote that is not closed": text(GOOD.replace("Ann", '"Ann"').replace('n"', "n")),
    "letters after a closing quote": text(GOOD.replace("Ann", '"Ann" Lee').replace("Bob", '"Bob"')),
    "quotes that mean inches": text(GOOD.replace("Ann", '"12 inch').replace("Bob", '15" screen')),
    "single quotes around cells": text(re.sub(r"(\w[^,\n]*)", r"'\1'", GOOD).replace("Ann", "Lee, Ann")),
    "a row with more or fewer cells": text(GOOD.replace("Bob", "Lee, Bob")),
    "a column of another name": text(GOOD.replace("name", "Name")),
    "a column that is there twice": text(HEADER.replace("price", "price,name") + "1,Ann,2020-01-31,5,x\n"),
    "a million columns": text(",".join(f"c{i}" for i in range(10**6)) + "\n"),
    "a cell longer than 1 MiB": text(GOOD.replace("Bob", "b" * ((1 << 20) + 1))),
    "a row longer than 8 MiB": text(
        HEADER.strip() + ",x" * 9 + "\n1,Ann,2020-01-31,5" + f",{'x' * 1_000_000}" * 9 + "\n"
    ),
    "a small gz that is huge inside": octets(gzip.compress(bytes(b"x" * (32 << 20)), 1), "t.csv.gz"),
    "a damaged gz": octets(gzip.compress(GOOD.encode() * 50)[:60], "t.csv.gz"),
    "ids that repeat": text(GOOD.replace("\n2,", "\n1,")),
    "an id that is missing": text(GOOD.replace("\n2,", "\n,")),
    "an empty cell": text(GOOD.replace("Bob", "")),
    "dates in another format": text(
        GOOD.replace("2020-01-31", "31.1.2020").replace("2020-02-28", "28.2.2020")
    ),
    "dates that can be read in two ways": text(
        GOOD.replace("2020-01-31", "01/02/2020").replace("2020-02-28", "03/04/2020")
    ),
    "days with midnight behind them": text(re.sub(r"(2020-\S\S-\d\d)", r"\1 00:00:00", GOOD)),
    "30 February": text(GOOD.replace("02-28", "02-30")),
    "a moment in a time zone": columns(birth=DAY),
    "NaN or infinity for a number": text(GOOD.replace(",5\n", ",NaN\n").replace(",6\n", ",1e999\n")),
    "NaN or infinity for a text": columns(name=float("nan")),
    "a decimal comma": text(GOOD.replace(",5\n", ',"5,50"\n')),
    "a number that is too large": text(GOOD.replace(",5\n", ",101\n")),
    "a parquet file that was cut": cut,
    "a csv called parquet": text(GOOD, name="t.parquet"),
    "a workbook with a password, or an old .xls": octets(
        bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512), "t.xlsx"
    ),
    "a workbook with a cell far away": book("XFD1048576", 1),
    "a workbook with formulas that failed": book("B2", "#N/A"),
}


TOLD = {
    "a file that is not there": "no such file",
    "a folder without parquet files": "it is a folder",
    "a pipe without a writer": "it is a pipe or a device",
    "an ending that is not known": "its ending '.doc' is not known",
    "an empty file": "it is empty (0 bytes)",
    "empty lines only": "it holds no table of cells",
    "a header and nothing below": "There are no records below the header",
    "no header": "None of the expected columns was found",
    "semicolons": "There is only one column",
    "tabs": "There is only one column",
    "bars": "There is only one column",
    "Windows or Latin-1 letters": "is not utf-8 text",
    "UTF-16": "is not utf-8 text",
    "UTF-16 without a byte order mark": "holds a NUL character",
    "a NUL in a cell": "line 3 holds a NUL character",
    "a quote that is not closed": "the quoted cell that begins in line 2 is not closed",
    "letters after a closing quote": "a quoted cell continues after its closing quote",
    "quotes that mean inches": "a quoted cell continues after its closing quote",
    "single quotes around cells": "column 'id': was not found",
    "a row with more or fewer cells": "row 2: has 5 cells, the header 4",
    "a column of another name": "Did you mean 'Name'?",
    "a column that is there twice": "appears more than once in the header",
    "a million columns": "it has more than 16,384 columns",
    "a cell longer than 1 MiB": "row 2, the cell in column 2 is longer than 1 MiB",
    "a row longer than 8 MiB": "row 1 is longer than 8 MiB",
    "a small gz that is huge inside": "is longer than 1 MiB",
    "a damaged gz": "cannot be read",
    "ids that repeat": "repeats the id of another row",
    "an id that is missing": "every record needs an id",
    "an empty cell": 'is empty (the agreement says missing = "error")',
    "dates in another format": "is not a date written as YYYY-MM-DD",
    "dates that can be read in two ways": "is not a date written as YYYY-MM-DD",
    "days with midnight behind them": "is not a date written as YYYY-MM-DD",
    "30 February": "is not a date written as YYYY-MM-DD",
    "a moment in a time zone": "is a moment in a time zone, not a day",
    "NaN or infinity for a number": "is not a number",
    "NaN or infinity for a text": "is NaN or infinite",
    "a decimal comma": "is not a number",
    "a number that is too large": "is outside the agreed range 0 to 100",
    "a parquet file that was cut": "cannot be read",
    "a csv called parquet": "Is it what its name says?",
    "a workbook with a password, or an old .xls": "it has a password, or is an old .xls",
    "a workbook with a cell far away": "its sheet spans more than 33,554,432 cells",
    "a workbook with formulas that failed": "cells B2: hold formulas that ended in errors",
}
"""What is said of each."""

FOUND = (
    "semicolons",
    "tabs",
    "bars",
    "Windows or Latin-1 letters",
    "UTF-16",
    "UTF-16 without a byte order mark",
    "quotes that mean inches",
    "single quotes around cells",
    "dates in another format",
    "days with midnight behind them",
)
"""What `accord check` finds out by itself."""


def test_the_page_helps_with_what_is_said() -> None:
    body = PAGE.read_text().partition("## Bad files")[2]
    said = re.findall(r"^\| ([^|]+) \|", body, re.M)[1:]
    assert len(said) >= 6
    assert [one for one in said if not any(one in told for told in TOLD.values())] == []
    assert TOLD.keys() == BAD.keys()


@pytest.mark.parametrize("file", BAD)
def test_what_you_get(file: str, tmp_path: Path) -> None:
    path = BAD[file](tmp_path)
    with pytest.raises(AccordError) as caught:
        load_records(path, FIELDS, "00")
    assert TOLD[file] in str(caught.value)
    assert caught.value.exit_code == 4
    for value in ("Ann", "Bob", "Lee", "inch"):
        assert value not in str(caught.value)


@pytest.mark.parametrize("file", FOUND)
def test_what_check_finds_is_enough(file: str, tmp_path: Path) -> None:
    path = BAD[file](tmp_path)
    layout = sniff_text(path, Layout(), (), ["id", *FIELDS])
    found = {name: dates.fits for name, dates in sniff_dates(path, layout, FIELDS).items()}
    layout = layout.read_dates({name: fits[0] for name, fits in found.items() if len(fits) == 1})
    assert len(load_records(path, FIELDS, "00", (), layout)) == 2


def test_the_good_ones_are_good(tmp_path: Path) -> None:
    assert len(load_records(text(GOOD)(tmp_path), FIELDS, "00")) == 2
    assert len(load_records(columns()(tmp_path), FIELDS, "00")) == 1
    assert len(load_records(book("F2", "a note")(tmp_path), FIELDS, "00")) == 1


# -- nothing that one row decides changes how others are read ---------------------------------------------

LENIENT: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    {
        "name": {"type": "text", "encoder": "hash", "missing": "differs"},
        "kind": {"type": "category", "values": ["a", "1"], "missing": "skip", "other": "skip"},
        "birth": {
            "type": "date",
            "min": "1900-01-01",
            "max": "2030-12-31",
            "missing": "skip",
            "other": "skip",
        },
        "price": {"type": "number", "min": 0, "max": 100, "step": 1, "missing": "skip", "other": "skip"},
    }
)
CELLS: dict[str, list[str]] = {
    "name": [
        "",
        "x",
        "1",
        "1.0",
        "TRUE",
        "2020-01-31",
        "a;b",
        "a\tb",
        "a,b",
        'a"b',
        "a\nb",
        "'q'",
        "ä",
        "€",
        "x" * 9999,
    ],
    "kind": ["", "a", "1", "b"],
    "birth": ["", "2020-01-31", "2020-01-02", "1800-01-01"],
    "price": ["", "5", "5.5", "1e2", "1e9", "-1"],
}


def read_around(path: Path, layout: Layout) -> list[Any]:
    """All that is read of the rows but the one in the middle."""
    records = load_records(path, LENIENT, "00", list(LENIENT), layout)
    around = {"1", "3"}
    if layout.make_ids:
        around = {id for row, id in read_made(path).items() if str(row) in around}
    kept = [i for i, name in enumerate(records.ids.to_pylist()) if name in around]
    assert len(kept) == 2
    parts = [c.words if isinstance(c, Bits) else c.values for c in records.columns.values()]
    shown = records.disclosed.take(pa.array(kept)).to_pylist()
    return [records.ids.take(pa.array(kept)).to_pylist(), shown, *(part[kept].tolist() for part in parts)]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize("layout", [Layout(), Layout(make_ids=True)], ids=["ids", "made"])
def test_no_row_decides_how_others_are_read(tmp_path: Path, ending: str, layout: Layout) -> None:
    """The row in the middle is every row that can be; its neighbours are read the same."""
    import openpyxl

    draw, seen = random.Random(5), []
    first, last = ["1", "x", "a", "2020-01-02", "7"], ["3", "01/02/2020", "1", "2020-03-04", "8.0"]
    for _ in range(40):
        row = ["2", *(draw.choice(CELLS[name]) for name in LENIENT)]
        table = [["id", *LENIENT], first, row, last]
        path = tmp_path / f"t.{ending}"
        if ending == "csv":
            quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in cells) for cells in table]
            path.write_text("\n".join(quoted) + "\n")
        else:
            made = openpyxl.Workbook()
            for cells in table:
                made.active.append([float(c) if c.replace(".", "").isdigit() else c for c in cells])
            made.save(path)
        seen.append(read_around(path, layout))
    assert all(one == seen[0] for one in seen)
