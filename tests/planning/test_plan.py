"""A whole plan, and the price of an agreement with one's own table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pytest

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.errors import UsageError
from accord.fields.load import load_records
from accord.planning import variants
from accord.planning.choose import Wanted
from accord.planning.plan import Own, make_plan, price_agreed
from accord.protocols.all_pairs import AllPairs
from accord.protocols.base import Task
from accord.protocols.registry import BUILT_IN, PROTOCOLS
from accord.side import Side
from accord.simulation.pair import simulate
from tests.planning.worlds import birth_key, question
from tests.protocols.worlds import agreement


@pytest.mark.slow
def test_the_example_of_a_newcomer_is_told_that_all_pairs_is_cheaper() -> None:
    """A key on the date of birth, 199 and 220 records: 59 million comparisons against 43,780."""
    found = make_plan(birth_key(), question(199, 220))
    assert found.agreed.comparisons.expected > 2e7
    assert found.choice.all_pairs
    assert found.choice.comparisons.high == 43_780
    assert "no-epsilon-needed" in [one.code for one in found.warnings]


def test_the_default_wish_is_the_agreed_promise_and_every_match() -> None:
    agreed = starter("products")
    found = make_plan(agreed, question(3000, 3000))
    assert found.choice.recall == 1.0
    assert (found.choice.largest_epsilon or 0) <= 1.6
    assert len(found.options) > 12
    assert {"laplace", "all-pairs"} <= {one.protocol for one in found.options}
    assert {0.3, 1.6, 3.0} <= {one.largest_epsilon for one in found.options}
    assert len({one.agreement.digest for one in found.options}) == len(found.options)
    sure = [one for one in found.options if one.largest_epsilon == 0 and one.recall == 1.0]
    assert found.choice.usual == min(one.usual for one in sure)


def test_dual_is_planned_without_greedy_and_within_one_test() -> None:
    plain = agreement(greedy=False)
    dual = Agreement.model_validate(plain.model_dump() | {"engine": "dual"})
    found, other = (price_agreed(one, question(200, 200)).agreed for one in (dual, plain))
    assert found.comparisons == other.comparisons
    assert found.bytes.expected > 10 * other.bytes.expected
    for one in make_plan(dual, question(200, 200)).options:
        assert not getattr(one.agreement.protocol, "greedy", False)
    with pytest.raises(UsageError, match="compares all at once, at most"):
        make_plan(dual, question(100_000, 100_000))


def test_a_delta_is_what_it_exactly_is() -> None:
    found = price_agreed(starter("products"), question(100, 100))
    for value in found.agreed.delta.values():
        assert value is not None
        assert 0 < value <= 2.0**-40
    every = next(one for one in found.options if one.all_pairs)
    assert set(every.delta.values()) == set(every.epsilon.values()) == {0.0}


@pytest.mark.parametrize(("wish", "meets"), [(Wanted(max_epsilon=0), True), (Wanted(max_time=1e-9), False)])
def test_wishes_are_met_or_it_is_said_that_they_are_not(wish: Wanted, meets: bool) -> None:
    found = price_agreed(agreement(), question(50, 50, wish=wish))
    assert ("Nothing sensible" not in found.why) == meets


@pytest.mark.parametrize("bad", [(0, 5), (5, 0), (-1, 5)])
def test_counts_of_zero_are_refused(bad: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="at least 1 each"):
        question(*bad)


@pytest.mark.parametrize("overlap", [-0.1, 1.1])
def test_an_overlap_is_a_share(overlap: float) -> None:
    with pytest.raises(UsageError, match="0 to 1"):
        question(5, 5, overlap=overlap)


def test_counts_alone_give_a_range_that_holds_a_run() -> None:
    for kind in ("products",):
        made = generate_products(600, None, 2, True)
        agreed = adjust(starter(kind), greedy=False)
        found = price_agreed(agreed, question(600, 600)).agreed
        run = simulate(made.a, made.b, agreed, seed=4).runs[0]
        assert found.comparisons.low <= run.comparisons <= found.comparisons.high


def test_with_a_table_the_price_is_near_a_run() -> None:
    made = generate_products(600, 0.5, 2, True)
    agreed = starter("products")
    own = Own(Side.A, load_records(made.a, agreed.fields, agreed.salt))
    found = price_agreed(agreed, question(600, 600, overlap=0.5), own)
    for greedy in (True, False):
        planned = next(one for one in found.options if one.greedy == greedy and one.bins)
        run = simulate(made.a, made.b, adjust(agreed, greedy=greedy), seed=4).runs[0]
        assert planned.comparisons.low <= run.comparisons <= planned.comparisons.high
        if not greedy:
            assert planned.comparisons.high <= 2 * planned.comparisons.low
            assert planned.comparisons.expected == pytest.approx(run.comparisons, rel=0.1)


class Telepathy(AllPairs):
    """A protocol that nobody has yet: it compares one pair of each record's, and tells nothing."""

    name: Literal["telepathy"] = "telepathy"  # type: ignore[assignment]

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> dict[str, Any]:
        return {"name": "telepathy", "greedy": False}

    def compared(self, task: Task, counts: Any, *rest: Any) -> Any:
        return np.minimum(counts[0], counts[1]), np.ones_like(counts[0])


@pytest.mark.slow
def test_a_new_protocol_is_planned_by_a_row_in_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy knows no protocol by name: who joins is priced, chosen and told like the others."""
    agreed = starter("people")
    assert make_plan(agreed, question(50_000, 50_000)).choice.protocol == "routed"
    monkeypatch.setattr(variants, "BUILT_IN", {**BUILT_IN, "telepathy": Telepathy})
    monkeypatch.setitem(PROTOCOLS, "telepathy", Telepathy)
    found = make_plan(agreed, question(50_000, 50_000))
    assert found.choice.protocol == "telepathy"
    assert found.choice.comparisons.expected == 50_000
    assert "telepathy (ε = 0) is the quickest with ε = 0" in found.why
    assert found.warnings[0].code == "no-epsilon-needed"
