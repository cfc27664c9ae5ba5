"""Each seed has the points that a claim reads, once, and a run that was cut off goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reproduction import seeds
from reproduction.lab import FULL, QUICK
from reproduction.seeds import CHEAP, EVIDENCE, LONG, found, gather, needed, sizes
from reproduction.sweep import Watch
from tests.reproduction.worlds import TINY, Squares


@contextmanager
def unwatched(name: str) -> Iterator[Watch]:
    yield lambda done, total: None


def test_ten_seeds_of_which_three_have_the_largest_days_of_taxi() -> None:
    days = [size.taxi_days for size in sizes(FULL)]
    assert days == [(1, 16)] * LONG + [(1,)] * (CHEAP - LONG)
    assert {size.ab_days for size in sizes(FULL)} == {FULL.ab_days}
    assert [size.taxi_days for size in sizes(QUICK)] == [QUICK.taxi_days] * LONG


def test_points_are_of_the_papers_noise_run_once_and_never_twice() -> None:
    for size in (*sizes(FULL), *sizes(QUICK)):
        for experiment in EVIDENCE:
            points = needed(experiment, size)
            assert points
            keys = [tuple(point[name] for name in experiment.parameters) for point in points]
            assert len(keys) == len(set(keys))
            assert all(point.get("noise", "none") in ("paper-2017", "none") for point in points)
            assert experiment.name == "spread" or all(point.get("runs", 1) == 1 for point in points)


def test_what_is_finished_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    squares = Squares(breaks_at=2)
    monkeypatch.setattr(seeds, "EVIDENCE", (squares.experiment(),))
    with pytest.raises(KeyboardInterrupt):
        gather(TINY, None, 5, tmp_path, unwatched)
    squares = Squares()
    monkeypatch.setattr(seeds, "EVIDENCE", (squares.experiment(),))
    rows = gather(TINY, None, 5, tmp_path, unwatched)
    assert squares.asked == [2, 3, *range(4), *range(4)]
    assert [row["square"] for seed in rows for row in seed["squares"]] == [
        x**2 + seed for seed in (5, 6, 7) for x in range(4)
    ]
    # The next first seed shares all but one.
    squares = Squares()
    monkeypatch.setattr(seeds, "EVIDENCE", (squares.experiment(),))
    gather(TINY, None, 6, tmp_path, unwatched)
    assert squares.asked == [*range(4)]
    assert rows == found(TINY, 5, tmp_path)
