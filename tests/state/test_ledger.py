"""The ledger: sticky noise, single charges, limits, forgetting, and a charge that is cut at any point.

Children are real processes. One that is killed gets SIGKILL, either from its own progress handler after a
given number of SQLite's instructions, or from outside while it commits.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta, timezone
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Seeded, below
from accord.errors import AccountError, BudgetError, DamagedError, SnapshotError, StateError, UsageError
from accord.privacy.budget import Budget
from accord.privacy.events import NO_COST, AllPairs, Cost, ExactAnswer, Intersection
from accord.state.accounts import accounts, set_budget
from accord.state.ledger import MANIFEST, Ledger, RunParts
from accord.state.store import Store
from tests.spent import SpentError
from tests.state.charges import NOW, PURE, TENTH, ask, charge


def giving(*noise: int) -> Callable[[], NDArray[np.int64]]:
    return lambda: np.array(noise, dtype=np.int64)


def never() -> NDArray[np.int64]:
    raise SpentError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.sqlite"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    """With two accounts, neither limited."""
    made = Ledger(Store(path.parent))
    made.set_budget("d", Budget())
    made.set_budget("e", Budget())
    return made


def test_a_charge_is_stored_with_all_its_facts(ledger: Ledger, path: Path) -> None:
    local, asked = NOW.astimezone(timezone(timedelta(hours=5))), replace(ask("r1"), uncovered=3)
    charged = ledger.charge(asked, giving(4, 0, 7), local, lambda given: RunParts({"bins": len(given.noise)}))
    assert charged.noise.tolist() == [4, 0, 7]
    assert charged.cost == TENTH.cost
    shown = f"{replace(asked, place=b'secret')!r} {charged!r} {ledger.runs()!r}"
    assert not any(secret in shown for secret in ("secret", "content", "[4, 0, 7]", "4, 0"))
    store = Store(path.parent)
    (row,) = Ledger(store).runs()
    assert (row.run, row.dataset, row.partner, row.agreement) == ("r1", "d", "p", b"agreement")
    assert (row.key, row.snapshot, row.uncovered, row.drawing) == (asked.key, "s", 3, 1)
    assert (row.event, row.cost, row.paid, row.at) == (TENTH, TENTH.cost, True, NOW)
    assert (row.stored, row.kept) == (True, True)
    with store.reading() as state:
        assert json.loads(state.content("part", "r1", MANIFEST) or b"") == {"bins": 3}


def test_a_release_is_drawn_and_charged_once_also_for_another_partner(ledger: Ledger) -> None:
    """Another release, another data set and each run without a snapshot have noise of their own."""
    ledger.charge(ask("r1"), giving(4, 0, 7), NOW)
    for run, partner in (("r2", "p"), ("r3", "q")):
        assert ledger.quote(ask(run, partner=partner)) == NO_COST
        again = ledger.charge(ask(run, partner=partner), never, NOW)
        assert (again.noise.tolist(), again.cost) == ([4, 0, 7], NO_COST)
    account, _ = accounts(ledger.runs(), ledger.budgets())
    assert (account.runs, account.spent) == (3, TENTH.cost)
    assert account.shown == {"p": TENTH.cost, "q": TENTH.cost}
    others = [ask("r4", b"other"), ask("r5", dataset="e"), ask("r6", snapshot=None), ask("r7", snapshot=None)]
    for number, other in enumerate(others):
        assert ledger.quote(other) == TENTH.cost
        charged = ledger.charge(other, giving(number), NOW)
        assert (charged.noise.tolist(), charged.cost) == ([number], TENTH.cost)
    assert ledger.recall(others[2]).noise.tolist() == [2], "a run that goes on is still that run"
    assert [run.cost for run in ledger.runs()] == [TENTH.cost, NO_COST, NO_COST, *[TENTH.cost] * 4]
    spent = [account.spent for account in accounts(ledger.runs(), {})]
    assert spent == [Cost(4 * TENTH.cost.epsilon, 4 * TENTH.cost.delta), TENTH.cost]


def test_a_run_is_charged_once_and_cannot_change_what_it_releases(ledger: Ledger) -> None:
    with pytest.raises(StateError):
        ledger.recall(ask("r1"))
    ledger.charge(ask("r1"), giving(4), NOW)
    with pytest.raises(StateError):
        ledger.charge(ask("r1"), never, NOW)
    for changed in (
        *(ask("r1", b"x"), ask("r1", dataset="e"), ask("r1", partner="q"), ask("r1", event=AllPairs())),
        *(ask("r1", snapshot=None), ask("r1", snapshot="t"), replace(ask("r1"), agreement=b"other")),
    ):
        with pytest.raises(StateError):
            ledger.recall(changed)
    again = ledger.recall(ask("r1", dataset="D"))
    assert (again.noise.tolist(), again.cost) == ([4], TENTH.cost)
    for run, event in (("r2", Intersection()), ("r3", AllPairs())):
        charged = ledger.charge(ask(run, event=event), never, NOW)
        assert (charged.noise.tolist(), charged.cost) == ([], NO_COST)
        assert ledger.recall(ask(run, event=event)).noise.tolist() == []
    assert [run.cost for run in ledger.runs()] == [TENTH.cost, NO_COST, NO_COST]
    assert ledger.forget("r2") == ()


def test_overspending_is_refused_before_anything_is_drawn(ledger: Ledger) -> None:
    ledger.set_budget("d", Budget(Cost(Fraction(1, 4), Fraction(1, 10**8))))
    ledger.charge(ask("r1", b"1"), giving(1), NOW)
    ledger.charge(ask("r0", b"1"), never, NOW)
    ledger.charge(ask("r2", b"2"), giving(1), NOW)
    for refused in (ledger.quote, lambda asked: ledger.charge(asked, never, NOW)):
        with pytest.raises(BudgetError):
            refused(ask("r3", b"3"))
    assert [run.run for run in ledger.runs()] == ["r1", "r0", "r2"]
    assert ledger.charge(ask("r4", b"2"), never, NOW).cost == NO_COST
    assert ledger.charge(ask("r5", b"3", dataset="e"), giving(1), NOW).cost == TENTH.cost
    # The cap on runs also holds for runs that cost nothing.
    ledger.set_budget("d", Budget(None, 5))
    ledger.charge(ask("r6", b"2"), never, NOW)
    with pytest.raises(BudgetError):
        ledger.charge(ask("r7", b"2"), never, NOW)
    assert len(ledger.recall(ask("r6", b"2")).noise) == 1


def test_limits_are_kept_exactly_and_changed_in_one_transaction(ledger: Ledger, path: Path) -> None:
    """What one process changes, another that changes something else does not write back."""
    limit = Budget(Cost(Fraction(1, 3), Fraction(1, 2**40)), 7)
    ledger.set_budget("d", limit)
    other = Ledger(Store(path.parent))
    assert other.budgets() == {"d": limit, "e": Budget()}

    def lower(old: Budget | None) -> Budget:
        assert old == limit
        with pytest.raises(StateError):
            other.set_budget("d", Budget())
        return Budget(Cost(Fraction(1), Fraction(0)), old.runs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accord.state.store.PATIENCE_SECONDS", 0.01)
        ledger.change_budget("D", lower)
    assert set_budget("d", runs=9, state=path.parent) == Budget(Cost(Fraction(1), Fraction(0)), 9)
    ledger.set_budget("D", Budget(None, 1))
    assert ledger.budgets() == {"d": Budget(None, 1), "e": Budget()}


def test_a_failed_draw_leaves_no_trace(ledger: Ledger) -> None:
    with pytest.raises(SpentError):
        ledger.charge(ask("r1"), never, NOW)
    for noise in (np.array([-1]), np.array([1 << 32]), np.zeros((1, 1), dtype=np.int64)):
        with pytest.raises(ValueError, match="noise"):
            ledger.charge(ask("r1"), lambda noise=noise: noise, NOW)  # type: ignore[misc]
    with pytest.raises(SpentError):
        ledger.charge(ask("r1"), giving(4), NOW, lambda _: never())  # type: ignore[arg-type,return-value]
    assert ledger.runs() == ()
    assert ledger.charge(ask("r1"), giving(4), NOW).cost == TENTH.cost


def test_forgetting_removes_the_noise_and_never_the_cost(ledger: Ledger, path: Path) -> None:
    """After it the same release is drawn and charged anew."""
    noise = np.arange(1000, 3000, dtype=np.int64)
    ledger.charge(ask("r1"), lambda: noise, NOW)
    ledger.charge(ask("r2"), never, NOW)
    assert noise.astype("<u4").tobytes()[:64] in path.read_bytes()
    assert ledger.forget("r2") == ledger.forget("r2") == ("r1",)
    assert noise.astype("<u4").tobytes()[:64] not in path.read_bytes()
    assert [(run.stored, run.cost) for run in ledger.runs()] == [(False, TENTH.cost), (False, NO_COST)]
    with pytest.raises(StateError):
        ledger.recall(ask("r1"))
    fresh = ledger.charge(ask("r3"), giving(8), NOW)
    assert (fresh.noise.tolist(), fresh.cost) == ([8], TENTH.cost)
    (account, _) = accounts(ledger.runs(), ledger.budgets())
    assert (account.spent, account.shown["p"]) == (TENTH.cost + TENTH.cost,) * 2


def test_another_table_under_a_snapshots_name_is_refused_without_a_trace(ledger: Ledger) -> None:
    ledger.charge(ask("r1"), giving(4), NOW)
    for other in (ask("r2", content=b"changed"), ask("r2", content=b"changed", event=AllPairs())):
        with pytest.raises(SnapshotError):
            ledger.quote(other)
        with pytest.raises(SnapshotError):
            ledger.charge(other, never, NOW)
    assert [run.run for run in ledger.runs()] == ["r1"]
    # Under another blocking the bins are others, and another name or account has a table of its own.
    others = [
        ask("r3", b"other place", content=b"changed"),
        ask("r4", snapshot="t", content=b"changed"),
        ask("r5", dataset="e", content=b"changed"),
    ]
    for number, other in enumerate((*others, ask("r6", snapshot=None))):
        assert ledger.charge(other, giving(number), NOW).cost == TENTH.cost


def test_a_declared_name_is_bound_before_any_charge(ledger: Ledger) -> None:
    """Of two runs that wait for their partners under one new name, the second is refused before it calls.
    A charge that was refused for its cost binds nothing."""
    ledger.set_budget("d", Budget(Cost(Fraction(0), Fraction(0))))
    with pytest.raises(BudgetError):
        ledger.charge(ask("r0", content=b"another"), never, NOW)
    ledger.set_budget("d", Budget())
    ledger.declare(ask("offer"))
    ledger.declare(ask("offer"))
    with pytest.raises(SnapshotError):
        ledger.declare(ask("offer", content=b"changed"))
    with pytest.raises(SnapshotError):
        ledger.quote(ask("offer", content=b"changed"))
    assert ledger.runs() == ()
    assert ledger.charge(ask("r1"), giving(4), NOW).cost == TENTH.cost
    ledger.declare(ask("offer", snapshot=None))
    full_width = "2026\N{FULLWIDTH HYPHEN-MINUS}11"
    ledger.charge(ask("r2", snapshot="2026-11"), giving(4), NOW)
    assert ledger.charge(ask("r3", snapshot=full_width), never, NOW).cost == NO_COST, "any spelling"


@pytest.mark.parametrize("name", ["North Clinic", "north clinic", "NORTH  CLINIC", "Ｎorth Clinic"])
def test_an_account_is_one_in_every_spelling(path: Path, name: str) -> None:
    ledger = Ledger(Store(path.parent))
    ledger.set_budget("North Clinic", Budget(TENTH.cost))
    assert ledger.find_account(name) == "North Clinic"
    ledger.charge(ask("r1", dataset=name), giving(4), NOW)
    assert ledger.charge(ask("r2", dataset="north clinic"), never, NOW).cost == NO_COST
    with pytest.raises(BudgetError):
        ledger.charge(ask("r3", dataset=name, snapshot=None), never, NOW)
    assert {run.dataset for run in ledger.runs()} == {"North Clinic"}


def test_an_account_that_was_not_made_is_refused(path: Path) -> None:
    ledger = Ledger(Store(path.parent))
    unknown = [ask("r1", dataset="pateints", event=event) for event in (TENTH, AllPairs())]

    def require_refused(use: Callable[..., object], *given: object) -> None:
        with pytest.raises(AccountError):
            use(*given)

    require_refused(ledger.find_account, None)
    ledger.set_budget("patients", Budget())
    assert ledger.find_account(None) == "patients"
    for asked in unknown:
        require_refused(ledger.quote, asked)
        require_refused(ledger.declare, asked)
        require_refused(ledger.charge, asked, never, NOW)
    require_refused(ledger.find_account, "x")
    ledger.set_budget("products", Budget())
    require_refused(ledger.find_account, None)
    assert ledger.runs() == ()


def test_only_an_account_without_a_run_can_be_removed(ledger: Ledger) -> None:
    """A run that cost nothing is one, too, and so is one whose noise was forgotten. A declared snapshot
    outlives the account."""
    ledger.declare(ask("offer", dataset="e"))
    ledger.remove_account("e")
    ledger.set_budget("e", Budget())
    with pytest.raises(SnapshotError):
        ledger.quote(ask("r1", dataset="e", content=b"other"))
    ledger.set_budget("Made by mistake", Budget())
    assert ledger.remove_account("made BY mistake") == "Made by mistake"
    assert list(ledger.budgets()) == ["d", "e"]
    with pytest.raises(AccountError):
        ledger.remove_account("Made by mistake")
    ledger.charge(ask("r1", dataset="d"), giving(1), NOW)
    ledger.charge(ask("r2", dataset="e", event=AllPairs()), never, NOW)
    ledger.forget("r1")
    for name in ("d", "e"):
        with pytest.raises(AccountError):
            ledger.remove_account(name)
    assert list(ledger.budgets()) == ["d", "e"]


def test_names_that_make_no_sense_are_refused(ledger: Ledger) -> None:
    wrong = (ask("../r"), ask("r", dataset=""), ask("r", partner="a\nb"), ask("r", snapshot=""))
    for one in (*wrong, ask("r", snapshot=" s"), ask("r", partner="p" * 101)):
        for use in (ledger.quote, ledger.declare, ledger.recall, lambda one: ledger.charge(one, never, NOW)):
            with pytest.raises(UsageError):
                use(one)
    for run in ("r9", "../r"):
        with pytest.raises(UsageError):
            ledger.forget(run)
    with pytest.raises(UsageError):
        ledger.set_budget("n" * 101, Budget())
    ledger.set_budget("n" * 100, Budget())


def test_damaged_noise_is_not_released_again(ledger: Ledger, path: Path) -> None:
    ledger.charge(ask("r1"), giving(4), NOW)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE part SET content = x'00' WHERE name = 'noise'")
    db.close()
    for again in (lambda: ledger.quote(ask("offer")), lambda: ledger.charge(ask("r2"), never, NOW)):
        with pytest.raises(DamagedError):
            again()
    assert [run.run for run in ledger.runs()] == ["r1"]


def test_an_account_shows_what_exact_composition_proves(ledger: Ledger) -> None:
    ledger.set_budget("d", Budget(Cost(Fraction(9), Fraction("1e-5"))))
    for i in range(24):
        ledger.charge(ask(f"r{i}", bytes([i])), giving(1), NOW)
    account, _ = accounts(ledger.runs(), ledger.budgets())
    assert account.spent == Cost(Fraction(24, 10), 24 * TENTH.cost.delta)
    assert account.tight is not None
    assert 1 < account.tight < 2.4
    ledger.set_budget("e", Budget(Cost(Fraction(1), Fraction(0))))
    ledger.charge(ask("r", dataset="e", event=ExactAnswer(), snapshot=None), never, NOW)
    _, account = accounts(ledger.runs(), ledger.budgets())
    assert (account.spent, account.tight) == (None, None)


# -- among processes -----------------------------------------------------------------------------------------


def start(mode: str, folder: Path, argument: object) -> subprocess.Popen[str]:
    command, pipe = [sys.executable, "-m", "tests.state.charges", mode], subprocess.PIPE
    words = [*command, str(folder), str(argument)]
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, cwd=Path(__file__).parents[2])
    assert process.stdin is not None
    print("go", file=process.stdin, flush=True)
    return process


def open_ledger(folder: Path, epsilon: int) -> Ledger:
    ledger = Ledger(Store(folder))
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
    answers = [
        json.loads(line) for process in racers for line in process.communicate(timeout=60)[0].splitlines()
    ]
    assert [process.returncode for process in racers] == [0] * 3
    shared = [(run.partition("-")[2], tuple(noise)) for run, noise in answers if "own" not in run]
    assert len({number for number, _ in shared}) == len(set(shared)) == len({noise for _, noise in shared})
    runs = ledger.runs()
    assert sum(run.cost == PURE.cost for run in runs) == 20
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
            noise = ledger.recall(ask(run, run.encode(), event=PURE)).noise.tolist()
            assert run in unanswered or noise == answer[1]
        else:
            charge(ledger, run, run)
    assert {run.run for run in ledger.runs()} == {"whole", *(run for run, _, _ in results)}
    assert sum(run.cost == PURE.cost for run in ledger.runs()) == len(results) + 1
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
