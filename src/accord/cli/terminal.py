"""What people see: lines that break between words, and progress that never shares a line with them.

Whatever is said is written to the stream that is there at that moment. While bars are drawn, that is one that
puts each line above them; a stream that somebody has kept from before would write into the bars.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from accord.wording import lasting

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

_PATIENCE = 1.0
_HEAD = re.compile(r" *(?:- |\S.{0,20}? {2,}(?=\S))?")
"""What later lines of a paragraph stand behind: spaces, a dash or a label with two spaces after it."""
_COMMAND = re.compile(r"`[^`\n]*`")
_HARD_SPACE = "\0"


def say(text: str, err: bool = False) -> None:
    """Print a text for people; on a terminal its lines break between words."""
    stream = sys.stderr if err else sys.stdout
    width = width_of(stream)
    text = plain(text)
    stream.write(f"{text if width is None else wrap(text, width)}\n")
    stream.flush()


def plain(text: str) -> str:
    """The text without characters that a terminal would obey: names of columns come from anywhere."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def width_of(stream: TextIO) -> int | None:
    """The columns of a terminal; None for what is no terminal, where lines stay as they are."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def wrap(text: str, width: int) -> str:
    """The text in lines of this width, broken between words alone: a path, an id, a fingerprint or a command
    in backquotes may have to be copied, and stays whole."""
    return "\n".join(_wrap_line(line, width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    head = _HEAD.match(line)
    indent = head.end() if head is not None else 0
    whole = _COMMAND.sub(lambda command: command[0].replace(" ", _HARD_SPACE), line[indent:])
    lines = textwrap.wrap(
        whole,
        max(width - indent, 1),
        break_long_words=False,
        break_on_hyphens=False,
    )
    broken = ("\n" + " " * indent).join(lines)
    return line[:indent] + broken.replace(_HARD_SPACE, " ")


_FEW = 12
"""Loops that are compiled before that is worth a word."""


class SayingHandler(logging.Handler):
    """Says on stderr what is logged; that loops are compiled is said once, not of each of them.

    A few of them take two seconds or three, which nobody minds: what reads a table needs no more, and only a
    linkage needs all.
    """

    def __init__(self) -> None:
        super().__init__()
        self._compiled = 0

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != "accord.kernel":
            say(self.format(record), err=True)
            return
        self._compiled += 1
        if self._compiled == _FEW:
            say("Compiling for this machine, once: it takes about ten seconds.", err=True)


def make_bars(*columns: str | ProgressColumn) -> Progress:
    """Bars on stderr; disabled where they cannot be drawn over: in a pipe, on a terminal without a cursor."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(
        *columns,
        console=console,
        transient=True,
        # A result that goes into a file is none of the bars' business.
        redirect_stdout=sys.stdout.isatty(),
        disable=not console.is_terminal or console.is_dumb_terminal,
    )


class Counter:
    """How many rows were read, of nobody knows how many; drawn once that has lasted a second."""

    def __init__(self) -> None:
        from rich.progress import SpinnerColumn, TextColumn

        self._bar = make_bars(SpinnerColumn(), TextColumn("Read {task.completed:,.0f} rows"))
        self._task = self._bar.add_task("", total=None)
        self._began = time.monotonic()

    def __call__(self, rows: int) -> None:
        self._bar.update(self._task, completed=rows)
        if not self._bar.live.is_started and time.monotonic() - self._began > _PATIENCE:
            self._bar.start()

    def close(self) -> None:
        """Take it away; what comes next may be a question."""
        self._bar.stop()


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A callback (done, total) that draws a bar once the work has lasted a second; silent in a pipe."""
    from rich.progress import BarColumn, TextColumn

    percent = TextColumn("{task.percentage:>3.0f} %")
    bar = make_bars(TextColumn(label), BarColumn(), percent, TextColumn("{task.fields[left]}"))
    task = bar.add_task(label, total=None, left="")
    began = time.monotonic()

    def advance(done: int, total: int) -> None:
        taken = time.monotonic() - began
        if not bar.live.is_started and taken > _PATIENCE:
            bar.start()
        left = f"{lasting(taken * (total - done) / done)} left" if done else ""
        bar.update(task, completed=done, total=total, left=left)

    try:
        yield advance
    finally:
        bar.stop()
