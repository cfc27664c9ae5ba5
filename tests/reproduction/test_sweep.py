"""A run cut off goes on where it was; nothing is run twice; nothing stale is believed."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from accord.errors import OutputError
from reproduction.sweep import Row, carry_out, number, one, only, stored
from tests.reproduction.worlds import Squares, lab


def quiet(done: int, total: int) -> None:
    pass


def test_rows_come_in_the_order_of_the_points_and_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    rows = carry_out(Squares().experiment(), lab(), tmp_path, lambda done, total: told.append((done, total)))
    assert [row["square"] for row in rows] == [0, 1, 4, 9]
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_run_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        carry_out(Squares(breaks_at=2).experiment(), lab(), tmp_path, quiet)
    again = Squares()
    assert len(stored(again.experiment(), lab(), tmp_path)) == 2
    rows = carry_out(again.experiment(), lab(), tmp_path, quiet)
    assert again.asked == [2, 3]
    assert [row["square"] for row in rows] == [0, 1, 4, 9]
    third = Squares()
    carry_out(third.experiment(), lab(), tmp_path, quiet)
    assert third.asked == []


@pytest.mark.parametrize("cut", range(1, 40))
def test_whatever_a_torn_end_took_is_run_again_and_kept(tmp_path: Path, cut: int) -> None:
    """The last row, and more, cut off at every place."""
    carry_out(Squares().experiment(), lab(), tmp_path, quiet)
    path = tmp_path / "squares.csv"
    path.write_text(path.read_text()[:-cut])
    left = path.read_text().count("\n") - 1
    again = Squares()
    assert [r["square"] for r in carry_out(again.experiment(), lab(), tmp_path, quiet)] == [0, 1, 4, 9]
    assert again.asked == [0, 1, 2, 3][left:]
    assert [row["square"] for row in stored(again.experiment(), lab(), tmp_path)] == [0, 1, 4, 9]
    third = Squares()
    carry_out(third.experiment(), lab(), tmp_path, quiet)
    assert third.asked == []


def test_a_kill_during_the_rewrite_loses_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carry_out(Squares().experiment(), lab(), tmp_path, quiet)
    path = tmp_path / "squares.csv"
    path.write_text(path.read_text()[:-1])

    def killed(self: csv.DictWriter[str], rows: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(csv.DictWriter, "writerows", killed)
        with pytest.raises(KeyboardInterrupt):
            carry_out(Squares().experiment(), lab(), tmp_path, quiet)
    assert [row["square"] for row in stored(Squares().experiment(), lab(), tmp_path)] == [0, 1, 4]
    carry_out(Squares().experiment(), lab(), tmp_path, quiet)
    assert [row["square"] for row in stored(Squares().experiment(), lab(), tmp_path)] == [0, 1, 4, 9]
    assert [each.name for each in tmp_path.iterdir()] == ["squares.csv"]


def test_another_seed_or_version_is_another_row(tmp_path: Path) -> None:
    carry_out(Squares().experiment(), lab(), tmp_path, quiet)
    other = Squares()
    assert [r["square"] for r in carry_out(other.experiment(), lab(seed=7), tmp_path, quiet)] == [
        7,
        8,
        11,
        16,
    ]
    assert len(other.asked) == 4
    assert [r["square"] for r in stored(Squares().experiment(), lab(), tmp_path)] == [0, 1, 4, 9]
    newer = Squares()
    carry_out(newer.experiment(version=2), lab(), tmp_path, quiet)
    assert len(newer.asked) == 4
    assert stored(Squares().experiment(), lab(), tmp_path) == []


def test_a_file_of_something_else_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "squares.csv").write_text("a,b\n1,2\n")
    carry_out(Squares().experiment(), lab(), tmp_path, quiet)
    assert len(stored(Squares().experiment(), lab(), tmp_path)) == 4


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError, match="taken"):
        carry_out(Squares().experiment(), lab(), tmp_path / "taken", quiet)


def test_rows_are_chosen_by_value() -> None:
    rows: list[Row] = [{"x": 1, "y": "a"}, {"x": 2, "y": "a"}]
    assert only(rows, y="a") == rows
    assert number(one(rows, x=2), "x") == 2.0
    with pytest.raises(ValueError, match="unpack"):
        one(rows, y="a")
