"""routed: the blocked join by keys with caps, views that do not depend on what matches nothing, resumes.

The oracle is that of MATHS 7.1, written on plain rows: a pair is found if in some pass both have the same
key, both have a place there, and the rule holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import accord
from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.entropy import Entropy, Seeded
from accord.errors import AgreementError, DataError, PeerError, UsageError
from accord.fields.load import load_records
from accord.forecast import room
from accord.privacy.events import UNLESS, FullKeys
from accord.protocols import naming, routed, routed_pairs, routed_passes, routing
from accord.protocols.base import prepare
from accord.protocols.parts.comparers import InTurn
from accord.protocols.parts.journal import Answer
from accord.protocols.parts.own_side import OwnSide, Status
from accord.protocols.routed import Routed
from accord.rules.evaluate import Tables
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Buffer, Party, Send, receive, run_pair
from accord.side import Side
from reproduction.places import generate_places, places_agreement
from tests.protocols import worlds
from tests.protocols.liars import OF_MATCHES, Change, check_flipped, run_altered
from tests.protocols.views import View, views
from tests.protocols.worlds import run
from tests.rules import worlds as world
from tests.secure.engines import noted

Point = tuple[int | None, int | None]
Points = Sequence[Point]
Pairs = list[tuple[int, int]]

COUNT = {"answer": "count", "epsilon": "2"}
PARTS: dict[str, dict[str, Any]] = {
    "x": {"kind": "key", "field": "x"},
    "y": {"kind": "key", "field": "y"},
    "both": {"kind": "key", "field": ["x", "y"]},
    "grid": {"kind": "grid", "fields": ["x"], "cell": 4, "style": "replicate", "reach": 1},
    "square": {"kind": "grid", "fields": ["x", "y"], "cell": 4, "style": "replicate", "reach": 1},
}


def agreement(
    *passes: str, caps: Any = None, rule: str = "euclidean(x, y) <= 1", **options: Any
) -> Agreement:
    """Points in these passes; `caps` is one for each of them."""
    blocking = {"pass": [{"parts": [PARTS[name]]} for name in passes]}
    for one, cap in zip(blocking["pass"], caps or [], strict=False):
        if cap is not None:
            one["cap"] = cap
    made = {"protocol": "routed", "rule": rule, "missing": "differs", "blocking": blocking}
    return worlds.agreement(**made | options)


def one_to_one(agreed: Agreement) -> Agreement:
    """The same, in which matched records take no part in later passes."""
    return Agreement.model_validate(agreed.model_dump(mode="json") | {"one_to_one": "pairs"})


# -- the oracle --------------------------------------------------------------------------------------------


def meet(name: str, p: Point, q: Point) -> bool:
    """Whether a record of A and one of B have a key of a pass in common."""
    (x, y), (u, v) = p, q
    match name:
        case "x":
            return x is not None and x == u
        case "y":
            return y is not None and y == v
        case "both":
            return None not in (x, y) and (x, y) == (u, v)
        case "grid":
            return None not in (x, u) and any(w // 4 == x // 4 for w in (u - 1, u, u + 1) if 0 <= w <= 15)  # type: ignore[operator]
        case _:
            if None in (x, y, u, v):
                return False
            near = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)]
            return any((u + s) // 4 == x // 4 and (v + t) // 4 == y // 4 for s, t in near)  # type: ignore[operator]


def holds(p: Point, q: Point) -> bool:
    (x, y), (u, v) = p, q
    return None not in (x, y, u, v) and (x - u) ** 2 + (y - v) ** 2 <= 1  # type: ignore[operator]


def oracle(passes: tuple[str, ...], a: Points, b: Points) -> Pairs:
    """g without full keys."""
    every = product(range(len(a)), range(len(b)))
    return [(i, j) for i, j in every if holds(a[i], b[j]) and any(meet(n, a[i], b[j]) for n in passes)]


def link(agreed: Agreement, a: Points, b: Points, seed: int = 0, engine: Engine | None = None) -> Pairs:
    """What both sides come to, which is the same."""
    left, right, _ = worlds.link(agreed, a, b, seed, engine=engine)  # type: ignore[arg-type]
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right)
    assert left.digest == right.digest
    assert left.comparisons == right.comparisons
    return worlds.pairs_of_a(left)


# -- what is found -----------------------------------------------------------------------------------------

some = st.none() | st.integers(0, 15)
few = st.none() | st.integers(4, 7)
tables = st.lists(st.tuples(some, some), min_size=1, max_size=14)
crowded = st.lists(st.tuples(few, few), min_size=1, max_size=9)
either = tables | crowded
chosen = st.lists(st.sampled_from(list(PARTS)), min_size=1, max_size=4).map(tuple)
asks = st.sampled_from([None, "A", "B"])


@settings(max_examples=40)
@given(chosen, either, either, asks, st.integers(0, 9))
def test_the_output_is_the_blocked_join_of_the_oracle(
    passes: tuple[str, ...], a: Points, b: Points, asker: str | None, seed: int
) -> None:
    agreed = agreement(*passes, cap=64, asks=asker)
    assert link(agreed, a, b, seed) == oracle(passes, a, b)


@pytest.mark.slow
@settings(max_examples=3_000)
@given(chosen, either, either, asks, st.integers(0, 99))
def test_thousands_of_tables(
    passes: tuple[str, ...], a: Points, b: Points, asker: str | None, seed: int
) -> None:
    assert link(agreement(*passes, cap=64, asks=asker), a, b, seed) == oracle(passes, a, b)


def test_cells_may_be_too_many_to_list() -> None:
    """Those of the whole earth, from a draft whose owner names no range."""
    plain, made = places_agreement().model_dump(mode="json"), generate_places(60, None, 3)
    for name in ("lat", "lon"):
        plain["fields"][name] = {"type": plain["fields"][name]["type"]}
    grid = {"kind": "grid", "fields": ["lat", "lon"], "cell": "0.002", "style": "replicate", "reach": "0.001"}
    agreed = Agreement.model_validate(
        plain
        | {"rule": "euclidean(lat, lon) <= 0.001", "blocking": [grid]}
        | {"protocol": {"name": "routed", "cap": 8}}
    )
    require_sound(agreed)
    assert agreed.plan.bins > 10**10
    found, every = (
        accord.simulate(made.a, made.b, one, seed=1)
        for one in (agreed, accord.adjust(agreed, protocol="all-pairs"))
    )
    assert len(found.found) > 50
    assert found.found.ids().equals(every.found.ids())
    assert (found.bins, found.candidate_pairs >= len(found.found)) == (0, True)
    records = load_records(made.a, agreed.fields, agreed.salt, agreed.disclosed(Side.A))
    assert room.predict(agreed.task, Side.A, records)[0] < 1 << 20


@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_with_real_cryptography(count: int) -> None:
    rng = np.random.default_rng(count)
    found = 0
    for number in range(count):
        sizes = rng.integers(1, 12, 2)
        a, b = ([tuple(p) for p in rng.integers(3, 8, (n, 2)).tolist()] for n in sizes)
        passes = tuple(rng.choice(list(PARTS), 1 + number % 2).tolist())
        agreed = agreement(*passes, cap=12, asks=("A", "B")[number % 2])
        pairs = link(agreed, a, b, number, OtEngine())
        assert pairs == oracle(passes, a, b)
        found += len(pairs)
    assert found


EDGES: dict[str, tuple[Points, Points]] = {
    "one record each": ([(3, 3)], [(3, 4)]),
    "one record, no key": ([(None, None)], [(3, 4)]),
    "equal tables": ([(i, i) for i in range(9)], [(i, i) for i in range(9)]),
    "no overlap": ([(0, i) for i in range(6)], [(15, i + 8) for i in range(5)]),
    "nothing has a key": ([(None, 3)] * 3, [(None, 3)] * 4),
    "same key, no match": ([(3, 3)], [(3, 9)]),
    "one against many": ([(3, 3)], [(3, i) for i in range(12)]),
}


@pytest.mark.parametrize("asker", ["A", "B"])
@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str, asker: str) -> None:
    a, b = EDGES[name]
    agreed = agreement("x", cap=12, asks=asker)
    assert link(agreed, a, b) == oracle(("x",), a, b)


@pytest.mark.parametrize("name", ["one record, no key", "equal tables", "same key, no match"])
def test_edges_with_real_cryptography(name: str) -> None:
    a, b = EDGES[name]
    assert link(agreement("x", cap=2), a, b, engine=OtEngine()) == oracle(("x",), a, b)


def test_seven_passes_list_a_pair_once() -> None:
    seven = ("x", "y", "both", "grid", "square", "x", "y")
    a, b = [(3, 3), (9, None), (5, 5)], [(3, 3), (9, 9), (5, 6)]
    assert link(agreement(*seven, cap=4), a, b) == [(0, 0), (2, 2)]


def test_a_row_that_is_left_out_meets_nothing() -> None:
    """Its size is announced, its place is a dummy's."""
    plain = agreement("x").model_dump(mode="json")
    plain["fields"]["y"]["missing"] = "skip"
    agreed = Agreement.model_validate(plain)
    a, b = [(3, 3), (3, None), (4, None)], [(3, None), (3, 3), (4, 4)]
    for asker in ("A", "B"):
        each = Agreement.model_validate(plain | {"protocol": {"name": "routed", "asks": asker}})
        left, right, _ = worlds.link(each, a, b)  # type: ignore[arg-type]
        # A side counts its own rows without those that were left out.
        assert (worlds.pairs_of_a(left), worlds.pairs_of_b(right)) == ([(0, 1)], [(0, 0)])
    whole = [(None, None)] * 2
    left, _, _ = worlds.link(agreed, whole, b)  # type: ignore[arg-type]
    assert worlds.pairs_of_a(left) == []


