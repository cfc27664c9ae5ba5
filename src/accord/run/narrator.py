"""A run in words, for whoever has no bar to look at: a notebook, a log, a pipe.

What happens once is a sentence as it happens; how far the comparisons are is told now and then. As notices
do, words hold public numbers and names and nothing else.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from accord.notices import (
    Charged,
    Connected,
    Done,
    Dropped,
    Listening,
    Notice,
    Progress,
    Reading,
    Tell,
    Waiting,
)
from accord.wording import counted, lasting, sized

_EVERY = 5.0
"""Seconds between two lines on how far the run is."""


def narrate() -> Tell:
    """To pass as `tell` to `link` and `resume` in a notebook: says on stderr what happens."""
    return Narrator(_write, time.monotonic).tell


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class Narrator:
    """Writes a line for each notice, and of those that say how far it is one now and then."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._write, self._clock = write, clock
        self._next = clock()

    def tell(self, notice: Notice) -> None:
        if isinstance(notice, Progress) or (isinstance(notice, Reading) and not notice.done):
            now = self._clock()
            if now < self._next:
                return
            self._next = now + _EVERY
        self._write(tell_in_words(notice))


def tell_in_words(notice: Notice) -> str:
    """The notice as a sentence."""
    match notice:
        case Reading(rows, done):
            return f"Read {counted(rows, 'row')}{'' if done else ' so far'}."
        case Listening(partner, port):
            return f"Waiting for {partner} at port {port}."
        case Waiting(partner, host, port, reason):
            return f"Waiting for {partner} to listen at {host}, port {port}: {reason}."
        case Dropped(partner, host, reason, dropped):
            told = f"Still waiting for {partner}; {dropped:,} dropped so far."
            return f"Dropped a caller from {host}: {reason}. {told}"
        case Connected(partner):
            return f"Connected to {partner}; both cards are right."
        case Charged(run):
            return f"Run {run}."
        case Progress():
            return _tell_progress(notice)
        case Done():
            work = f"{counted(notice.comparisons, 'comparison')}, {sized(notice.bytes)}"
            return f"{work}, {lasting(notice.seconds)}. Receipt of run {notice.run} is kept."


def _tell_progress(notice: Progress) -> str:
    share = notice.comparisons / notice.most_comparisons if notice.most_comparisons else 1.0
    left = "" if notice.seconds_left is None else f", at most about {lasting(notice.seconds_left)} left"
    told = tell_matched(notice)
    return f"Comparing: {share:.0%}, {told}{left}."


def tell_matched(notice: Progress) -> str:
    """How many matched so far, where somebody may know, and what was sent."""
    matched = "" if notice.matches is None else f"{counted(notice.matches, 'comparison')} matched, "
    return f"{matched}{sized(notice.bytes)}"
