"""Parquet → Arrow record batches: a file, or many of one schema, in a folder or named by a pattern.

Files are read in the order of their names. All have the same columns of the same types: a column that some
lack would be missing in their rows alone, which nobody would see.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from accord.errors import DataError, Fault, UnreadableError
from accord.table.opened import REFUSED, OpenTable, brief, guard, require_columns, require_content

ENDINGS = (".parquet", ".pq")
_WHOLE = "Was it written in full?"


def is_many(path: Path) -> bool:
    """Whether a path is a folder, or a pattern (*, ?, […]) and no file."""
    try:
        return path.is_dir() or (glob.has_magic(str(path)) and not path.exists())
    except (OSError, ValueError):
        return False


def parquet_files(path: Path) -> tuple[Path, ...]:
    """The files that a path means, in the order of their names."""
    if not is_many(path):
        return (path,)
    if path.is_dir():
        inside = sorted(one for one in path.iterdir() if one.suffix.lower() in ENDINGS and one.is_file())
        found = tuple(one for one in inside if not one.name.startswith((".", "_")))
        reason, mend = "it is a folder without parquet files", "Name the file inside it."
    else:
        found = tuple(sorted(map(Path, glob.glob(str(path)))))
        reason, mend = "no file matches this pattern", "Check its folder."
    if not found:
        raise UnreadableError(path=path, reason=reason, mend=mend)
    if others := [one.name for one in found if one.suffix.lower() not in ENDINGS]:
        reason = f"the pattern also matches {others[0]}, which is not a Parquet file"
        raise UnreadableError(path=path, reason=reason, mend="Of files in other formats, name one.")
    return found


def open_parquet(path: Path, columns: Sequence[str]) -> OpenTable:
    """Open parquet files for their wanted columns."""
    files = parquet_files(path)
    require_columns(columns, _schema(path, files).names, path)
    return OpenTable(str(path), guard(_batches(files, columns), path, columns))


def parquet_columns(path: Path) -> list[str]:
    """The names of the columns."""
    return list(_schema(path, parquet_files(path)).names)


def _batches(files: Sequence[Path], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for file in files:
        with pyarrow.parquet.ParquetFile(file) as opened:
            yield from opened.iter_batches(columns=list(columns))


def _schema(path: Path, files: Sequence[Path]) -> pa.Schema:
    """The schema of all files; raises for every one that has another."""
    schemas = [_schema_of(file) for file in files]
    faults = [
        Fault(
            str(file),
            f"has {_difference(schema, schemas[0])}.",
            f"Name files of one schema, as {files[0]} has.",
        )
        for file, schema in zip(files, schemas, strict=True)
        if (schema.names, schema.types) != (schemas[0].names, schemas[0].types)
    ]
    if faults:
        raise DataError(str(path), faults)
    return schemas[0]


def _schema_of(file: Path) -> pa.Schema:
    require_content(file)
    try:
        with pyarrow.parquet.ParquetFile(file) as opened:
            return opened.schema_arrow
    except REFUSED as error:
        raise UnreadableError(path=file, reason=brief(error), mend="Is it what its name says?") from None


def _difference(schema: pa.Schema, first: pa.Schema) -> str:
    """What is other than in the first file. Names of columns are told to nobody who did not ask."""
    if sorted(schema.names) != sorted(first.names):
        return "other columns"
    if schema.names != first.names:
        return "its columns in another order"
    kinds = zip(schema.types, first.types, strict=True)
    one, other = next((one, other) for one, other in kinds if one != other)
    return f"{one} where others have {other}"
