"""The lowered circuit, the clear evaluation and the textbook agree on every rule and table."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.rules.evaluate import holds
from accord.rules.lowering import lower
from accord.rules.rule import Hamming, Missing, Rule, Same, Similar
from accord.rules.thresholds import cosine_table
from accord.rules.words import within
from accord.secure import circuit
from accord.secure.circuit import And, AtMost, Bilinear
from accord.secure.ideal import evaluate
from accord.side import Side
from tests.rules import worlds


@given(worlds.rules, worlds.tables, worlds.tables)
def test_circuit_clear_and_textbook_agree(rule: Rule, a: list[worlds.Row], b: list[worlds.Row]) -> None:
    tables, _, _ = worlds.both(a, b)
    i, j = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    truth = np.zeros((len(a), len(b)), np.bool_)
    for pair in worlds.expected(rule, a, b):
        truth[pair] = True
    lowered = lower(rule, worlds.FIELDS)
    inputs_a, inputs_b = lowered.inputs(Side.A, tables.a), lowered.inputs(Side.B, tables.b)
    assert holds(rule, tables, i, j).tolist() == truth.ravel().tolist()
    assert evaluate(lowered.node, inputs_a, inputs_b, i, j).tolist() == truth.ravel().tolist()


@given(worlds.rules, worlds.tables)
def test_inputs_and_values_stay_in_their_declared_ranges(rule: Rule, table: list[worlds.Row]) -> None:
    records = worlds.records(table)
    lowered = lower(rule, worlds.FIELDS)
    rows = {side: lowered.inputs(side, records.columns) for side in Side}
    for side in Side:
        for of in circuit.inputs(lowered.node, side):
            array = rows[side][of.name]
            assert array.shape == (len(table), of.length)
            assert array.min(initial=0) >= 0
            assert array.max(initial=0) <= of.high
    everyone = np.arange(len(table))
    i, j = np.repeat(everyone, len(table)), np.tile(everyone, len(table))
    for leaf in circuit.leaves(lowered.node):
        if isinstance(leaf, AtMost):
            # value ≤ high always, value ≤ low − 1 never.
            over, under = AtMost(leaf.value, leaf.value.high), AtMost(leaf.value, leaf.value.low - 1)
            assert evaluate(over, rows[Side.A], rows[Side.B], i, j).all()
            assert not evaluate(under, rows[Side.A], rows[Side.B], i, j).any()


def test_what_the_blocking_guarantees_is_left_out() -> None:
    rule = Same("hour") & Hamming("name", 3)
    assert (
        lower(rule, worlds.FIELDS, frozenset(["hour"])).node == lower(Hamming("name", 3), worlds.FIELDS).node
    )
    assert lower(Same("hour"), worlds.FIELDS, frozenset(["hour"])).node == And(())
    assert lower(~Same("hour"), worlds.FIELDS, frozenset(["hour"])).node == circuit.Or(())
    either = Same("hour") | Hamming("name", 3)
    assert lower(either, worlds.FIELDS, frozenset(["hour"])).node == And(())


def test_a_crossed_predicate_reads_another_field_on_each_side() -> None:
    lowered = lower(Similar("cosine", "name", Fraction(1, 2), field_b="nick"), worlds.FIELDS)
    columns = worlds.records([worlds.EMPTY | {"name": "abc"}]).columns
    rows = {side: lowered.inputs(side, columns) for side in Side}
    present = "name/nick present"
    assert [int(rows[side][present][0, 0]) for side in Side] == [1, 0]
    assert rows[Side.A]["name bits"].sum() > 0 == rows[Side.B]["nick bits"].sum()


def test_missing_is_a_bit_of_one_side_or_of_both() -> None:
    columns = worlds.records([worlds.EMPTY]).columns
    for of, bits in ((None, [0, 0]), (Side.A, [0, 1]), (Side.B, [1, 0])):
        lowered = lower(Missing("code", of), worlds.FIELDS)
        assert isinstance(lowered.node, circuit.Not)
        assert isinstance(lowered.node.part, circuit.Both)
        made = [lowered.inputs(side, columns)[lowered.node.part.of.name] for side in Side]
        assert [int(rows[0, 0]) for rows in made] == bits


def test_a_difference_costs_no_product() -> None:
    node = lower(within("y", 1), worlds.FIELDS).node
    assert [leaf.value.products for leaf in circuit.leaves(node) if isinstance(leaf, AtMost)
            and isinstance(leaf.value, Bilinear)] == [(), ()]  # fmt: skip


@given(st.integers(1, 10_000), st.sampled_from([1, 7, 10, 100, 10_000]), st.integers(1, 60))
def test_cosine_table_is_the_exact_ceiling(p: int, q: int, bits: int) -> None:
    bound = min(Fraction(1), Fraction(p, q))
    table = cosine_table(bound, bits)
    for i in range(1, bits + 1):
        for j in range(1, bits + 1):
            least = int(table[i, j])
            assert least**2 >= bound**2 * i * j
            assert least == 0 or (least - 1) ** 2 < bound**2 * i * j
    assert table[0, 0] == 0
    assert (table[0, 1:] == 1).all()
    assert (table[1:, 0] == 1).all()


@pytest.mark.slow
def test_cosine_table_at_the_largest_filter() -> None:
    table = cosine_table(Fraction(9999, 10_000), 8192)
    assert table[8192, 8192] == ceil(0.9999 * 8192)
    assert table[8192, 1] == ceil(0.9999 * sqrt(8192))


def test_a_similarity_reads_one_filter_on_both_sides() -> None:
    node = lower(Similar("dice", "name", Fraction(1, 2)), worlds.FIELDS).node
    names = {side: {of.name for of in circuit.inputs(node, side)} for side in Side}
    assert names[Side.A] == names[Side.B] == {"name bits", "name ones", "name present"}


def test_not_a_rule() -> None:
    with pytest.raises(TypeError):
        lower(Rule(), worlds.FIELDS)
