"""From pairs to weights and a threshold: patterns that are counted, weights in bits, the spread of sums."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.learning import patterns
from accord.learning.patterns import FOLDS, Comparisons, PatternCounts, Weights, count, deal, persons
from accord.learning.threshold import ExpectedQuality, choose, curve, spread_of
from accord.learning.unlabelled import Unlabelled, tell_apart
from accord.learning.weights import FEWEST, LARGEST, Drafted, Ratios, fit, rare_levels, whole
from accord.rules import evaluate
from accord.rules.rule import Level, Levels, Rule, Same, Score
from accord.rules.words import compare, dice, missing, same
from tests.rules.worlds import ROW, Row, both, scores, tables

# -- patterns: the levels that hold, every pair counted once ------------------------------------------------


@given(scores, tables, tables, st.randoms())
def test_patterns_give_the_scores_of_all_pairs(
    rule: Rule, a: list[Row], b: list[Row], random: object
) -> None:
    assert isinstance(rule, Score)
    table, left, right = both(a, b)
    pairs = np.repeat(np.arange(len(left)), len(right)), np.tile(np.arange(len(right)), len(left))
    rng = np.random.default_rng(len(a) + 10 * len(b))
    true = rng.random(len(pairs[0])) < 0.3
    found = count(
        rule.comparisons,
        table,
        (pairs[0][true], pairs[1][true]),
        [(pairs[0][::2], pairs[1][::2]), (pairs[0][1::2], pairs[1][1::2])],
        (rng.integers(0, FOLDS, len(left)), rng.integers(0, FOLDS, len(right))),
    ).whole
    sums = found.scores(tuple(each.weights for each in rule.comparisons))
    wanted = evaluate.scores(rule.comparisons, table, *pairs)
    for counts, of in ((found.matches, true), (found.others, ~true)):
        counted: Counter[int] = Counter()
        for total, number in zip(sums.tolist(), counts.tolist(), strict=True):
            counted[total] += number
        assert +counted == Counter(wanted[of].tolist())
    assert len({tuple(row) for row in found.patterns.tolist()}) == len(found.patterns)


ONE = (Levels((Level(Same("code"), 1),), 0),)


def test_every_pair_is_judged_once_by_weights_that_never_saw_its_people() -> None:
    table, _, _ = both([ROW] * 40, [ROW] * 40)
    true = np.arange(0, 40, 2), np.arange(0, 40, 2)
    picked = np.array([1, 3]), np.array([3, 1])
    folds = deal(true, (40, 40), np.random.default_rng(0))
    joined = np.array([0, 1, 1, 2, 5]), np.array([0, 0, 1, 1, 3])
    assert persons(joined, (6, 4)).tolist() == [0, 0, 0, 3, 4, 5, 0, 0, 8, 5]
    assert np.array_equal(folds[0][true[0]], folds[1][true[1]])
    left, right = np.divmod(np.arange(1600), 40)
    found = count(ONE * 70, table, true, [(left, right)], folds, picked)
    assert found.whole.patterns.tolist() == [[0] * 70]
    assert (found.whole.matches.sum(), found.whole.others.sum()) == (20, 1600 - 20 - 2)
    parts = [found.within(fold) for fold in range(FOLDS)]
    assert sum(part.others.sum() for part in parts) == found.whole.others.sum()
    for fold, part in enumerate(parts):
        assert part.matches.sum() == (folds[0][true[0]] == fold).sum()
        outside = (folds[0][left] != fold) & (folds[1][right] != fold)
        learnt = found.without(fold)
        assert learnt.matches.sum() + learnt.others.sum() == outside.sum(), "with those that were picked"


def test_many_patterns_are_sampled_and_all_sums_stay_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of levels within .1, sums within a tenth. The seed is fixed."""
    rng = np.random.default_rng(5)
    agrees = rng.random((80_000, 12)) < 0.3
    agrees[:40] = rng.random((40, 12)) < 0.9
    monkeypatch.setattr(
        patterns, "patterns_of", lambda *given: ~agrees[given[2] * 2000 + given[3]] + np.uint8(0)
    )
    every, true = np.divmod(np.arange(80_000), 2000), (np.zeros(40, np.int64), np.arange(40))
    folds = np.zeros(40, np.int64), np.zeros(2000, np.int64)
    found = []
    for most in (patterns.MOST_PATTERNS, 500):
        monkeypatch.setattr(patterns, "MOST_PATTERNS", most)
        found.append(count(ONE * 12, both([ROW], [ROW])[0], true, [every], folds).whole)
    exact, some = found
    assert len(exact.patterns) > 3000
    assert len(some.patterns) < 800
    assert some.matches.sum() == exact.matches.sum()
    for place in range(12):
        shares = [of.others[of.patterns[:, place] == 0].sum() / 80_000 for of in found]
        assert shares[1] == pytest.approx(shares[0], abs=0.1)
    for least in (6, 8, 10):
        reach = [of.others[of.scores(((1, 0),) * 12) >= least].sum() for of in found]
        assert reach[1] == pytest.approx(reach[0], rel=0.1)


