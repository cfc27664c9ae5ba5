"""How many workers a side may want, and for how many it has cores."""

from __future__ import annotations

import os

from accord.arguments import require
from accord.errors import UsageError

MOST_WORKERS = 256


def count_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_count(workers: object) -> None:
    """Raise unless it is a number of workers, or None."""
    if workers is None:
        return
    require("workers", workers, f"a number from 1 to {MOST_WORKERS}", int)
    assert isinstance(workers, int)
    if not 1 <= workers <= MOST_WORKERS:
        raise UsageError(problem=f"`workers=` is a number from 1 to {MOST_WORKERS}, not {workers}.")
