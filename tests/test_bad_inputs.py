"""One table of bad inputs: each is refused by its class of error, at its place, and quotes no value.

`bad_inputs.toml` has a section for each thing that is read, and a row for each input:

    error              the class of the error, where it is not the usual one of the section
    at                 the places of all faults, in order
    says               names and numbers that the message must have
    count              how many cells or rows have these faults
    good               what in place of the input is read: the last that is sound
    sniffed            how many records there are once `accord check` has found out how the file is written

What no text can be is made by a function here, which `make` names.
"""

from __future__ import annotations

import gzip
import os
import re
import tomllib
import traceback
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from pydantic import TypeAdapter

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.starter import starter
from accord.errors import FaultyError
from accord.exact import exact, short
from accord.fields.date_formats import sniff_dates
from accord.fields.load import load_records
from accord.fields.schema import FieldSpec
from accord.learning.labels import read_labels
from accord.network import Network
from accord.peer.connect import parse_address
from accord.peer.identity import require_name
from accord.table.address import find_address
from accord.table.layout import Layout, read_layout
from accord.table.sinks.targets import as_target
from accord.table.sniffing import find_encoding, sniff_text
from accord.workers.choice import require_workers
from tests.cli.terminal import accord as type_in

Row = dict[str, Any]
DATA: dict[str, Any] = tomllib.loads((Path(__file__).parent / "bad_inputs.toml").read_text(encoding="utf-8"))
FIELDS: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(DATA["fields"])
HIDDEN = ("canary", "Ann", "Bob", "Lee", "inch")
"""Cells, and secrets, that no message repeats."""

# -- what no text can be ----------------------------------------------------------------------------------

GOOD: str = DATA["table"]["text"]
RECORD: dict[str, list[Any]] = {"id": ["1"], "name": ["Ann"], "birth": ["2020-01-31"], "price": [5.0]}
TEXTS = {
    "a column too many": lambda: ",".join(f"c{i}" for i in range(16_385)) + "\n",
    "a long cell": lambda: GOOD.replace("Bob", "b" * ((1 << 20) + 1)),
    "a long row": lambda: "id" + ",x" * 9 + "\n1" + f",{'x' * 1_000_000}" * 9 + "\n",
    "a whole wrong column": lambda: (
        "id,name,birth,price\n"
        + "".join(f"{i},{'' if i == 4000 else 'x'},2026-01-01,wrong\n" for i in range(5000))
    ),
    "deep lists": lambda: "x = " + "[" * 5_000 + "]" * 5_000,
    "deep tables": lambda: "x = " + "{a=" * 2_000 + "1" + "}" * 2_000,
    "a long number": lambda: f"header = {'9' * 5_000}\n",
}


def parquet(path: Path, columns: dict[str, Any], cut: int | None = None) -> Path:
    """A file, or its beginning."""
    pyarrow.parquet.write_table(pa.table(columns), path)
    path.write_bytes(path.read_bytes()[:cut])
    return path


def several(folder: Path, last: bytes) -> Path:
    """A sound file of parquet, and another."""
    parquet(folder / "b.parquet", RECORD)
    (folder / "c.parquet").write_bytes(last)
    return folder


def schemas(folder: Path) -> Path:
    for name, columns in (
        ("a", {"id": ["1"], "n": [1]}),
        ("b", {"id": ["2"], "n": ["x"]}),
        ("c", {"id": ["3"]}),
        ("d", {"n": [1], "id": ["4"]}),
    ):
        parquet(folder / f"{name}.parquet", columns)
    return folder


def pattern(folder: Path) -> Path:
    (folder / "a.csv").write_text(GOOD)
    return folder / "*"


def made(path: Path, make: Callable[[Path], object]) -> Path:
    make(path)
    return path


def write_gz(path: Path, content: bytes, cut: int | None = None) -> Path:
    path.write_bytes(gzip.compress(content, 1)[:cut])
    return path


