"""Public files of trips for the laboratory: every spelling, what is dropped, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import io
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from accord.errors import DataError, OutputError
from reproduction import taxi_files
from reproduction.lab import FULL, Lab
from reproduction.paper_data import BOX
from reproduction.taxi_files import HEAD, app, make_pickups

HEADERS = {
    2009: "vendor_name,Trip_Pickup_DateTime,Trip_Dropoff_DateTime,Start_Lon,Start_Lat,End_Lon",
    2010: "vendor_id,pickup_datetime,dropoff_datetime,pickup_longitude,pickup_latitude,dropoff_longitude",
    2014: "vendor_id, pickup_datetime, dropoff_datetime, pickup_longitude, pickup_latitude, rate_code",
    2015: "VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,pickup_longitude,pickup_latitude,RateCodeID",
}
SOUTH, WEST, NORTH, EAST = BOX
Trip = tuple[str, str, str]
"""Time, longitude and latitude, as they are written."""


def trips(year: int, count: int = 50) -> list[Trip]:
    """Made-up pick-ups inside the box, over some days."""
    rng = np.random.default_rng(year)
    seconds, lon, lat = rng.integers(0, 5 * 86400, count), rng.uniform(WEST, EAST, count), rng.random(count)
    return [
        (
            str(datetime(year, 1, 10) + timedelta(seconds=int(s))),
            f"{x:.6f}",
            f"{SOUTH + y * (NORTH - SOUTH):.6f}",
        )
        for s, x, y in zip(seconds, lon, lat, strict=True)
    ]


def text(year: int, rows: list[Trip]) -> str:
    # As published in 2014: an empty line below the header.
    gap = "\r\n" if year == 2014 else ""
    lines = (f"CMT,{time},{time},{lon},{lat},1\r\n" for time, lon, lat in rows)
    return f"{HEADERS[year]}\r\n{gap}{''.join(lines)}"


def month(folder: Path, year: int, rows: list[Trip] | None = None, ending: str = "csv") -> Path:
    """A file of a month."""
    path, rows = folder / f"yellow_tripdata_{year}-01.{ending}", trips(year) if rows is None else rows
    if ending == "csv":
        path.write_text(text(year, rows))
    elif ending == "csv.gz":
        path.write_bytes(gzip.compress(text(year, rows).encode()))
    else:
        found = pyarrow.csv.read_csv(io.BytesIO(text(year, rows).encode()))
        if year == 2009:
            # Its times are texts.
            found = found.set_column(1, found.column_names[1], found[1].cast(pa.string()))
        pyarrow.parquet.write_table(found, path)
    return path


@pytest.mark.parametrize(
    ("year", "ending"),
    [
        (2009, "csv"),
        (2010, "csv"),
        (2014, "csv"),
        (2015, "csv"),
        (2014, "csv.gz"),
        (2009, "parquet"),
        (2010, "parquet"),
    ],
)
def test_every_spelling_gives_the_same_rows(year: int, ending: str, tmp_path: Path) -> None:
    place, digest, (tally,) = make_pickups([month(tmp_path, year, ending=ending)], tmp_path / "data")
    assert place == tmp_path / "data" / "taxi" / "pickups.csv"
    assert hashlib.sha256(place.read_bytes()).hexdigest() == digest
    head, *lines = place.read_text().splitlines()
    assert head == ",".join(HEAD)
    assert lines == [f"{time[:10]},{int(time[11:13])},{lat},{lon},1,dated" for time, lon, lat in trips(year)]
    assert (tally.kept, sum(tally.dropped.values())) == (50, 0)


def test_the_laboratory_reads_it_and_generates_the_rest(tmp_path: Path) -> None:
    files = [month(tmp_path, 2009), month(tmp_path, 2015)]
    _, digest, _ = make_pickups(files, tmp_path / "data")
    lab = Lab(FULL, tmp_path / "data", 0)
    assert lab.source("taxi") == f"real {digest[:8]}"
    assert lab.source("ab") == "generated"
    setup = lab.setup("taxi", 1, 200)
    hours = {int(time[11:13]) for year in (2009, 2015) for time, *_ in trips(year)}
    assert set(setup.made.a["hour"].to_pylist()) <= hours
    assert setup.counter.all_matches >= 1
    assert len(lab.tables("ab", 1, 20)[0].a) == 20


def test_what_is_dropped_is_told_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of a batch."""
    good = trips(2015, 3)
    time, lon, lat = good[0]
    bad = [
        ("", lon, lat), ("2015-02-30 10:00:00", lon, lat), ("soon", lon, lat),
        ("2019-01-01 10:00:00", lon, lat), ("2008-12-31 23:59:59", lon, lat),
        (time, "0", "0"), (time, "", lat), (time, lon, "x"), (time, "nan", lat),
        (time, "-73.9", lat), (time, lon, "40.71"), (time, lon, "41"), (time, "-7.4e1", "99"),
    ]  # fmt: skip
    path = month(tmp_path, 2015, [good[0], *bad, *good[1:]])
    lines = path.read_text().splitlines()
    lines[3:3] = ["CMT,1,2", "CMT,1,2,3,4,5,6,7"]
    path.write_text("\n".join(lines) + "\n")
    seen = []
    for block in (1 << 24, 200):
        monkeypatch.setattr(taxi_files, "_BLOCK", block)
        place, _, (tally,) = make_pickups([path], tmp_path / "data")
        assert list(tally.dropped.values()) == [2, 3, 2, 4, 4]
        assert tally.uneven == 3
        seen.append(place.read_bytes())
    assert seen[0] == seen[1]
    assert seen[0].count(b"\n") == 4


