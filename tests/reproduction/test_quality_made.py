"""Generated sets: repeatable, with the faults that they are named after."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from reproduction.quality_made import MADE, Cells, Made


def made(name: str) -> Made:
    return MADE[name](np.random.default_rng(1))


@pytest.mark.parametrize("name", MADE)
def test_true_pairs_name_records_of_both_tables(name: str) -> None:
    a, b, truth = made(name)
    assert made(name) == (a, b, truth)
    ids = [{row["id"] for row in rows} for rows in (a, b)]
    assert [len(one) for one in ids] == [len(a), len(b)]
    assert all(first in ids[0] and second in ids[1] for first, second in truth)
    assert all(1_500 <= len(rows) <= 3_000 for rows in (a, b))
    assert 900 <= len(truth) == len(set(truth))


def by_truth(name: str) -> list[tuple[Cells, Cells]]:
    a, b, truth = made(name)
    rows = [{row["id"]: row for row in side} for side in (a, b)]
    return [(rows[0][first], rows[1][second]) for first, second in truth]


def test_some_people_stand_several_times_in_a_table() -> None:
    _, _, truth = made("copies")
    assert max(Counter(first for first, _ in truth).values()) == 3


def test_an_eighth_of_the_dates_is_wrong() -> None:
    a, _, _ = made("slips")
    days = [row["dob"] for row in a if row["dob"]]
    impossible = sum(
        not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-[0-3]\d", day) or day.endswith("02-31") for day in days
    )
    assert 0.03 < impossible / len(days) < 0.07


def test_a_bank_books_up_to_four_days_later() -> None:
    pairs = [
        (np.datetime64(a["date"]), np.datetime64("-".join(b["booking_date"].split(".")[::-1])))
        for a, b in by_truth("transactions")
    ]
    assert Counter(int((later - day).astype(int)) for day, later in pairs).keys() == {0, 1, 2, 3, 4}


def test_few_values_stand_in_columns_of_unknown_texts() -> None:
    a, _, _ = made("unknown-texts")
    assert len({row["race_code"] for row in a}) < 10
    assert len({row["county_desc"] for row in a}) <= 100
    assert len({row["venue"] for row in made("venues")[0]}) == 6
