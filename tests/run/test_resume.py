"""What the fault matrix cannot say of runs that were cut: refusals, attempts, disks, clocks, interrupts, and
processes."""

from __future__ import annotations

import re
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from accord.errors import (
    AccordError,
    DamagedError,
    InterruptedEarlyError,
    InterruptedRunError,
    NotResumedError,
    OutputError,
    PeerError,
    RefusedError,
    ScratchError,
    StateError,
    StoppedError,
    TrustError,
    UnequalError,
    UsageError,
)
from accord.notices import tell_nobody
from accord.peer.channel import TlsChannel
from accord.peer.connection import _name_partner
from accord.peer.frames import Reason
from accord.peer.handshake import WIRE
from accord.protocols import intersection, routed
from accord.run.interrupts import hold_interrupts
from accord.run.link import get_ready
from accord.run.request import Output, Resumption
from accord.run.stages import begin
from accord.secure.party import Send
from accord.side import Side
from accord.spill import Scratch, Spilled, _failed
from accord.state.journal import StoredJournal
from accord.state.ledger import Ledger
from accord.state.runs import (
    StoredRun,
    begin_run,
    encode_slots,
    find_unfinished,
    list_runs,
    open_run,
)
from accord.state.store import Store
from accord.table.layout import Layout
from tests.fields.made_ids import read_made
from tests.run import faults, processes
from tests.run.faults import EXPECTED, Line, Office, Wire, cut_run
from tests.run.processes import Fault, Meeting, meet
from tests.state.damage import change

pytestmark = pytest.mark.usefixtures("quick")
Meddle = Callable[[Office, StoredRun], None]


# -- what does not fit ---------------------------------------------------------------------------------------


def damage_step(office: Office, run: StoredRun) -> None:
    change(office.state, "step", "content", "WHERE number = 1")


def lose_step(office: Office, run: StoredRun) -> None:
    with closing(sqlite3.connect(office.state.store.path)) as db, db:
        db.execute("DELETE FROM step WHERE number = 1")


def change_wire(office: Office, run: StoredRun) -> None:
    run.change(wire=WIRE - 1)


def change_counts(office: Office, run: StoredRun) -> None:
    slots = run.slots()
    run.keep({"slots": encode_slots(replace(slots, counts=slots.counts + 1))})


def forget_noise(office: Office, run: StoredRun) -> None:
    """By the name of a later run, which has the same."""
    office.ledger.forget(office.ledger.runs()[-1].run)