# -- full keys ---------------------------------------------------------------------------------------------


def placed(keys: list[int | None], cap: int) -> Iterator[set[int]]:
    """Every set of records of a key that may have found a place; of a single key."""
    there = [i for i, key in enumerate(keys) if key is not None]
    for some in combinations(there, min(cap, len(there))):
        yield set(some)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.just(5), st.integers(4, 7)), min_size=1, max_size=7),
    st.lists(st.tuples(st.just(5), st.integers(4, 7)), min_size=1, max_size=7),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    asks,
    st.integers(0, 9),
)
def test_of_a_full_key_those_are_found_that_some_placing_has(
    a: Points, b: Points, caps: tuple[int, int], asker: str | None, seed: int
) -> None:
    agreed = agreement("x", caps=[{"A": caps[0], "B": caps[1]}], asks=asker)
    found = link(agreed, a, b, seed)
    ways = product(placed([x for x, _ in a], caps[0]), placed([x for x, _ in b], caps[1]))
    whole = oracle(("x",), a, b)
    assert any(found == [(i, j) for i, j in whole if i in m and j in n] for m, n in ways)


def test_other_passes_find_what_a_full_key_left_out() -> None:
    a, b = [(5, i) for i in range(8)], [(5, i) for i in range(8)]
    equal = [(i, i) for i in range(8)]
    rule = "same(x) and same(y)"
    assert link(agreement("x", "both", cap=1, rule=rule), a, b) == equal
    assert len(link(agreement("x", cap=1, rule=rule), a, b)) <= 1


