"""Several passes in one linkage: the union of their joins, each match once, every copy cleaned, one noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.errors import UsageError
from accord.privacy.noise import exact_delta
from accord.privacy.noise_geometric import Geometric
from accord.rules.evaluate import Tables
from accord.rules.join import full_join
from accord.secure.ot.engine import OtEngine
from accord.side import Side
from tests.privacy.definition import moved_delta
from tests.privacy.test_losses import assert_just_above, fractions
from tests.protocols import worlds

coordinates = st.integers(0, 15)
tables = st.lists(st.tuples(coordinates, coordinates), max_size=8)
names = st.lists(st.sampled_from(["x", "y", "both", "grid", "around"]), min_size=1, max_size=4)


def union(agreed: Agreement, a: worlds.Rows, b: worlds.Rows) -> list[tuple[int, int]]:
    """The matches that meet in some pass, one pass after the other."""
    left, right = worlds.records(a, agreed), worlds.records(b, agreed)
    both = Tables(agreed.fields, left.columns, right.columns)
    i, j = full_join(agreed.rule, both, (len(a), len(b)))
    met = [one.compares(both, i, j) for one in agreed.plan.passes]
    return sorted({(int(i[k]), int(j[k])) for one in met for k in np.flatnonzero(one)})


@given(names, tables, tables, st.booleans(), st.sampled_from([1, 64]))
def test_the_output_is_the_union_of_the_blocked_joins_each_match_once(
    passes: list[str], a: worlds.Rows, b: worlds.Rows, greedy: bool, slab: int
) -> None:
    rule = worlds.WITHOUT_INDEX
    agreed = worlds.agreement(blocking=worlds.passes(*passes), rule=rule, greedy=greedy)
    with worlds.slabs(slab):
        left, right, _ = worlds.link(agreed, a, b)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == union(agreed, a, b)
    assert left.digest == right.digest


def test_greedy_goes_beyond_the_passes_if_the_rule_has_an_index() -> None:
    a, b = [(0, 0), (3, 3)], [(0, 0), (1, 0)]
    near = worlds.agreement(blocking=worlds.passes("x", "both"), rule=worlds.WITHOUT_INDEX)
    assert worlds.pairs_of_a(worlds.link(near, a, b)[0]) == [(0, 0)]
    wide = worlds.agreement(blocking=worlds.passes("x", "both"))
    assert worlds.pairs_of_a(worlds.link(wide, a, b)[0]) == [(0, 0), (0, 1)]


@pytest.mark.parametrize("greedy", [True, False])
def test_a_match_of_two_passes_is_one_match_with_real_cryptography(greedy: bool) -> None:
    agreed = worlds.agreement(blocking=worlds.passes("x", "x", "both"), greedy=greedy)
    left, right, _ = worlds.link(agreed, [(3, 3), (9, 9)], [(3, 3), (3, 4)], dummies=1, engine=OtEngine())
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == [(0, 0), (0, 1)]


def test_greedy_cleans_the_copies_of_all_passes() -> None:
    """One row is compared in each of two passes; then all are known and nothing is left to compare."""
    agreed = worlds.agreement(blocking=worlds.passes("x", "x"))
    found, _, _ = worlds.link(agreed, [(3, 3)] * 10, [(3, 3)] * 10, dummies=0)
    assert (len(found.own), found.comparisons) == (100, 20)
    plain = worlds.agreement(blocking=worlds.passes("x", "x"), greedy=False)
    found, _, _ = worlds.link(plain, [(3, 3)] * 10, [(3, 3)] * 10, dummies=0)
    assert (len(found.own), found.comparisons) == (100, 200)


def test_pairs_that_do_not_match_are_compared_in_every_pass_in_which_they_meet() -> None:
    agreed = worlds.agreement(blocking=worlds.passes("x", "x", "x"), greedy=False)
    found, _, _ = worlds.link(agreed, [(3, 3)], [(3, 9)], dummies=0)
    assert (len(found.own), found.comparisons) == (0, 3)


# -- the joint release, by enumeration --------------------------------------------------------------------

TINY = Geometric(1, Fraction(1, 3), Fraction(1, 4), 1)
EPSILONS = [Fraction(1, 2), Fraction(1), Fraction(7, 6)]


def changes(agreed: Agreement, one: tuple[int, int], other: tuple[int, int]) -> list[int]:
    """By how much each bin changes when one record is replaced by another, beside a third."""
    found = []
    for row in (one, other):
        held = worlds.records([row, (2, 2)], agreed)
        found.append(agreed.plan.counts(Side.A, held.columns, 2))
    return [int(c) for c in found[0] - found[1] if c]


@pytest.mark.parametrize(
    "passes",
    [("both", "around"), *(pytest.param(each, marks=pytest.mark.slow) for each in (("x", "y"), ("x", "x")))],
)
def test_the_joint_release_of_passes_is_as_private_as_k_says(passes: tuple[str, ...]) -> None:
    """δ(ε) of all counts together, by its definition, for the worst pair of records: that of k' = 2."""
    agreed = worlds.agreement(blocking=worlds.passes(*passes), missing="differs")
    rows: list[tuple[int, int]] = list(product([0, 6, None], repeat=2))  # type: ignore[arg-type]
    found = {tuple(sorted(changes(agreed, *pair))) for pair in product(rows, repeat=2)}
    assert max(len(each) for each in found) == 4
    q = fractions(TINY)
    for epsilon in EPSILONS:
        true = [moved_delta(q, list(each), epsilon) for each in found if each]
        stated = exact_delta(TINY, agreed.plan.per_record(Side.A), epsilon)
        assert_just_above(stated, max(true))
        # Who forgets one of the passes states too little.
        assert exact_delta(TINY, 1, epsilon) < float(max(true))


