"""The pass over a csv counts as Python's own reader does, whatever the blocks, and stops where it must."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.table.csv_scan import MOST_CELL, MOST_COLUMNS, Stop, scan

LETTERS = st.text(st.sampled_from('ab,;"\n\rä '), max_size=40)


def blocks(body: str, size: int) -> list[bytes]:
    whole = body.encode()
    return [whole[i : i + size] for i in range(0, len(whole), size)]


@given(LETTERS, st.integers(1, 7), st.sampled_from([",", ";"]), st.sampled_from(['"', None]))
def test_counts_are_those_of_pythons_reader(body: str, size: int, delimiter: str, quote: str | None) -> None:
    found = scan(blocks(body, size), delimiter, quote)
    assert found == scan([body.encode()], delimiter, quote)
    how = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    try:
        rows = list(csv.reader(io.StringIO(body, newline=""), delimiter=delimiter, strict=True, **how))
    except csv.Error:
        assert found.stop in (Stop.AFTER_QUOTE, Stop.OPEN_QUOTE)
        return
    rows = [row for row in rows if row]
    assert (found.stop, found.rows) == (Stop.NONE, len(rows))
    assert found.columns == (len(rows[0]) if rows else 0)
    assert found.ragged == sum(len(row) != len(rows[0]) for row in rows)


@pytest.mark.parametrize(
    ("body", "stop", "row", "column", "line"),
    [
        ("a,b\n1,x\0y\n", Stop.NUL, 1, 2, 2),
        ('a,b\n\n"1\n\n",x\n2,"y"z\n', Stop.AFTER_QUOTE, 2, 2, 6),
        ('a,b\r\n1,"x\r\ny', Stop.OPEN_QUOTE, 1, 2, 3),
        ("a,b\n1,2\n3," + "x" * (MOST_CELL + 1), Stop.LONG_CELL, 2, 2, 3),
        ("a,b\n1,2\n" + "3," * MOST_COLUMNS, Stop.MANY_COLUMNS, 2, MOST_COLUMNS + 1, 3),
    ],
)
def test_where_it_stops(body: str, stop: Stop, row: int, column: int, line: int) -> None:
    found = scan(blocks(body, 1 << 20), ",", '"')
    assert (found.stop, found.row, found.column, found.line) == (stop, row, column, line)


def test_a_row_has_a_bound() -> None:
    assert scan([b"a,b\n", b"1,2\n" * 9], ",", '"', most_row=8).stop is Stop.NONE
    assert scan([b"a,b\n", b"1,2\n" * 9, b"1,2,3,4,5"], ",", '"', most_row=8).stop is Stop.LONG_ROW
    assert scan([b"\n" * 100], ",", '"', most_row=8).stop is Stop.NONE
