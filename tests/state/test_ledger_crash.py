"""The ledger among processes: two at once, and killed at any point of a charge.

Children are real processes. One that is killed gets SIGKILL, either from its own progress handler after a
given number of SQLite's instructions, or from outside while it commits.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from accord.entropy import Seeded, below
from accord.privacy.budget import Budget
from accord.privacy.events import Cost
from accord.state.database import Database
from accord.state.ledger import Ledger
from tests.state.charges import TENTH, ask, charge


def start(mode: str, folder: Path, argument: object) -> subprocess.Popen[str]:
    command, pipe = [sys.executable, "-m", "tests.state.charges", mode], subprocess.PIPE
    words = [*command, str(folder), str(argument)]
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, cwd=Path(__file__).parents[2])
    assert process.stdin is not None
    print("go", file=process.stdin, flush=True)
    return process


def open_ledger(folder: Path, epsilon: int) -> Ledger:
    ledger = Ledger(Database(folder))
    ledger.set_budget("d", Budget(Cost(Fraction(epsilon), Fraction(0))))
    return ledger


def assert_sound(ledger: Ledger) -> None:
    runs = ledger.runs()
    assert len({run.run for run in runs}) == len(runs)
    paid = [run.drawing for run in runs if run.paid]
    assert len(set(paid)) == len(paid), "a drawing was charged twice"
    assert {run.drawing for run in runs} == set(paid), "noise was given out without a charge"
    assert all(run.stored for run in runs)


def test_processes_at_once_share_noise_and_spend_the_budget_exactly(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, 2)
    racers = [start("go on", tmp_path, f"p{i}") for i in range(3)]
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
    whole, results = json.loads(start("die", tmp_path, every).communicate()[0])
    assert whole > 50
    assert len(results) == len(range(1, whole + 11, every))
    assert sum(killed for _, killed, _ in results) >= (whole - 10) // every
    rows = {run.run for run in ledger.runs()}
    for run, killed, answer in results:
        assert killed != bool(answer), "a child either dies or answers"
        assert run in rows or not answer, "an answer was lost"
    # Before the commit nothing is there. Behind it there are a few instructions before the answer.
    unanswered = [run for run, _, answer in results if run in rows and not answer]
    assert len(unanswered) <= 2
    assert_sound(ledger)
    for run, _, answer in results:
        if run in rows:
            noise = ledger.recall(ask(run, run)).noise.tolist()
            assert run in unanswered or noise == answer[1]
        else:
            charge(ledger, run, run)
    assert {run.run for run in ledger.runs()} == {"whole", *(run for run, _, _ in results)}
    assert sum(run.cost == TENTH.cost for run in ledger.runs()) == len(results) + 1
    assert_sound(ledger)


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_from_outside_no_answered_charge_is_lost(rounds: int, tmp_path: Path) -> None:
    ledger, answered = open_ledger(tmp_path, 10**6), list[str]()
    for number, wait in enumerate(below(Seeded("kill"), 8000, rounds)):
        with start("go on", tmp_path, f"e{number}") as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            # Within the charges that follow. What must hold does not depend on the moment.
            time.sleep(int(wait) / 1e6)
            process.kill()
            answered += [json.loads(line)[0] for line in (first + process.stdout.read()).splitlines()]
        rows = {run.run for run in ledger.runs()}
        assert rows >= set(answered), "an answered charge was lost"
        assert len(rows) <= len(answered) + number + 1, "a charge appeared that was not asked for"
        assert_sound(ledger)
    charge(ledger, "after", "after")
