"""A terminal for tests: what a program writes there, as a person would see it at every moment.

It knows what bars and prompts need: carriage return, new line, backspace, moving the cursor and erasing, and
that a line breaks at the last column. Any other sequence is skipped.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.cli.terminal import environment

_SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])")


class Screen:
    """What stands on a terminal of some width, without an upper end."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0
        self.shown: set[str] = set()
        """Every line that stood there when the cursor left it, bars among them."""
        self.overrun: set[str] = set()
        """Lines that were longer than the terminal is wide."""

    @property
    def lines(self) -> list[str]:
        """What stands there now."""
        return ["".join(row).rstrip() for row in self._rows]

    def write(self, text: str) -> None:
        at = 0
        while at < len(text):
            if found := _SEQUENCE.match(text, at):
                self._obey(found[2], found[1])
                at = found.end()
            else:
                self._put(text[at])
                at += 1

    def _put(self, letter: str) -> None:
        if letter == "\r":
            self._leave(self._row, 0)
        elif letter == "\n":
            self._leave(self._row + 1, self._column)
        elif letter == "\b":
            self._column = max(0, self._column - 1)
        elif letter.isprintable():
            if self._column == self._width:
                self.overrun.add(self.lines[self._row])
                self._leave(self._row + 1, 0)
            row = self._rows[self._row]
            row += [" "] * (self._column + 1 - len(row))
            row[self._column] = letter
            self._column += 1

    def _obey(self, what: str, numbers: str) -> None:
        count = int(numbers) if numbers.isdigit() else 0
        if what == "A":
            self._leave(max(0, self._row - max(1, count)), self._column)
        elif what == "K":
            row = self._rows[self._row]
            self._leave(self._row, self._column)
            del row[0 if count == 2 else self._column :]

    def _leave(self, row: int, column: int) -> None:
        self.shown.add(self.lines[self._row])
        self._row, self._column = row, column
        self._rows += [[] for _ in range(row + 1 - len(self._rows))]


COLOURS: dict[str, Mapping[str, str]] = {
    "colour": {"TERM": "xterm-256color"},
    "no colour": {"TERM": "xterm-256color", "NO_COLOR": "1"},
    "dumb": {"TERM": "dumb"},
}
_SILENT = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "PYTHONWARNINGS")


def open_terminal(width: int) -> tuple[int, int]:
    """The user's end of a terminal, and the program's."""
    user, program = pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    return user, program


def _own_terminal() -> None:
    """Let the keys of the terminal reach this process, also where tests are run in the background."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Typed:
    """`accord ARGUMENTS`, typed at a terminal of its own by somebody who answers yes."""

    def __init__(self, folder: Path, width: int, colour: Mapping[str, str], *arguments: str) -> None:
        self.screen = Screen(width)
        self._user, program = open_terminal(width)
        home = {name: value for name, value in environment(folder).items() if name not in _SILENT}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "accord", *arguments],
            cwd=folder,
            env={**home, **colour},
            stdin=program,
            stdout=program,
            stderr=program,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(program)
        self._reader = ThreadPoolExecutor(1)
        self._shown = self._reader.submit(drain, self._user, b"[y/N]: ")

    def cut(self) -> None:
        """Press Ctrl-C."""
        os.write(self._user, b"\x03")

    def finish(self) -> int:
        """Read what the terminal shows until the command has ended; its exit code."""
        self.screen.write(self._shown.result(60))
        self._reader.shutdown()
        os.close(self._user)
        return self._process.wait(60)


def drain(user: int, question: bytes | None = None) -> str:
    """All that a terminal is sent until nobody writes to it any more; a question is answered with yes."""
    shown = b""
    while True:
        try:
            part = os.read(user, 1 << 16)
        except OSError:
            part = b""
        if not part:
            return shown.decode(errors="replace")
        shown += part
        if question is not None and shown.endswith(question):
            os.write(user, b"y\n")
