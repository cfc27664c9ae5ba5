"""A run that is cut or killed at any moment goes on, ends as if nothing had happened, and is charged once.

Exhaustive over the frames and the writes of small runs (`slow`); every so many of them otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.errors import NotResumedError, PeerError, RefusedError, StateError, UsageError
from accord.notices import tell_nobody
from accord.peer.handshake import WIRE
from accord.protocols import intersection, routed, routed_passes
from accord.protocols.parts.journal import Answer
from accord.run.link import get_ready
from accord.run.receipt import read_receipt
from accord.run.request import Output
from accord.run.stages import Linked, begin
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Party, Send
from accord.side import Side
from accord.state.journal import FileJournal
from accord.state.runs import encode_slots, find_unfinished, open_run
from accord.table.layout import Layout
from tests.cli import terminal
from tests.fields.made_ids import read_made
from tests.run import faults
from tests.run.faults import Killed, Wire

pytestmark = pytest.mark.usefixtures("quick")

EXPECTED = {
    kind: b'"id_a","id_b","x_a","y_a","x_b","y_b"\n'
    + b"".join(
        b'"%s","%s","%d","%d","%d","%d"\n' % row
        for row in [
            (b"A0", b"B0", 1, 1, 1, 2),
            (b"A0", b"B7", 1, 1, 2, 1),
            (b"A1", b"B2", 2, 3, 3, 3),
            (b"A2", b"B1", 7, 7, 8, 7),
            (b"A4", b"B3", 12, 12, 12, 13),
            (b"A6", b"B5", 15, 15, 15, 15),
        ]
    )
    for kind in faults.KINDS
}
EXPECTED["one-to-one"] = EXPECTED["plain"].replace(b'"A0","B7","1","1","2","1"\n', b"")
EXPECTED["cascade"] = EXPECTED["one-to-one"]
EXPECTED["psi"] = b'"id_a","id_b","x_a","y_a","x_b","y_b"\n"A6","B5","15","15","15","15"\n'


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What A's engine sends that must be masked: everything of a size that cannot repeat by chance."""
    found: list[bytes] = []

    def noted(party: Party[Any], side: Side) -> Party[Any]:
        answer: Any = None
        while True:
            try:
                effect = party.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(effect, Send) and side is Side.A and len(effect.buffer) >= 32:
                found.append(bytes(effect.buffer))
            answer = yield effect

    def in_pass(real: Callable[..., Party[Any]], asks: bool) -> Callable[..., Party[Any]]:
        """One side of a pass of routed, in which the lane says who asks."""
        return lambda function, lane, *rest: noted(
            real(function, lane, *rest), lane.asker if asks else lane.asker.other
        )

    real_set_up, real, real_open = OtEngine.set_up, OtEngine.evaluate, OtEngine.open
    monkeypatch.setattr(OtEngine, "set_up", lambda self, side, e: noted(real_set_up(self, side, e), side))
    monkeypatch.setattr(
        OtEngine, "evaluate", lambda self, session, *rest: noted(real(self, session, *rest), session.side)
    )
    monkeypatch.setattr(
        OtEngine, "open", lambda self, session, *rest: noted(real_open(self, session, *rest), session.side)
    )
    for name, asks in (("route_asked", True), ("route_listed", False)):
        monkeypatch.setattr(routed_passes, name, in_pass(getattr(routed_passes, name), asks))
    return found


