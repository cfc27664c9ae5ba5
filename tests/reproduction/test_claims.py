"""Claims are judged by means over seeds, by one rule; an explanation must fit what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

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
from reproduction.lab import FULL, QUICK, Size
from reproduction.seeds import EVIDENCE, found, sizes
from tests.reproduction.worlds import ROOT

RESULTS = ROOT / "docs" / "results"
EVERY = set(range(1, 22))
HELD, PART, NOT = {1, 6, 7, 16, 19, 20, 21}, {2, 3, 4, 5, 8, 10, 11, 13, 14, 15, 18}, {9, 12, 17}


def evidence(first: int) -> list[Evidence]:
    """The results that the project shows, at full size, from this seed on."""
    return [Evidence(sizes(FULL)[0], rows) for rows in found(FULL, first, RESULTS)]


@pytest.fixture(scope="module")
def committed() -> list[Evidence]:
    return evidence(0)


def numbers(seeds: Sequence[Evidence], *verdicts: Verdict) -> set[int]:
    """The claims that come out like this."""
    judged = judge(CLAIMS, seeds)
    assert {claim.number for claim, _ in judged} == EVERY
    return {claim.number for claim, finding in judged if finding.verdict in verdicts}


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 10))])
def test_the_verdicts_are_the_same_from_any_seed_on(first: int) -> None:
    judged = judge(CLAIMS, evidence(first))
    for verdict, claims in ((Verdict.HELD, HELD), (Verdict.PART, PART), (Verdict.NOT, NOT)):
        assert {claim.number for claim, finding in judged if finding.verdict is verdict} == claims
    require_explained(judged, quick=False)
    assert all({*each.explained} <= {part.name for part in each.parts} for each in CLAIMS)


def test_ranges_follow_from_the_words_of_the_paper() -> None:
    named = as_named("x", 10, lambda e: 0.0)
    assert (named.due, named.near) == (Range(9, 11), Range(10 / math.sqrt(10), 10 * math.sqrt(10)))
    assert orders("x", 2, lambda e: 0.0).due.least == pytest.approx(10**1.5)
    assert orders("x", 2, lambda e: 0.0, over=True).due == Range(100)


@pytest.mark.parametrize(
    ("mean", "off", "outcome"),
    [
        (10, 0.5, Outcome.HELD), (10, 1.5, Outcome.OPEN), (20, 1, Outcome.NEAR), (20, 15, Outcome.OPEN),
        (30, 3, Outcome.OPEN), (40, 1, Outcome.MISSED), (-1, 0, Outcome.MISSED), (9, 0, Outcome.HELD),
    ],
)  # fmt: skip
def test_a_part_is_judged_by_its_whole_interval(mean: float, off: float, outcome: Outcome) -> None:
    assert as_named("x", 10, lambda e: 0.0).judge(Interval(mean, off, 10)) is outcome
    # Of three values, 1 apart: t = 4.303 for two degrees of freedom.
    interval = Interval.of([1.0, 2.0, 3.0])
    assert (interval.mean, interval.seeds) == (2.0, 3)
    assert interval.off == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)
    assert Interval.of([5.0, 5.0, 5.0]).off == 0


DECIDED = (Outcome.HELD, Outcome.NEAR, Outcome.MISSED)


@given(st.lists(st.sampled_from(list(Outcome)), min_size=1, max_size=5))
def test_a_verdict_stands_only_if_no_open_part_could_turn_it(outcomes: list[Outcome]) -> None:
    """Against all ways in which open parts could be settled."""
    settled: list[list[Outcome]] = [[]]
    for outcome in outcomes:
        choices = DECIDED if outcome is Outcome.OPEN else (outcome,)
        settled = [[*way, choice] for way in settled for choice in choices]
    verdicts = {summed(way) for way in settled}
    assert Verdict.OPEN not in verdicts
    assert summed(outcomes) is (verdicts.pop() if len(verdicts) == 1 else Verdict.OPEN)


@pytest.mark.parametrize(
    "gone",
    [EVIDENCE[0].name, *(pytest.param(each.name, marks=pytest.mark.slow) for each in EVIDENCE[1:])],
)
def test_what_was_not_run_has_no_verdict(committed: list[Evidence], gone: str) -> None:
    left = [replace(seed, rows={**seed.rows, gone: seed.of(gone)[:1]}) for seed in committed]
    missing = [finding for _, finding in judge(CLAIMS, left) if finding.verdict is Verdict.NOT_RUN]
    assert missing
    assert not any(finding.failed for finding in missing)


def smaller(seeds: Sequence[Evidence], size: Size, source: str | None = None) -> list[Evidence]:
    """As if the rows were of another size or source."""
    more = {"source": source} if source else {}
    return [
        Evidence(size, {name: [{**row, **more} for row in rows] for name, rows in seed.rows.items()})
        for seed in seeds
    ]


def test_few_seeds_a_small_run_and_made_up_tables_decide_nothing_about_the_papers(
    committed: list[Evidence],
) -> None:
    assert numbers(committed[:2], Verdict.NOT_RUN) == EVERY
    assert numbers(smaller(committed, sizes(QUICK)[0]), Verdict.BEYOND) == EVERY - {8, 17, 18, 19, 20}
    made_up = smaller(committed, committed[0].size, "generated")
    assert numbers(made_up, Verdict.BEYOND) == EVERY - {20}
    require_explained(judge(CLAIMS, made_up), quick=False)


SEEDS = [Evidence(FULL, {})] * 3


def claim(*values: float, why: str = "", explained: tuple[str, ...] = ()) -> Claim:
    """Due is 1 to 2 of every part."""
    parts = tuple(Part(str(n), Range(1, 2), lambda e, v=v: v) for n, v in enumerate(values))  # type: ignore[misc]
    return Claim(5, "all is well", parts, lambda means: why if means["0"] != 4 else "", explained, about=())


@pytest.mark.parametrize(
    ("made", "verdict", "fails"),
    [
        (claim(1.5), Verdict.HELD, False),
        (claim(3), Verdict.NOT, True),
        (claim(3, why="known"), Verdict.NOT, False),
        (claim(4, why="known"), Verdict.NOT, True),
        # The explanation is of the first part alone.
        (claim(0, 1, why="known", explained=("0",)), Verdict.PART, False),
        (claim(1, 0, why="known", explained=("0",)), Verdict.PART, True),
        (claim(0, 0, 1, why="known", explained=("0",)), Verdict.PART, True),
    ],
)
def test_what_is_not_held_needs_an_explanation(made: Claim, verdict: Verdict, fails: bool) -> None:
    judged = judge([made], SEEDS)
    assert (judged[0][1].verdict, judged[0][1].failed) == (verdict, fails)
    if fails:
        with pytest.raises(ClaimError) as error:
            require_explained(judged, quick=True)
        assert error.value.facts["numbers"] == "5"
    else:
        require_explained(judged, quick=False)
    assert judge([made], SEEDS[:2])[0][1].verdict is Verdict.NOT_RUN


def test_a_claim_that_seeds_leave_open_fails_at_full_size_alone() -> None:
    values = iter([0.0, 1.0, 2.0])
    open_ = Claim(5, "all is well", (Part("it", Range(1, 2), lambda e: next(values)),), about=())
    judged = judge([open_], SEEDS)
    assert judged[0][1].verdict is Verdict.OPEN
    require_explained(judged, quick=True)
    with pytest.raises(ClaimError):
        require_explained(judged, quick=False)
