"""The year that benchmarks count is the one that a series links."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from accord.datasets.people import generate_people
from accord.protocols.batches import Known
from benchmarks.year import ARRIVALS, MONTHS, agree, compared, count_year, tables_of


def test_registers_grow_and_change_as_they_should() -> None:
    made = generate_people(244, 0.5, 3)
    months = list(tables_of(made.a, 200, np.random.default_rng(1)))
    assert len(months) == MONTHS
    sizes = [len(month) for month in months]
    assert sizes[0] == 200
    for number, (before, after) in enumerate(pairwise(months), 1):
        old, new = set(before["id"].to_pylist()), set(after["id"].to_pylist())
        assert len(new - old) == round(number * ARRIVALS * 200) - round((number - 1) * ARRIVALS * 200)
        assert len(old - new) == round(0.005 * len(old))
        assert len(new) == len(after), "nobody is there twice"


def test_the_comparisons_of_a_year_are_those_of_its_batches() -> None:
    agreed = agree(120, 5, 1)
    months = [month for month, _, _ in count_year(agreed, 120, 2)]
    assert [month.run for month in months] == list(range(1, MONTHS + 1))
    assert months[0].arrived == (120, 120)
    assert months[0].comparisons > 120 * 120 / 5
    assert all(month.comparisons > 0 for month in months)
    assert Known.of([]).batches == 0
    a, b = [np.arange(agreed.plan.bins)] * 2, [np.ones(agreed.plan.bins, np.int64)] * 2
    left, right = agreed.plan.pairs()
    assert compared(agreed, a, b) == 3 * int(a[0][left] @ b[0][right])
