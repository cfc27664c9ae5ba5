"""Generated products and things, and the starters that find what is generated."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.datasets import things
from accord.datasets.people import generate_people
from accord.datasets.people_errors import Errors
from accord.datasets.products import BRANDS, MOST_DAYS, generate_products
from accord.datasets.starter import starter
from accord.fields.schema import CategoryField, DateField
from accord.simulation.truth import score
from tests.prepared import people, products, true_pairs

SLOW = pytest.mark.slow
PRODUCTS = starter("products")
PAGE = Path(__file__).parents[2] / "docs" / "judge.md"
RECALL, PRECISION = 0.97, 0.97
"""What the starter for people finds at least, against the truth."""

# -- products -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "overlap", "sparse"),
    [(1, None, False), (7, 0.3, True), (200, 0.0, False), (200, 1.0, True)],
)
def test_products_fit_their_starter(records: int, overlap: float | None, sparse: bool) -> None:
    made, again = (generate_products(records, overlap, 5, sparse) for _ in range(2))
    for name in ("a", "b", "truth"):
        assert getattr(made, name).equals(getattr(again, name))
    assert not generate_products(records, overlap, 6, sparse).a.equals(made.a)
    assert made.a.num_rows == made.b.num_rows == records
    assert set(made.truth["id_a"].to_pylist()) <= set(made.a["id"].to_pylist())
    assert set(made.truth["id_b"].to_pylist()) <= set(made.b["id"].to_pylist())
    if overlap in (0.0, 1.0):
        assert bool(made.truth.num_rows) == bool(overlap)
    # A large ε, so that there are few dummies. It raises what does not fit.
    accord.simulate(made.a, made.b, adjust(PRODUCTS, epsilon="20"))


@pytest.mark.parametrize("records", [1_000, pytest.param(300_000, marks=SLOW)])
def test_most_true_pairs_are_found_and_few_match_in_the_sparse_variant(records: int) -> None:
    made = products(records, seed=2, sparse=True)
    found = accord.simulate(made.a, made.b, PRODUCTS).pairs
    assert 0.01 < len(set(found["id_a"].to_pylist())) / records < 0.08
    assert made.truth.num_rows == records // 50
    plain = products(1_000, seed=2)
    recall = score(accord.simulate(plain.a, plain.b, PRODUCTS).found.ids(), true_pairs(plain)).truth_recall
    assert recall is not None
    assert 0.7 < recall < 0.99


def test_products_follow_the_papers_skew() -> None:
    made = products(20_000)
    brands = made.a["brand"].to_pylist()
    shares = [brands.count(brand) / len(brands) for brand in BRANDS]
    assert sum(share**2 for share in shares) + (1 - sum(shares)) ** 2 == pytest.approx(0.14, abs=0.04)
    assert len(set(made.a["day"].to_pylist())) == 4
    # 5,000 a day, for a month at the most.
    assert len(set(products(160_000).a["day"].to_pylist())) == MOST_DAYS


def test_starters_match_the_generators() -> None:
    brand, day = PRODUCTS.fields["brand"], PRODUCTS.fields["day"]
    assert isinstance(brand, CategoryField)
    assert brand.values == BRANDS
    assert isinstance(day, DateField)
    assert day.high == MOST_DAYS - 1
    assert not PRODUCTS.plan.losses(PRODUCTS.rule), "the starter's blocking must be complete"
    assert starter("people").to_toml().count('delta = "2^-40"') == 2
    assert len(starter("people").passes) == 3


# -- people and their starter -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "seed", "epsilon"),
    [(1_000, 1, "20"), *(pytest.param(5_000, seed, None, marks=SLOW) for seed in (0, 1))],
)
def test_the_starter_finds_people(records: int, seed: int, epsilon: str | None) -> None:
    """The seed is fixed, so this holds or does not."""
    made = people(records, seed=seed)
    found = accord.simulate(made.a, made.b, adjust(starter("people"), epsilon=epsilon), seed=1)
    scores = score(found.found.ids(), true_pairs(made))
    assert scores.truth_recall >= RECALL
    assert scores.truth_precision >= PRECISION
    if epsilon is None:
        assert found.cost_ratio < 0.2


@pytest.mark.parametrize("records", [1, 30])
def test_generated_people_fit_however_faulty(records: int) -> None:
    made = generate_people(records, 1.0, 3, errors=Errors().scaled(4))
    # All of them match, which is more than the starter lets be seen.
    agreed = adjust(starter("people"), epsilon="20").model_copy(update={"most_matches": None})
    accord.simulate(made.a, made.b, agreed, seed=1)  # raises if they do not fit


def test_the_page_says_what_is_found() -> None:
    shares = re.findall(r"at least (0\.\d+)", " ".join(PAGE.read_text().split()))
    assert [float(share) for share in shares[:2]] == [RECALL, PRECISION]


COUNT = 400


def test_both_tables_mostly_have_the_same_value() -> None:
    for kind in ("category", "flag", "code", "number", "year", "price", "day"):
        draw, rng = getattr(things, f"draw_{kind}"), np.random.default_rng(1)
        world, rows = things.draw_things(rng, COUNT), np.arange(COUNT)
        a, b = (draw(rng, world, rows, other).to_pylist() for other in (False, True))
        known = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
        assert 0.85 * COUNT < len(known) < COUNT, kind
        assert 0.5 < sum(x == y for x, y in known) / len(known) < 1, kind


@pytest.mark.parametrize("product", [False, True])
def test_names_share_words_with_their_own_and_few_with_others(product: bool) -> None:
    rng = np.random.default_rng(2)
    world, rows = things.draw_things(rng, COUNT), np.arange(COUNT)
    a, b = (things.name_things(rng, world, rows, other, product).to_pylist() for other in (False, True))
    words = [[{*(text or "").split()} for text in side] for side in (a, b)]
    shared, others = (np.mean([len(x & y) for x, y in zip(words[0], words[1][by:])]) for by in (0, 1))  # noqa: B905
    assert shared > 3 * others
    assert 0 < sum(x == y for x, y in zip(a, b, strict=True)) < COUNT
    told = things.describe_things(rng, world, rows, False).to_pylist()
    if product:
        assert np.mean([len(x or "") for x in told]) > 2 * np.mean([len(x or "") for x in a])
