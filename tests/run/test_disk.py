"""A disk that is full, an output that cannot be written, a clock that jumps: clear errors, nothing lost."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from accord.errors import (
    DamagedError,
    OutputError,
    ScratchError,
    StateError,
    StoppedError,
    TrustError,
)
from accord.run.link import reopen
from accord.run.request import Output, Resumption
from accord.run.stages import Linked, begin, go_on
from accord.secure.party import Party, Send
from accord.side import Side
from accord.spill import Scratch, Spilled, _failed
from accord.state.files import write_private
from accord.state.journal import TAG, FileJournal
from accord.state.ledger import Ledger
from accord.state.runs import StoredRun, begin_run, list_runs, open_run, remove_leftovers
from tests.run import faults, processes
from tests.run.faults import Line, Wire
from tests.run.test_resume import EXPECTED

pytestmark = pytest.mark.usefixtures("quick")


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def check_full(folder: Path, patch: pytest.MonkeyPatch, victim: Side, at: int | None) -> int:
    """The disk of one side is full at its n-th write; how many it came to."""
    both, wire = faults.offices(folder, "plain"), Wire()
    with faults.deaths(patch, wire, victim, at, True, full) as seen:
        ending = faults.link(both, wire)
    error = ending[victim]
    # With other noise a run may come to one write less than the one that was counted.
    if at is not None and len(seen) == at:
        assert isinstance(error, StateError | OutputError), repr(error)
        assert error.exit_code in (5, 6)
        assert "no space left" in str(error).lower()
    for office in both.values():
        faults.require_one_charge(office, least=0)
    faults.require_done(faults.again(both), both, EXPECTED["plain"])
    return len(seen)


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_a_full_disk_at_a_write(every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = check_full(tmp_path / "whole", monkeypatch, Side.A, None)
    assert writes > 15
    for at in range(1, writes + 1, every):
        check_full(tmp_path / str(at), monkeypatch, Side.A, at)


LIMITED = """
import resource, sys
from pathlib import Path
from accord.errors import StateError
from accord.state.journal import FileJournal
path = Path(sys.argv[1])
journal = FileJournal(path)
journal.recall()
room = path.stat().st_size + 100
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
try:
    journal.keep((b"x" * 1000,))
except StateError as error:
    print(error)
