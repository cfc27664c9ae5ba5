"""What a run takes of a machine: cores, memory, and the seconds that patience is measured by.

What counts as memory is anonymous: what has no file behind it, and so cannot be dropped. Pages of files that
are mapped, which long columns and matches are (spill.py), come and go with whatever else the machine has to
hold, and say nothing of what a run needs. Linux keeps the most that was resident, but not the most that was
anonymous; so it is looked at, twenty times a second, by a thread that does nothing else. What is held for
less than that may be missed. Elsewhere it is the most that was resident, files included.

How long a step should take the partner is told from public numbers, with a large circuit, on a slow machine:
to wait too long costs little, to give up too early a run.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
from pathlib import Path
from types import TracebackType

from accord.secure.engine import PLUGGED

_SECONDS = 0.05
_SECONDS_A_COMPARISON = {"ot": 2e-5, "dual": 2e-4}
_SECONDS_A_RECORD = 1e-5
"""To sort, pad or look up a record or a dummy, in any step."""
_SECONDS_OF_WORK = 1e-7
"""For a pair of records that are compared in the clear."""


def count_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def expected_seconds(engine: str, comparisons: int, clear: int = 0, slots: int = 0) -> float:
    """A step with so many secure comparisons, so many in the clear, and records and slots of both sides."""
    each = PLUGGED[engine].seconds if engine in PLUGGED else _SECONDS_A_COMPARISON[engine]
    secure = comparisons * each
    return secure + clear * _SECONDS_OF_WORK + slots * _SECONDS_A_RECORD


def held_bytes() -> int:
    """Anonymous memory now; where the system does not tell, the most that was ever resident."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        _, resident, of_files = pages.read_text().split()[:3]
        return (int(resident) - int(of_files)) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


class Peak:
    """The most that is held while it is watched; use it as a context."""

    def __init__(self) -> None:
        self._most = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peak", daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def read(self) -> int:
        """The most so far, in bytes."""
        self._most = max(self._most, held_bytes())
        return self._most

    def _watch(self) -> None:
        while not self._end.wait(_SECONDS):
            self.read()
