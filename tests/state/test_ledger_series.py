"""Series in the ledger: charged once, looks that are final, and nothing kept of what was refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.errors import BudgetError, SeriesError
from accord.privacy.budget import Budget
from accord.privacy.events import NO_COST, Cost, Promise
from accord.protocols.parts.batches import Batch, Look, encode_look
from accord.state.accounts import account
from accord.state.database import Database
from accord.state.ledger import Ask, Ledger
from accord.state.ledger_series import SeriesLook
from tests.protocols.parts.test_batches import members
from tests.spent import SpentError

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TENTH = Promise(Cost(Fraction(1, 10), Fraction(1, 10**9)))
FIRST = Look(Batch(members({"a": (1, 1)}), np.array([4, 0])), np.zeros(0, np.int64))
SECOND = Look(Batch(members({"b": (2, 2)}), np.array([1, 2])), np.array([0]))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(Database(tmp_path))
    made.set_budget("north", Budget(Cost(Fraction(1, 10), Fraction(1, 10**9)), runs=3))
    return made


def ask(run: str, after: int, make: Callable[[], Look], key: bytes = b"key", name: str = "monthly") -> Ask:
    return Ask(run, "north", "p", b"agreement", b"place", TENTH, series=SeriesLook(name, key, after, make))


def never() -> Any:
    raise SpentError


def _same(look: Look) -> Look:
    return look


def looks(ledger: Ledger) -> list[bytes]:
    book = ledger.series("North", "MONTHLY")
    return [] if book is None else [encode_look(look) for look in book.looks]


def test_a_series_is_charged_once_and_every_run_counts(ledger: Ledger) -> None:
    for number, (look, cost) in enumerate(((FIRST, TENTH.cost), (SECOND, NO_COST), (SECOND, NO_COST))):
        assert ledger.quote(ask("offer", number, never)) == cost
        charged = ledger.charge(ask(f"r{number}", number, partial(_same, look)), never, NOW)
        assert charged.cost == cost
        assert charged.look is look
    assert looks(ledger) == [encode_look(look) for look in (FIRST, SECOND, SECOND)]
    found = account("north", ledger.runs(), ledger.budgets())
    assert (found.spent, found.runs, found.shown["p"]) == (TENTH.cost, 3, TENTH.cost)
    with pytest.raises(BudgetError, match="all 3 runs are used"):
        ledger.charge(ask("r3", 3, never), never, NOW)


def test_a_run_that_is_charged_again_finds_what_it_found(ledger: Ledger) -> None:
    ledger.charge(ask("r0", 0, lambda: FIRST), never, NOW)
    again = ledger.recall(ask("r0", 1, never))
    assert (again.cost, again.look) == (TENTH.cost, None)
    assert looks(ledger) == [encode_look(FIRST)]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (ask("r1", 1, lambda: SECOND, key=b"other"), "under another agreement"),
        (ask("r1", 0, lambda: SECOND), "another run has just gone on with it"),
        (ask("r1", 2, lambda: SECOND), "another run has just gone on with it"),
    ],
)
def test_what_does_not_go_on_from_the_last_run_is_refused(ledger: Ledger, asked: Ask, told: str) -> None:
    ledger.charge(ask("r0", 0, lambda: FIRST), never, NOW)
    for refused in (ledger.quote, lambda asked: ledger.charge(asked, never, NOW)):
        with pytest.raises(SeriesError, match=told):
            refused(asked)
    assert (len(ledger.runs()), looks(ledger)) == (1, [encode_look(FIRST)])


def test_a_draw_that_fails_leaves_no_trace(ledger: Ledger) -> None:
    for after in (0, 1):
        with pytest.raises(SpentError):
            ledger.charge(ask("broken", after, never), never, NOW)
        assert len(ledger.runs()) == after
        if after == 0:
            assert ledger.series("north", "monthly") is None
            ledger.charge(ask("r0", 0, lambda: FIRST), never, NOW)
    assert looks(ledger) == [encode_look(FIRST)]


def test_forgetting_a_run_ends_its_series_and_no_other(ledger: Ledger) -> None:
    ledger.set_budget("north", Budget())
    ledger.charge(ask("r0", 0, lambda: FIRST), never, NOW)
    ledger.charge(ask("r1", 1, lambda: SECOND), never, NOW)
    ledger.charge(ask("s0", 0, lambda: FIRST, key=b"other", name="yearly"), never, NOW)
    assert ledger.forget("r1") == ("r0",)
    with pytest.raises(SeriesError, match="was forgotten"):
        ledger.series("north", "monthly")
    with pytest.raises(SeriesError, match="was forgotten"):
        ledger.charge(ask("r2", 2, never), never, NOW)
    other = ledger.series("north", "yearly")
    assert other is not None
    assert other.runs == ("s0",)
    assert [run.series for run in ledger.runs()] == ["monthly", "monthly", "yearly"]
