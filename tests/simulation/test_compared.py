"""What a run compared, by its caps and its pruned bins: all that the report on it judges."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.simulation import pair
from tests.simulation.made import SCORE, agree, people, run

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
    from accord.datasets.starter import starter_text

    text = re.sub(
        r'rule = """.*?"""', lambda _: f'rule = """{SCORE}"""', starter_text("people", "00000000"), flags=re.S
    )
    return parse_agreement(re.sub(r"\[\[blocking.pass\]\].*?\[disclose\]", PASSES, text, flags=re.S))


@pytest.mark.parametrize("options", [None, {}, {"prune": 40}])
def test_the_curve_at_the_agreed_threshold_is_what_the_run_found(options: dict[str, Any] | None) -> None:
    agreement = crowded() if options is None else adjust(agree(), **options)
    made = people(200)
    done = run(agreement, made)
    quality = done.quality(made.truth, 10_000)
    assert quality.curve is not None
    point = quality.curve.at(quality.curve.agreed)
    scores = quality.scores
    assert point.matches == done.matches
    assert (point.precision, point.recall) == (scores.truth_precision, scores.truth_recall)
    assert (quality.missed.not_compared > 0) == (options != {})
    assert quality.missed.passed_over == 0
    assert quality.passes[-1].recall_so_far < 1
    shown = [one for pairs in quality.pairs.values() for one in pairs]
    assert all(one.compared for one in shown)
    assert {one.why for one in quality.missed_pairs if one.meets and one.accepted} <= {
        "a full key or a pruned bin left it out"
    }


def test_pairs_and_membership_agree_and_keep_the_caps() -> None:
    done = run(crowded(), people(200))
    pairs = [np.concatenate(rows) for rows in zip(*done.compared.pairs(), strict=True)]
    rows = [grid.ravel() for grid in np.indices((done.records_a, done.records_b))]
    has = done.compared.has(*rows)
    assert sorted(zip(*(some.tolist() for some in pairs), strict=True)) == [
        (a, b) for a, b in zip(rows[0][has].tolist(), rows[1][has].tolist(), strict=True)
    ]
    assert len(pairs[0]) <= done.comparisons
    assert max(np.bincount(pairs[0])) <= 3 + 1


def test_of_crowded_keys_what_the_rule_accepts_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    made = people(400)
    exact = run(crowded(), made)
    monkeypatch.setattr(pair, "_MOST_TRIED", 0)
    monkeypatch.setattr(pair, "_TIMES", 4)
    estimate = run(crowded(), made)
    assert (exact.estimated, estimate.estimated) == (False, True)
    assert estimate.matches == exact.matches
    assert estimate.all_matches == pytest.approx(exact.all_matches, rel=0.3)
    assert 0 < estimate.recall <= 1
