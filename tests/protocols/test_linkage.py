"""The Laplace Protocol and all-pairs: the paper's theorems as properties, the traps, the edge cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.errors import PeerError
from accord.protocols.base import prepare
from accord.protocols.parts.own_side import Status
from accord.rules.evaluate import Tables
from accord.rules.text import parse_rule
from accord.secure.dual.engine import DualEngine
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import run_pair
from accord.side import Side
from tests.protocols import worlds
from tests.rules import worlds as world

points = st.tuples(st.integers(0, 15), st.integers(0, 15))
rows = st.lists(points, max_size=25)
clustered = st.lists(st.tuples(st.integers(3, 6), st.integers(3, 6)), max_size=15)
tables = rows | clustered
options = st.fixed_dictionaries(
    {
        "style": st.sampled_from(["neighbours", "replicate"]),
        "sort": st.booleans(),
        "rule": st.sampled_from([worlds.RULE, worlds.WITHOUT_INDEX]),
    }
)


@given(tables, tables, options, st.integers(0, 99), st.integers(0, 3))
def test_without_greedy_the_output_is_the_blocked_join(
    a: worlds.Rows, b: worlds.Rows, chosen: dict[str, object], seed: int, dummies: int
) -> None:
    """[HMFS17, Theorem on recall]: and both sides hold the same; with a complete blocking recall is 1."""
    agreed = worlds.agreement(greedy=False, **chosen)
    left, right, _ = worlds.link(agreed, a, b, seed, dummies)
    blocked = [pair for pair in worlds.textbook(a, b) if pair in worlds.compared(agreed, a, b)]
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == blocked == worlds.textbook(a, b)
    assert left.comparisons == right.comparisons
    assert left.dummies == right.dummies == dummies * agreed.plan.bins


@given(tables, tables, options, st.sampled_from([1, 2, 5, 64]), st.integers(0, 99), st.integers(0, 3))
def test_greedy_finds_as_much_with_no_more_comparisons(
    a: worlds.Rows, b: worlds.Rows, chosen: dict[str, object], slab: int, seed: int, dummies: int
) -> None:
    """[HMFS17, Theorem on Greedy Match & Clean], in any batching and with precision 1."""
    plain, _, _ = worlds.link(worlds.agreement(greedy=False, **chosen), a, b, seed, dummies)
    with worlds.slabs(slab):
        left, right, _ = worlds.link(worlds.agreement(**chosen), a, b, seed, dummies)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == worlds.textbook(a, b)
    assert left.comparisons <= plain.comparisons


@given(tables, tables, options, st.sampled_from([10, 50, 90]), st.booleans())
def test_pruned_or_lossy_outputs_are_matches_and_the_same_on_both_sides(
    a: worlds.Rows, b: worlds.Rows, chosen: dict[str, object], prune: int, greedy: bool
) -> None:
    agreed = worlds.agreement(prune=prune, greedy=greedy, **chosen)
    left, right, _ = worlds.link(agreed, a, b)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right)
    assert set(worlds.pairs_of_a(left)) <= set(worlds.textbook(a, b))
    if chosen["rule"] == worlds.WITHOUT_INDEX or not greedy:
        assert set(worlds.pairs_of_a(left)) <= worlds.compared(agreed, a, b)


@given(tables, tables, st.booleans(), st.sampled_from([1, 3, 64]))
def test_all_pairs(a: worlds.Rows, b: worlds.Rows, greedy: bool, slab: int) -> None:
    agreed = worlds.agreement(protocol="all-pairs", greedy=greedy)
    with worlds.slabs(slab):
        left, right, _ = worlds.link(agreed, a, b)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == worlds.textbook(a, b)
    assert left.comparisons <= len(a) * len(b)
    if not greedy:
        assert left.comparisons == len(a) * len(b)


def test_a_match_across_a_batch_is_not_lost() -> None:
    """MATHS §7.2: a1b1 and a2b2 in one batch, a1b2 in a later one; the paper's Algorithm 3 loses a1b2."""
    a, b = [(3, 3), (5, 3)], [(3, 3), (4, 3)]
    assert worlds.textbook(a, b) == [(0, 0), (0, 1), (1, 1)]
    for slab in (1, 64):
        with worlds.slabs(slab):
            left, _, _ = worlds.link(worlds.agreement(), a, b)
        assert worlds.pairs_of_a(left) == worlds.textbook(a, b)


