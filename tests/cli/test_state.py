"""`accord state`, and what `accord runs` and `accord forget` say of a damaged run, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord.side import Side
from accord.state.runs import hold
from tests.cli.terminal import Done, accord
from tests.run import faults
from tests.run.faults import Office
from tests.state.test_inspection import change, flip

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def both(tmp_path: Path) -> dict[Side, Office]:
    made = faults.offices(tmp_path, "plain")
    faults.require_linked(faults.link(made))
    return made


@pytest.fixture
def office(both: dict[Side, Office]) -> Office:
    return both[Side.A]


def type_in(office: Office, *words: str) -> Done:
    return accord(office.data.parent, "--state", str(office.state.folder), *words)


def the_run(office: Office) -> str:
    assert office.run
    return office.run.manifest.run


def damage(office: Office, name: str) -> None:
    with office.state.database.reading() as read:
        digest = read.register.runs[the_run(office)].contents[name]
    change(office.state, "contents", "content", f"WHERE hex(digest) = '{digest.upper()}'")


def test_check_of_what_is_whole(office: Office) -> None:
    done = type_in(office, "state", "check")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("7 entries, 1 run, 5 contents, ")
    assert done.stdout.endswith(" kB read: everything is as it was written.\n")
    facts = json.loads(type_in(office, "state", "check", "--json").stdout)
    assert (facts["sound"], facts["damages"], facts["entries"], facts["runs"]) == (True, [], 7, 1)


def test_check_tells_everything_at_once(office: Office) -> None:
    journal = office.state.run(the_run(office)) / "journal"
    journal.write_bytes(flip(journal.read_bytes(), 30))
    office.state.identity.write_bytes(b"")
    damage_name = the_run_of(office)
    done = type_in(office, "state", "check")
    assert done.returncode == 16
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == [f"runs/{damage_name}/journal", "identity.pem"]
    assert lines[-1].endswith("2 things are damaged.")
    assert "accord state restore" in done.stderr
    found = type_in(office, "state", "check", "--json")
    assert found.returncode == 16
    facts = json.loads(found.stdout)
    assert [one["run"] for one in facts["damages"]] == [damage_name, None]
    assert facts["sound"] is False


def the_run_of(office: Office) -> str:
    (folder,) = (office.state.folder / "runs").iterdir()
    return folder.name


def test_check_says_what_it_removed(office: Office) -> None:
    office.state.create_run("left")
    done = type_in(office, "state", "check")
    assert done.returncode == 0
    assert done.stderr.startswith("Removed runs/left: nothing names it")


def test_there_and_back(both: dict[Side, Office]) -> None:
    office = both[Side.A]
    done = type_in(office, "state", "backup", "copy.tar")
    assert (done.returncode, done.stdout.startswith("copy.tar: 7 entries, 1 run, ")) == (0, True)
    assert "It holds secrets" in done.stderr
    assert type_in(office, "state", "backup", "copy.tar").returncode == 2
    assert type_in(office, "state", "backup", "copy.tar", "--force").returncode == 0
    done = type_in(office, "state", "restore", "copy.tar")
    assert done.returncode == 0, done.stderr
    assert ": 7 entries, 1 run." in done.stdout
    assert "The folder that was there is now" in done.stderr
    assert "that only a partner knows of cannot be seen here" in done.stderr
    faults.require_linked(faults.link(both))
    done = type_in(office, "state", "restore", "copy.tar")
    assert (done.returncode, done.stdout) == (2, "")
    last = office.ledger.runs()[-1].run
    assert f"the run {last} with bob on 'table'" in done.stderr
    assert "or say --force, and count what is listed by hand with `accord ledger budget`" in done.stderr
    done = type_in(office, "state", "restore", "copy.tar", "--force")
    assert done.returncode == 0
    assert f"the run {last} with bob on 'table'" in done.stderr
    assert "Count these costs by hand" in done.stderr
    assert type_in(office, "state", "check").returncode == 0


def test_restore_where_nothing_was(office: Office) -> None:
    type_in(office, "state", "backup", "copy.tar")
    folder = office.data.parent
    done = accord(folder, "--state", "new", "state", "restore", "copy.tar")
    assert done.returncode == 0, done.stderr
    assert "The folder that was there" not in done.stderr
    assert accord(folder, "--state", "new", "runs").stdout == type_in(office, "runs").stdout


def test_restore_while_a_run_is_under_way(office: Office) -> None:
    type_in(office, "state", "backup", "copy.tar")
    with hold(office.state.run(the_run(office))):
        assert type_in(office, "state", "backup", "other.tar").returncode == 0
        done = type_in(office, "state", "restore", "copy.tar", "--force")
    assert (done.returncode, "is under way here" in done.stderr) == (2, True)


def test_over_a_damaged_database(office: Office) -> None:
    type_in(office, "state", "backup", "copy.tar")
    change(office.state, "entries", "body", "WHERE number = 3")
    assert type_in(office, "runs").returncode == 16
    assert type_in(office, "state", "check").returncode == 16
    assert type_in(office, "state", "backup", "other.tar").returncode == 16
    done = type_in(office, "state", "restore", "copy.tar")
    assert done.returncode == 0, done.stderr
    assert "What was here could not be read to its end: entry 3 of its log" in done.stderr
    assert type_in(office, "state", "check").returncode == 0


def test_damage_goes_into_the_copy_and_is_told(office: Office) -> None:
    damage(office, "receipt")
    done = type_in(office, "state", "backup", "copy.tar")
    assert done.returncode == 16
    assert "Damaged here, and so in the copy: the receipt of the run" in done.stderr
    refused = type_in(office, "state", "restore", "copy.tar")
    assert (refused.returncode, "say --force" in refused.stderr) == (2, True)


@pytest.mark.parametrize("name", ["agreement", "journal"])
def test_a_broken_run_is_listed_and_kept(office: Office, name: str) -> None:
    run = the_run(office)
    if name == "journal":
        (office.state.run(run) / "journal").write_bytes(b"damaged")
    else:
        damage(office, name)
    done = type_in(office, "runs")
    (row,) = [line for line in done.stdout.splitlines() if line.startswith(run)]
    assert row.endswith("broken")
    assert "`accord state check`" in done.stderr
    assert "forget" not in done.stderr
    (facts,) = json.loads(type_in(office, "runs", "--json").stdout)
    assert (facts["run"], facts["broken"], facts["steps"]) == (run, True, None)


def test_a_broken_run_is_not_forgotten_by_mistake(tmp_path: Path) -> None:
    """Though it cost nothing."""
    both = faults.offices(tmp_path, "all-pairs")
    faults.require_linked(faults.link(both))
    office = both[Side.A]
    run = the_run(office)
    journal = office.state.run(run) / "journal"
    content = journal.read_bytes()
    journal.write_bytes(b"damaged")
    refused = type_in(office, "forget", run)
    assert refused.returncode == 2
    assert (
        f"{run} cannot be read: it does not begin as a journal does. `accord state check`" in refused.stderr
    )
    journal.write_bytes(content)
    assert type_in(office, "forget", run).returncode == 0
