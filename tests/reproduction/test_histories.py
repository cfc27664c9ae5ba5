"""Over several runs, from the file to the protocol: what partners see is within what the ledger adds up.

Exactly on a tiny history, and by audit on larger ones. The audit acquits the program as it is,
and convicts it once a test puts back what it must not do: announce a size without the rows that are left out,
name noise by what is in the table, let a spelling open an account.

False alarms: each audit here accuses the innocent with probability 0.001, whatever it learnt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accord.entropy import Seeded
from accord.fields.columns import Records
from accord.privacy.budget import Budget
from accord.privacy.events import Cost, Promise
from accord.privacy.release import Snapshot, release_key
from accord.side import Side
from accord.state.accounts import account
from accord.state.files import make_folder
from accord.state.ledger import Ask, Ledger
from accord.state.store import Store
from reproduction.audit.cases import options
from reproduction.audit.histories import ACCOUNT, SPELLINGS, History, histories
from reproduction.audit.protocol import ask

QUIET = options("laplace", "0.3", "1e-3") | {"greedy": False}
"""An ε that few runs could refute."""
LOUD = options("laplace", "1.6", "1e-3") | {"greedy": False}
"""An ε whose noise a few dozen runs average away."""
NAMES = ("left-out", "move", "insert", "delete", "partners", "renamed")


def history(name: str, side: Side = Side.A, protocol: dict[str, object] = QUIET) -> History:
    (found,) = [each for each in histories(protocol) if each.name == name and each.side is side]
    return found


def judge(question: History, trials: int) -> Any:
    found = ask([question], trials=trials)
    assert found.worst.finding.epsilon_most > found.worst.finding.epsilon_claimed + 0.2, "it could not fail"
    return found


@pytest.mark.parametrize(
    ("name", "protocol", "promise"),
    [
        ("move", options("psi", "", ""), (0, 0)),
        ("move", options("routed", "", ""), (0, 0)),
        ("move", QUIET, ("3/5", "2/1000")),
        ("renamed", LOUD, ("1.6", "1e-3")),
    ],
    ids=["psi", "routed", "laplace", "what one run costs, by the limit"],
)
def test_a_history_promises_what_its_account_adds_up(
    name: str, protocol: dict[str, object], promise: tuple[str, str]
) -> None:
    assert history(name, protocol=protocol).promise == tuple(map(Fraction, promise))


# -- audits ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, name) for kind in ("laplace", "local-dp") for name in NAMES),
        # Without noise many runs show nothing that one does not.
        *((kind, name) for kind in ("all-pairs", "psi") for name in NAMES[:4]),
    ],
)
def test_every_history_of_every_protocol_is_acquitted(kind: str, name: str, side: Side) -> None:
    protocol = options(kind, "0.3", "1e-3") | ({} if kind == "psi" else {"greedy": False})
    assert not judge(history(name, side, protocol), 100).leaky


def announce_rows(patch: pytest.MonkeyPatch) -> None:
    """A size without the rows that are left out."""
    patch.setattr(Records, "size", property(len))


def name_by_content(patch: pytest.MonkeyPatch) -> None:
    """Noise named by what is in the table."""

    def by_content(self: Ask) -> bytes:
        assert self.snapshot is not None
        return release_key(self.dataset, self.snapshot.content.hex(), self.run, self.place, self.event)

    patch.setattr(Ask, "key", property(by_content))


def open_by_spelling(patch: pytest.MonkeyPatch) -> None:
    """Fresh accounts have no limit, and noise that is drawn again and again averages out."""
    find = Ledger.find_account

    def open_account(self: Ledger, dataset: str | None) -> str:
        if dataset is not None and dataset not in self.budgets():
            self.set_budget(dataset, Budget())
        return find(self, dataset)

    for module in ("privacy.release", "state.ledger", "state.ledger_accounts"):
        patch.setattr(f"accord.{module}.fold_name", lambda name: name)
    patch.setattr(Ledger, "find_account", open_account)


@pytest.mark.slow
@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize(
    ("name", "protocol", "put_back", "trials", "by"),
    [
        ("left-out", QUIET, announce_rows, 60, ""),
        ("move", QUIET, name_by_content, 80, "repeated words in messages of 56 bytes"),
        ("renamed", LOUD, open_by_spelling, 400, ""),
    ],
)
def test_what_must_not_be_done_is_convicted(
    name: str,
    protocol: dict[str, object],
    put_back: Callable[[pytest.MonkeyPatch], None],
    trials: int,
    by: str,
    side: Side,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    question = history(name, side, protocol)
    assert question.promise
    put_back(monkeypatch)
    found = judge(question, trials)
    assert found.leaky
    assert not by or by in found.worst.looked_at


@settings(max_examples=3, deadline=None)
@given(st.lists(st.sampled_from(SPELLINGS), min_size=2, max_size=2))
def test_no_view_depends_on_how_the_account_is_spelt(spelt: list[str]) -> None:
    plain = history("move")
    steps = tuple(replace(step, dataset=name) for step, name in zip(plain.steps, spelt, strict=True))
    views = [each.view(1, Seeded(1), Seeded(2)) for each in (plain, replace(plain, steps=steps))]
    assert views[0].messages == views[1].messages


def test_a_limit_ends_a_history_before_the_partner_is_called() -> None:
    once, often = (len(history(n).view(0, Seeded(1), Seeded(2)).messages) for n in ("move", "renamed"))
    assert often == once / 2, "one run of one, against two"


NOW = datetime(2026, 1, 1, tzinfo=UTC)
Tables = tuple[tuple[str | None, tuple[int, int]], ...]
"""Of every run the snapshot and the true counts of two bins."""
HISTORIES: list[Tables] = [
    (("s1", (1, 1)), ("s2", (2, 0))),
    (("s1", (2, 0)), ("s1", (2, 0)), ("s2", (0, 2)), ("s1", (2, 0))),
    # Without snapshots.
    ((None, (1, 1)), (None, (2, 0))),
    # Two names for tables that happen to be equal.
    (("s1", (2, 0)), ("s2", (2, 0))),
]


@pytest.mark.parametrize("tables", HISTORIES)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(coins=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=4, unique=True))
def test_partners_see_one_release_for_each_name_and_the_names_are_charged(
    tables: Tables, coins: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """For all coins, so a history is the composition of its releases at every ε."""
    folder = tmp_path_factory.mktemp("state")
    make_folder(folder)
    ledger = Ledger(Store(folder))
    ledger.set_budget(ACCOUNT, Budget())
    fresh, drawn = iter(coins), dict[str, tuple[int, int]]()
    for number, (snapshot, counts) in enumerate(tables):
        declared = None if snapshot is None else Snapshot(snapshot, repr(counts).encode())
        event = Promise(Cost(Fraction(1), Fraction(0)))
        asked = Ask(f"r{number}", ACCOUNT, f"p{number % 2}", b"", b"place", event, declared)
        noise = ledger.charge(asked, lambda: np.array(next(fresh)), NOW).noise
        name = snapshot or f"run {number}"
        if name not in drawn:
            drawn[name] = coins[len(drawn)]
        assert tuple(noise.tolist()) == drawn[name]
    spent = account(ACCOUNT, ledger.runs(), ledger.budgets()).spent
    assert spent is not None
    assert spent.epsilon == len(drawn)
