"""Of the pairs found both sides keep the textbook's one-to-one set, under any protocol; lies are noticed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.entropy import Seeded
from accord.errors import PeerError
from accord.fields.columns import Integers, Records
from accord.fields.load import load_records
from accord.protocols import intersection, linkage, naming
from accord.protocols.base import prepare
from accord.protocols.one_to_one import keep_best
from accord.protocols.parts.disclosed import Disclosed
from accord.secure.ideal import IdealEngine
from accord.secure.party import run_pair
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.liars import lie
from tests.rules.test_assignment import textbook as best_set

POINTS = "euclidean(x, y) <= 1"
SCORE = (
    "score(x: same -> 3, within 1 -> 2, otherwise -> -9; y: same -> 3, within 1 -> 2, otherwise -> -9) >= 5"
)
LOW = SCORE.replace("-> 3", "-> 0").replace("-> 2", "-> -1").replace(">= 5", ">= -1")
"""The same, with scores of 0 and below."""
PAIRS = "same(x) and same(y)"
KINDS: dict[str, dict[str, Any]] = {
    "greedy": {"rule": SCORE},
    "plain": {"rule": SCORE, "greedy": False},
    "without a score": {"rule": POINTS, "greedy": False},
    "scores below 0": {"rule": LOW, "greedy": False, "style": "replicate"},
    "all-pairs": {"rule": SCORE, "protocol": "all-pairs"},
    "passes": {"rule": POINTS, "greedy": False, "blocking": worlds.passes("grid", "around")},
    "psi": {"rule": PAIRS, "protocol": "psi"},
}


def agreement(**options: Any) -> Agreement:
    plain = worlds.agreement(**options).model_dump(mode="json")
    return Agreement.model_validate(plain | {"one_to_one": "score" if "score" in plain["rule"] else "pairs"})


def hiding(**options: Any) -> Agreement:
    """By ids alone, where a match shows nothing but its id."""
    plain = worlds.agreement(**options).model_dump(mode="json")
    return Agreement.model_validate(plain | {"one_to_one": "pairs", "disclose": {"A": [], "B": []}})


def worth(rule: str, a: tuple[int, int], b: tuple[int, int]) -> int:
    """What two points are worth by the textbook; 0 where they do not match."""
    apart = sorted(abs(p - q) for p, q in zip(a, b, strict=True))
    if apart == [0, 0]:
        return {SCORE: 6, LOW: 2}.get(rule, 1)
    return {SCORE: 5, PAIRS: 0}.get(rule, 1) if apart == [0, 1] else 0


def expected(rule: str, a: worlds.Rows, b: worlds.Rows) -> list[tuple[int, int]]:
    """The best set by the textbook; ids of one digit are in the order of their numbers."""
    all_pairs = {(i, j): worth(rule, p, q) for i, p in enumerate(a) for j, q in enumerate(b)}
    return sorted(best_set({pair: value for pair, value in all_pairs.items() if value}))


crowded = st.lists(st.tuples(st.integers(4, 6), st.integers(4, 5)), min_size=1, max_size=5)


@pytest.mark.parametrize("kind", KINDS)
@given(a=crowded, b=crowded)
def test_both_sides_keep_the_best_set(kind: str, a: worlds.Rows, b: worlds.Rows) -> None:
    agreed = agreement(**KINDS[kind])
    require_sound(agreed)
    left, right, _ = worlds.link(agreed, a, b)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == expected(KINDS[kind]["rule"], a, b)
    found = len([1 for p in a for q in b if worth(KINDS[kind]["rule"], p, q)])
    assert left.matches_found == right.matches_found == found
    assert left.digest == right.digest
    assert not left.partner_fields, "they are no part of the output"


HIDDEN: dict[str, dict[str, Any]] = {
    "plain": {"rule": SCORE, "greedy": False},
    "all-pairs": {"rule": POINTS, "protocol": "all-pairs", "greedy": False},
    "psi": {"rule": PAIRS, "protocol": "psi"},
}


@pytest.mark.parametrize("kind", HIDDEN)
@given(a=crowded, b=crowded)
def test_by_ids_no_field_is_needed(kind: str, a: worlds.Rows, b: worlds.Rows) -> None:
    """By the textbook with every pair worth 1; and a match brings nothing along for it."""
    agreed = hiding(**HIDDEN[kind])
    require_sound(agreed)
    assert agreed.task.shown_fields == ()
    left, right, wire = worlds.link(agreed, a, b)
    every = {(i, j): 1 for i, p in enumerate(a) for j, q in enumerate(b) if worth(HIDDEN[kind]["rule"], p, q)}
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == sorted(best_set(every))
    assert left.matches_found == right.matches_found == len(every)
    assert left.digest == right.digest
    without = agreed.model_copy(update={"one_to_one": False})
    assert worlds.link(without, a, b)[2].bytes == wire.bytes


@given(st.lists(st.sampled_from([1, 2, 3]), min_size=8, max_size=8), st.permutations(range(8)))
def test_by_ids_the_set_is_the_same_in_whatever_order_rows_come(xs: list[int], order: list[int]) -> None:
    agreed = hiding(rule="same(x)", protocol="all-pairs", greedy=False)
    table = pa.table({"id": [f"r{i}" for i in range(8)], "x": xs, "y": xs})
    found = set()
    for shuffled in (table, table.take(order)):
        own, other = (load_records(one, agreed.fields, agreed.salt) for one in (shuffled, table.slice(0, 5)))
        left, _ = _link(agreed, own, other)
        ids = own.ids.take(pa.array(left.own)), left.partner_ids.take(pa.array(left.partner))
        found.add(frozenset(zip(*(some.to_pylist() for some in ids), strict=True)))
    assert len(found) == 1


@pytest.mark.parametrize("kind", ["greedy", "plain"])
def test_without_it_all_pairs_are_kept_and_as_much_is_sent(kind: str) -> None:
    rows = [(3, 3), (3, 4)]
    with_it, without = agreement(**KINDS[kind]), worlds.agreement(**KINDS[kind])
    left, right, wire = worlds.link(without, rows, rows)
    assert len(left.own) == len(right.own) == 4
    assert left.matches_found is None
    more = worlds.link(with_it, rows, rows)[2].bytes - wire.bytes
    # The fields by which pairs are chosen come along in any case, to be checked, as both sides show them.
    assert more == 0


def test_nothing_found_is_nothing_kept() -> None:
    for kind in KINDS.values():
        left, _, _ = worlds.link(agreement(**kind), [(1, 1)], [(9, 9)])
        assert (len(left.own), left.matches_found) == (0, 0)


ODD = [" ", "\ue000", "\U0001f600", "é", "e\u0301", "Z", "a\nb", "=1+1", "10", "2", "\u202e", "a" * 300]
"""Ids on which orders differ: by letters, by numbers, by UTF-16."""


@given(st.permutations(ODD), st.permutations(ODD), st.integers(1, len(ODD)))
def test_hostile_ids_are_in_one_order_on_both_sides(a: list[str], b: list[str], count: int) -> None:
    agreed = agreement(rule=POINTS, protocol="all-pairs", greedy=False)
    tables = [_named(a, agreed), _named(b[:count], agreed)]
    left, right = _link(agreed, *tables)
    found = [(a[i], left.partner_ids[j].as_py()) for i, j in zip(left.own, left.partner, strict=True)]
    there = [(right.partner_ids[i].as_py(), b[j]) for j, i in zip(right.own, right.partner, strict=True)]
    by_bytes = [sorted(names, key=lambda name: name.encode()) for names in (a, b[:count])]
    assert sorted(found) == sorted(there) == sorted(zip(*by_bytes, strict=False))


def _named(ids: list[str], agreed: Agreement) -> Records:
    """All at one point, so that everything is a tie."""
    same = pa.array([5] * len(ids))
    return load_records(pa.table({"id": ids, "x": same, "y": same}), agreed.fields, agreed.salt, ["x", "y"])


def _link(agreed: Agreement, a: Records, b: Records) -> Any:
    task, none = agreed.task, np.zeros(agreed.plan.bins, np.int64)
    sides = (Side.A, a, b.size), (Side.B, b, a.size)
    mine = [prepare(task, side, own, size, none, Seeded(side.value)) for side, own, size in sides]
    engine = IdealEngine()
    return run_pair(worlds.run(task, mine[0], engine), worlds.run(task, mine[1], engine))


def _other_fields(disclosed: Any) -> Any:
    fields = {name: Integers(np.full_like(c.values, 15), c.present) for name, c in disclosed.fields.items()}
    return replace(disclosed, fields=fields)


def test_fields_that_the_rule_denies_are_refused() -> None:
    def meddle(side: Any) -> None:
        true = side._disclosure
        side._disclosure = lambda slots: _other_fields(true(slots))

    with pytest.raises(PeerError, match="a match that the rule denies"):
        lie(agreement(**KINDS["plain"]), [(3, 3)], [(3, 3), (12, 8)], meddle)


def test_fields_that_the_rule_denies_are_refused_in_an_intersection(monkeypatch: pytest.MonkeyPatch) -> None:
    def lying(counts: Any, slots: Any, fields: Any, ids: Any, columns: Any) -> Any:
        made = Disclosed(counts, slots, fields, ids, columns)
        return _other_fields(made) if ids[0].as_py().startswith("B") else made

    monkeypatch.setattr(naming, "Disclosed", lying)
    with pytest.raises(PeerError, match="a match that the rule denies"):
        worlds.link(agreement(**KINDS["psi"]), [(3, 3)], [(3, 3), (12, 8)])


@pytest.mark.parametrize(("kind", "module"), [("plain", linkage), ("psi", intersection)])
def test_a_partner_that_keeps_another_set_is_found_out(
    kind: str, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(task: Any, mine: Any, outcome: Any) -> Any:
        kept = keep_best(task, mine, outcome)
        last = replace(outcome.pairs, keys=outcome.pairs.keys[-1:])
        return kept if mine.side is Side.A else replace(kept, pairs=last)

    monkeypatch.setattr(module, "keep_best", other)
    with pytest.raises(PeerError, match="an output other than ours"):
        worlds.link(agreement(**KINDS[kind]), [(3, 3), (3, 3)], [(3, 3)])
