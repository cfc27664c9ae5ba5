"""Replays of accountable runs of a series: each by itself, and as going on from those before it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.errors import DepartedError, StateError
from accord.protocols import series_greedy
from accord.protocols.parts.batches import Batch, Look, decode_look, encode_look
from accord.protocols.parts.shown import Shown, encode_shown
from accord.protocols.series_greedy import SeriesGreedy
from accord.replay.both_sides import replay_both
from accord.replay.evidence import decode_evidence, encode_evidence
from accord.replay.one_side import Replayed, make_evidence, replay_side
from accord.replay.pledged import PledgedSide, open_pledged_side
from accord.replay.series import Earlier
from accord.run.receipt import read_receipt
from accord.side import Side
from accord.state.register import LogEntry, RunCharged
from accord.state.runs import list_runs, open_run
from accord.table.layout import Layout
from tests.protocols.parts.test_batches import Table
from tests.run import cheats, test_series_cuts
from tests.run.faults import Wire
from tests.run.test_series import A_TABLES, B_TABLES, FOUND
from tests.run.test_series_cuts import SeriesOffice, go_on, pairs, unfinished
from tests.state.damage import forge

pytestmark = pytest.mark.usefixtures("quick")

Both = dict[Side, SeriesOffice]


def offices(folder: Path, kind: str = "greedy", **changes: Any) -> Both:
    both = test_series_cuts.offices(folder, kind)
    for office in both.values():
        plain = office.agreement.model_dump(mode="json", exclude_none=True) | changes
        office.agreement = Agreement.model_validate(plain | {"accountable": True})
    return both


def link(both: Both, a: Table, b: Table, wire: Wire | None = None, resuming: bool = False) -> str:
    """The next run of a series with these tables, each of which is kept for a replay; its name."""
    for office, table in zip(both.values(), (a, b), strict=True):
        office.hold(table)
    known = {run.manifest.run for run in list_runs(both[Side.A].state)[0]}
    ending = go_on(both, wire or Wire(), resuming)
    (name,) = {run.manifest.run for run in list_runs(both[Side.A].state)[0]} - known
    for office in both.values():
        shutil.copy(office.data, kept_table(office, name))
    if wire is None:
        pairs(ending)
    return name


def kept_table(office: SeriesOffice, name: str) -> Path:
    return office.data.with_name(f"{name}.csv")


def case(both: Both, side: Side, name: str) -> PledgedSide:
    return open_pledged_side(both[side].state, name, kept_table(both[side], name))


def replayed(both: Both, side: Side, name: str, evidence: bool = True) -> Replayed:
    found = None
    if evidence:
        content = encode_evidence(make_evidence(both[side.other].state, name))
        found = decode_evidence(content, Path("evidence"))
    return replay_side(case(both, side, name), found)


def require_honest(both: Both, names: list[str], unsigned: bool = False) -> None:
    """Both sides of all runs are cleared, alone, before the other's evidence, and against each other."""
    for number, name in enumerate(names):
        for side in Side:
            for evidence in (False, True):
                try:
                    assert replayed(both, side, name, evidence).earlier == Earlier(number, 0)
                except StateError as error:
                    if not unsigned or "did not get as far as a signature" not in str(error):
                        raise
                    return
        assert set(replay_both({side: case(both, side, name) for side in Side})) == set(Side)


def require_convicted(both: Both, name: str, said: str) -> None:
    """B departed, and A did not."""
    with pytest.raises(DepartedError, match=said):
        replayed(both, Side.B, name)
    replayed(both, Side.A, name)


@pytest.mark.parametrize("kind", [pytest.param("plain", marks=pytest.mark.slow), "greedy"])
def test_every_run_of_an_honest_series(kind: str, tmp_path: Path) -> None:
    both = offices(tmp_path, kind)
    names = [link(both, a, b) for a, b in zip(A_TABLES, B_TABLES, strict=True)]
    require_honest(both, names)
    said = read_receipt(open_run(both[Side.A].state, names[1]).receipt).facts
    assert said["version"] == 1
    assert said["series"]["run"] == 2
    own = open_run(both[Side.A].state, names[1]).manifest
    assert said["accountable"]["pledges"]["A"]["table"] != own.table


