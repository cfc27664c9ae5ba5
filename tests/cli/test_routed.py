"""routed at a terminal: keys of texts and of several fields, which list no bins, in every command."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import accord

AGREEMENT = """
version = 2
salt = "00000000"
engine = "ot"
rule = "dice(surname) >= 0.7 and within(birth, 0 days)"

[parties]
A = "alice"
B = "bob"

[fields.surname]
type = "text"
encoder = {kind = "bloom", bits = 60, hashes = 2, grams = 2}
missing = "differs"

[fields.given]
type = "text"
encoder = "hash"
missing = "differs"

[fields.birth]
type = "date"
min = "1900-01-01"
max = "2026-01-01"
missing = "differs"

[[blocking.pass]]
name = "both"
parts = [{kind = "key", field = ["given", "birth"]}]
cap = {A = 1, B = 2}

[[blocking.pass]]
name = "given"
parts = [{kind = "key", field = "given"}]

[protocol]
name = "routed"
cap = 4

[disclose]
A = []
B = []
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("people")
    made = ("generate", "people", "--records", "60", "--seed", "1", "--overlap", "0.6")
    assert accord(here, *made).returncode == 0
    (here / "agreement.toml").write_text(AGREEMENT)
    (here / "strict.toml").write_text(AGREEMENT.replace("cap = 4", 'cap = 1\nover = "refuse"'))
    (here / "wide.toml").write_text(AGREEMENT.replace("cap = 4", "cap = 60"))
    (here / "one.toml").write_text(AGREEMENT.replace("cap = 4", "cap = 1") + '[output]\nto = "A"\n')
    return here


TYPED = ("simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--seed", "1")


def test_a_simulation_finds_the_same_with_either_engine(folder: Path) -> None:
    facts = []
    for engine in ("ideal", "ot"):
        done = accord(folder, *TYPED, "--engine", engine, "--json")
        assert done.returncode == 0, done.stderr
        facts.append(json.loads(done.stdout))
    clear, real = facts
    assert clear["matches"] == real["matches"] > 10
    assert clear["comparisons"] == real["comparisons"]
    assert clear["epsilon"] == {"A": 0.0, "B": 0.0}
    assert (clear["precision"], clear["bins"], clear["leaks"]) == (1.0, 0, "")
    assert [one["name"] for one in clear["passes"]] == ["both", "given"]


def test_another_agreement_is_simulated_with_it(tmp_path: Path) -> None:
    assert accord(tmp_path, "generate", "products", "--records", "100", "--seed", "3").returncode == 0
    assert accord(tmp_path, "init", "--template", "products").returncode == 0
    done = accord(tmp_path, *TYPED, "--set", "protocol=routed", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["precision"] == 1.0
    assert facts["epsilon"] == {"A": 0.0, "B": 0.0}


def test_full_keys_are_refused_where_that_is_agreed(folder: Path) -> None:
    done = accord(folder, *TYPED[:4], "strict.toml", "--seed", "1")
    assert done.returncode == 4
    assert "pass 'given'" in done.stderr
    assert 'over = "leave-out"' in done.stderr


def test_a_check_refuses_the_table_that_a_linkage_would(folder: Path) -> None:
    done = accord(folder, "check", "strict.toml", "a.csv", "--party", "alice")
    assert done.returncode == 4
    assert "pass 'given'" in done.stderr
    done = accord(folder, "check", "strict.toml", "a.csv", "--party", "alice", "--json")
    assert "over the cap of 1 for one key" in json.loads(done.stdout)["faults"][0]["problem"]
    whose = accord(folder, "check", "strict.toml", "a.csv")
    assert whose.returncode == 0
    assert "to check whether your table is refused, too" in whose.stderr


def test_a_check_counts_whom_the_promise_does_not_cover(folder: Path) -> None:
    """In numbers and in words, by pass: who shares a key with too many others, and who finds no place."""
    (folder / "loose.toml").write_text(AGREEMENT.replace("cap = 4", "cap = 1"))
    rows = list(csv.DictReader(io.StringIO((folder / "a.csv").read_text())))
    names = Counter(row["given"] for row in rows if row["given"])
    shared = sum(many for many in names.values() if many > 1)
    assert shared > 5

    def checked(file: str, *more: str) -> dict[str, Any]:
        done = accord(folder, "check", file, "a.csv", *more, "--json")
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout)["data"])

    loose = checked("loose.toml", "--party", "alice")
    assert loose["uncovered"] == shared
    assert loose["uncovered_of"] == {"both": 0, "given": shared}
    out = sum(many - 1 for many in names.values())
    assert loose["over_cap"] == [{"pass": "given", "cap": 1, "rows": out}]
    told = accord(folder, "check", "loose.toml", "a.csv", "--party", "alice").stdout
    assert f"{shared} of your {len(rows)} records" in told
    assert "accord plan" in told
    wide = checked("wide.toml", "--party", "alice")
    assert (wide["uncovered"], wide["uncovered_of"]) == (0, {"both": 0, "given": 0})
    # Of the side that learns the pairs nothing is told; who does not say a side is shown the worse.
    for party, uncovered in ((("--party", "alice"), 0), (("--party", "bob"), shared), ((), shared)):
        assert checked("one.toml", *party)["uncovered"] == uncovered


@pytest.mark.parametrize(
    "typed",
    [
        ("check", "agreement.toml"),
        ("check", "agreement.toml", "a.csv", "--party", "alice"),
        ("plan", "agreement.toml", "--records", "1000", "1000"),
        ("audit", "agreement", "agreement.toml"),
    ],
    ids=" ".join,
)
def test_keys_without_bins_are_no_trouble(folder: Path, typed: tuple[str, ...]) -> None:
    done = accord(folder, *typed)
    assert done.returncode == 0, done.stderr
    assert "routed" in done.stdout


def test_what_the_partner_learns_is_told(folder: Path) -> None:
    told = " ".join(accord(folder, "check", "agreement.toml").stdout.split())
    assert "where more than 1 to 4 (by pass) of its records share a key" in told
    assert "to the side that asks: in which passes, and at which rank, a matching pair met" in told
    strict = " ".join(accord(folder, "check", "strict.toml").stdout.split())
    assert "that the run is refused, if more than 1" in strict


def test_a_check_speaks_of_keys_and_of_no_bins(folder: Path) -> None:
    lines = (folder / "a.csv").read_text().splitlines()
    born = lines[0].split(",").index('"birth"')
    cells = lines[1].split(",")
    (folder / "some.csv").write_text("\n".join([lines[0], ",".join([*cells[:born], "", *cells[born + 1 :]])]))
    done = accord(folder, "check", "agreement.toml", "some.csv")
    assert done.returncode == 0, done.stderr
    assert "Blocking   keys of 2 passes; matches may be missed" in done.stdout
    assert "No key     1 row without a key of 'both'; every row has some key" in done.stdout
    assert " bin" not in done.stdout