@pytest.fixture
def performed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The journal of every step that was really done, in turn."""
    found: list[Path] = []
    real = FileJournal.keep

    def keep(self: FileJournal, answer: Answer) -> None:
        found.append(self._path)
        real(self, answer)

    monkeypatch.setattr(FileJournal, "keep", keep)
    return found


def length(folder: Path, kind: str) -> tuple[int, int, int]:
    """How many frames an undisturbed run has, and how many steps; and that it is right."""
    both, wire = faults.offices(folder, kind), Wire()
    faults.require_done(faults.link(both, wire), both, EXPECTED[kind])
    run = both[Side.A].run
    assert run is not None
    to_a = sum(sender is Side.B for sender, _ in wire.passed)
    return len(wire.passed), to_a, run.steps()


def cuts(frames: int, to_a: int, every: int) -> Iterator[Wire]:
    """The connection ends after every frame: with what is on its way lost, delivered, or lost one way."""
    for n in range(0, frames + 1, every):
        yield Wire(frames=n, lost=True)
        yield Wire(frames=n)
    for n in range(0, to_a + 1, every):
        yield Wire(to={Side.A: n})
    for n in range(0, frames - to_a + 1, every):
        yield Wire(to={Side.B: n})


def check_cut(folder: Path, kind: str, wire: Wire, sent: list[bytes], performed: list[Path]) -> None:
    """Cut, go on, and compare with an undisturbed run."""
    both = faults.offices(folder, kind)
    sent.clear()
    faults.link(both, wire)
    for office in both.values():
        faults.require_one_charge(office, least=0)
    faults.require_shared(both)
    name = faults.common_run(both)
    before = {side: faults.stored(o, name) for side, o in both.items()} if name else {}
    steps = [o.run.steps() for o in both.values() if name and o.run]
    assert not steps or abs(steps[0] - steps[1]) <= 1
    masks = set(sent)
    sent.clear()
    performed.clear()
    faults.require_done(faults.again(both), both, EXPECTED[kind])
    assert not masks & set(sent), "masks were used twice"
    if name is None:
        return
    assert faults.common_run(both) == name
    for side, office in both.items():
        slots, journal = faults.stored(office, name)
        assert slots == before[side][0] or not before[side][0]
        assert journal.startswith(before[side][1]), "a kept answer was lost"
        run = open_run(office.state, name)
        path = office.state.run(name) / "journal"
        assert performed.count(path) == run.steps() - min(steps), "a finished step was done again"
        assert (run.manifest.done, run.manifest.resumes) == (True, 1)
        assert not list(office.state.run(name).glob(".*"))


@pytest.mark.parametrize(
    "kind",
    [
        "greedy",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("plain", "all-pairs", "one-to-one", "routed", "cascade")
        ),
    ],
)
def test_cut_at_some_frames(kind: str, tmp_path: Path, sent: list[bytes], performed: list[Path]) -> None:
    frames, to_a, steps = length(tmp_path / "whole", kind)
    assert steps >= (4 if kind in ("plain", "one-to-one", "routed", "cascade") else 6)
    for number, wire in enumerate(cuts(frames, to_a, max(7, frames // 2))):
        check_cut(tmp_path / str(number), kind, wire, sent, performed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", faults.KINDS)
def test_cut_at_every_frame(kind: str, tmp_path: Path, sent: list[bytes], performed: list[Path]) -> None:
    # The number of frames follows the noise of the run; a few more than any of several runs had.
    lengths = [length(tmp_path / f"whole{i}", kind) for i in range(3)]
    frames, to_a = (max(n[i] for n in lengths) + 4 for i in (0, 1))
    for number, wire in enumerate(cuts(frames, to_a, 1)):
        check_cut(tmp_path / str(number), kind, wire, sent, performed)


def check_death(
    folder: Path, patch: pytest.MonkeyPatch, kind: str, victim: Side, at: int | None, before: bool
) -> int:
    """Kill one side at its n-th write, go on, compare; how many writes it came to."""
    both, wire = faults.offices(folder, kind), Wire()
    with faults.deaths(patch, wire, victim, at, before) as seen:
        ending = faults.link(both, wire)
    assert isinstance(ending[victim], Killed) == (at is not None and at <= len(seen))
    for office in both.values():
        faults.require_one_charge(office, least=0)
    faults.require_shared(both)
    name = faults.common_run(both)
    slots = {side: faults.stored(o, name)[0] for side, o in both.items()} if name else {}
    faults.require_done(faults.again(both), both, EXPECTED[kind])
    for side, kept in slots.items():
        assert name
        assert not kept or faults.stored(both[side], name)[0] == kept
    for office in both.values():
        # A run that died before it was whole on disk was never there.
        assert not list(office.state.folder.glob("runs/*/.*")) or name is None
    return len(seen)


@pytest.mark.parametrize("victim", Side)
def test_killed_at_some_writes(victim: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = check_death(tmp_path / "whole", monkeypatch, "greedy", victim, None, True)
    assert writes > 15
    for at in range(1, writes + 1, 13):
        check_death(tmp_path / str(at), monkeypatch, "greedy", victim, at, at % 26 == 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", faults.KINDS)
@pytest.mark.parametrize("victim", Side)
def test_killed_at_every_write(
    kind: str, victim: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = check_death(tmp_path / "whole", monkeypatch, kind, victim, None, True)
    for before in (True, False):
        for at in range(1, writes + 5):
            check_death(tmp_path / f"{before}{at}", monkeypatch, kind, victim, at, before)


# -- what does not fit -------------------------------------------------------------------------------------


def cut_run(folder: Path, frames: int = 40) -> tuple[dict[Side, faults.Office], str]:
    both = faults.offices(folder)
    faults.link(both, Wire(frames=frames))
    name = faults.common_run(both)
    assert name
    return both, name


def test_a_new_run_mentions_the_one_that_waits(tmp_path: Path) -> None:
    offices, name = cut_run(tmp_path)
    office = offices[Side.A]
    known = open_run(office.state, name).manifest
    for partner, agreed, found in (
        (known.partner, known.agreement, (name,)),
        ("carol", known.agreement, ()),
        (known.partner, "another", ()),
    ):
        assert find_unfinished(office.state, partner, agreed) == found
    # In a terminal: the run is named before anybody is waited for.
    said = terminal.accord(tmp_path, "--state", str(office.state.folder), "resume", "--data", "gone.csv")
    assert f"Resuming the latest, {name}: with {known.partner}, begun 20" in said.stderr
    named = terminal.accord(
        tmp_path, "--state", str(office.state.folder), "resume", name, "--data", "gone.csv"
    )
    assert "Resuming" not in named.stderr
    open_run(office.state, name).change(done=True)
    assert find_unfinished(office.state, known.partner, known.agreement) == ()


def test_other_data_is_refused(tmp_path: Path) -> None:
    both, name = cut_run(tmp_path)
    mine = both[Side.A]
    kept = mine.data.read_text()
    for changed in (kept.replace("A1,2,3", "A1,2,4"), kept.replace("A1,2,3\n", ""), kept.replace("A1", "A9")):
        mine.data.write_text(changed)
        with pytest.raises(StateError, match="not what the run began with"):
            faults.resume(both, name)
    mine.data.write_text(kept)
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def test_steps_of_another_version_are_not_read(tmp_path: Path) -> None:
    """They would look like a partner's wrong answers, and noise of another scale would show what was sent."""
    both, name = cut_run(tmp_path)
    for office in both.values():
        open_run(office.state, name).change(wire=WIRE - 1)
    with pytest.raises(NotResumedError, match="another version"):
        faults.resume(both, name)
    assert [open_run(o.state, name).manifest.wrong for o in both.values()] == [0, 0]


