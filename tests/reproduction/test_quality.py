"""Quality beside peers: every system is asked the same question, and the docs show what was measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from accord.rules.rule import Score
from reproduction import quality_data
from reproduction.halves import Half, Judged, Truth, average, judge, judge_scores
from reproduction.quality import agreement
from reproduction.quality_data import (
    DATASETS,
    MADE_SETS,
    _write,
    read_tables,
)
from reproduction.quality_rows import (
    SYSTEMS,
    Line,
    Rows,
    Turn,
    Verdict,
    generated_text,
    judge_lines,
    overview_text,
    table_text,
    verdict_text,
)
from tests.reproduction.worlds import ROOT

# -- the data ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda each: each.name)
def test_every_set_has_an_agreement_that_reads_its_columns(dataset: quality_data.Dataset) -> None:
    agreed = agreement(dataset)
    assert isinstance(agreed.rule, Score)
    assert set(agreed.names) | {name for block in dataset.blocks for name in block} <= set(dataset.kinds)
    assert (agreed.protocol.name == "all-pairs") == dataset.all_pairs


# -- halves ------------------------------------------------------------------------------------------------


def test_people_stay_together_in_the_halves_of_a_seed(tmp_path: Path) -> None:
    """a0, b0, a1, b1 and a2 are one person."""
    chain = [(0, 0), (1, 0), (1, 1), (2, 1), (5, 9), (6, 8)]
    rows = [[{"id": f"{side}{n}"} for n in range(40)] for side in "ab"]
    _write(tmp_path, rows[0], rows[1], [(f"a{i}", f"b{j}") for i, j in chain])
    truth, seen = Truth(read_tables(tmp_path)), set()
    for seed, turn in ((seed, turn) for seed in range(3) for turn in range(5)):
        half = truth.halve(seed, turn)
        assert np.array_equal(half.a[truth.left], half.b[truth.right])
        assert truth.count(half) + truth.count(half.other) == len(chain)
        assert 30 <= half.a.sum() + half.b.sum() <= 50
        assert np.array_equal(half.a, truth.halve(seed, turn).a)
        seen.add((*half.a.tolist(), *half.b.tolist()))
    assert len(seen) == 15


def test_what_is_judged_does_not_move_the_threshold(tmp_path: Path) -> None:
    rows = [[{"id": f"{side}{n}"} for n in range(40)] for side in "ab"]
    _write(tmp_path, rows[0], rows[1], [(f"a{n}", f"b{n}") for n in range(40)])
    truth, every = Truth(read_tables(tmp_path)), np.arange(40)
    half = Half(every < 20, every < 20)
    left, right = np.concatenate([every, every]), np.concatenate([every, (every + 1) % 40])
    true = left == right
    scores = np.where(true, 10.0, 0.0)
    assert judge_scores(truth, half, left, right, scores) == Judged(1.0, 1.0, 1.0)
    # On the half that is judged all scores are lower: learnt from it, the threshold would be, too.
    scores[(left >= 20) & true] = 4.0
    assert judge_scores(truth, half, left, right, scores).recall == 0
    # A pair without a score is not found.
    found = judge_scores(truth, half, every[::2], every[::2], np.ones(20))
    assert (found.precision, found.recall) == (1, 0.5)


def test_shares_means_and_errors() -> None:
    assert judge(4, 3, 6) == Judged(0.75, 0.5, 0.6)
    assert [judge(0, 0, true).recall for true in (5, 0)] == [0, 1]
    mean, error = average([Judged(1.0, 0.5, 0.6), Judged(0.5, 0.5, 0.8)])
    assert (mean.precision, mean.recall) == (0.75, 0.5)
    assert (mean.f1, error) == (pytest.approx(0.7), pytest.approx(0.1))


# -- systems -----------------------------------------------------------------------------------------------


# -- lines -------------------------------------------------------------------------------------------------


def line(system: str, f1: float) -> Line:
    return Line("people", system, 0.9, 0.8, f1, 1.5, 1234)


def turns(system: str, *f1: float) -> list[Turn]:
    return [Turn("people", system, 0, number, 0.9, 0.8, each) for number, each in enumerate(f1)]


def test_close_is_within_the_bound_or_two_errors_of_the_difference() -> None:
    others = [line(system, 0.8) for system in SYSTEMS if system not in ("tuned", "splink")]
    lines = [line("tuned", 0.980), line("splink", 0.986), *others]
    # Apart by 0.005, 0.007: a standard error of 0.001, and the bound is the larger.
    close = [*turns("tuned", 0.981, 0.979), *turns("splink", 0.986, 0.986)]
    assert judge_lines(lines, close, ["people"]) == [Verdict("people", "splink", 0.006, 0.005)]
    assert not judge_lines(lines, close, ["people"])[0].reached
    wide = [*turns("tuned", 0.99, 0.97), *turns("splink", 0.986, 0.986)]
    (verdict,) = judge_lines(lines, wide, ["people"])
    assert (verdict.allowed, verdict.reached) == (pytest.approx(0.02), True)
    assert judge_lines(lines[:3], close, ["people"]) == []


def test_the_page_has_the_committed_tables_and_the_goal_on_people_is_kept() -> None:
    results, people = ROOT / "docs" / "results", [each.name for each in DATASETS if each.persons]
    lines, halves = Rows(results / "quality.csv", Line).all, Rows(results / "quality-halves.csv", Turn).all
    verdicts = judge_lines(lines, halves, people)
    text = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    assert overview_text(lines, people, [each.name for each in DATASETS if each.seen]) in text
    assert generated_text(lines, [each.name for each in MADE_SETS]) in text
    assert table_text(lines, halves) in text
    assert verdict_text(verdicts) in text
    known = {(dataset.name, system) for dataset in (*DATASETS, *MADE_SETS) for system in dataset.systems}
    assert {(each.dataset, each.system) for each in lines} == known
    assert [(each.dataset, each.reached) for each in verdicts] == [(name, True) for name in people]
    assert next(each.f1 for each in lines if (each.dataset, each.system) == ("febrl4", "tuned")) >= 0.995
