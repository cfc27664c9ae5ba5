"""`accord replay` and what else is said of accountable runs, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord.side import Side
from accord.table.layout import Layout, Source
from tests.cli.terminal import Done, accord
from tests.replay.replays import accountable, done, offices, the_run
from tests.run import cheats, faults
from tests.run.faults import Office


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    faults.quicken(monkeypatch)


def type_in(office: Office, *arguments: object) -> Done:
    return accord(office.data.parent, "--state", str(office.state.folder), *map(str, arguments))


def test_a_side_replays_itself_and_before_the_others_evidence(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    both[Side.A].layout = Layout(columns={"x": Source(column="x", missing=("none", "-"))})
    done(faults.link(both))
    name, (a, b) = the_run(both), both.values()
    assert "columns: id, x (x, with 2 values read as empty), y." in type_in(a, "replay", name).stdout
    alone = type_in(b, "replay", name)
    assert alone.returncode == 0
    assert alone.stdout.startswith("bob followed the protocol with this table: ")
    assert "in 1 attempt, " in alone.stdout
    assert "Read from its columns: id, x, y." in alone.stdout
    evidence = tmp_path / "evidence.json"
    written = type_in(a, "replay", name, "--evidence", evidence)
    assert "hashes and signatures, no data" in written.stdout
    assert type_in(a, "replay", name, "--evidence", evidence).returncode == 5
    judged = type_in(b, "replay", name, "--data", b.data, "--against", evidence, "--json")
    (found,) = json.loads(judged.stdout)["replayed"]
    assert (found["party"], found["run"], found["attempts"]) == ("bob", name, 1)
    two = type_in(a, "replay", name, "--partner-state", b.state.folder, "--partner-data", b.data)
    assert [line.split()[0] for line in two.stdout.splitlines()] == ["alice", "Read", "bob", "Read"]
    twice = type_in(a, "replay", name, "--partner-state", b.state.folder, "--against", evidence)
    assert (twice.returncode, "--against is not for" in twice.stderr) == (2, True)
    lonely = type_in(a, "replay", name, "--partner-data", b.data)
    assert (lonely.returncode, "--partner-state" in lonely.stderr) == (2, True)


def test_who_departed_hears_so_with_a_code_of_its_own(tmp_path: Path) -> None:
    both = accountable(cheats.offices(tmp_path, cheats.agreement()))
    with cheats.read_filters():
        done(faults.link(both))
    said = type_in(both[Side.B], "replay", the_run(both))
    assert said.returncode == 15
    assert "bob departed from the protocol in the run" in said.stderr
    assert "message " in said.stderr


def test_receipts_say_whether_a_run_is_accountable(tmp_path: Path) -> None:
    plain, bound = faults.offices(tmp_path / "plain", "plain"), offices(tmp_path / "bound", "plain")
    for both, words in ((plain, "is not accountable"), (bound, "is accountable: for 365 days")):
        done(faults.link(both))
        name, office = the_run(both), both[Side.A]
        assert words in type_in(office, "receipt", "verify", name).stdout
        facts = json.loads(type_in(office, "receipt", "verify", name, "--json").stdout)
        assert facts["accountable"] is (both is bound)
        shown = type_in(office, "receipt", "show", name)
        assert ("Accountable  for 365 days" in shown.stdout) is (both is bound)
        said = json.loads(type_in(office, "receipt", "show", name, "--json").stdout)
        assert (said["version"], "accountable" in said) == (1, both is bound)


def test_an_accountable_run_is_not_forgotten_by_mistake(tmp_path: Path) -> None:
    both = offices(tmp_path, "all-pairs", keep_days=30)
    done(faults.link(both))
    name, office = the_run(both), both[Side.A]
    refused = type_in(office, "forget", name)
    assert (refused.returncode, "you can be asked to replay it until" in refused.stderr) == (2, True)
    assert type_in(office, "replay", name).returncode == 0
    assert type_in(office, "forget", name, "--force").returncode == 0
    assert not office.state.run(name).exists()
    gone = type_in(office, "replay", name)
    assert (gone.returncode, "There is no run" in gone.stderr) == (2, True)


def test_an_old_accountable_run_is_forgotten_as_any_other(tmp_path: Path) -> None:
    both = offices(tmp_path, "all-pairs", keep_days=30)
    done(faults.link(both))
    run = both[Side.A].run
    assert run is not None
    run.change(began="2020-01-01T00:00:00+00:00")
    assert type_in(both[Side.A], "forget", run.manifest.run).returncode == 0


def test_consent_and_check_say_it(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain", keep_days=30)
    office = both[Side.A]
    path = tmp_path / "agreement.toml"
    path.write_text(office.agreement.to_toml())
    checked = accord(tmp_path, "check", str(path), str(office.data), "--party", "A")
    assert "Accountable: for 30 days each side can be asked to replay" in checked.stdout
    from accord.run.link import _offer
    from accord.run.offer import describe

    said = describe(_offer(office.ready()))
    assert "Accountable  for 30 days you can be asked to replay your side" in said
    assert "what you receive, up to " in said
    assert "Accountable" not in describe(_offer(faults.offices(tmp_path / "plain")[Side.A].ready()))