@pytest.mark.parametrize("caps", [(1, 5), (5, 1)])
def test_each_side_has_its_own_cap_in_a_pass(caps: tuple[int, int]) -> None:
    """One of one side meets five of the other."""
    a, b = ([(5, 5)] * (1 if cap == 1 else 5) for cap in caps)
    agreed = agreement("x", caps=[{"A": caps[0], "B": caps[1]}], cap=1)
    assert link(agreed, a, b) == list(product(range(len(a)), range(len(b))))
    assert len(link(agreement("x", cap=1), a, b)) == 1


def covered_by(
    agreed: Agreement, side: Side, rows: Points
) -> tuple[list[int], list[tuple[str, int, int, int]]]:
    """The uncovered rows; and of each pass its name, its cap, how many it leaves uncovered, how many out."""
    found = agreed.protocol.coverage(agreed.task, side, worlds.records(rows, agreed))  # type: ignore[arg-type]
    passes = [(one.name, one.cap, one.uncovered, one.left_out) for one in found.passes]
    assert found.count == found.uncovered.sum()
    return np.flatnonzero(found.uncovered).tolist(), passes


def test_uncovered_records_are_counted_for_the_owner() -> None:
    """Also those that have a place, since somebody with their key has none; each once over all passes."""
    rows: Points = [(5, 0), (5, 1), (5, 2), (6, 0), (7, 0), (7, None), (None, 0), (None, None)]
    agreed = agreement("x", "y", "both", caps=[{"A": 2, "B": 3}, None, None], cap=3)
    of_a = [("pass 1", 2, 3, 1), ("pass 2", 3, 4, 1), ("pass 3", 3, 0, 0)]
    assert covered_by(agreed, Side.A, rows) == ([0, 1, 2, 3, 4, 6], of_a)
    of_b = [("pass 1", 3, 0, 0), ("pass 2", 3, 4, 1), ("pass 3", 3, 0, 0)]
    assert covered_by(agreed, Side.B, rows) == ([0, 3, 4, 6], of_b)
    assert covered_by(agreed, Side.A, rows[:2]) == ([], [(n, cap, 0, 0) for n, cap, _, _ in of_a])
    assert covered_by(agreed, Side.A, []) == ([], [(n, cap, 0, 0) for n, cap, _, _ in of_a])


def test_a_full_cell_leaves_all_uncovered_that_reach_into_it() -> None:
    """B's records are in every cell that they touch, and so have several keys in one pass."""
    rows: Points = [(1, 0), (2, 0), (4, 0), (9, 0), (None, 0)]
    agreed = agreement("grid", cap=2)
    assert covered_by(agreed, Side.A, rows) == ([], [("pass 1", 2, 0, 0)])
    # 4 is at most 1 from 3, so it is in the first cell, too.
    assert covered_by(agreed, Side.B, rows) == ([0, 1, 2], [("pass 1", 2, 3, 1)])


def keys_of(name: str, side: Side, p: Point) -> set[Any]:
    """The keys of a record in a pass, on plain rows."""
    x, y = p
    match name:
        case "x":
            return {x} - {None}
        case "y":
            return {y} - {None}
        case "both":
            return {p} if None not in p else set()
        case _:
            if x is None:
                return set()
            near = (x,) if side is Side.A else (x - 1, x, x + 1)
            return {w // 4 for w in near if 0 <= w <= 15}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.none() | st.integers(0, 15), st.none() | st.integers(0, 2)), max_size=12),
    st.lists(st.sampled_from(["x", "y", "both", "grid"]), min_size=1, max_size=3, unique=True),
    st.integers(1, 3),
    st.sampled_from(Side),
)
def test_uncovered_is_as_the_theorem_has_it(rows: Points, names: list[str], cap: int, side: Side) -> None:
    """A record is covered if in every pass each of its keys is shared by at most `cap` records."""
    agreed = agreement(*names, cap=cap)
    owned = [[keys_of(name, side, row) for row in rows] for name in names]
    full = [{k for keys in each for k in keys if sum(k in other for other in each) > cap} for each in owned]
    expected = [
        i for i in range(len(rows)) if any(keys[i] & over for keys, over in zip(owned, full, strict=True))
    ]
    found, passes = covered_by(agreed, side, rows)
    assert found == expected
    for (_, _, uncovered, left_out), keys, over in zip(passes, owned, full, strict=True):
        assert uncovered == sum(bool(of & over) for of in keys)
        assert left_out == sum(sum(key in of for of in keys) - cap for key in over)


@pytest.mark.parametrize(
    ("output", "over", "of_a", "of_b"),
    [
        ({}, "leave-out", 3, 3),
        ({"to": "A"}, "leave-out", 0, 3),
        (COUNT, "leave-out", 0, 0),
        ({"answer": "count", "exact": True}, "leave-out", 0, 0),
        ({}, "refuse", 3, 3),
    ],
)
def test_where_the_promise_has_no_condition_nobody_is_uncovered(
    output: dict[str, Any], over: str, of_a: int, of_b: int
) -> None:
    """How many find no place is counted all the same: they are not compared in that pass."""
    plain = agreement("x", over=over, cap=1).model_dump(mode="json") | {"disclose": {"A": [], "B": []}}
    agreed = Agreement.model_validate(plain | {"output": output})
    for side, expected in zip(Side, (of_a, of_b), strict=True):
        found, passes = covered_by(agreed, side, [(5, 1), (5, 2), (5, 3), (6, 1)])
        assert len(found) == expected
        assert passes == [("pass 1", 1, expected, 2)]