"""


def test_a_disk_that_takes_a_part(tmp_path: Path) -> None:
    """Near its end a disk takes some bytes of an answer and says nothing; the next write fails."""
    path = tmp_path / "journal"
    path.write_bytes(TAG)
    journal = FileJournal(path)
    journal.keep((b"first",))
    journal.close()
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True)
    assert "Make room" in done.stdout, done.stderr
    assert path.stat().st_size == len(TAG) + 24 + 5 + 100, "the limit was not reached"
    again = FileJournal(path)
    assert (again.steps, again.torn) == (1, 100)
    again.recall()
    again.keep((b"y" * 1000,))
    again.close()
    again = FileJournal(path)
    assert [again.recall() for _ in range(3)] == [b"first", b"y" * 1000, None]
    again.close()


def test_a_ledger_without_room_charges_nothing(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    office = both[Side.A]
    assert not office.ledger.runs()
    # Its pages lie beyond the limit, so that none can be written.
    assert office.state.database.path.stat().st_size > 1 << 13
    with processes.ended() as ended:
        limited = ended(
            office, *processes.link_arguments(office), "--listen", "127.0.0.1:0", most_bytes=1 << 13
        )
        code, said = limited.end()
        assert code == 6, said
        assert "cannot be used" in said
        assert "listening" not in said, "the snapshot is declared before anybody is called"
    assert not office.ledger.runs()
    faults.require_done(faults.link(both), both, EXPECTED["greedy"])


def test_an_output_that_would_not_fit_is_not_begun_and_the_run_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = faults.offices(tmp_path, "plain")
    with monkeypatch.context() as patch:
        usage = shutil.disk_usage(tmp_path)
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
        ending = faults.link(both)
    for side, office in both.items():
        assert isinstance(ending[side], OutputError), ending
        assert "10 bytes are left there" in str(ending[side])
        assert not office.out.exists()
    name = faults.common_run(both)
    assert name
    assert open_run(both[Side.A].state, name).manifest.wrong == 0
    faults.require_done(faults.resume(both, name), both, EXPECTED["plain"])


def test_an_output_that_somebody_else_writes_meanwhile(tmp_path: Path) -> None:
    """It is not replaced, by the run or by its resumption, until its owner says so; the run is kept."""
    both = faults.offices(tmp_path, "plain")
    office, other = both[Side.A], both[Side.B]
    parties = faults.linking(both)

    def appearing() -> Party[Linked]:
        party = parties[Side.A]
        effect = next(party)
        office.out.write_text("another's")
        while True:
            answer = yield effect
            try:
                effect = party.send(answer)
            except StopIteration as end:
                return end.value

    ending = faults.drive({**parties, Side.A: appearing()}, Wire())
    assert isinstance(ending[Side.A], OutputError)
    name = faults.common_run(both)
    assert name
    with pytest.raises(OutputError, match="the file already exists"):
        faults.resume(both, name)
    assert office.out.read_text() == "another's"
    elsewhere = tmp_path / "elsewhere.csv"
    for _ in range(2):
        # Twice: what the run has written it may write again.
        with (
            reopen(office.state, name, Resumption(output=Output(elsewhere))) as mine,
            reopen(other.state, name) as theirs,
        ):
            again = faults.drive({Side.A: go_on(*mine, Line()), Side.B: go_on(*theirs, Line())}, Wire())
        assert isinstance(again[Side.A], Linked), again
        assert elsewhere.read_bytes() == other.out.read_bytes() == EXPECTED["plain"]
    assert office.out.read_text() == "another's"


def test_an_output_whose_folder_vanishes(tmp_path: Path) -> None:
    """At the end of a run: the error says how to go on, and the run goes on with another place."""
    both = faults.offices(tmp_path, "plain")
    office = both[Side.A]
    office.out = office.out.parent / "there" / "pairs.csv"
    office.out.parent.mkdir()
    parties = faults.linking(both)

    def vanishing() -> Party[Linked]:
        party = parties[Side.A]
        effect = next(party)
        shutil.rmtree(office.out.parent)
        while True:
            answer = yield effect
            try:
                effect = party.send(answer)
            except StopIteration as end:
                return end.value

    ending = faults.drive({**parties, Side.A: vanishing()}, Wire())
    assert isinstance(ending[Side.A], OutputError)
    name = faults.common_run(both)
    assert name
    with pytest.raises(OutputError, match="there is no folder"):
        faults.resume(both, name)
    elsewhere = tmp_path / "elsewhere.csv"
    other = both[Side.B]
    with (
        reopen(office.state, name, Resumption(output=Output(elsewhere))) as mine,
        reopen(other.state, name) as theirs,
    ):
        again = faults.drive({Side.A: go_on(*mine, Line()), Side.B: go_on(*theirs, Line())}, Wire())
    assert isinstance(again[Side.A], Linked), again
    assert elsewhere.read_bytes() == other.out.read_bytes() == EXPECTED["plain"]
    for one in both.values():
        faults.require_one_charge(one)


def clock(shift: timedelta) -> type[datetime]:
    class Shifted(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Shifted:
            moved = datetime.now(tz) + shift
            return cls.fromtimestamp(moved.timestamp(), tz or UTC)

    return Shifted


@pytest.mark.parametrize("hours", [-20, 24 * 365])
def test_a_clock_that_jumps_while_the_cards_are_valid(
    hours: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = faults.offices(tmp_path)
    faults.link(both, Wire(frames=30))
    name = faults.common_run(both)
    assert name
    monkeypatch.setattr("accord.run.link.datetime", clock(timedelta(hours=hours)))
    monkeypatch.setattr("accord.run.stages.datetime", clock(timedelta(hours=hours)))
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])
    began = open_run(both[Side.A].state, name).manifest.began
    assert abs(datetime.fromisoformat(began) - datetime.now(UTC)) < timedelta(hours=1)


@pytest.mark.parametrize("days", [-3, 365 * 6])
def test_a_clock_that_leaves_the_time_of_the_cards(
    days: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = faults.offices(tmp_path)
    faults.link(both, Wire(frames=30))
    name = faults.common_run(both)
    assert name
    with monkeypatch.context() as patch:
        patch.setattr("accord.run.link.datetime", clock(timedelta(days=days)))
        with pytest.raises(TrustError, match="valid from"):
            faults.resume(both, name)
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def test_a_run_that_is_not_whole_on_disk_is_said_to_be_so(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    faults.link(both, Wire(frames=30))
    name = faults.common_run(both)
    assert name
    office = both[Side.A]
    path = office.state.run(name) / "journal"
    kept = path.read_bytes()
    for content in (b"", kept[:10], b"x", None):
        path.unlink()
        if content is not None:
            write_private(path, content)
        with pytest.raises(DamagedError):
            faults.resume(both, name)
        write_private(path, kept)
    path.write_bytes(kept[:40] + bytes([kept[40] ^ 1]) + kept[41:])
    with pytest.raises(DamagedError, match="the answer of step 1, at byte 17, is damaged"):
        faults.resume(both, name)
    path.write_bytes(kept)
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def test_what_a_kill_left_of_a_run_that_was_never_begun_is_taken_away(tmp_path: Path) -> None:
    """Also where the journal was not yet in its place."""
    both = faults.offices(tmp_path)
    for name in ("journal", ".journal.4711"):
        write_private(both[Side.A].state.create_run(f"left{len(name)}") / name, TAG)
    assert remove_leftovers(both[Side.A].state) == ["left13", "left7"]
    faults.require_done(faults.link(both), both, EXPECTED["greedy"])


def test_nothing_is_there_before_a_run_is_whole(tmp_path: Path) -> None:
    """A name that another run has is refused: nothing of that run is overwritten."""
    both = faults.offices(tmp_path)
    o = both[Side.A]
    begin(o.ready(), Line()).close()
    assert list_runs(o.state) == ([], [])
    faults.link(both)
    (run,) = list_runs(o.state)[0]
    with pytest.raises(StateError, match="there is a run of this name"):
        begin_run(o.state, run.manifest)


def test_a_charge_that_cannot_be_stored_is_none_and_both_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of them was charged: the other has begun the run, and is charged when it goes on."""
    both = faults.offices(tmp_path)
    real = Ledger.charge

    def full_here(ledger: Ledger, *given: Any) -> Any:
        if ledger._database is both[Side.A].state.database:
            raise full()
        return real(ledger, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "charge", full_here)
        faults.link(both)
    assert [len(office.ledger.runs()) for office in both.values()] == [0, 1]
    faults.require_shared(both)
    name = faults.common_run(both)
    assert name
    assert _stopped(both, name)
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])
    assert [len(office.ledger.runs()) for office in both.values()] == [1, 1]


