"""Each experiment measures what it says, and claims are judged by means over seeds, by one rule.

A count equals the run it stands for. Rows agree with formulas. An explanation must fit what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.errors import UsageError
from accord.side import Side
from accord.simulation.pair import simulate
from reproduction.catalogue import EXPERIMENTS
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
from reproduction.counting import Counter
from reproduction.lab import FULL, OURS, PAPER, QUICK, Size
from reproduction.noise import NOISE
from reproduction.paper_data import abt_buy, taxi_agreement
from reproduction.places import generate_places, places_agreement
from reproduction.seeds import EVIDENCE, found, sizes
from reproduction.sweep import Point, carry_out, number, one
from reproduction.table1 import METHODS, TABLE1
from tests.protocols import worlds
from tests.reproduction.worlds import ROOT, TINY, lab, quiet

# -- counts ------------------------------------------------------------------------------------------------


def small(protocol: dict[str, Any], style: str = "neighbours") -> Agreement:
    """Points on a line of keys and a small grid, both kinds of it."""
    privacy = {"epsilon": "1.6", "delta": "1e-2", "noise": "paper"}
    reach = {"reach": 2} if style == "replicate" else {}
    grid = {"kind": "grid", "fields": ["x", "y"], "cell": 4, "style": style, **reach}
    noisy = protocol["name"] == "laplace"
    made = worlds.agreement(protocol="all-pairs", rule="euclidean(x, y) <= 2").model_dump(mode="json")
    made["protocol"] = protocol | ({"A": privacy, "B": privacy} if noisy else {})
    return Agreement.model_validate(made | {"blocking": [grid] if noisy else []})


def require_same(
    a: pa.Table, b: pa.Table, agreed: Agreement, noise: str | None = None, runs: int = 1
) -> None:
    ran = simulate(a, b, agreed, seed=5, runs=runs, noise=noise)
    counter = Counter(a, b, agreed)
    for turn, run in enumerate(ran.runs):
        found = counter.count(agreed, 5, turn, noise)
        assert (found.matches, found.comparisons) == (run.matches, run.comparisons)
        assert (found.dummies_a, found.dummies_b) == (run.dummies_a, run.dummies_b)
        if not agreed.protocol.shown_fields(agreed.task):
            assert counter.cost(agreed, 5, turn, noise) == run.comparisons
    known = counter.all_matches, counter.candidate_pairs, counter.all_pairs
    assert known == (ran.all_matches, ran.candidate_pairs, ran.all_pairs)


points = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=40)
styles = st.sampled_from(["neighbours", "replicate"])


@given(points, points, styles, st.booleans(), st.sampled_from([0, 30, -1]))
def test_a_count_is_that_of_a_run(a: Any, b: Any, style: str, greedy: bool, prune: int) -> None:
    """Of laplace on either grid; −1 stands for all pairs."""
    laplace = {"name": "laplace", "greedy": greedy, "prune": prune}
    agreed = small({"name": "all-pairs", "greedy": greedy} if prune < 0 else laplace, style)
    require_same(worlds.table(a, "a"), worlds.table(b, "b"), agreed)


@pytest.mark.parametrize("greedy", [False, True])
def test_a_count_is_that_of_a_run_with_many_rounds(greedy: bool) -> None:
    made = generate_products(400, None, 3)
    require_same(made.a, made.b, adjust(starter("products"), greedy=greedy, prune=10), PAPER, runs=2)
    made = generate_places(600, None, 3)
    require_same(made.a, made.b, adjust(places_agreement(), greedy=greedy))


def test_what_cannot_be_counted_is_refused() -> None:
    a, b = worlds.table([(0, 0), (1, 0), (9, 9)], "a"), worlds.table([(0, 1), (15, 15)], "b")
    agreed = small({"name": "laplace"})
    counter = Counter(a, b, agreed)
    assert (counter.disclosed, counter.all_matches) == ((2, 1), 2), "the records that match"
    with pytest.raises(UsageError):
        counter.cost(agreed, 0)
    wider = agreed.model_dump(mode="json")
    wider["fields"]["x"]["max"] = 15 + 16
    intersection = adjust(agreed, protocol="psi").model_copy(update={"blocking": agreed.blocking})
    for other in (small({"name": "laplace"}, "replicate"), Agreement.model_validate(wider), intersection):
        with pytest.raises(UsageError):
            counter.count(other, 0)


# -- rows --------------------------------------------------------------------------------------------------


def test_points_have_the_parameters_and_no_two_are_the_same() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        for size in (FULL, QUICK, TINY):
            points = experiment.points(size)
            assert all(set(point) == set(experiment.parameters) for point in points)
            assert len({tuple(point.items()) for point in points}) == len(points)


def test_exact_delta_of_the_published_noise_and_of_its_shift_before_rounding() -> None:
    """The other noises have whole shifts."""
    point: Point = {"epsilon": "1.6", "delta": "1e-5", "bins": 1}
    published, ours = (NOISE.run(lab(), {**point, "noise": name}) for name in (PAPER, OURS))
    assert number({**published}, "delta_exact") == pytest.approx(9.4348e-6, rel=1e-3)
    assert number({**published}, "delta_unrounded") == pytest.approx(1.171e-5, rel=1e-3)
    assert number({**ours}, "dummies") == pytest.approx(10.2, abs=0.1)
    assert ours["delta_exact"] == ours["delta_unrounded"]


def test_table_1_of_all_pairs() -> None:
    row = TABLE1.run(lab(), {"data": "ab", "per_day": 50, "method": "all-pairs", "trials": 40})
    assert row["verdict"] == "no leak found"
    assert number(row, "exponent") == pytest.approx(2)
    assert number(row, "recall") == 1


@pytest.mark.slow
def test_the_table_of_the_paper(tmp_path: Path) -> None:
    rows = carry_out(TABLE1, lab(size=QUICK), tmp_path, quiet)
    assert {str(row["method"]) for row in rows} == set(METHODS)
    assert {str(r["method"]) for r in rows if r["verdict"] == "leaky"} == {"blocking", "laplace-suppress"}
    complete = {str(row["method"]) for row in rows if number(row, "recall") == 1}
    assert complete >= {"all-pairs", "psi-expand", "blocking", "laplace"}
    assert number(one(rows, method="psi"), "recall") < 0.5
    assert number(one(rows, method="all-pairs"), "exponent") == pytest.approx(2, abs=0.01)
    assert number(one(rows, method="laplace"), "exponent") == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("data", "bins"), [("ab", 32), ("taxi", 12288), ("products", 32), ("places", 12288)])
def test_generated_tables_fit_the_agreement_of_the_paper(data: str, bins: int) -> None:
    here = lab()
    setup = here.setup(data, 2, 200)
    assert here.source(data) == "generated"
    assert setup.agreement.plan.bins == bins
    for table in (setup.made.a, setup.made.b):
        assert len(set(table["id"].to_pylist())) == len(table) == 400
    assert len(set(setup.made.a["day"].to_pylist())) == 2
    assert setup.counter.all_matches > 0
    assert set(setup.made.truth["id_a"].to_pylist()) <= set(setup.made.a["id"].to_pylist())
    # The last set-up is kept, and no other.
    assert here.setup(data, 2, 200) is setup
    here.setup(data, 1, 120)
    assert here.setup(data, 2, 200) is not setup
    again, other = (lab(seed).tables(data, 2, 200)[0].a for seed in (0, 1))
    assert again.equals(setup.made.a)
    assert not other.equals(setup.made.a)


def test_the_papers_taxi_grid() -> None:
    """16 × 16 cells and 24 hours: 6,144 bins and 24·46² ordered pairs (MATHS §14.3)."""
    plan, replicated = taxi_agreement().plan, taxi_agreement(cell=0.02, style="replicate").plan
    assert (plan.bins, len(plan.pairs()[0])) == (6144, 24 * 46**2)
    assert plan.per_record(Side.A) == plan.per_record(Side.B) == 1
    assert (replicated.per_record(Side.A), replicated.per_record(Side.B)) == (1, 4)
    assert len(replicated.pairs()[0]) == replicated.bins == 24 * 16


def test_abt_buy_as_in_the_paper(real_data: Path) -> None:
    """16 bins whose Σ p_A·p_B is 0.1716 (MATHS §14.3): 4.29 million candidate pairs of 25 million."""
    made, agreed = abt_buy(real_data / "abt_buy", per_day=1_000, seed=1)
    result = accord.simulate(made.a, made.b, agreed)
    assert agreed.plan.bins == 16
    assert result.candidate_pairs == pytest.approx(0.1716e6, rel=0.1)
    assert result.recall == 1.0
    several, agreed = abt_buy(real_data / "abt_buy", days=3, per_day=100)
    assert (agreed.plan.bins, several.a.num_rows) == (48, 300)


# -- claims --------------------------------------------------------------------------------------------------


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