def test_full_keys_are_refused_if_agreed() -> None:
    rows: Points = [(5, i % 2) for i in range(7)]
    agreed = agreement("x", "both", caps=[3, None], cap=4)
    agreed.protocol.refuse_records(agreed.task, Side.A, worlds.records(rows, agreed))  # type: ignore[arg-type]
    strict = agreement("x", "both", caps=[3, None], cap=4, over="refuse")
    with pytest.raises(DataError, match="pass 1") as refused:
        strict.protocol.refuse_records(strict.task, Side.A, worlds.records(rows, strict))  # type: ignore[arg-type]
    assert "pass 2" not in str(refused.value)
    strict.protocol.refuse_records(strict.task, Side.A, worlds.records(rows[:3], strict))  # type: ignore[arg-type]


def table(rows: Points, prefix: str) -> pa.Table:
    x, y = (pa.array(column, pa.int64()) for column in zip(*rows, strict=True))
    return pa.table({"id": [f"{prefix}{i}" for i in range(len(rows))], "x": x, "y": y})


def test_a_row_that_is_too_long_to_be_sealed_is_not_told_of_in_the_agreement() -> None:
    """Its length would be, if it were proposed for row_bytes as it is."""

    def refused(length: int) -> str:
        rows = replace(worlds.records([(1, 1)], agreed), ids=pa.array(["i" * length], pa.large_string()))
        with pytest.raises(DataError) as told:
            agreed.protocol.refuse_records(agreed.task, Side.B, rows)
        return str(told.value)

    plain = agreement("x").model_dump(mode="json") | {"disclose": {"A": [], "B": []}}
    agreed = Agreement.model_validate(plain | {"output": {"to": "A"}})
    assert refused(300) == refused(500)
    assert "row_bytes = 512 in [output]" in refused(500)
    assert "Disclose less: row_bytes is at most 65,536" in refused(70_000)


@pytest.mark.parametrize(
    ("over", "output", "epsilon", "conditions"),
    [
        ("leave-out", {}, 0, ("leave-out", "leave-out")),
        ("refuse", {}, 0, ("refuse", "refuse")),
        ("leave-out", {"to": "A"}, 0, ("", "leave-out")),
        ("leave-out", {"to": "B"}, 0, ("leave-out", "")),
        ("refuse", {"to": "A"}, 0, ("refuse", "refuse")),
        ("leave-out", COUNT, 2, ("", "")),
        ("refuse", COUNT, 2, ("refuse", "refuse")),
        ("leave-out", {"answer": "count", "exact": True}, None, ("", "")),
        ("refuse", {"answer": "count", "exact": True}, None, ("", "")),
    ],
)
def test_the_condition_goes_with_the_promise(
    over: str, output: dict[str, Any], epsilon: int | None, conditions: tuple[FullKeys, FullKeys]
) -> None:
    """The lister learns nothing of the asker where the asker alone learns the pairs. A refusal is seen by
    either, and what is charged is what is promised."""
    plain = agreement("x", over=over).model_dump(mode="json") | {"disclose": {"A": [], "B": []}}
    agreed = Agreement.model_validate(plain | {"output": output})
    for side, condition in zip(Side, conditions, strict=True):
        told = agreed.leakage(side)
        assert (told.epsilon, told.unless) == (epsilon, UNLESS[condition])
        event = agreed.protocol.release(agreed.task, side, 5).event
        assert event is not None
        assert event.cost == told.cost


def test_the_side_that_learns_the_pairs_is_the_one_that_asks() -> None:
    met = "in which passes, and at which rank"
    plain = agreement("x").model_dump(mode="json")
    for learner in Side:
        agreed = Agreement.model_validate(plain | {"output": {"to": learner.value}})
        told = {side: agreed.protocol.guarantee(agreed.task, side).of_matches for side in Side}
        assert told[learner] == ()
        assert met in told[learner.other][0]
        asks = {"protocol": {"name": "routed", "asks": learner.other.value}}
        with pytest.raises(AgreementError, match=f"asks, here {learner.value}; remove asks"):
            require_sound(Agreement.model_validate(plain | asks | {"output": {"to": learner.value}}))
        require_sound(Agreement.model_validate(plain | asks | {"output": {"to": learner.other.value}}))


def test_a_simulation_refuses_what_a_linkage_would() -> None:
    strict, full = agreement("x", cap=2, over="refuse"), [(5, 5)] * 3
    for tables in ((full, [(1, 1)]), ([(1, 1)], full)):
        with pytest.raises(DataError, match="over the cap of 2"):
            accord.simulate(table(tables[0], "a"), table(tables[1], "b"), strict)


# -- all kinds of fields -----------------------------------------------------------------------------------


def shop(rule: str, parts: list[dict[str, Any]], **options: Any) -> Agreement:
    """The world of all kinds of fields, where values may be missing."""
    plain = agreement("x").model_dump(mode="json")
    changed: dict[str, Any] = {
        "fields": {name: spec.model_dump(mode="json") for name, spec in world.FIELDS.items()},
        "rule": rule,
        "blocking": {"pass": [{"parts": [part]} for part in parts]},
        "protocol": {"name": "routed", "cap": 12, **options},
        "disclose": {},
    }
    return Agreement.model_validate(plain | changed)


