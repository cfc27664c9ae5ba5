"""Matches against the truth: scores, the curve, figures by field and missed pairs, all counted slowly."""

from __future__ import annotations

import re
from dataclasses import asdict, astuple
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.errors import DataError, UsageError
from accord.rules.evaluate import holds
from accord.rules.evaluate import scores as score_pairs
from accord.rules.text import parse_rule
from accord.simulation import pair
from accord.simulation.curve import Curve, Point, trace
from accord.simulation.known import Known, Weighed, split
from accord.simulation.report import judge
from accord.simulation.truth import Scores, f1, read_truth, score
from tests.simulation.made import SCORE, agree, know, people, run, text

PLAIN = """
dice(given) >= 0.5 and dice(surname) >= 0.5 and (same(birth) or same(email)) or same(phone) and same(birth)
"""
PASSES = """
[[blocking.pass]]
name = "sex"
cap = 3
parts = [{ kind = "key", field = "sex" }]

[[blocking.pass]]
name = "birth"
cap = 1
parts = [{ kind = "key", field = "birth_year" }]

[protocol]
name = "routed"

[disclose]
"""


def crowded() -> Agreement:
    """Routed over keys that many share."""
    return parse_agreement(re.sub(r"\[\[blocking.pass\]\].*?\[disclose\]", PASSES, text(), flags=re.S))


def traced(known: Known, shown: int) -> tuple[Curve, list[int], list[int]]:
    found = trace(known, shown)
    assert found is not None
    return found[0], found[1].tolist(), found[2].tolist()


# -- the truth ---------------------------------------------------------------------------------------------


def test_each_pair_counts_once() -> None:
    def pairs(*ids: str) -> pa.Table:
        columns = [pa.array([i[n] for i in ids], pa.string()) for n in (0, 1)]
        return read_truth(pa.table(dict(zip(("id_a", "id_b"), columns, strict=True))))

    found, true = pairs("a1", "b2", "b2", "c9"), pairs("a1", "b2", "c3", "d4", "d4")
    assert astuple(score(found, true)) == pytest.approx((4, 2 / 4, 2 / 3, 4 / 7))
    assert score(pairs(), pairs()) == Scores(0, 1.0, 1.0, 1.0)
    assert score(pairs("a1"), pairs("b2")) == Scores(1, 0.0, 0.0, 0.0)


def test_true_pairs_are_rows_and_those_of_nobody_are_counted() -> None:
    made = people()
    more = pa.table({"id_a": ["A1", "nobody", "A1"], "id_b": ["nobody", "B1", "nobody"]})
    pairs = made.truth.select(["id_a", "id_b"])
    known = know(agree(), made, pa.concat_tables([pairs, pairs.slice(0, 9), more.cast(pairs.schema)]))
    left, right = known.rows(known.true)
    found = zip(known.a.ids.take(left).to_pylist(), known.b.ids.take(right).to_pylist(), strict=True)
    assert set(found) == set(zip(*(pairs[name].to_pylist() for name in pairs.column_names), strict=True))
    assert (len(known.true), known.unknown, known.true_pairs) == (72, 2, 74)
    assert sorted({*known.missed, *known.found}) == sorted({*known.true, *known.false})


def test_what_is_no_truth_is_refused() -> None:
    made = people(20)
    done = run(agree(), made)
    with pytest.raises(DataError):
        done.quality(made.a)
    with pytest.raises(UsageError):
        done.quality(made.truth, pairs=-1)
    with pytest.raises(UsageError):
        done.quality(3)  # type: ignore[arg-type]


# -- the curve ---------------------------------------------------------------------------------------------


def sums_of(known: Known) -> dict[int, int]:
    """Of every pair that meets and fulfils the rest of the rule, slowly."""
    graded = split(known.agreement.rule)
    assert graded is not None
    keys = np.arange(len(known.a) * len(known.b))
    kept = keys[known.meets(keys) & holds(graded[1], known.tables, *known.rows(keys))]
    sums = score_pairs(graded[0].comparisons, known.tables, *known.rows(kept))
    return dict(zip(kept.tolist(), sums.tolist(), strict=True))


