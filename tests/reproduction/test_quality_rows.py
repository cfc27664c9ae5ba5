"""Lines are kept as they were measured, and verdicts follow from them; the docs show the committed ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.errors import OutputError, UnreadableError
from reproduction.quality_data import DATASETS, MADE_SETS
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

ROOT = Path(__file__).parents[2]


def line(system: str, f1: float, dataset: str = "people") -> Line:
    return Line(dataset, system, 0.9, 0.8, f1, 1.5, 1234)


def turns(system: str, *f1: float) -> list[Turn]:
    return [Turn("people", system, 0, number, 0.9, 0.8, one) for number, one in enumerate(f1)]


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "quality.csv"
    rows = Rows(path, Line)
    assert rows.all == []
    rows.put("people", "accord", [line("accord", 0.99)])
    rows.put("people", "splink", [line("splink", 0.98)])
    assert Rows(path, Line).all == [line("accord", 0.99), line("splink", 0.98)]
    again = Rows(path, Line)
    again.put("people", "accord", [line("accord", 0.97)])
    assert Rows(path, Line).of("people", "accord") == [line("accord", 0.97)]
    assert len(Rows(path, Line).all) == 2
    head = path.read_text(encoding="utf-8").splitlines()[0]
    assert head == "dataset,system,precision,recall,f1,seconds,bytes"


@pytest.mark.parametrize("damage", ["", "dataset,system\n", "\x00", "torn"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "quality.csv"
    Rows(path, Line).put("people", "accord", [line("accord", 0.99)])
    path.write_text(path.read_text(encoding="utf-8")[:-9] if damage == "torn" else damage, encoding="utf-8")
    with pytest.raises(UnreadableError, match=r"quality\.csv"):
        Rows(path, Line)


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError):
        Rows(tmp_path / "taken" / "quality.csv", Line).put("people", "accord", [line("accord", 0.99)])


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
    assert "**not reached**" in verdict_text(judge_lines(lines, close, ["people"]))
    assert judge_lines(lines[:3], close, ["people"]) == []


RESULTS = ROOT / "docs" / "results"
PEOPLE = [one.name for one in DATASETS if one.persons]


def committed() -> tuple[list[Line], list[Turn]]:
    return Rows(RESULTS / "quality.csv", Line).all, Rows(RESULTS / "quality-halves.csv", Turn).all


def test_the_page_has_the_committed_tables_and_their_verdicts() -> None:
    lines, halves = committed()
    page = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    assert overview_text(lines, PEOPLE, [one.name for one in DATASETS if one.seen]) in page
    assert generated_text(lines, [one.name for one in MADE_SETS]) in page
    assert table_text(lines, halves) in page
    assert verdict_text(judge_lines(lines, halves, PEOPLE)) in page
    assert {(one.dataset, one.system) for one in lines} == {
        (dataset.name, system) for dataset in (*DATASETS, *MADE_SETS) for system in dataset.systems
    }


def test_the_goal_on_people_is_kept() -> None:
    lines, halves = committed()
    verdicts = judge_lines(lines, halves, PEOPLE)
    assert [one.dataset for one in verdicts] == PEOPLE
    assert [one.dataset for one in verdicts if not one.reached] == []
    assert next(one.f1 for one in lines if (one.dataset, one.system) == ("febrl4", "tuned")) >= 0.995


def test_an_overview_says_what_is_missed() -> None:
    def row(drafted: float, learned: float, tuned: float, half: float) -> str:
        f1 = {"drafted": drafted, "learned": learned, "tuned": tuned, "splink-half": half, "splink": half}
        lines = [line(system, one) for system, one in f1.items()]
        return overview_text(lines, ["people"], ["people"]).splitlines()[-1]

    assert row(0.97, 0.97, 0.97, 0.98).endswith("| reached |")
    assert "0.0300 below Splink" in row(0.95, 0.97, 0.97, 0.98)
    assert "below 0.80" in row(0.79, 0.97, 0.97, 0.5)
    assert "learned 0.0200 below tuned" in row(0.97, 0.95, 0.97, 0.98)
    assert overview_text([line("tuned", 0.9)], ["people"], []).count("\n") == 1
