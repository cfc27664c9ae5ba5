"""A disk that is full, an output that cannot be written, a clock that jumps: clear errors, nothing lost."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from accord.errors import (
    AccordError,
    LedgerError,
    OutputError,
    ScratchError,
    StateError,
    StoppedError,
    TrustError,
    UnstoredError,
)
from accord.notices import tell_nobody
from accord.peer.channel import TlsChannel
from accord.peer.frames import Reason
from accord.protocols.parts.slots import Slots
from accord.run.link import get_ready, reopen
from accord.run.request import Output, Resumption
from accord.run.stages import Linked, begin, go_on
from accord.secure.party import Party
from accord.side import Side
from accord.spill import Scratch, Spilled, _failed
from accord.state.folder import State
from accord.state.journal import TAG, FileJournal
from accord.state.runs import Manifest, RunFolder, create_run, list_runs, open_run
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
    if at is not None and len(seen) == at and seen[-1] != "charge":
        assert isinstance(error, StateError | OutputError | LedgerError), repr(error)
        assert error.exit_code in (5, 6)
        assert "no space left" in str(error).lower()
    for office in both.values():
        faults.require_one_charge(office, least=0)
    faults.require_done(faults.again(both), both, EXPECTED["plain"])
    return len(seen)


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_a_full_disk_at_a_write(every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = check_full(tmp_path / "whole", monkeypatch, Side.A, None)
    assert writes > 20
    for at in range(1, writes + 1, every):
        check_full(tmp_path / str(at), monkeypatch, Side.A, at)


def test_a_disk_that_takes_a_part(tmp_path: Path) -> None:
    """Near its end a disk takes some bytes of an answer and says nothing; the next write fails."""
    path = tmp_path / "journal"
    path.write_bytes(TAG)
    journal = FileJournal(path)
    journal.keep((b"first",))
    pid = os.fork()
    if pid == 0:
        room = path.stat().st_size + 100
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            journal.keep((b"x" * 1000,))
        except StateError as error:
            os._exit(0 if "Make room" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    journal.close()
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
    assert office.state.ledger.stat().st_size > 1 << 14
    with processes.ended() as ended:
        limited = ended(
            office, *processes.link_arguments(office), "--listen", "127.0.0.1:0", most_bytes=1 << 13
        )
        code, said = limited.end()
        assert code == 6, said
        assert "ledger" in said
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
    for file in ("slots", "journal", "run.json"):
        path = office.state.run(name) / file
        kept = path.read_bytes()
        for content in (b"", kept[:10], kept[: len(kept) // 2 - 1] if file != "journal" else b"x", None):
            path.unlink()
            if content is not None:
                path.write_bytes(content)
            with pytest.raises(AccordError) as caught:
                faults.resume(both, name)
            assert caught.value.exit_code in (2, 6)
            path.write_bytes(kept)
    damaged = office.state.run(name) / "journal"
    kept = damaged.read_bytes()
    damaged.write_bytes(kept[:40] + bytes([kept[40] ^ 1]) + kept[41:])
    with pytest.raises(
        StateError, match=r"the answer of step 1, at byte 17, is damaged\. Nothing was changed"
    ):
        faults.resume(both, name)
    damaged.write_bytes(kept)
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def test_nothing_is_there_before_a_run_is_whole(tmp_path: Path) -> None:
    """A name that another run has is refused: nothing of that run is overwritten."""
    both = faults.offices(tmp_path)
    o = both[Side.A]
    begin(o.ready(), Line()).close()
    assert list_runs(o.state) == ([], [])
    faults.link(both)
    (run,) = list_runs(o.state)[0]
    with pytest.raises(StateError, match="there is a run of this name"):
        create_run(o.state, run.manifest, run.slots())


@pytest.mark.parametrize("named", [True, False])
def test_a_run_that_is_charged_and_cannot_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """Who cannot store it says that it was charged and what that means for the next one."""
    both = faults.offices(tmp_path)
    real = create_run

    def full_here(state: State, manifest: Manifest, slots: Slots, files: dict[str, bytes]) -> RunFolder:
        if state == both[Side.A].state:
            raise StateError(path=state.folder, reason="No space left on device", mend="Make room.")
        return real(state, manifest, slots, files)

    monkeypatch.setattr("accord.run.stages.create_run", full_here)
    snapshot = "first" if named else None
    parties = {
        side: begin(get_ready(office.request(snapshot=snapshot), office.state, tell_nobody), Line())
        for side, office in both.items()
    }
    error = faults.drive(parties, Wire())[Side.A]
    assert isinstance(error, UnstoredError)
    assert "was charged ε = 4, δ = 0.001" in str(error)
    assert ("costs nothing again" if named else "charged again, since no snapshot") in str(error)
    assert "resume" in str(error)
    assert [row.paid for row in both[Side.A].ledger.runs()] == [True]
    monkeypatch.undo()
    if named:
        faults.quicken(monkeypatch)
        faults.require_done(faults.link(both), both, EXPECTED["greedy"])


def test_the_partner_of_such_a_run_hears_it(tmp_path: Path) -> None:
    """Not that it should resume what is not there."""
    channel = TlsChannel.__new__(TlsChannel)
    channel._partner, channel.run, channel._heard = "alice", "r1", False
    with pytest.raises(StoppedError, match="could not store the run") as caught:
        channel._raise_stopped(Reason.UNSTORED)
    assert "was charged" in str(caught.value)
    assert "accord resume" not in str(caught.value)
    channel.run = ""
    with pytest.raises(StoppedError, match="Nothing was charged"):
        channel._raise_stopped(Reason.UNSTORED)


def _remember_nothing(patch: pytest.MonkeyPatch) -> None:
    """Everything that may lie in a file does."""

    def little(run: RunFolder) -> Scratch:
        folder = run.receipt.parent
        return Scratch(folder, f"Continue with `accord resume {run.manifest.run}`.", most=0)

    patch.setattr(RunFolder, "scratch", property(little))


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
            "run.json", "slots", "journal", "lock", "receipt", "key",
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
