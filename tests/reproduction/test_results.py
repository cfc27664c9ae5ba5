"""From results to the page: nothing finished is lost or run twice, the page follows the rows, exit codes."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from reproduction import catalogue, quality_rows, report, seeds
from reproduction.__main__ import main
from reproduction.catalogue import EXHIBITS, EXPERIMENTS
from reproduction.claims import Claim, ClaimError, Part, Range
from reproduction.claims_paper import CLAIMS
from reproduction.drawing import save
from reproduction.halves import Half, Judged, Truth, average, judge, judge_scores
from reproduction.lab import FULL, QUICK, Lab
from reproduction.quality_data import DATASETS, MADE_SETS, _write, read_tables
from reproduction.quality_rows import SYSTEMS, Line, Rows, Turn, Verdict, judge_lines
from reproduction.report import available, draw_all, page
from reproduction.seeds import EVIDENCE, FOLDER, gather, needed, sizes
from reproduction.seeds import found as found_seeds
from reproduction.sweep import carry_out, stored
from tests.reproduction.worlds import ROOT, TINY, Squares, lab, quiet


def squares(folder: Path, seed: int = 0, version: int = 1) -> list[int]:
    """Those that are there."""
    rows = stored(Squares().experiment(version), lab(seed), folder)
    return [int(row["square"]) for row in rows]


def asked(folder: Path, seed: int = 0, version: int = 1) -> list[int]:
    """What is run of an experiment that is asked for."""
    again = Squares()
    rows = carry_out(again.experiment(version), lab(seed), folder, quiet)
    assert [row["square"] for row in rows] == [x**2 + seed for x in range(4)]
    return again.asked


def test_another_seed_or_version_is_another_row_and_an_older_version_is_dropped(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    carry_out(Squares().experiment(), lab(), tmp_path, lambda *done: told.append(done))
    assert told == [(done, 4) for done in range(5)]
    assert asked(tmp_path) == []
    assert asked(tmp_path, seed=7) == [0, 1, 2, 3]
    assert squares(tmp_path) == [0, 1, 4, 9]
    assert asked(tmp_path, version=2) == [0, 1, 2, 3]
    assert squares(tmp_path) == []


@pytest.mark.parametrize("cut", [1, 2, 11, 12, 13, 25, 39])
def test_whatever_a_torn_end_took_is_run_again_and_kept(tmp_path: Path, cut: int) -> None:
    """The last row, and more; a kill during the rewrite of what is left loses no row."""
    asked(tmp_path)
    path = tmp_path / "squares.csv"
    path.write_text(path.read_text()[:-cut])
    left = path.read_text().count("\n") - 1

    def killed(self: csv.DictWriter[str], rows: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv.DictWriter, "writerows", killed)
        with pytest.raises(KeyboardInterrupt):
            carry_out(Squares().experiment(), lab(), tmp_path, quiet)
    assert squares(tmp_path) == [0, 1, 4, 9][:left]
    assert asked(tmp_path) == [0, 1, 2, 3][left:]
    assert squares(tmp_path) == [0, 1, 4, 9]
    assert [each.name for each in tmp_path.iterdir()] == ["squares.csv"]


def test_seeds_have_each_point_that_a_claim_reads_once() -> None:
    """Of the paper's noise, run once; three have the largest days of Taxi."""
    assert [size.taxi_days for size in sizes(FULL)] == [(1, 16)] * 3 + [(1,)] * 7
    assert [size.taxi_days for size in sizes(QUICK)] == [QUICK.taxi_days] * 3
    for size in (*sizes(FULL), *sizes(QUICK)):
        assert size.ab_days in (FULL.ab_days, QUICK.ab_days)
        for experiment in EVIDENCE:
            points = needed(experiment, size)
            keys = {tuple(point[name] for name in experiment.parameters) for point in points}
            assert len(keys) == len(points) > 0
            assert all(point.get("noise", "none") in ("paper-2017", "none") for point in points)
            assert experiment.name == "spread" or all(point.get("runs", 1) == 1 for point in points)


