"""Tables that never cut what a later command needs."""

from __future__ import annotations

import pytest

from accord.cli.table import lay_out

NAMES = ("run", "partner", "limits", "time")
ROWS = [
    ("64b0dc2671d70861", "south-shop", "ε = 5, δ = 1e-9; 10 runs", "2026-11-15 20:59"),
    ("0c2c3a72522b789d", "Hospital of the North", "unlimited", "2026-11-16 08:01"),
]


def test_a_table_takes_the_room_it_needs() -> None:
    for width in (None, 200):
        assert lay_out("Runs", NAMES, ROWS, width).splitlines() == [
            "Runs",
            "run               partner                limits                    time",
            "────────────────  ─────────────────────  ────────────────────────  ────────────────",
            "64b0dc2671d70861  south-shop             ε = 5, δ = 1e-9; 10 runs  2026-11-15 20:59",
            "0c2c3a72522b789d  Hospital of the North  unlimited                 2026-11-16 08:01",
        ]


def test_where_it_is_narrow_cells_break_between_words_and_names_do_not() -> None:
    assert lay_out("Runs", NAMES, ROWS, 70).splitlines()[3:] == [
        "64b0dc2671d70861  south-shop             ε = 5, δ =     2026-11-15",
        "                                         1e-9; 10 runs  20:59",
        "0c2c3a72522b789d  Hospital of the North  unlimited      2026-11-16",
        "                                                        08:01",
    ]


@pytest.mark.parametrize("width", [1, 20, 40, 60, 70, 80, 100])
def test_nothing_is_ever_cut(width: int) -> None:
    shown = lay_out("Runs", NAMES, ROWS, width)
    for row in ROWS:
        assert row[0] in shown
        assert row[1] in shown
        assert all(word in shown for cell in row for word in cell.split())


def test_where_it_is_too_narrow_each_row_is_a_block() -> None:
    assert lay_out("Runs", NAMES, [("64b0dc2671d70861", "south-shop", "", "2026-11-15")], 30) == (
        "Runs\n  run      64b0dc2671d70861\n  partner  south-shop\n  time     2026-11-15"
    )


def test_wide_letters_take_two_columns() -> None:
    shown = lay_out("Partners", ("partner", "valid to"), [("東京病院", "2031"), ("north", "2031")], 80)
    assert shown.splitlines()[3:] == ["東京病院  2031", "north     2031"]
