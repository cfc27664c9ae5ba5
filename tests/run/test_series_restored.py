"""Series of which one side has another state than it had: nothing is drawn, matched or listed twice."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from accord.agreement.document import Agreement
from accord.errors import RefusedError, SeriesError, StateError, UsageError
from accord.run.series_pairs import all_pairs, list_series
from accord.side import Side
from accord.state.folder import open_state
from accord.state.runs import find_waiting, remove_leftovers
from accord.table.layout import Layout
from tests.run import faults
from tests.run.faults import Wire
from tests.run.test_series_cuts import SeriesOffice, go_on, go_whole, hold, offices, pairs

pytestmark = pytest.mark.usefixtures("quick")


def test_a_restored_copy_does_not_draw_a_batch_again(tmp_path: Path) -> None:
    """The run was cut when the partner had the counts; the copy is of before."""
    both = offices(tmp_path)
    hold(both, 0)
    own = both[Side.A]
    copy = tmp_path / "copy"
    shutil.copytree(own.state.folder, copy)
    go_on(both, Wire(frames=20), resuming=True)
    (told,) = find_waiting(both[Side.B].state)
    assert told.series_run == 1
    shutil.rmtree(own.state.folder)
    shutil.copytree(copy, own.state.folder)
    both[Side.A] = replace(own, state=open_state(own.state.folder, {}))
    ending = go_on(both, Wire(), resuming=False)
    assert isinstance(ending[Side.A], RefusedError)
    assert "an older copy, and would draw noise again that bob has seen" in str(ending[Side.A])
    assert both[Side.A].looks == []


def test_a_ledger_that_does_not_know_a_run_is_an_older_one(tmp_path: Path) -> None:
    both = offices(tmp_path)
    hold(both, 0)
    own = both[Side.A]
    path = own.state.database.path
    before = path.read_bytes()
    go_on(both, Wire(frames=20), resuming=True)
    path.write_bytes(before)
    with pytest.raises(StateError, match=r"does not know the run \w+, whose folder is here: it is an older"):
        remove_leftovers(open_state(own.state.folder, {}))


def test_a_run_that_was_linked_again_is_not_resumed(tmp_path: Path) -> None:
    both = offices(tmp_path)
    hold(both, 0)
    go_on(both, Wire(frames=9), resuming=True)
    (cut,) = (run.run for run in find_waiting(both[Side.A].state))
    assert pairs(go_on(both, Wire(), resuming=False)) == {("p", "u")}
    for office in both.values():
        assert find_waiting(office.state) == []
        (one,) = list_series(office.state)
        assert (one.runs, one.waiting) == (1, ())
    for office in both.values():
        office.out.unlink()
    with pytest.raises(SeriesError, match="was linked again since, and is done"):
        faults.resume(dict[Side, faults.Office](both), cut, Wire())
    assert len(all_pairs(both[Side.A].state, "monthly", None, None)) == 1


def test_pairs_of_a_run_that_is_missing_are_not_left_out_unsaid(tmp_path: Path) -> None:
    both = offices(tmp_path)
    for number in (0, 1):
        go_whole(both, number)
    state = both[Side.A].state
    both[Side.A].ledger.forget(both[Side.A].ledger.runs()[0].run)
    with pytest.raises(UsageError, match="of 2, run 1 is missing"):
        all_pairs(state, "monthly", None, None)


def under(office: SeriesOffice, **changes: object) -> SeriesOffice:
    agreed = Agreement.model_validate(office.agreement.model_dump(mode="json") | changes)
    return replace(office, agreement=agreed)


def test_another_agreement_is_named_before_the_table_is_judged(tmp_path: Path) -> None:
    """With another salt every record looks new: that is not what is wrong."""
    both = offices(tmp_path)
    go_whole(both, 0)
    with pytest.raises(SeriesError, match="begun under another agreement"):
        under(both[Side.A], salt="0123456789").ready()


def test_a_series_goes_on_with_another_bound_on_matches(tmp_path: Path) -> None:
    """One that was reached would be reached again, for ever."""
    both = offices(tmp_path)
    go_whole(both, 0)
    go_whole({side: under(office, most_matches={"A": 4}) for side, office in both.items()}, 1)


def test_made_ids_are_no_ids_of_a_series(tmp_path: Path) -> None:
    own = offices(tmp_path)[Side.A]
    with pytest.raises(UsageError, match="only as long as none of its cells changes"):
        own.request(snapshot=None, series=own.part, layout=Layout(make_ids=True))
