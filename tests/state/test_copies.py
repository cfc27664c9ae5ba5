"""A copy of the state, the way back, and what `accord state check` finds."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from accord.errors import DamagedError, UnreadableError, UsageError
from accord.peer.identity import own_card
from accord.run.inspection import inspect_state
from accord.side import Side
from accord.state.copies import list_forgotten, restore_copy, write_copy
from accord.state.folder import State
from accord.state.ledger import Ledger
from accord.state.runs import open_run
from tests.run import faults
from tests.run.faults import Office
from tests.state.damage import change, flip

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
pytestmark = pytest.mark.usefixtures("quick")


def linked(folder: Path) -> tuple[dict[Side, Office], State]:
    """Two offices with a run that is done, and the state of one."""
    both = faults.offices(folder)
    faults.require_linked(faults.link(both))
    return both, both[Side.A].state


def link_again(both: dict[Side, Office]) -> str:
    faults.require_linked(faults.link(both))
    return both[Side.A].ledger.runs()[-1].run


def test_a_copy_is_the_way_back(tmp_path: Path) -> None:
    """Also to another place, and with a run that was cut, which both go on with."""
    both = faults.offices(tmp_path)
    faults.link(both, faults.Wire(frames=40))
    state, copy = both[Side.A].state, tmp_path / "copy"
    name = faults.the_run(both)
    runs, octets = write_copy(state, copy)
    assert (runs, octets) == (1, copy.stat().st_size)
    assert copy.stat().st_mode & 0o777 == 0o600
    state.store.path.unlink()
    made = restore_copy(state, copy, NOW)
    assert (made.runs, made.replaced, made.forgotten, made.damage) == (1, None, (), "")
    elsewhere = State(tmp_path / "elsewhere")
    restore_copy(elsewhere, copy, NOW)
    assert own_card(elsewhere) == own_card(state)
    faults.require_linked(faults.resume(both, name))
    # What was here is kept beside.
    made = restore_copy(state, copy, NOW)
    assert made.replaced is not None
    assert not open_run(state, name).manifest.done
    assert [path.name for path in state.folder.iterdir() if path.name[0] == "."] == []


def test_a_copy_that_does_not_know_all_is_refused(tmp_path: Path) -> None:
    """Unless its owner insists, who is told what is forgotten."""
    both, state = linked(tmp_path)
    write_copy(state, copy := tmp_path / "copy")
    name = link_again(both)
    with pytest.raises(UsageError) as caught:
        restore_copy(state, copy, NOW)
    assert name in str(caught.value)
    assert len(Ledger(state.store).runs()) == 2
    made = restore_copy(state, copy, NOW, force=True)
    assert [run["name"] for run in made.forgotten] == [name]
    assert [name in line for line in list_forgotten(made.forgotten)] == [True]
    assert len(Ledger(state.store).runs()) == 1
    assert made.replaced is not None
    assert restore_copy(state, made.replaced, NOW).runs == 2


def test_nothing_is_restored_from_damage_or_under_a_run(tmp_path: Path) -> None:
    both, state = linked(tmp_path)
    write_copy(state, copy := tmp_path / "copy")
    whole, here = copy.read_bytes(), state.store.path.read_bytes()
    card = whole.index(b"BEGIN CERTIFICATE")
    for content in (flip(whole, card), whole[:-5000], b"", b"text" * 2000):
        copy.write_bytes(content)
        with pytest.raises(DamagedError):
            restore_copy(state, copy, NOW, force=True)
    with pytest.raises(UnreadableError):
        restore_copy(state, tmp_path / "none", NOW)
    copy.write_bytes(whole)
    run = both[Side.A].run
    assert run is not None
    with run.lock(), pytest.raises(UsageError):
        restore_copy(state, copy, NOW)
    assert state.store.path.read_bytes() == here
    change(state, "run", "at", "", lambda old: "never")
    with pytest.raises(UsageError):
        restore_copy(state, copy, NOW)
    assert restore_copy(state, copy, NOW, force=True).damage
    assert not inspect_state(state).damages


def test_a_copy_has_a_place_of_its_own(tmp_path: Path) -> None:
    _, state = linked(tmp_path)
    taken = tmp_path / "taken"
    taken.write_bytes(b"mine")
    for place in (state.folder / "copy", tmp_path, taken):
        with pytest.raises(UsageError):
            write_copy(state, place)
    assert taken.read_bytes() == b"mine"
    write_copy(state, taken, force=True)
    with pytest.raises(UsageError):
        write_copy(State(tmp_path / "empty"), tmp_path / "other")


CELLS = [
    *(("run", "event", ""), ("release", "key", ""), ("account", "shown", ""), ("partner", "card", "")),
    *(("step", "content", "WHERE number = 1"), ("part", "content", "WHERE name = 'identity'")),
    *(("part", "content", "WHERE name = 'slots'"), ("part", "content", "WHERE name = 'noise'")),
]


@pytest.mark.parametrize(("table", "column", "where"), CELLS)
def test_every_damaged_row_is_told(table: str, column: str, where: str, tmp_path: Path) -> None:
    _, state = linked(tmp_path)
    assert not inspect_state(state).damages

    def other(old: bytes | str) -> bytes | str:
        return flip(old) if isinstance(old, bytes) else old + "x"

    change(state, table, column, where, other)
    (damage,) = inspect_state(state).damages
    assert f"'{table}'" in damage


def test_what_is_written_as_it_should_and_is_wrong_is_told(tmp_path: Path) -> None:
    """By a program that knows how: a receipt of another run, an identity that is none."""
    both, state = linked(tmp_path)
    first, second = both[Side.A].ledger.runs()[0].run, link_again(both)
    with state.store.writing() as opened:
        receipt = opened.content("part", first, "receipt")
        assert receipt is not None
        opened.keep("part", second, "receipt", (receipt,))
        opened.keep("part", "", "identity", (b"none",))
        opened.keep("part", first, "manifest", (b"{}",))
    assert len(inspect_state(state).damages) == 3
