"""Rules on tables: evaluation, circuit, index, candidates and one-to-one sets are those of the textbook; what
follows from a rule does follow, for every match."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from accord.fields.columns import Bits, Integers
from accord.fields.load import load_records
from accord.fields.schema import DateField, FieldSpec, NumberField
from accord.rules import join
from accord.rules.assignment import alone, choose
from accord.rules.blocking.base import Blocking
from accord.rules.distances import expand
from accord.rules.evaluate import Indices, Mask, Tables, holds, scores
from accord.rules.implied import accepts_unseen, enough_alone, reach, requires_same, without
from accord.rules.join import Compared, Index, Meetings, candidates, full_join, has_index, meeting_pairs
from accord.rules.lowering import lower
from accord.rules.merging import merge_levels
from accord.rules.rule import And, Level, Levels, Missing, Or, Rule, Same, Score, Within, predicates
from accord.rules.text import parse_rule
from accord.rules.thresholds import cosine_table, within_steps
from accord.rules.words import dice, euclidean, hamming, missing, same, within
from accord.secure import circuit
from accord.secure.circuit import AtMost, Bilinear
from accord.secure.ideal import evaluate
from accord.side import Side
from tests.rules import worlds
from tests.rules.test_blocking import blockings


def zipped(rows: tuple[Indices, Indices]) -> list[tuple[int, int]]:
    return list(zip(*(each.tolist() for each in rows), strict=True))


@given(worlds.rules, worlds.tables, worlds.tables)
def test_all_ways_find_the_matches_of_the_textbook(
    rule: Rule, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, _, _ = worlds.both(a, b)
    expected = worlds.expected(rule, a, b)
    i, j = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    clear = holds(rule, tables, i, j)
    assert zipped((i[clear], j[clear])) == expected
    assert zipped(full_join(rule, tables, (len(a), len(b)))) == expected
    theirs, mine = Index(rule, worlds.FIELDS, Side.A, tables.a, len(a)).matches(tables.b, len(b))
    assert sorted(zipped((mine, theirs))) == expected

    lowered = lower(rule, worlds.FIELDS)
    inputs = {
        side: lowered.inputs(side, columns) for side, columns in zip(Side, (tables.a, tables.b), strict=True)
    }
    assert evaluate(lowered.node, inputs[Side.A], inputs[Side.B], i, j).tolist() == clear.tolist()
    for side, rows in zip(Side, (a, b), strict=True):
        for of in circuit.inputs(lowered.node, side):
            array = inputs[side][of.name]
            assert array.shape == (len(rows), of.length)
            assert 0 <= array.min(initial=0) <= array.max(initial=0) <= of.high
    for leaf in circuit.leaves(lowered.node):
        if isinstance(leaf, AtMost):
            # value ≤ high always, value ≤ low − 1 never.
            over, under = AtMost(leaf.value, leaf.value.high), AtMost(leaf.value, leaf.value.low - 1)
            assert evaluate(over, inputs[Side.A], inputs[Side.B], i, j).all()
            assert not evaluate(under, inputs[Side.A], inputs[Side.B], i, j).any()


@pytest.mark.parametrize(
    "rule",
    [
        same("hour") & (euclidean("x", "y") <= 2),
        same("hour") | (same("brand") & within("x", 0)),
        euclidean("x", "y") <= 0,
        same("brand", "colour") & within("x", 2) & ~missing("birth", "A"),
        within("birth", "baptism", days=1) & within("z", "x", 1) & (same("hour") | missing("birth")),
    ],
)
def test_join_equals_all_pairs_on_larger_tables(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "_BATCH", 1000)
    rng = np.random.default_rng(5)
    highs = {"hour": 3, "x": 20, "y": 12, "birth": 19, "brand": 2, "z": 20, "baptism": 19, "colour": 2}
    a, b = (
        {name: Integers(rng.integers(0, high + 1, n), rng.random(n) < 0.95) for name, high in highs.items()}
        for n in (300, 400)
    )
    tables = Tables(worlds.FIELDS, a, b)
    i, j = (grid.ravel() for grid in np.indices((300, 400), dtype=np.int64))
    held = holds(rule, tables, i, j)
    expected = zipped((i[held], j[held]))
    tried = []

    def counted(*columns: Any) -> None:
        tried.append(len(columns[-1]))
        expand(*columns)

    monkeypatch.setattr(join, "expand", counted)
    assert zipped(full_join(rule, tables, (300, 400))) == expected
    assert isinstance(rule, Or) or sum(tried) < 120_000, "the index tried as many pairs as brute force"
    monkeypatch.setattr(join, "_ROWS", 70)
    assert zipped(full_join(rule, tables, (300, 400))) == expected
    theirs, mine = Index(rule, worlds.FIELDS, Side.A, a, 300).matches(b, 400)
    assert sorted(zipped((mine, theirs))) == expected


@given(blockings, worlds.rules, worlds.tables, worlds.tables)
def test_matches_and_candidates_are_the_pairs_that_meet_each_once(
    plan: Blocking, rule: Rule, a: list[worlds.Row], b: list[worlds.Row]
) -> None:
    tables, left, right = worlds.both(a, b)
    sizes = len(a), len(b)
    i, j = (grid.ravel() for grid in np.indices(sizes, dtype=np.int64))
    met = plan.compares(tables, i, j)
    found = [pair for rows in candidates(tables, sizes, plan) for pair in zipped(rows)]
    assert sorted(found) == zipped((i[met], j[met]))
    assert Compared.of(tables, sizes, plan).has(i, j).tolist() == met.tolist()

    held = met & holds(rule, tables, i, j)
    expected = zipped((i[held], j[held]))
    assert zipped(meeting_pairs(rule, tables, sizes, plan)) == expected
    record, bins = plan.place(Side.A, left.columns, len(a))
    order = np.argsort(bins, kind="stable")
    index = Meetings(Side.A, record[order], np.bincount(bins, minlength=plan.bins), plan.pairs())
    theirs, mine = index.matches(rule, tables, *plan.place(Side.B, right.columns, len(b)))
    assert sorted(zipped((mine, theirs))) == expected


def test_every_slot_is_tried_whether_or_not_it_is_a_dummy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the partner waits for takes as long with many records in a bin as with few."""
    tables, _, _ = worlds.both([worlds.ROW] * 3, [worlds.ROW])
    tried = []

    def everything(rule: Rule, tables: Tables, a: Indices, b: Indices) -> Mask:
        tried.append(len(a))
        return np.ones(len(a), np.bool_)

    monkeypatch.setattr(join, "holds", everything)
    for rows in ([0, 1, 2, -1], [2, -1, -1, -1], [-1, -1, 1, 0], [-1] * 4):
        index = Meetings(Side.A, np.array(rows), np.array([4]), (np.zeros(1, int), np.zeros(1, int)))
        _, mine = index.matches(same("hour"), tables, np.array([0]), np.array([0]))
        assert sorted(mine.tolist()) == sorted(row for row in rows if row >= 0)
    assert tried == [4, 4, 4, 4]