def write_zip(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return path


def workbook(path: Path, rows: list[list[Any]], cells: dict[str, Any], cut: int | None = None) -> Path:
    """A workbook with these rows and cells; an error of a formula is one."""
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for place, cell in cells.items():
        book.active[place] = cell
        if cell == "#N/A":
            book.active[place].data_type = "e"
    book.save(path)
    path.write_bytes(path.read_bytes()[:cut])
    return path


def broken_arrow(folder: Path) -> Path:
    path = folder / "t.arrow"
    pyarrow.feather.write_feather(pa.table(RECORD | {"name": ["ä"]}), str(path), compression="uncompressed")
    whole = bytearray(path.read_bytes())
    at = whole.rindex("ä".encode())
    whole[at : at + 2] = b"\xff\xff"
    path.write_bytes(whole)
    return path


def pandas_table(columns: Any, names: list[str] | None = None) -> Any:
    import pandas

    return pandas.DataFrame(columns, columns=names)


SHEET: list[list[Any]] = [["id", "name", "birth", "price"], ["1", "Ann", "2020-01-31", 5]]
LONG = 1 << 20
MAKERS: dict[str, Callable[[Path], Any]] = {
    "nothing": lambda folder: folder / "none.csv",
    "an empty folder": lambda folder: made(folder / "t.csv", Path.mkdir),
    "a pipe": lambda folder: made(folder / "t.csv", os.mkfifo),
    "a pattern without files": lambda folder: folder / "*.parquet",
    "a pattern of other files": pattern,
    "a huge gz": lambda folder: write_gz(folder / "t.csv.gz", b"x" * (2 << 20)),
    "a cut gz": lambda folder: write_gz(folder / "t.csv.gz", GOOD.encode() * 50, 60),
    "a cut parquet": lambda folder: parquet(folder / "t.parquet", RECORD, -20),
    "half a parquet": lambda folder: parquet(folder / "t.parquet", RECORD, 400),
    "parquet of other schemas": schemas,
    "an empty parquet among others": lambda folder: several(folder, b""),
    "a cut parquet among others": lambda folder: several(folder, b"PAR1" + bytes(90)),
    "broken UTF-8 in arrow": broken_arrow,
    "an old workbook": lambda folder: made(
        folder / "t.xlsx", lambda path: path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512))
    ),
    "a zip": lambda folder: write_zip(folder / "t.xlsx"),
    "a workbook": lambda folder: workbook(folder / "t.xlsx", SHEET, {}),
    "an empty sheet": lambda folder: workbook(folder / "t.xlsx", [], {}),
    "a cut workbook": lambda folder: workbook(folder / "t.xlsx", SHEET, {}, 3000),
    "a cell far away": lambda folder: workbook(folder / "t.xlsx", SHEET, {"XFD1048576": 1}),
    "a failed formula": lambda folder: workbook(folder / "t.xlsx", SHEET, {"B2": "#N/A"}),
    "a workbook with a column twice": lambda folder: workbook(
        folder / "t.xlsx", [[*SHEET[0], "name"], SHEET[1]], {}
    ),
    "a number": lambda _: 17,
    "pandas objects": lambda _: pandas_table(RECORD | {"name": [object()]}),
    "pandas kinds": lambda _: pandas_table({"id": [1, 2], "price": [5, "canary"]}),
    "pandas names": lambda _: pandas_table([[1, 2]], ["id", "id"]),
    "a wide frame": lambda _: pa.schema([(f"c{i}", pa.int8()) for i in range(16_385)]).empty_table(),
    "a frame without a price": lambda _: pa.table(RECORD).drop_columns("price"),
    "raw bytes": lambda _: frame({"name": [b"Ann"]}),
    "long texts": lambda _: frame({"name": ["a\0", "b", "x" * LONG, "x" * (LONG + 1)]}),
    "much to disclose": lambda _: frame({"id": ["i" * (LONG // 2 + 1)], "name": ["x" * LONG]}),
}


def frame(columns: dict[str, list[Any]]) -> pa.Table:
    """These columns, and sound ones beside them."""
    count = len(next(iter(columns.values())))
    usual = {name: cells * count for name, cells in RECORD.items()} | {"id": [str(n) for n in range(count)]}
    return pa.table(usual | columns)


def changes(row: Row) -> list[list[str]]:
    """What stands in place of what."""
    return [row["change"]] if "change" in row else list(row.get("changes", []))


def source(row: Row, folder: Path) -> Any:
    """The file, or the object, that a row describes."""
    if row.get("make") in MAKERS:
        return MAKERS[row["make"]](folder)
    if "columns" in row:
        return frame(row["columns"])
    text = TEXTS[row["make"]]() if "make" in row else row.get("text", GOOD)
    for old, new in changes(row):
        text = text.replace(old, new)
    path = folder / row.get("file", "t.csv")
    path.write_bytes(text.encode(row.get("encoding", "utf-8")))
    return path


# -- how each section is read -----------------------------------------------------------------------------


def read_table(row: Row, folder: Path) -> object:
    layout = Layout(**row.get("layout", {}), person=row.get("person"))
    return load_records(
        source(row, folder), FIELDS, "00", row.get("disclose", ()), layout, row.get("per_person")
    )


def agreement_text(row: Row) -> str:
    """The text of an agreement: that of the row, or the usual one with the row's parts and changes."""
    if "text" in row:
        return str(row["text"])
    bases = DATA["base"]
    parts = bases["products"] | bases[row.get("of", "products")]
    parts |= {name: row[name] for name in parts if name in row}
    both = filter(None, (parts.pop("rule"), parts.pop("predicate")))
    text = f'rule = "{" and ".join(both)}"\n' + "".join(parts.values())
    if "line" in row:
        # In place of the first line of this key.
        key = row["line"].partition(" = ")[0]
        text = re.sub(rf"(?m)^{key} = .*$", lambda _: row["line"], text, count=1)
    for old, new in changes(row):
        assert old in text
        text = text.replace(old, new, 1)
    return text


def read_agreement(row: Row, folder: Path) -> Agreement:
    return parse_agreement(agreement_text(row))


def read_field(row: Row, folder: Path) -> Agreement:
    return read_agreement({"more": f"[fields.x]\n{DATA['spec'][row['of']].strip()}\n{row['add']}\n"}, folder)


def read_limit(row: Row, folder: Path) -> Agreement:
    middle = row["repeat"] * row["times"]
    return parse_agreement(f"{row.get('before', '')}{middle}{row.get('after', '')}")


def read_label(row: Row, folder: Path) -> object:
    records = [
        load_records(pa.table({"id": [f"{side}{i}" for i in range(4)], "name": ["x"] * 4}), NAME, "00")
        for side in "ab"
    ]
    return read_labels(source(row, folder), *records)


NAME = {"name": FIELDS["name"]}
READERS: dict[str, Callable[[Row, Path], object]] = {
    "unreadable": read_table,
    "file": read_table,
    "encoding": lambda row, folder: find_encoding(source(row, folder)),
    "frame": read_table,
    "agreement": read_agreement,
    "field": read_field,
    "limit": read_limit,
    "layout": lambda row, folder: read_layout(source(row, folder)),
    "source": lambda row, folder: Layout(columns={"x": row["source"]}),
    "label": read_label,
}
OPTIONS: dict[str, Callable[[Any, Path], object]] = {
    "table": lambda value, _: found.require_relation() if (found := find_address(value)) else None,
    "out": lambda value, _: as_target("out", value),
    "connect": lambda value, _: parse_address(value, "connect"),
    "listen": lambda value, _: parse_address(value, "listen"),
    "workers": lambda value, _: require_workers(value, False),
    "network": lambda value, _: Network.parse(value),
    "column": lambda value, _: Layout().map_columns([value]),
    "date": lambda value, _: Layout().map_dates([value]),
    "number": lambda value, _: exact(value),
    "short number": lambda value, _: short(value),
    "name of a card": lambda value, _: require_name(value),
    "adjust": lambda value, _: adjust(starter("products"), **value),
    "budget": lambda value, folder: accord.set_budget("patients", **value, state=folder),
}
ROWS = [(section, name) for section in READERS for name in DATA[section]]


def refusal(read: Callable[[], object]) -> Exception:
    """What reading raises; nothing of a cell, or of a secret, is in it."""
    with pytest.raises(Exception) as caught:
        read()
    assert "canary" not in "".join(traceback.format_exception(caught.value))
    for value in HIDDEN:
        assert value not in str(caught.value)
    return caught.value


def listed(row: Row, key: str) -> list[str]:
    found = row.get(key, [])
    return [found] if isinstance(found, str) else found


def require(error: Exception, row: Row, usual: str) -> None:
    """It is of the class that the row names, and has its names and numbers."""
    assert type(error).__name__ == row.get("error", usual), error
    for fact in listed(row, "says"):
        assert fact in str(error)


@pytest.mark.parametrize(("section", "name"), ROWS)
def test_a_bad_input_is_refused_at_its_place(section: str, name: str, tmp_path: Path) -> None:
    row: Row = DATA[section][name]
    error = refusal(lambda: READERS[section](row, tmp_path))
    require(error, row, DATA["error"][section])
    faults = error.faults if isinstance(error, FaultyError) else ()
    assert [fault.place.removeprefix(f"{tmp_path}/") for fault in faults] == listed(row, "at")
    if "count" in row:
        assert sum(fault.count for fault in faults) == row["count"]


@pytest.mark.parametrize(("section", "name"), [(s, n) for s, n in ROWS if "good" in DATA[s][n]])
def test_the_last_good_input_is_taken(section: str, name: str, tmp_path: Path) -> None:
    row: Row = DATA[section][name]
    key = next(key for key in ("predicate", "line", "more", "change") if key in row)
    good = [row["change"][0], row["good"]] if key == "change" else row["good"]
    assert READERS[section](row | {key: good}, tmp_path)


@pytest.mark.parametrize(("section", "name"), [(s, n) for s, n in ROWS if "sniffed" in DATA[s][n]])
def test_what_check_finds_out_is_enough(section: str, name: str, tmp_path: Path) -> None:
    row = DATA[section][name]
    path = source(row, tmp_path)
    layout = sniff_text(path, Layout(), (), ["id", *FIELDS])
    found = {field: dates.fits for field, dates in sniff_dates(path, layout, FIELDS).items()}
    layout = layout.read_dates({field: fits[0] for field, fits in found.items() if len(fits) == 1})
    assert len(load_records(path, FIELDS, "00", (), layout)) == row["sniffed"]


def test_what_is_spoilt_was_good(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(GOOD)
    found = tmp_path / "t.csv", pa.table(RECORD), MAKERS["a workbook"](tmp_path)
    assert [len(load_records(table, FIELDS, "00")) for table in found] == [2, 1, 1]
    for base in DATA["base"].keys() - {"all pairs", "crossed"}:
        assert read_agreement({"of": base}, tmp_path)


VALUES = [(name, number) for name, row in DATA["option"].items() for number in range(len(row["values"]))]


@pytest.mark.parametrize(("name", "number"), VALUES)
def test_a_bad_value_of_an_option_is_refused(name: str, number: int, tmp_path: Path) -> None:
    row = DATA["option"][name]
    read = partial(OPTIONS[row.get("of", name)], row["values"][number], tmp_path)
    require(refusal(read), row, "UsageError")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an agreement and a table."""
    folder = tmp_path_factory.mktemp("office")
    (folder / "agreement.toml").write_text(agreement_text({}))
    (folder / "a.csv").write_text("id,day,brand,name\n1,2026-03-01,Sony,Radio\n")
    return folder


@pytest.mark.parametrize("name", DATA["command"])
def test_a_bad_command_ends_with_its_code(
    name: str, office: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    row = DATA["command"][name]
    before = sorted(path.name for path in office.iterdir())
    done = type_in(office, *row["typed"])
    assert (done.returncode, done.stdout) == (row.get("code", 2), ""), done.stderr
    for fact in listed(row, "says"):
        assert fact in done.stderr
    assert sorted(path.name for path in office.iterdir()) == before


def test_the_page_names_what_is_said(tmp_path: Path) -> None:
    """Of messages that do not say what to do, docs/prepare.md does; every one that it names is there."""
    page = (Path(__file__).parents[1] / "docs" / "prepare.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| ([^|]+) \|", page.partition("## Bad files")[2], re.M)[1:]
    assert len(named) >= 6
    messages = []
    for number, row in enumerate(
        DATA[section][name] for section, name in ROWS if DATA[section][name].get("page")
    ):
        (tmp_path / str(number)).mkdir()
        messages.append(str(refusal(partial(read_table, row, tmp_path / str(number)))))
    assert [words for words in named if not any(words in message for message in messages)] == []
