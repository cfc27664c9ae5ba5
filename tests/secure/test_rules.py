"""Every rule of the language runs on the engines: what it lowers to is answered as in the clear."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.matching.lowering import lower
from accord.matching.rule import Rule
from accord.secure.blocks import Blocks, Table
from accord.side import Side
from tests.matching import worlds
from tests.secure.engines import World


@pytest.fixture(params=["ot", "garbled", "paillier-packed"], scope="module")
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


@settings(max_examples=25, deadline=None)
@given(worlds.rules, worlds.tables, worlds.tables, st.integers(0, 1 << 16))
def test_the_engines_answer_every_rule(
    world: World, rule: Rule, a: list[worlds.Row], b: list[worlds.Row], seed: int
) -> None:
    tables, _, _ = worlds.both(a, b)
    lowered, random = lower(rule, worlds.FIELDS), np.random.default_rng(seed)
    left = Table(lowered.inputs(Side.A, tables.a), random.random(len(a)) < 0.8)
    right = Table(lowered.inputs(Side.B, tables.b), random.random(len(b)) < 0.8)
    world.check(lowered.node, Blocks.whole(len(a), len(b)), left, right)
