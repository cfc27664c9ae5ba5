"""A journal after every cut and with every bit flipped: what never counted goes, all else is kept or told."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest

from accord.errors import PeerError, StateError
from accord.notices import Mended, Notice
from accord.run.link import reopen
from accord.side import Side
from accord.state.journal import TAG, FileJournal
from accord.state.runs import open_run
from tests.cli.terminal import accord
from tests.run import faults, processes
from tests.run.faults import Wire
from tests.run.test_resume import EXPECTED

ANSWERS = [b"commitments" * 3, b"", b"\0" * 40, bytes(range(256)) * 5, b"last \0\0\0"]


def written(answers: list[bytes]) -> bytes:
    found = TAG
    for number, answer in enumerate(answers):
        head = struct.pack("<Q", len(answer)) + hashlib.sha256(answer).digest()[:8]
        guard = hashlib.sha256(TAG + number.to_bytes(8, "little") + head).digest()[:8]
        found += head + guard + answer
    return found


def read(path: Path) -> tuple[list[bytes], int]:
    """The answers of a journal, and how many bytes were dropped."""
    journal = FileJournal(path)
    try:
        return [bytes(answer) for answer in iter(journal.recall, None)], journal.torn
    finally:
        journal.close()


def test_the_format_is_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(TAG)
    journal = FileJournal(path)
    for answer in ANSWERS:
        journal.keep((answer[:3], answer[3:]))
    journal.close()
    assert path.read_bytes() == written(ANSWERS)


def test_answers_are_read_and_added(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(written(ANSWERS[:3]))
    assert read(path) == (ANSWERS[:3], 0)
    journal = FileJournal(path)
    while journal.recall() is not None:
        pass
    for answer in ANSWERS[3:]:
        journal.keep((answer,))
    journal.close()
    assert path.read_bytes() == written(ANSWERS)


@pytest.mark.parametrize("anew", [True, False])
def test_a_share_that_both_make_anew_is_dropped_and_nothing_else_is(tmp_path: Path, anew: bool) -> None:
    path = tmp_path / "journal"
    path.write_bytes(written(ANSWERS[:3]))
    journal = FileJournal(path)
    journal.meet(2, anew=anew)
    assert journal.again == (2 if anew else 3)
    assert [journal.recall() for _ in range(3)] == [*ANSWERS[:2], None]
    if not anew:
        with pytest.raises(PeerError, match="another answer than before"):
            journal.keep((b"another share",))
        journal.close()
        return
    journal.keep((b"another share",))
    journal.close()
    assert read(path) == ([*ANSWERS[:2], b"another share"], 0)


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_cut_anywhere_the_whole_answers_stay(tmp_path: Path, every: int) -> None:
    """However much of the last one reached the disk, and also where what did not is zeros."""
    path, whole = tmp_path / "journal", written(ANSWERS)
    places = [len(written(ANSWERS[:n])) for n in range(len(ANSWERS) + 1)]
    near = {place + by for place in places for by in (-1, 0, 1)}
    for cut in sorted({*range(places[0], len(whole), every), *near} & {*range(places[0], len(whole))}):
        kept = sum(place <= cut for place in places) - 1
        path.write_bytes(whole[:cut])
        assert read(path) == (ANSWERS[:kept], cut - places[kept]), cut
        assert path.read_bytes() == whole[: places[kept]]
    for zeros in (1, 30, 600, 5000):
        path.write_bytes(whole + bytes(zeros))
        assert read(path) == (ANSWERS, zeros)
    long = [*ANSWERS, bytes(range(1, 256)) * 9]
    head = len(written(ANSWERS)) + len(written([b""])) - len(TAG)
    lost = (head // 512 + 2) * 512
    path.write_bytes(written(long)[:lost] + bytes(len(written(long)) - lost))
    assert read(path) == (ANSWERS, len(written(long)) - len(whole))


@pytest.mark.parametrize("every", [61, pytest.param(7, marks=pytest.mark.slow)])
def test_every_flipped_bit_is_told_and_nothing_is_changed(tmp_path: Path, every: int) -> None:
    """Some bits of heads and of answers; the last answer counted like the others and is not dropped."""
    path, whole = tmp_path / "journal", written(ANSWERS)
    for bit in range(len(TAG) * 8, len(whole) * 8, every):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(StateError, match=r"the answer of step \d, at byte [\d,]+, is damaged"):
            read(path)
        assert path.read_bytes() == damaged


@pytest.mark.parametrize("length", [0, 1, 7, 100, 1 << 20, 1 << 40, (1 << 64) - 1])
def test_a_damaged_length_in_the_middle_is_no_torn_tail(tmp_path: Path, length: int) -> None:
    """It was: whatever followed was cut off."""
    path, whole = tmp_path / "journal", written(ANSWERS)
    for number in range(len(ANSWERS)):
        at = len(written(ANSWERS[:number]))
        damaged = whole[:at] + struct.pack("<Q", length) + whole[at + 8 :]
        if length == len(ANSWERS[number]):
            continue
        path.write_bytes(damaged)
        with pytest.raises(StateError, match=f"the answer of step {number + 1}"):
            read(path)
        assert path.read_bytes() == damaged


def test_answers_in_another_order_are_told(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(ANSWERS[:2])
    place = len(written(ANSWERS[:1]))
    path.write_bytes(TAG + whole[place:] + whole[len(TAG) : place])
    with pytest.raises(StateError, match="step 1"):
        read(path)


def test_a_run_with_a_damaged_journal_ends_before_the_partner_is_called(tmp_path: Path) -> None:
    """Exit code 16, the place, what to do; the file as it was. `accord runs` says so, too."""
    both = faults.offices(tmp_path)
    faults.link(both, Wire(frames=40))
    name = faults.common_run(both)
    assert name
    office = both[Side.A]
    path = office.state.run(name) / "journal"
    whole = path.read_bytes()
    place = len(TAG) + 24 + 64
    damaged = whole[:place] + b"\xff" + whole[place + 1 :]
    path.write_bytes(damaged)
    state = ("--state", str(office.state.folder))
    done = accord(tmp_path, *state, "resume", name, "--listen", "127.0.0.1:0")
    assert done.returncode == 16, done.stderr
    assert f"the answer of step 2, at byte {place}, is damaged" in done.stderr
    assert path.read_bytes() == damaged
    listed = accord(tmp_path, *state, "runs")
    assert "the answer of step 2" in listed.stderr
    assert "accord state check" in listed.stderr


def torn(folder: Path) -> tuple[dict[Side, faults.Office], str, int]:
    """A run that was cut, whose last answer is not whole on A's disk: its name, and the step that is lost."""
    both = faults.offices(folder)
    faults.link(both, Wire(frames=42))
    name = faults.common_run(both)
    assert name
    steps = [open_run(o.state, name).steps() for o in both.values()]
    assert steps[0] == steps[1]
    path = both[Side.A].state.run(name) / "journal"
    path.write_bytes(path.read_bytes()[:-1])
    return both, name, steps[0]


def test_a_run_with_a_torn_journal_goes_on_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, name, step = torn(tmp_path)
    told: list[Notice] = []
    monkeypatch.setattr(faults, "reopen", lambda state, run, tell: reopen(state, run, tell=told.append))
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])
    assert [notice for notice in told if isinstance(notice, Mended)] == [Mended(name, step)]


@pytest.mark.slow
def test_two_processes_go_on_with_a_torn_journal(tmp_path: Path) -> None:
    both, name, step = torn(tmp_path)
    meeting = processes.meet(both, name)
    assert [code for code, _ in meeting.ends.values()] == [0, 0], meeting.ends
    mended = [event for event in meeting.processes[Side.A].events if event["event"] == "mended"]
    assert mended == [{"event": "mended", "run": name, "step": step}], json.dumps(mended)
    assert [o.out.read_bytes() for o in both.values()] == [EXPECTED["greedy"]] * 2