@pytest.mark.parametrize("rule", [SCORE, f"not missing(birth) and {SCORE}"])
def test_every_point_is_what_that_threshold_finds(rule: str) -> None:
    known = know(agree(rule), people())
    sums, true = sums_of(known), set(known.true.tolist())
    curve, below, above = traced(known, 5)
    for point in curve.points:
        found = {key for key, sum_ in sums.items() if sum_ >= point.threshold}
        precision, recall = len(found & true) / len(found), len(found & true) / len(true)
        assert point == Point(point.threshold, len(found), precision, recall, f1(precision, recall))
    least = min(sum_ for key, sum_ in sums.items() if key in true)
    assert [point.threshold for point in curve.points] == sorted(
        {9} | {s for s in sums.values() if s >= least}
    )
    assert curve.at(curve.best).f1 == max(point.f1 for point in curve.points)
    assert below == sorted((k for k in sums if sums[k] < 9), key=lambda k: (-sums[k], k not in true, k))[:5]
    assert above == sorted((k for k in sums if sums[k] >= 9), key=lambda k: (sums[k], k in true, k))[:5]


def test_a_better_threshold_is_named_and_of_equals_the_nearest() -> None:
    made = people()
    high, _, _ = traced(know(agree(SCORE.replace(">= 9", ">= 23")), made), 0)
    low, _, _ = traced(know(agree(), made), 0)
    assert high.best == low.best
    assert high.at(23).f1 < high.at(high.best).f1
    # Of 60 pairs without errors all true ones weigh much, and nothing else comes near.
    wide = agree("score(birth: same -> 80; email: same -> 1) >= 50")
    curve, _, _ = traced(know(wide, people(30)), 0)
    assert curve.best == 50
    assert curve.at(50).f1 == curve.at(80).f1


def test_edges_of_the_curve() -> None:
    """All pairs without a blocking, nothing for a rule without a score, one point where nothing is true."""
    every, below, above = traced(
        know(adjust(agree(), protocol="all-pairs", greedy=False), people(40)), 10_000
    )
    assert len(below) + len(above) == 40 * 40
    assert every.points[0].recall == 1
    assert trace(know(agree("same(birth)"), people(20)), 3) is None
    made = people(30)
    curve, below, _ = traced(know(agree(), made, made.truth.slice(0, 0)), 2)
    assert [(point.threshold, point.recall) for point in curve.points] == [(9, 1.0)]
    assert len(below) == 2


def test_the_score_of_a_conjunction_is_found_and_no_other() -> None:
    for rule in ("same(birth)", f"same(birth) or {SCORE}", f"not {SCORE}"):
        assert split(parse_rule(rule)) is None
    found = split(parse_rule(f"same(birth) and {SCORE} and same(email)"))
    assert found == (parse_rule(SCORE), parse_rule("same(birth) and same(email)"))


# -- pairs and fields --------------------------------------------------------------------------------------


def test_a_pair_is_told_of_without_its_values() -> None:
    made = people()
    known = know(agree(), made)
    told = known.describe(known.true)
    cells = [dict(zip(t["id"].to_pylist(), t["email"].to_pylist(), strict=True)) for t in (made.a, made.b)]
    agrees = 0
    for one in told:
        left, right = cells[0][one.id_a], cells[1][one.id_b]
        assert ("email" in one.lacks) == (left is None or right is None)
        same = left is not None and right is not None and left.lower() == right.lower()
        assert ("email" in one.differs) == (not same and "email" not in one.lacks)
        assert not set(one.differs) & set(one.lacks)
        assert one.levels[3] == Weighed(("email",), *(("same(email)", 6) if same else ("otherwise", 0)))
        assert one.score == sum(level.weight for level in one.levels)
        assert one.accepted == (one.score >= 9)
        agrees += same
        assert all(value not in repr(one) for value in (left, right) if value is not None)
    assert 0 < agrees < len(told)
    assert [one.true for one in told] == [True] * len(told)
    found = {key for key, one in zip(known.true.tolist(), told, strict=True) if one.found}
    assert found == set(known.found.tolist()) & set(known.true.tolist())
    assert found < set(known.true.tolist())
    assert known.count_apart(known.true).tolist() == [len(one.differs) + len(one.lacks) for one in told]
    assert known.fields == ("given", "surname", "birth", "email")


def test_figures_by_field_are_those_of_the_pairs_that_are_apart_in_it() -> None:
    known = know(agree(PLAIN), people(200))
    quality = judge(known, 10_000)
    told = [*known.describe(known.true), *known.describe(known.false)]
    assert [one.field for one in quality.fields] == ["given", "surname", "birth", "email", "phone"]
    assert {(one.score, one.levels) for one in told} == {(None, ())}
    for one in quality.fields:
        apart = [facts for facts in told if one.field in facts.differs + facts.lacks]
        true = [facts for facts in apart if facts.true]
        found = [facts for facts in apart if facts.found]
        hits = [facts for facts in true if facts.found]
        assert one.differing == sum(one.field in facts.differs for facts in true)
        assert one.lacking == sum(one.field in facts.lacks for facts in true)
        assert one.differing_found == sum(one.field in facts.differs for facts in hits)
        assert one.lacking_found == sum(one.field in facts.lacks for facts in hits)
        assert one.recall == len(hits) / len(true)
        assert one.precision == (len(hits) / len(found) if found else 1)
        assert one.false_agreeing == len(known.false) - sum(not facts.true for facts in apart)
    assert quality.false == len(known.false)
    assert any(0 < one.recall < 1 for one in quality.fields)
    assert any(one.false_agreeing for one in quality.fields), "else the test says nothing of them"
    odd = {name: [len(p.differs) + len(p.lacks) for p in pairs] for name, pairs in quality.pairs.items()}
    assert odd["missed"] == sorted(odd["missed"])
    assert odd["false"] == sorted(odd["false"], reverse=True)
    assert len(odd["missed"]) == len(known.missed)