UNFIT: dict[str, tuple[Meddle, type[AccordError]]] = {
    # Its steps would look like wrong answers, and noise of another scale would show what was sent.
    "of another version": (change_wire, NotResumedError),
    "with other noise than the ledger keeps": (change_counts, StateError),
    "whose noise was forgotten": (forget_noise, StateError),
    "with a damaged step": (damage_step, DamagedError),
    "without one of its steps": (lose_step, DamagedError),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_run_that_does_not_fit_is_refused(case: str, tmp_path: Path) -> None:
    meddle, error = UNFIT[case]
    both, name = cut_run(tmp_path)
    office = both[Side.A]
    if meddle is forget_noise:
        faults.link(both, Wire(frames=30))
    run = open_run(office.state, name)
    meddle(office, run)
    with pytest.raises(error):
        faults.resume(both, name)
    assert [open_run(o.state, name).manifest.wrong for o in both.values()] == [0, 0]


def test_a_new_run_finds_the_one_that_waits(tmp_path: Path) -> None:
    """And leaves it alone while it is in use; nor does another take its name."""
    both, name = cut_run(tmp_path)
    state = both[Side.A].state
    run = open_run(state, name)
    known = run.manifest
    with pytest.raises(StateError):
        begin_run(state, known)
    with run.lock(), pytest.raises(UsageError):
        faults.resume(both, name)
    assert find_unfinished(state, known.partner, known.agreement) == (name,)
    assert find_unfinished(state, "carol", known.agreement) == ()
    assert find_unfinished(state, known.partner, "another") == ()
    run.change(done=True)
    assert find_unfinished(state, known.partner, known.agreement) == ()


def test_a_partner_that_comes_back_with_other_slots_is_refused(tmp_path: Path) -> None:
    """Also where the cut came after our counts were sent and before the partner opened its own."""
    both = faults.offices(tmp_path)
    # Hello, size, standing, commitments; then come the counts.
    faults.link(both, Wire(to={Side.A: 4}))
    name = faults.the_run(both)
    run = open_run(both[Side.B].state, name)
    slots = run.slots()
    run.keep({"slots": encode_slots(replace(slots, record=slots.record[::-1].copy()))})
    assert isinstance(faults.resume(both, name)[Side.A], PeerError)
    assert open_run(both[Side.A].state, name).steps() == 1


def test_a_partner_that_comes_back_with_another_size_is_refused(tmp_path: Path) -> None:
    """It was not charged, and says its size again. We were charged for the one that it said before."""
    both = faults.offices(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        refuse_charges(patch, both[Side.A])
        faults.link(both)
    name = faults.the_run(both)
    # Two hellos, the size of B, the size of A.
    wire = Wire(change=lambda number, frame, _: (7).to_bytes(8, "little") if number == 3 else frame)
    assert isinstance(faults.resume(both, name, wire)[Side.B], PeerError)
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def test_a_partner_that_lost_its_steps_is_refused(tmp_path: Path) -> None:
    """It asks for more than an honest one can lack, and learns none of it again."""
    both, name = cut_run(tmp_path)
    with both[Side.B].state.store.writing() as state:
        state.drop("step", "run = ?", name)
    before = faults.stored(both[Side.A], name)
    wire = Wire()
    assert isinstance(faults.resume(both, name, wire)[Side.A], PeerError)
    assert sum(sender is Side.A for sender, _ in wire.passed) == 1, "more than a hello"
    assert faults.stored(both[Side.A], name) == before


def refuse_charges(patch: pytest.MonkeyPatch, office: Office) -> None:
    """The ledger of an office cannot be written."""
    real = Ledger.charge

    def charge(ledger: Ledger, *given: Any) -> Any:
        if ledger._store is office.state.store:
            raise StateError(path="", reason="", mend="")
        return real(ledger, *given)

    patch.setattr(Ledger, "charge", charge)


def test_a_partner_that_stops_before_it_is_ready_takes_no_run_away(tmp_path: Path) -> None:
    """The other one was charged for it in the first attempt, and comes back with it."""
    both = faults.offices(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        refuse_charges(patch, both[Side.A])
        faults.link(both, Wire(told=True))
    assert [len(office.ledger.runs()) for office in both.values()] == [0, 1]
    name = faults.the_run(both)
    with faults.resuming(both, name) as parties:
        mine, theirs = parties.values()
        hello = next(mine)
        assert isinstance(hello, Send)
        next(theirs)
        answer = theirs.send(hello.buffer)
        assert isinstance(answer, Send)
        next(mine)
        # It says its size and waits for the partner's.
        mine.send(answer.buffer)
        next(mine)
        with pytest.raises(StoppedError):
            mine.throw(StoppedError(partner="bob", reason="", mend=""))
        theirs.close()
    assert open_run(both[Side.A].state, name).manifest.state == "waits"
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def test_what_a_kill_left_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    """A folder that begins with a dot is somebody else's."""
    both, name = cut_run(tmp_path)
    state = both[Side.A].state
    (state.run(name) / ".folder").mkdir(mode=0o700)
    (state.run(name) / ".left").touch(mode=0o600)
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])
    assert {path.name for path in state.run(name).glob(".*")} == {".folder"}


def test_a_resumed_run_reads_the_file_as_the_run_began(tmp_path: Path) -> None:
    """Made ids, delimiter and raw output are kept with the run."""
    both, layout, begun = faults.offices(tmp_path), Layout(delimiter=";", make_ids=True), {}
    for side, o in both.items():
        lines = o.data.read_text().replace(",", ";").splitlines()
        o.data.write_text("\n".join("same" + line[line.index(";") :] for line in lines) + "\n")
        asked = o.request(layout=layout, output=Output(o.out, raw=True))
        begun[side] = begin(get_ready(asked, o.state, tell_nobody), Line())
    faults.drive(begun, Wire(frames=40))
    name = faults.the_run(both)
    known = open_run(both[Side.A].state, name).manifest.request
    assert (known.raw, known.read_layout()) == (True, layout)
    made = {side: read_made(o.data) for side, o in both.items()}
    faults.require_linked(faults.resume(both, name))
    assert {side: read_made(o.data) for side, o in both.items()} == made
    rows = {id: f'"{side.value}{row - 1}"' for side in Side for row, id in made[side].items()}
    for office in both.values():
        found = re.sub(r'"[a-z2-7]{16}"', lambda cell: rows[cell[0].strip('"')], office.out.read_text())
        assert sorted(found.splitlines()) == sorted(EXPECTED["greedy"].decode().splitlines())


# -- how often something is asked ----------------------------------------------------------------------------


@pytest.mark.parametrize("liar", Side)
def test_a_partner_that_says_it_kept_the_intersection_does_not_ask_again(
    liar: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One's own journal decides: a partner that resumes with any number of steps is refused."""
    both, name = cut_run(tmp_path, 17, "psi")
    assert [open_run(o.state, name).steps() for o in both.values()] == [1, 1]
    path, real = both[liar].state.store.path, StoredJournal.__init__

    def claim(self: StoredJournal, store: Store, run: str) -> None:
        real(self, store, run)
        self.steps += store.path == path

    monkeypatch.setattr(StoredJournal, "__init__", claim)
    monkeypatch.setattr(StoredJournal, "require_whole", lambda journal: None)
    assert isinstance(faults.resume(both, name)[liar.other], RefusedError)


def test_an_asker_does_not_ask_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt at a pass is another set of questions, which the lister cannot tell from the first. Once
    all passes are kept, nothing is asked and the run goes on however often it was cut."""
    monkeypatch.setattr(routed, "MOST_RESUMES", 2)
    both, name = cut_run(tmp_path / "asks", 20, "routed")
    for _ in range(2):
        assert set(faults.resume(both, name, Wire(frames=20)).values()) == {None}
    for ending in faults.resume(both, name).values():
        assert isinstance(ending, NotResumedError)
    faults.require_done(faults.link(both), both, EXPECTED["routed"])
    kept, name = cut_run(tmp_path / "kept", 72, "routed")
    assert [open_run(o.state, name).steps() for o in kept.values()] == [4, 4]
    for _ in range(3):
        faults.resume(kept, name, Wire(frames=3))
    faults.require_done(faults.resume(kept, name), kept, EXPECTED["routed"])


def test_too_many_lines_are_refused_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = faults.offices(tmp_path, "psi")
    monkeypatch.setattr(intersection, "MOST_LINES", 8)
    for side, error in faults.link(both).items():
        assert isinstance(error, RefusedError)
        assert not both[side].ledger.runs()
        assert both[side].run is None
    monkeypatch.setattr(intersection, "MOST_LINES", 9)
    faults.require_done(faults.link(both), both, EXPECTED["psi"])


# -- outputs and disks ---------------------------------------------------------------------------------------


def test_an_output_that_would_not_fit_is_not_begun_and_the_run_is_kept(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    with pytest.MonkeyPatch.context() as patch:
        usage = shutil.disk_usage(tmp_path)._replace(free=10)
        patch.setattr(shutil, "disk_usage", lambda _: usage)
        for side, error in faults.link(both).items():
            assert isinstance(error, OutputError), error
            assert not both[side].out.exists()
    faults.require_done(faults.resume(both, faults.the_run(both)), both, EXPECTED["plain"])


def test_an_output_that_cannot_be_written_any_more(tmp_path: Path) -> None:
    """A file that somebody else wrote meanwhile is not replaced; the run goes on with another place."""
    both = faults.offices(tmp_path, "plain")
    office, other = both[Side.A], both[Side.B]
    parties = faults.linking(both)
    parties[Side.A] = faults.meanwhile(parties[Side.A], lambda: office.out.write_text("another's"))
    assert isinstance(faults.drive(parties, Wire())[Side.A], OutputError)
    name = faults.the_run(both)
    with pytest.raises(OutputError):
        faults.resume(both, name)
    elsewhere = tmp_path / "elsewhere.csv"
    for _ in range(2):
        # Twice: what the run has written it may write again.
        with faults.resuming(both, name, Resumption(output=Output(elsewhere))) as again:
            faults.require_linked(faults.drive(again, Wire()))
        assert elsewhere.read_bytes() == other.out.read_bytes() == EXPECTED["plain"]
    assert office.out.read_text() == "another's"
    for one in both.values():
        faults.require_one_charge(one)


def remember_nothing(patch: pytest.MonkeyPatch) -> None:
    """Everything that may lie in a file does."""
    patch.setattr(StoredRun, "scratch", property(lambda run: Scratch(run.receipt.parent, "", most=0)))


def names(office: Office) -> set[str]:
    assert office.run
    return {path.name for path in office.run.path.iterdir()}


@pytest.mark.parametrize(
    "kind", ["greedy", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("plain", "one-to-one"))]
)
def test_a_run_with_little_memory(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same output; its files have no name, while it goes on and after it."""
    remember_nothing(monkeypatch)
    both, write = faults.offices(tmp_path, kind), Spilled.write
    seen: set[str] = set()

    def noted(file: Spilled, numbers: Any) -> None:
        write(file, numbers)
        for office in both.values():
            seen.update(path.name for path in office.state.folder.rglob("*") if path.is_file())

    monkeypatch.setattr(Spilled, "write", noted)
    faults.require_done(faults.link(both), both, EXPECTED[kind])
    assert "state.sqlite" in seen
    assert not [name for name in seen if name.startswith((".", "tmp"))]
    for office in both.values():
        assert {name.split("-")[0] for name in names(office)} == {"lock", "receipt"}


@pytest.mark.parametrize("kind", ["greedy", pytest.param("plain", marks=pytest.mark.slow)])
def test_a_disk_without_room_for_what_does_not_fit_in_memory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any write of one side: nothing is left, and the run goes on."""
    remember_nothing(monkeypatch)
    write, writes = Spilled.write, list[int]()
    # With other noise a run may come to some writes less.
    for at in (1, 8, 16):
        both, wire = faults.offices(tmp_path / str(at), kind), Wire()

        def attempt(file: Spilled, numbers: Any, wire: Wire = wire, at: int = at) -> None:
            writes.extend([at] if wire.active is Side.A else [])
            if wire.active is Side.A and writes.count(at) == at:
                raise _failed(file._folder, faults.full(), file._mend)
            write(file, numbers)

        with monkeypatch.context() as patch:
            patch.setattr(Spilled, "write", attempt)
            assert isinstance(faults.link(both, wire)[Side.A], ScratchError)
        assert not [name for name in names(both[Side.A]) if name.startswith((".", "tmp"))]
        faults.require_done(faults.again(both), both, EXPECTED[kind])


# -- clocks and interrupts -----------------------------------------------------------------------------------


def clock(shift: timedelta) -> type[datetime]:
    class Shifted(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Shifted:
            moved = datetime.now(tz) + shift
            return cls.fromtimestamp(moved.timestamp(), tz or UTC)

    return Shifted


def test_a_clock_that_jumps(tmp_path: Path) -> None:
    """A run goes on while the cards are valid."""
    both, name = cut_run(tmp_path, 30)
    for hours, valid in ((-72, False), (24 * 365 * 6, False), (-20, True), (24 * 365, True)):
        with pytest.MonkeyPatch.context() as patch:
            for room in ("link", "stages"):
                patch.setattr(f"accord.run.{room}.datetime", clock(timedelta(hours=hours)))
            if valid:
                faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])
            else:
                with pytest.raises(TrustError):
                    faults.resume(both, name)


@pytest.fixture
def heard() -> Iterator[None]:
    """Interrupts are heard, also where the tests were started in the background, which ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    """An error in the block goes before it, and other threads have nothing to hold back."""
    done: list[bool] = []
    handler = signal.getsignal(signal.SIGINT)

    def work(error: Exception | None) -> None:
        with hold_interrupts():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append(True)
            if error is not None:
                raise error

    for error, kind in ((None, KeyboardInterrupt), (KeyError(), KeyError)):
        with pytest.raises(kind):
            work(error)
        assert signal.getsignal(signal.SIGINT) is handler
    thread = threading.Thread(target=lambda: done.append(hold_interrupts().__enter__() is None))
    thread.start()
    thread.join()
    assert done == [True] * 3


@pytest.mark.usefixtures("heard")
def test_an_interrupt_waits_for_the_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides can go on with the run."""
    both = faults.offices(tmp_path)
    stopped: list[bool] = []
    charge = Ledger.charge

    def interrupted(*given: Any) -> Any:
        if not stopped:
            stopped.append(True)
            signal.raise_signal(signal.SIGINT)
        return charge(*given)

    monkeypatch.setattr(Ledger, "charge", interrupted)
    assert KeyboardInterrupt in {type(end) for end in faults.link(both).values()}
    faults.require_done(faults.resume(both, faults.the_run(both)), both, EXPECTED["greedy"])


def test_an_interrupt_names_the_run_that_can_be_resumed() -> None:
    """Also to a partner; that of one that said nothing may not have the run."""
    kept = _name_partner(KeyboardInterrupt(), "bob", "r1")
    assert isinstance(kept, InterruptedRunError)
    assert kept.facts == {"run": "r1"}
    assert isinstance(_name_partner(KeyboardInterrupt(), "bob", ""), InterruptedEarlyError)
    for error in (PeerError(problem="short"), UnequalError(partner="")):
        named = _name_partner(error, "bob", "")
        assert isinstance(named, type(error))
        assert named.facts["partner"] == "bob"
    channel = TlsChannel.__new__(TlsChannel)
    channel._partner = "alice"
    channel.started("r1")
    for channel._heard in (False, True):
        with pytest.raises(StoppedError) as stopped:
            channel._raise_stopped(Reason.INTERRUPTED)
        mend = str(stopped.value.facts["mend"])
        assert ("accord resume r1" in mend, "alice" in mend) == (True, not channel._heard)


# -- real processes over TLS, cut and killed -----------------------------------------------------------------


def require_done(meeting: Meeting, both: dict[Side, Office]) -> None:
    assert [code for code, _ in meeting.ends.values()] == [0, 0], meeting.ends
    for office in both.values():
        assert office.out.read_bytes() == EXPECTED["greedy"]
        faults.require_one_charge(office)


@pytest.mark.slow
def test_an_undisturbed_run_and_its_size(tmp_path: Path) -> None:
    """The moments below lie before the end of a run: the set-up alone nearly has that many bytes."""
    both = faults.offices(tmp_path)
    whole = meet(both, None)
    require_done(whole, both)
    # All moments below come to pass; how much more there is depends on the noise.
    assert whole.proxy.passed[True] > 18_000
    assert whole.proxy.passed[False] > 9_000
    # Nothing is charged again, and nothing changes, if it is run once more.
    done = meet(both, None).processes[Side.A].events[-1]
    assert (done["event"], done["charged_epsilon"], done["epsilon"]) == ("done", 0.0, 4.0)
    for office in both.values():
        faults.require_one_charge(office, least=2)


MOMENTS: list[Fault | tuple[Side, str]] = [
    *(Fault(after, True) for after in (1, 900, 2_400, 2_700, 9_000, 15_000, 17_500)),
    *(Fault(after, False) for after in (1, 900, 2_400, 2_700, 6_000, 8_000, 9_000)),
    *((side, event) for side in Side for event in ("connected", "charged", "progress", "done")),
]
"""A cut after so many bytes of a way, or a kill at an event."""


def named(moment: Fault | tuple[Side, str]) -> str:
    if isinstance(moment, tuple):
        return f"kill-{moment[0].value}-{moment[1]}"
    return f"cut-{moment.after}-{'in' if moment.to_listener else 'out'}"


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS, ids=named)
def test_disturbed_at_any_moment(moment: Fault | tuple[Side, str], tmp_path: Path) -> None:
    """Both go on (the other one listens now), and have the same."""
    both = faults.offices(tmp_path)
    if isinstance(moment, tuple):
        first = meet(both, None, kill=moment)
    else:
        first = meet(both, None, fault=moment)
        assert first.proxy.fired, "nothing happened"
    for code, said in first.ends.values():
        assert code in (0, 8, 10, -signal.SIGKILL), said
        assert "unexpected" not in said
    for office in both.values():
        faults.require_one_charge(office, least=0)
    name = faults.common_run(both)
    slots = {side: faults.stored(o, name)[0] for side, o in both.items()} if name else {}
    require_done(meet(both, name, listener=Side.B), both)
    assert not name or {side: faults.stored(o, name)[0] for side, o in both.items()} == slots
    assert not name or not [path for path in tmp_path.rglob(".*") if path.is_file()]


@pytest.mark.slow
def test_an_interrupt_while_it_waits_for_the_partner(tmp_path: Path) -> None:
    office = faults.offices(tmp_path)[Side.A]
    with processes.ended() as ended:
        waiting = ended(office, *processes.link_arguments(office), "--listen", "127.0.0.1:0")
        waiting.event("listening")
        waiting.popen.send_signal(signal.SIGINT)
        assert waiting.end()[0] == 130
    assert not office.ledger.runs()
    assert list_runs(office.state) == ([], [])
