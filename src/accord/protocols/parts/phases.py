"""What each phase of a run takes: time, and traffic where somebody counts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Lap:
    """What a stretch of a run took."""

    seconds: float = 0.0
    bytes: int = 0
    """Sent and received."""

    def __add__(self, other: Lap) -> Lap:
        return Lap(self.seconds + other.seconds, self.bytes + other.bytes)


@dataclass(frozen=True)
class Phases:
    """What each phase took."""

    set_up: Lap = Lap()
    compare: Lap = Lap()
    disclose: Lap = Lap()


class Stopwatch:
    """Time and traffic by laps; `traffic` tells the bytes so far."""

    def __init__(self, clock: Callable[[], float], traffic: Callable[[], int]) -> None:
        self._clock, self._traffic = clock, traffic
        self._last = self._now()

    def lap(self) -> Lap:
        """Since the last lap."""
        last, self._last = self._last, self._now()
        return Lap(self._last.seconds - last.seconds, self._last.bytes - last.bytes)

    def _now(self) -> Lap:
        return Lap(self._clock(), self._traffic())
