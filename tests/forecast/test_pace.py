"""The pace of this machine: a plain number, whatever the clock says."""

from __future__ import annotations

import itertools

import pytest

from accord.forecast import pace


def test_it_is_a_number_that_a_machine_can_have() -> None:
    assert 1 / 8 <= pace.measure_pace() <= 8


@pytest.mark.parametrize(("tick", "found"), [(0.0, 1 / 8), (1.0, 8.0), (9.1e-4, 1.0), (4.55e-4, 0.5)])
def test_the_least_of_many_tries_counts(monkeypatch: pytest.MonkeyPatch, tick: float, found: float) -> None:
    clock = itertools.count()
    monkeypatch.setattr("accord.forecast.pace.time.process_time", lambda: tick * next(clock))
    assert pace.measure_pace() == pytest.approx(found)