def test_which_rules_have_an_index() -> None:
    near, hour = dice("name") >= 0.8, same("hour")
    rules = [hour & near, within("x", 1) | same("code"), near | hour, ~hour]
    assert [has_index(rule, worlds.FIELDS) for rule in rules] == [True, True, False, False]


def test_what_the_blocking_guarantees_is_left_out_of_the_circuit() -> None:
    hour, near = Same("hour"), (hamming("name") <= 3)
    rules = [hour & near, hour, ~hour, hour | near]
    nodes = [lower(rule, worlds.FIELDS, frozenset(["hour"])).node for rule in rules]
    assert nodes == [lower(near, worlds.FIELDS).node, circuit.And(()), circuit.Or(()), circuit.And(())]


def test_a_difference_costs_no_product_and_a_similarity_one_filter() -> None:
    leaves = circuit.leaves(lower(within("y", 1), worlds.FIELDS).node)
    values = [leaf.value for leaf in leaves if isinstance(leaf, AtMost)]
    assert [value.products for value in values if isinstance(value, Bilinear)] == [(), ()]
    node = lower(dice("name") >= "0.5", worlds.FIELDS).node
    for side in Side:
        assert {of.name for of in circuit.inputs(node, side)} == {"name bits", "name ones", "name present"}


# -- thresholds --------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(("share", "steps"), [("0", 0), ("0.01", 4), ("0.1", 41), ("1", 301), ("9", 1000)])
def test_an_amount_of_logarithms_is_a_share(share: str, steps: int) -> None:
    amount = {"type": "number", "min": -2, "max": 5, "step": "0.001", "missing": "differs"}
    rule = Within("price", Fraction(share), False)
    assert within_steps(rule, {"price": NumberField.model_validate(amount | {"derive": "log"})}) == steps
    assert within_steps(rule, {"price": NumberField.model_validate(amount)}) == 1000 * Fraction(share)