# -- weights: whole bits, bounded, never rising from level to level -----------------------------------------


def weigh(comparisons: Comparisons, evidence: PatternCounts) -> Weights:
    prior = Ratios(comparisons)
    return whole(comparisons, fit(comparisons, evidence, prior.start(evidence)), prior.points(evidence))


def comparison(number: int) -> Comparisons:
    name = f"f{number}"
    return (compare((dice(name) >= 1, 0), (dice(name) >= 0.8, 0), (missing(name), 0)),)


def test_independent_comparisons_get_the_weights_of_fellegi_and_sunter() -> None:
    """The known optimum: log₂ of the ratio of shares. The counts are exact."""
    shares = np.array([[0.8, 0.1, 0.05, 0.05], [0.0125, 0.025, 0.05, 0.9125]])
    patterns = np.indices([4] * 3).reshape(3, -1).T.astype(np.uint8)
    matches, others = np.round(1e9 * shares[:, patterns].prod(axis=2))
    three = comparison(0) + comparison(1) + comparison(2)
    assert weigh(three, PatternCounts(patterns, matches, others)) == ((6, 2, 0, -4),) * 3


def test_two_that_always_agree_weigh_together_what_one_does() -> None:
    alone = PatternCounts(np.array([[0], [1]], np.uint8), np.array([9e5, 1e5]), np.array([1e4, 99e4]))
    one, other = (compare((same(name), 0)) for name in "ab")
    twice = replace(alone, patterns=np.repeat(alone.patterns, 2, axis=1))
    ((apart, last),) = weigh((one,), alone)
    first, second = weigh((one, other), twice)
    assert abs(first[0] - first[1] + second[0] - second[1] - (apart - last)) <= 2


def test_a_level_that_no_match_has_speaks_for_none() -> None:
    """Of four million others half a pair is nothing, and of a thousand matches it would be much."""
    patterns = np.array([[0], [3]], np.uint8)
    matches, others = np.array([900.0, 100]), np.array([4_000.0, 4_000_000])
    ((first, second, none, last),) = weigh(comparison(0), PatternCounts(patterns, matches, others))
    assert first > 5 > 0 >= second >= last
    assert none == 0
    constant = PatternCounts(patterns[:1], matches[:1], others[:1])
    assert weigh(comparison(0), constant) == ((0, 0, 0, 0),), "where all pairs are alike nothing is told"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 10**6)), min_size=4, max_size=4))
def test_weights_are_bounded_and_fall_whatever_was_counted(counts: list[tuple[int, int]]) -> None:
    patterns = np.arange(4, dtype=np.uint8)[:, None]
    matches, others = (np.array(of, float) for of in zip(*counts, strict=True))
    ((first, second, none, last),) = weigh(comparison(0), PatternCounts(patterns, matches, others))
    assert none == 0
    assert first >= second >= last
    assert -LARGEST <= last <= 0 <= first <= LARGEST


DRAFT = (
    compare((same("a"), 3), (dice("a") >= 0.8, 1), (missing("a"), 0), otherwise=-2),
    compare((same("b"), 2), otherwise=-1),
)


def drafted(evidence: PatternCounts) -> Weights:
    prior = Drafted(DRAFT, rare_levels(DRAFT, evidence))
    return whole(DRAFT, fit(DRAFT, evidence, prior.start(evidence)), prior.points(evidence))