def test_odd_bytes_cost_a_row_and_not_the_file(tmp_path: Path) -> None:
    """In a row that is kept, in one with too few cells, and a mark before the header."""
    path = month(tmp_path, 2015)
    rest = HEADERS[2015].removeprefix("VendorID,").encode()
    rows = path.read_bytes().splitlines()[1:]
    given = [b"\xef\xbb\xbf" + rest, *(row.removeprefix(b"CMT,") for row in rows), b"\xe9,1", b"\xff\xfe"]
    given[5] = given[5][:-1] + b"\xe9"
    path.write_bytes(b"\n".join(given) + b"\n")
    _, _, (tally,) = make_pickups([path], tmp_path / "data")
    assert (tally.kept, tally.dropped["a wrong number of cells"]) == (50, 2)
    wide = tmp_path / "wide.csv"
    wide.write_bytes(path.read_bytes().decode("latin-1").encode("utf-16"))
    with pytest.raises(DataError, match="no column of the time, latitude, longitude"):
        make_pickups([wide], tmp_path / "data")


def test_times_of_a_zone_are_those_of_its_clocks(tmp_path: Path) -> None:
    at = pa.array([datetime(2010, 7, 1, 2)], pa.timestamp("us", "America/New_York"))
    path = tmp_path / "zone.parquet"
    place = {"pickup_longitude": [WEST + 0.01], "pickup_latitude": [SOUTH + 0.01]}
    pyarrow.parquet.write_table(pa.table({"pickup_datetime": at, **place}), path)
    made, _, _ = make_pickups([path], tmp_path / "data")
    assert made.read_text().splitlines()[1].startswith("2010-06-30,22,")
    pyarrow.parquet.write_table(pa.table({"pickup_datetime": [[1]], **place}), path)
    with pytest.raises(DataError, match="neither numbers nor texts"):
        make_pickups([path], tmp_path / "data")


def test_all_that_is_wrong_with_all_files_is_told_at_once(tmp_path: Path) -> None:
    zones = tmp_path / "zones.csv"
    zones.write_text("VendorID,tpep_pickup_datetime,PULocationID\n1,2017-01-01 00:00:00,7\n")
    anew = tmp_path / "anew.parquet"
    pyarrow.parquet.write_table(pa.table({"tpep_pickup_datetime": ["x"], "PULocationID": [3]}), anew)
    empty, other, binary = (tmp_path / name for name in ("empty.csv", "other.csv", "binary.parquet"))
    empty.write_text("")
    other.write_text("name,pickup_datetime\na,b\n")
    binary.write_bytes(b"PAR1 and no more")
    given = [zones, anew, empty, other, binary, tmp_path / "none.csv", month(tmp_path, 2009)]
    with pytest.raises(DataError) as caught:
        make_pickups(given, tmp_path / "data")
    assert [fault.place for fault in caught.value.faults] == [str(path) for path in given[:-1]]
    said = [str(fault) for fault in caught.value.faults]
    for text_ in said[:2]:
        assert "zones and no coordinates: since July 2016" in text_
        assert "without --data" in text_
    assert "no column of the latitude, longitude" in said[3]
    assert "No such file" in said[5]
    assert not list((tmp_path / "data" / "taxi").iterdir())


def test_files_of_which_nothing_is_left_are_refused(tmp_path: Path) -> None:
    """Those without rows, without one in the box, and one that breaks off; what was there stays as it was."""
    torn = month(tmp_path, 2014, trips(2014, 4000), ending="csv.gz")
    torn.write_bytes(torn.read_bytes()[:-3000])
    given = [
        month(tmp_path, 2009, []),
        month(tmp_path, 2010, [("2010-01-01 00:00:00", "-70.5", "40.75")]),
        torn,
        month(tmp_path, 2015, [], ending="parquet"),
    ]
    kept = tmp_path / "data" / "taxi" / "pickups.csv"
    kept.parent.mkdir(parents=True)
    kept.write_text("as it was")
    with pytest.raises(DataError) as caught:
        make_pickups(given, tmp_path / "data")
    said = [str(fault) for fault in caught.value.faults]
    assert len(said) == 4
    assert "no rows" in said[0]
    assert "1 with a place outside the paper's box" in said[1]
    assert "damaged" in said[2]
    assert [path.name for path in kept.parent.iterdir()] == ["pickups.csv"]
    assert kept.read_text() == "as it was"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(OutputError):
        make_pickups([month(tmp_path, 2009)], tmp_path / "data")


def test_the_command_tells_what_it_made(tmp_path: Path) -> None:
    path = month(tmp_path, 2009, [*trips(2009), ("2009-01-01 00:00:00", "0", "0")])
    done = CliRunner().invoke(app, [str(path), "--out", str(tmp_path / "data")])
    assert done.exit_code == 0, done.output
    digest = hashlib.sha256((tmp_path / "data" / "taxi" / "pickups.csv").read_bytes()).hexdigest()
    assert f"{path}: 50 pick-ups kept; dropped: 1 with no place." in done.output
    assert f"50 pick-ups, SHA-256 {digest}." in done.output
    twice = CliRunner().invoke(app, [str(path), str(path), "--out", str(tmp_path / "data")])
    assert "named twice" in str(twice.exception)