# -- what is implied ---------------------------------------------------------------------------------------

PAIRS = [*((name, name) for name in worlds.FIELDS), *worlds.TWINS, *((b, a) for a, b in worlds.TWINS)]


@given(worlds.rules, worlds.tables, worlds.tables)
def test_every_match_has_what_is_implied(rule: Rule, a: list[worlds.Row], b: list[worlds.Row]) -> None:
    tables, _, _ = worlds.both(a, b)
    left, right = full_join(rule, tables, (len(a), len(b)))
    for of_a, of_b in PAIRS:
        x, y = tables.a[of_a], tables.b[of_b]
        there = bool((x.present[left] & y.present[right]).all())
        if requires_same(rule, of_a, of_b):
            assert there
            if isinstance(x, Bits) and isinstance(y, Bits):
                assert (x.words[left] == y.words[right]).all()
        if isinstance(x, Integers) and isinstance(y, Integers):
            apart = np.abs(x.values[left] - y.values[right]).max(initial=0)
            farthest = reach(rule, (of_a,), worlds.FIELDS, of_b)
            assert not requires_same(rule, of_a, of_b) or apart == 0
            assert farthest is None or (there and apart**2 <= farthest)
    if any(isinstance(p, Missing) for p in predicates(rule)):
        for p in predicates(rule):
            if not isinstance(p, Missing):
                unseen = ~holds(p, tables, left, right)
                left, right = left[unseen], right[unseen]
        assert accepts_unseen(rule) or not len(left)


@given(worlds.rules, worlds.tables, worlds.tables, st.sets(st.sampled_from(["hour", "brand", "x", "birth"])))
def test_what_is_known_of_a_pair_may_be_left_out(
    rule: Rule, a: list[worlds.Row], b: list[worlds.Row], equal: set[str]
) -> None:
    tables, _, _ = worlds.both(a, b)
    left, right = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    known = holds(And(tuple(Same(name) for name in sorted(equal))), tables, left, right)
    left, right = left[known], right[known]
    rest = without(rule, frozenset(equal))
    assert holds(rest, tables, left, right).tolist() == holds(rule, tables, left, right).tolist()
    assert not any(isinstance(p, Missing) and p.field in equal for p in predicates(rest))


def test_agrees_or_is_missing_does_not_require_to_agree() -> None:
    brand, lacks = same("brand"), missing("brand")
    required = [brand, (brand | lacks) & brand, brand & missing("birth")]
    for rule in (*required, brand | lacks, same("brand", "colour"), lacks, ~lacks):
        assert requires_same(rule, "brand") == (rule in required)
        assert (reach(rule, ("brand",), worlds.FIELDS) == 0) == (rule in required)


@pytest.mark.parametrize(
    ("rule", "names", "field_b", "farthest"),
    [
        # In steps of a half.
        (euclidean("x", "y") <= 2, ("x", "y"), "", 16),
        (euclidean("x", "y") <= 2, ("y",), "", 16),
        (euclidean("x", "y") <= 2, ("x",), "z", None),
        (euclidean("x") <= 2, ("x", "y"), "", None),
        (within("x", 1) & within("y", 2), ("x", "y"), "", 4 + 16),
        (within("x", 1) & within("y", 2) & (euclidean("x", "y") <= 1), ("x", "y"), "", 4),
        (within("x", 1) | within("x", 3), ("x",), "", 36),
        (within("x", 1) | same("hour"), ("x",), "", None),
        (within("birth", "baptism", days=2), ("birth",), "baptism", 4),
        (within("birth", "baptism", days=2), ("baptism",), "birth", None),
        (within("birth", "baptism", days=2), ("birth",), "", None),
        (~same("x"), ("x",), "", None),
    ],
)
def test_how_far_apart_a_match_may_be(
    rule: Rule, names: tuple[str, ...], field_b: str, farthest: int | None
) -> None:
    assert reach(rule, names, worlds.FIELDS, field_b) == farthest


def test_nothing_is_missing_where_a_key_brought_records_together() -> None:
    key = frozenset(["brand"])
    assert without(same("brand") | missing("brand"), key) == And(())
    assert without(same("hour") & missing("brand", Side.A), key) == Or(())
    assert without(same("hour") & ~missing("brand"), key) == same("hour")
    crossed = same("brand", "colour")
    assert without(crossed, frozenset(["brand", "colour"])) == crossed
    assert requires_same(crossed, "brand", "colour")
    assert not requires_same(crossed, "colour", "brand")


