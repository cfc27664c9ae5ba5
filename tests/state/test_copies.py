"""Copies of a state folder and the way back: private, whole or not at all, and no way to forget a run."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import tarfile
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from accord.errors import CopyOutputError, DamagedError, StateError, UnreadableError, UsageError
from accord.run.inspection import inspect_state
from accord.side import Side
from accord.state import backup
from accord.state import restore as restoring
from accord.state.backup import write_copy
from accord.state.folder import State, open_state
from accord.state.journal import TAG
from accord.state.log import LONG
from accord.state.register import RunChanged
from accord.state.restore import Forgotten, Restored, restore_copy
from accord.state.runs import hold
from tests.run import faults
from tests.run.faults import Office, Wire
from tests.state.damage import NOW, change, everything, flip

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two organisations after one run."""
    folder = tmp_path_factory.mktemp("linked")
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        faults.require_linked(faults.link(faults.offices(folder, "plain")))
    return folder


@pytest.fixture
def both(linked: Path, tmp_path: Path) -> dict[Side, Office]:
    shutil.copytree(linked, tmp_path, dirs_exist_ok=True)
    return faults.open_offices(tmp_path, "plain")


@pytest.fixture
def office(both: dict[Side, Office]) -> Office:
    return both[Side.A]


def keep(office: Office, name: str = "copy.tar") -> Path:
    path = office.data.with_name(name)
    assert write_copy(State(office.state.folder), path, NOW).faults == ()
    return path


def restore(office: Office, path: Path, force: bool = False) -> Restored:
    found = restore_copy(office.state.folder, path, NOW, force=force)
    office.state = open_state(office.state.folder, {})
    return found


def beside(office: Office) -> set[str]:
    return {path.name for path in office.state.folder.parent.iterdir()}


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {info.name: archive.extractfile(info).read() for info in archive}  # type: ignore[union-attr]


def add_long_content(office: Office) -> str:
    """Add a content with a file of its own to the only run."""
    with office.state.database.writing() as state:
        (name,) = state.register.runs
        state.add(RunChanged(name, {}, {"looks": state.keep(bytes(LONG + 1))}))
    return name


def is_whole(office: Office) -> bool:
    return inspect_state(State(office.state.folder)).damages == []


def fail(*_: object) -> None:
    raise faults.full()


