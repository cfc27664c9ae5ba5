"""One pass over a csv, octet by octet, before anybody believes it: how many rows and cells, and where it
stops being a table.

Arrow swallows all rows up to the next quote without a word, and Python's own reader has a limit on cells that
belongs to the whole process. This one sees UTF-8 and knows two octets, delimiter and quote; both are below
128, so that none is ever a part of another letter. Memory is bounded by a block, whatever the file holds: a
cell, a row or a header beyond its bound ends the pass where it is met.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel

MOST_CELL = 1 << 20
"""Octets of a cell, as UTF-8."""
MOST_ROW = 8 << 20
MOST_COLUMNS = 16_384
"""As many as a spreadsheet may have."""


class Stop(IntEnum):
    """Why a pass ended before the end."""

    NONE = 0
    NUL = 1
    AFTER_QUOTE = 2
    LONG_CELL = 3
    LONG_ROW = 4
    MANY_COLUMNS = 5
    OPEN_QUOTE = 6


@dataclass(frozen=True)
class Scan:
    """What a pass found. Rows are counted from the header, which is row 0; columns and lines from 1."""

    stop: Stop
    rows: int
    """With the header; empty lines are none."""
    columns: int
    """Of the header."""
    ragged: int
    """Rows that have more or fewer cells than the header."""
    quoted: int
    """Cells in quotes."""
    row: int
    column: int
    line: int
    opened: int
    """The line of the latest quote that opened a cell."""


# What the kernel keeps from block to block.
_STOP, _MODE, _LAST, _ROWS, _CELLS, _CELL, _ROW, _COLUMNS, _RAGGED, _QUOTED, _LINE, _OPENED = range(12)
_START, _PLAIN, _INSIDE, _CLOSING = range(4)
_LF, _CR = 10, 13


@kernel("void(int64[::1])")
def _end_row(state: NDArray[np.int64]) -> None:
    if state[_CELLS] == 0 and state[_MODE] == _START:
        return
    cells = state[_CELLS] + 1
    if state[_ROWS] == 0:
        state[_COLUMNS] = cells
    elif cells != state[_COLUMNS]:
        state[_RAGGED] += 1
    state[_ROWS] += 1
    state[_CELLS] = state[_CELL] = state[_ROW] = 0
    state[_MODE] = _START


@kernel("void(int64, int64, int64, int64[::1])")
def _step(octet: int, delimiter: int, quote: int, state: NDArray[np.int64]) -> None:
    mode = state[_MODE]
    if mode == _INSIDE:
        if octet == quote:
            state[_MODE] = _CLOSING
        else:
            state[_CELL] += 1
    elif octet == delimiter:
        state[_CELLS] += 1
        state[_CELL] = 0
        state[_MODE] = _START
    elif octet in (_LF, _CR):
        _end_row(state)
        # Of an empty line, and of what follows a carriage return, nothing belongs to the next row.
        state[_ROW] = 0
    elif mode == _CLOSING:
        state[_MODE] = _INSIDE
        state[_CELL] += 1
        if octet != quote:
            state[_STOP] = 2
    elif mode == _START and octet == quote:
        state[_MODE] = _INSIDE
        state[_OPENED] = state[_LINE]
        state[_QUOTED] += 1
    else:
        state[_MODE] = _PLAIN
        state[_CELL] += 1


@kernel("void(uint8[::1], int64, int64, int64[::1], int64[::1])")
def _pass(
    octets: NDArray[np.uint8], delimiter: int, quote: int, most: NDArray[np.int64], state: NDArray[np.int64]
) -> None:
    for octet in octets:
        if octet == _CR or (octet == _LF and state[_LAST] != _CR):
            state[_LINE] += 1
        state[_LAST] = octet
        state[_ROW] += 1
        if octet == 0:
            state[_STOP] = 1
        else:
            _step(octet, delimiter, quote, state)
        if state[_CELL] > most[0]:
            state[_STOP] = 3
        elif state[_ROW] > most[1]:
            state[_STOP] = 4
        elif state[_CELLS] >= most[2]:
            state[_STOP] = 5
        if state[_STOP] != 0:
            return


def scan(blocks: Iterable[bytes], delimiter: str, quote: str | None, most_row: int = MOST_ROW) -> Scan:
    """Pass over the blocks of a file in UTF-8, without a byte order mark, up to its end or its first stop."""
    state = np.zeros(12, np.int64)
    state[_LINE] = 1
    # A NUL is never a quote, since it ends the pass before.
    marks = ord(delimiter), ord(quote) if quote else 0
    most = np.array([MOST_CELL, most_row, MOST_COLUMNS], np.int64)
    for block in blocks:
        _pass(np.frombuffer(block, np.uint8).copy(), *marks, most, state)
        if state[_STOP]:
            break
    else:
        if state[_MODE] == _INSIDE:
            state[_STOP] = Stop.OPEN_QUOTE
        else:
            _end_row(state)
    return Scan(
        stop=Stop(int(state[_STOP])),
        rows=int(state[_ROWS]),
        columns=int(state[_COLUMNS]),
        ragged=int(state[_RAGGED]),
        quoted=int(state[_QUOTED]),
        row=int(state[_ROWS]),
        column=int(state[_CELLS]) + 1,
        line=int(state[_LINE]),
        opened=int(state[_OPENED]),
    )