@pytest.mark.parametrize(
    ("least", "left"),
    [(8, Or(())), (7, "score(same(hour) -> 3, otherwise -> -1) >= 3"), (3, And(()))],
)
def test_known_weights_are_counted_off_the_threshold(least: int, left: Rule | str) -> None:
    score = f"score(same(hour) -> 3, otherwise -> -1; missing(brand) -> 0, same(brand) -> 4) >= {least}"
    expected = parse_rule(left) if isinstance(left, str) else left
    assert without(parse_rule(score), frozenset(["brand"])) == expected


def test_who_accepts_because_of_what_is_missing() -> None:
    brand, lacks = same("brand"), missing("brand")
    for rule in (brand | lacks, lacks & ~missing("code"), ~brand & ~lacks, missing("brand", "B")):
        assert accepts_unseen(rule)
    for rule in ((brand | lacks) & same("hour"), ~brand, brand & missing("code", "A")):
        assert not accepts_unseen(rule)


# -- what is enough alone ----------------------------------------------------------------------------------

TEXT = {"type": "text", "encoder": "hash", "missing": "differs"}
BORN = {"type": "date", "min": "1900-01-01", "max": "2029-12-31", "missing": "differs"}
YEAR = {"type": "number", "from": "birth", "derive": "year", "min": 1900, "max": 2029, "step": 1}
GIVEN = "given: same -> 8, missing -> 0, otherwise -> -2"
SURNAME = "surname: same -> 7, missing -> 0, otherwise -> -5"
THERE = "surname: same -> 7, otherwise -> -5"
BIRTH = "birth: same -> 5, same(birth_year) -> 2, missing -> 0, otherwise -> -3"


@pytest.mark.parametrize(
    ("text", "policy", "enough"),
    [
        (f"score({GIVEN}; {SURNAME}; {BIRTH}) >= 7", "differs", {"given": 8, "surname": 7}),
        (f"score({GIVEN}; {SURNAME}; {BIRTH}) >= 9", "differs", {}),
        # What no record lacks differs then, which weighs.
        (f"score({GIVEN}; {THERE}; {BIRTH}) >= 7", "error", {"surname": 7}),
        (f"score({GIVEN}; {THERE}; {BIRTH}) >= 3", "error", {"given": 3, "surname": 7}),
        # Fields of one column agree together.
        (f"score({BIRTH}; same(birth_year) -> 4; {GIVEN}) >= 9", "differs", {"birth": 9}),
        # A field of several columns is the same where both records lack the others.
        ("score(whole: same -> 3; given: same -> 1; birth: same -> 1) >= 4", "differs", {"given": 4}),
        # Something else has to agree, too.
        (f"same(birth) and score({GIVEN}; {SURNAME}) >= 7", "differs", {}),
        # What is accepted without the score is meant so.
        (f"same(given) or score({GIVEN}; {SURNAME}) >= 7", "differs", {"surname": 7}),
        ("same(given) and same(surname) or same(birth)", "differs", {}),
        # It may matter whose record is empty.
        (
            "score(given: same -> 3; missing(birth, A) -> 2, missing(birth, B) -> -9) >= 5",
            "differs",
            {"given": 5},
        ),
    ],
)
def test_a_single_value_is_enough_where_it_is_said(text: str, policy: str, enough: dict[str, int]) -> None:
    several = {"whole": TEXT | {"from": ["given", "surname"]}, "birth_year": YEAR | {"missing": "differs"}}
    fields = TypeAdapter(dict[str, FieldSpec]).validate_python(
        {"given": TEXT, "surname": TEXT | {"missing": policy}, "birth": BORN, **several}
    )
    rule = parse_rule(text)
    assert enough_alone(rule, fields) == enough
    if policy == "differs" and " or " not in text:
        assert {name for name in ("given", "surname", "birth") if accepts(rule, fields, name)} == {*enough}


