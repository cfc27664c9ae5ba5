"""Every rule of the language runs on the engine: what it lowers to is answered as in the clear."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.matching.lowering import lower
from accord.matching.rule import Rule
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Side
from accord.secure.engine_ot import OtEngine
from accord.secure.ideal import match
from accord.secure.party import run_pair
from tests import worlds
from tests.secure.conftest import Sessions


@settings(max_examples=25, deadline=None)
@given(worlds.rules, worlds.tables, worlds.tables, st.integers(0, 1 << 16))
def test_the_engine_answers_every_rule(
    sessions: Callable[[int], Sessions], rule: Rule, a: list[worlds.Row], b: list[worlds.Row], seed: int
) -> None:
    tables, _, _ = worlds.both(a, b)
    lowered, random, engine = lower(rule, worlds.FIELDS), np.random.default_rng(seed), OtEngine()
    left = Table(lowered.inputs(Side.A, tables.a), random.random(len(a)) < 0.8)
    right = Table(lowered.inputs(Side.B, tables.b), random.random(len(b)) < 0.8)
    over, (of_a, of_b) = Blocks.whole(len(a), len(b)), sessions(4)
    answers = run_pair(
        engine.evaluate(of_a, lowered.node, over, left), engine.evaluate(of_b, lowered.node, over, right)
    )
    expected = match(lowered.node, over, left, right)
    assert all((answer == expected).all() for answer in answers)
