"""What comes out, in every command before a run: pairs, counts, tables, sums, one side alone; and plans."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.file import read_agreement
from accord.cli.plan import bar
from accord.cli.simulate_quality import words
from accord.cli.terminal import wrap
from accord.datasets.people import generate_people
from accord.privacy.events import UNLESS
from accord.simulation.report import judge
from accord.table.sinks.files import write_table
from tests.cli.terminal import Tape, accord, typing
from tests.learning.worlds import DRAFT
from tests.planning.worlds import birth_key
from tests.simulation.made import agree, know, people

AGREEMENT = (Path(__file__).parent / "tables" / "routed.toml").read_text()
COUNT = '[output]\nanswer = "count"\nepsilon = 1\n'
OUTPUTS = {
    "pairs": "",
    "count": COUNT,
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
    for name, output in OUTPUTS.items():
        (here / f"{name}.toml").write_text(AGREEMENT + output)
    return here


def facts(folder: Path, *typed: str) -> Any:
    done = accord(folder, *typed, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@cache
def simulated(folder: Path, name: str, *typed: str) -> Any:
    return facts(folder, "simulate", "a.csv", "b.csv", "--agreement", f"{name}.toml", "--seed", "1", *typed)


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_command_has_the_same_promise_and_result(folder: Path, name: str) -> None:
    """An exact answer has none."""
    checked = facts(folder, "check", f"{name}.toml", "a.csv", "--party", "A")
    planned = facts(folder, "plan", f"{name}.toml", "--records", "60", "60")
    (agreed,) = (one for one in planned["options"] if one["agreed"])
    audited = facts(folder, "audit", "agreement", f"{name}.toml")["sides"]
    seen = simulated(folder, name)
    held = {"one": "B", "pairs": "AB", "names": "AB"}.get(name, "")
    for side in "AB":
        epsilon, unless = checked["promise"][side]["epsilon"], checked["promise"][side]["unless"]
        assert epsilon == {"count": 1, "table": 1, "sum": 4, "exact": None}.get(name, 0)
        assert unless == UNLESS["leave-out" if side in held else ""]
        for found in (agreed, seen):
            assert (found["epsilon"][side], found["unless"][side]) == (epsilon, unless)
        assert (audited[side]["epsilon"], audited[side]["unless"]) == (epsilon, unless)
        assert (audited[side]["again"] is None) == (name == "exact")
    assert (checked["answer"] is None) == (seen["answer"] is None) == (name not in ANSWERS)
    if name in (*ANSWERS, "one"):
        exactly = {"all-pairs"} if name == "exact" else set()
        assert {one["protocol"] for one in planned["options"]} == {"routed", *exactly}
    if name in ANSWERS:
        assert agreed["within"] == checked["answer"]["within"]
        assert any(agreed["within"]) == (name != "exact")
    # A simulation shows what a run hides.
    pairs = simulated(folder, "pairs")
    assert seen["matches"] == pairs["matches"] > 10
    # The one that learns the pairs asks, whatever it costs.
    assert (seen["comparisons"] == pairs["comparisons"]) == (name != "one")
    cells = [cell["exact"] for cell in seen["answer"] or ()]
    if name in ("count", "exact", "table"):
        assert sum(cells) == pairs["matches"]
    if name == "exact":
        assert seen["answer"][0]["value"] == pairs["matches"]
    if name == "sum":
        total, count = cells
        assert count <= pairs["matches"]
        assert count < total <= 100_000 * count


def test_any_routed_agreement_can_be_asked_for_a_count(folder: Path) -> None:
    asked = simulated(folder, "pairs", "--set", "answer=count", "--runs", "3")
    one = simulated(folder, "count")["answer"][0]["within"]
    assert asked["answer"][0]["within"] == one
    assert asked["epsilon"] == {"A": 1.0, "B": 1.0}
    assert len({tuple(run["answer"]) for run in asked["runs"]}) > 1
    people = simulated(folder, "count", "--set", "records_per_person=3")["answer"][0]["within"]
    assert 2.9 * one < people < 3.1 * one
    assert simulated(folder, "count", "--set", "answer_epsilon=0.1")["answer"][0]["within"] > 5 * one
    assert simulated(folder, "count", "--set", "answer=pairs")["answer"] is None


def test_what_an_owner_should_know_of_an_answer_is_told_to_it_alone(folder: Path) -> None:
    """Categories that no row has, noise that hides any answer, pseudonyms beside a column of ids."""

    def advice(text: str, *typed: str) -> int:
        (folder / "odd.toml").write_text(text)
        return len(accord(folder, "check", "odd.toml", *typed).stdout.split("Worth knowing")[-1].splitlines())

    table, names = AGREEMENT + OUTPUTS["table"], AGREEMENT + OUTPUTS["names"]
    own = ("a.csv", "--party", "A")
    assert advice(table.replace('["F", "M"]', '["f", "m"]'), *own) > advice(table, *own)
    loud = AGREEMENT + COUNT.replace("= 1", '= "0.01"')
    assert advice(loud, *own) > advice(AGREEMENT + COUNT, *own)
    assert advice(loud) == advice(AGREEMENT + COUNT), "sizes are not known"
    rows = (folder / "a.csv").read_text().replace('"id"', '"number"', 1)
    (folder / "numbered.csv").write_text(rows)
    shown, ids = f'{names}[disclose]\nA = ["number"]\n', ("numbered.csv", "--id", "number", "--party")
    assert advice(shown, *ids, "A") > advice(shown, *ids, "B")


def test_a_check_counts_whom_the_promise_does_not_cover(folder: Path) -> None:
    """By pass: who shares a key with too many others, and who finds no place."""
    rows = list(csv.DictReader(io.StringIO((folder / "a.csv").read_text())))
    names = Counter(row["given"] for row in rows if row["given"])
    shared = sum(many for many in names.values() if many > 1)
    assert shared > 5

    def checked(text: str, *more: str) -> Any:
        (folder / "capped.toml").write_text(text)
        return facts(folder, "check", "capped.toml", "a.csv", *more)["data"]

    loose = checked(AGREEMENT.replace("cap = 4", "cap = 1"), "--party", "alice")
    assert (loose["uncovered"], loose["uncovered_of"]) == (shared, {"both": 0, "given": shared})
    out = sum(many - 1 for many in names.values())
    assert loose["over_cap"] == [{"pass": "given", "cap": 1, "rows": out}]
    wide = checked(AGREEMENT.replace("cap = 4", "cap = 60"), "--party", "alice")
    assert (wide["uncovered"], wide["uncovered_of"]) == (0, {"both": 0, "given": 0})
    # Of the side that learns the pairs nothing is told; who does not say a side is shown the worse.
    one = AGREEMENT.replace("cap = 4", "cap = 1") + OUTPUTS["one"]
    for party, uncovered in ((("--party", "alice"), 0), (("--party", "bob"), shared), ((), shared)):
        assert checked(one, *party)["uncovered"] == uncovered


def test_plans_price_and_write_a_choice_that_follows_from_counts(folder: Path) -> None:
    (folder / "birth.toml").write_text(birth_key().to_toml())
    typed = ("plan", "birth.toml", "--records", "199", "220")
    found = facts(folder, *typed, "--write", "new.toml", "--html", "plan.html", "--workers", "1")
    assert found["records"] == {"A": 199, "B": 220}
    assert (found["workers"], found["missed"], found["choice"]["protocol"]) == (1, [], "all-pairs")
    assert found["choice"] in found["options"]
    assert found["choice"]["comparisons"]["high"] == 43_780
    assert found["warnings"][0]["code"] == "no-epsilon-needed"
    written = read_agreement(folder / "new.toml")
    assert (written.protocol.name, written.rule) == ("all-pairs", birth_key().rule)
    assert written.expected is None
    assert "199" not in (folder / "new.toml").read_text()
    assert "<polyline" in (folder / "plan.html").read_text()
    assert [bar(share, 2) for share in (0, 0.25, 0.5, 1, 3)] == ["▏", "▌", "█", "██", "██"]


def test_an_audit_of_a_noise_has_its_exact_delta(tmp_path: Path) -> None:
    typed = ("audit", "noise", "geometric", "--epsilon", "1.6", "--delta", "1e-5", "--records-per-person")
    one, three = (facts(tmp_path, *typed, people) for people in "13")
    assert (one["epsilon"], one["delta_claimed"], one["kept"], three["kept"]) == (1.6, 1e-5, True, True)
    at = {point["epsilon"]: point["delta"] for point in one["curve"]}
    assert at[1.6] == one["delta_exact"] == pytest.approx(9.7588514e-06, rel=1e-6)
    assert three["expected_dummies"] > 2.5 * one["expected_dummies"]


# -- with the truth at hand ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People with many errors, and a score."""
    here = tmp_path_factory.mktemp("known")
    made = people()
    for name, table in (("a", made.a), ("b", made.b), ("truth", made.truth)):
        write_table(table, here / f"{name}.csv", raw=True)
    (here / "agreement.toml").write_text(agree().to_toml())
    return here