KEYS: list[dict[str, Any]] = [
    {"kind": "key", "field": "code"},
    {"kind": "key", "field": ["brand", "hour"]},
    {"kind": "grid", "fields": ["x"], "cell": 2, "style": "replicate", "reach": 1},
]
RULES = [
    "same(code, alias) and within(x, z, 2)",
    "cosine(nick, name) >= 0.5 or same(brand, colour)",
    "dice(name) >= 0.4",
    "edit(tag, label) <= 2 or within(birth, baptism, 4 days)",
    "not same(code)",
    "hamming(name, nick) <= 6",
]


def check_shop(
    agreed: Agreement, a: list[world.Row], b: list[world.Row], engine: Engine, seed: int = 1
) -> int:
    left, right, task, entropy = world.records(a), world.records(b), agreed.task, Seeded(seed)
    nothing = np.zeros(1, np.int64)
    own_a = prepare(task, Side.A, left, len(right), nothing, entropy.stream("A"))
    own_b = prepare(task, Side.B, right, len(left), nothing, entropy.stream("B"))
    out_a, out_b = run_pair(run(task, own_a, engine), run(task, own_b, engine))
    assert out_a.digest == out_b.digest
    partner = [int(name) for name in out_a.partner_ids.to_pylist()]
    found = sorted((int(i), partner[j]) for i, j in zip(out_a.own, out_a.partner, strict=True))
    matches = world.expected(agreed.rule, a, b)
    i, j = (np.array([pair[side] for pair in matches], np.int64) for side in range(2))
    met = task.blocking.compares(Tables(agreed.fields, left.columns, right.columns), i, j)
    assert found == [pair for pair, there in zip(matches, met, strict=True) if there]
    return len(found)


shops = st.builds(shop, st.sampled_from(RULES), st.just(KEYS), asks=asks)
rows = st.lists(world.rows, min_size=1, max_size=9)


@settings(max_examples=12)
@given(rows, rows, shops)
def test_missing_values_and_crossed_fields(a: list[world.Row], b: list[world.Row], agreed: Agreement) -> None:
    check_shop(agreed, a, b, IdealEngine())


@settings(max_examples=2)
@given(rows, rows, shops)
def test_missing_values_and_crossed_fields_with_real_cryptography(
    a: list[world.Row], b: list[world.Row], agreed: Agreement
) -> None:
    check_shop(agreed, a, b, OtEngine())


@pytest.mark.slow
@settings(max_examples=150)
@given(rows, rows, world.rules, asks)
def test_any_rule_with_real_cryptography(
    a: list[world.Row], b: list[world.Row], rule: Any, asker: str | None
) -> None:
    agreed = shop("same(code)", KEYS, asks=asker).model_copy(update={"rule": rule})
    check_shop(agreed, a, b, OtEngine())


def test_a_simulation_comes_to_the_same_in_the_clear_and_with_real_cryptography() -> None:
    rng = np.random.default_rng(8)
    a, b = ([tuple(p) for p in rng.integers(0, 8, (30, 2)).tolist()] for _ in range(2))
    agreed = agreement("x", "grid", cap=3)
    ran = [accord.simulate(table(a, "a"), table(b, "b"), agreed, engine=e, seed=3) for e in ("ideal", "ot")]
    pairs = [one.pairs.to_pylist() for one in ran]
    assert pairs[0] == pairs[1] != []
    assert ran[0].precision == 1.0
    assert ran[0].runs[0].comparisons == ran[1].runs[0].comparisons


def test_one_to_one() -> None:
    """Both keep the same best set."""
    pairs = link(one_to_one(agreement("x", cap=9)), [(3, 3), (3, 4)], [(3, 3), (3, 4)])
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"blocking": []}, "needs a blocking"),
        ({"blocking": [{"kind": "grid", "fields": ["x"], "cell": 4, "style": "neighbours"}]}, "replicate"),
        ({"blocking": [{"kind": "key", "field": "x", "buckets": 3}]}, "remove buckets"),
    ],
)
def test_agreements_that_it_cannot_keep_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AgreementError, match=said):
        require_sound(Agreement.model_validate(agreement("x").model_dump(mode="json") | changes))
    require_sound(agreement("x", "both", "grid"))


def test_tables_that_are_too_large_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routed, "MOST", 29)
    agreed = agreement("x", cap=2)
    assert agreed.protocol.refuse_sizes(agreed.task, Side.A, 4, 4) == ""
    with pytest.raises(UsageError, match="would list 30 values in one pass, more than 29"):
        link(agreed, [(1, 1)] * 5, [(1, 1)] * 5)


def test_who_asks() -> None:
    """As agreed, or who has fewer queries; always the same on both sides, and in all passes."""
    for asker in Side:
        agreed = agreement("x", "y", asks=asker.value)
        assert isinstance(agreed.protocol, Routed)
        assert {lane.asker for lane in agreed.protocol.lanes(agreed.task, (5, 9))} == {asker}
    free = agreement("x", "square")
    assert isinstance(free.protocol, Routed)
    # B's records fall into up to four cells.
    assert free.protocol.lanes(free.task, (5, 5))[1].entries == {Side.A: 5, Side.B: 20}
    assert free.protocol.lanes(free.task, (5, 5))[0].asker is Side.A
    assert free.protocol.lanes(free.task, (50, 5))[0].asker is Side.B


