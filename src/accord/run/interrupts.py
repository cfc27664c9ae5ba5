"""Ctrl-C, and the end that a service manager asks for (SIGTERM), at a moment at which they can be obeyed.

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
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    if threading.current_thread() is not threading.main_thread() or not held:
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    for number in held:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
    if came:
        held[signal.Signals(came[0][0])](*came[0])
