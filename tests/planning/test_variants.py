"""Alternatives of an agreement: sound, different, bounded in number, and told in words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.datasets.starter import starter
from accord.planning.variants import (
    MOST_BLOCKINGS,
    blockings,
    greedy_variants,
    other_protocols,
    tell_blocking,
    with_epsilon,
)
from accord.rules.blocking.grid import GridSpec
from accord.rules.blocking.key import KeySpec
from reproduction.places import places_agreement
from tests.planning.worlds import birth_key
from tests.protocols.worlds import agreement, passes


@pytest.mark.parametrize(
    "agreed",
    [
        starter("products"),
        birth_key(),
        pytest.param(places_agreement(), marks=pytest.mark.slow),
        pytest.param(starter("people"), marks=pytest.mark.slow),
    ],
)
def test_all_are_sound_and_none_is_the_agreed_one(agreed: Agreement) -> None:
    found = blockings(agreed, (5000, 4000))
    assert 3 < len(found) <= MOST_BLOCKINGS
    assert len({one.digest for one in found} | {agreed.digest}) == len(found) + 1
    for one in found:
        require_sound(one)
        assert one.rule == agreed.rule


def test_a_key_by_value_is_also_tried_in_buckets() -> None:
    told = [tell_blocking(one) for one in blockings(birth_key(), (199, 220))]
    assert any(text.startswith("birth in ") and text.endswith("buckets") for text in told)


def test_grids_have_other_cells_in_both_styles() -> None:
    agreed = agreement(style="replicate")
    grids = [part for one in blockings(agreed, (500, 500)) for part in one.passes[0].parts]
    found = {(grid.style, grid.cell) for grid in grids if isinstance(grid, GridSpec)}
    assert {style for style, _ in found} == {"replicate", "neighbours"}
    assert len({cell for _, cell in found}) >= 3
    # The reach that the rule needs, and no more.
    assert {grid.reach for grid in grids if isinstance(grid, GridSpec)} == {None, Fraction(1)}


def test_passes_are_left_out_one_at_a_time() -> None:
    agreed = agreement(blocking=passes("x", "grid"), rule="within(x, 1)")
    assert any(len(one.passes) == 1 for one in blockings(agreed, (500, 500), fewer=True))
    assert not any(len(one.passes) == 1 for one in blockings(agreed, (500, 500)))


def test_protocols_are_those_that_rule_and_blocking_allow() -> None:
    names = {one.protocol.name for one in other_protocols(starter("products"))}
    assert "all-pairs" in names
    assert "psi" not in names, "the rule is fuzzy"
    exact = agreement(rule="same(x) and same(y)")
    assert {"psi", "all-pairs"} <= {one.protocol.name for one in other_protocols(exact)}


@pytest.mark.parametrize("kind", ["products", "people"])
def test_greedy_is_tried_only_where_a_match_shows_what_it_needs(kind: str) -> None:
    agreed = starter(kind)
    tried = [greedy for one in (agreed, *other_protocols(agreed)) for greedy in greedy_variants(one)]
    for one in tried:
        require_sound(one)
    switched = agreed.protocol.model_copy(update={"greedy": True})
    shows = {*agreed.disclose.A} >= {*agreed.names}
    assert (agreed.model_copy(update={"protocol": switched}) in tried) == shows
    assert shows == (kind == "products"), "both happen"


def test_greedy_and_epsilon_change_and_nothing_else() -> None:
    agreed = starter("products")
    same, other = greedy_variants(agreed)
    assert same is agreed
    assert other.protocol.model_copy(update={"greedy": True}) == agreed.protocol
    assert len(greedy_variants(agreement(protocol="psi", rule="same(x)"))) == 1
    changed = with_epsilon(agreed, Fraction(3))
    assert changed is not None
    assert changed.protocol.A.epsilon == changed.protocol.B.epsilon == 3  # type: ignore[attr-defined]
    assert with_epsilon(agreed, Fraction("1.6")) is None
    assert with_epsilon(agreement(protocol="all-pairs"), Fraction(3)) is None


def test_a_blocking_is_told_in_words() -> None:
    assert tell_blocking(agreement(protocol="all-pairs")) == ""
    assert tell_blocking(agreement()) == "x, y in cells of 4, neighbours"
    assert "in 74 buckets; " in tell_blocking(starter("people"))


def test_no_key_has_more_buckets_than_values() -> None:
    """An hour has 24, however many records there are."""
    parts = [part for one in blockings(places_agreement(), (10**6, 10**6)) for part in one.passes[0].parts]
    keys = [part for part in parts if isinstance(part, KeySpec)]
    assert {key.buckets for key in keys if (key.buckets or 0) > 24} == set()
    assert keys
