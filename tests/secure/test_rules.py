"""Every rule of the language runs on the engines: what it lowers to is answered as in the clear."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.rules.lowering import lower
from accord.rules.rule import Rule
from accord.rules.text import parse_rule
from accord.secure.blocks import Blocks, Table
from accord.side import Side
from tests.rules import worlds
from tests.secure.engines import World


@pytest.fixture(
    params=["ot", pytest.param("ot silent", marks=pytest.mark.slow), "dual"],
    scope="module",
)
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


@given(worlds.rules, worlds.tables, worlds.tables, st.integers(0, 1 << 16))
def test_the_engines_answer_every_rule(
    world: World, rule: Rule, a: list[worlds.Row], b: list[worlds.Row], seed: int
) -> None:
    tables, _, _ = worlds.both(a, b)
    lowered, random = lower(rule, worlds.FIELDS), np.random.default_rng(seed)
    left = Table(lowered.inputs(Side.A, tables.a), random.random(len(a)) < 0.8)
    right = Table(lowered.inputs(Side.B, tables.b), random.random(len(b)) < 0.8)
    world.check(lowered.node, Blocks.whole(len(a), len(b)), left, right)


@pytest.mark.parametrize(
    "text",
    [
        "either_way(dice(name) >= 0.5 and dice(nick) >= 0.5, name, nick)",
        "same(code, alias) or missing(code) and within(x, z, 2)",
        "not missing(x, A) and missing(birth, B)",
        "hamming(nick, name) <= 4 and (same(brand, colour) or missing(brand, B))",
        "score(name, nick: dice >= 0.8 -> 5, dice >= 0.5 -> 2, missing -> 1, otherwise -> -3; "
        "code, alias: same or missing(code, A) -> 4, otherwise -> -1; x: same -> 2, missing -> 0, "
        "within 2 -> 1, otherwise -> -2; colour: missing -> 0, otherwise -> 1) >= 4",
        "edit(tag) <= 1 or edit(tag, label) <= 2 and not mismatches(tag, label) <= 1",
        "edit(label) <= 3 and not edit(label) <= 1 and not same(label)",
    ],
)
def test_crossed_fields_and_missing_values(world: World, text: str) -> None:
    """On tables of which half the values are missing, and with dummies, which match nothing either."""
    random = np.random.default_rng(7)
    kinds = [
        worlds.EMPTY,
        worlds.EMPTY
        | {"name": "abc", "nick": "cab", "code": "y", "brand": "red", "colour": "red", "x": 1.0}
        | {"tag": "a bab", "label": "bab"},
        worlds.EMPTY
        | {"name": "cab", "nick": "abc", "colour": "red", "birth": date(2026, 1, 3)}
        | {"tag": "abab", "label": "ab"},
    ]
    a, b = ([kinds[i] for i in random.integers(0, 3, 12)] for _ in Side)
    tables, _, _ = worlds.both(a, b)
    lowered = lower(parse_rule(text), worlds.FIELDS)
    left = Table(lowered.inputs(Side.A, tables.a), random.random(12) < 0.8)
    right = Table(lowered.inputs(Side.B, tables.b), random.random(12) < 0.8)
    assert world.check(lowered.node, Blocks.whole(12, 12), left, right)