def test_a_partner_that_comes_back_with_another_table_is_refused(tmp_path: Path) -> None:
    """Also where the cut came after our counts were sent and before the partner opened its own."""
    both = faults.offices(tmp_path)
    # Hello, size, commitments; then come the counts.
    faults.link(both, Wire(to={Side.A: 3}))
    name = faults.common_run(both)
    assert name
    assert [o.run.steps() for o in both.values() if o.run] == [1, 2]
    run = open_run(both[Side.B].state, name)
    slots = run.slots()
    other = type(slots)(slots.counts, slots.record[::-1].copy(), slots.salt, slots.table)
    run.keep({"slots": encode_slots(other)})
    ending = faults.resume(both, name)
    assert isinstance(ending[Side.A], PeerError)
    assert "a table other than" in str(ending[Side.A])
    assert open_run(both[Side.A].state, name).steps() == 1


def test_steps_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    both, name = cut_run(tmp_path)
    path = both[Side.B].state.run(name) / "journal"
    path.write_bytes(path.read_bytes()[: len(b"accord journal 1\n")])
    before = faults.stored(both[Side.A], name)
    ending = faults.resume(both, name)
    assert isinstance(ending[Side.A], PeerError)
    assert "number of finished steps" in str(ending[Side.A])
    assert faults.stored(both[Side.A], name) == before


def test_an_answer_that_changes_when_a_step_is_done_again_is_refused_for_good(tmp_path: Path) -> None:
    """The kept answer stays on disk, so that no number of further cuts makes the other one acceptable."""
    both, name = cut_run(tmp_path)
    path = both[Side.A].state.run(name) / "journal"
    steps = open_run(both[Side.A].state, name).steps()
    for _ in range(2):
        journal = FileJournal(path)
        assert journal.steps == steps
        journal.meet(steps - 1)
        while journal.recall() is not None:
            pass
        with pytest.raises(PeerError, match="another answer than before"):
            journal.keep((b"something else",))
        journal.close()


def test_a_run_whose_noise_was_forgotten_is_refused(tmp_path: Path) -> None:
    both, name = cut_run(tmp_path)
    faults.link(both)
    (other,) = {row.run for row in both[Side.A].ledger.runs()} - {name}
    both[Side.A].ledger.forget(other)
    both[Side.A].out.unlink()
    with pytest.raises(StateError, match="forgotten"):
        faults.resume(both, name)


def test_slots_with_other_noise_than_the_ledger_keeps_are_refused(tmp_path: Path) -> None:
    both, name = cut_run(tmp_path)
    run = open_run(both[Side.A].state, name)
    slots = run.slots()
    run.keep({"slots": encode_slots(type(slots)(slots.counts + 1, slots.record, slots.salt, slots.table))})
    with pytest.raises(StateError, match="do not belong together"):
        faults.resume(both, name)


