"""The ledger among processes: two at once, and killed at any point of a charge.

Children are real processes. One that is killed gets SIGKILL, either from its own progress handler after a
given number of SQLite's instructions, or from outside while it commits.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from accord.entropy import Seeded, below
from accord.privacy.budget import Budget
from accord.privacy.events import Cost, Promise
from accord.privacy.release import Snapshot
from accord.state.database import Database
from accord.state.ledger import Ask, Ledger

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TENTH = Promise(Cost(Fraction(1, 10), Fraction(0)))

COMMON = textwrap.dedent(
    """
    import json, os, signal, sqlite3, sys
    from datetime import UTC, datetime
    from fractions import Fraction
    from pathlib import Path
    import numpy as np
    from accord.errors import BudgetError
    from accord.privacy.events import Cost, Promise
    from accord.privacy.release import Snapshot
    from accord.state.database import Database
    from accord.state.ledger import Ask, Ledger

    path, event = Path(sys.argv[1]), Promise(Cost(Fraction(1, 10), Fraction(0)))

    def charge(ledger, run, key):
        draw = lambda: np.frombuffer(os.urandom(64), dtype=np.uint8).astype(np.int64)
        ask = Ask(run, "d", "p", b"", key, event, Snapshot("s", b"content"))
        return ledger.charge(ask, draw, datetime(2026, 1, 2, tzinfo=UTC)).noise.tolist()
    """
)

# Charges until refused; says what it got.
RACER = COMMON + textwrap.dedent(
    """
    name, same, got = sys.argv[2], sys.argv[3] == "same", []
    sys.stdin.readline()
    ledger = Ledger(Database(path.parent))
    for i in range(12):
        try:
            got.append(charge(ledger, f"{name}-{i}", bytes([i]) if same else f"{name}-{i}".encode()))
        except BudgetError:
            break
    print(json.dumps(got))
    """
)

# For every instruction of a charge, forks a child that charges one run and kills itself there.
VICTIMS = COMMON + textwrap.dedent(
    """
    real = sqlite3.connect

    def dying(at):
        ticks = 0
        def tick():
            nonlocal ticks
            ticks += 1
            if ticks == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return 0
        def connect(*args, **kwargs):
            db = real(*args, **kwargs)
            db.set_progress_handler(tick, 1)
            return db
        sqlite3.connect = connect
        return lambda: ticks

    def child(run, at):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            ledger = Ledger(Database(path.parent))
            count = dying(at)
            noise = charge(ledger, run, run.encode())
            os.write(writer, json.dumps([count(), noise]).encode())
            os._exit(0)
        os.close(writer)
        answer = os.read(reader, 1 << 16)
        os.close(reader)
        killed = os.waitpid(pid, 0)[1] == signal.SIGKILL
        return killed, json.loads(answer) if answer else []

    whole = child("whole", 0)[1][0]
    results = [[f"v-{at}", *child(f"v-{at}", at)] for at in range(1, whole + 11, int(sys.argv[2]))]
    print(json.dumps([whole, results]))
    """
)

# Charges for ever and says each run once it is answered.
ENDLESS = COMMON + textwrap.dedent(
    """
    ledger, i = Ledger(Database(path.parent)), int(sys.argv[2])
    while True:
        charge(ledger, f"e-{i}", str(i).encode())
        print(i, flush=True)
        i += 1
    """
)


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], said: str | None = None) -> str:
    output, _ = process.communicate(said, timeout=120)
    assert process.returncode == 0
    return output


def race(path: Path, racers: int, same: str) -> list[list[list[int]]]:
    processes = [start(RACER, path, f"p{i}", same) for i in range(racers)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [json.loads(finish(process)) for process in processes]


def charge(ledger: Ledger, run: str, key: bytes) -> list[int]:
    ask = Ask(run, "d", "p", b"", key, TENTH, Snapshot("s", b"content"))
    if run in {known.run for known in ledger.runs()}:
        return ledger.recall(ask).noise.tolist()
    return ledger.charge(ask, lambda: np.array([7], dtype=np.int64), NOW).noise.tolist()


def assert_sound(ledger: Ledger) -> None:
    runs = ledger.runs()
    assert len({run.run for run in runs}) == len(runs)
    paid = [run.drawing for run in runs if run.paid]
    assert len(set(paid)) == len(paid), "a drawing was charged twice"
    assert {run.drawing for run in runs} == set(paid), "noise was given out without a charge"
    assert all(run.stored for run in runs)


def test_processes_at_once_spend_the_budget_exactly_and_no_more(tmp_path: Path) -> None:
    ledger = Ledger(Database(tmp_path))
    ledger.set_budget("d", Budget(Cost(Fraction(1), Fraction(0))))
    got = race(tmp_path / "state.sqlite", 3, "different")
    assert sum(len(runs) for runs in got) == 10
    assert sum(run.cost == TENTH.cost for run in ledger.runs()) == 10
    assert len(ledger.runs()) == 10
    assert_sound(ledger)


@pytest.mark.slow
def test_processes_at_once_get_the_same_noise_for_the_same_release(tmp_path: Path) -> None:
    ledger = Ledger(Database(tmp_path))
    ledger.set_budget("d", Budget())
    got = race(tmp_path / "state.sqlite", 3, "same")
    assert got[0] == got[1] == got[2]
    assert len(got[0]) == 12
    assert len({tuple(noise) for noise in got[0]}) == 12
    assert len(ledger.runs()) == 36
    assert sum(run.cost == TENTH.cost for run in ledger.runs()) == 12
    assert_sound(ledger)


def check_victims(ledger: Ledger, results: Sequence[tuple[str, bool, list[object]]]) -> None:
    rows = {run.run for run in ledger.runs()}
    for run, killed, answer in results:
        assert killed != bool(answer), "a child either dies or answers"
        # An answer is never lost.
        assert run in rows or not answer
    # Before the commit nothing is there; behind it there are a few instructions before the answer.
    unanswered = [run for run, _, answer in results if run in rows and not answer]
    assert len(unanswered) <= 2
    assert_sound(ledger)
    for run, _, answer in results:
        noise = charge(ledger, run, run.encode())
        assert run in unanswered or noise == (answer[1] if answer else [7])
    assert {run.run for run in ledger.runs()} == {"whole", *(run for run, _, _ in results)}
    assert sum(run.cost == TENTH.cost for run in ledger.runs()) == len(results) + 1
    assert_sound(ledger)


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_point_a_charge_is_whole_or_absent(every: int, tmp_path: Path) -> None:
    ledger = Ledger(Database(tmp_path))
    ledger.set_budget("d", Budget(Cost(Fraction(10**6), Fraction(0))))
    whole, results = json.loads(finish(start(VICTIMS, tmp_path / "state.sqlite", every)))
    assert whole > 50
    assert len(results) == len(range(1, whole + 11, every))
    assert sum(killed for _, killed, _ in results) >= (whole - 10) // every
    check_victims(ledger, results)


def kill_while_committing(path: Path, rounds: int) -> None:
    ledger, next_run = Ledger(Database(path.parent)), 0
    ledger.set_budget("d", Budget())
    for wait in below(Seeded("kill"), 8000, rounds):
        with start(ENDLESS, path, next_run) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            # Somewhere within the charges that follow; where exactly does not matter to what must hold.
            time.sleep(int(wait) / 1e6)
            process.kill()
            answered = [int(line) for line in (first + process.stdout.read()).split()]
        assert answered == list(range(next_run, answered[-1] + 1))
        rows = {run.run for run in ledger.runs()}
        assert {f"e-{i}" for i in answered} <= rows, "an answered charge was lost"
        assert rows <= {f"e-{i}" for i in range(answered[-1] + 2)}, "a charge appeared that nobody asked for"
        assert_sound(ledger)
        next_run = len(rows)
    charge(ledger, "after", b"after")
    assert all(run.cost == TENTH.cost for run in ledger.runs())


def test_killed_from_outside_no_answered_charge_is_lost(tmp_path: Path) -> None:
    kill_while_committing(tmp_path / "state.sqlite", 2)


@pytest.mark.slow
def test_killed_from_outside_often_no_answered_charge_is_lost(tmp_path: Path) -> None:
    kill_while_committing(tmp_path / "state.sqlite", 100)
