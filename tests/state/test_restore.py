"""The way back from a copy: whole or not at all, and never a way to forget a run."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from accord.errors import DamagedError, StateError, UnreadableError, UsageError
from accord.run.inspection import inspect_state
from accord.run.stages import Linked
from accord.side import Side
from accord.state import backup
from accord.state import restore as restoring
from accord.state.backup import decode_copy_manifest, write_copy
from accord.state.folder import State, open_state
from accord.state.log import LONG
from accord.state.register import RunChanged, RunForgotten
from accord.state.restore import Forgotten, Restored, restore_copy
from accord.state.runs import hold
from tests.run import faults
from tests.run.faults import Office, Wire
from tests.state.test_backup import NOW, beside, damage_entry, keep, members
from tests.state.test_inspection import change, flip

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def both(tmp_path: Path) -> dict[Side, Office]:
    """Two organisations after one run."""
    made = faults.offices(tmp_path, "plain")
    faults.require_linked(faults.link(made))
    return made


@pytest.fixture
def office(both: dict[Side, Office]) -> Office:
    return both[Side.A]


def restore(office: Office, path: Path, force: bool = False) -> Restored:
    found = restore_copy(office.state.folder, path, NOW, force=force)
    office.state = open_state(office.state.folder, {})
    return found


def everything(folder: Path) -> dict[str, bytes]:
    """What is in a folder, but for locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


# -- there and back ------------------------------------------------------------------------------------------


def test_a_copy_is_private_and_puts_everything_back(office: Office) -> None:
    with office.state.database.writing() as state:
        name = next(iter(state.register.runs))
        state.add(RunChanged(name, {}, {"looks": state.keep(bytes(LONG + 1))}))
    before, names = everything(office.state.folder), beside(office)
    path = keep(office)
    assert path.stat().st_mode & 0o777 == 0o600
    assert beside(office) == names | {path.name}, "nothing else is left there"
    kept = members(path)
    assert kept.keys() == before.keys() | {"manifest"}
    shutil.rmtree(office.state.folder)
    made = restore(office, path)
    assert (made.replaced, made.forgotten, made.gone_on, made.faults) == (None, Forgotten(), (), ())
    after = everything(office.state.folder)
    assert {k: v for k, v in after.items() if k != "state.sqlite"} == {
        k: v for k, v in before.items() if k != "state.sqlite"
    }
    assert inspect_state(office.state).damages == []
    modes = {path.stat().st_mode & 0o077 for path in office.state.folder.rglob("*")}
    assert modes == {0}


def test_the_folder_that_was_there_is_kept_beside(office: Office) -> None:
    path, before = keep(office), everything(office.state.folder)
    first, second = restore(office, path), restore(office, path)
    assert first.replaced == office.state.folder.with_name("state.replaced-2026-11-17")
    assert second.replaced == office.state.folder.with_name("state.replaced-2026-11-17-1")
    assert everything(first.replaced) == before
    assert not any("restoring" in name for name in beside(office))


# -- runs that go on -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("frames", [4, 5, 12, 30])
def test_a_run_goes_on_from_a_copy_wherever_it_was_cut(frames: int, tmp_path: Path) -> None:
    """Also where it was not yet charged."""
    both = faults.offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=frames))
    for office in both.values():
        path = keep(office)
        shutil.rmtree(office.state.folder)
        restore(office, path)
    ending = faults.again(both)
    assert all(isinstance(result, Linked) for result in ending.values())
    assert [inspect_state(office.state).damages for office in both.values()] == [[], []]
    for office in both.values():
        faults.require_one_charge(office)


