"""`python -m reproduction.taxi_files MONTH_FILE... --out FOLDER`: Taxi for the laboratory, from public files.

The New York City Taxi and Limousine Commission publishes its yellow taxis' trips, a file for each month. With
coordinates, as the paper needs them [HMFS17, §5.1], these are

    csv, csv.gz  2009 to June 2016, as they were first published
    parquet      2009 and 2010; from 2011 on they were made anew, with zones in the place of coordinates

Headers were spelt in three ways over the years, and all are read. A file that has only zones (`PULocationID`)
is refused: a zone is larger than the paper's cells, and nobody can tell where in it a trip began. Any number
of months may be given; the paper draws 300,000 pick-ups a day, which one month has.

What comes out is FOLDER/taxi/pickups.csv, with true dates and hours, for `python -m reproduction … --data
FOLDER`: Abt-Buy is then generated unless its folder is there as well. Kept are pick-ups in the paper's box;
all others are dropped, and told with the reason. The same files in the same order give the same bytes, whose
SHA-256 is printed. Files are read in batches, so memory does not grow with them; the output is written whole
or not at all. Faults of all files are told at once.

It ends with 0 when done, 2 if it was called wrongly, 4 if a file cannot be used, 5 if the output cannot be
written, and 130 after Ctrl-C.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import IO, Annotated

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import typer

from accord import AccordError
from accord.cli.words import as_options
from accord.errors import DataError, Fault, OutputError, UsageError
from reproduction.paper_data import BOX
from reproduction.sources import FOLDERS, TAXI_FILE

HEAD = ("pickup_date", "pickup_hour", "latitude", "longitude", "source_id", "quality")
SPELLINGS = {
    "time": ("trip_pickup_datetime", "pickup_datetime", "tpep_pickup_datetime"),
    "latitude": ("start_lat", "pickup_latitude"),
    "longitude": ("start_lon", "pickup_longitude"),
}
"""Of each column that is needed its names over the years, without blanks and in small letters."""
_ZONES = ("pulocationid", "pickup_location_id", "locationid")
_MARK = "\ufeff".encode().decode("latin-1")
"""What some programs put before the header of a csv file in UTF-8."""
_FIRST, _LAST = date(2009, 1, 1), date(2016, 6, 30)
"""Of which days there are coordinates."""
_BLOCK, _ROWS = 1 << 22, 1 << 16
"""Bytes of a csv file, and rows of a parquet file, that are read at a time."""
_GET = (
    "Take a csv of 2009 to June 2016 as first published, or a parquet file of 2009 or 2010; or run the "
    "laboratory without --data, on generated pick-ups."
)
_UNEVEN, _NO_TIME, _NO_PLACE = "a wrong number of cells", "no time that exists", "no place"
_ANOTHER_TIME, _OUTSIDE = "a time outside 2009 to June 2016", "a place outside the paper's box"
REASONS = (_UNEVEN, _NO_TIME, _ANOTHER_TIME, _NO_PLACE, _OUTSIDE)
"""Why a row is dropped: the first of these that is true of it."""


@dataclass
class Tally:
    """What became of the rows of a file."""

    kept: int = 0
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    uneven: int | None = None
    """The first row with too few or too many cells, where it is known."""

    @property
    def lines(self) -> list[str]:
        where = f", the first in row {self.uneven:,}" if self.uneven is not None else ""
        told = [f"{count:,} with {reason}" for reason, count in self.dropped.items() if count]
        return [told[0] + where, *told[1:]] if self.dropped[_UNEVEN] else told


class CutOffError(AccordError):
    """Stopped. Nothing was written."""

    exit_code = 130


def make_pickups(files: Sequence[Path], out: Path) -> tuple[Path, str, list[Tally]]:
    """The pick-ups of these files as the laboratory reads them: where they are, their SHA-256, and what
    became of the rows of each file."""
    faults: list[Fault] = []
    place = out / FOLDERS["taxi"] / TAXI_FILE
    with _whole(place) as file:
        file.write((",".join(HEAD) + "\n").encode())
        tallies = [_add(path, number, file, faults) for number, path in enumerate(files, 1)]
        if faults:
            raise DataError("What was given", faults, "Nothing was written.")
    with place.open("rb") as made:
        return place, hashlib.file_digest(made, "sha256").hexdigest(), tallies


# -- what a file is -----------------------------------------------------------------------------------------


def _refuse(path: Path) -> list[Fault]:
    """What is wrong with a file, as far as its header tells."""
    try:
        _columns(_header(path))
    except OSError as error:
        return [Fault(str(path), f"it cannot be read: {error.strerror or 'it is damaged'}.")]
    except (pa.ArrowException, EOFError):
        return [Fault(str(path), "it is no csv and no parquet file, or it is empty.", _GET)]
    except ValueError as error:
        return [Fault(str(path), str(error), _GET)]
    return []


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _header(path: Path) -> list[str]:
    if _is_parquet(path):
        return list(pyarrow.parquet.read_schema(path).names)
    with _csv(path, None) as reader:
        return list(reader.schema.names)


def _columns(header: Sequence[str]) -> list[str]:
    """Time, latitude and longitude as this file calls them."""
    plain = {name.removeprefix(_MARK).strip().lower(): name for name in header}
    found = [[plain[name] for name in names if name in plain] for names in SPELLINGS.values()]
    if all(found):
        return [names[0] for names in found]
    if any(name in plain for name in _ZONES):
        raise ValueError(
            "it has zones and no coordinates: since July 2016 nothing else is published, and the parquet "
            "files of 2011 on were made anew with zones."
        )
    lacking = [what for what, names in zip(SPELLINGS, found, strict=True) if not names]
    raise ValueError(f"it has no column of the {', '.join(lacking)} of a pick-up.")


def _csv(path: Path, tally: Tally | None, columns: Sequence[str] = ()) -> pyarrow.csv.CSVStreamingReader:
    """A csv file batch by batch; cells stay texts, so that a wrong one is a row less and not an error."""

    def uneven(row: pyarrow.csv.InvalidRow) -> str:
        if tally is not None:
            tally.dropped[_UNEVEN] += 1
            tally.uneven = tally.uneven if tally.uneven is not None or row.number is None else row.number - 1
        return "skip"

    return pyarrow.csv.open_csv(
        path,
        # In one thread, the number of a row is known. Any bytes are latin-1: a row with odd ones is a row
        # less, and not the end of the file.
        pyarrow.csv.ReadOptions(use_threads=False, block_size=_BLOCK, encoding="latin-1"),
        pyarrow.csv.ParseOptions(invalid_row_handler=uneven),
        pyarrow.csv.ConvertOptions(
            check_utf8=False,
            include_columns=list(columns) or None,
            column_types=dict.fromkeys(columns, pa.string()),
        ),
    )


def _batches(path: Path, tally: Tally) -> Iterator[pa.RecordBatch]:
    """Time, latitude and longitude, some rows at a time."""
    columns = _columns(_header(path))
    if _is_parquet(path):
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS, columns=columns):
                yield batch.select(columns)
        return
    with _csv(path, tally, columns) as reader:
        yield from reader


# -- its rows -----------------------------------------------------------------------------------------------


def _add(path: Path, number: int, file: IO[bytes], faults: list[Fault]) -> Tally:
    """Write what is kept of a file; what is wrong with it goes to the faults."""
    tally, before = Tally(), len(faults)
    faults += _refuse(path)
    if len(faults) > before:
        return tally
    plain = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    try:
        for batch in _sound(path, tally, faults):
            pyarrow.csv.write_csv(_choose(batch, number, tally), file, plain)
    except pa.ArrowNotImplementedError:
        faults.append(Fault(str(path), "its times or places are neither numbers nor texts.", _GET))
    if not tally.kept and len(faults) == before:
        told = "; ".join(tally.lines) or "it has no rows"
        faults.append(Fault(str(path), f"no pick-up is kept ({told}).", _GET))
    return tally


def _sound(path: Path, tally: Tally, faults: list[Fault]) -> Iterator[pa.RecordBatch]:
    """The batches of a file up to where it is damaged."""
    rows = 0
    try:
        for batch in _batches(path, tally):
            rows += len(batch)
            yield batch
    except (pa.ArrowException, EOFError, OSError):
        faults.append(Fault(str(path), f"it is damaged, somewhere after row {rows:,}.", "Fetch it again."))


def _choose(batch: pa.RecordBatch, number: int, tally: Tally) -> pa.Table:
    """The rows that are kept, as they are written."""
    time, latitude, longitude = _times(batch[0]), _numbers(batch[1]), _numbers(batch[2])
    days = pc.cast(time, pa.date32())
    south, west, north, east = BOX
    sound = {
        _NO_TIME: pc.is_valid(time),
        _ANOTHER_TIME: _between(days, _FIRST, _LAST),
        # Where a meter had no signal it wrote zeros.
        _NO_PLACE: pc.and_(_is_somewhere(latitude), _is_somewhere(longitude)),
        _OUTSIDE: pc.and_(_between(latitude, south, north), _between(longitude, west, east)),
    }
    left = pa.repeat(True, len(batch))
    for reason, holds in sound.items():
        stays = pc.and_(left, pc.fill_null(holds, False))
        tally.dropped[reason] += left.true_count - stays.true_count
        left = stays
    tally.kept += left.true_count
    # With six digits each, as the laboratory's own files have them.
    place = pa.decimal128(9, 6)
    at = [pc.round(degrees.filter(left), 6).cast(place) for degrees in (latitude, longitude)]
    same = [pa.repeat(number, left.true_count), pa.repeat("dated", left.true_count)]
    return pa.table([days.filter(left), pc.hour(time.filter(left)), *at, *same], list(HEAD))


def _times(cells: pa.Array) -> pa.Array:
    """As a time to the second; null where it is none."""
    if pa.types.is_timestamp(cells.type):
        # With a zone it is kept as that of Greenwich.
        cells = pc.local_timestamp(cells) if cells.type.tz else cells
        return cells.cast(pa.timestamp("s"), safe=False)
    written = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(cells.cast(pa.string())), 0, 19)
    shaped = pc.match_substring_regex(written, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
    written = pc.if_else(shaped, written, None)
    found = pc.strptime(written, "%Y-%m-%d %H:%M:%S", "s", error_is_null=True)
    # It takes the 30th of February for the 2nd of March.
    day = pc.utf8_slice_codeunits(written, 8, 10).cast(pa.int64())
    return pc.if_else(pc.equal(pc.day(found), day), found, None)


def _numbers(cells: pa.Array) -> pa.Array:
    """As numbers; null where a cell is none."""
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        return cells.cast(pa.float64())
    cells = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    sound = pc.match_substring_regex(cells, r"^[-+]?\d{1,4}(\.\d*)?([eE][-+]?\d{1,2})?$")
    return pc.if_else(sound, cells, None).cast(pa.float64())


def _is_somewhere(degrees: pa.Array) -> pa.Array:
    return pc.and_(pc.is_finite(degrees), pc.not_equal(degrees, 0.0))


def _between(values: pa.Array, least: object, most: object) -> pa.Array:
    return pc.and_(pc.greater_equal(values, pa.scalar(least)), pc.less_equal(values, pa.scalar(most)))


# -- writing ------------------------------------------------------------------------------------------------


@contextmanager
def _whole(place: Path) -> Iterator[IO[bytes]]:
    """A file that is there once all of it is."""
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, place)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(path=place, reason=error.strerror) from None


# -- the command --------------------------------------------------------------------------------------------

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def taxi_files(
    files: Annotated[
        list[Path], typer.Argument(metavar="MONTH_FILE...", help="Yellow-taxi files that have coordinates.")
    ],
    out: Annotated[Path, typer.Option(help="The folder of data; what is made is taxi/pickups.csv in it.")],
) -> None:
    """Make the laboratory's Taxi file from the public trip records of New York's yellow taxis."""
    if len({path.resolve() for path in files}) < len(files):
        raise UsageError(problem="A file is named twice.")
    try:
        place, digest, tallies = make_pickups(files, out)
    except KeyboardInterrupt:
        raise CutOffError from None
    for path, tally in zip(files, tallies, strict=True):
        typer.echo(f"{path}: {tally.kept:,} pick-ups kept; dropped: {'; '.join(tally.lines) or 'none'}.")
    kept = sum(tally.kept for tally in tallies)
    typer.echo(f"Wrote {place}: {kept:,} pick-ups, SHA-256 {digest}.")


def main() -> None:
    """Make the file and end with an exit code."""
    try:
        app(prog_name="python -m reproduction.taxi_files")
    except AccordError as error:
        typer.echo(f"reproduction: {as_options(error)}", err=True)
        raise SystemExit(error.exit_code) from None


if __name__ == "__main__":
    main()
