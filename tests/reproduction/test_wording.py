"""Numbers read well, and say no more than they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.wording import joined, percent, plain, power, runs, share, span, than, times_less


def test_lists() -> None:
    assert [joined(parts) for parts in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "", "a", "a and b", "a, b and c"
    ]  # fmt: skip


def test_numbers() -> None:
    assert [plain(x) for x in (124_732, 114.2, 13.66, 0.04561, 1, 0, 999.9)] == [
        "125,000", "114", "13.7", "0.0456", "1.00", "0", "1,000"
    ]  # fmt: skip
    assert [power(x) for x in (2.43e7, 2e7, 1e-5, 1, 0)] == ["2.4e7", "2e7", "1e-5", "1e0", "0"]
    assert [share(x) for x in (0.000124, 0.0302, 0.14, 0, 1)] == ["0.012 %", "3.0 %", "14 %", "0 %", "100 %"]
    assert percent(0.366) == "37 %"


@given(st.floats(1e-12, 1e15))
def test_three_digits_are_within_half_a_per_cent(value: float) -> None:
    assert float(plain(value).replace(",", "")) == pytest.approx(value, rel=0.00501)


def test_a_range_is_shown_only_where_there_is_one() -> None:
    assert span([1.0, 1.0]) == "1"
    assert span([0.9251, 0.9637, 1.0]) == "0.925 to 1"
    # No recall below 1 is called 1.
    assert span([0.99996, 1.0]) == "0.999 to 1"
    assert span([0.99996]) == "0.999"


def test_more_is_not_called_fewer() -> None:
    assert than([(55, 100), (63, 100)], "fewer") == "45 % and 37 % fewer"
    assert than([(55, 100), (110, 100)], "fewer") == "45 % fewer and 10 % more"


def test_what_costs_more_is_not_called_less() -> None:
    assert [times_less(x, 100) for x in (50, 100, 250)] == [
        "2.00 times less",
        "1.00 times less",
        "2.50 times more",
    ]


def test_runs() -> None:
    assert runs([{"runs": 1}]) == "one run"
    assert runs([{"runs": 100}, {"runs": 10}, {"runs": 10}]) == "10 or 100 runs"
