"""Experiments as sweeps over points, and a results file that a run cut off goes on with.

A point is a set of parameters; running it gives one row of results, a function of the parameters, the seed,
the data and the code (times apart). Each finished row is appended, and on disk, before the next point
begins; a file that cannot be appended to, since its last line is torn or its rows are of another version, is
replaced as a whole, so that at every moment all finished rows are on disk. A row is known again by the
experiment's version, the seed, the source of the data and the parameters, so a point that is there is not run
again. Whoever changes what an experiment measures raises its version; rows of another version are dropped.

Rows are tidy: one csv an experiment, one line a point, parameters first.
"""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from accord.errors import OutputError, UnreadableError
from reproduction.lab import Lab, Size

Value = str | int | float
Point = Mapping[str, Value]
"""The parameters of one measurement."""
Measures = Mapping[str, Value]
"""What was measured at a point."""
Row = Mapping[str, Value]
"""A line of the results: whose it is, the point, its measures, the seconds it took."""
Watch = Callable[[int, int], None]
"""Called with (points done, points in all)."""

_HEAD = ("version", "seed", "source")


@dataclass(frozen=True)
class Experiment:
    """What to run and what it gives."""

    name: str
    version: int
    parameters: tuple[str, ...]
    measures: tuple[str, ...]
    points: Callable[[Size], Sequence[Point]]
    """The points of a size, in the order in which to run them."""
    run: Callable[[Lab, Point], Measures]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*_HEAD, *self.parameters, *self.measures, "seconds")


def carry_out(
    experiment: Experiment, lab: Lab, folder: Path, watch: Watch, points: Sequence[Point] | None = None
) -> list[Row]:
    """Run the points, all or these, that are not in the results yet; give the rows of all, in order."""
    results = Results(experiment, folder / f"{experiment.name}.csv")
    points = experiment.points(lab.size) if points is None else points
    for done, point in enumerate(points):
        watch(done, len(points))
        if results.row(lab, point) is None:
            began = time.perf_counter()
            measured = experiment.run(lab, point)
            results.append(lab, point, {**measured, "seconds": round(time.perf_counter() - began, 3)})
    watch(len(points), len(points))
    return [row for point in points if (row := results.row(lab, point)) is not None]


def unfinished(experiment: Experiment, lab: Lab, folder: Path) -> list[Point]:
    """The points that are yet to be run."""
    results = Results(experiment, folder / f"{experiment.name}.csv")
    return [point for point in experiment.points(lab.size) if results.row(lab, point) is None]


def stored(experiment: Experiment, lab: Lab, folder: Path) -> list[Row]:
    """The rows that are there, of the data that was used last: a function of the file, size and seed."""
    results = Results(experiment, folder / f"{experiment.name}.csv")
    return results.latest(lab.seed, experiment.points(lab.size))


class Results:
    """The results file of one experiment."""

    def __init__(self, experiment: Experiment, path: Path) -> None:
        self._experiment, self._path = experiment, path
        self._rows: dict[tuple[str, ...], Row] = {}
        lines = _lines(path)
        for row in _parsed(lines, experiment.columns):
            if row["version"] == experiment.version:
                self._rows[self._key(row)] = row
        whole = all(line.endswith("\n") for line in lines)
        self._sound = whole and len(lines) == 1 + len(self._rows)

    def row(self, lab: Lab, point: Point) -> Row | None:
        """The row of a point, if it was run with this seed, data and version."""
        return self._rows.get(self._key(self._head(lab, point) | dict(point)))

    def latest(self, seed: int, points: Sequence[Point]) -> list[Row]:
        """The rows of points that were run with this seed, from the source of the last row of their set."""
        sources = {row.get("data"): row["source"] for row in self._rows.values() if row["seed"] == seed}
        head = {"version": self._experiment.version, "seed": seed}
        keys = (
            self._key(head | {"source": sources.get(point.get("data"), "")} | dict(point)) for point in points
        )
        return [self._rows[key] for key in keys if key in self._rows]

    def append(self, lab: Lab, point: Point, measured: Measures) -> None:
        """Keep a row: on disk before this returns."""
        row = {name: _value(str(v)) for name, v in {**self._head(lab, point), **point, **measured}.items()}
        self._rows[self._key(row)] = row
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._sound:
                _write(self._path, "a", [row], self._experiment.columns, head=False)
            else:
                self._replace()
        except OSError as error:
            raise OutputError(path=self._path, reason=error.strerror) from None
        self._sound = True

    def _replace(self) -> None:
        """Write all rows beside the file, then let them take its place."""
        beside = self._path.with_suffix(".new")
        _write(beside, "w", self._rows.values(), self._experiment.columns, head=True)
        os.replace(beside, self._path)

    def _head(self, lab: Lab, point: Point) -> dict[str, Value]:
        source = lab.source(str(point["data"])) if "data" in point else "none"
        return {"version": self._experiment.version, "seed": lab.seed, "source": source}

    def _key(self, row: Row) -> tuple[str, ...]:
        return tuple(str(_value(str(row[name]))) for name in (*_HEAD, *self._experiment.parameters))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise UnreadableError(path=path, reason=reason, mend="Name another folder with --out.") from None


def _parsed(lines: list[str], columns: tuple[str, ...]) -> Iterator[Row]:
    """The rows of the whole lines; a last one that a run cut off left behind does not count."""
    reader = csv.DictReader(io.StringIO("".join(line for line in lines if line.endswith("\n"))))
    if tuple(reader.fieldnames or ()) != columns:
        return
    for row in reader:
        if None not in row.values() and None not in row:
            yield {name: _value(text) for name, text in row.items()}


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _write(path: Path, mode: str, rows: Iterable[Row], columns: tuple[str, ...], head: bool) -> None:
    with path.open(mode, encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if head:
            writer.writeheader()
        writer.writerows(rows)
        file.flush()
        os.fsync(file.fileno())


def only(rows: Iterable[Row], **wanted: Value) -> list[Row]:
    """The rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


class MissingRow(LookupError):
    """A row that was not measured yet."""


def one(rows: Iterable[Row], **wanted: Value) -> Row:
    """The one row with these values; raises MissingRow if there is none."""
    found = only(rows, **wanted)
    if not found:
        raise MissingRow("no row with " + ", ".join(f"{name} = {value}" for name, value in wanted.items()))
    (row,) = found
    return row


def number(row: Row, name: str) -> float:
    """A measure as a number."""
    return float(row[name])