def held(text: str, folder: Path) -> set[str]:
    """Cells of both tables, in columns that could not stand in a report by chance, which stand in a text."""
    rows = [
        line.split(",") for name in "ab" for line in (folder / f"{name}.csv").read_text().splitlines()[1:]
    ]
    cells = {cell.strip('"') for row in rows for cell in row[1:] if len(cell) > 7}
    assert len(cells) > 200
    return {cell for cell in cells if cell in text}


TRUE = ("simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--truth", "truth.csv", "--seed", "1")


def test_a_judged_simulation_shows_no_value_to_programs(known: Path) -> None:
    found = facts(known, *TRUE, "--pairs", "40")
    assert found["truth_f1"] > 0.5
    assert found["matches"] - found["false_pairs"] == found["true_pairs"] - sum(found["missed"].values())
    assert [one["field"] for one in found["by_field"]] == ["given", "surname", "birth", "email"]
    agreed = next(point for point in found["curve"]["points"] if point["threshold"] == 9)
    assert found["curve"]["agreed"] == 9
    assert (agreed["recall"], agreed["f1"]) == (found["truth_recall"], found["truth_f1"])
    assert [len(found["pairs"][name]) for name in ("below", "above")] == [40, 40]
    piped = accord(known, *TRUE, "--pairs", "2").stdout
    assert held((known / "a.csv").read_text(), known), "the search finds what is there"
    assert not held(json.dumps(found) + piped, known)
    assert piped.count(" – ") > accord(known, *TRUE, "--pairs", "0").stdout.count(" – ")
    with typing(known, terminal=True) as at:
        at.type_in([*TRUE, "--pairs", "2"], None, tape := Tape())
    assert len(held("".join(text for _, text in tape.shown), known)) >= 8