def of_draft(m: list[float], u: list[float], matches: int, others: int) -> PatternCounts:
    """Pairs whose `a` has these shares of its levels, and whose `b` agrees for nine in ten matches."""
    patterns = np.array([(a, b) for a in range(4) for b in range(2)], np.uint8)
    shares = [np.outer(of, b).ravel() for of, b in ((m, (0.9, 0.1)), (u, (0.2, 0.8)))]
    counts = [np.round(total * share) for total, share in zip((matches, others), shares, strict=True)]
    return PatternCounts(patterns, counts[0], counts[1])


@pytest.mark.parametrize("matches", [25, 100, 1_000])
def test_a_level_that_few_matches_have_weighs_what_it_does_in_the_draft(matches: int) -> None:
    """Times the same whole number for all, which follows from all pairs."""
    evidence = of_draft([0.8, 0.14, 0.04, 0.02], [0.02, 0.03, 0.15, 0.8], matches, 20_000)
    kept = rare_levels(DRAFT, evidence)
    found = [weight for each in drafted(evidence) for weight in each]
    written = [weight for each in DRAFT for weight in each.weights]
    times = {one / of for one, of, rare in zip(found, written, kept, strict=True) if rare and of}
    assert len(times) <= 1
    assert all(one.is_integer() and one >= 1 for one in times)
    held = np.array([evidence.matches[evidence.patterns[:, 0] == level].sum() for level in range(4)])
    assert kept[:4].tolist() == [held[0] < FEWEST, held[1] < FEWEST, True, held[3] < FEWEST]
    assert found[2] == 0
    assert found[0] >= found[1] >= found[3], "and weights fall, with those that are kept"


def test_pairs_decide_where_there_are_many_and_the_draft_where_all_agree() -> None:
    many = of_draft([0.5, 0.2, 0.1, 0.2], [0.5, 0.2, 0.1, 0.2], 100_000, 10**6)
    of_a, (agrees, differs) = drafted(many)
    assert of_a == (0, 0, 0, 0), "whatever the draft says of a"
    assert agrees > 0 > differs
    few = of_draft([1, 0, 0, 0], [1, 0, 0, 0], 19, 0)
    times = drafted(few)[1][0] // 2
    assert drafted(few) == ((3 * times, times, 0, -2 * times), (2 * times, -times))


# -- without labels: matches are told from strangers, and no household is a person --------------------------

PEOPLE = 300
WORLD: Comparisons = tuple(compare((same(name), 3), otherwise=-1) for name in "abcde")


def world(seed: int, households: bool) -> tuple[Unlabelled, np.ndarray]:
    """All pairs of two tables of the same people, whose fields err in one of twenty; two by two they share a
    surname, a street and a city, if there are households."""
    rng = np.random.default_rng(seed)
    left, right = np.divmod(np.arange(PEOPLE**2), PEOPLE)
    true = left == right
    home = true | (households & (left // 2 == right // 2))
    drawn = rng.random((len(left), 5))
    agrees = np.where(np.stack([true, true, home, home, home], axis=1), drawn < 0.95, drawn < 0.02)
    patterns, which = np.unique(1 - agrees.astype(np.uint8), axis=0, return_inverse=True)
    return Unlabelled(left, right, which.ravel(), patterns), true


@pytest.mark.parametrize("households", [False, True])
def test_as_many_matches_as_there_are(households: bool) -> None:
    """Of 300 within 30, where a fit misses it by some ten. The seed is fixed."""
    pairs, true = world(1, households)
    found = pairs.count(tell_apart(WORLD, pairs, PEOPLE / 2))
    assert abs(found.matches.sum() - PEOPLE) < PEOPLE / 10
    of_matches = np.bincount(pairs.which, true, len(pairs.patterns))
    likely = found.matches > found.others
    assert of_matches[likely].sum() > 0.9 * PEOPLE
    assert (found.matches + found.others)[likely].sum() < 1.1 * PEOPLE


@pytest.mark.parametrize(
    ("copies", "second", "wanted"),
    [((1, 1), 5.0, [1, 0, 0.5, 0]), ((1, 2), 5.0, [1, 0, 0.5, 0]), ((2, 2), 20.0, [1, 1, 1, 0])],
)
def test_a_record_has_as_many_partners_as_it_may_have_copies(
    copies: tuple[int, int], second: float, wanted: list[float]
) -> None:
    """That of a0 and b0 leaves nothing for a0 and b1, whose b1 has one partner still."""
    rows = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])
    pairs = Unlabelled(*rows, np.array([0, 1, 1, 2]), np.array([[0], [1], [2]], np.uint8), copies)
    likely = pairs.likely(np.array([20.0, second, -20.0]))
    assert np.round(likely, 2).tolist() == wanted
    assert max(np.bincount(side, likely).max() for side in rows) <= max(copies)