def test_seeds_that_are_finished_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(first: int, breaks_at: int | None = None) -> tuple[list[int], list[int]]:
        made = Squares(breaks_at)
        monkeypatch.setattr(seeds, "EVIDENCE", (made.experiment(),))
        rows = gather(TINY, None, first, tmp_path, lambda name: nullcontext(quiet))
        assert rows == found_seeds(TINY, first, tmp_path)
        return made.asked, [int(row["square"]) for seed in rows for row in seed["squares"]]

    with pytest.raises(KeyboardInterrupt):
        run(5, breaks_at=2)
    assert run(5) == ([2, 3, *range(4), *range(4)], [x**2 + seed for seed in (5, 6, 7) for x in range(4)])
    # The next first seed shares all but one.
    assert run(6)[0] == [*range(4)]


DOCS = ROOT / "docs"
WHOLE = Lab(FULL, None, 0)


def test_the_page_of_the_project_is_that_of_its_results() -> None:
    """Made from the files alone: neither the day nor the machine nor the data at hand changes it."""
    text, rows = page(WHOLE, DOCS / "results"), available(WHOLE, DOCS / "results")
    assert text == (DOCS / "evaluation.md").read_text(encoding="utf-8")
    assert set(rows) == set(EXPERIMENTS)
    for exhibit in EXHIBITS:
        assert f"(figures/{exhibit.name}.png)" in text
        assert all(part in text for part in exhibit.parts(rows[exhibit.experiment]))


@pytest.mark.parametrize("part", [0.02, pytest.param(0.5, marks=pytest.mark.slow)])
def test_a_part_of_the_rows_is_reported_as_far_as_it_goes(tmp_path: Path, part: float) -> None:
    (tmp_path / FOLDER).mkdir()
    files = [DOCS / "results" / f"{name}.csv" for name in EXPERIMENTS]
    for path in (*files, *(DOCS / "results" / FOLDER).iterdir()):
        lines = path.read_text().splitlines(keepends=True)
        kept = "".join(lines[: 2 + int(part * (len(lines) - 2))])
        (tmp_path / path.relative_to(DOCS / "results")).write_text(kept)
    text = page(WHOLE, tmp_path)
    rows = available(WHOLE, tmp_path)
    drawn = draw_all(rows, tmp_path / "figures", FULL)
    shown = {path.stem for path in drawn}
    assert {e.name for e in EXHIBITS if f"figures/{e.name}.png" in text} == shown
    first = next(exhibit for exhibit in EXHIBITS if exhibit.name == drawn[0].stem)
    again = save(partial(first.draw, rows[first.experiment]), tmp_path / "again", first.name)
    assert again.read_bytes() == drawn[0].read_bytes()


# -- the command -------------------------------------------------------------------------------------------

Command = Callable[..., int]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    def call(*words: str) -> int:
        out = ("--out", str(tmp_path), "--data", str(tmp_path)) if "--out" not in words else ()
        monkeypatch.setattr(sys, "argv", ["reproduction", *words, *(out if len(words) > 1 else ())])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    return call


