"""The course of a run on the terminal: a bar on stderr for people, events on stdout for machines."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import typer

from accord.cli.terminal import Counter, make_bars, say
from accord.errors import InterruptedEarlyError
from accord.notices import Connected, Notice, Progress, Reading, encode_notice
from accord.run.narrator import tell_in_words, tell_matched
from accord.wording import lasting

_EVENTS_A_SECOND = 5.0


class Display:
    """Shows what `link` tells; use it as a context."""

    def __init__(self, as_json: bool, quiet: bool) -> None:
        self._as_json, self._quiet = as_json, quiet
        self._bar: Any = None
        self._task: Any = None
        self._reading: Counter | None = None
        self._last = 0.0
        self._connected = False

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._reading is not None:
            self._reading.close()
        if self._bar is not None:
            self._bar.stop()
        if kind is KeyboardInterrupt and not self._connected:
            raise InterruptedEarlyError from None

    def tell(self, notice: Notice) -> None:
        """Show one notice; progress is thinned out."""
        self._connected = self._connected or isinstance(notice, Connected)
        if isinstance(notice, Progress) or (isinstance(notice, Reading) and not notice.done):
            now = time.monotonic()
            if now - self._last < 1 / _EVENTS_A_SECOND:
                return
            self._last = now
        if self._as_json:
            typer.echo(encode_notice(notice))
            sys.stdout.flush()
        elif not self._quiet:
            self._show(notice)

    def _show(self, notice: Notice) -> None:
        if isinstance(notice, Reading):
            self._count(notice)
        elif isinstance(notice, Progress):
            self._advance(notice)
        else:
            say(tell_in_words(notice), err=True)

    def _count(self, notice: Reading) -> None:
        """How many rows were read: nobody knows of how many."""
        self._reading = self._reading or Counter()
        self._reading(notice.rows)
        if notice.done:
            self._reading.close()

    def _advance(self, notice: Progress) -> None:
        from rich.progress import BarColumn, TextColumn

        if self._bar is None:
            self._bar = make_bars(
                TextColumn("Comparing"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %"),
                TextColumn("{task.fields[told]}"),
            )
            self._task = self._bar.add_task("", total=None, told="")
            self._bar.start()
        told = tell_matched(notice)
        if notice.seconds_left is not None:
            told += f", {lasting(notice.seconds_left)} left"
        self._bar.update(self._task, completed=notice.comparisons, total=notice.most_comparisons, told=told)
