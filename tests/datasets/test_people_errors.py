"""Rates of errors: their defaults are what is promised, and each is one knob."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from accord.datasets.people_errors import FIELDS, Errors, draw_errors
from accord.errors import UsageError


def none() -> Errors:
    return Errors().scaled(0)


def test_scaling() -> None:
    assert not any(none().rates.values())
    assert Errors().scaled(1) == Errors()
    assert max(Errors().scaled(100).rates.values()) == 1
    assert Errors().scaled(2).keyboard == 2 * Errors().keyboard
    assert replace(Errors(), missing={"phone": 0.5}).scaled(0.5).missing == {"phone": 0.25}


def test_rates_by_kind() -> None:
    assert {f"missing_{name}" for name in FIELDS} < set(Errors().rates)
    assert "missing" not in Errors().rates
    assert set(replace(none(), missing={"birth": 0.1}).rates) & {"missing_birth", "missing_phone"} == {
        "missing_birth"
    }


def test_wrong_rates_are_named() -> None:
    with pytest.raises(UsageError, match="keyboard, missing_phone is not"):
        Errors(keyboard=1.5, missing={"phone": -1})
    with pytest.raises(UsageError, match="no field fax; they have given"):
        Errors(missing={"fax": 0.1})


def test_an_error_is_in_one_of_the_two_records() -> None:
    errors, count = Errors(), 40_000
    first, second = draw_errors(np.random.default_rng(2), count, errors)
    assert set(first) == set(second) == set(errors.rates)
    for kind, rate in errors.rates.items():
        assert not (first[kind] & second[kind]).any()
        for drawn in (first[kind], second[kind]):
            # Six standard deviations: a false alarm in one of 10^7 runs, over all 50 of these.
            assert abs(drawn.mean() - rate / 2) < 6 * np.sqrt(rate / 2 / count) + 1e-9