def accepts(rule: Rule, fields: dict[str, FieldSpec], column: str) -> bool:
    """Whether records match that agree on the column, and of which one or both have nothing else."""
    full = {"given": "anna", "surname": "smith", "birth": "1980-01-31"}
    poor = {name: value if name == column else None for name, value in full.items()}
    other = {"given": "bea", "surname": "jones", "birth": "1975-12-24"} | {column: full[column]}
    table = pa.table({"id": ["1", "2"], **{name: [poor[name], other[name]] for name in full}})
    columns = load_records(table, fields, worlds.SALT).columns
    left, right = np.array([0, 0, 1]), np.array([0, 1, 0])
    return bool(holds(rule, Tables(fields, columns, columns), left, right).any())


# -- one to one --------------------------------------------------------------------------------------------

Worth = dict[tuple[int, int], int]
"""What each pair (record of A, record of B) is worth."""

small: st.SearchStrategy[Worth] = st.integers(1, 3).flatmap(
    lambda most: st.dictionaries(
        st.tuples(st.integers(0, 9), st.integers(0, 9)), st.integers(1, most), max_size=40
    )
)


def textbook(worth: Worth) -> set[tuple[int, int]]:
    """The definition: the pair that is worth most, the first by id among equals; then of what is left."""
    if not worth:
        return set()
    best = min(worth, key=lambda pair: (-worth[pair], pair))
    left = {(a, b): value for (a, b), value in worth.items() if a != best[0] and b != best[1]}
    return {best} | textbook(left)


@given(small)
def test_one_to_one_sets_are_the_textbooks(worth: Worth) -> None:
    left, right = np.array([*worth], np.int64).reshape(-1, 2).T
    found = choose(left.copy(), right.copy(), np.array([*worth.values()], np.int64))
    assert {pair for pair, chosen in zip(worth, found, strict=True) if chosen} == textbook(worth)
    sharing = [sum(a == c or b == d for c, d in worth) for a, b in worth]
    assert alone(left, right).tolist() == [count == 1 for count in sharing]


# -- merged levels -----------------------------------------------------------------------------------------


@given(worlds.scores, worlds.tables, worlds.tables)
def test_every_pair_weighs_the_same(score: Score, a: list[worlds.Row], b: list[worlds.Row]) -> None:
    tables, _, _ = worlds.both(a, b)
    left, right = (rows.ravel() for rows in np.indices((len(a), len(b))))
    for drawn in score.comparisons:
        # Of few weights some are the same.
        few = tuple(Level(level.when, level.weight % 2) for level in drawn.levels)
        each = Levels((*few, *few[:1]), drawn.otherwise % 2)
        merged = merge_levels(each, worlds.FIELDS)
        assert len(merged.levels) <= len(each.levels)
        weights = [scores((one,), tables, left, right).tolist() for one in (merged, each)]
        assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("f: dice >= 1 -> 4, dice >= 0.7 -> 4, missing -> 0", "f: dice >= 0.7 -> 4"),
        ("f: dice >= 1 -> 4, dice >= 0.7 -> -2, otherwise -> -2", "f: dice >= 1 -> 4, otherwise -> -2"),
        ("f: dice >= 1 -> 4, missing(f) -> 0, dice >= 0.7 -> 0", "f: dice >= 1 -> 4"),
        ("f: missing -> 4, same(g) -> 0, same -> 4", "f: missing -> 4, same(g) -> 0, same -> 4"),
        ("f: same and missing(g) -> 1, missing -> 1", "f: same and missing(g) -> 1, missing -> 1"),
    ],
)
def test_levels_that_decide_nothing_go(long: str, short: str) -> None:
    first, second = (worlds.score_of(f"score({text}) >= 1") for text in (long, short))
    assert merge_levels(first.comparisons[0], {}) == second.comparisons[0]


def test_the_same_day_is_the_same_year_month_and_day_of_the_month() -> None:
    fields: dict[str, FieldSpec] = {
        "birth": DateField.model_validate({"type": "date", "min": "1900-01-01", "max": "2029-12-31"})
    }
    for part, low, high in (("year", 1900, 2029), ("month", 1, 12), ("day", 1, 31)):
        of_birth = {"type": "number", "from": "birth", "derive": part, "min": low, "max": high, "step": 1}
        fields[part] = NumberField.model_validate(of_birth)
    days = "score(birth: same -> 4, same(year) and (same(month) or same(day)) -> 4) >= 1"
    [birth] = worlds.score_of(days).comparisons
    assert merge_levels(birth, fields).levels == birth.levels[1:]
    # A birth in 1940 has no year of this range.
    fields["year"] = fields["year"].model_copy(update={"min": 1950})
    assert merge_levels(birth, fields) == birth
