"""Workers in a later run of a series: from the same slots they come to the same as one process alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.run.receipt import read_receipt
from accord.side import Side
from accord.state.runs import list_runs
from tests.protocols.parts.test_batches import Table
from tests.run import faults
from tests.run.faults import Wire
from tests.run.test_series_cuts import SeriesOffice, copied, go_on, offices, pairs, unfinished
from tests.workers.test_workers import Meeting, meet

pytestmark = pytest.mark.usefixtures("quick")

ROWS = {Side.A: faults.A_ROWS, Side.B: [*faults.B_ROWS, (2, 4)]}
FIRST = {Side.A: [0, 1, 2, 3, 4, 5], Side.B: [0, 1, 2, 4, 5]}
LATER = {Side.A: [1, 2, 3, 4, 5, 6, 7], Side.B: [0, 1, 2, 3, 4, 5, 7, 8, 9]}
"""Which rows the tables of the two runs have. One of A's is gone in the second, in which new ones of A match
old ones of B, new ones of B old ones of A, and one of these a record that was disclosed in the first."""
EXPECTED = {("A6", "B5"), ("A4", "B3"), ("A1", "B9")}
CHARGED = 9
"""Frames after which both have charged and kept their slots, and nothing was compared."""


def table(side: Side, rows: list[int]) -> Table:
    return {f"{side.value}{row}": ROWS[side][row] for row in rows}


def begun(folder: Path, kind: str) -> tuple[dict[Side, SeriesOffice], str]:
    """Two organisations in the second run of a series, which was cut before its first comparison."""
    both = offices(folder, kind)
    for side, office in both.items():
        office.hold(table(side, FIRST[side]))
    assert pairs(go_on(both, Wire(), resuming=False))
    for side, office in both.items():
        office.hold(table(side, LATER[side]))
    go_on(both, Wire(frames=CHARGED), resuming=False)
    run = unfinished(both)
    assert run is not None
    return both, run


def taken(both: dict[Side, SeriesOffice], run: str, folder: Path) -> dict[Side, SeriesOffice]:
    """A copy of both in which the run goes on with files of its own."""
    found = copied(both, folder)
    for office in found.values():
        office.out.unlink(missing_ok=True)
        (kept,) = (one for one in list_runs(office.state)[0] if one.manifest.run == run)
        asked = replace(kept.manifest.request, data=str(office.data), out=str(office.out))
        kept.change(request=asked)
    return found


def came_to(both: dict[Side, SeriesOffice], run: str) -> tuple[dict[str, Any], str]:
    """What both signed, but for times, logs and a digest under a key that is drawn anew; and the output."""
    signed = {office.state.run(run).joinpath("receipt").read_bytes() for office in both.values()}
    assert len(signed) == 1, "both have the same receipt"
    facts = dict(read_receipt(both[Side.A].state.run(run) / "receipt").facts)
    del facts["output"]
    facts["parties"] = {
        side: {name: value for name, value in party.items() if name not in ("time", "log")}
        for side, party in facts["parties"].items()
    }
    (out,) = {office.out.read_text() for office in both.values()}
    return facts, out


def run_with(both: dict[Side, SeriesOffice], run: str, workers: int) -> Meeting:
    everybody = dict[Side, faults.Office](both)
    meeting = meet(everybody, run, dict.fromkeys(Side, workers))
    assert [end[0] for end in meeting.ends.values()] == [0, 0], meeting.ends
    return meeting


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "greedy"])
def test_two_workers_come_to_what_one_comes_to(tmp_path: Path, kind: str) -> None:
    both, run = begun(tmp_path / "begun", kind)
    found = []
    for workers in (1, 2):
        copy = taken(both, run, tmp_path / str(workers))
        meeting = run_with(copy, run, workers)
        for process in meeting.both.values():
            assert len(process.events[-1]["peak_mib"]) == (1 if workers == 1 else 1 + workers)
        for office in copy.values():
            assert [row.paid for row in office.ledger.runs()].count(True) == 1
        found.append(came_to(copy, run))
    assert found[0] == found[1]
    facts, out = found[0]
    assert facts["series"]["run"] == 2
    assert facts["series"]["met"] == {"A": 1, "B": 1}
    assert facts["comparisons"] > 0
    ids = {tuple(line.replace('"', "").split(",")[:2]) for line in out.splitlines()}
    assert ids - {("id_a", "id_b")} == EXPECTED
