"""`accord plan` at a terminal: a table, JSON, a file to agree on, a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord.agreement.file import read_agreement
from accord.cli.plan import bar
from accord.forecast import plan as planning
from tests.cli.terminal import Done, accord
from tests.planning.worlds import birth_key
from tests.protocols.worlds import agreement


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agreement.toml").write_text(agreement().to_toml())
    return tmp_path


def run(folder: Path, *arguments: str, code: int = 0) -> Done:
    done = accord(folder, "plan", "agreement.toml", *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_one_object_of_json_and_nothing_else(folder: Path) -> None:
    found = json.loads(run(folder, "--records", "50", "60", "--json").stdout)
    assert found["records"] == {"A": 50, "B": 60}
    assert found["choice"] in found["options"]
    assert found["missed"] == []
    assert {"code", "text"} == set(found["warnings"][0])


def test_workers_are_no_more_than_there_are_cores(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "count_cores", lambda: 4)
    for said, planned in (((), 1), (("--workers", "3"), 3), (("--workers", "64"), 4)):
        found = json.loads(run(folder, "--records", "50", "60", "--json", *said).stdout)
        assert found["workers"] == planned
    assert "100/20 (Mbit/s and ms), 4 workers per side" in run(
        folder, "--records", "50", "60", "--workers", "4"
    ).stdout.replace("\n", " ")
    run(folder, "--records", "50", "60", "--workers", "0", code=2)


def test_a_person_sees_a_table_bars_a_reason_and_warnings(folder: Path) -> None:
    shown = run(folder, "--records", "50", "60").stdout
    assert "50 records of A, 60 of B, 100/20 (Mbit/s and ms)" in shown
    assert "→" in shown
    assert "█" in shown
    assert "is the quickest with ε = 0 that meets everything" in shown
    assert "[no-epsilon-needed]" in shown


def test_the_newcomers_example_is_told_that_all_pairs_is_cheaper(folder: Path) -> None:
    (folder / "agreement.toml").write_text(birth_key().to_toml())
    found = json.loads(run(folder, "--records", "199", "220", "--json").stdout)
    assert found["choice"]["protocol"] == "all-pairs"
    assert found["choice"]["comparisons"]["high"] == 43_780
    assert found["warnings"][0]["code"] == "no-epsilon-needed"


def test_the_choice_is_written_from_counts_and_holds_nothing_else(folder: Path) -> None:
    run(folder, "--records", "50", "60", "--write", "new.toml")
    written = read_agreement(folder / "new.toml")
    assert written.protocol.name == "all-pairs"
    assert written.rule == agreement().rule
    assert written.expected is None
    text = (folder / "new.toml").read_text()
    assert "50" not in text
    refused = run(folder, "--records", "50", "60", "--write", "new.toml", code=2)
    assert "--force replaces it" in refused.stderr
    run(folder, "--records", "50", "60", "--write", "agreement.toml", "--force", code=5)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--records", "0", "5"), "at least 1 each"),
        (("--records", "20000001", "5"), "At most 20,000,000 records per side can be planned, by --records"),
        ((), "--records"),
        (("--records", "5", "5", "--network", "fast"), "not a network"),
        (("--records", "5", "5", "--recall", "2"), "0 to 1"),
    ],
)
def test_bad_input_is_said_and_ends_with_2(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    assert says in run(folder, *arguments, code=2).stderr


def test_an_impossible_wish_is_said_with_the_nearest_that_can(folder: Path) -> None:
    wish = ("--records", "500", "500", "--max-time", "0.001", "--json")
    done = run(folder, *wish, "--write", "new.toml", code=3)
    found = json.loads(done.stdout)
    assert found["why"].startswith("Nothing sensible was found: ")
    assert found["missed"] == ["max-time"]
    assert "(--max-time). new.toml was not written." in done.stderr
    assert not (folder / "new.toml").exists()


def test_pictures_are_drawn(folder: Path) -> None:
    run(folder, "--records", "50", "60", "--html", "plan.html")
    assert "<polyline" in (folder / "plan.html").read_text()
    assert ".html" in run(folder, "--records", "5", "5", "--html", "plan.txt", code=5).stderr


def test_bars_grow_by_eighths() -> None:
    assert [bar(share, 2) for share in (0, 0.25, 0.5, 1, 3)] == ["▏", "▌", "█", "██", "██"]
