"""Folders and patterns of parquet files: one schema, in the order of names."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from accord.errors import DataError, UnreadableError
from accord.table.layout import Layout
from accord.table.sources.opening import column_names, kind_of, open_table


def write(path: Path, **columns: pa.Array) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pa.table(columns), path)


def ids(source: Path) -> list[str]:
    return [
        str(id) for batch in open_table(source, ["id"], Layout()).batches for id in batch["id"].to_pylist()
    ]


def test_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for number, name in ((2, "b.pq"), (1, "a.parquet"), (3, "c.PARQUET")):
        write(tmp_path / "t" / name, id=pa.array([f"{number}", f"{number}x"]), n=pa.array([1, 2]))
    for other in ("_SUCCESS", ".a.parquet.crc", "_metadata.parquet", "notes.csv"):
        (tmp_path / "t" / other).write_text("not a table")
    assert ids(tmp_path / "t") == ["1", "1x", "2", "2x", "3", "3x"]
    assert ids(tmp_path / "t" / "[ab].*") == ["1", "1x", "2", "2x"]
    assert ids(tmp_path / "*" / "a.parquet") == ["1", "1x"]
    assert column_names(tmp_path / "t", Layout()) == ["id", "n"]
    assert kind_of(tmp_path / "t") == "parquet"


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    write(tmp_path / "a[1].parquet", id=pa.array(["1"]))
    assert ids(tmp_path / "a[1].parquet") == ["1"]


def test_every_file_of_another_schema_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", id=pa.array(["1"]), n=pa.array([1]))
    write(tmp_path / "b.parquet", id=pa.array(["2"]), n=pa.array(["x"]))
    write(tmp_path / "c.parquet", id=pa.array(["3"]))
    write(tmp_path / "d.parquet", n=pa.array([1]), id=pa.array(["4"]))
    with pytest.raises(DataError) as caught:
        open_table(tmp_path, ["id"], Layout())
    said = str(caught.value)
    assert "has 3 faults" in said
    assert f"{tmp_path}/b.parquet: has string where others have int64." in said
    assert f"{tmp_path}/c.parquet: has other columns." in said
    assert f"{tmp_path}/d.parquet: has its columns in another order." in said


def test_folders_and_patterns_without_tables(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="it is a folder without parquet files"):
        ids(tmp_path)
    with pytest.raises(UnreadableError, match="no file matches this pattern"):
        ids(tmp_path / "*.parquet")
    (tmp_path / "a.csv").write_text("id\n1\n")
    with pytest.raises(UnreadableError, match=r"the pattern also matches a.csv, which is not a Parquet file"):
        ids(tmp_path / "*")
    write(tmp_path / "b.parquet", id=pa.array(["1"]))
    (tmp_path / "c.parquet").touch()
    with pytest.raises(UnreadableError, match=r"c.parquet cannot be read: it is empty"):
        ids(tmp_path)
    (tmp_path / "c.parquet").write_bytes((tmp_path / "b.parquet").read_bytes()[:-9])
    with pytest.raises(UnreadableError, match=r"c.parquet cannot be read"):
        ids(tmp_path)
