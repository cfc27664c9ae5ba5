"""Ctrl-C that waits for a moment at which it can be obeyed.

Between a charge in the ledger and the run on disk an interrupt would leave a run that was paid for and that
nobody can go on with, while the partner is told to resume it. That section is short, so the interrupt waits.
Python delivers interrupts to its main thread alone: in any other there is nothing to hold back.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Do the block whole; an interrupt that came meanwhile is obeyed after it."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came:
        handler(*came[0])
