"""The report against sets of pairs and cells, counted slowly."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from accord.agreement.adjusting import adjust
from accord.errors import DataError, UsageError
from accord.simulation.report import judge
from accord.simulation.truth import score
from tests.simulation.made import agree, know, people, run

PLAIN = """
dice(given) >= 0.5 and dice(surname) >= 0.5 and (same(birth) or same(email)) or same(phone) and same(birth)
"""


def test_figures_by_field_are_those_of_the_pairs_that_are_apart_in_it() -> None:
    known = know(agree(PLAIN), people(200))
    quality = judge(known, 3)
    told = {
        pair: facts
        for keys in (known.true, known.false)
        for pair, facts in zip(keys.tolist(), known.describe(keys), strict=True)
    }
    assert [one.field for one in quality.fields] == ["given", "surname", "birth", "email", "phone"]
    for one in quality.fields:
        apart = [facts for facts in told.values() if one.field in facts.differs + facts.lacks]
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


@pytest.mark.parametrize("protocol", ["laplace", "all-pairs", "psi"])
def test_every_missed_pair_has_one_reason(protocol: str) -> None:
    agreement = adjust(agree(PLAIN), protocol=protocol)
    known = know(agreement, people(200), None)
    missed = judge(known, 0).missed
    assert sum(asdict(missed).values()) == (
        known.true_pairs - len(set(known.true.tolist()) & set(known.found.tolist()))
    )
    told = known.describe(known.missed)
    assert missed.refused == sum(pair.meets and not pair.accepted for pair in told) > 0
    assert missed.apart == sum(pair.accepted and not pair.meets for pair in told)
    assert (missed.apart > 0) == (protocol == "laplace")
    assert (missed.passed_over > 0) == (protocol == "psi")


def test_the_report_of_a_simulation_has_the_scores_of_its_pairs() -> None:
    made = people(200)
    done = run(agree(PLAIN), made)
    quality = done.quality(made.truth.select(["id_a", "id_b"]), pairs=1)
    ids = made.truth.select(["id_a", "id_b"])
    assert quality.scores == score(done.pairs, ids.cast(done.pairs.select(["id_a", "id_b"]).schema))
    assert [one.name for one in quality.passes] == ["birth", "names", "phone"]
    assert quality.curve is None
    assert {name: len(pairs) for name, pairs in quality.pairs.items()} == {"missed": 1, "false": 1}
    assert {pair.found for pair in quality.pairs["missed"]} == {False}
    assert {(pair.found, pair.true) for pair in quality.pairs["false"]} == {(True, False)}


def test_the_oddest_pairs_come_first() -> None:
    known = know(agree(PLAIN), people(200))
    pairs = judge(known, 10_000).pairs
    apart = {name: [len(p.differs) + len(p.lacks) for p in found] for name, found in pairs.items()}
    assert apart["missed"] == sorted(apart["missed"])
    assert apart["false"] == sorted(apart["false"], reverse=True)
    assert len(apart["missed"]) == len(known.missed)


def test_pairs_of_a_score_lie_about_its_threshold() -> None:
    pairs = judge(know(agree(), people()), 4).pairs
    assert [len(found) for found in pairs.values()] == [4, 4]
    assert all(pair.score is not None and pair.score < 9 and not pair.accepted for pair in pairs["below"])
    assert all(pair.score is not None and pair.score >= 9 and pair.accepted for pair in pairs["above"])


def test_what_is_no_truth_is_refused() -> None:
    done = run(agree(), people(20))
    with pytest.raises(DataError, match="None of the expected columns was found"):
        done.quality(people(20).a)
    with pytest.raises(UsageError, match="`pairs=` is a whole number of at least 0"):
        done.quality(people(20).truth, pairs=-1)
    with pytest.raises(UsageError, match="`truth=` is a table"):
        done.quality(3)  # type: ignore[arg-type]


def test_a_notebook_shows_the_figures_and_no_value_of_a_record() -> None:
    quality = judge(know(agree(PLAIN), people(200)), 3)
    shown, line = quality._repr_html_(), repr(quality)
    assert f"{quality.scores.truth_recall:.4f}" in shown
    assert f"{quality.scores.truth_recall:.4f}" in line
    assert all(f"<th>{one.field}</th><td>{one.differing}</td>" in shown for one in quality.fields)
    assert "id_a" not in line
    assert "\n" not in line
    missed = quality.missed
    lost = sum(asdict(missed).values())
    assert f"; {lost} missed, {quality.false} false>" in line
    assert lost == round((1 - quality.scores.truth_recall) * quality.scores.true_pairs) > 0