def test_a_journal_that_went_on_here_is_kept(tmp_path: Path) -> None:
    """Else a partner that is far ahead could not go on, or could ask again what was answered."""
    both = faults.offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=30))
    name, office = faults.the_run(both), both[Side.A]
    early = keep(office)
    journal = office.state.run(name) / "journal"
    short = journal.read_bytes()
    faults.resume(both, name, Wire(frames=40))
    assert journal.read_bytes().startswith(short)
    late = keep(office, "late.tar")
    long = journal.read_bytes()
    assert len(long) > len(short)
    # The log of the later copy, and the journal of the earlier one.
    mixed = rewritten(late, {f"runs/{name}/journal": lambda _: short})
    made = restore(office, mixed)
    assert made.gone_on == (name,)
    assert journal.read_bytes() == long
    with pytest.raises(UsageError, match="does not know all that is here"):
        restore(office, early)
    assert all(isinstance(result, Linked) for result in faults.resume(both, name).values())


# -- going back ----------------------------------------------------------------------------------------------


def test_a_copy_that_knows_less_is_refused_and_says_what(both: dict[Side, Office]) -> None:
    office = both[Side.A]
    path = keep(office)
    faults.require_linked(faults.link(both))
    before = everything(office.state.folder)
    (_, charged) = office.ledger.runs()
    with pytest.raises(UsageError) as refused:
        restore(office, path)
    said = str(refused.value)
    with office.state.database.reading() as read:
        entries = read.register.position.number
    assert "entries of the log are not in it" in said
    assert f"the run {charged.run} with bob on 'table', {charged.at.isoformat()}, charged nothing" in said
    assert "2026-11-17T12:00:00+00:00" in said
    assert everything(office.state.folder) == before
    assert not any("restoring" in name or "replaced" in name for name in beside(office))
    made = restore(office, path, force=True)
    assert [run.run for run in made.forgotten.charged] == [charged.run]
    assert made.entries == entries - made.forgotten.entries
    assert made.replaced
    assert everything(made.replaced) == before


def test_a_copy_that_knows_more_is_taken(both: dict[Side, Office]) -> None:
    office = both[Side.A]
    early = keep(office)
    faults.require_linked(faults.link(both))
    late = keep(office, "late.tar")
    restore(office, early, force=True)
    assert restore(office, late).forgotten == Forgotten()
    assert len(office.ledger.runs()) == 2


def test_a_copy_of_another_log_is_refused(both: dict[Side, Office]) -> None:
    path = keep(both[Side.B])
    with pytest.raises(UsageError, match="does not know all that is here"):
        restore(both[Side.A], path)


def damage_file(office: Office) -> None:
    office.state.database.path.write_bytes(b"no database" * 1000)


def remove_file(office: Office) -> None:
    office.state.database.path.unlink()


def empty_file(office: Office) -> None:
    office.state.database.path.write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_entry, damage_file, remove_file, empty_file])
def test_over_a_damaged_log(both: dict[Side, Office], damage: Callable[[Office], None]) -> None:
    """By what can be read of it, and by the folders of runs."""
    office = both[Side.A]
    early = keep(office)
    faults.require_linked(faults.link(both))
    late, last = keep(office, "late.tar"), office.ledger.runs()[-1].run
    damage(office)
    with pytest.raises(UsageError) as refused:
        restore(office, early)
    assert f"the run {last}" in str(refused.value)
    assert "whatever cannot be read any more" in str(refused.value)
    made = restore(office, late)
    assert made.forgotten.damage
    assert inspect_state(office.state).damages == []


def test_a_charge_of_which_only_a_journal_tells(both: dict[Side, Office]) -> None:
    """The copy knows the run, but not that it was charged: its noise would be drawn again."""
    office = both[Side.A]
    faults.link(both, Wire(frames=2))
    with office.state.database.reading() as read:
        (begun,) = [run.name for run in read.register.runs.values() if run.charged is None]
    path = keep(office)
    faults.require_linked(faults.resume(both, begun))
    remove_file(office)
    with pytest.raises(UsageError, match=f"the run {begun}, of which only its folder tells"):
        restore(office, path)
    made = restore(office, path, force=True)
    assert (made.forgotten.folders, made.gone_on) == ((begun,), ())


