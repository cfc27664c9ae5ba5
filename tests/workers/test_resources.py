"""The most anonymous memory: what was there for a while counts, what lies in a file does not."""

from __future__ import annotations

import mmap
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from accord.workers.resources import Peak, held_bytes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells anonymous memory")
LARGE = 1 << 27


def wait_for_a_look(peak: Peak) -> None:
    """Until the thread has looked once more, however busy the machine is."""
    looked, read = [], peak.read
    peak.read = lambda: looked.append(1) or read()  # type: ignore[method-assign, func-returns-value]
    while not looked:
        time.sleep(0.01)


def test_what_was_held_for_a_while_is_remembered() -> None:
    with Peak() as peak:
        before = peak.read()
        large = np.ones(LARGE, np.uint8)
        wait_for_a_look(peak)
        del large
        assert held_bytes() < before + LARGE // 2
        assert peak.read() >= before + 0.9 * LARGE


def test_a_mapped_file_does_not_count(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w+b") as file:
        file.truncate(LARGE)
        before = held_bytes()
        with mmap.mmap(file.fileno(), LARGE, access=mmap.ACCESS_READ) as mapped:
            assert not any(mapped[at] for at in range(0, LARGE, mmap.PAGESIZE))
            assert held_bytes() < before + LARGE // 2