@pytest.mark.parametrize("protocol", ["laplace", "all-pairs", "psi"])
def test_every_missed_pair_has_one_reason(protocol: str) -> None:
    known = know(adjust(agree(PLAIN), protocol=protocol), people(200))
    missed = judge(known, 0).missed
    assert sum(asdict(missed).values()) == (
        known.true_pairs - len(set(known.true.tolist()) & set(known.found.tolist()))
    )
    told = known.describe(known.missed)
    assert missed.refused == sum(one.meets and not one.accepted for one in told) > 0
    assert missed.apart == sum(one.accepted and not one.meets for one in told)
    assert (missed.apart > 0) == (protocol == "laplace")
    assert (missed.passed_over > 0) == (protocol == "psi")


def test_pairs_of_a_score_lie_about_its_threshold() -> None:
    pairs = judge(know(agree(), people()), 4).pairs
    assert [len(found) for found in pairs.values()] == [4, 4]
    assert all(one.score is not None and one.score < 9 and not one.accepted for one in pairs["below"])
    assert all(one.score is not None and one.score >= 9 and one.accepted for one in pairs["above"])


def test_the_report_of_a_simulation_has_the_scores_of_its_pairs() -> None:
    made = people(200)
    done = run(agree(PLAIN), made)
    quality = done.quality(made.truth.select(["id_a", "id_b"]), pairs=1)
    ids = made.truth.select(["id_a", "id_b"])
    assert quality.scores == score(done.pairs, ids.cast(done.pairs.select(["id_a", "id_b"]).schema))
    assert [one.name for one in quality.passes] == ["birth", "names", "phone"]
    assert quality.curve is None
    assert {name: [p.found for p in some] for name, some in quality.pairs.items()} == {
        "missed": [False],
        "false": [True],
    }
    assert f"{quality.scores.truth_recall:.4f}" in repr(quality)
    assert "id_a" not in repr(quality)


# -- what a run compared -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [None, {}, {"prune": 40}])
def test_the_curve_at_the_agreed_threshold_is_what_the_run_found(options: dict[str, Any] | None) -> None:
    agreement = crowded() if options is None else adjust(agree(), **options)
    made = people(200)
    done = run(agreement, made)
    quality = done.quality(made.truth, 10_000)
    assert quality.curve is not None
    point, scores = quality.curve.at(quality.curve.agreed), quality.scores
    assert point.matches == done.matches
    assert (point.precision, point.recall) == (scores.truth_precision, scores.truth_recall)
    assert (quality.missed.not_compared > 0) == (options != {})
    assert quality.missed.passed_over == 0
    assert quality.passes[-1].recall_so_far < 1
    assert all(one.compared for pairs in quality.pairs.values() for one in pairs)
    left_out = [one for one in quality.missed_pairs if one.meets and one.accepted]
    assert not any(one.compared for one in left_out)


def test_pairs_and_membership_agree_and_keep_the_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of crowded keys the pairs that the rule accepts are estimated."""
    made = people(400)
    done = run(crowded(), made)
    pairs = [np.concatenate(rows) for rows in zip(*done.compared.pairs(), strict=True)]
    rows = [grid.ravel() for grid in np.indices((done.records_a, done.records_b))]
    has = done.compared.has(*rows)
    assert sorted(zip(*(some.tolist() for some in pairs), strict=True)) == [
        (a, b) for a, b in zip(rows[0][has].tolist(), rows[1][has].tolist(), strict=True)
    ]
    assert len(pairs[0]) <= done.comparisons
    assert max(np.bincount(pairs[0])) <= 3 + 1
    monkeypatch.setattr(pair, "_MOST_TRIED", 0)
    estimate = run(crowded(), made)
    assert (done.estimated, estimate.estimated) == (False, True)
    assert estimate.matches == done.matches
    assert estimate.all_matches == pytest.approx(done.all_matches, rel=0.3)
    assert 0 < estimate.recall <= 1
