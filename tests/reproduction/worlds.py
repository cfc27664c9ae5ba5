"""What the tests of the laboratory share: its plug-ins, a size small enough for tests, cheap experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accord import plugins
from accord.privacy import calibration, events, noise
from accord.protocols import registry
from accord.secure import engine
from reproduction.lab import Lab, Size
from reproduction.sweep import Experiment, Measures, Point

ROOT = Path(__file__).parents[2]
PLUG_IN = "reproduction.plugins"
TINY = Size("quick", (1, 2), 300, (1, 2), 200, 2)
"""Named quick, so that every experiment takes its small sizes."""


@contextmanager
def plugged() -> Iterator[None]:
    """Agreements may name what the laboratory has; no other test shall know it."""
    registries: list[dict[str, Any]] = [
        plugins._loaded, registry.PROTOCOLS, events.EVENTS, calibration.NOISES, noise.KINDS, engine.PLUGGED,
    ]  # fmt: skip
    before = [dict(each) for each in registries]
    plugins.load(PLUG_IN)
    try:
        yield
    finally:
        for each, kept in zip(registries, before, strict=True):
            each.clear()
            each.update(kept)


def lab(seed: int = 0, size: Size = TINY, data: Path | None = None) -> Lab:
    """On generated tables, unless a folder is given."""
    return Lab(size, data, seed)


def quiet(done: int, total: int) -> None:
    """A watch that shows nothing."""


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