def test_linking_again_on_unchanged_data_spends_nothing(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    for _ in range(2):
        faults.require_done(faults.link(both), both, EXPECTED["greedy"])
    assert [len(o.ledger.runs()) for o in both.values()] == [2, 2]


def test_a_resumed_run_reads_the_file_as_the_run_began(tmp_path: Path) -> None:
    """Made ids, delimiter and --raw are kept with the run: nobody names them again."""
    both = faults.offices(tmp_path)
    for office in both.values():
        lines = office.data.read_text().replace(",", ";").splitlines()
        office.data.write_text("\n".join("same" + line[line.index(";") :] for line in lines) + "\n")
    layout = Layout(delimiter=";", make_ids=True)
    begun = {
        side: begin(
            get_ready(o.request(layout=layout, output=Output(o.out, raw=True)), o.state, tell_nobody),
            faults.Line(),
        )
        for side, o in both.items()
    }  # fmt: skip
    assert not any(isinstance(result, Linked) for result in faults.drive(begun, Wire(frames=40)).values())
    name = faults.common_run(both)
    assert name
    known = open_run(both[Side.A].state, name).manifest.request
    assert (known.raw, known.read_layout()) == (True, layout)
    made = {side: read_made(o.data) for side, o in both.items()}
    ended = faults.resume(both, name)
    assert all(isinstance(result, Linked) for result in ended.values())
    assert {side: read_made(o.data) for side, o in both.items()} == made
    rows = {id: f'"{side.value}{row - 1}"' for side in Side for row, id in made[side].items()}
    for office in both.values():
        found = re.sub(r'"[a-z2-7]{16}"', lambda cell: rows[cell[0].strip('"')], office.out.read_text())
        assert sorted(found.splitlines()) == sorted(EXPECTED["greedy"].decode().splitlines())


def test_a_run_in_use_is_left_alone(tmp_path: Path) -> None:
    both, name = cut_run(tmp_path)
    with (
        open_run(both[Side.A].state, name).lock(),
        pytest.raises(UsageError, match=f"Another process works on the run {name}"),
    ):
        faults.resume(both, name)
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def test_a_folder_among_the_files_of_a_run_is_left_alone(tmp_path: Path) -> None:
    """What a killed process left is cleared away; a folder that begins with a dot is somebody else's."""
    both, name = cut_run(tmp_path)
    run = both[Side.A].state.run(name)
    (run / ".folder").mkdir(mode=0o700)
    (run / ".folder" / "file").touch(mode=0o600)
    (run / ".left").touch(mode=0o600)
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])
    assert (run / ".folder" / "file").exists()
    assert not (run / ".left").exists()


def test_who_is_done_helps_a_partner_that_has_no_receipt_yet(tmp_path: Path) -> None:
    """A's signature is the last frame, and it is lost; without greedy every run has as many frames."""
    both, wire = faults.offices(tmp_path / "whole", "plain"), Wire()
    faults.link(both, wire)
    both = faults.offices(tmp_path / "cut", "plain")
    ending = faults.link(both, Wire(to={Side.B: sum(sender is Side.A for sender, _ in wire.passed) - 1}))
    assert (ending[Side.A] is None, ending[Side.B] is None) == (False, True)
    name = faults.common_run(both)
    assert name
    assert [open_run(both[side].state, name).manifest.done for side in Side] == [True, False]
    faults.require_done(faults.resume(both, name), both, EXPECTED["plain"])


# -- intersections: one set of questions a run ---------------------------------------------------------------


def whole_intersection(folder: Path, kind: str) -> tuple[dict[Side, faults.Office], Wire]:
    both, wire = faults.offices(folder, kind), Wire()
    faults.require_done(faults.link(both, wire), both, EXPECTED[kind])
    return both, wire


