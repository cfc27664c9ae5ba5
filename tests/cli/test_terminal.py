"""Lines and bars on real terminals, narrow and wide, with colours and without."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Callable, Iterator, Mapping

import pytest
from rich.cells import cell_len

from accord.cli.progress import Display
from accord.cli.table import lay_out
from accord.cli.terminal import SayingHandler, progress, say, wrap
from accord.notices import Done, Progress, Reading, Waiting

_SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])")


class Screen:
    """What stands on a terminal of some width, without an upper end, as a person sees it at every moment.

    It knows what bars and prompts need: carriage return, new line, backspace, moving the cursor and erasing,
    and that a line breaks at the last column. Any other sequence is skipped.
    """

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


def open_terminal(width: int) -> tuple[int, int]:
    """The user's end of a terminal, and the program's."""
    user, program = pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    return user, program


def drain(user: int) -> str:
    """All that a terminal is sent until nobody writes to it any more."""
    shown = b""
    while True:
        try:
            part = os.read(user, 1 << 16)
        except OSError:
            part = b""
        if not part:
            return shown.decode(errors="replace")
        shown += part


BAR = re.compile(r"(Comparing) +[━╸╺ ]+ +\d+ %( .*)?")
WIDTHS = pytest.mark.parametrize("width", [80, 200])
TERMINALS = pytest.mark.parametrize("colour", COLOURS.values(), ids=COLOURS)
DONE = Done("64b0dc2671d70861", 7, 50, 2_000_000, 1.0, 1.6, 0.0, 1.6, 0.0)
HALF = Progress(50, 100, matches=7, bytes=2_000_000, seconds=1.0, seconds_left=1.0)


def require_tidy(screen: Screen) -> None:
    """No line ever held a bar and something else; only what must stay whole ran over the edge."""
    assert screen.shown
    assert not [line for line in screen.overrun if " " in line.strip()]
    for line in screen.shown:
        assert "━" not in line or BAR.fullmatch(line), line


def test_lines_break_between_words_behind_their_label() -> None:
    assert (
        wrap("Spent        a: ε = 1.6; b: ε = 1.6", 24) == "Spent        a: ε = 1.6;\n             b: ε = 1.6"
    )
    assert wrap("  - one two-three", 11) == "  - one\n    two-three"
    assert wrap("a\n\nb", 10) == "a\n\nb"
    # What may have to be copied stays whole.
    path = "/a/very-long/path-with-dashes/" + "x" * 60
    assert path in wrap(f"Wrote {path}, and more.", 40).splitlines()[1]
    for width in range(1, 60):
        assert wrap("one two-three `four five`", width).split() == ["one", "two-three", "`four", "five`"]


ROWS = [
    ("64b0dc2671d70861", "south-shop", "ε = 5, δ = 1e-9; 10 runs", "2026-11-15 20:59"),
    ("0c2c3a72522b789d", "東京病院", "unlimited", "2026-11-16 08:01"),
]


@pytest.mark.parametrize("width", [None, 1, 20, 40, 60, 70, 80, 100])
def test_a_table_fits_and_nothing_is_cut(width: int | None) -> None:
    shown = lay_out("Runs", ("run", "partner", "limits", "time"), ROWS, width)
    for row in ROWS:
        assert row[0] in shown
        assert row[1] in shown
        assert all(word in shown for cell in row for word in cell.split())
    if width is None or width >= 70:
        first, second = (next(line for line in shown.splitlines() if row[0] in line) for row in ROWS)
        starts = first.index(ROWS[0][2][:5]), cell_len(second[: second.index(ROWS[1][2])])
        assert starts == (30, 30), "wide letters take two columns"
    if width is not None and width >= 60:
        assert max(map(cell_len, shown.splitlines())) <= width


@contextlib.contextmanager
def at_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int, colour: Mapping[str, str]
) -> Iterator[Callable[[], Screen]]:
    """This process at a terminal; the answer reads what it shows."""
    user, program = open_terminal(width)
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"COLUMNS": str(width), **colour}.items():
        monkeypatch.setenv(name, value)

    def read() -> Screen:
        stream.close()
        screen = Screen(width)
        screen.write(drain(user))
        return screen

    with os.fdopen(program, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", stream)
        yield read
    os.close(user)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """Where kernels log, with a command's own handler and no other."""
    accords = logging.getLogger("accord")
    monkeypatch.setattr(accords, "handlers", [SayingHandler()])
    level = accords.level
    accords.setLevel(logging.INFO)
    yield logging.getLogger("accord.kernel")
    accords.setLevel(level)


@WIDTHS
@TERMINALS
def test_a_run_says_its_piece_above_the_bar(
    monkeypatch: pytest.MonkeyPatch, log: logging.Logger, width: int, colour: Mapping[str, str]
) -> None:
    reason = "a reason that is so long that it takes more than one line of a terminal, " * 3
    with at_terminal(monkeypatch, width, colour) as read:
        with Display(as_json=False, quiet=False) as display:
            display.tell(HALF)
            for loop in range(20):
                log.info("Compiling loop_%s for this machine, once.", loop)
            display.tell(Waiting("south-shop", "localhost", 7000, reason.strip()))
            display.tell(DONE)
        say("The result.")
        screen = read()
    require_tidy(screen)
    assert any("━" in line for line in screen.shown) == (colour["TERM"] != "dumb")
    assert not any("━" in line for line in screen.lines)
    assert len([line for line in screen.lines if "Compiling" in line]) == 1, "not of each loop"
    assert screen.lines[-2:] == ["The result.", ""]
    assert reason.strip() in " ".join(screen.lines)


def test_progress_is_gone_when_its_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """And rows are counted until the question."""
    monkeypatch.setattr("accord.cli.terminal._PATIENCE", 0.0)
    with at_terminal(monkeypatch, 80, COLOURS["colour"]) as read:
        with progress("Comparing") as advance:
            advance(1, 2)
            say("Something.", err=True)
        with Display(as_json=False, quiet=False) as display:
            display.tell(Reading(300_000))
            display.tell(Reading(512_345, done=True))
            say("Question?", err=True)
        screen = read()
    require_tidy(screen)
    assert any("━" in line and " 50 % " in line and " s left" in line for line in screen.shown)
    assert any("300,000" in line for line in screen.shown)
    assert screen.lines == ["Something.", "Question?", ""]
