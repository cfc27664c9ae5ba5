"""Ten million people, read and encoded from parquet and from PostgreSQL: rows a second beside a plain scan or
COPY of the same columns, and the most memory that it took.

    python -m benchmarks.sources [ROWS] [--service NAME]

Each reading is a process of its own. With a service of libpq's the table is written there, as
`accord_benchmark`, and removed in the end. The people come in no order, so that they have to be sorted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from pydantic import TypeAdapter

from accord.fields.load import load_records
from accord.fields.schema import FieldSpec
from accord.simulation.pair import peak_mib

ROWS = 10_000_000
TABLE = "accord_benchmark"
_TEXT = {"type": "text", "encoder": "hash", "missing": "differs"}
FIELDS: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    {
        "given": _TEXT,
        "surname": _TEXT,
        "postcode": _TEXT,
        "birth": {"type": "date", "min": "1900-01-01", "max": "2030-01-01", "missing": "differs"},
    }
)
_COLUMNS = ["id", *FIELDS]
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Reading:
    """What it took to read a table."""

    rows: int
    seconds: float
    peak_mib: float

    def __str__(self) -> str:
        speed = f"{self.rows / self.seconds:12,.0f} rows/s"
        return f"{self.rows:12,} rows {self.seconds:8.1f} s {speed} {self.peak_mib:8,.0f} MiB"


def people(rows: int) -> Iterator[pa.RecordBatch]:
    """People in no order of their ids, some at a time."""
    for first in range(0, rows, _CHUNK):
        rng = np.random.default_rng(first)
        numbers = np.arange(first, min(first + _CHUNK, rows), dtype=np.uint64)
        # An odd multiplier shuffles all numbers of 32 bits, each once.
        ids = numbers * np.uint64(2654435761) % np.uint64(1 << 32)
        count = len(numbers)
        days = rng.integers(-20_000, 15_000, count).astype(np.int32)
        columns = {
            "id": pa.array(ids).cast(pa.string()),
            "given": _words("given", rng.integers(0, 5_000, count)),
            "surname": _words("surname", rng.integers(0, 100_000, count)),
            "postcode": pa.array(rng.integers(10_000, 99_999, count)).cast(pa.string()),
            "birth": pa.array(days).cast(pa.date32()),
        }
        yield pa.record_batch(columns)


def _words(word: str, numbers: np.ndarray) -> pa.Array:
    return pa.array(np.char.add(word, numbers.astype(str)))


def write_parquet(rows: int, folder: Path) -> None:
    """A folder of files of a million rows each."""
    writer, written = None, 0
    for batch in people(rows):
        if written % (4 * _CHUNK) == 0:
            if writer is not None:
                writer.close()
            name = folder / f"part-{written // (4 * _CHUNK):04d}.parquet"
            writer = pyarrow.parquet.ParquetWriter(name, batch.schema)
        assert writer is not None
        writer.write_batch(batch)
        written += batch.num_rows
    if writer is not None:
        writer.close()


def write_postgres(rows: int, service: str) -> None:
    """A table on a server."""
    import adbc_driver_postgresql.dbapi as driver

    batches = people(rows)
    first = next(batches)
    whole = (batch for part in ([first], batches) for batch in part)
    reader = pa.RecordBatchReader.from_batches(first.schema, whole)
    with driver.connect(f"postgresql:///?service={service}") as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(TABLE, reader, mode="create")
        connection.commit()


def drop_postgres(service: str) -> None:
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(f"postgresql:///?service={service}") as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
        connection.commit()


def read(place: str) -> Reading:
    """Read and encode, as `accord link` does."""
    began = time.perf_counter()
    records = load_records(place, FIELDS, "00")
    return Reading(len(records), time.perf_counter() - began, peak_mib())


def scan(place: str) -> Reading:
    """Read the same columns and drop them."""
    began = time.perf_counter()
    rows = sum(batch.num_rows for batch in _scan(place))
    return Reading(rows, time.perf_counter() - began, peak_mib())


def _scan(place: str) -> Iterator[pa.RecordBatch]:
    if not place.startswith("postgres:"):
        for file in sorted(Path(place).iterdir()):
            yield from pyarrow.parquet.ParquetFile(file).iter_batches(columns=_COLUMNS)
        return
    import adbc_driver_postgresql.dbapi as driver

    service = place.removeprefix("postgres:").partition("?")[0]
    with driver.connect(f"postgresql:///?service={service}") as connection, connection.cursor() as cursor:
        # The driver runs it as COPY … TO STDOUT (FORMAT binary).
        cursor.execute(f"SELECT {', '.join(_COLUMNS)} FROM {TABLE}")  # noqa: S608
        with cursor.fetch_record_batch() as reader:
            yield from reader


def measure(how: str, place: str) -> Reading:
    """A reading in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.sources", "--measure", how, place]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Reading(**json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=ROWS)
    parser.add_argument("--service", help="of libpq's service file")
    parser.add_argument("--measure", nargs=2, metavar=("read|scan", "PLACE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        how, place = asked.measure
        print(json.dumps((read if how == "read" else scan)(place).__dict__))
        return
    # Compiled once, before anything is measured.
    load_records(pa.table(next(people(10))), FIELDS, "00")
    with tempfile.TemporaryDirectory() as folder:
        write_parquet(asked.rows, Path(folder))
        for how in ("scan", "read"):
            print(f"parquet   {how}  {measure(how, folder)}")
    if asked.service:
        try:
            write_postgres(asked.rows, asked.service)
            for how in ("scan", "read"):
                print(f"postgres  {how}  {measure(how, f'postgres:{asked.service}?table={TABLE}')}")
        finally:
            drop_postgres(asked.service)


if __name__ == "__main__":
    main()
