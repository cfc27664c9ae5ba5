"""The measurement itself: two real processes, right answers, the fields that were promised."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from pydantic import TypeAdapter

from accord.errors import UsageError
from accord.fields.schema import Bloom, FieldSpec, TextField
from accord.network import Network
from accord.rules.lowering import lower
from accord.rules.rule import Similar
from accord.rules.text import parse_rule
from accord.secure.blocks import Blocks
from accord.secure.engines import BUILT_IN
from accord.secure.ideal import match
from accord.side import Side
from benchmarks.compare import describe
from benchmarks.engines import Measurement, measure
from benchmarks.workload import RULES, Work, make_up_table


@pytest.mark.whole
def test_two_processes_come_to_the_right_answers() -> None:
    measured = measure(Measurement("ot", "hamming50", 40))
    assert (measured.engine, measured.rule, measured.pairs) == ("ot", "hamming50", 1600)
    assert measured.checked
    assert measured.bytes_per_pair > 30
    assert measured.rounds == 4
    assert (measured.width, measured.network) == (40, None)
    assert "1,600 pairs at width 40: " in describe(measured)


@pytest.mark.slow
def test_narrow_blocks_over_a_slow_network() -> None:
    measured = measure(Measurement("ot", "hamming50", 40, 1, 16, Network.parse("1000/1")))
    assert (measured.pairs, measured.width, measured.network) == (6 * 16 * 16, 16, "1000/1")
    assert measured.checked


@pytest.mark.parametrize(
    ("rows", "width", "expected"),
    [
        (1000, None, Work(1, 1000, 1000)),
        (1000, 1000, Work(1, 1000, 1000)),
        (1000, 100, Work(100, 100, 100)),
        (1000, 32, Work(977, 32, 32)),
        (40, 100, Work(1, 16, 100)),
        (3, 100, Work(1, 1, 100)),
        (1, 1, Work(1, 1, 1)),
    ],
)
def test_blocks_are_as_many_as_give_the_pairs(rows: int, width: int | None, expected: Work) -> None:
    assert Work.of(rows, width) == expected


@pytest.mark.parametrize(("rows", "width"), [(1000, None), (1000, 32), (300, 7), (3000, None), (2500, 5000)])
def test_slabs_hold_every_pair_of_every_block(rows: int, width: int | None) -> None:
    work = Work.of(rows, width)
    slabs = list(work.cut())
    assert sum(slab.pairs for slab in slabs) == work.pairs
    assert all(slab.pairs <= 1 << 22 for slab in slabs)
    assert all((slab.b_counts == work.width).all() for slab in slabs)
    assert sum(int(slab.a_counts.sum()) for slab in slabs) == work.blocks * work.a_rows
    assert all(max(slab.a_rows.max(), slab.b_rows.max()) < work.rows for slab in slabs)


def test_a_row_meets_only_those_of_its_block() -> None:
    (slab,) = Work(3, 2, 4).cut()
    assert slab.a_rows.tolist() == [0, 1, 4, 5, 8, 9]
    assert slab.b_rows.tolist() == list(range(12))
    assert slab.b_counts.tolist() == [4, 4, 4]


@pytest.mark.parametrize("bits", [128, 1024])
def test_dice_is_what_an_agreement_would_compare(bits: int) -> None:
    field = TextField(type="text", encoder=Bloom(kind="bloom", bits=bits, hashes=2, grams=2))
    agreed = lower(Similar("dice", "grams", Fraction(4, 5)), {"grams": field})
    assert RULES[f"dice{bits}"] == agreed.node


def test_people_are_what_an_agreement_would_compare() -> None:
    bloom = {"kind": "bloom", "bits": 128, "hashes": 2, "grams": 2}
    kinds: dict[str, dict[str, object]] = {
        **{field: {"type": "text", "encoder": bloom} for field in ("given", "surname", "street")},
        **{field: {"type": "text", "encoder": "hash"} for field in ("postcode", "phone")},
        "year": {"type": "number", "min": 1900, "max": 2029, "step": 1},
        "month": {"type": "number", "min": 1, "max": 12, "step": 1},
        "day": {"type": "number", "min": 1, "max": 31, "step": 1},
        "sex": {"type": "category", "values": ["f", "m", "x"]},
    }
    may_miss = {field: {**kind, "missing": "differs"} for field, kind in kinds.items()}
    fields = TypeAdapter(dict[str, FieldSpec]).validate_python(may_miss)
    rule = """score(
        given: dice >= 1 -> 6, dice >= 0.85 -> 4, missing -> 0, otherwise -> -4;
        surname: dice >= 1 -> 7, dice >= 0.8 -> 4, missing -> 0, otherwise -> -5;
        street: dice >= 1 -> 4, dice >= 0.7 -> 2, missing -> 0, otherwise -> -1;
        year: same -> 4, missing -> 0, otherwise -> -4;
        month: same -> 2, missing -> 0, otherwise -> -2;
        day: same -> 3, missing -> 0, otherwise -> -2;
        postcode: same -> 5, missing -> 0, otherwise -> -2;
        sex: same -> 1, missing -> 0, otherwise -> -4;
        phone: same -> 6, missing -> 0, otherwise -> -1;
    ) >= 14"""
    assert RULES["people"] == lower(parse_rule(rule), fields).node


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BUILT_IN, "paillier", "paillier-packed"])
def test_every_engine_is_measured(name: str) -> None:
    measured = measure(Measurement(name, "hamming50", 3, repeats=2))
    assert (measured.engine, measured.pairs, measured.checked) == (name, 9, True)


def test_a_sample_is_for_engines_that_take_milliseconds_a_pair() -> None:
    fast, slow = (Measurement(name, "hamming50", 20, repeats=2) for name in ("ot", "paillier"))
    assert fast.sample(2) == fast
    assert (slow.sample(2).rows, slow.sample(2).repeats, slow.sample(40).rows) == (2, 1, 20)


def test_every_rule_has_matches_and_others() -> None:
    for rule in RULES.values():
        a, b = (make_up_table(rule, side, 100) for side in Side)
        bits = match(rule, Blocks.whole(100, 100), a, b)
        assert 0 < bits.sum() < 5000


def test_letters_end_before_the_first_zero() -> None:
    for side in Side:
        letters = make_up_table(RULES["edit"], side, 500).inputs["letters"]
        assert (np.sort(letters > 0)[:, ::-1] == (letters > 0)).all()
        assert len(set((letters > 0).sum(axis=1))) == 12


def test_an_unknown_rule_is_named() -> None:
    with pytest.raises(UsageError, match="no rule 'x'"):
        measure(Measurement("ot", "x", 10))
