"""Claims are judged by means over seeds, by one rule; an explanation must fit what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.claims import (
    Claim,
    ClaimError,
    Evidence,
    Interval,
    Outcome,
    Part,
    Range,
    Verdict,
    as_named,
    judge,
    orders,
    require_explained,
    summed,
)
from reproduction.claims_paper import CLAIMS
from reproduction.expected import expected
from reproduction.lab import FULL, QUICK, Size
from reproduction.seeds import EVIDENCE, found, sizes
from reproduction.sweep import MissingRow, Row, number, one

DOCS = Path(__file__).parents[2] / "docs"
FIRST = 0
"""The first seed of the results that the project shows."""


@pytest.fixture(scope="module")
def committed() -> list[Evidence]:
    """The results that the project shows, at full size."""
    return [Evidence(sizes(FULL)[0], rows) for rows in found(FULL, FIRST, DOCS / "results")]


def verdicts(seeds: Sequence[Evidence]) -> dict[Verdict, set[int]]:
    judged = judge(CLAIMS, seeds)
    assert [claim.number for claim, _ in judged] == list(range(1, 22))
    assert [claim.number for claim, finding in judged if finding.failed] == []
    return {
        verdict: {claim.number for claim, finding in judged if finding.verdict is verdict}
        for verdict in Verdict
    }


HELD, PART, NOT = {1, 6, 7, 16, 19, 20, 21}, {2, 3, 4, 5, 8, 10, 11, 13, 14, 15, 18}, {9, 12, 17}


@pytest.mark.parametrize("first", range(10))
def test_the_verdicts_are_the_same_from_any_seed_on(first: int) -> None:
    seeds = [Evidence(sizes(FULL)[0], rows) for rows in found(FULL, first, DOCS / "results")]
    found_of = {Verdict.HELD: HELD, Verdict.PART: PART, Verdict.NOT: NOT}
    assert {verdict: claims for verdict, claims in verdicts(seeds).items() if claims} == found_of


def test_costs_are_those_of_the_arithmetic(committed: list[Evidence]) -> None:
    first = committed[0]
    for data in ("ab", "taxi"):
        for epsilon in (0.1, 0.4, 1.6):
            due = first.expected(data, 1, epsilon)
            assert first.cost(data, 1, epsilon, "basic") == pytest.approx(due.basic, rel=0.03)
            assert due.dummies < first.cost(data, 1, epsilon) < due.basic
    # 16 bins with 230 dummies on either side, 10,000 records beside them.
    assert expected("ab", 1, 5_000, 1_000, "0.1").dummies == pytest.approx(16 * 230**2, rel=1e-5)
    assert expected("ab", 1, 5_000, 1_000, "0.1").basic == pytest.approx(
        1_000 + 230 * 10_000 + 16 * 230**2, rel=1e-5
    )


Change = Callable[[float], float]


def changed(
    seeds: Sequence[Evidence], name: str, measure: str, change: Change, where: dict[str, object]
) -> list[Evidence]:
    """The evidence with one measure of some rows changed, for every seed."""

    def hit(row: Row) -> bool:
        return all(row.get(key) == value for key, value in where.items())

    assert any(hit(row) for row in seeds[0].of(name))
    return [
        replace(
            seed,
            rows={
                **seed.rows,
                name: [
                    {**row, measure: change(number(row, measure))} if hit(row) else row
                    for row in seed.of(name)
                ],
            },
        )
        for seed in seeds
    ]


def times(factor: float) -> Change:
    return lambda value: value * factor


def to(new: float) -> Change:
    return lambda value: new


BROKEN: list[tuple[int, str, str, Change, dict[str, object]]] = [
    (1, "size", "cost", times(1.5), {"data": "ab", "days": 16, "method": "all-pairs"}),
    (1, "size", "cost", times(1.5), {"data": "taxi", "days": 16, "method": "psi-expand"}),
    (1, "variants", "cost", times(1.5), {"data": "taxi", "days": 16, "variant": "basic", "epsilon": 0.4}),
    (2, "size", "cost", times(99), {"data": "ab", "days": 8, "method": "laplace", "epsilon": 1.6}),
    (2, "size", "cost", times(200), {"data": "taxi", "days": 1, "method": "all-pairs-greedy"}),
    (2, "size", "cost", times(0.01), {"data": "taxi", "method": "psi-expand"}),
    (3, "variants", "cost", times(100), {"data": "taxi", "days": 1, "variant": "basic"}),
    (3, "size", "cost", times(1e5), {"data": "taxi", "days": 1, "method": "all-pairs-greedy"}),
    (4, "size", "cost", times(1e5), {"data": "taxi", "days": 16, "method": "all-pairs-greedy"}),
    (4, "variants", "cost", times(100), {"data": "taxi", "days": 16, "variant": "basic"}),
    (5, "variants", "cost", times(100), {"data": "taxi", "days": 16, "variant": "basic"}),
    (5, "size", "cost", times(0.1), {"data": "taxi", "days": 1, "method": "non-private"}),
    (6, "variants", "cost", times(4), {"data": "ab", "days": 16, "variant": "basic+GMC+S", "epsilon": 1.6}),
    (7, "variants", "cost", times(30), {"data": "taxi", "days": 16, "variant": "basic+GMC", "epsilon": 1.6}),
    (8, "variants", "cost", times(1.2), {"data": "ab", "days": 1, "variant": "basic+GMC", "epsilon": 0.1}),
    (9, "variants", "cost", times(1.1), {"data": "taxi", "days": 16, "variant": "basic+GMC"}),
    (9, "variants", "cost", times(1.02), {"data": "ab", "days": 16, "variant": "basic+GMC+S"}),
    (10, "variants", "cost", times(1.1), {"data": "ab", "days": 16, "variant": "basic+GMC+SP"}),
    (11, "variants", "recall", times(0.94), {"data": "ab", "days": 16, "variant": "basic+GMC+SP"}),
    (11, "variants", "recall", times(0.9), {"data": "taxi", "variant": "basic+GMC+SP"}),
    (11, "variants", "recall", times(1.1), {"data": "ab", "variant": "basic+GMC+SP"}),
    (12, "spread", "pruned_sd", times(1.4), {"greedy": "no"}),
    (12, "spread", "saved_sd", times(3), {"greedy": "yes"}),
    (13, "tradeoff", "ratio", to(0.0), {"data": "taxi", "delta": 1e-9, "prune": 0}),
    (14, "variants", "cost", times(1.15), {"data": "taxi", "days": 1, "variant": "basic"}),
    (15, "tradeoff", "ratio", times(50), {"data": "taxi", "epsilon": 0.1}),
    (16, "tradeoff", "cost", times(0.5), {"data": "ab", "epsilon": 0.1}),
    (16, "tradeoff", "ratio", times(1000), {"data": "taxi", "delta": 1e-9}),
    (17, "tradeoff", "recall", times(0.5), {"data": "ab", "epsilon": 1.6, "prune": 90}),
    (18, "mapping", "recall", times(0.3), {"method": "psi"}),
    (18, "mapping", "precision", to(0.9), {"method": "psi"}),
    (19, "variants", "cost", times(1.3), {"data": "ab", "days": 1, "variant": "basic+GMC+S", "epsilon": 1.6}),
    (20, "variants", "cost", times(2), {"data": "ab", "days": 1, "variant": "basic+GMC", "epsilon": 0.4}),
    (20, "variants", "recall", to(0.999), {"data": "ab", "days": 1, "variant": "basic+GMC", "epsilon": 0.4}),
    (20, "mapping", "precision", to(0.999), {"method": "laplace"}),
]  # fmt: skip


@pytest.mark.parametrize(("number", "name", "measure", "change", "where"), BROKEN)
def test_a_number_that_is_off_turns_its_claim(
    committed: list[Evidence], number: int, name: str, measure: str, change: Change, where: dict[str, object]
) -> None:
    """Every claim but the last, which rests on no measurement: another verdict, or no explanation left."""
    claim = CLAIMS[number - 1]
    ((_, before),) = judge([claim], committed)
    ((_, after),) = judge([claim], changed(committed, name, measure, change, where))
    assert not before.failed
    assert after.failed or after.verdict is not before.verdict


def test_every_claim_is_broken_once_and_the_crossing_by_its_threshold(
    committed: list[Evidence], monkeypatch: pytest.MonkeyPatch
) -> None:
    from reproduction import claims_tradeoff

    assert {number for number, *_ in BROKEN} == set(range(1, 21))
    monkeypatch.setattr(claims_tradeoff, "gamma", lambda agreement: 1_000_000)
    assert judge(CLAIMS[20:], committed)[0][1].failed


def test_all_pairs_is_given_greedy_where_lp_is(committed: list[Evidence]) -> None:
    """LP alone with greedy is as far below as the paper says; with both it depends on all pairs with it."""
    claim, first = CLAIMS[2], committed[0]
    ((_, finding),) = judge([claim], committed)
    assert finding.verdict is Verdict.PART
    assert "GMC removes no dummies" in finding.explanation
    assert first.papers("taxi", 1, 0.1) > first.basic("taxi", 1, 0.1) > 1 > first.greedy("taxi", 1, 0.1)
    where: dict[str, object] = {"data": "taxi", "days": 1, "method": "all-pairs-greedy"}
    ((_, dear),) = judge([claim], changed(committed, "size", "cost", times(1e4), where))
    assert dear.verdict is Verdict.HELD


def test_ranges_follow_from_the_words_of_the_paper() -> None:
    named = as_named("a number", 10, lambda e: 0.0)
    assert (named.due, named.near) == (Range(9, 11), Range(10 / math.sqrt(10), 10 * math.sqrt(10)))
    assert orders("two orders", 2, lambda e: 0.0).due.least == pytest.approx(10**1.5)
    assert orders("over two orders", 2, lambda e: 0.0, over=True).due == Range(100)
    assert [str(each) for each in (Range(1, 1.7), Range(100), Range(1, 1), Range(4.5e6, 5.5e6))] == [
        "1 to 1.7", "at least 100", "1", "4.5e6 to 5.5e6"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("mean", "off", "outcome"),
    [
        (10, 0.5, Outcome.HELD), (10, 1.5, Outcome.OPEN), (20, 1, Outcome.NEAR), (20, 15, Outcome.OPEN),
        (30, 3, Outcome.OPEN), (40, 1, Outcome.MISSED), (-1, 0, Outcome.MISSED), (9, 0, Outcome.HELD),
    ],
)  # fmt: skip
def test_a_part_is_judged_by_its_whole_interval(mean: float, off: float, outcome: Outcome) -> None:
    assert as_named("x", 10, lambda e: 0.0).judge(Interval(mean, off, 10)) is outcome


def test_an_interval_is_that_of_student() -> None:
    """Three values, 1 apart: t = 4.303 for two degrees of freedom."""
    interval = Interval.of([1.0, 2.0, 3.0])
    assert (interval.mean, interval.seeds) == (2.0, 3)
    assert interval.off == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)
    assert Interval.of([5.0, 5.0, 5.0]).off == 0
    assert [str(Interval(20.943, 0.078, 3)), str(Interval(3.8e6, 4.2e5, 3)), str(Interval(22.34, 0, 3))] == [
        "20.943 ± 0.078", "3.8e6 ± 4.2e5", "22.3"
    ]  # fmt: skip


DECIDED = (Outcome.HELD, Outcome.NEAR, Outcome.MISSED)


@given(st.lists(st.sampled_from(list(Outcome)), min_size=1, max_size=5))
def test_a_verdict_stands_only_if_no_open_part_could_turn_it(outcomes: list[Outcome]) -> None:
    """Against all ways in which open parts could be settled."""
    ways = {summed(way) for way in _settled(outcomes)}
    assert Verdict.OPEN not in ways
    assert summed(outcomes) is (ways.pop() if len(ways) == 1 else Verdict.OPEN)


def _settled(outcomes: list[Outcome]) -> list[list[Outcome]]:
    ways: list[list[Outcome]] = [[]]
    for outcome in outcomes:
        choices = DECIDED if outcome is Outcome.OPEN else (outcome,)
        ways = [[*way, choice] for way in ways for choice in choices]
    return ways


def test_the_mathematics_and_the_page_name_every_range() -> None:
    page, maths = ((DOCS / name).read_text(encoding="utf-8") for name in ("evaluation.md", "maths.md"))
    for claim in CLAIMS:
        assert f"| {claim.number} | {claim.paper} | " in page
        assert f"| {claim.number} | {claim.paper} | {claim.due} |\n" in maths
        assert all(f"{part.name}: " in page and f"({part.due})" in page for part in claim.parts)


@pytest.mark.parametrize("gone", [experiment.name for experiment in EVIDENCE])
def test_what_was_not_run_has_no_verdict(committed: list[Evidence], gone: str) -> None:
    """Without the last half of an experiment, and without all of it."""
    for share in (0.5, 0):
        left = [
            replace(seed, rows={**seed.rows, gone: seed.of(gone)[: int(len(seed.of(gone)) * share)]})
            for seed in committed
        ]
        missing = [finding for _, finding in judge(CLAIMS, left) if finding.verdict is Verdict.NOT_RUN]
        assert missing
        assert all("no row" in finding.explanation and not finding.failed for finding in missing)


def test_two_seeds_are_too_few(committed: list[Evidence]) -> None:
    findings = [finding for claim, finding in judge(CLAIMS, committed[:2])]
    assert {finding.verdict for finding in findings} == {Verdict.NOT_RUN}


def smaller(seeds: Sequence[Evidence], size: Size, source: str | None = None) -> list[Evidence]:
    """As if the rows were of another size or source."""
    rows = [
        {
            name: [{**row, "source": source or row["source"]} for row in each]
            for name, each in seed.rows.items()
        }
        for seed in seeds
    ]
    return [Evidence(size, each) for each in rows]


def test_a_quick_run_says_what_it_cannot_decide(committed: list[Evidence]) -> None:
    judged = judge(CLAIMS, smaller(committed, sizes(QUICK)[0]))
    here = {claim.number for claim, finding in judged if finding.verdict is not Verdict.BEYOND}
    assert here == {8, 17, 18, 19, 20}
    assert all(
        finding.explanation.startswith("At this size: ")
        for claim, finding in judged
        if claim.number not in here
    )


def test_tables_that_were_made_up_decide_nothing_about_the_real_ones(committed: list[Evidence]) -> None:
    judged = judge(CLAIMS, smaller(committed, committed[0].size, "generated"))
    beyond = {claim.number for claim, finding in judged if finding.verdict is Verdict.BEYOND}
    assert beyond == set(range(1, 22)) - {20}
    require_explained(judged, quick=False)


def test_what_is_not_held_needs_an_explanation(committed: list[Evidence]) -> None:
    def claim(value: float, why: str) -> Claim:
        part = Part("it", Range(1, 2), lambda e: value)
        return Claim(5, "all is well", (part,), lambda means: why if means["it"] == 3 else "", about=())

    for value, why, fails in ((1.5, "", False), (3, "", True), (3, "known", False), (4, "known", True)):
        judged = judge([claim(value, why)], committed)
        assert judged[0][1].failed is fails
        if fails:
            with pytest.raises(ClaimError, match="5"):
                require_explained(judged, quick=True)
        else:
            require_explained(judged, quick=False)
    with pytest.raises(MissingRow, match="x = 3"):
        one([{"x": 1}], x=3)


def test_an_explanation_is_of_the_parts_that_it_names() -> None:
    def claim(one: float, two: float) -> Claim:
        parts = (Part("one", Range(1), lambda e: one), Part("two", Range(1), lambda e: two))
        beside = Part("third", Range(1), lambda e: 1)
        return Claim(5, "all is well", (*parts, beside), lambda means: "known", ("one",), about=())

    seeds = [Evidence(FULL, {})] * 3
    found = [judge([claim(*values)], seeds)[0][1] for values in ((2, 2), (0, 2), (2, 0), (0, 0))]
    assert [finding.failed for finding in found] == [False, False, True, True]
    assert [finding.verdict for finding in found] == [Verdict.HELD] + [Verdict.PART] * 3
    assert all({*each.explained} <= {part.name for part in each.parts} for each in CLAIMS)


def test_two_whole_seeds_are_too_few_as_well() -> None:
    part = Part("it", Range(1), lambda e: 1.0)
    ((_, finding),) = judge([Claim(5, "all is well", (part,), about=())], [Evidence(FULL, {})] * 2)
    assert finding.verdict is Verdict.NOT_RUN


def test_a_claim_that_seeds_leave_open_fails_at_full_size_alone(committed: list[Evidence]) -> None:
    values = iter([0.0, 1.0, 2.0] * 10)
    open_ = Claim(5, "all is well", (Part("it", Range(1, 2), lambda e: next(values)),), about=())
    judged = judge([open_], committed[:3])
    assert judged[0][1].verdict is Verdict.OPEN
    require_explained(judged, quick=True)
    with pytest.raises(ClaimError):
        require_explained(judged, quick=False)