def _stopped(both: dict[Side, faults.Office], name: str) -> bool:
    """Whether A still has a run in which B, which was charged, stops before it says its size again."""
    with reopen(both[Side.A].state, name) as own, reopen(both[Side.B].state, name) as partner:
        mine, theirs = go_on(*own, Line()), go_on(*partner, Line())
        hello = next(mine)
        next(theirs)
        assert isinstance(hello, Send)
        answer = theirs.send(hello.buffer)
        next(mine)
        assert isinstance(answer, Send)
        mine.send(answer.buffer)
        next(mine)
        with pytest.raises(StoppedError):
            mine.throw(StoppedError(partner="bob", reason="it was interrupted", mend=""))
        theirs.close()
    return open_run(both[Side.A].state, name).manifest.state == "waits"


def _remember_nothing(patch: pytest.MonkeyPatch) -> None:
    """Everything that may lie in a file does."""

    def little(run: StoredRun) -> Scratch:
        folder = run.receipt.parent
        return Scratch(folder, f"Continue with `accord resume {run.manifest.run}`.", most=0)

    patch.setattr(StoredRun, "scratch", property(little))


def _files(office: faults.Office) -> set[str]:
    assert office.run
    return {path.name for path in office.state.run(office.run.manifest.run).iterdir()}


@pytest.mark.parametrize("kind", ["greedy", "plain", "one-to-one"])
def test_a_run_with_little_memory(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same output; its files have no name, while it goes on and after it."""
    _remember_nothing(monkeypatch)
    both, write = faults.offices(tmp_path, kind), Spilled.write
    seen: set[str] = set()

    def noted(file: Spilled, numbers: Any) -> None:
        write(file, numbers)
        for office in both.values():
            seen.update(path.name for path in office.state.folder.rglob("*") if path.is_file())

    monkeypatch.setattr(Spilled, "write", noted)
    faults.require_done(faults.link(both), both, both[Side.A].out.read_bytes())
    assert both[Side.A].out.read_bytes().count(b"\n") == EXPECTED[kind].count(b"\n")
    assert "journal" in seen
    assert not [name for name in seen if name.startswith((".", "tmp"))]
    for office in both.values():
        assert {name.split("-")[0] for name in _files(office)} == {
            "journal", "lock", "receipt",
        }  # fmt: skip


@pytest.mark.parametrize("kind", ["greedy", pytest.param("plain", marks=pytest.mark.slow)])
def test_a_disk_without_room_for_what_does_not_fit_in_memory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any write of one side: the error says how to go on, nothing is left, and the run goes on."""
    _remember_nothing(monkeypatch)
    write, writes = Spilled.write, [0]

    def attempt(at: int | None) -> None:
        both, wire, writes[0] = faults.offices(tmp_path / str(at), kind), Wire(), 0

        def limited(file: Spilled, numbers: Any) -> None:
            writes[0] += wire.active is Side.A
            if wire.active is Side.A and writes[0] == at:
                raise _failed(file._folder, full(), file._mend)
            write(file, numbers)

        with monkeypatch.context() as patch:
            patch.setattr(Spilled, "write", limited)
            ending = faults.link(both, wire)
        if at is not None:
            error, name = ending[Side.A], faults.common_run(both)
            assert isinstance(error, ScratchError), repr(error)
            assert "no space left" in str(error)
            assert f"accord resume {name}" in str(error)
            assert not [name for name in _files(both[Side.A]) if name.startswith((".", "tmp"))]
        faults.require_done(faults.again(both), both, EXPECTED[kind])

    attempt(None)
    last = writes[0]
    assert last > 10
    # With other noise a run may come to some writes less than those that were counted.
    for at in (1, last // 4, last // 2):
        attempt(at)
