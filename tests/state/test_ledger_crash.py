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
    from contextlib import suppress
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

# Charges releases that all have, and in turn some of its own, until refused. Prints each run and its noise
# once it is answered.
CHARGER = COMMON + textwrap.dedent(
    """
    name, i = sys.argv[2], 0
    sys.stdin.readline()
    ledger = Ledger(Database(path.parent))
    with suppress(BudgetError):
        while True:
            for run, key in ((f"{name}-{i}", str(i)), (f"{name}-{i}-own", f"{name}-{i}")):
                print(json.dumps([run, charge(ledger, run, key.encode())]), flush=True)
            i += 1
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


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


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


def open_ledger(folder: Path, epsilon: int) -> Ledger:
    ledger = Ledger(Database(folder))
    ledger.set_budget("d", Budget(Cost(Fraction(epsilon), Fraction(0))))
    return ledger


def test_processes_at_once_share_noise_and_spend_the_budget_exactly(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, 2)
    racers = [start(CHARGER, tmp_path / "state.sqlite", f"p{i}") for i in range(3)]
    for process in racers:
        assert process.stdin is not None
        print("go", file=process.stdin, flush=True)
    answers = [json.loads(line) for process in racers for line in process.communicate()[0].splitlines()]
    assert [process.returncode for process in racers] == [0] * 3
    shared = [(run.partition("-")[2], tuple(noise)) for run, noise in answers if "own" not in run]
    assert len({number for number, _ in shared}) == len(set(shared)) == len({noise for _, noise in shared})
    runs = ledger.runs()
    assert sum(run.cost == TENTH.cost for run in runs) == 20
    assert {run.run for run in runs} == {run for run, _ in answers}
    assert len(shared) > len(set(shared))
    assert_sound(ledger)


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_point_a_charge_is_whole_or_absent(every: int, tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, 10**6)
    whole, results = json.loads(start(VICTIMS, tmp_path / "state.sqlite", every).communicate()[0])
    assert whole > 50
    assert len(results) == len(range(1, whole + 11, every))
    assert sum(killed for _, killed, _ in results) >= (whole - 10) // every
    rows = {run.run for run in ledger.runs()}
    for run, killed, answer in results:
        assert killed != bool(answer), "a child either dies or answers"
        # An answer is never lost.
        assert run in rows or not answer
    # Before the commit nothing is there. Behind it there are a few instructions before the answer.
    unanswered = [run for run, _, answer in results if run in rows and not answer]
    assert len(unanswered) <= 2
    assert_sound(ledger)
    for run, _, answer in results:
        noise = charge(ledger, run, run.encode())
        assert run in unanswered or noise == (answer[1] if answer else [7])
    assert {run.run for run in ledger.runs()} == {"whole", *(run for run, _, _ in results)}
    assert sum(run.cost == TENTH.cost for run in ledger.runs()) == len(results) + 1
    assert_sound(ledger)


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_from_outside_no_answered_charge_is_lost(rounds: int, tmp_path: Path) -> None:
    ledger, answered, unanswered = open_ledger(tmp_path, 10**6), list[str](), 0
    for number, wait in enumerate(below(Seeded("kill"), 8000, rounds)):
        with start(CHARGER, tmp_path / "state.sqlite", f"e{number}") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            print("go", file=process.stdin, flush=True)
            first = process.stdout.readline()
            # Within the charges that follow. What must hold does not depend on the moment.
            time.sleep(int(wait) / 1e6)
            process.kill()
            answered += [json.loads(line)[0] for line in (first + process.stdout.read()).splitlines()]
        rows = {run.run for run in ledger.runs()}
        assert rows >= set(answered), "an answered charge was lost"
        unanswered = len(rows - set(answered))
        assert unanswered <= number + 1, "a charge appeared that was not asked for"
        assert_sound(ledger)
    charge(ledger, "after", b"after")
