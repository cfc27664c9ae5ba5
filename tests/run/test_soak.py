"""Many small runs, each with one random fault after the other until it is done: nothing wrong, nothing left.

Most run in memory with real stores and ledgers, a few as real processes over TLS. A number names each run's
faults, so that one that fails can be repeated.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from accord.errors import AccordError
from accord.run.stages import Linked
from accord.side import Side
from tests.run import faults, processes
from tests.run.faults import Ending, Killed, Office, Wire
from tests.run.processes import Fault, kill_at, meet
from tests.run.test_disk import full
from tests.run.test_resume import EXPECTED

MOST_ATTEMPTS = 40


def attempt(both: dict[Side, Office], dice: random.Random, patch: pytest.MonkeyPatch) -> Ending:
    """One attempt with one fault: a cut, a kill, Ctrl-C or a full disk, unless it lies beyond the end."""
    kind, victim = dice.choice(("cut", "lost", "one way", "kill", "stop", "full")), dice.choice(list(Side))
    if kind in ("cut", "lost"):
        return faults.again(both, Wire(frames=dice.randrange(60), lost=kind == "lost"))
    if kind == "one way":
        return faults.again(both, Wire(to={victim: dice.randrange(30)}))
    made: dict[str, Callable[[], BaseException]] = {"kill": Killed, "stop": KeyboardInterrupt, "full": full}
    wire, at, before = Wire(), dice.randrange(1, 32), dice.random() < 0.5
    with faults.deaths(patch, wire, victim, at, before, made[kind]):
        return faults.again(both, wire)


def soak(folder: Path, number: int, patch: pytest.MonkeyPatch) -> int:
    """One run until both are done; how many attempts it took."""
    dice = random.Random(number)
    kind = dice.choice(list(faults.KINDS))
    both = faults.offices(folder, kind)
    for count in range(1, MOST_ATTEMPTS):
        ending = attempt(both, dice, patch)
        allowed = (Linked, AccordError, Killed, KeyboardInterrupt, OSError, type(None))
        assert all(isinstance(result, allowed) for result in ending.values()), (number, ending)
        for office in both.values():
            faults.require_one_charge(office, least=0)
            assert not office.out.exists() or office.out.read_bytes() == EXPECTED[kind], number
        if all(isinstance(result, Linked) for result in ending.values()):
            faults.require_done(ending, both, EXPECTED[kind])
            name = faults.common_run(both)
            assert name
            for office in both.values():
                assert not list(office.state.run(name).glob(".*")), number
            return count
    raise AssertionError(f"{number} did not come to an end")


def handles() -> int:
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0


def check_soak(folder: Path, patch: pytest.MonkeyPatch, count: int) -> None:
    faults.quicken(patch)
    soak(folder / "first", 0, patch)
    before = threading.active_count(), handles()
    attempts = [soak(folder / str(number), number, patch) for number in range(1, count + 1)]
    assert (threading.active_count(), handles()) == before
    assert sum(attempts) > 1.5 * count


def test_a_few_runs_with_random_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_soak(tmp_path, monkeypatch, 3)


@pytest.mark.slow
def test_two_hundred_runs_with_random_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_soak(tmp_path, monkeypatch, 200)


@pytest.mark.slow
def test_real_processes_with_random_faults(tmp_path: Path) -> None:
    """Several faults in turn, either side listening, until both are done."""
    before = threading.active_count(), handles()
    for number in range(6):
        dice = random.Random(number)
        both = faults.offices(tmp_path / str(number))
        for last in (False, False, True):
            after, way = dice.randrange(13_000), dice.random() < 0.5
            fault = dice.choice((Fault(after, way), *(kill_at(side, after, way) for side in Side)))
            listener = dice.choice(list(Side))
            done = meet(both, faults.common_run(both), listener, None if last else fault)
            for office in both.values():
                faults.require_one_charge(office, least=0)
            if all(code == 0 for code, _ in done.ends.values()):
                break
        assert [office.out.read_bytes() for office in both.values()] == [EXPECTED["greedy"]] * 2, done.ends
        assert faults.common_run(both) is None or not processes.leftovers(tmp_path / str(number))
    assert (threading.active_count(), handles()) == before