def test_values_do_not_steer_a_terminal_and_fit_it() -> None:
    quality = judge(know(agree("dice(given) >= 0.5 and same(birth)"), people(200)), 3)
    text = words(quality, ["given"], {"A": {quality.pairs["missed"][0].id_a: ["Zoë\x1b"]}}, 80)
    assert "Zoë\N{REPLACEMENT CHARACTER}" in text
    assert max(map(len, wrap(text, 80).splitlines())) <= 80


def test_weights_are_learned_from_labels(tmp_path: Path) -> None:
    (tmp_path / "draft.toml").write_text(DRAFT)
    made = generate_people(200, None, 4)
    for name, table in (("a", made.a), ("b", made.b), ("labels", made.truth.select(["id_a", "id_b"]))):
        write_table(table, tmp_path / f"{name}.csv", raw=True)
    learn = ("learn", "draft.toml", "a.csv", "--other", "b.csv", "--learnt-from", "public", "--out", "x.toml")
    found = facts(tmp_path, *learn, "--labels", "labels.csv")
    assert found["learnt_from"] == read_agreement(tmp_path / "x.toml").learnt_from == "public"
    assert found["expected"] in found["curve"]
    assert 0 < found["met"] <= found["matches"] == 100
    assert accord(tmp_path, *learn).returncode == 5, "a file that is there stays"