@pytest.mark.parametrize("kind", faults.INTERSECTIONS)
def test_an_intersection_that_is_done_has_its_output_and_its_receipt_again(kind: str, tmp_path: Path) -> None:
    both, first = whole_intersection(tmp_path, kind)
    name = faults.common_run(both)
    assert name
    before = {side: faults.stored(o, name) for side, o in both.items()}
    facts = read_receipt(both[Side.A].state.run(name) / "receipt").facts
    for office in both.values():
        office.out.unlink()
    wire = Wire()
    faults.require_done(faults.resume(both, name, wire), both, EXPECTED[kind])
    for side, office in both.items():
        assert faults.stored(office, name) == before[side]
        assert len(office.ledger.runs()) == 1
    again = read_receipt(both[Side.A].state.run(name) / "receipt").facts
    for fact in ("matches", "comparisons"):
        assert again[fact] == facts[fact]
    # Hello, the digest's two messages, the receipt's two; an intersection has more in it alone.
    assert [sum(sender is side for sender, _ in wire.passed) for side in Side] == [5, 5]
    assert len(first.passed) > len(wire.passed)


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_an_intersection_that_was_cut_is_not_asked_again(every: int, tmp_path: Path) -> None:
    """Both refuse alike unless both have kept it all; to link again is a run of its own."""
    _, wire = whole_intersection(tmp_path / "whole", "psi")
    to_a = sum(sender is Side.B for sender, _ in wire.passed)
    seen = set()
    for number, cut in enumerate(cuts(len(wire.passed), to_a, every)):
        both = faults.offices(tmp_path / str(number), "psi")
        faults.link(both, cut)
        name = faults.common_run(both)
        if name is None:
            continue
        before = {side: faults.stored(o, name) for side, o in both.items()}
        steps = tuple(open_run(o.state, name).steps() for o in both.values())
        seen.add(steps)
        ending = faults.resume(both, name)
        for side, office in both.items():
            assert len(office.ledger.runs()) == 1
            assert steps == (0, 0) or faults.stored(office, name) == before[side]
        if steps in ((0, 0), (2, 2)):
            faults.require_done(ending, both, EXPECTED["psi"])
            continue
        for side in Side:
            assert isinstance(ending[side], RefusedError)
            assert "a second set of questions" in str(ending[side])
            assert not both[side].out.exists()
            assert open_run(both[side].state, name).manifest.resumes == 0
        if number % 10 == 0:
            faults.require_done(faults.link(both), both, EXPECTED["psi"])
            assert [len(o.ledger.runs()) for o in both.values()] == [2, 2]
    # One side is ahead where the last message of a step was lost.
    assert {(1, 1), (2, 2)} < seen


@pytest.mark.parametrize("liar", Side)
def test_a_partner_that_says_it_kept_the_intersection_does_not_ask_again(
    liar: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One's own journal decides: a partner that resumes with any number of steps is refused."""
    _, wire = whole_intersection(tmp_path / "whole", "psi")
    both = faults.offices(tmp_path / "cut", "psi")
    faults.link(both, Wire(frames=len(wire.passed) // 2, lost=True))
    name = faults.common_run(both)
    assert name
    assert [open_run(o.state, name).steps() for o in both.values()] == [1, 1]
    path, real = both[liar].state.run(name) / "journal", FileJournal.steps
    assert isinstance(real, property)
    monkeypatch.setattr(
        FileJournal, "steps", property(lambda self: 2 if self._path == path else real.__get__(self))
    )
    ending = faults.resume(both, name)
    assert isinstance(ending[liar.other], RefusedError)


def test_an_asker_does_not_ask_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt at a pass is another set of questions, which the lister cannot tell from the first; once
    all passes are kept, nothing is asked and the run goes on however often it was cut."""
    monkeypatch.setattr(routed, "MOST_RESUMES", 2)
    both, kept = faults.offices(tmp_path / "asks", "routed"), faults.offices(tmp_path / "kept", "routed")
    faults.link(both, Wire(frames=20))
    name = faults.common_run(both)
    assert name
    for _ in range(2):
        assert set(faults.resume(both, name, Wire(frames=20)).values()) == {None}
    for ending in faults.resume(both, name).values():
        assert isinstance(ending, NotResumedError)
        assert "another set of questions" in str(ending)
        assert "revealed" not in str(ending)
    faults.require_done(faults.link(both), both, EXPECTED["routed"])
    faults.link(kept, Wire(frames=72))
    name = faults.common_run(kept)
    assert name
    assert [open_run(o.state, name).steps() for o in kept.values()] == [4, 4]
    for _ in range(3):
        faults.resume(kept, name, Wire(frames=3))
    faults.require_done(faults.resume(kept, name), kept, EXPECTED["routed"])


def test_too_many_lines_are_refused_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = faults.offices(tmp_path, "psi")
    monkeypatch.setattr(intersection, "MOST_LINES", 8)
    ending = faults.link(both)
    for side, office in both.items():
        assert isinstance(ending[side], RefusedError)
        assert "would list 9 values, more than 8" in str(ending[side])
        assert not office.ledger.runs()
        assert office.run is None
    monkeypatch.setattr(intersection, "MOST_LINES", 9)
    faults.require_done(faults.link(both), both, EXPECTED["psi"])
