"""A full key leaves out the same records in all runs of an installation; their ranks are new in each."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.entropy import System
from accord.errors import DamagedError
from accord.notices import tell_nobody
from accord.peer.partners import add_partner
from accord.privacy.budget import Budget
from accord.protocols.routed import Routed
from accord.protocols.routed_pairs import PairPasses
from accord.run import request
from accord.run.inspection import inspect_state
from accord.run.link import get_ready
from accord.secure.ideal import IdealEngine
from accord.side import Side
from accord.state.copies import restore_copy, write_copy
from accord.state.folder import open_state
from accord.state.installation import find_placing_key
from tests.run import faults
from tests.run.faults import Office, Wire
from tests.state.damage import NOW, change

pytestmark = pytest.mark.usefixtures("quick")

KEYS, OF_ONE = 12, 4
SIZE = KEYS * OF_ONE
"""Records, four with each x. Two installations leave out the same with probability 6⁻¹² at a cap of 2, and
two runs have the same ranks with no more."""


def agreed(cap: int = 2, **changes: Any) -> Agreement:
    plain = faults.agreement("routed").model_dump(mode="json")
    plain["blocking"] = {"pass": [{"parts": [{"kind": "key", "field": "x"}], "cap": cap}]}
    return Agreement.model_validate(plain | changes)


def crowd(folder: Path) -> dict[Side, Office]:
    both = faults.offices(folder, "routed")
    for side, office in both.items():
        office.agreement = agreed()
        rows = (f"{side.value}{i},{i % KEYS},{i // KEYS}\n" for i in range(SIZE))
        office.data.write_text("id,x,y\n" + "".join(rows))
    return both


@pytest.fixture(autouse=True)
def all_may_be_uncovered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "UNCOVERED", 1)


@pytest.fixture
def both(tmp_path: Path) -> dict[Side, Office]:
    return crowd(tmp_path)


@pytest.fixture
def office(both: dict[Side, Office]) -> Office:
    return both[Side.A]


def ranks(office: Office, agreement: Agreement | None = None, **asked: Any) -> dict[str, int]:
    """The rank of every record that a new run places, by its id."""
    chosen = agreement or office.agreement
    ready = get_ready(office.request(agreement=chosen, **asked), office.state, tell_nobody)
    task, nothing = chosen.task, np.zeros(0, np.int64)
    mine = ready.mine(task.protocol.make_slots(task, ready.side, ready.records, nothing, System()), SIZE)
    assert isinstance(task.protocol, Routed)
    (placed,) = PairPasses(task, task.protocol.lanes(task, (SIZE, SIZE)), mine, IdealEngine()).placings
    ids = ready.records.ids.to_pylist()
    assert mine.records.size == len(ids) == SIZE
    return {ids[record]: rank for record, rank in zip(placed.record, placed.rank.tolist(), strict=True)}


def placed(office: Office, agreement: Agreement | None = None, **asked: Any) -> set[str]:
    return set(ranks(office, agreement, **asked))


def renamed() -> Agreement:
    """Another salt, and other names for the fields, the pass and what is read; another rule."""
    number = {"type": "number", "min": 0, "max": 31, "step": 1, "missing": "differs"}
    fields = {
        "across": number | {"from": "x", "clean": ["spaces"]},
        "words": {"type": "text", "encoder": "hash", "from": "x"},
        "up": number | {"from": "y"},
    }
    parts = [{"kind": "key", "field": ["words", "across"]}]
    blocking = {"pass": [{"name": "by place", "parts": parts, "cap": 2}]}
    disclose: dict[str, Any] = {"A": [], "B": []}
    return agreed(salt="11111111", fields=fields, rule="same(words)", blocking=blocking, disclose=disclose)


def test_the_same_records_are_left_out_whatever_is_agreed(both: dict[Side, Office]) -> None:
    """Whatever the agreement, the account, the partner, the side and the order of rows. A key of other
    columns, too: else a partner could propose one key after the other, and average."""
    office = both[Side.A]
    first = placed(office)
    assert len(first) == 2 * KEYS
    for other in (agreed(), renamed(), agreed(output={"ids": "pseudonyms"}), agreed(output={"to": "A"})):
        assert placed(office, other) == first
    office.ledger.set_budget("other", Budget())
    assert placed(office, dataset="other", snapshot=None) == first
    add_partner(office.state, "carol", replace(faults.card(both[Side.B]), name="carol"))
    for parties in ({"A": "alice", "B": "carol"}, {"A": "carol", "B": "alice"}):
        assert placed(office, agreed(parties=parties), partner="carol") == first
    fields = office.agreement.model_dump(mode="json")["fields"]
    head, *lines = office.data.read_text().splitlines()
    office.data.write_text("\n".join([f"{head},z", *(f"{line},7" for line in reversed(lines))]) + "\n")
    parts = [{"kind": "key", "field": "x"}, {"kind": "key", "field": "z"}]
    other = agreed(fields=fields | {"z": fields["x"]}, blocking={"pass": [{"parts": parts, "cap": 2}]})
    assert placed(office, other) == first


def test_ids_that_are_made_leave_out_the_same(both: dict[Side, Office]) -> None:
    office = faults.drop_ids(both)[Side.A]
    first = placed(office)
    head, *lines = office.data.read_text().splitlines()
    office.data.write_text("\n".join([head, *reversed(lines)]) + "\n")
    assert placed(office) == first


def test_a_larger_cap_places_those_of_a_smaller_one(office: Office, tmp_path: Path) -> None:
    """Ranks are new in every run, and another installation draws others: false alarm 2 · 6⁻¹²."""
    one, two, three, again = (ranks(office, agreed(cap)) for cap in (1, 2, 3, 3))
    assert one.keys() < two.keys() < three.keys() == again.keys()
    assert (len(one), len(three)) == (KEYS, 3 * KEYS)
    assert three != again
    assert placed(crowd(tmp_path / "other")[Side.A]) != set(two)


def test_whole_runs_find_the_same_pairs_as_one_that_was_cut(both: dict[Side, Office]) -> None:
    """Both sides leave out of full keys what they left out before, also where a run was forgotten."""
    faults.link(both, Wire(frames=30))
    name = faults.the_run(both)
    faults.require_linked(faults.resume(both, name))
    found = both[Side.A].out.read_bytes()
    assert 1 < found.count(b"\n") - 1 < SIZE
    both[Side.A].ledger.forget(name)
    faults.require_linked(faults.link(both))
    assert both[Side.A].out.read_bytes() == found


def restore(office: Office, path: Path, force: bool = False) -> None:
    restore_copy(office.state, path, NOW, force=force)
    office.state = open_state(office.state.folder, {})
    assert inspect_state(office.state).damages == ()


def test_a_copy_brings_the_key_back(office: Office, tmp_path: Path) -> None:
    """The key is that of the copy, also where another is here."""
    first = placed(office)
    write_copy(office.state, tmp_path / "copy")
    shutil.rmtree(office.state.folder)
    restore(office, tmp_path / "copy")
    assert placed(office) == first
    other = crowd(tmp_path / "other")[Side.A]
    theirs = placed(other)
    write_copy(other.state, tmp_path / "theirs")
    restore(office, tmp_path / "theirs")
    assert placed(office) == theirs != first


def test_a_key_is_drawn_once_where_records_are_placed_and_never_replaced(office: Office) -> None:
    get_ready(office.request(agreement=faults.agreement("plain")), office.state, tell_nobody)
    with office.state.store.reading() as state:
        assert not state.has("part", "name = 'placing key'")
    made = {find_placing_key(open_state(office.state.folder, {}).store, System()) for _ in range(3)}
    assert len(made) == 1
    change(office.state, "part", "content", "WHERE name = 'placing key'")
    assert inspect_state(office.state).damages
    with pytest.raises(DamagedError):
        placed(office)