def test_not_while_a_run_is_under_way(office: Office) -> None:
    path = keep(office)
    (run,) = (office.state.folder / "runs").iterdir()
    with hold(run), pytest.raises(UsageError, match=f"The run {run.name} is under way here"):
        restore(office, path, force=True)
    restore(office, path)


def test_nobody_adds_to_the_log_meanwhile(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = keep(office), restoring._put_in_place

    def adding(*arguments: Any) -> Any:
        db = sqlite3.connect(office.state.database.path, timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            db.execute("BEGIN IMMEDIATE")
        db.close()
        return real(*arguments)

    monkeypatch.setattr(restoring, "_put_in_place", adding)
    restore(office, path)


def test_what_was_forgotten_here_stays_forgotten(office: Office) -> None:
    path = keep(office)
    with office.state.database.writing() as state:
        state.add(RunForgotten(next(iter(state.register.runs))))
    with pytest.raises(UsageError, match="1 entry of the log is not in it"):
        restore(office, path)


# -- whole or not at all -------------------------------------------------------------------------------------


def without_exchange(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(restoring, "_exchange", lambda *_: False)


@pytest.mark.parametrize("can", [True, False])
@pytest.mark.parametrize("step", range(3))
def test_a_restore_that_fails_changes_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, can: bool, step: int
) -> None:
    path = keep(office)
    before, calls, real = everything(office.state.folder), list[str](), os.rename
    if not can:
        without_exchange(monkeypatch)

    def failing(*arguments: Any) -> None:
        calls.append("rename")
        if len(calls) == step + 1:
            raise OSError(5, "Input/output error")
        real(*arguments)

    monkeypatch.setattr(os, "rename", failing)
    fails = step < (1 if can else 2)
    with pytest.raises(StateError, match=r"Input/output error.*by hand") if fails else nullcontext():
        restore(office, path)
    found = everything(office.state.folder)
    assert found.keys() == before.keys()
    assert inspect_state(State(office.state.folder)).damages == []


def test_where_names_cannot_be_exchanged(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    without_exchange(monkeypatch)
    before = everything(office.state.folder)
    made = restore(office, keep(office))
    assert made.replaced
    assert everything(made.replaced) == before
    assert inspect_state(office.state).damages == []


def killed(*_: object) -> None:
    raise faults.Killed


def test_a_kill_at_any_moment_leaves_a_whole_folder(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    path, before = keep(office), everything(office.state.folder)
    for name in ("_judge", "_compare", "_take_over", "_put_in_place", "_aside"):
        with monkeypatch.context() as patch:
            patch.setattr(restoring, name, killed)
            patch.setattr(shutil, "rmtree", lambda *_, **__: None)
            with pytest.raises(faults.Killed):
                restore(office, path)
        assert everything(office.state.folder) == before, name


def rewritten(path: Path, changes: dict[str, Callable[[bytes], bytes]]) -> Path:
    """A copy, other members of which were written then."""
    made = path.with_name("rewritten.tar")
    with made.open("wb") as file:
        archive = backup._Archive(file, lambda _: None)
        for name, content in members(path).items():
            if name != "manifest":
                archive.add_bytes(name, changes[name](content) if name in changes else content)
        facts = decode_copy_manifest(members(path)["manifest"], path)
        archive.finish(facts.made, facts.head)
    return made


def test_every_bit_of_an_archive_counts(office: Office) -> None:
    """In steps, since there are many: what is in no member and in no head is filling."""
    path = keep(office)
    content, before = path.read_bytes(), everything(office.state.folder)
    with tarfile.open(path) as archive:
        ends = [(info.offset, info.offset_data + info.size) for info in archive]
    for start, end in ends:
        for at in {start, start + 130, start + 512, (start + 512 + end) // 2, end - 1}:
            path.write_bytes(flip(content, at))
            with pytest.raises((DamagedError, UnreadableError)):
                restore(office, path)
    for size in (0, 100, 512, len(content) // 2, ends[-1][1] - 1):
        path.write_bytes(content[:size])
        with pytest.raises((DamagedError, UnreadableError)):
            restore(office, path)
    assert everything(office.state.folder) == before
    assert not any("restoring" in name for name in beside(office))
    path.write_bytes(content)
    restore(office, path)


def test_nothing_follows_the_manifest(office: Office) -> None:
    path = keep(office)
    with path.open("ab") as file:
        file.write(bytes(512) + b"more")
    with pytest.raises(DamagedError, match="not what was written"):
        restore(office, path)


def member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 1) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.size, made.linkname = kind, size, "/etc/passwd"
    return made


ODD = [
    member("../outside"),
    member("/tmp/outside"),
    member("runs/../../outside"),
    member("runs/x/lock"),
    member("runs/x/../../outside"),
    member("runs/x/more/journal"),
    member(f"contents/{'A' * 64}"),
    member("anything"),
    member("identity.pem", tarfile.SYMTYPE, 0),
    member("identity.pem", tarfile.LNKTYPE, 0),
    member("contents", tarfile.DIRTYPE, 0),
    member("identity.pem", tarfile.FIFOTYPE, 0),
    member("identity.pem", size=1 << 20),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda info: f"{info.name[:20]}-{info.type.decode()}")
def test_only_what_a_copy_can_hold_is_unpacked(office: Office, odd: tarfile.TarInfo, tmp_path: Path) -> None:
    path = tmp_path / "odd.tar"
    with tarfile.open(path, "w") as archive:
        for name, content in members(keep(office)).items():
            if name == "manifest":
                archive.addfile(odd, io.BytesIO(bytes(odd.size)))
            if name != odd.name:
                info = member(name, size=len(content))
                archive.addfile(info, io.BytesIO(content))
    names = {path.name for path in tmp_path.rglob("*")}
    with pytest.raises(DamagedError, match="holds what no copy of a state folder does"):
        restore(office, path)
    assert {path.name for path in tmp_path.rglob("*")} == names


def test_a_member_twice(office: Office, tmp_path: Path) -> None:
    path = keep(office)
    with tarfile.open(path.with_name("twice.tar"), "w") as archive:
        for name, content in [*members(path).items()][:1] * 2:
            archive.addfile(member(name, size=len(content)), io.BytesIO(content))
    with pytest.raises(DamagedError):
        restore(office, path.with_name("twice.tar"))


def test_what_is_no_copy(office: Office, tmp_path: Path) -> None:
    for content in (b"", b"text" * 1000):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(UnreadableError, match="no copy of a state folder"):
            restore(office, tmp_path / "x")
    with pytest.raises(UnreadableError, match="No such file"):
        restore(office, tmp_path / "none")
    path = keep(office)
    other = path.read_bytes().replace(b"accord copy 1", b"accord copy 2")
    path.write_bytes(other)
    with pytest.raises(UnreadableError, match="another version"):
        restore(office, path)


# -- damage that is copied -----------------------------------------------------------------------------------


def test_damage_elsewhere_is_copied_and_told(office: Office) -> None:
    """All the rest is worth it; and whoever restores it hears of it first."""
    (run,) = (office.state.folder / "runs").iterdir()
    (run / "journal").write_bytes(flip((run / "journal").read_bytes()))
    with office.state.database.reading() as read:
        digest = read.register.runs[run.name].contents["receipt"]
    change(office.state, "contents", "content", f"WHERE hex(digest) = '{digest.upper()}'")
    path = office.data.with_name("copy.tar")
    receipt, journal = write_copy(State(office.state.folder), path, NOW).faults
    assert receipt == f"the receipt of the run {run.name} is not what was written"
    assert journal.startswith(f"the journal of the run {run.name} is damaged")
    with pytest.raises(UsageError, match="damaged already when it was made"):
        restore(office, path)
    assert len(restore(office, path, force=True).faults) == 1
