"""Tables → files, by their ending, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from accord.errors import OutputError

ENDINGS = (".csv", ".parquet", ".arrow")


def require_writable(path: Path) -> None:
    """Raise now, before any work, if the file could not be written later."""
    if path.suffix.lower() not in ENDINGS:
        reason = f"its ending must be {', '.join(ENDINGS)}"
        raise OutputError(path=path, reason=reason)
    if path.is_dir():
        raise OutputError(path=path, reason="it is a folder")
    if not path.parent.is_dir():
        raise OutputError(path=path, reason=f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(path=path, reason=f"the folder {path.parent} is read-only")


def write_table(table: pa.Table, path: Path) -> None:
    """Write beside the target and rename, so that a reader never sees half a file."""
    require_writable(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        try:
            _write(table, Path(name), path.suffix.lower())
            with open(name, "rb") as file:
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            # Not there any more if it was stopped just after the rename.
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(path=path, reason=(error.strerror or str(error)).lower()) from None


def _write(table: pa.Table, path: Path, ending: str) -> None:
    if ending == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif ending == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, str(path), compression="uncompressed")