def test_what_cannot_be_done_is_an_exit_code(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("tradeof") == 2
    assert "'tradeoff'" in capsys.readouterr().err
    assert command() == 2
    assert command("noise", "--out", str(tmp_path / "out"), "--data", str(tmp_path / "no")) == 2
    assert not (tmp_path / "out").exists()
    assert command("report", "--out", str(tmp_path / "out")) == 2
    (tmp_path / "taken").write_text("")
    assert command("noise", "--quick", "--out", str(tmp_path / "taken"), "--data", str(tmp_path)) == 5


def test_ctrl_c_ends_with_its_code_and_the_same_command_goes_on(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And the machine is written down only if something ran."""
    machine = tmp_path / "results" / "machine.json"
    for breaks_at, code, asked in ((2, 130, [0, 1]), (None, 0, [2, 3]), (None, 0, [])):
        made = Squares(breaks_at)
        experiment = made.experiment()
        monkeypatch.setattr(catalogue, "EXPERIMENTS", {"squares": experiment})
        monkeypatch.setattr(catalogue, "TITLES", {experiment: "x²"})
        assert command("squares", "--quick") == code
        assert made.asked == asked
        assert ("long ago" in machine.read_text()) is (asked == [])
        machine.write_text('{"date": "long ago"}')
    assert squares(tmp_path / "results") == [0, 1, 4, 9]


def test_a_claim_that_fails_or_lacks_rows_ends_with_its_exit_code(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds, "EVIDENCE", ())
    for value, explanation, code in ((2, "", ClaimError.exit_code), (2, "known", 0), (1, "", 0)):
        part = Part("so", Range(1, 1), lambda e, value=value: value)  # type: ignore[misc]
        claim = Claim(5, "so", (part,), lambda means, text=explanation: text, about=())  # type: ignore[misc]
        monkeypatch.setattr(report, "CLAIMS", (claim,))
        assert command("claims", "--quick") == code
    monkeypatch.setattr(report, "CLAIMS", CLAIMS)
    assert command("claims", "--quick") == ClaimError.exit_code


# -- halves ------------------------------------------------------------------------------------------------


def truth_of(folder: Path, pairs: list[tuple[int, int]]) -> Truth:
    """Of 40 records on each side."""
    rows = [[{"id": f"{side}{n}"} for n in range(40)] for side in "ab"]
    _write(folder, rows[0], rows[1], [(f"a{i}", f"b{j}") for i, j in pairs])
    return Truth(read_tables(folder))


def test_people_stay_together_in_the_halves_of_a_seed(tmp_path: Path) -> None:
    """a0, b0, a1, b1 and a2 are one person."""
    chain = [(0, 0), (1, 0), (1, 1), (2, 1), (5, 9), (6, 8)]
    truth, seen = truth_of(tmp_path, chain), set()
    for seed, turn in ((seed, turn) for seed in range(3) for turn in range(5)):
        half = truth.halve(seed, turn)
        assert np.array_equal(half.a[truth.left], half.b[truth.right])
        assert truth.count(half) + truth.count(half.other) == len(chain)
        assert 30 <= half.a.sum() + half.b.sum() <= 50
        assert np.array_equal(half.a, truth.halve(seed, turn).a)
        seen.add((*half.a.tolist(), *half.b.tolist()))
    assert len(seen) == 15


def test_what_is_judged_does_not_move_the_threshold(tmp_path: Path) -> None:
    truth, every = truth_of(tmp_path, [(n, n) for n in range(40)]), np.arange(40)
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
    assert [mean.f1, error] == pytest.approx([0.7, 0.1])


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
    assert verdict.allowed == pytest.approx(0.02)
    assert verdict.reached
    assert judge_lines(lines[:3], close, ["people"]) == []


def test_the_page_has_the_committed_tables_and_the_goal_on_people_is_kept() -> None:
    results, people = ROOT / "docs" / "results", [each.name for each in DATASETS if each.persons]
    lines, halves = Rows(results / "quality.csv", Line).all, Rows(results / "quality-halves.csv", Turn).all
    verdicts = judge_lines(lines, halves, people)
    text = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    assert quality_rows.overview_text(lines, people, [each.name for each in DATASETS if each.seen]) in text
    assert quality_rows.generated_text(lines, [each.name for each in MADE_SETS]) in text
    assert quality_rows.table_text(lines, halves) in text
    assert quality_rows.verdict_text(verdicts) in text
    known = {(dataset.name, system) for dataset in (*DATASETS, *MADE_SETS) for system in dataset.systems}
    assert {(each.dataset, each.system) for each in lines} == known
    assert [(each.dataset, each.reached) for each in verdicts] == [(name, True) for name in people]
    assert next(each.f1 for each in lines if (each.dataset, each.system) == ("febrl4", "tuned")) >= 0.995
