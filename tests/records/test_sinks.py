"""Output: by ending, atomic, and refused before the work where it cannot succeed."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from accord.errors import OutputError
from accord.records import sinks

TABLE = pa.table({"id_a": ["1"], "id_b": ["2"]})


def test_every_ending(tmp_path: Path) -> None:
    for ending in sinks.ENDINGS:
        sinks.write_table(TABLE, tmp_path / f"out{ending}")
    assert pyarrow.csv.read_csv(tmp_path / "out.csv").to_pylist() == [{"id_a": 1, "id_b": 2}]
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist() == TABLE.to_pylist()
    assert pyarrow.feather.read_table(tmp_path / "out.arrow").to_pylist() == TABLE.to_pylist()
    assert sorted(os.listdir(tmp_path)) == ["out.arrow", "out.csv", "out.parquet"]


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