@pytest.mark.parametrize("lists", Side)
def test_status_is_public_and_columns_are_disclosed(lists: Side) -> None:
    seen: list[Status] = []
    agreed, entropy, engine = agreement("x", asks=lists.other.value), Seeded(1), IdealEngine()
    own_a = worlds.side(agreed, Side.A, [(1, 1), (9, 9)], entropy, partner=2)
    own_b = worlds.side(agreed, Side.B, [(1, 2), (14, 14)], entropy, partner=2)
    left, right = run_pair(
        run(agreed.task, replace(own_a, watch=seen.append), engine), run(agreed.task, own_b, engine)
    )
    assert left.partner_columns.to_pylist() == [{"x": "1", "y": "2"}]
    assert right.partner_columns.to_pylist() == [{"x": "1", "y": "1"}]
    price = agreed.protocol.price(agreed.task, (2, 2), (np.zeros(0, np.int64), np.zeros(0, np.int64)))
    assert seen[-1] == Status(price, price, 1)
    # Before the end the side that lists cannot know.
    assert [one.matches for one in seen[:-1]] == [1 if lists is Side.B else None]
    assert left.comparisons == right.comparisons == price


@pytest.mark.parametrize("sessions", [1, 3])
def test_any_number_of_sessions_compares_the_same(sessions: int) -> None:
    rows: Points = [(i % 5, i % 3) for i in range(12)]
    agreed, entropy = agreement("x", cap=4), Seeded(1)
    own = [
        replace(worlds.side(agreed, side, rows, entropy, partner=12), staff=InTurn(sessions))  # type: ignore[arg-type]
        for side in Side
    ]
    left, right = run_pair(run(agreed.task, own[0], OtEngine()), run(agreed.task, own[1], OtEngine()))
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == oracle(("x",), rows, rows)


# -- views -------------------------------------------------------------------------------------------------

A_ROWS: Points = [(1, 1), (5, 5), (5, 9), (8, 8), (12, 3)]
B_ROWS: Points = [(1, 2), (5, 5), (7, 6), (13, 13)]
OTHERS: list[Point] = [(5, 1), (0, 15), (1, 14), (8, 1), (None, None), (None, 9)]
"""What may stand in place of a record that matches nothing; also in a key with others, or in none."""


def both_views(agreed: Agreement, a: Points, b: Points, engine: Engine, seed: int = 1) -> dict[Side, View]:
    entropy = Seeded(seed)
    own_a = worlds.side(agreed, Side.A, a, entropy, partner=len(b))  # type: ignore[arg-type]
    own_b = worlds.side(agreed, Side.B, b, entropy, partner=len(a))  # type: ignore[arg-type]
    return views(agreed.task, own_a, own_b, engine)


def shape(view: View) -> tuple[object, ...]:
    """All that has a size or an order, and what is found."""
    found = sorted(zip(view.outcome.own.tolist(), view.outcome.partner.tolist(), strict=True))
    return view.sent, tuple(map(len, view.received)), view.outcome.comparisons, found


def neighbours(side: Side) -> Iterator[tuple[Points, Points]]:
    """Tables in which one record of a side, that matches nothing, is another each time."""
    for other in [*OTHERS]:
        a, b = [*A_ROWS], [*B_ROWS]
        (a if side is Side.A else b)[3] = other
        assert oracle(("x", "y"), a, b) == oracle(("x", "y"), A_ROWS, B_ROWS)
        yield a, b


@pytest.mark.parametrize("asker", ["A", "B"])
@pytest.mark.parametrize("side", Side)
def test_neighbours_have_messages_of_the_same_sizes(side: Side, asker: str) -> None:
    plain = agreement("x", "y", cap=4, asks=asker)
    for agreed in (plain, one_to_one(plain)):
        first = both_views(agreed, A_ROWS, B_ROWS, IdealEngine())
        for a, b in neighbours(side):
            other = both_views(agreed, a, b, IdealEngine())
            assert {s: shape(view) for s, view in other.items()} == {s: shape(v) for s, v in first.items()}


@pytest.mark.parametrize("side", [Side.A, pytest.param(Side.B, marks=pytest.mark.slow)])
def test_neighbours_have_messages_of_the_same_sizes_with_real_cryptography(side: Side) -> None:
    agreed = one_to_one(agreement("x", "y", cap=4))
    first = both_views(agreed, A_ROWS, B_ROWS, OtEngine())
    for a, b in list(neighbours(side))[::3]:
        other = both_views(agreed, a, b, OtEngine())
        assert {s: shape(view) for s, view in other.items()} == {s: shape(v) for s, v in first.items()}


def opened(view: View) -> tuple[bytes, ...]:
    """What a side receives, without the commitments, which hide the table, and the confirmation, whose digest
    is under a fresh key."""
    return view.received[1:-2]


@pytest.mark.parametrize("asker", Side)
def test_the_lister_receives_the_same_bytes_whatever_else_the_asker_has(asker: Side) -> None:
    """With coins that are the same and everything in the clear: tokens and records of what matches."""
    plain = agreement("x", "y", cap=4, asks=asker.value)
    for agreed in (plain, one_to_one(plain)):
        first = both_views(agreed, A_ROWS, B_ROWS, IdealEngine())[asker.other]
        assert any(len(message) for message in opened(first))
        for a, b in neighbours(asker):
            assert opened(both_views(agreed, a, b, IdealEngine())[asker.other]) == opened(first)


def by_bin(patch: pytest.MonkeyPatch) -> None:
    """Broken: the asker tells in which bins it found something."""
    real = routed_passes.Passes._end

    def told(self: Any, comparer: Any, part: slice) -> Party[Any]:
        found = yield from real(self, comparer, part)
        bits = np.zeros(part.stop - part.start, np.uint8)
        if self.asks:
            bits[found[:, 0] - part.start] = 1
            yield Send(bits.tobytes())
        else:
            yield from receive(len(bits))
        return found

    patch.setattr(routed_passes.Passes, "_end", told)


