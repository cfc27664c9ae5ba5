"""`accord check` finds out how a file is written, asks where that is open, and writes it down for `link`."""

from __future__ import annotations

import io
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from accord.agreement.file import parse_agreement
from accord.cli.check_typed import Typed
from accord.cli.options import read_own_layout
from accord.fields.load import load_records
from accord.table.layout import Layout, read_layout
from tests.cli.terminal import COMMAND, Done, accord
from tests.fields.made_ids import read_made

AGREEMENT = """\
version = 2
salt = "00000000"
rule = "same(name) and same(birth)"
engine = "ot"
[parties]
A = "north"
B = "south"
[fields.name]
type = "text"
encoder = "hash"
[fields.birth]
type = "date"
min = 1900-01-01
max = 2030-12-31
[protocol]
name = "all-pairs"
greedy = false
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agreement.toml").write_text(AGREEMENT)
    return tmp_path


def run(folder: Path, *arguments: str, code: int = 0) -> Done:
    done = accord(folder, "check", *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_a_file_that_a_linkage_reads_as_it_is_needs_no_layout(folder: Path) -> None:
    (folder / "a.csv").write_text("id,name,birth\n1,x,2020-01-31\n")
    done = run(folder, "agreement.toml", "a.csv")
    assert 'File       utf-8, delimiter comma, quotes "' in done.stdout
    assert "layout" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "agreement.toml"]
    run(folder, "agreement.toml", "a.csv", "--layout", "mine.toml")
    assert read_layout(folder / "mine.toml") == Layout()


def test_what_is_found_is_written_and_read_by_a_linkage(folder: Path) -> None:
    (folder / "a.csv").write_bytes("id;name;birth\n1;ä;31.12.2020\n2;b;1.2.2020\n".encode("latin-1"))
    done = run(folder, "agreement.toml", "a.csv")
    assert "cp1252 (a guess; --encoding names another), delimiter semicolon" in done.stdout
    assert "dates of birth %d.%m.%Y" in done.stdout
    assert "Wrote a.csv.layout.toml." in done.stderr
    found = tomllib.loads((folder / "a.csv.layout.toml").read_text())
    assert found["columns"] == {"birth": {"column": "birth", "format": "%d.%m.%Y"}}
    agreed = parse_agreement(AGREEMENT, "it")
    layout = read_own_layout(agreed, folder / "a.csv.layout.toml", None)
    assert len(load_records(folder / "a.csv", agreed.fields, agreed.salt, (), layout)) == 2
    # Beside the table it is read, and named it is, too: nothing is left to be found.
    again = run(folder, "agreement.toml", "a.csv").stderr
    assert again == "Reading a.csv as a.csv.layout.toml says.\n"
    named = run(folder, "agreement.toml", "a.csv", "--layout", "a.csv.layout.toml").stderr
    assert "Wrote" not in named
    assert "Reading" not in named
    elsewhere = run(folder, "agreement.toml", "a.csv", "--layout", "mine.toml").stderr
    assert "Wrote mine.toml: link with --layout mine.toml." in elsewhere


def test_a_layout_beside_a_table_may_be_about_other_agreements_too(folder: Path) -> None:
    (folder / "a.csv").write_text("nr;title;birth\n1;x;2020-01-31\n")
    columns = '[columns]\nname = "title"\nshoe_size = "size"\n'
    (folder / "a.csv.layout.toml").write_text(f'id = "nr"\ndelimiter = ";"\n{columns}')
    run(folder, "agreement.toml", "a.csv")
    # Named, it must be about this one.
    run(folder, "agreement.toml", "a.csv", "--layout", "a.csv.layout.toml", code=2)


def test_a_layout_that_is_there_stays_unless_its_owner_insists(folder: Path) -> None:
    (folder / "a.csv").write_text("id;name;birth\n1;x;2020-01-31\n")
    (folder / "a.csv.layout.toml").write_text('id = "key"\n')
    assert "column 'key': was not found" in run(folder, "agreement.toml", "a.csv", code=4).stderr
    (folder / "a.csv.layout.toml").write_text('delimiter = ";"\n')
    (folder / "a.csv").write_text("id;name;birth\n1;x;31.12.2020\n")
    done = run(folder, "agreement.toml", "a.csv", code=2)
    assert "says something else. Change it there, or --force replaces it" in done.stderr
    assert (folder / "a.csv.layout.toml").read_text() == 'delimiter = ";"\n'
    (folder / "a.csv").write_text("id;name;birth\n1;x;2020-01-31\n")
    (folder / "a.csv.layout.toml").write_text('id = "key"\n')
    run(folder, "agreement.toml", "a.csv", "--force")
    assert read_layout(folder / "a.csv.layout.toml") == Layout(delimiter=";")
    run(folder, "agreement.toml", "a.csv", "--layout", "none/x.toml", code=5)


def test_what_is_typed_is_written_next_to_the_table_and_added_to_what_stands_there(folder: Path) -> None:
    (folder / "a.csv").write_text("nr;title;dob\n1;x;31.12.2020\n")
    typed = ("--id", "nr", "--column", "name=title", "--column", "birth=dob")
    assert "Wrote a.csv.layout.toml." in run(folder, "agreement.toml", "a.csv", *typed).stderr
    path = folder / "a.csv.layout.toml"
    before = read_layout(path)
    assert (before.id, before.delimiter, before.source("name").column) == ("nr", ";", "title")
    assert "Wrote" not in run(folder, "agreement.toml", "a.csv", *typed).stderr, "it stands there already"
    # Of other agreements all is kept.
    path.write_text(f'{path.read_text()}\n[columns.shoe_size]\ncolumn = "size"\n')
    (folder / "a.csv").write_text("nr;label;dob;who\n1;x;31.12.2020;p\n")
    run(folder, "agreement.toml", "a.csv", "--column", "name=label", "--person", "who")
    after = read_layout(path)
    assert (after.id, after.person, after.source("name").column) == ("nr", "who", "label")
    assert after.source("birth") == before.source("birth")
    assert after.source("shoe_size").column == "size"
    # What its owner wrote by hand, with comments, is left as it is.
    (folder / "a.csv").write_text("nr;label;dob;whose\n1;x;31.12.2020;p\n")
    mine = f"{path.read_text()}# since 2026\n"
    path.write_text(mine)
    refused = run(folder, "agreement.toml", "a.csv", "--person", "whose", code=2)
    assert "Change it there, or --force replaces it" in refused.stderr
    assert path.read_text() == mine


def test_a_layout_that_is_begun_anew_says_nothing_of_the_old_one(folder: Path) -> None:
    (folder / "a.csv").write_text("id,name,birth\n1,x,2020-01-31\n")
    (folder / "a.csv.layout.toml").write_text('id = "key"\n')
    run(folder, "agreement.toml", "a.csv", "--force")
    assert read_layout(folder / "a.csv.layout.toml") == Layout()


@pytest.mark.parametrize("named", ["a.csv", "agreement.toml", "link.toml", "hard.toml"])
def test_a_layout_is_never_written_over_what_is_read(named: str, folder: Path) -> None:
    (folder / "a.csv").write_text("id;name;birth\n1;x;2020-01-31\n")
    (folder / "link.toml").symlink_to(folder / "a.csv")
    (folder / "hard.toml").hardlink_to(folder / "agreement.toml")
    before = {path.name: path.read_text() for path in folder.iterdir()}
    done = run(folder, "agreement.toml", "a.csv", "--layout", named, "--force", code=5)
    assert "which is read" in done.stderr
    assert "--layout" in done.stderr
    assert {path.name: path.read_text() for path in folder.iterdir()} == before


AMBIGUOUS = "id,name,birth\n1,x,01/02/2020\n2,y,03/04/2020\n"


def test_dates_that_can_be_read_in_two_ways_are_not_decided_by_accord(folder: Path) -> None:
    (folder / "a.csv").write_text(AMBIGUOUS)
    done = run(folder, "agreement.toml", "a.csv", code=4)
    assert "column 'birth': has dates that can be read as %d/%m/%Y or %m/%d/%Y" in done.stderr
    assert "--date birth='%d/%m/%Y'" in done.stderr
    assert not (folder / "a.csv.layout.toml").exists()
    named = ("agreement.toml", "a.csv", "--date", "birth=%m/%d/%Y", "--layout", "l.toml")
    run(folder, *named)
    assert read_layout(folder / "l.toml").source("birth").format == "%m/%d/%Y"
    run(folder, "agreement.toml", "a.csv", "--date", "birth", code=2)
    run(folder, "agreement.toml", "a.csv", "--date", "brith=%d", code=2)


def test_at_a_terminal_the_owner_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.csv").write_text(AMBIGUOUS)
    keyboard = io.StringIO("3\n2\n")
    monkeypatch.setattr(keyboard, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", keyboard)
    COMMAND.main(["check", str(folder / "agreement.toml"), str(folder / "a.csv")], standalone_mode=False)
    assert read_layout(folder / "a.csv.layout.toml").source("birth").format == "%m/%d/%Y"


def test_faults_come_with_how_the_file_was_read_and_nothing_is_written(folder: Path) -> None:
    (folder / "a.csv").write_text("id;name;birth\n1;x;31.12.2020\n2;y;SECRET\n3;z;30.12.2020\n")
    done = run(folder, "agreement.toml", "a.csv", code=4)
    assert "row 2, column 'birth': is not a date written as %d.%m.%Y" in done.stderr
    assert "It was read as utf-8, delimiter semicolon" in done.stderr
    assert "SECRET" not in done.stderr
    assert not (folder / "a.csv.layout.toml").exists()


def test_ids_are_made_where_their_owner_says_so(folder: Path) -> None:
    (folder / "a.csv").write_text("id,name,birth\n7,x,2020-01-31\n7,y,2020-01-31\n")
    assert "--make-ids" in run(folder, "agreement.toml", "a.csv", code=4).stderr
    assert not (folder / "a.csv.ids.csv").exists()
    typed = ("agreement.toml", "a.csv", "--make-ids", "--layout", "l.toml")
    done = run(folder, *typed)
    assert "ids are made" in done.stdout
    assert "Wrote a.csv.ids.csv: random ids for 2 rows." in done.stderr
    assert read_layout(folder / "l.toml") == Layout(make_ids=True)
    made = (folder / "a.csv.ids.csv").read_bytes()
    assert "a.csv.ids.csv" not in run(folder, *typed).stderr
    assert (folder / "a.csv.ids.csv").read_bytes() == made
    agreed = parse_agreement(AGREEMENT, "it")
    layout = read_own_layout(agreed, folder / "l.toml", None)
    assert layout.make_ids
    assert Typed(id="name").onto(layout) == Layout(id="name")
    run(folder, "agreement.toml", "a.csv", "--id", "name", "--make-ids", code=2)


def test_other_commands_say_where_made_ids_are_and_write_nothing_there(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.csv").write_text("name,birth\nx,2020-01-31\n")
        run(folder, "agreement.toml", f"{name}.csv", "--make-ids")
    typed = ("simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--out")
    done = accord(folder, *typed, "pairs.csv")
    assert "The ids of its rows are in b.csv.ids.csv, which stays with you." in done.stderr
    pair = (folder / "pairs.csv").read_text().splitlines()[1].replace('"', "").split(",")
    assert pair[:2] == [read_made(folder / f"{name}.csv")[1] for name in ("a", "b")]
    done = accord(folder, *typed, "b.csv.ids.csv", "--force")
    assert (done.returncode, "which is read" in done.stderr) == (5, True)


def test_no_ids_are_made_for_a_table_with_faults(folder: Path) -> None:
    (folder / "a.csv").write_text("name,birth\nx,2020-01-31\ny,2020-02-31\n")
    run(folder, "agreement.toml", "a.csv", "--make-ids", "--date", "birth=%Y-%m-%d", code=4)
    assert not (folder / "a.csv.ids.csv").exists()


def test_a_file_of_ids_that_cannot_be_used_is_said(folder: Path) -> None:
    (folder / "a.csv").write_text("name,birth\nx,2020-01-31\n")
    typed = ("agreement.toml", "a.csv", "--make-ids")
    (folder / "a.csv.ids.csv").write_text("row,id\n1,mine\n")
    done = run(folder, *typed, code=4)
    assert "a.csv.ids.csv cannot be read: it is not as Accord wrote it. Restore it" in done.stderr
    assert "which is read" in run(folder, *typed, "--layout", "a.csv.ids.csv", code=5).stderr
    assert (folder / "a.csv.ids.csv").read_text() == "row,id\n1,mine\n"


def test_the_columns_of_a_file_on_request(folder: Path) -> None:
    (folder / "a.csv").write_bytes('id;"full\x1b name";ä\n1;x;y\n'.encode("latin-1"))
    assert run(folder, "--columns-of", "a.csv").stdout == "id\nfull\N{REPLACEMENT CHARACTER} name\nä\n"
    assert json.loads(run(folder, "--columns-of", "a.csv", "--json").stdout) == ["id", "full\x1b name", "ä"]
    named = run(folder, "--columns-of", "a.csv", "--encoding", "latin-1", "--delimiter", ",")
    assert len(named.stdout.splitlines()) == 1
    (folder / "l.toml").write_text('delimiter = ","\n')
    assert len(run(folder, "--columns-of", "a.csv", "--layout", "l.toml").stdout.splitlines()) == 1
    run(folder, "--columns-of", "none.csv", code=4)
    run(folder, code=2)


def test_the_owner_is_told_of_people_and_of_rows_that_are_left_out(folder: Path) -> None:
    agreed = AGREEMENT.replace('type = "date"', 'type = "date"\nmissing = "skip"\nother = "skip"')
    (folder / "agreement.toml").write_text(agreed)
    rows = "1,x,2020-01-31,p\n2,y,,q\n3,z,1800-01-01,p\n4,z,1800-01-01,p\n"
    (folder / "a.csv").write_text(f"id,name,birth,who\n{rows}")
    done = run(folder, "agreement.toml", "a.csv", "--person", "who")
    assert "4 records, 3 of them left out\n" in done.stdout
    assert "Left out   1 row: 'birth' is empty\n" in done.stdout
    assert "Left out   2 rows: 'birth' is outside the agreed range 1900-01-01 to 2030-12-31\n" in done.stdout
    assert "People     2 people; at most 3 records each\n" in done.stdout
    facts = json.loads(run(folder, "agreement.toml", "a.csv", "--person", "who", "--json").stdout)["data"]
    assert (facts["people"], facts["most_records_of_a_person"]) == (2, 3)
    assert [one["rows"] for one in facts["left_out_by"]] == [2, 1]
    (folder / "a.csv.layout.toml").unlink()
    assert "people" not in json.loads(run(folder, "agreement.toml", "a.csv", "--json").stdout)["data"]


def test_as_json(folder: Path) -> None:
    (folder / "a.csv").write_text("id;name;birth\n1;x;2020-01-31\n")
    facts = json.loads(run(folder, "agreement.toml", "a.csv", "--json").stdout)
    assert facts["layout"] == {
        "id": "id", "make_ids": False, "encoding": "utf-8", "delimiter": ";", "quote": '"', "dates": {},
    }  # fmt: skip


def test_values_are_shown_before_and_after(folder: Path) -> None:
    made = AGREEMENT.replace(
        'encoder = "hash"', 'encoder = "hash"\nfrom = ["given", "last"]\nclean = ["accents"]'
    )
    (folder / "agreement.toml").write_text(made)
    (folder / "a.csv").write_text("id,given,last,birth\n1,José,Núñez,03.04.1980\n2,,Li\x1b[31m,31.12.1990\n")
    shown = ["--show", "name", "--show", "birth"]
    done = run(folder, "agreement.toml", "a.csv", *shown)
    assert "name, made of given and last; it becomes a hash of 80 bits:" in done.stdout
    assert "  'José' + 'Núñez' → 'jose nunez'\n" in done.stdout
    assert "  (empty) + 'Li�[31m' → 'li�[31m'\n" in done.stdout
    assert "  '31.12.1990' → '1990-12-31'\n" in done.stdout
    facts = json.loads(run(folder, "agreement.toml", "a.csv", *shown, "--json").stdout)
    assert facts["shown"]["name"]["from"] == ["given", "last"]
    assert facts["shown"]["birth"]["values"][0] == {"before": ["03.04.1980"], "after": "1980-04-03"}
    assert "jose" not in run(folder, "agreement.toml", "a.csv").stdout
    assert "Did you mean 'name'?" in run(folder, "agreement.toml", "a.csv", "--show", "nam", code=2).stderr
    assert "accord check AGREEMENT DATA" in run(folder, "agreement.toml", "--show", "name", code=2).stderr


PASSES = AGREEMENT.replace('encoder = "hash"', 'encoder = "hash"\nmissing = "differs"').replace(
    'type = "date"', 'type = "date"\nmissing = "differs"'
)
PASSES = (
    PASSES[: PASSES.index("[protocol]")]
    + """\
