"""Whether a run will fit on the disk: what is predicted, and when its owner is warned."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import accord
from accord.errors import DeclinedError, RefusedError
from accord.fields.load import load_records
from accord.forecast import room
from accord.run.offer import Offer, describe
from accord.side import Side
from accord.state.runs import open_run
from tests.protocols.worlds import agreement
from tests.run import worlds

AGREED = agreement()


def predicted(rows: int, length: int) -> tuple[int, int]:
    cells = {
        "id": [f"{i}" for i in range(rows)],
        "x": [1] * rows,
        "y": [2] * rows,
        "note": ["n" * length] * rows,
    }
    records = load_records(pa.table(cells), AGREED.fields, AGREED.salt, ["note"])
    return room.predict(AGREED.task, Side.A, records)


def test_a_prediction_grows_with_records_and_with_what_is_disclosed() -> None:
    state, out = predicted(100, 10)
    assert predicted(200, 10) > (state, out)
    more_state, more_out = predicted(100, 1010)
    assert (more_state - state, more_out - out) == (100_000, 200_000)


def test_a_prediction_covers_what_a_run_keeps(tmp_path: Path, quick: None) -> None:
    one, two = worlds.introduce(tmp_path, AGREED)
    linked, _ = worlds.link_both(one, two, AGREED)
    rows = worlds.table(worlds.A_ROWS, "a")
    records = load_records(rows, AGREED.fields, AGREED.salt, AGREED.disclosed(Side.A))
    run = open_run(one.state, linked.run)
    kept = len(run.read("slots")) + (run.path / "journal").stat().st_size
    # Frames and tags of a small run are more than its records.
    assert kept < room.predict(AGREED.task, Side.A, records)[0] + 4096


@pytest.mark.parametrize(("free", "warned"), [(0, True), (1 << 40, False)])
def test_the_owner_is_warned_before_the_partner_is_called(
    free: int, warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "free_bytes", lambda folder: free)
    one, _ = worlds.introduce(tmp_path, AGREED)
    offers: list[Offer] = []

    def decline(offer: Offer) -> bool:
        offers.append(offer)
        return False

    given = worlds.options(one, worlds.A_ROWS, AGREED) | {"listen": "127.0.0.1:0", "confirm": decline}
    with pytest.raises(DeclinedError):
        accord.link(**given, out=tmp_path / "out.csv", tell=one.told.append)
    (offer,) = offers
    assert bool(offer.room) is warned
    assert (f"Warning: {one.state.folder} has 0 bytes left" in describe(offer)) is warned
    assert not one.told


def test_folders_on_other_disks_are_judged_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = load_records(worlds.table(worlds.A_ROWS, "a"), AGREED.fields, AGREED.salt)
    state, out = tmp_path / "state", tmp_path / "results"
    state.mkdir()
    out.mkdir()
    kept, written = room.predict(AGREED.task, Side.A, records)

    def warnings(free: dict[Path, int]) -> int:
        monkeypatch.setattr(room, "free_bytes", free.__getitem__)
        return len(room.warn_of_room(AGREED.task, Side.A, records, state, out / "out.csv"))

    assert warnings({state: kept + written}) == 0
    assert warnings({state: kept + written - 1}) == 1
    monkeypatch.setattr(room, "_device", lambda folder: len(str(folder)))
    assert warnings({state: kept, out: written}) == 0
    assert warnings({state: kept - 1, out: written - 1}) == 2


def test_more_pairs_of_slots_than_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A match is kept as one number of 64 bits, whatever memory there is."""
    monkeypatch.setattr(os, "sysconf", lambda name: 1 << 40)
    task = AGREED.task
    size = 1 << 30
    most = room.most_slots(task, Side.A, size) * room.most_slots(task, Side.B, size)
    assert most < 1 << 63
    room.require_room(task, Side.A, "bob", size, size)
    monkeypatch.setattr(room, "MOST_PAIRS", most)
    room.require_room(task, Side.A, "bob", size, size)
    with pytest.raises(RefusedError, match="more pairs of slots than can be told apart"):
        room.require_room(task, Side.A, "bob", size, size + 1)
    monkeypatch.undo()
    assert np.iinfo(np.int64).max == room.MOST_PAIRS
