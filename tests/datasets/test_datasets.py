"""Generated data: repeatable, shaped as promised, fitting its starter, sparse where it says so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import accord
from accord.datasets.generated import Generated, pair_up
from accord.datasets.places import HEIGHT, SOUTH, THETA, WEST, WIDTH, generate_places
from accord.datasets.products import BRANDS, MOST_DAYS, generate_products
from accord.datasets.starter import starter
from accord.fields.schema import CategoryField, DateField

Make = Callable[[int, float | None, int, bool], Generated]
MAKERS: list[tuple[str, Make]] = [("products", generate_products), ("places", generate_places)]


@pytest.mark.parametrize(("kind", "make"), MAKERS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("records", [1, 7, 400])
@pytest.mark.parametrize("overlap", [None, 0.0, 0.3, 1.0])
def test_shape_and_fit(kind: str, make: Make, sparse: bool, records: int, overlap: float | None) -> None:
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
    accord.simulate(made.a, made.b, starter(kind))  # raises if the data does not fit the starter


@pytest.mark.parametrize(("kind", "make"), MAKERS)
@pytest.mark.parametrize("records", [3_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_few_match_in_the_sparse_variant(kind: str, make: Make, records: int) -> None:
    made = make(records, None, 2, True)
    found = accord.simulate(made.a, made.b, starter(kind)).pairs
    matching = len(set(found["id_a"].to_pylist()))
    assert 0.01 < matching / records < 0.08
    assert made.truth.num_rows == records // 50


@pytest.mark.parametrize(("kind", "make"), MAKERS)
def test_truth_is_mostly_found(kind: str, make: Make) -> None:
    made = make(3_000, None, 2, False)
    found = accord.simulate(made.a, made.b, starter(kind)).pairs
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
    for kind in ("products", "places"):
        agreed = starter(kind)
        assert not agreed.plan.losses(agreed.rule), "the starter's blocking must be complete"


def test_places_lie_in_the_papers_box() -> None:
    made = generate_places(5_000, 0.5, 1)
    lat, lon = np.asarray(made.a["lat"]), np.asarray(made.a["lon"])
    assert SOUTH <= lat.min() <= lat.max() <= SOUTH + HEIGHT + 1e-6
    assert WEST <= lon.min() <= lon.max() <= WEST + WIDTH + 1e-6
    left = dict(zip(made.a["id"].to_pylist(), lat.tolist(), strict=True))
    right = dict(zip(made.b["id"].to_pylist(), np.asarray(made.b["lat"]).tolist(), strict=True))
    pairs = zip(made.truth["id_a"].to_pylist(), made.truth["id_b"].to_pylist(), strict=True)
    assert all(abs(left[i] - right[j]) <= THETA + 2e-6 for i, j in pairs)
    assert made.truth.num_rows == 2_500


def test_pair_up() -> None:
    left, right = pair_up(np.array([3, -1, 5, 3]), np.array([5, 3, 3, -1]))
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 1), (0, 2), (2, 0), (3, 1), (3, 2)]
