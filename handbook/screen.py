"""What a terminal showed, as text and as a picture of it."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
from fcntl import ioctl
from termios import TIOCSWINSZ

from accord.report.markup import Markup, element
from handbook.drawing import drawing

_COLUMNS, _ROWS = 60, 200
_LETTER, _LINE = 7.6, 18
_SAYS = "What accord demo prints: "
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def record_demo() -> str:
    """Run `accord demo` at a terminal; its last words: what was found, and who learned what."""
    shown = _typed([sys.executable, "-m", "accord", "demo"])
    lines = [
        line.rsplit("\r", 1)[-1].rstrip()
        for line in _CONTROL.sub("", shown).replace("\r\n", "\n").split("\n")
    ]
    learned = lines.index("What each learned about the other")
    start = max(number for number in range(learned - 1) if not lines[number]) + 1
    end = max(number for number, line in enumerate(lines) if line.startswith("Next"))
    return "\n".join(["$ accord demo", "…", *lines[start : end + 1]]) + "\n"


def _typed(command: list[str]) -> str:
    """All that a command writes to a terminal of its own."""
    reader, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    child = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, env={**os.environ, "NO_COLOR": "1"}
    )
    os.close(terminal)
    written = bytearray()
    try:
        while part := os.read(reader, 65536):
            written += part
    except OSError:
        # How a terminal ends that nobody writes to any more.
        pass
    finally:
        os.close(reader)
    if child.wait() != 0:
        raise RuntimeError(f"`{' '.join(command[1:])}` failed:\n{written.decode(errors='replace')[-2000:]}")
    return written.decode()


def draw_screen(text: str) -> str:
    """A terminal's window with this text in it, as SVG; a reader that cannot see it is told the text."""
    rows = text.rstrip("\n").split("\n")
    wide = _COLUMNS * _LETTER + 20
    dots = [element("circle", cx=20 + 18 * place, cy=19, r=5, _class="rule") for place in range(3)]
    bar = element("line", x1=0, x2=wide, y1=38, y2=38, _class="rule")
    shapes = [_row(line, 38 + 24 + _LINE * number) for number, line in enumerate(rows) if line]
    height = 38 + 24 + _LINE * len(rows)
    return drawing("accord demo", _SAYS + " ".join(text.split()), height, [*dots, bar, *shapes], wide)


def _row(line: str, y: float) -> Markup:
    """A line whose letters take their columns, whatever font there is; headings and commands stand out."""
    first = len(line) - len(line.lstrip())
    body = line[first:]
    kind = "mono" + (" strong" if re.match(r"(What|Found|Missed|Quality|Cost|Spent|Next|\$)", line) else "")
    return element(
        "text",
        body,
        x=f"{10 + first * _LETTER:g}",
        y=f"{y:g}",
        textLength=f"{len(body) * _LETTER:g}",
        lengthAdjust="spacingAndGlyphs",
        _class=kind,
    )