@pytest.mark.parametrize(
    ("share", "resuming"),
    [
        (0.4, True),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((0.8, False), (0.8, True), (0.4, False))),
    ],
)
def test_a_run_that_was_cut_and_the_next(share: float, resuming: bool, tmp_path: Path) -> None:
    whole, wire = offices(tmp_path / "whole"), Wire()
    link(whole, A_TABLES[0], B_TABLES[0])
    link(whole, A_TABLES[1], B_TABLES[1], wire)
    both = offices(tmp_path / "cut")
    names = [link(both, A_TABLES[0], B_TABLES[0])]
    names.append(link(both, A_TABLES[1], B_TABLES[1], Wire(frames=int(share * len(wire.passed)), told=True)))
    require_honest(both, names, unsigned=True)
    if resuming:
        assert unfinished(both) == names[1]
        assert pairs(go_on(both, Wire(), resuming=True)) == FOUND[1]
    else:
        names.append(link(both, A_TABLES[1], B_TABLES[1]))
    names.append(link(both, A_TABLES[2], B_TABLES[2]))
    require_honest(both, [names[0], *names[1 if resuming else 2 : 2]])
    for side in Side:
        last = replayed(both, side, names[-1]).earlier
        assert last == Earlier(len(names) - 1, 0)


@pytest.mark.parametrize("unchanged_only", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_versions_of_what_changed(unchanged_only: bool, tmp_path: Path) -> None:
    series = {"first": {"A": 8, "B": 8}, "arrivals": {"A": 4, "B": 4}, "versions": 2}
    both = offices(tmp_path, series=series)
    for office in both.values():
        office.part = replace(office.part, unchanged_only=unchanged_only)
    changed = {"u": (9, 8), "w": (15, 0)}
    names = [link(both, A_TABLES[0], b) for b in (B_TABLES[0], changed)]
    require_honest(both, names)


def test_promises_to_people(tmp_path: Path) -> None:
    plain = test_series_cuts.agreement("greedy").model_dump(mode="json")["protocol"]
    people = {side: plain[side] | {"records_per_person": 2} for side in "AB"}
    both = offices(tmp_path, protocol=plain | people)
    for office in both.values():
        office.layout = Layout(person="id")
    require_honest(both, [link(both, a, b) for a, b in zip(A_TABLES[:2], B_TABLES[:2], strict=True)])


def test_a_forgotten_run_is_said(tmp_path: Path) -> None:
    both = offices(tmp_path)
    names = [link(both, a, b) for a, b in zip(A_TABLES, B_TABLES, strict=True)]
    for side in Side:
        both[side].ledger.forget(names[0])
        assert replayed(both, side, names[2]).earlier == Earlier(1, 1)


def test_another_table(tmp_path: Path) -> None:
    """Also one with a record that was new, and that the side kept back."""
    both = offices(tmp_path)
    names = [link(both, a, b) for a, b in zip(A_TABLES[:2], B_TABLES[:2], strict=True)]
    table = kept_table(both[Side.B], names[1])
    said = table.read_text()
    for other in (said.replace("x,9,8", "x,9,9"), said.replace("x,9,8\n", ""), said + "z,3,3\n"):
        assert other != said
        table.write_text(other)
        require_convicted(both, names[1], "the table is not the one that it was committed to")
    table.write_text(said)
    require_honest(both, names)


def test_a_changed_message(tmp_path: Path) -> None:
    both = offices(tmp_path)
    link(both, A_TABLES[0], B_TABLES[0])
    with cheats.change_message(6) as change:
        name = link(both, A_TABLES[1], B_TABLES[1], Wire(told=True))
    assert change.done
    require_convicted(both, name, "is not the one")


def test_a_record_that_was_given_to_an_old_batch(tmp_path: Path) -> None:
    """In a series of its own making B has had the new record from the first run on."""
    both = offices(tmp_path)
    first = link(both, A_TABLES[0], B_TABLES[0])
    invented = B_TABLES[0] | {"x": (9, 8)}
    invented.pop("w")
    other = offices(tmp_path / "other")
    link(other, A_TABLES[0], invented)
    book = other[Side.B].ledger.series("table", "monthly")
    assert book is not None
    assert book.looks[0].batch is not None
    members = book.looks[0].batch.members

    def swap(look: Look) -> Look:
        assert look.batch is not None
        return Look(Batch(members, look.batch.counts), look.gone)

    change_look(both[Side.B], swap)
    second = link(both, A_TABLES[1], invented)
    require_convicted(both, second, f"the batches that it went on with are not those of its run {first}")


def change_look(office: SeriesOffice, change: Any) -> None:
    """The first look in the ledger becomes another."""
    with office.state.database.writing() as opened:
        (known,) = opened.register.series.values()
        first, digest = known.looks[0]
        assert digest is not None
        other = opened.keep(encode_look(change(decode_look(opened.content(digest, "look")))))

    def exchange(entry: LogEntry) -> LogEntry:
        if isinstance(entry, RunCharged) and entry.run == first:
            return replace(entry, look=other)
        return entry

    forge(office.state, exchange)


def test_looks_that_are_changed_afterwards(tmp_path: Path) -> None:
    """Who adapts what it keeps of an earlier run no longer opens its pledge there, and is not cleared."""
    both = offices(tmp_path)
    names = [link(both, a, b) for a, b in zip(A_TABLES, B_TABLES, strict=True)]
    earlier = open_run(both[Side.B].state, names[1])
    earlier.keep({"counts": b"\0" * len(earlier.read("counts"))})
    with pytest.raises(StateError, match=f"what it keeps of its run {names[1]} is not what it pledged then"):
        replayed(both, Side.B, names[2])
    replayed(both, Side.A, names[2])


def test_disclosed_records_that_were_left_out_of_memory(tmp_path: Path) -> None:
    """B forgets what A has shown, so that it need not match it again: in between, or for good."""
    both = offices(tmp_path)
    first = link(both, A_TABLES[0], B_TABLES[0])
    state, task = both[Side.B].state, both[Side.B].agreement.task
    run = open_run(state, first)
    true, shown = run.read("shown"), run.shown("shown", task, Side.B)
    forgot = encode_shown(replace(Shown.nothing(task.shape(Side.A, 0)), own=shown.own, removed=shown.removed))
    assert forgot != true
    run.keep({"shown": forgot})
    for office, table in zip(both.values(), (A_TABLES[1], B_TABLES[1] | {"z": (2, 1)}), strict=True):
        office.hold(table)
    go_on(both, Wire(told=True), resuming=False)
    (second,) = {found.manifest.run for found in list_runs(state)[0]} - {first}
    shutil.copy(both[Side.B].data, kept_table(both[Side.B], second))
    with pytest.raises(StateError, match="what it keeps as disclosed is not what was disclosed by its end"):
        replayed(both, Side.B, first)
    run.keep({"shown": true})
    replayed(both, Side.B, first)
    with pytest.raises(DepartedError, match="it began with other disclosed records than its run"):
        replayed(both, Side.B, second)


def test_who_does_not_name_what_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = offices(tmp_path)
    link(both, A_TABLES[0], B_TABLES[0])
    begin, exchange = SeriesGreedy.begin, series_greedy._exchange_gone

    def silent(self: SeriesGreedy) -> Any:
        if self._mine.side is Side.A:
            return begin(self)
        own = begin(self)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(series_greedy, "_exchange_gone", lambda places, known: exchange(places[:0], known))
            effect = next(own)
        return _rest(own, effect)

    def _rest(own: Any, effect: Any) -> Any:
        while True:
            try:
                effect = own.send((yield effect))
            except StopIteration as end:
                return end.value

    with monkeypatch.context() as patch:
        patch.setattr(SeriesGreedy, "begin", silent)
        name = link(both, A_TABLES[1], {"w": (15, 0)}, Wire(told=True))
    require_convicted(both, name, "is not the one")