[[blocking.pass]]
name = "by name"
parts = [{ kind = "key", field = "name", buckets = 50 }]
[[blocking.pass]]
parts = [{ kind = "key", field = ["name", "birth"], buckets = 50 }]
[protocol]
name = "laplace"
greedy = false
[protocol.A]
epsilon = 1.6
delta = "2^-40"
noise = "auto"
[protocol.B]
epsilon = 1.6
delta = "2^-40"
noise = "auto"
"""
)


def test_the_owner_is_told_which_rows_are_in_no_bin(folder: Path) -> None:
    (folder / "agreement.toml").write_text(PASSES)
    (folder / "a.csv").write_text("id,name,birth\n1,x,2020-01-31\n2,y,\n3,,2020-01-31\n")
    done = run(folder, "agreement.toml", "a.csv")
    assert "Blocking   100 bins of 2 passes; no match is missed\n" in done.stdout
    assert "each of 100 bins of 2 passes, with dummies added" in done.stdout
    told = "1 row without a value to compare by (1 row in none of 'by name', 2 rows in none of 'pass 2')"
    assert f"No bin     {told}\n" in done.stdout
    facts = json.loads(run(folder, "agreement.toml", "a.csv", "--json").stdout)
    assert facts["data"]["in_no_bin"] == 1
    assert facts["data"]["in_no_bin_of"] == {"by name": 1, "pass 2": 2}
    assert (facts["passes"], facts["bins_per_record"]) == (2, {"A": 2, "B": 2})
    (folder / "b.csv").write_text("id,name,birth\n1,x,2020-01-31\n2,y,\n")
    told = "1 row in no bin of 'pass 2'; every row is in some bin"
    assert f"No bin     {told}\n" in run(folder, "agreement.toml", "b.csv").stdout


def test_simulate_tells_of_passes(folder: Path) -> None:
    (folder / "agreement.toml").write_text(PASSES)
    (folder / "a.csv").write_text("id,name,birth\n1,x,2020-01-31\n2,y,\n3,z,2020-01-31\n")
    (folder / "truth.csv").write_text("id_a,id_b\n1,1\n2,2\n9,9\n")
    tables = ("simulate", "a.csv", "a.csv", "--agreement", "agreement.toml", "--truth", "truth.csv")
    done = accord(folder, *tables)
    assert done.returncode == 0, done.stderr
    assert "Pass             'by name': 0.6667 of the true pairs, with those before 0.6667; " in done.stdout
    assert "Pass             'pass 2': 0.3333 of the true pairs, with those before 0.6667; " in done.stdout
    assert "Buckets          50 in 'by name'; about 1 cost the least for these sizes\n" in done.stdout
    assert "Worth knowing    1 true pair names a record that does not exist or was left out\n" in done.stdout
    facts = json.loads(accord(folder, *tables, "--json").stdout)
    assert facts["missed"]["unknown"] == 1
    assert [one["recall"] for one in facts["passes"]] == [1, 1]
    assert facts["among_candidates"] is False
    assert facts["matches"] == facts["all_matches"] == 2


def test_a_column_that_cannot_be_read_in_most_rows_is_a_fault(tmp_path: Path) -> None:
    assert accord(tmp_path, "init", "--template", "people").returncode == 0
    agreement = tmp_path / "agreement.toml"
    lenient = re.sub(r"(\[fields\.birth\w*\]\n)", r'\1other = "missing"\n', agreement.read_text())
    agreement.write_text(lenient)
    rows = "".join(f"{row},Mary,Smith,19{row}.02.03.\n" for row in range(10, 20))
    (tmp_path / "a.csv").write_text("id,given,surname,birth\n" + rows)
    absent = "".join(
        f"{name} = {{ absent = true }}\n" for name in ("middle", "sex", "phone", "email", "postcode")
    )
    birth = '[columns]\nbirth = { column = "birth", format = "%d/%m/%Y" }\n'
    (tmp_path / "a.toml").write_text(birth + absent)
    done = accord(tmp_path, "check", "agreement.toml", "a.csv", "--layout", "a.toml")
    assert done.returncode == 4
    assert "column 'birth': in 10 of 10 rows it is not a date written as %d/%m/%Y" in done.stderr