def test_a_copy_overwrites_nothing_and_is_made_whole_or_not_at_all(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = keep(office)
    content = path.read_bytes()
    with pytest.raises(UsageError):
        keep(office)
    assert path.read_bytes() == content
    write_copy(office.state, path, NOW, force=True)
    for state, place in (
        (office.state, office.state.folder / "copy.tar"),
        (office.state, path.parent / "none" / "copy.tar"),
        (State(path.with_name("none")), path.with_name("b.tar")),
    ):
        with pytest.raises((UsageError, CopyOutputError)):
            write_copy(state, place, NOW)
    names = beside(office)
    monkeypatch.setattr(backup._Archive, "finish", fail)
    with pytest.raises(CopyOutputError):
        keep(office, "other.tar")
    assert beside(office) == names


@pytest.mark.parametrize("place", ["contents/", "runs/"])
def test_a_run_that_is_forgotten_meanwhile_is_in_no_copy(
    office: Office, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The copy is begun anew when a file of the run is gone."""
    name, real = add_long_content(office), backup._add_file

    def forget(archive: Any, member: str, path: Path, what: str) -> list[str]:
        if member.startswith(place) and path.exists():
            office.ledger.forget(name)
            office.state.remove_run(name)
        return real(archive, member, path, what)

    monkeypatch.setattr(backup, "_add_file", forget)
    assert members(keep(office)).keys() == {"state.sqlite", "identity.pem", "manifest"}


def test_a_copy_is_private_and_puts_everything_back(office: Office) -> None:
    add_long_content(office)
    before, names = everything(office.state.folder), beside(office)
    path = keep(office)
    assert path.stat().st_mode & 0o777 == 0o600
    assert beside(office) == names | {path.name}, "nothing else is left there"
    assert members(path).keys() == before.keys() | {"manifest"}
    shutil.rmtree(office.state.folder)
    made = restore(office, path)
    assert (made.replaced, made.forgotten, made.gone_on, made.faults) == (None, Forgotten(), (), ())
    after = everything(office.state.folder)
    assert after.keys() == before.keys()
    assert all(after[name] == before[name] for name in after if name != "state.sqlite")
    assert is_whole(office)
    assert {path.stat().st_mode & 0o077 for path in office.state.folder.rglob("*")} == {0}
    replaced = [restore(office, path).replaced for _ in range(2)]
    assert [one.name for one in replaced if one] == [f"state.replaced-2026-11-17{end}" for end in ("", "-1")]
    assert replaced[0]
    assert everything(replaced[0]) == after
    assert not any("restoring" in name for name in beside(office))


def test_a_journal_that_went_on_here_is_kept(tmp_path: Path) -> None:
    """Else a partner that is far ahead could not go on, or could ask again what was answered."""
    both, name = faults.cut_run(tmp_path, 30)
    office = both[Side.A]
    path, journal = keep(office), office.state.run(name) / "journal"
    short = journal.read_bytes()
    faults.resume(both, name, Wire(frames=40))
    long = journal.read_bytes()
    assert long.startswith(short)
    assert len(long) > len(short)
    with pytest.raises(UsageError):
        restore(office, path)
    assert restore(office, path, force=True).gone_on == (name,)
    assert journal.read_bytes() == long
    journal.write_bytes(long + bytes(7))
    faults.require_linked(faults.resume(both, name))
    faults.require_one_charge(office)
    assert is_whole(office)


def test_a_copy_that_knows_less_is_refused_and_says_what(both: dict[Side, Office]) -> None:
    """One that knows more is taken."""
    office = both[Side.A]
    early = keep(office)
    faults.require_linked(faults.link(both))
    late, before, names = keep(office, "late.tar"), everything(office.state.folder), beside(office)
    (_, charged) = office.ledger.runs()
    with pytest.raises(UsageError, match=charged.run):
        restore(office, early)
    assert (everything(office.state.folder), beside(office)) == (before, names)
    made = restore(office, early, force=True)
    assert [run.run for run in made.forgotten.charged] == [charged.run]
    assert len(office.ledger.runs()) == 1
    assert restore(office, late).forgotten == Forgotten()
    assert len(office.ledger.runs()) == 2
    # Neither the copy of another log, nor one from before a run was forgotten.
    office.ledger.forget(charged.run)
    for path in (keep(both[Side.B]), late):
        with pytest.raises(UsageError):
            restore(office, path)


@pytest.mark.parametrize("damaged", [None, b"no database" * 1000, b""])
def test_over_a_damaged_log(both: dict[Side, Office], damaged: bytes | None) -> None:
    """By what can be read of it, and by the folders of runs. A damaged log itself is not copied."""
    office = both[Side.A]
    early = keep(office)
    faults.require_linked(faults.link(both))
    late, last = keep(office, "late.tar"), office.ledger.runs()[-1].run
    if damaged is None:
        change(office.state, "entries", "body", "WHERE number = 2")
    else:
        office.state.database.path.write_bytes(damaged)
    names = beside(office)
    if damaged != b"":
        with pytest.raises(DamagedError):
            keep(office, "damaged.tar")
        assert beside(office) == names
    with pytest.raises(UsageError, match=last):
        restore(office, early)
    assert restore(office, late).forgotten.damage
    assert is_whole(office)


def test_a_charge_of_which_only_a_journal_tells(both: dict[Side, Office]) -> None:
    """The copy knows the run, but not its charge. Its journal is empty there: what it holds by now may
    follow from noise that the copy lacks."""
    office = both[Side.A]
    faults.link(both, Wire(frames=2))
    with office.state.database.reading() as read:
        (name,) = [run.name for run in read.register.runs.values() if run.charged is None]
    with (office.state.run(name) / "journal").open("ab") as file:
        file.write(b"more")
    path = keep(office)
    assert members(path)[f"runs/{name}/journal"] == TAG
    (office.state.run(name) / "journal").write_bytes(TAG)
    faults.require_linked(faults.resume(both, name))
    office.state.database.path.unlink()
    with pytest.raises(UsageError, match=name):
        restore(office, path)
    made = restore(office, path, force=True)
    assert (made.forgotten.folders, made.gone_on) == ((name,), ())


def test_nothing_happens_beside_a_restore(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is under way, and nothing is added to the log."""
    path, real = keep(office), restoring._put_in_place
    (run,) = (office.state.folder / "runs").iterdir()
    with hold(run), pytest.raises(UsageError):
        restore(office, path, force=True)

    def adding(*arguments: Any) -> Any:
        db = sqlite3.connect(office.state.database.path, timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            db.execute("BEGIN IMMEDIATE")
        db.close()
        return real(*arguments)

    monkeypatch.setattr(restoring, "_put_in_place", adding)
    restore(office, path)


@pytest.mark.parametrize("can", [True, False])
def test_a_restore_that_fails_changes_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, can: bool
) -> None:
    """Also where two names cannot be exchanged at once."""
    path, real = keep(office), os.rename
    before = everything(office.state.folder)
    if not can:
        monkeypatch.setattr(restoring, "_exchange", lambda *_: False)
    for step in range(1 if can else 2):
        renames = chain([real] * step, [fail], repeat(real))
        monkeypatch.setattr(os, "rename", lambda *given, renames=renames: next(renames)(*given))
        with pytest.raises(StateError):
            restore(office, path)
        assert everything(office.state.folder) == before
        assert not any("restoring" in name for name in beside(office))
    monkeypatch.setattr(os, "rename", real)
    made = restore(office, path)
    assert made.replaced
    assert everything(made.replaced) == before
    assert is_whole(office)


def member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 1) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.size, made.linkname = kind, size, "/etc/passwd"
    return made


ODD = [
    *(member(f"{where}outside") for where in ("../", "/tmp/", "runs/../../", "runs/x/../../")),
    *(member(name) for name in ("runs/x/lock", "runs/x/more/journal", "contents/A", "anything")),
    *(member("contents", kind, 0) for kind in (tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE)),
    *(member("identity.pem", size=size) for size in (1, 1 << 20)),
]


def test_only_what_was_written_is_unpacked(office: Office, tmp_path: Path) -> None:
    """Every bit counts, in steps, and a copy holds no other members and each of its own once."""
    path = keep(office)
    content, before = path.read_bytes(), everything(office.state.folder)
    with tarfile.open(path) as archive:
        ends = [(info.offset, info.offset_data + info.size) for info in archive]
    bent = [flip(content, at) for start, end in ends for at in (start, start + 130, start + 512, end - 1)]
    bent += [content[:size] for size in (0, 100, 512, len(content) // 2, ends[-1][1] - 1)]
    bent += [content + bytes(512) + b"more", content.replace(b"accord copy 1", b"accord copy 2")]
    for odd in ODD:
        file = io.BytesIO(content)
        with tarfile.open(fileobj=file, mode="w") as archive:
            for name, body in [*members(path).items()][:-1]:
                archive.addfile(member(name, size=len(body)), io.BytesIO(body))
            archive.addfile(odd, io.BytesIO(bytes(odd.size)))
        bent.append(file.getvalue()[: -2 * tarfile.BLOCKSIZE] + content[ends[-1][0] :])
    names = {path.name for path in tmp_path.rglob("*")}
    for damaged in bent:
        path.write_bytes(damaged)
        with pytest.raises((DamagedError, UnreadableError)):
            restore(office, path)
        assert {path.name for path in tmp_path.rglob("*")} == names
    with pytest.raises(UnreadableError):
        restore(office, path.with_name("none"))
    assert everything(office.state.folder) == before
    path.write_bytes(content)
    restore(office, path)


def test_damage_elsewhere_is_copied_and_told(office: Office) -> None:
    """All the rest is worth it; and its owner hears of it before it is restored."""
    (run,) = (office.state.folder / "runs").iterdir()
    (run / "journal").write_bytes(flip((run / "journal").read_bytes()))
    with office.state.database.reading() as read:
        digest = read.register.runs[run.name].contents["receipt"]
    change(office.state, "contents", "content", f"WHERE hex(digest) = '{digest.upper()}'")
    path = office.data.with_name("copy.tar")
    receipt, journal = write_copy(State(office.state.folder), path, NOW).faults
    assert all(run.name in fault for fault in (receipt, journal))
    with pytest.raises(UsageError):
        restore(office, path)
    assert len(restore(office, path, force=True).faults) == 1
