"""Classes of cardinality: what a column is, and what contradicts a declaration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.cardinality import CLASSES, classify, contradicts, count_values


@pytest.mark.parametrize(
    ("distinct", "filled", "declared"),
    [(5, 20_000, "few"), (100, 20_000, "hundreds"), (4_000, 20_000, "thousands"), (19_000, 20_000, "unique")],
)
def test_a_column_has_a_class(distinct: int, filled: int, declared: str) -> None:
    assert classify(distinct, filled) == declared


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_no_column_contradicts_its_own_class(distinct: int, filled: int) -> None:
    distinct = min(distinct, filled)
    assert not contradicts(classify(distinct, filled), distinct, filled)


@pytest.mark.parametrize("declared", ["hundreds", "thousands", "unique"])
def test_seven_values_contradict_all_classes_but_the_first(declared: str) -> None:
    assert contradicts(declared, 7, 20_000)  # type: ignore[arg-type]
    assert not contradicts("few", 7, 20_000)


@given(st.sampled_from(CLASSES), st.integers(1, 10**6))
def test_tables_draw_no_more_values_than_records(declared: str, records: int) -> None:
    assert 1 <= count_values(declared, records) <= records  # type: ignore[arg-type]


def test_copies_make_no_value_less_telling() -> None:
    """Births of 850 persons in 1,940 records of up to five each."""
    assert classify(850, 1_940) == "hundreds"
    assert classify(850, 1_940, copies=5) == "unique"
    assert not contradicts("unique", 850, 1_940, copies=5)