def test_greedy_finds_beyond_the_blocking_if_the_rule_has_an_index() -> None:
    """With a lossy blocking it finds matches of disclosed records that were never compared."""
    a, b = [(3, 3), (4, 3)], [(3, 3), (3, 4)]
    lossy = worlds.agreement(style="replicate")
    narrow = lossy.model_copy(
        update={"blocking": (lossy.passes[0].parts[0].model_copy(update={"reach": 0}),)}
    )
    everything, _, _ = worlds.link(narrow, a, b)
    assert worlds.pairs_of_a(everything) == [(0, 0), (0, 1), (1, 0)]
    limited, _, _ = worlds.link(narrow.model_copy(update={"rule": parse_rule(worlds.WITHOUT_INDEX)}), a, b)
    assert worlds.pairs_of_a(limited) == [(0, 0)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([], []),
        ([], [(1, 1)]),
        ([(1, 1)], []),
        ([(1, 1)], [(1, 1)]),
        ([(1, 1)] * 9, [(1, 1)] * 7),
        ([(i, 0) for i in range(16)], [(i, 15) for i in range(16)]),
        ([(5, 5)] * 40, [(5, 6)]),
    ],
    ids=["both empty", "A empty", "B empty", "one", "all match, duplicates", "none match", "one huge bin"],
)
@pytest.mark.parametrize("protocol", ["laplace", "all-pairs"])
@pytest.mark.parametrize("greedy", [True, False])
def test_edge_cases(a: worlds.Rows, b: worlds.Rows, protocol: str, greedy: bool) -> None:
    for style in ("neighbours", "replicate"):
        agreed = worlds.agreement(protocol=protocol, greedy=greedy, style=style)
        left, right, _ = worlds.link(agreed, a, b, dummies=0)
        assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == worlds.textbook(a, b)


@pytest.mark.parametrize("engine", [OtEngine(), DualEngine()], ids=lambda engine: engine.name)
@settings(max_examples=8)
@given(rows, rows, options, st.booleans())
def test_a_real_engine_gives_the_same(
    engine: Engine, a: worlds.Rows, b: worlds.Rows, chosen: dict[str, object], greedy: bool
) -> None:
    agreed = worlds.agreement(greedy=greedy and engine.name != "dual", **chosen)
    ideal, _, _ = worlds.link(agreed, a, b)
    left, right, _ = worlds.link(agreed, a, b, engine=engine)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == worlds.textbook(a, b)
    assert (left.comparisons, left.rounds) == (ideal.comparisons, ideal.rounds)


def test_a_rule_that_the_blocking_guarantees_altogether() -> None:
    """The circuit is empty: every pair of real records in one bin matches, and dummies still do not."""
    agreed = worlds.agreement(rule="same(x)")
    by_key = agreed.model_validate(
        agreed.model_dump(mode="json") | {"blocking": [{"kind": "key", "field": "x"}]}
    )
    a, b = [(1, 0), (2, 0), (2, 5)], [(2, 9), (3, 3)]
    for engine in (IdealEngine(), OtEngine()):
        left, _, _ = worlds.link(by_key, a, b, engine=engine)
        assert worlds.pairs_of_a(left) == [(1, 0), (2, 0)]


