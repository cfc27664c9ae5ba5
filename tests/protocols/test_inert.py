"""Rows that are left out: they count, they match nothing, and the partner cannot tell them from records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.errors import PeerError
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.protocols import naming
from accord.protocols.base import prepare
from accord.protocols.lines import find_records
from accord.protocols.registry import PROTOCOLS, protocol_named
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.side import Side
from accord.simulation.pair import make_mine, release_of
from tests.protocols import worlds
from tests.protocols.views import views

Points = list[tuple[int | None, int]]
"""A record without x is left out."""
SOUND = sorted(PROTOCOLS)


def agreement(name: str, **options: Any) -> Agreement:
    kind = protocol_named(name)
    plain = worlds.agreement(rule="same(x) and same(y)").model_dump(mode="json")
    plain["fields"]["x"]["missing"] = "skip"
    plain["blocking"] = [{"kind": "key", "field": "x"}] if kind.blocked else []
    plain["protocol"] = kind.draft("1", "1e-3", {side: "geometric" for side in Side}) | options
    return Agreement.model_validate(plain)


def table(rows: Points, prefix: str = "r") -> pa.Table:
    return pa.table(
        {
            "id": [f"{prefix}{i}" for i in range(len(rows))],
            "x": pa.array([x for x, _ in rows], pa.int64()),
            "y": pa.array([y for _, y in rows], pa.int64()),
        }
    )


def load(rows: Points, agreed: Agreement, prefix: str = "r") -> Records:
    return load_records(table(rows, prefix), agreed.fields, agreed.salt, ["x", "y"])


points = st.tuples(st.none() | st.integers(0, 3), st.integers(0, 3))


@pytest.mark.parametrize("name", SOUND)
@given(a=st.lists(points, max_size=8), b=st.lists(points, max_size=8), seed=st.integers(0, 99))
def test_they_count_and_match_nothing(name: str, a: Points, b: Points, seed: int) -> None:
    options = {"window": 16} if "window" in PROTOCOLS[name].options else {}
    agreed = agreement(name, **options)
    held, entropy, engine = (load(a, agreed, "a"), load(b, agreed, "b")), Seeded(seed), IdealEngine()
    mine = [
        make_mine(release_of(agreed, side, max(1, own.size)), own, other.size, entropy.stream(side.value))
        for side, own, other in zip(Side, held, held[::-1], strict=True)
    ]
    seen = views(agreed.task, mine[0], mine[1], engine)
    assert (seen[Side.A].outcome.partner_size, seen[Side.B].outcome.partner_size) == (len(b), len(a))
    found = worlds.pairs_of_a(seen[Side.A].outcome) if len(held[0]) else []
    live = [i for i, (x, _) in enumerate(a) if x is not None]
    named = [(live[i], j) for i, j in found]
    assert named == [(i, j) for i, p in enumerate(a) for j, q in enumerate(b) if p == q and p[0] is not None]


MATCHED: Points = [(5, 5), (6, 6)]
STRANGER: Points = [*MATCHED, (9, 9)]
LEFT_OUT: Points = [*MATCHED, (None, 9)]


def shape(name: str, side: Side, rows: Points, noise: Any, engine: Any) -> tuple[object, ...]:
    """What the partner sees of this side beyond random bytes: sizes of messages, counts, figures."""
    agreed = agreement(name)
    task, own = agreed.task, load(rows, agreed, "o")
    other = load([(5, 5), (1, 1), (2, 2), (3, 3)], agreed, "p")
    partner = make_mine(release_of(agreed, side.other, other.size), other, own.size, Seeded(1))
    mine = prepare(task, side, own, other.size, noise(own), Seeded(2))
    both = (mine, partner) if side is Side.A else (partner, mine)
    seen = views(task, *both, engine)[side.other]
    counts = tuple(mine.slots.counts.tolist())
    outcome = seen.outcome
    return seen.sent, tuple(map(len, seen.received)), counts, outcome.partner_size, outcome.comparisons


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("engine", [IdealEngine, OtEngine])
def test_the_partner_cannot_tell_one_from_a_stranger(name: str, side: Side, engine: Any) -> None:
    """The same reports, or the same padded sizes, give the same view: all else follows from the release."""

    def noise(own: Records) -> np.ndarray:
        if name == "laplace":
            padded = np.full(16, 7)
            padded[9] += own.left_out
            return padded
        return release_of(agreement(name), side, own.size).draw(own, Seeded(3))

    shapes = {shape(name, side, rows, noise, engine()) for rows in (STRANGER, LEFT_OUT)}
    assert len(shapes) == 1


def test_a_partner_that_names_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an intersection a row that was left out has a token like every record; nobody can have found it."""
    agreed = agreement("psi")
    own = load([(5, 5), (None, 1)], agreed, "o")
    other = load([(5, 5)], agreed, "p")

    def forge(named: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        find_records(named, tokens)
        return np.array([len(tokens) - 1])

    lister = make_mine(release_of(agreed, Side.A, 2), own, 1, Seeded(1))
    asker = make_mine(release_of(agreed, Side.B, 1), other, 2, Seeded(2))
    monkeypatch.setattr(naming, "find_records", forge)
    with pytest.raises(PeerError, match="a row that was left out"):
        views(agreed.task, lister, asker, IdealEngine())


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_a_simulation_counts_them(name: str) -> None:
    agreed = agreement(name)
    result = accord.simulate(table(LEFT_OUT, "a"), table(STRANGER, "b"), agreed, seed=1)
    assert (result.records_a, result.records_b, result.left_out) == (3, 3, 1)
    if name == "all-pairs":
        whole = accord.simulate(table(STRANGER, "a"), table(STRANGER[:2], "b"), agreed, seed=1)
        assert whole.all_pairs == 6
        assert result.runs[0].dummies_a == 1
