"""`accord simulate --truth`: figures for people, facts for programs, values for eyes alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accord.cli.simulate_quality import facts_of, summary, words
from accord.cli.terminal import wrap
from accord.simulation.report import judge
from accord.table.sinks.files import write_table
from tests.cli.screen import COLOURS, Typed
from tests.cli.terminal import accord
from tests.simulation.made import agree, know, people

TYPED = ("simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--truth", "truth.csv", "--seed", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People with many errors, and a score."""
    here = tmp_path_factory.mktemp("people")
    made = people()
    for name, table in (("a", made.a), ("b", made.b), ("truth", made.truth)):
        write_table(table, here / f"{name}.csv", raw=True)
    (here / "agreement.toml").write_text(agree().to_toml())
    return here


def cells(folder: Path) -> set[str]:
    """What both tables hold in columns that could not stand in a report by chance."""
    rows = [
        line.split(",") for name in "ab" for line in (folder / f"{name}.csv").read_text().splitlines()[1:]
    ]
    return {cell.strip('"') for row in rows for cell in row[1:] if len(cell) > 7}


def held(text: str, folder: Path) -> set[str]:
    return {cell for cell in cells(folder) if cell in text}


def test_the_facts_hold_all_but_values(folder: Path) -> None:
    done = accord(folder, *TYPED, "--json", "--pairs", "40")
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    assert facts["truth_f1"] > 0.5
    assert facts["matches"] - facts["false_pairs"] == facts["true_pairs"] - sum(facts["missed"].values())
    assert [one["field"] for one in facts["by_field"]] == ["given", "surname", "birth", "email"]
    assert facts["curve"]["agreed"] == 9
    agreed = next(point for point in facts["curve"]["points"] if point["threshold"] == 9)
    assert (agreed["recall"], agreed["f1"]) == (facts["truth_recall"], facts["truth_f1"])
    assert [len(facts["pairs"][name]) for name in ("below", "above")] == [40, 40]
    assert len(cells(folder)) > 200
    assert held((folder / "a.csv").read_text(), folder), "the search finds what is there"
    assert not held(done.stdout, folder)


def test_text_that_goes_into_a_pipe_has_no_values(folder: Path) -> None:
    done = accord(folder, *TYPED, "--pairs", "2")
    assert done.returncode == 0, done.stderr
    assert "By field, the true pairs that differ" in done.stdout
    assert "By threshold, among the pairs that were compared; F1 is best" in done.stdout
    assert done.stdout.count(": score ") == 4
    assert not held(done.stdout, folder)
    none = accord(folder, *TYPED, "--pairs", "0")
    assert "Just below" not in none.stdout
    assert ": score " not in none.stdout


@pytest.mark.slow
def test_who_sits_at_a_terminal_sees_both_records(folder: Path) -> None:
    typed = Typed(folder, 160, COLOURS["colour"], *TYPED, "--pairs", "2")
    assert typed.finish() == 0
    text = "\n".join(typed.screen.lines)
    assert "Just below the threshold:" in text
    assert len(held(text, folder)) >= 8


def test_the_words_say_why_pairs_were_missed_and_fit_a_terminal() -> None:
    quality = judge(know(agree("dice(given) >= 0.5 and same(birth)"), people(200)), 3)
    lines = summary(facts_of(quality))
    missed = quality.missed
    assert f"the rule refuses {missed.refused}" in lines[1]
    assert f"F1 {quality.scores.truth_f1:.4f} (120 true pairs)" in lines[0]
    assert len(lines) == 2, "no record is unknown"
    text = words(quality, ["given"], {"A": {quality.pairs["missed"][0].id_a: ["Zoë\x1b"]}}, 80)
    assert "True pairs that were missed" in text
    assert "Zoë\N{REPLACEMENT CHARACTER}" in text
    assert max(map(len, wrap(text, 80).splitlines())) <= 80