# -- thresholds: expected of the spread of sums and the number of strangers ---------------------------------


def test_counted_pairs_are_expected_as_they_were_counted() -> None:
    sums = np.array([0, 5, 9])
    spread = spread_of(sums, np.array([10.0, 30, 60]), np.array([9_000.0, 900, 100]), (100, 10_000))
    points = {point.least: point for point in curve(spread, 100, np.random.default_rng(0))}
    assert min(points) == 1, "the lowest accepts every pair"
    assert points[5].recall == pytest.approx(0.9)
    assert points[5].precision == pytest.approx(0.9 / (0.9 + 100 * 0.1))
    assert (points[9].precision, points[9].recall) == (points[6].precision, points[6].recall)
    assert points[9].precision == pytest.approx(0.6 / (0.6 + 100 * 0.01))
    some, many = (curve(spread, strangers, np.random.default_rng(0)) for strangers in (1, 10**4))
    assert choose(some, some).least < choose(many, many).least, "more strangers want a higher threshold"


def test_beyond_what_was_counted_strangers_fall_off_as_the_last_do() -> None:
    sums = np.arange(0, 40)
    strangers = np.floor(10_000 * 0.5**sums)
    spread = spread_of(sums, np.full(40, 100.0), strangers, (4000, strangers.sum()))
    assert np.array_equal(spread.reached(strangers.sum() / 4000), spread.others), "as many as were looked at"
    assert not spread.others[20:].any()
    tail = spread.reached(100)
    assert np.array_equal(tail[:10], spread.others[:10])
    assert tail[15:30] / tail[14:29] == pytest.approx(0.4, abs=0.15)
    assert (np.diff(tail) <= 0).all()


POINTS = [ExpectedQuality(*one) for one in ((3, 0.5, 1.0), (5, 0.8, 0.9), (8, 0.99, 0.5), (9, 1.0, 0.0))]


def test_the_best_f1_or_the_best_with_a_wished_precision() -> None:
    """The threshold is chosen by one spread and judged by another. It lies in the middle of equal ones."""
    assert choose(POINTS, POINTS).least == 5
    assert choose(POINTS, POINTS, 0.95).least == 8
    with pytest.raises(UsageError) as raised:
        choose(POINTS, POINTS, 0.999)
    assert all(number in str(raised.value) for number in ("0.999", "0.99", "`precision=`"))
    with pytest.raises(UsageError):
        choose(POINTS[-1:], POINTS[-1:])
    alike = [ExpectedQuality(least, 0.9, 0.9) for least in range(4, 9)]
    assert choose([ExpectedQuality(3, 0.5, 1.0), *alike], POINTS + alike).least == 6
    judged = [ExpectedQuality(3, 0.4, 0.4), ExpectedQuality(5, 0.3, 0.3)]
    assert choose(POINTS, judged) == judged[1]


def test_an_interval_holds_the_truth() -> None:
    """Recall 0.9 and 0.02 strangers for each match, seen in 60 matches: F1 lies in an interval of 95 % as
    often as it should. Below 0.85 of 200 trials with a chance of less than 1e-6."""
    rng = np.random.default_rng(1)
    truth, held = 2 * 0.9 / (0.9 + 0.02 + 1), 0
    for _ in range(200):
        found, wrong = rng.binomial(60, 0.9), rng.poisson(0.02 * 60)
        counts = np.array([60.0 - found, found]), np.array([60_000.0 - wrong, wrong])
        spread = spread_of(np.array([0, 5]), *counts, (60, 60_000))
        interval = curve(spread, 1_000, rng)[-1].interval
        assert interval is not None
        held += interval[0] <= truth <= interval[1]
    assert held >= 170
