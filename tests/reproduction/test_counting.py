"""A count equals the run it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.errors import UsageError
from accord.simulation.pair import simulate
from reproduction.counting import Counter
from reproduction.places import generate_places, places_agreement


def small(protocol: dict[str, Any], style: str) -> Agreement:
    """Points on a line of keys and a small grid, both kinds of it."""
    privacy = {"epsilon": "1.6", "delta": "1e-2", "noise": "paper"}
    grid = {"kind": "grid", "fields": ["x", "y"], "cell": 4, "style": style}
    whole = {"type": "number", "min": 0, "max": 15, "step": 1}
    return Agreement.model_validate(
        {
            "version": 2,
            "salt": "00000000",
            "parties": {"A": "alice", "B": "bob"},
            "fields": {"x": whole, "y": whole},
            "rule": "euclidean(x, y) <= 2",
            "blocking": [] if protocol["name"] == "all-pairs" else [grid | _reach(style)],
            "protocol": protocol | ({"A": privacy, "B": privacy} if protocol["name"] == "laplace" else {}),
            "disclose": {"A": ["x", "y"], "B": ["x", "y"]},
            "engine": "ot",
        }
    )


def _reach(style: str) -> dict[str, int]:
    return {"reach": 2} if style == "replicate" else {}


def table(points: list[tuple[int, int]]) -> pa.Table:
    x, y = [p[0] for p in points], [p[1] for p in points]
    ids = [str(i) for i in range(len(points))]
    return pa.table({"id": ids, "x": pa.array(x, pa.int64()), "y": pa.array(y, pa.int64())})


points = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=40)


@given(points, points, st.sampled_from(["neighbours", "replicate"]), st.booleans(), st.sampled_from([0, 30]))
def test_laplace_on_a_grid(a: Any, b: Any, style: str, greedy: bool, prune: int) -> None:
    agreed = small({"name": "laplace", "greedy": greedy, "prune": prune}, style)
    _same(table(a), table(b), agreed)


@settings(max_examples=10)
@given(points, points, st.booleans())
def test_all_pairs(a: Any, b: Any, greedy: bool) -> None:
    _same(table(a), table(b), small({"name": "all-pairs", "greedy": greedy}, "neighbours"))


def _same(a: pa.Table, b: pa.Table, agreed: Agreement, noise: str | None = None, runs: int = 1) -> None:
    ran = simulate(a, b, agreed, seed=5, runs=runs, noise=noise)
    counter = Counter(a, b, agreed)
    for number, run in enumerate(ran.runs):
        found = counter.count(agreed, 5, number, noise)
        assert (found.matches, found.comparisons) == (run.matches, run.comparisons)
        assert (found.dummies_a, found.dummies_b) == (run.dummies_a, run.dummies_b)
        if not agreed.protocol.shown_fields(agreed.task):
            assert counter.cost(agreed, 5, number, noise) == run.comparisons
    assert (counter.all_matches, counter.candidate_pairs) == (ran.all_matches, ran.candidate_pairs)
    assert counter.all_pairs == ran.all_pairs


@pytest.mark.parametrize("greedy", [False, True])
def test_products_and_places_at_a_size_with_many_rounds(greedy: bool) -> None:
    made = generate_products(2_000, None, 3)
    _same(made.a, made.b, adjust(starter("products"), greedy=greedy, prune=10), "paper-2017", runs=2)
    made = generate_places(3_000, None, 3)
    _same(made.a, made.b, adjust(places_agreement(), greedy=greedy))


def test_disclosed_are_the_records_that_match() -> None:
    a, b = table([(0, 0), (1, 0), (9, 9)]), table([(0, 1), (15, 15)])
    counter = Counter(a, b, small({"name": "laplace"}, "neighbours"))
    assert counter.disclosed == (2, 1)
    assert counter.all_matches == 2


def test_components_join_what_is_linked_in_any_order() -> None:
    """A long chain a0-b0-a1-b1-…: one component, whichever end is found first."""
    from reproduction.counting import _flatten, _unite

    chain = np.arange(9)
    for order in (np.arange(8), np.arange(8)[::-1], np.array([3, 0, 7, 1, 6, 2, 5, 4])):
        parent = np.arange(10)
        _unite(parent, np.ascontiguousarray(chain[order]), np.ascontiguousarray(chain[order] + 1))
        _flatten(parent)
        assert parent.tolist() == [0] * 9 + [9]


def test_what_cannot_be_counted_is_refused() -> None:
    a, b = table([(0, 0)]), table([(0, 1)])
    agreed = small({"name": "laplace"}, "neighbours")
    counter = Counter(a, b, agreed)
    with pytest.raises(UsageError, match="greedy"):
        counter.cost(agreed, 0)
    with pytest.raises(UsageError, match="made with"):
        counter.count(small({"name": "laplace"}, "replicate"), 0)
    wider = agreed.model_dump(mode="json")
    wider["fields"]["x"]["max"] = 15 + 16
    with pytest.raises(UsageError, match="fields"):
        counter.count(Agreement.model_validate(wider), 0)
    with pytest.raises(UsageError, match="simulate"):
        counter.count(adjust(agreed, protocol="psi").model_copy(update={"blocking": agreed.blocking}), 0)
