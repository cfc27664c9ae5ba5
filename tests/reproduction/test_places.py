"""Pick-ups of taxis: like the other generated tables, in the paper's box."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.places import HEIGHT, SOUTH, THETA, WEST, WIDTH, generate_places, places_agreement
from tests.datasets import test_datasets as datasets

AGREED = places_agreement()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("records", [1, 7, 400])
@pytest.mark.parametrize("overlap", [None, 0.0, 0.3, 1.0])
def test_shape_and_fit(sparse: bool, records: int, overlap: float | None) -> None:
    datasets.test_shape_and_fit(generate_places, AGREED, sparse, records, overlap)


@pytest.mark.parametrize("records", [3_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_few_match_in_the_sparse_variant(records: int) -> None:
    datasets.test_few_match_in_the_sparse_variant(generate_places, AGREED, records)


def test_truth_is_mostly_found() -> None:
    datasets.test_truth_is_mostly_found(generate_places, AGREED)
    assert not AGREED.plan.losses(AGREED.rule), "the blocking must be complete"


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
