"""`accord check` finds out how a file is written, asks where that is open, and writes it down for `link`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord.cli.check_typed import Typed
from accord.table.layout import Layout, read_layout
from tests.cli.terminal import Done, accord
from tests.fields.made_ids import read_made

TABLES = Path(__file__).parent / "tables"
AGREEMENT, LENIENT = ((TABLES / f"{name}.toml").read_text() for name in ("named", "passes"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agreement.toml").write_text(AGREEMENT)
    return tmp_path


def run(folder: Path, *arguments: str, code: int = 0) -> Done:
    done = accord(folder, "check", "agreement.toml", *arguments)
    assert done.returncode == code, done.stderr
    return done


def test_what_is_typed_is_added_to_what_stands_there(folder: Path) -> None:
    (folder / "a.csv").write_text("nr;title;dob\n1;x;31.12.2020\n")
    run(folder, "a.csv", "--id", "nr", "--column", "name=title", "--column", "birth=dob")
    path = folder / "a.csv.layout.toml"
    before, written = read_layout(path), path.read_bytes()
    assert (before.id, before.delimiter, before.source("name").column) == ("nr", ";", "title")
    assert before.source("birth").format == "%d.%m.%Y"
    assert json.loads(run(folder, "a.csv", "--json").stdout)["layout"]["delimiter"] == ";"
    assert path.read_bytes() == written
    # Of other agreements all is kept.
    path.write_text(f'{path.read_text()}\n[columns.shoe_size]\ncolumn = "size"\n')
    (folder / "a.csv").write_text("nr;label;dob;who\n1;x;31.12.2020;p\n")
    run(folder, "a.csv", "--column", "name=label", "--person", "who")
    after = read_layout(path)
    assert (after.id, after.person, after.source("name").column) == ("nr", "who", "label")
    assert after.source("birth") == before.source("birth")
    assert after.source("shoe_size").column == "size"
    run(folder, "a.csv", "--layout", str(path), code=2)  # named, it must be about this agreement
    # What its owner wrote by hand, with comments, is left as it is.
    mine = f"{path.read_text()}# since 2026\n"
    path.write_text(mine)
    run(folder, "a.csv", "--person", "label", code=2)
    assert path.read_text() == mine
    run(folder, "a.csv", "--id", "nr", "--column", "name=label", "--column", "birth=dob", "--force")
    assert "shoe_size" not in read_layout(path).columns


@pytest.mark.parametrize("named", ["a.csv", "agreement.toml", "link.toml", "hard.toml"])
def test_a_layout_is_never_written_over_what_is_read(named: str, folder: Path) -> None:
    (folder / "a.csv").write_text("id;name;birth\n1;x;2020-01-31\n")
    (folder / "link.toml").symlink_to(folder / "a.csv")
    (folder / "hard.toml").hardlink_to(folder / "agreement.toml")
    before = {path.name: path.read_text() for path in folder.iterdir()}
    run(folder, "a.csv", "--layout", named, "--force", code=5)
    assert {path.name: path.read_text() for path in folder.iterdir()} == before


def test_ids_are_made_once(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.csv").write_text("name,birth\nx,2020-01-31\n")
        run(folder, f"{name}.csv", "--make-ids")
    (folder / "c.csv").write_text("name,birth\nx,2020-01-31\ny,2020-02-31\n")
    run(folder, "c.csv", "--make-ids", "--date", "birth=%Y-%m-%d", code=4)
    assert not list(folder.glob("c.csv.*")), "none for a table with faults"
    layout = read_layout(folder / "a.csv.layout.toml")
    assert layout == Layout(make_ids=True)
    assert Typed(id="name").onto(layout) == Layout(id="name")
    made = (folder / "a.csv.ids.csv").read_bytes()
    run(folder, "a.csv")
    assert (folder / "a.csv.ids.csv").read_bytes() == made
    typed = ("simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--force", "--out")
    accord(folder, *typed, "pairs.csv")
    pair = (folder / "pairs.csv").read_text().splitlines()[1].replace('"', "").split(",")
    assert pair[:2] == [read_made(folder / f"{name}.csv")[1] for name in ("a", "b")]
    assert accord(folder, *typed, "b.csv.ids.csv").returncode == 5


def test_people_and_rows_that_are_left_out_are_counted(folder: Path) -> None:
    agreed = AGREEMENT.replace('type = "date"', 'type = "date"\nmissing = "skip"\nother = "skip"')
    (folder / "agreement.toml").write_text(agreed)
    (folder / "a.csv").write_text("id,name,birth,who\n1,x,2020-01-31,p\n2,y,,q\n3,z,1800-01-01,p\n")
    data = json.loads(run(folder, "a.csv", "--person", "who", "--json").stdout)["data"]
    assert (data["people"], data["most_records_of_a_person"]) == (2, 2)
    assert [one["rows"] for one in data["left_out_by"]] == [1, 1]
    (folder / "agreement.toml").write_text(
        LENIENT.replace("[protocol.A]", "[protocol.A]\nrecords_per_person = 2")
    )
    (folder / "a.csv").write_text("id,name,birth,who\n1,x,2020-01-31,p\n2,y,,p\n3,z,,p\n")
    run(folder, "a.csv", "--party", "A", code=4)
    (folder / "a.csv.layout.toml").unlink()
    assert "--person" in run(folder, "a.csv", "--party", "A", code=2).stderr
    assert "people" not in json.loads(run(folder, "a.csv", "--json").stdout)["data"]


def test_rows_in_no_bin_are_counted_by_pass(folder: Path) -> None:
    (folder / "agreement.toml").write_text(LENIENT)
    (folder / "a.csv").write_text("id,name,birth\n1,x,2020-01-31\n2,y,\n3,,2020-01-31\n")
    facts = json.loads(run(folder, "a.csv", "--json").stdout)
    assert facts["data"]["in_no_bin"] == 1
    assert facts["data"]["in_no_bin_of"] == {"by name": 1, "pass 2": 2}
    assert (facts["passes"], facts["bins_per_record"]) == (2, {"A": 2, "B": 2})
    assert "'by name'" in run(folder, "a.csv").stdout
    (folder / "truth.csv").write_text("id_a,id_b\n1,1\n2,2\n9,9\n")
    tables = ("simulate", "a.csv", "a.csv", "--agreement", "agreement.toml", "--json")
    found = json.loads(accord(folder, *tables, "--truth", "truth.csv").stdout)
    assert found["missed"]["unknown"] == 1
    assert [one["recall"] for one in found["passes"]] == [1, 1]
    assert found["matches"] == found["all_matches"] == 1