def test_match_bits_by_bin_would_tell_the_lister_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a query stands depends on those that it made way for."""
    by_bin(monkeypatch)
    agreed = agreement("x", cap=6, asks="A")
    many = [(i % 16, i) for i in range(16)] * 5
    seen = set()
    for other in OTHERS:
        a: list[Point] = [*many, (3, 9)]
        a[5] = other
        seen.add(opened(both_views(agreed, a, [(3, 9)], IdealEngine())[Side.B]))
    assert len(seen) > 1


def test_the_lister_is_opened_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a bit nor a token, by the engine; all comes from the asker in the end."""
    given: dict[Side, list[int]] = {side: [] for side in Side}
    real = OtEngine.open

    def watched(self: OtEngine, session: Any, *rest: Any) -> Party[Any]:
        found = yield from real(self, session, *rest)
        given[session.side].append(len(found))
        return found

    monkeypatch.setattr(OtEngine, "open", watched)
    assert link(agreement("x", cap=2), A_ROWS, B_ROWS, engine=OtEngine()) == oracle(("x",), A_ROWS, B_ROWS)
    assert sum(given[Side.A]) == 0, "the lister, by its part in the engine"
    assert sum(given[Side.B]) == len(oracle(("x",), A_ROWS, B_ROWS))


# -- a partner that lies -----------------------------------------------------------------------------------


LIED_TO = agreement("x", cap=1, asks="A")
FROM_B: list[tuple[int, Change, str]] = [
    (1, lambda m: m[:-1], "were due"),
    (2, lambda m: m[:-8], "were due"),
    (2, lambda m: m + bytes(8), "were due"),
    (3, lambda m: b"x", "were due"),
    (4, lambda m: (1).to_bytes(8, "little") + m[8:], "outside its agreed range"),
    (4, lambda m: (99).to_bytes(8, "little") + m[8:], "more than its table holds"),
    (5, lambda m: m[:-1], "were due"),
]


@pytest.mark.parametrize(("number", "change", "problem"), OF_MATCHES)
def test_an_asker_that_lies_is_refused(number: int, change: Change, problem: str) -> None:
    with pytest.raises(PeerError, match=problem):
        run_altered(LIED_TO, Side.A, number, change, IdealEngine())


@pytest.mark.parametrize(("number", "change", "problem"), FROM_B)
def test_a_lister_that_lies_is_refused(number: int, change: Change, problem: str) -> None:
    with pytest.raises(PeerError, match=problem):
        run_altered(LIED_TO, Side.B, number, change, IdealEngine())


def test_an_asker_that_names_more_pairs_than_memory_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "memory", lambda: 0)
    with pytest.raises(PeerError, match="where this machine has memory for 0"):
        run_altered(LIED_TO, Side.A, 1, lambda message: message, IdealEngine())


def test_a_token_where_nothing_was_asked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Any = routing.route_asked

    def forgetful(*arguments: Any) -> Party[Any]:
        record, held = yield from real(*arguments)
        return np.full_like(record, -1), held

    monkeypatch.setattr(routed_passes, "route_asked", forgetful)
    with pytest.raises(PeerError, match="a token where nothing was asked"):
        link(agreement("x", cap=1), [(1, 1)], [(1, 1)])


@settings(max_examples=8)
@given(st.sampled_from(list(Side)), st.integers(1, 40), st.integers(0, 2**16), st.integers(1, 255))
def test_a_changed_byte_is_a_refusal_or_tells_of_other_matches(
    side: Side, number: int, place: int, flip: int
) -> None:
    check_flipped(LIED_TO, side, number, place, flip, OtEngine())


# -- a run that is cut -------------------------------------------------------------------------------------


@dataclass
class Kept:
    """A journal in memory, of which a partner has so many steps, too."""

    answers: list[bytes] = field(default_factory=list)
    shared: int = 0
    place: int = 0

    @property
    def again(self) -> int:
        return max(0, len(self.answers) - self.place)

    def recall(self) -> Buffer | None:
        if self.place >= self.shared:
            return None
        self.place += 1
        return self.answers[self.place - 1]

    def keep(self, answer: Answer) -> None:
        whole = b"".join(bytes(part) for part in answer)
        if self.place < len(self.answers):
            assert self.answers[self.place] == whole, "another answer than before"
        else:
            self.answers.append(whole)
        self.place += 1

    def cut(self, steps: int, shared: int) -> Kept:
        return Kept(self.answers[:steps], shared)


CUT = agreement("x", "y", cap=2)
CASCADE = one_to_one(CUT)
STEPS = {False: 4, True: 5}
"""Commitments, two passes, the end; in a cascade each pass has an end."""


@dataclass
class Attempt:
    """A run, whole or from where one was cut."""

    journals: dict[Side, Kept]
    pairs: Pairs
    said: list[bytes]
    """Everything that is masked, of both sides."""
    masks: list[NDArray[np.uint64]]


def attempt(
    mine: dict[Side, OwnSide],
    journals: dict[Side, Kept],
    coins: Entropy,
    engine: Engine,
    agreed: Agreement = CUT,
) -> Attempt:
    said: list[Any] = []
    masks: list[NDArray[np.uint64]] = []

    def heard(real: Callable[..., Party[Any]]) -> Callable[..., Party[Any]]:
        def call(*arguments: Any) -> Party[Any]:
            answer = yield from noted(real(*arguments), said)
            if real.__name__ == "route_listed":
                masks.append(answer)
            return answer

        return call

    own = {
        side: replace(mine[side], entropy=coins.stream(side.value), journal=journals[side]) for side in Side
    }
    with pytest.MonkeyPatch.context() as patch:
        for place, name in (
            (routed_passes, "route_asked"),
            (routed_passes, "route_listed"),
            (OtEngine, "set_up"),
            (OtEngine, "open"),
        ):
            patch.setattr(place, name, heard(getattr(place, name)))
        left, right = run_pair(run(agreed.task, own[Side.A], engine), run(agreed.task, own[Side.B], engine))
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right)
    # What is shorter may be there twice by chance, or says nothing.
    sent = [bytes(e.buffer) for e in said if isinstance(e, Send) and len(e.buffer) >= 16]
    return Attempt(journals, worlds.pairs_of_a(left), sent, masks)


