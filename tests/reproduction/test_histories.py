"""Over several runs, from the file to the protocol: what partners see is within what the ledger adds up.

By exact enumeration on a tiny history, and by audit on larger ones. The audit acquits the program as it is,
and convicts it once a test puts back what it must not do: announce a size without the rows that are left out,
name noise by what is in the table, let a spelling open an account.

False alarms: each audit here accuses the innocent with probability 0.001, whatever it learnt.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.entropy import Seeded
from accord.fields.columns import Records
from accord.privacy.budget import Budget
from accord.privacy.events import Cost, Promise
from accord.privacy.release import Snapshot, release_key
from accord.side import Side
from accord.state.accounts import account
from accord.state.database import Database
from accord.state.files import make_folder
from accord.state.ledger import Ask, Ledger
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

    for module in ("privacy.release", "state.register", "state.ledger", "state.ledger_accounts"):
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


Shape = tuple[float, ...]
"""A tiny noise on 0, 1, …; its losses follow from the definition, and no accountant is asked for them."""
NOW = datetime(2026, 1, 1, tzinfo=UTC)
Tables = tuple[tuple[str | None, tuple[int, int]], ...]
"""Of every run the snapshot and the true counts of two bins."""
Law = dict[Any, float]
HISTORIES: list[tuple[Tables, Tables]] = [
    # One record moves in the second snapshot, or does not.
    ((("s1", (1, 1)), ("s2", (1, 1))), (("s1", (1, 1)), ("s2", (2, 0)))),
    # The same snapshot twice, then a new one.
    ((("s1", (1, 1)), ("s1", (1, 1)), ("s2", (0, 2))), (("s1", (2, 0)), ("s1", (2, 0)), ("s2", (0, 2)))),
    # Without snapshots.
    (((None, (1, 1)), (None, (1, 1))), ((None, (2, 0)), (None, (2, 0)))),
    # Two names for tables that happen to be equal.
    ((("s1", (2, 0)), ("s2", (2, 0))), (("s1", (2, 0)), ("s2", (1, 1)))),
]


def run_history(folder: Path, tables: Tables, coins: Iterator[int]) -> tuple[tuple[int, ...], ...]:
    """The noisy counts that partners see."""
    make_folder(folder)
    ledger = Ledger(Database(folder))
    ledger.set_budget(ACCOUNT, Budget())
    seen = []
    for number, (snapshot, counts) in enumerate(tables):
        declared = None if snapshot is None else Snapshot(snapshot, repr(counts).encode())
        event = Promise(Cost(Fraction(1), Fraction(0)))
        asked = Ask(f"r{number}", ACCOUNT, f"p{number % 2}", b"", b"place", event, declared)
        charged = ledger.charge(asked, lambda: np.array([next(coins), next(coins)]), NOW)
        seen.append(tuple(int(c) for c in np.array(counts) + charged.noise))
    return tuple(seen)


def distribution(folder: Path, tables: Tables, draws: int, shape: Shape) -> Law:
    """Every outcome of a history with its probability, over all coins."""
    found: Law = defaultdict(float)
    for number, coins in enumerate(itertools.product(range(len(shape)), repeat=2 * draws)):
        seen = run_history(folder / str(number), tables, iter(coins))
        found[seen] += math.prod(shape[coin] for coin in coins)
    return found


def once(counts: tuple[int, int], shape: Shape) -> Law:
    """One release, by definition."""
    found: Law = defaultdict(float)
    for x, y in itertools.product(range(len(shape)), repeat=2):
        found[counts[0] + x, counts[1] + y] += shape[x] * shape[y]
    return found


def delta(p: Law, q: Law, epsilon: float) -> float:
    factor = math.exp(epsilon)
    return sum(max(0.0, mass - factor * q.get(seen, 0.0)) for seen, mass in p.items())


@pytest.mark.parametrize(
    ("worlds", "shape"),
    [
        *((worlds, (0.3, 0.7)) for worlds in HISTORIES[:2]),
        *(pytest.param(worlds, (0.1, 0.6, 0.3), marks=pytest.mark.slow) for worlds in HISTORIES),
    ],
)
def test_by_enumeration_a_history_is_the_composition_of_its_releases(
    worlds: tuple[Tables, Tables], shape: Shape, tmp_path: Path
) -> None:
    """δ(ε) of all that is seen is that of one release for each name, both ways; and charged are the names."""
    first = {s if s is not None else f"run {i}": i for i, (s, _) in reversed(list(enumerate(worlds[0])))}
    seen, composed = [], []
    for world, tables in enumerate(worlds):
        folder = tmp_path / str(world)
        folder.mkdir()
        seen.append(distribution(folder, tables, len(first), shape))
        law: Law = {(): 1.0}
        for run in sorted(first.values()):
            new = once(tables[run][1], shape)
            law = {(*key, more): mass * extra for key, mass in law.items() for more, extra in new.items()}
        composed.append(law)
        ledger = Ledger(Database(next(folder.iterdir())))
        spent = account(ACCOUNT, ledger.runs(), ledger.budgets()).spent
        assert spent is not None
        assert spent.epsilon == len(first)
    for epsilon in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0):
        for p, q in ((0, 1), (1, 0)):
            wanted = delta(composed[p], composed[q], epsilon)
            assert math.isclose(delta(seen[p], seen[q], epsilon), wanted, abs_tol=1e-12)