def test_the_partner_sees_the_agreed_columns_and_status_is_public() -> None:
    seen: list[Status] = []
    agreed, entropy, engine = worlds.agreement(), Seeded(1), IdealEngine()
    own_a = worlds.side(agreed, Side.A, [(1, 1), (9, 9)], entropy, partner=2)
    own_b = worlds.side(agreed, Side.B, [(1, 2), (14, 14)], entropy, partner=2)
    own_a = replace(own_a, watch=seen.append)
    left, _ = run_pair(worlds.run(agreed.task, own_a, engine), worlds.run(agreed.task, own_b, engine))
    assert left.partner_columns.to_pylist() == [{"x": "1", "y": "2"}]
    assert left.partner_size == 2
    assert min(lap.seconds for lap in vars(left.phases).values()) > 0
    assert seen[-1].matches == 1
    assert seen[-1].comparisons == left.comparisons <= seen[-1].most_comparisons


@pytest.mark.parametrize("greedy", [True, False])
def test_the_order_of_disclosure_is_that_of_the_ids_not_of_the_table(greedy: bool) -> None:
    agreed, entropy, engine = worlds.agreement(greedy=greedy), Seeded(1), IdealEngine()
    rows = [(5, 5)] * 12
    own_a = worlds.side(agreed, Side.A, [(5, 5)], entropy, partner=len(rows))
    own_b = worlds.side(agreed, Side.B, rows, entropy, partner=1)
    left, _ = run_pair(worlds.run(agreed.task, own_a, engine), worlds.run(agreed.task, own_b, engine))
    names = left.partner_ids.to_pylist()
    assert names == sorted(names) == sorted(f"B{i}" for i in range(12))


def test_all_pairs_with_another_count_than_records_is_refused() -> None:
    agreed, entropy, engine = worlds.agreement(protocol="all-pairs"), Seeded(1), IdealEngine()
    own_a = worlds.side(agreed, Side.A, [(3, 3)], entropy, partner=1)
    own_b = worlds.side(agreed, Side.B, [(3, 3)], entropy, np.array([5]), 1)
    with pytest.raises(PeerError, match="another number of slots than of records"):
        run_pair(worlds.run(agreed.task, own_a, engine), worlds.run(agreed.task, own_b, engine))


KEYED = [
    ("hour", "same(hour) and same(code, alias)"),
    (
        "brand",
        "(same(brand) or missing(brand)) and either_way(same(birth) and same(baptism), birth, baptism)",
    ),
    ("hour", "within(x, z, 1) and (same(hour) or missing(birth, B)) and not missing(code, A)"),
]


@given(world.tables, world.tables, st.sampled_from(KEYED), st.booleans(), st.integers(0, 9))
def test_crossed_fields_and_missing_values(
    a: list[world.Row], b: list[world.Row], keyed: tuple[str, str], greedy: bool, seed: int
) -> None:
    """Each side's clear index and its inputs of the circuit take its own fields: the output is the join."""
    fields = {name: spec.model_dump(mode="json") for name, spec in world.FIELDS.items()}
    plain = worlds.agreement(greedy=greedy).model_dump(mode="json")
    changed = {"rule": keyed[1], "blocking": [{"kind": "key", "field": keyed[0]}], "disclose": {}}
    agreed = Agreement.model_validate(plain | {"fields": fields} | changed)
    left, right = world.records(a), world.records(b)
    dummies, entropy, engine = np.ones(agreed.plan.bins, np.int64), Seeded(seed), IdealEngine()
    own_a = prepare(agreed.task, Side.A, left, len(b), dummies, entropy.stream("A"))
    own_b = prepare(agreed.task, Side.B, right, len(a), dummies, entropy.stream("B"))
    found = run_pair(worlds.run(agreed.task, own_a, engine), worlds.run(agreed.task, own_b, engine))
    pairs = [
        sorted(zip(out.own.tolist(), map(int, out.partner_ids.take(out.partner).to_pylist()), strict=True))
        for out in found
    ]
    accepted = world.expected(agreed.rule, a, b)
    met = agreed.plan.compares(Tables(agreed.fields, left.columns, right.columns), *np.array(
        accepted, np.int64).reshape(-1, 2).T)  # fmt: skip
    assert pairs[0] == sorted((i, j) for j, i in pairs[1])
    assert pairs[0] == [pair for pair, together in zip(accepted, met, strict=True) if together]
