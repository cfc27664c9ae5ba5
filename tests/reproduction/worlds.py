"""A size small enough for tests, and experiments that count how often they run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.lab import Lab, Size
from reproduction.sweep import Experiment, Measures, Point

TINY = Size("quick", (1, 2), 300, (1, 2), 200, 2)
"""Named quick, so that every experiment takes its small sizes."""


def lab(seed: int = 0, size: Size = TINY, data: Path | None = None) -> Lab:
    """On generated tables, unless a folder is given."""
    return Lab(size, data, seed)


class Squares:
    """x → x²; keeps what it was asked for, and can break off."""

    def __init__(self, breaks_at: int | None = None) -> None:
        self.asked: list[int] = []
        self._breaks_at = breaks_at

    def experiment(self, version: int = 1) -> Experiment:
        return Experiment("squares", version, ("x", "delta"), ("square",), self._points, self._run)

    def _points(self, size: Size) -> Sequence[Point]:
        return [{"x": x, "delta": "1e-5"} for x in range(4)]

    def _run(self, lab: Lab, point: Point) -> Measures:
        if point["x"] == self._breaks_at:
            raise KeyboardInterrupt
        self.asked.append(int(point["x"]))
        return {"square": int(point["x"]) ** 2 + lab.seed}