def begin(agreed: Agreement = CUT) -> dict[Side, OwnSide]:
    entropy = Seeded(5)
    return {
        Side.A: worlds.side(agreed, Side.A, A_ROWS, entropy, partner=len(B_ROWS)),  # type: ignore[arg-type]
        Side.B: worlds.side(agreed, Side.B, B_ROWS, entropy, partner=len(A_ROWS)),  # type: ignore[arg-type]
    }


def repeats(first: Attempt, second: Attempt) -> int:
    """Messages and masks of one attempt that come again in another; but for what names the protocol."""
    hellos = {message for message in first.said if message.startswith(b"accord")}
    said = len(set(first.said) & set(second.said) - hellos)
    rows = [{row.tobytes() for one in each.masks for row in one} for each in (first, second)]
    return said + len(rows[0] & rows[1])


def cuts(steps: int) -> Iterator[tuple[int, int]]:
    """How many steps each side has kept."""
    for kept in range(steps):
        yield from ((kept, kept), (kept + 1, kept), (kept, kept + 1))
    yield steps, steps


@pytest.mark.parametrize(("cascade", "steps"), [(each, cut) for each in STEPS for cut in cuts(STEPS[each])])
def test_a_run_that_was_cut_goes_on_and_comes_to_the_same(cascade: bool, steps: tuple[int, int]) -> None:
    """Also where one side has kept a step that the other has not: it is done again, to the same answer."""
    agreed = CASCADE if cascade else CUT
    mine, engine = begin(agreed), IdealEngine()
    whole = attempt(mine, {side: Kept() for side in Side}, Seeded("first"), engine, agreed)
    kept = {side: whole.journals[side].cut(own, min(steps)) for side, own in zip(Side, steps, strict=True)}
    again = attempt(mine, kept, Seeded("second"), IdealEngine(), agreed)
    assert again.pairs == whole.pairs == oracle(("x", "y"), A_ROWS, B_ROWS)
    for side in Side:
        ended = STEPS[cascade] - 1
        assert again.journals[side].answers[:ended] == whole.journals[side].answers[:ended]
        assert len(again.journals[side].answers) == STEPS[cascade]


@pytest.mark.parametrize(("agreed", "kept", "passes"), [(CUT, 1, 2), (CUT, 2, 1), (CASCADE, 2, 1)])
def test_another_attempt_says_nothing_again(agreed: Agreement, kept: int, passes: int) -> None:
    """All masks, keys and transfers are fresh; ranks and tokens are the run's."""
    mine = begin(agreed)
    whole = attempt(mine, {side: Kept() for side in Side}, Seeded("first"), OtEngine(), agreed)
    cut = {side: whole.journals[side].cut(kept, kept) for side in Side}
    again = attempt(mine, cut, Seeded("second"), OtEngine(), agreed)
    assert again.pairs == whole.pairs
    assert len(again.masks) == passes
    assert len(whole.said) > 20
    assert repeats(whole, again) == 0
    for side in Side:
        made = [inner(replace(mine[side], entropy=Seeded(n))) for n in range(2)]
        assert np.array_equal(made[0].tokens, made[1].tokens)
        for one, two in zip(made[0].placings, made[1].placings, strict=True):
            assert np.array_equal(one.rank, two.rank)
            assert np.array_equal(one.record, two.record)


def test_coins_that_come_back_would_be_noticed() -> None:
    """Broken: an attempt after a cut draws what the first drew."""
    mine = begin()
    whole = attempt(mine, {side: Kept() for side in Side}, Seeded("first"), OtEngine())
    cut = {side: whole.journals[side].cut(1, 1) for side in Side}
    assert repeats(whole, attempt(mine, cut, Seeded("first"), OtEngine())) > 20


def inner(mine: OwnSide) -> Any:
    """What a side knows in the middle of its run."""
    assert isinstance(CUT.protocol, Routed)
    sizes = (len(A_ROWS), len(B_ROWS))
    return routed_pairs.PairPasses(CUT.task, CUT.protocol.lanes(CUT.task, sizes), mine, IdealEngine())


def test_tokens_and_ranks_of_two_runs_are_not_alike() -> None:
    sides = [worlds.side(CUT, Side.A, A_ROWS, Seeded(n), partner=4) for n in range(2)]  # type: ignore[arg-type]
    one, two = (inner(mine) for mine in sides)
    assert not {row.tobytes() for row in one.tokens} & {row.tobytes() for row in two.tokens}


def test_a_kept_answer_that_names_records_that_do_not_exist_is_refused() -> None:
    mine = begin()
    whole = attempt(mine, {side: Kept() for side in Side}, Seeded("first"), IdealEngine())
    cut = {side: whole.journals[side].cut(2, 2) for side in Side}
    cut[Side.B if inner(mine[Side.B]).asks else Side.A].answers[1] = np.array([99, 1, 2], "<i8").tobytes()
    with pytest.raises(PeerError, match="records that do not exist"):
        attempt(mine, cut, Seeded("second"), IdealEngine())
