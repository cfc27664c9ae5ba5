"""Workbooks: cells as a csv would have them; what a sheet cannot say, or has no room for, is refused."""

from __future__ import annotations

import builtins
import contextlib
import zipfile
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from accord.errors import DataError, UnreadableError
from accord.table.layout import Layout
from accord.table.sniffing import sniff_text
from accord.table.sources import xlsx as sources_xlsx
from accord.table.sources.opening import column_names, open_table


def book(path: Path, *rows: list[Any], title: str = "Data") -> Path:
    import openpyxl

    made = openpyxl.Workbook()
    made.active.title = title
    for row in rows:
        made.active.append(row)
    made.save(path)
    return path


def rows(path: Path, columns: list[str], layout: Layout | None = None) -> list[list[object]]:
    table = open_table(path, columns, layout or Layout())
    return [list(row.values()) for batch in table.batches for row in batch.to_pylist()]


def test_cells_as_a_csv_would_have_them(tmp_path: Path) -> None:
    cells: list[Any] = [7, "007", 1.5, -0.25, 1e300, True, date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5)]
    path = book(tmp_path / "t.xlsx", ["id", "cell"], *([i, cell] for i, cell in enumerate(cells)))
    found = rows(path, ["cell", "id"])
    assert [cell for cell, _ in found] == [
        "7", "007", "1.5", "-0.25", "1e+300", "TRUE", "2026-01-02", "2026-01-02 03:04:05",
    ]  # fmt: skip
    assert [i for _, i in found] == [str(i) for i in range(8)]
    assert column_names(path, Layout()) == ["id", "cell"]
    path = book(
        tmp_path / "t.xlsx", ["id", 5, None, "x"], [1, time(10, 3), "note", None], [None], [2, "a", "", "b"]
    )
    assert rows(path, ["5", "x"]) == [["10:03:00", None], ["a", "b"]]
    assert column_names(path, Layout()) == ["id", "5", "x"]


def test_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources_xlsx, "_CHUNK", 7)
    monkeypatch.setattr(sources_xlsx, "_BLOCK", 50)
    path = book(tmp_path / "t.xlsx", ["id"], *([i] for i in range(50)))
    assert rows(path, ["id"]) == [[str(i)] for i in range(50)]


def test_the_first_sheet_or_the_one_that_is_named(tmp_path: Path) -> None:
    import openpyxl

    made = openpyxl.Workbook()
    made.active.append(["id"])
    other = made.create_sheet("OwnSide & yours")
    other.append(["key"])
    other.append(["k"])
    made.save(tmp_path / "t.xlsx")
    assert rows(tmp_path / "t.xlsx", ["id"]) == []
    assert rows(tmp_path / "t.xlsx", ["key"], Layout(sheet="OwnSide & yours")) == [["k"]]
    with pytest.raises(UnreadableError, match="no sheet 'none'"):
        rows(tmp_path / "t.xlsx", ["key"], Layout(sheet="none"))
    assert sources_xlsx.sheet_names(tmp_path / "t.xlsx") == ["Sheet", "OwnSide & yours"]


def test_a_table_begins_in_any_cell_and_below_titles(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", [None], [None, "id", "a"], [None, 1, "x"])
    assert rows(path, ["a", "id"]) == [["x", "1"]]
    titles: list[list[Any]] = [["Members 2024"], [], ["as of", date(2024, 1, 2)], ["id", "a", "b", "c"]]
    path = book(path, *titles, [1, "x", "y", "z"], [None, None, None, None], [2, "x", "y", None])
    found = sniff_text(path, Layout(), (), ())
    assert found.header == 4
    assert rows(path, ["b", "id"], found) == [["y", "1"], ["y", "2"]]
    assert column_names(path, found) == ["id", "a", "b", "c"]


def test_formulas_that_failed_are_faults_where_they_are_wanted(tmp_path: Path) -> None:
    import openpyxl

    made = openpyxl.Workbook()
    for row in (["id", "a", "b"], [1, "x", "#N/A"], [2, "y", "z"]):
        made.active.append(row)
    made.active["C2"].data_type = "e"
    made.save(tmp_path / "t.xlsx")
    assert rows(tmp_path / "t.xlsx", ["id", "a"]) == [["1", "x"], ["2", "y"]]
    with pytest.raises(DataError, match="cells C2: hold formulas that ended in errors"):
        rows(tmp_path / "t.xlsx", ["id", "b"])


def test_a_cell_far_away_is_refused_before_room_is_taken_for_it(tmp_path: Path) -> None:
    import openpyxl

    made = openpyxl.Workbook()
    made.active["A1"] = "id"
    made.active["XFD1048576"] = 1
    made.save(tmp_path / "t.xlsx")
    with pytest.raises(UnreadableError, match="spans more than 33,554,432 cells"):
        rows(tmp_path / "t.xlsx", ["id"])


def test_what_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.xlsx"
    for content, problem in (
        (b"no zip", "it is not a workbook, or damaged"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512), "it has a password"),
    ):
        path.write_bytes(content)
        with pytest.raises(UnreadableError, match=problem):
            rows(path, ["id"])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(UnreadableError, match="it is not a workbook"):
        rows(path, ["id"])
    book(path)
    with pytest.raises(UnreadableError, match="its sheet is empty"):
        rows(path, ["id"])
    book(path, ["id", "id"], [1, 2])
    with pytest.raises(DataError, match="appears more than once"):
        rows(path, ["id"])
    book(path, ["id"], *([str(i) * 50] for i in range(2000)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableError, match="damaged"):
        rows(path, ["id"])
    path.write_bytes(whole)
    monkeypatch.setattr(sources_xlsx, "_MOST_BYTES", 1 << 16)
    with pytest.raises(UnreadableError, match="it holds more than"):
        rows(path, ["id"])


@pytest.mark.parametrize("at", range(0, 4000, 173))
def test_a_damaged_workbook_ends_in_a_sentence(tmp_path: Path, at: int) -> None:
    path = book(tmp_path / "t.xlsx", ["id"], *([str(i)] for i in range(100)))
    whole = bytearray(path.read_bytes())
    whole[at % len(whole)] ^= 0xFF
    path.write_bytes(whole)
    with contextlib.suppress(DataError, UnreadableError):
        assert len(rows(path, ["id"])) == 100


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = book(tmp_path / "t.xlsx", ["id"], [1]), builtins.__import__

    def absent(name: str, *more: Any, **others: Any) -> Any:
        if name == "python_calamine":
            raise ImportError(name)
        return real(name, *more, **others)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(UnreadableError, match=r"pip install 'accord\[xlsx\]'"):
        rows(path, ["id"])
