"""Real workers: two organisations whose processes share the rounds, over TLS on loopback.

Killed −9 at some moments, whoever it is, all of them end, none is left, and the run goes on with any number
of workers to the same output, for one charge.
"""

from __future__ import annotations

import itertools
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.notices import Done, Progress
from accord.protocols import routed_passes
from accord.run.link import Linked
from accord.side import Side
from accord.workers import messages
from accord.workers.local import LocalWorkers
from accord.workers.worker import Service
from tests.run import faults, processes, worlds
from tests.run.faults import EXPECTED, Office
from tests.run.processes import Process

ROWS = {
    Side.A: [(1, 1)] + [(i % 7, i // 7 % 16) for i in range(8, 150)],
    Side.B: [(1, 2)] + [(9 + i % 7, i // 7 % 16) for i in range(150)],
}
"""Hardly anything matches, so that nothing is cleaned and a run has many rounds."""
PATIENCE = 300
"""Seconds: half a dozen processes start at once."""


def crowds(folder: Path) -> tuple[dict[Side, Office], bytes]:
    """Two organisations with larger tables, all of which is compared; and what they find."""
    both = faults.offices(folder, "all-pairs")
    for side, office in both.items():
        lines = (f"{side.value}{i:03},{x},{y}\n" for i, (x, y) in enumerate(ROWS[side]))
        office.data.write_text("id,x,y\n" + "".join(lines))
    pairs = [
        f'"A{i:03}","B{j:03}","{x}","{y}","{u}","{v}"\n'
        for i, (x, y) in enumerate(ROWS[Side.A])
        for j, (u, v) in enumerate(ROWS[Side.B])
        if (x - u) ** 2 + (y - v) ** 2 <= 1
    ]
    return both, ('"id_a","id_b","x_a","y_a","x_b","y_b"\n' + "".join(pairs)).encode()


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [int(child) for child in found]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    # One whose parent was killed may wait in vain for somebody to ask how it ended.
    return state != "Z"


@dataclass
class Meeting:
    """Both processes of one attempt, with all workers that were ever seen."""

    both: dict[Side, Process]
    workers: dict[Side, list[int]] = field(default_factory=dict)
    ends: dict[Side, tuple[int, str]] = field(default_factory=dict)

    def see_workers(self, count: int) -> None:
        """Wait until all have started."""
        until = time.monotonic() + PATIENCE
        for side, process in self.both.items():
            while len(found := children(process.popen.pid)) < count:
                assert time.monotonic() < until, "no workers"
                time.sleep(0.02)
            self.workers[side] = found


def meet(
    both: dict[Side, Office],
    run: str | None,
    workers: Mapping[Side, int | str],
    act: Callable[[Meeting], None] | None = None,
) -> Meeting:
    """Let both link, or go on with a run; whatever else happens, no process is left."""
    with processes.ended() as begin:

        def begun(side: Side, *way: object) -> Process:
            what = ["resume", run] if run else processes.link_arguments(both[side])
            return begin(both[side], *what, *way, "--workers", *str(workers[side]).split())

        a = begun(Side.A, "--listen", "127.0.0.1:0")
        b = begun(Side.B, "--connect", f"127.0.0.1:{a.event('listening')['port']}")
        meeting = Meeting({Side.A: a, Side.B: b})
        if act is not None:
            act(meeting)
        meeting.ends = {side: process.end(PATIENCE) for side, process in meeting.both.items()}
    until = time.monotonic() + PATIENCE
    while left := [pid for pids in meeting.workers.values() for pid in pids if is_running(pid)]:
        assert time.monotonic() < until, f"left: {left}"
        time.sleep(0.05)
    return meeting


def require_done(meeting: Meeting, both: dict[Side, Office], expected: bytes) -> None:
    assert [end[0] for end in meeting.ends.values()] == [0, 0], meeting.ends
    for office in both.values():
        assert office.out.read_bytes() == expected
        faults.require_one_charge(office)


@dataclass(frozen=True)
class Death:
    """Somebody is killed −9, or interrupted, after so many rounds of side A, and some milliseconds more."""

    side: Side
    worker: int | None
    rounds: int
    how: signal.Signals = signal.SIGKILL
    later: int = 0

    def __str__(self) -> str:
        who = "coordinator" if self.worker is None else f"worker{self.worker}"
        return f"{self.side.value}-{who}-{self.rounds}+{self.later}ms-{self.how.name}"

    def __call__(self, meeting: Meeting) -> None:
        meeting.see_workers(2)
        for _ in range(self.rounds):
            meeting.both[Side.A].event("progress")
        time.sleep(self.later / 1000)
        process = meeting.both[self.side].popen
        os.kill(process.pid if self.worker is None else meeting.workers[self.side][self.worker], self.how)


MOMENTS = [(0, 0), (0, 15), (0, 40), (0, 90), (1, 0), (1, 15), (1, 40), (1, 90), (2, 0), (2, 25)]
"""Ten, of each worker: in its set-up, before, within and between rounds."""
DEATHS = [
    *(
        Death(side, worker, rounds, later=later)
        for side in Side
        for worker in (0, 1)
        for rounds, later in MOMENTS
    ),
    Death(Side.A, None, 1),
    Death(Side.B, None, 0),
    Death(Side.A, None, 1, signal.SIGINT),
    Death(Side.B, None, 0, signal.SIGINT),
]


@pytest.mark.slow
@pytest.mark.parametrize("death", DEATHS, ids=str)
def test_whoever_is_killed_all_end_and_the_run_goes_on(death: Death, tmp_path: Path) -> None:
    if death.worker is not None:
        code, other = 13, 10
    elif death.how is signal.SIGINT:
        code, other = 130, 10
    else:
        code, other = -signal.SIGKILL, 8
    codes = {death.side: code, death.side.other: other}
    again = {Side.A: 3, Side.B: 1 if death.rounds else 3}
    meeting = require_resumed(tmp_path, death, codes, dict.fromkeys(Side, 2), again)
    if death.worker is not None:
        assert f"Worker {death.worker + 1}" in meeting.ends[death.side][1]


def require_resumed(
    folder: Path,
    act: Callable[[Meeting], None],
    codes: Mapping[Side, int],
    first: Mapping[Side, int | str],
    again: Mapping[Side, int | str],
    between: Callable[[], None] = lambda: None,
) -> Meeting:
    """Whatever happens ends both with these codes. Resumed with other workers the output is the same."""
    both, expected = crowds(folder)
    meeting = meet(both, None, first, act)
    assert {side: end[0] for side, end in meeting.ends.items()} == codes, meeting.ends
    between()
    require_done(meet(both, faults.the_run(both), again), both, expected)
    return meeting


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the files of a process that runs")
def test_a_full_disk_ends_all_workers_and_the_run_goes_on(tmp_path: Path) -> None:
    """Once the workers are there, nothing more can be written: an answer that is not kept ends the run."""

    def fill(meeting: Meeting) -> None:
        meeting.see_workers(2)
        resource.prlimit(meeting.both[Side.A].popen.pid, resource.RLIMIT_FSIZE, (64, 64))

    codes = {Side.A: 6, Side.B: 10}
    meeting = require_resumed(tmp_path, fill, codes, dict.fromkeys(Side, 2), dict.fromkeys(Side, 3))
    assert "accord resume" in meeting.ends[Side.A][1]


# -- routed: they compare what lies in shares ---------------------------------------------------------------


@contextmanager
def as_threads(processes: int = 0) -> Iterator[None]:
    """Workers are threads, but for so many sides'. All threads have ended at its end."""
    started: list[threading.Thread] = []
    start_processes, sides = LocalWorkers.start, itertools.count()

    def start(self: LocalWorkers, count: int) -> None:
        if next(sides) < processes:
            return start_processes(self, count)
        for _ in range(count):
            thread = threading.Thread(target=serve, args=(self.open(),), daemon=True)
            started.append(thread)
            thread.start()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalWorkers, "start", start)
        yield
    for thread in started:
        thread.join()


def serve(control: socket.socket) -> None:
    """A worker, until its coordinator closes this socket."""
    service = Service(lambda: 0)
    with control:
        while (message := messages.receive(control)) is not None:
            said = service.answer(message)
            if said is not None:
                messages.send(control, *said)
    # As the end of a process does.
    if service._worker is not None and service._worker._channel is not None:
        service._worker._channel.close()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several rounds a pass, the last of them smaller than the others."""
    monkeypatch.setattr(routed_passes, "_FULL", 50)


@pytest.mark.usefixtures("quick", "small")
@pytest.mark.parametrize("kind", ["plain", "cascade"])
def test_two_workers_find_the_pairs_of_one(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The side that wants fewer decides. Without routing those of one side are processes."""
    if kind == "plain":
        monkeypatch.undo()  # Processes have no stand-ins.
    agreed = faults.agreement(kind)
    both = worlds.introduce(tmp_path, agreed)
    with as_threads(processes=int(kind == "plain")):
        shared = worlds.link_both(*both, agreed, a_options={"workers": 2}, b_options={"workers": 3})
    assert [len(done.peak_mib) for own in both for done in own.heard(Done)] == [3, 3]
    rates = [told.rates for own in both for told in own.heard(Progress)]
    assert all(len(rate) == 2 and all(rate) for rate in rates if rate)
    assert any(rates)
    alone = worlds.link_both(*both, agreed)
    for found, expected in zip(shared, alone, strict=True):
        assert isinstance(found, Linked), found
        assert isinstance(expected, Linked), expected
        assert found.pairs.equals(expected.pairs)
        assert len(found.pairs) == 2
        if kind != "plain":
            assert found.comparisons == expected.comparisons > 4 * 50


def count_shared(folder: Path) -> None:
    """What workers add up is what one alone does: an exact count, without anybody's pairs."""
    plain = faults.agreement("routed").model_dump(mode="json")
    hidden = {"output": {"answer": "count", "exact": True}, "disclose": {"A": [], "B": []}}
    agreed, two = Agreement.model_validate(plain | hidden), {"workers": 2}
    results: Any = worlds.link_both(*worlds.introduce(folder, agreed), agreed, a_options=two, b_options=two)
    assert [found.answer.values for found in results] == [(2,), (2,)]


@pytest.mark.usefixtures("quick", "small")
def test_two_workers_count(tmp_path: Path) -> None:
    with as_threads():
        count_shared(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_processes_share_the_bins_and_count(tmp_path: Path) -> None:
    count_shared(tmp_path / "count")
    both = faults.offices(tmp_path, "routed")
    meeting = meet(both, None, {Side.A: 2, Side.B: 3}, lambda started: started.see_workers(2))
    require_done(meeting, both, EXPECTED["routed"])
    assert [len(process.events[-1]["peak_mib"]) for process in meeting.both.values()] == [3, 3]


@pytest.mark.slow
@pytest.mark.parametrize("death", [Death(Side.A, 0, 0), Death(Side.B, 1, 1), Death(Side.B, None, 1)], ids=str)
def test_a_pass_that_was_cut_is_done_again_by_other_workers(death: Death, tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "routed")
    meeting = meet(both, None, dict.fromkeys(Side, 2), death)
    killed = -signal.SIGKILL if death.worker is None else 13
    assert meeting.ends[death.side][0] == killed, meeting.ends
    name = faults.common_run(both)
    assert name
    require_done(meet(both, name, {Side.A: 3, Side.B: 2}), both, EXPECTED["routed"])
