"""Two organisations whose tables have no ids: what a partner sees tells nothing of rows that do not match."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from accord.errors import DataError, SnapshotError
from accord.run.stages import Linked
from accord.side import Side
from accord.table.sources.opening import ids_file
from tests.fields.made_ids import read_made
from tests.run import faults
from tests.run.faults import Office, Wire

pytestmark = pytest.mark.usefixtures("quick")

NEIGHBOURS = {
    "first": (0, (5, 9)),
    "in the middle": (4, (5, 9)),
    "last": (8, (5, 9)),
    "the same as another": (2, (9, 2)),
}
"""One row more, which matches nothing, and where."""


def offices(folder: Path, kind: str) -> dict[Side, Office]:
    return faults.drop_ids(faults.offices(folder, kind))


def link(both: dict[Side, Office], wire: Wire | None = None) -> None:
    for result in faults.link(both, wire).values():
        if isinstance(result, BaseException):
            raise result
        assert isinstance(result, Linked)


def pairs_of(office: Office) -> list[tuple[str, str]]:
    with office.out.open(newline="") as file:
        return [(pair["id_a"], pair["id_b"]) for pair in csv.DictReader(file)]


@pytest.mark.parametrize("kind", ["greedy", "plain", "all-pairs", "psi"])
def test_ids_in_messages_are_those_of_the_file_of_what_matches(kind: str, tmp_path: Path) -> None:
    both, wire = offices(tmp_path, kind), Wire()
    link(both, wire)
    found = pairs_of(both[Side.A])
    assert pairs_of(both[Side.B]) == found == sorted(found)
    for place, side in enumerate(Side):
        told = b"".join(frame for sender, frame in wire.passed if sender is side)
        matched = {pair[place] for pair in found}
        assert {id for id in read_made(both[side].data).values() if id.encode() in told} == matched


@pytest.mark.parametrize("kind", ["plain", "all-pairs"])
def test_neighbouring_tables_are_the_same_to_a_partner(kind: str, tmp_path: Path) -> None:
    """Rows that match have their ids, whatever row stands before them; a row's number would differ."""
    base = offices(tmp_path / "base", kind)
    link(base)
    for number, (place, (x, y)) in enumerate(NEIGHBOURS.values()):
        both = offices(tmp_path / str(number), kind)
        for side in Side:
            shutil.copy(ids_file(base[side].data), ids_file(both[side].data))
        lines = both[Side.A].data.read_text().splitlines()
        lines.insert(1 + place, f"{x},{y}")
        both[Side.A].data.write_text("\n".join(lines) + "\n")
        link(both)
        assert both[Side.B].out.read_bytes() == base[Side.B].out.read_bytes()
        assert len(read_made(both[Side.A].data)) == 9


def test_a_table_that_is_sorted_is_the_same_snapshot_and_one_that_changed_is_not(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    link(both)
    found = pairs_of(both[Side.A])
    header, *rows = both[Side.A].data.read_text().splitlines()
    both[Side.A].data.write_text("\n".join([header, *reversed(rows)]) + "\n")
    link(both)
    assert pairs_of(both[Side.A]) == found
    both[Side.A].data.write_text("\n".join([header, *rows[1:], "5,9"]) + "\n")
    with pytest.raises(SnapshotError):
        link(both)


def test_a_run_that_is_resumed_makes_no_ids(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    faults.link(both, Wire(frames=40))
    name = faults.common_run(both)
    assert name
    before = ids_file(both[Side.A].data).read_bytes()
    rows = both[Side.A].data.read_text()
    both[Side.A].data.write_text(rows + "5,9\n")
    with pytest.raises(DataError, match="row 9, column 'id': has none in the file of ids"):
        faults.resume(both, name)
    assert ids_file(both[Side.A].data).read_bytes() == before
    both[Side.A].data.write_text(rows)
    assert all(isinstance(result, Linked) for result in faults.resume(both, name).values())
