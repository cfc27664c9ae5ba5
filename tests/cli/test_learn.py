"""`accord learn` as people type it: what it prints, what it writes, and what it says when it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest

from accord.agreement.file import read_agreement
from accord.datasets.people import generate_people
from accord.learning import evidence
from tests.cli.terminal import accord
from tests.learning.worlds import DRAFT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A draft, two tables and their labels."""
    monkeypatch.setattr(evidence, "_MADE_UP", 300)
    (tmp_path / "draft.toml").write_text(DRAFT)
    made = generate_people(200, None, 4)
    for name, table in (("a", made.a), ("b", made.b), ("labels", made.truth.select(["id_a", "id_b"]))):
        pyarrow.csv.write_csv(table, tmp_path / f"{name}.csv")
    return tmp_path


def test_from_nobody_it_prints_and_writes(folder: Path) -> None:
    done = accord(folder, "learn", "draft.toml", "--out", "agreement.toml")
    assert done.returncode == 0, done.stderr
    for part in ("for you alone", "dice(given) >= 1", "threshold", "←", "Expected precision 0.9", "score(\n"):
        assert part in done.stdout
    assert "Wrote agreement.toml. Check it with: `accord check agreement.toml`." in done.stderr
    assert "made-up records, which belong to nobody" in done.stderr
    agreed = read_agreement(folder / "agreement.toml")
    assert agreed.learnt_from == "nobody"
    assert accord(folder, "check", "agreement.toml").returncode == 0


def test_a_table_says_whose_it_is_and_check_says_what_it_tells(folder: Path) -> None:
    refused = accord(folder, "learn", "draft.toml", "a.csv", "--other", "b.csv")
    assert refused.returncode == 2
    assert "Say whose data it is, with --learnt-from: public, A (north-register)" in refused.stderr
    two = ("learn", "draft.toml", "a.csv", "--other", "b.csv", "--learnt-from", "A")
    learnt = accord(folder, *two, "--out", "x.toml")
    assert learnt.returncode == 0, learnt.stderr
    assert "learn again with --linked-table" in learnt.stderr
    shown = accord(folder, "check", "x.toml")
    assert "another table of north-register, from which its weights" in shown.stdout
    typed = (*two, "--linked-table", "--out", "x.toml")
    assert accord(folder, *typed).returncode == 5, "a file that is there stays"
    assert accord(folder, *typed, "--force").returncode == 0
    audited = accord(folder, "audit", "agreement", "x.toml")
    assert "this table of north-register, from which its weights" in audited.stdout


def test_from_labels_as_json(folder: Path) -> None:
    done = accord(
        folder, "learn", "draft.toml", "a.csv", "--other", "b.csv", "--labels", "labels.csv",
        "--learnt-from", "public", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["learnt_from"] == "public"
    assert facts["expected"] in facts["curve"]
    low, high = facts["expected"]["interval"]
    assert low < facts["expected"]["f1"] < high
    assert 0 < facts["met"] <= facts["matches"] == 100
    assert {"level", "weight", "of_matches", "of_others"} == set(facts["levels"][0][0])
    assert "Write it with --out" in done.stderr


def test_labels_say_how_many_meet_and_none_are_needed(folder: Path) -> None:
    two = ("learn", "draft.toml", "a.csv", "--other", "b.csv", "--learnt-from")
    done = accord(folder, *two, "public", "--labels", "labels.csv")
    assert done.returncode == 0, done.stderr
    assert "Learned from 100 known matches: " in done.stdout
    assert "with so many matches, 95 % between 0." in done.stdout
    guessed = accord(folder, *two, "both", "--out", "x.toml")
    assert guessed.returncode == 0, guessed.stderr
    assert "Without labels: about " in guessed.stdout
    assert "95 %" not in guessed.stdout
    assert "learn again with --linked-table" in guessed.stderr
    shown = accord(folder, "check", "x.toml").stdout
    for party in ("north-register", "south-register"):
        assert f"another table of {party}, from which its weights" in shown


@pytest.mark.parametrize(
    ("typed", "code", "problem"),
    [
        (("none.toml",), 4, "none.toml cannot be read"),
        (("draft.toml", "none.csv", "--other", "b.csv", "--learnt-from", "A"), 4, "none.csv cannot be read"),
        (("draft.toml", "a.csv", "--learnt-from", "A", "--labels", "labels.csv"), 2, "--other"),
        (("draft.toml", "--out", "draft.toml", "--force"), 5, "which is read"),
        (("draft.toml", "--compare", "gven"), 2, "Did you mean 'given'?"),
        (("draft.toml", "--compare", "shoes"), 2, "'shoes' is not a field of the draft"),
        (("draft.toml", "--compare", "postcode", "--precision", "0.99"), 2, "Ask for less with --precision"),
    ],
)
def test_what_cannot_be_done_is_said(folder: Path, typed: tuple[str, ...], code: int, problem: str) -> None:
    done = accord(folder, "learn", *typed)
    assert done.returncode == code, done.stderr
    assert problem in done.stderr
    assert not (folder / "agreement.toml").exists()