# -- what an agreement may say ----------------------------------------------------------------------------


def test_auto_is_resolved_before_anything_is_told() -> None:
    """The ledger and the release's name know the mechanism; `auto` and its name are one release."""
    one = worlds.agreement(blocking=worlds.passes("x", "y"))
    sides = {side: {"epsilon": "1", "delta": "2^-40", "noise": "auto"} for side in ("A", "B")}
    for names, noise in ((("x", "y"), "geometric"), (("x", "y", "x", "y"), "gaussian")):
        auto = one.model_dump(mode="json") | {"blocking": worlds.passes(*names)}
        auto["protocol"] |= sides
        named = auto | {"protocol": auto["protocol"] | {s: sides[s] | {"noise": noise} for s in sides}}
        found = [Agreement.model_validate(plain) for plain in (auto, named)]
        releases = [agreed.protocol.release(agreed.task, Side.A, 100) for agreed in found]
        assert releases[0].event == releases[1].event
        assert releases[0].setting is not None
        assert (releases[0].setting.name, releases[0].setting.bins_per_record) == (noise, len(names))
        assert found[0].task.placement == found[1].task.placement
        assert found[0].digest != found[1].digest


def test_a_pass_is_where_its_bins_are_whatever_it_is_called() -> None:
    one = worlds.agreement(blocking=worlds.passes("x", "y"))
    named = worlds.passes("x", "y")
    named["pass"][0]["name"] = "across"
    other = worlds.agreement(blocking=named)
    assert one.task.placement == other.task.placement
    assert one.digest != other.digest
    single = worlds.agreement(blocking=worlds.passes("x"))
    plain = worlds.agreement(blocking=worlds.passes("x")["pass"][0]["parts"])
    assert single.task.placement == plain.task.placement
    assert worlds.agreement(blocking=worlds.passes("y", "x")).task.placement != one.task.placement


def test_unknown_noise_still_lists_all() -> None:
    agreed = worlds.agreement(blocking=worlds.passes("x"))
    with pytest.raises(UsageError, match="auto, geometric"):
        agreed.protocol.release(agreed.task, Side.A, 10, noise="loud")
