"""What comes out other than pairs for both, in every command before a run: counts, tables, sums, one side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accord.privacy.events import UNLESS
from tests.cli.terminal import accord
from tests.cli.test_routed import AGREEMENT

NOBODY = "[disclose]\nA = []\nB = []\n"
OUTPUTS = {
    "count": '[output]\nanswer = "count"\nepsilon = 1\n',
    "exact": '[output]\nanswer = "count"\nexact = true\n',
    "table": '[output]\nanswer = "table"\nepsilon = 1\n'
    '[output.by.A]\ncolumn = "sex"\nvalues = ["F", "M"]\n'
    '[output.by.B]\ncolumn = "city"\nvalues = ["Coldale"]\n',
    "sum": '[output]\nanswer = "sum"\nepsilon = 4\n'
    '[output.of]\nside = "B"\ncolumn = "postcode"\nlow = 0\nhigh = 100000\n',
    "one": '[output]\nto = "A"\n',
    "names": '[output]\nids = "pseudonyms"\n',
}
ANSWERS = ("count", "exact", "table", "sum")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("people")
    made = ("generate", "people", "--records", "60", "--seed", "1", "--overlap", "0.6")
    assert accord(here, *made).returncode == 0
    (here / "pairs.toml").write_text(AGREEMENT)
    for name, output in OUTPUTS.items():
        (here / f"{name}.toml").write_text(AGREEMENT.replace(NOBODY, output))
    return here


def printed(folder: Path, *typed: str) -> str:
    done = accord(folder, *typed)
    assert done.returncode == 0, done.stderr
    return done.stdout


def simulated(folder: Path, name: str, *typed: str) -> dict[str, Any]:
    tables = ("simulate", "a.csv", "b.csv", "--agreement", f"{name}.toml", "--seed", "1", "--json")
    return dict(json.loads(printed(folder, *tables, *typed)))


@pytest.mark.parametrize("name", OUTPUTS)
def test_check_and_plan_speak_of_every_output(folder: Path, name: str) -> None:
    checked = json.loads(printed(folder, "check", f"{name}.toml", "a.csv", "--party", "A", "--json"))
    assert (checked["answer"] is None) == (name not in ANSWERS)
    planned = json.loads(printed(folder, "plan", f"{name}.toml", "--records", "60", "60", "--json"))
    if name in (*ANSWERS, "one"):
        exactly = {"all-pairs"} if name == "exact" else set()
        assert {one["protocol"] for one in planned["options"]} == {"routed", *exactly}
    if name in ANSWERS:
        agreed = next(one for one in planned["options"] if one["agreed"])
        assert agreed["within"] == checked["answer"]["within"]
        assert any(agreed["within"]) == (name != "exact")


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_promise_comes_with_its_condition(folder: Path, name: str) -> None:
    """Each number with the same condition before a run, wherever it is read; an exact answer has none."""
    checked = json.loads(printed(folder, "check", f"{name}.toml", "--json"))["promise"]
    planned = json.loads(printed(folder, "plan", f"{name}.toml", "--records", "60", "60", "--json"))
    (agreed,) = (one for one in planned["options"] if one["agreed"])
    audited = json.loads(printed(folder, "audit", "agreement", f"{name}.toml", "--json"))["sides"]
    seen = simulated(folder, name)
    held = {"one": "B", "pairs": "AB", "names": "AB"}.get(name, "")
    for side in "AB":
        epsilon, unless = checked[side]["epsilon"], checked[side]["unless"]
        assert epsilon == {"count": 1, "table": 1, "sum": 4, "exact": None}.get(name, 0)
        assert unless == UNLESS["leave-out" if side in held else ""]
        for found in (agreed, seen):
            assert (found["epsilon"][side], found["unless"][side]) == (epsilon, unless)
        assert (audited[side]["epsilon"], audited[side]["unless"]) == (epsilon, unless)
        assert (audited[side]["again"] is None) == (name == "exact")
    assert (UNLESS["leave-out"] in printed(folder, "plan", f"{name}.toml", "--records", "60", "60")) == bool(
        held
    )


def test_how_near_the_answer_comes_is_said(folder: Path) -> None:
    told = printed(folder, "check", "count.toml")
    assert "how many pairs match; right within ± " in told
    assert "each run spends ε = 1 for each record" in told
    assert "Its answer: right within ± " in printed(folder, "plan", "count.toml", "--records", "60", "60")
    assert "sex of A and city of B; each cell right within ± " in printed(folder, "check", "table.toml")
    told = printed(folder, "check", "sum.toml")
    assert (
        "the sum of postcode of B, from 0 to 100,000, over all matching pairs; the sum right within" in told
    )
    assert "exact, of the pairs that meet" in printed(folder, "check", "exact.toml")


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_simulation_shows_what_a_run_hides(folder: Path, name: str) -> None:
    pairs, found = simulated(folder, "pairs"), simulated(folder, name)
    assert found["matches"] == pairs["matches"] > 10
    # The one that learns the pairs asks, whatever it costs.
    assert (found["comparisons"] == pairs["comparisons"]) == (name != "one")
    assert (found["answer"] is None) == (name not in ANSWERS)
    if name in ("count", "exact", "table"):
        assert sum(cell["exact"] for cell in found["answer"]) == pairs["matches"]
    if name == "exact":
        assert found["answer"][0]["value"] == pairs["matches"]
    if name == "sum":
        total, count = (cell["exact"] for cell in found["answer"])
        assert count <= pairs["matches"]
        assert count < total <= 100_000 * count


def test_any_routed_agreement_can_be_asked_for_a_count(folder: Path) -> None:
    asked = simulated(folder, "pairs", "--set", "answer=count", "--runs", "3")
    assert asked["answer"][0]["within"] == simulated(folder, "count")["answer"][0]["within"]
    assert asked["epsilon"] == {"A": 1.0, "B": 1.0}
    noisy = {tuple(run["answer"]) for run in asked["runs"]}
    assert len(noisy) > 1
    wide = simulated(folder, "table", "--set", "answer_epsilon=0.1")["answer"]
    assert wide[0]["within"] > 5 * simulated(folder, "table")["answer"][0]["within"]
    assert simulated(folder, "count", "--set", "answer=pairs")["answer"] is None


def test_people_have_wider_noise_and_are_spoken_of(folder: Path) -> None:
    one, several = (simulated(folder, "count", "--set", f"records_per_person={count}") for count in (1, 3))
    width = one["answer"][0]["within"]
    assert 2.9 * width < several["answer"][0]["within"] < 3.1 * width
    text = (folder / "count.toml").read_text()
    (folder / "people.toml").write_text(text.replace("epsilon = 1", "epsilon = 1\nrecords_per_person = 3"))
    for typed in (("check", "people.toml"), ("audit", "agreement", "people.toml")):
        assert "each person with up to 3 records, whether or not they match" in printed(folder, *typed)
    done = accord(folder, "check", "people.toml", "a.csv", "--party", "A")
    assert done.returncode == 2
    assert "Name that column with --person" in done.stderr
    printed(folder, "check", "people.toml", "a.csv", "--party", "A", "--person", "id")


@pytest.mark.parametrize(
    ("name", "typed", "problem"),
    [
        ("pairs", ("--set", "answer=table"), "answer is pairs or count"),
        ("pairs", ("--set", "answer_epsilon=1"), "pairs come without noise"),
        (
            "pairs",
            ("--set", "answer=count", "--set", "protocol=all-pairs"),
            "take protocol 'routed', or exact",
        ),
    ],
)
def test_what_cannot_be_asked_is_said(folder: Path, name: str, typed: tuple[str, ...], problem: str) -> None:
    done = accord(folder, "simulate", "a.csv", "b.csv", "--agreement", f"{name}.toml", *typed)
    assert done.returncode != 0
    assert problem in done.stderr


def test_an_answer_is_written_as_a_run_would(folder: Path) -> None:
    run = ("simulate", "a.csv", "b.csv", "--agreement", "table.toml", "--seed", "1")
    told = printed(folder, *run, "--out", "cells.csv", "--html", "page.html")
    assert "Answer           F · Coldale: " in told
    assert "which a run would show to nobody" in told
    lines = (folder / "cells.csv").read_text().splitlines()
    assert lines[0] == '"sex_a","city_b","value","low","high"'
    assert len(lines) == 1 + 3 * 2
    assert "without noise" in (folder / "page.html").read_text()


def test_a_category_that_no_row_has_is_told_to_its_owner(folder: Path) -> None:
    """Else a table is full of others, and nobody knows why."""
    wrong = (folder / "table.toml").read_text().replace('["F", "M"]', '["f", "m"]')
    (folder / "wrong.toml").write_text(wrong)
    told = printed(folder, "check", "wrong.toml", "a.csv", "--party", "A")
    assert "All rows count as 'other' in the table: 'sex' has none of the agreed values there" in told
    assert "'other'" not in printed(folder, "check", "table.toml", "a.csv", "--party", "A")
    far = (folder / "sum.toml").read_text().replace("high = 100000", "high = 9")
    (folder / "far.toml").write_text(far)
    told = printed(folder, "check", "far.toml", "b.csv", "--party", "B")
    assert "count as 0 or 9, the ends of the agreed range" in told
    assert "without a number in 'postcode': left out" in told


def test_noise_that_hides_any_answer_is_worth_knowing(folder: Path) -> None:
    wide = (folder / "count.toml").read_text().replace("epsilon = 1", 'epsilon = "0.01"')
    (folder / "wide.toml").write_text(wide)
    said = "The answer says nothing: its noise is ± "
    assert said in printed(folder, "check", "wide.toml", "a.csv", "--party", "A")
    assert said not in printed(folder, "check", "count.toml", "a.csv", "--party", "A")
    assert said not in printed(folder, "check", "wide.toml"), "sizes are not known"


def test_pseudonyms_beside_a_column_of_ids_are_told_to_its_owner(folder: Path) -> None:
    names = (folder / "names.toml").read_text() + '[disclose]\nA = ["number"]\n'
    (folder / "shown.toml").write_text(names)
    rows = (folder / "a.csv").read_text().replace('"id"', '"number"', 1)
    (folder / "numbered.csv").write_text(rows)
    typed = ("check", "shown.toml", "numbered.csv", "--id", "number")
    assert "'number', which is your column of ids" in printed(folder, *typed, "--party", "A")
    assert "column of ids" not in printed(folder, *typed, "--party", "B")


def test_of_several_runs_it_is_said_whose_answer_is_shown(folder: Path) -> None:
    run = ("simulate", "a.csv", "b.csv", "--agreement", "count.toml", "--seed", "1")
    said = "of the first of 3 runs; --json has that of each"
    assert said in printed(folder, *run, "--runs", "3")
    assert said not in printed(folder, *run)
