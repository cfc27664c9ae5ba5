"""Output: by ending, atomic, and refused before the work where it cannot succeed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import OutputError
from accord.spill import Scratch
from accord.table.pairs import Half, IdOrder, PairTable, order_pairs
from accord.table.sinks import files as sinks

TABLE = pa.table({"id_a": ["1"], "id_b": ["2"]})


def test_every_ending(tmp_path: Path) -> None:
    for ending in sinks.ENDINGS:
        sinks.write_table(TABLE, tmp_path / f"out{ending}")
    assert pyarrow.csv.read_csv(tmp_path / "out.csv").to_pylist() == [{"id_a": 1, "id_b": 2}]
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist() == TABLE.to_pylist()
    assert pyarrow.feather.read_table(tmp_path / "out.arrow").to_pylist() == TABLE.to_pylist()
    assert sorted(os.listdir(tmp_path)) == ["out.arrow", "out.csv", "out.parquet"]


ODD = [
    "=1", "+x", "-x", "@x", "\tx", "\rx", "'x", "''", "'", "+", "\n=1", " =1", "\v=1", "\x00=1",
    "\u00a0=1", "\u3000-x", "\ufeff=1", " \n@x", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20x",
]  # fmt: skip
PLAIN = ["-5", "+1.5e-3", "-.5", "x=1", "", "a'b", " -5", "\nx", "x;=1", None]


def test_formulas_get_a_quote_that_can_be_taken_away(tmp_path: Path) -> None:
    table = pa.table({"=x": ODD + PLAIN, "n": pa.array(range(len(ODD + PLAIN)))})
    sinks.write_table(table, tmp_path / "out.csv")
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    lines = pyarrow.csv.ParseOptions(newlines_in_values=True)
    found = pyarrow.csv.read_csv(tmp_path / "out.csv", parse_options=lines, convert_options=options)
    assert found.column_names == ["'=x", "n"]
    assert found["'=x"].to_pylist() == [f"'{cell}" for cell in ODD] + PLAIN
    assert found["n"].to_pylist() == list(range(len(ODD + PLAIN)))
    assert sinks.unquote_formulas(found["'=x"]).to_pylist() == ODD + PLAIN


def test_raw_csv_and_other_formats_hold_the_true_cells(tmp_path: Path) -> None:
    table = pa.table({"=x": ODD})
    sinks.write_table(table, tmp_path / "out.csv", raw=True)
    assert (tmp_path / "out.csv").read_text().startswith('"=x"\n"=1"\n')
    for ending in (".parquet", ".arrow"):
        sinks.write_table(table, tmp_path / f"out{ending}")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist() == table.to_pylist()
    assert pyarrow.feather.read_table(tmp_path / "out.arrow").to_pylist() == table.to_pylist()


@given(st.lists(st.text(st.sampled_from("=+-@\t\r'5.e x\n"), max_size=5)))
def test_no_text_is_lost(texts: list[str]) -> None:
    cells = pa.chunked_array([texts], pa.large_string())
    quoted = sinks.quote_formulas(cells)
    assert sinks.unquote_formulas(quoted).to_pylist() == texts
    assert all(not text.startswith(("=", "@", "\t", "\r")) for text in quoted.to_pylist())


def test_pairs_that_do_not_fit_are_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One long cell that stands in a hundred pairs."""
    ids = pa.array([str(i) for i in range(100)], pa.large_string())
    long = pa.table({"y": pa.array(["x" * 10_000], pa.large_string())})
    rows = np.arange(100), np.zeros(100, np.int64)
    some = order_pairs(IdOrder.of(ids), IdOrder.of(ids[:1]), [rows], Scratch())
    pairs = PairTable(Half.of(ids, pa.table({})), Half.of(ids[:1], long), some)
    sinks.write_table(pairs, tmp_path / "out.csv")
    size = (tmp_path / "out.csv").stat().st_size
    assert abs(pairs.octets() - size) < 100
    (tmp_path / "out.csv").unlink()
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=size + 5000))
    for name in ("out.csv", "out.arrow"):
        with pytest.raises(OutputError, match=r"its pairs take 1\.0 MB"):
            sinks.write_table(pairs, tmp_path / name)
    assert not list(tmp_path.iterdir())
    sinks.write_table(pairs, tmp_path / "out.parquet")


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "out.csv").write_text("old")
    monkeypatch.setattr(sinks, "_write", full)
    with pytest.raises(OutputError, match="no space left"):
        sinks.write_table(TABLE, tmp_path / "out.csv")
    assert os.listdir(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "problem"), [("out.xyz", "ending"), ("none/out.csv", "no folder"), ("folder.csv", "is a folder")]
)
def test_what_is_refused_at_once(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match=problem) as caught:
        sinks.require_writable(tmp_path / name)
    assert caught.value.exit_code == 5


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_replaced(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", link)
    out = tmp_path / "out.csv"
    sinks.write_table(TABLE, out, replace=False)
    assert out.stat().st_mode & 0o777 == 0o600
    out.write_text("another's")
    with pytest.raises(OutputError, match="the file already exists"):
        sinks.write_table(TABLE, out, replace=False)
    assert out.read_text() == "another's"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "x\0.csv"])
def test_a_name_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        sinks.require_writable(tmp_path / name)
    with pytest.raises(OutputError):
        sinks.write_table(TABLE, tmp_path / name)


# -- before any work --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["path", "dots", "link", "hard link", "linked folder"])
def test_an_output_that_is_an_input_is_refused_by_whatever_name(kind: str, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("id\n1\n")
    named = tmp_path / "out.csv"
    if kind == "link":
        named.symlink_to(data)
    elif kind == "hard link":
        named.hardlink_to(data)
    elif kind == "linked folder":
        (tmp_path / "there").symlink_to(tmp_path)
        named = tmp_path / "there" / "data.csv"
    else:
        named = data if kind == "path" else tmp_path / "x" / ".." / "data.csv"
        (tmp_path / "x").mkdir()
    with pytest.raises(OutputError, match="which is read"):
        sinks.require_target(named, [tmp_path / "missing.csv", data], force=True)
    assert data.read_text() == "id\n1\n"


def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    sinks.require_target(out, [], force=False)
    out.write_text("mine")
    with pytest.raises(OutputError, match="`force=True`"):
        sinks.require_target(out, [], force=False)
    sinks.require_target(out, [], force=True)
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="`force=True`"):
        sinks.require_target(tmp_path / "dangling.csv", [], force=False)
    assert out.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", "dangling.csv"}, "a trial was left"


def test_an_output_on_a_full_disk_is_found_before_any_work() -> None:
    """/dev/full takes no byte; a folder in which no file can be made gives the same."""
    with pytest.raises(OutputError):
        sinks.require_target(Path("/proc/out.csv"), [], force=False)
