"""Generated data: repeatable, shaped as promised, fitting its starter, sparse where it says so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import accord
from accord.datasets.generated import Generated, pair_up
from accord.datasets.products import BRANDS, MOST_DAYS, generate_products
from accord.datasets.starter import starter
from accord.fields.schema import CategoryField, DateField

Make = Callable[[int, float | None, int, bool], Generated]
STARTER = starter("products")


@pytest.mark.parametrize(("make", "agreed"), [(generate_products, STARTER)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("records", [1, 7, 400])
@pytest.mark.parametrize("overlap", [None, 0.0, 0.3, 1.0])
def test_shape_and_fit(
    make: Make, agreed: accord.Agreement, sparse: bool, records: int, overlap: float | None
) -> None:
    made, again = make(records, overlap, 5, sparse), make(records, overlap, 5, sparse)
    assert made.a.equals(again.a)
    assert made.b.equals(again.b)
    assert made.truth.equals(again.truth)
    assert not make(records, overlap, 6, sparse).a.equals(made.a)
    assert made.a.num_rows == made.b.num_rows == records
    assert set(made.truth["id_a"].to_pylist()) <= set(made.a["id"].to_pylist())
    assert set(made.truth["id_b"].to_pylist()) <= set(made.b["id"].to_pylist())
    if overlap == 0.0:
        assert made.truth.num_rows == 0
    if overlap == 1.0:
        assert made.truth.num_rows > 0
    accord.simulate(made.a, made.b, agreed)  # raises if the data does not fit the starter


@pytest.mark.parametrize(("make", "agreed"), [(generate_products, STARTER)])
@pytest.mark.parametrize("records", [3_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_few_match_in_the_sparse_variant(make: Make, agreed: accord.Agreement, records: int) -> None:
    made = make(records, None, 2, True)
    found = accord.simulate(made.a, made.b, agreed).pairs
    matching = len(set(found["id_a"].to_pylist()))
    assert 0.01 < matching / records < 0.08
    assert made.truth.num_rows == records // 50


@pytest.mark.parametrize(("make", "agreed"), [(generate_products, STARTER)])
def test_truth_is_mostly_found(make: Make, agreed: accord.Agreement) -> None:
    made = make(3_000, None, 2, False)
    found = accord.simulate(made.a, made.b, agreed).pairs
    pairs = set(zip(found["id_a"].to_pylist(), found["id_b"].to_pylist(), strict=True))
    true = set(zip(made.truth["id_a"].to_pylist(), made.truth["id_b"].to_pylist(), strict=True))
    # A point moved uniformly in a square of side 2θ stays within θ with probability π/4.
    assert 0.7 < len(true & pairs) / len(true) < 0.99


def test_products_follow_the_papers_skew() -> None:
    made = generate_products(20_000, None, 1)
    brands = made.a["brand"].to_pylist()
    shares = [brands.count(brand) / len(brands) for brand in BRANDS]
    assert sum(share**2 for share in shares) + (1 - sum(shares)) ** 2 == pytest.approx(0.14, abs=0.04)
    assert len(set(made.a["day"].to_pylist())) == 4


def test_many_records_stay_within_the_starters_month() -> None:
    made = generate_products(160_000, None, 1)
    assert len(set(made.a["day"].to_pylist())) == MOST_DAYS


def test_starters_match_the_generators() -> None:
    fields = starter("products").fields
    assert isinstance(fields["brand"], CategoryField)
    assert fields["brand"].values == BRANDS
    assert isinstance(fields["day"], DateField)
    assert fields["day"].high == MOST_DAYS - 1
    assert not STARTER.plan.losses(STARTER.rule), "the starter's blocking must be complete"


def test_pair_up() -> None:
    left, right = pair_up(np.array([3, -1, 5, 3]), np.array([5, 3, 3, -1]))
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 1), (0, 2), (2, 0), (3, 1), (3, 2)]
