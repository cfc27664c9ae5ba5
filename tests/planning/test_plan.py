"""A whole plan: options, prices, keys and caps for routing, and the matches that are expected."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.adjusting import adjust
from accord.agreement.blocking_text import write_blocking
from accord.agreement.document import Agreement, DisclosedColumns
from accord.agreement.file import require_sound
from accord.datasets.starter import starter
from accord.errors import UsageError
from accord.fields.columns import Column, Records, rows_of
from accord.fields.load import load_records
from accord.network import Network
from accord.planning import keys as key_search
from accord.planning import made_up as synthetic
from accord.planning.choose import Wanted
from accord.planning.figures import Range
from accord.planning.keys import CAPS, MOST_PASSES, Key, choose_keys
from accord.planning.made_up import make_up_pairs, make_up_samples
from accord.planning.plan import Own, PlanQuestion, make_plan, price_agreed, route
from accord.planning.recall import recall_of, shares_met
from accord.planning.routes import _makes_whole
from accord.planning.variants import (
    MOST_BLOCKINGS,
    blockings,
    greedy_variants,
    other_protocols,
    with_epsilon,
)
from accord.planning.wrong_fields import WrongField
from accord.protocols.parts.output import Output
from accord.protocols.sharing import Sample, Sharers
from accord.rules.blocking.base import Passes, PassSpec
from accord.rules.blocking.grid import GridSpec
from accord.rules.blocking.key import KeySpec
from accord.rules.evaluate import Tables, holds
from accord.rules.text import parse_rule
from accord.side import Side
from accord.simulation.pair import simulate
from reproduction.places import places_agreement
from tests.planning.worlds import birth_key, question
from tests.prepared import people, products, search_briefly
from tests.protocols.worlds import agreement, passes, records

SLOW = pytest.mark.slow
COUNT = Output.model_validate({"answer": "count", "epsilon": 1})
PEOPLE = starter("people")
PRODUCTS = starter("products")


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Slow tests search as long as users do."""
    if request.node.get_closest_marker("slow") is None:
        search_briefly(monkeypatch)


# -- options and figures ------------------------------------------------------------------------------------


def test_the_default_wish_is_the_agreed_promise_and_every_match() -> None:
    found = make_plan(PRODUCTS, question(3000, 3000))
    assert (found.choice.recall, found.missed) == (1.0, ())
    assert (found.choice.largest_epsilon or 0) <= 1.6
    assert len(found.options) > 12
    assert {"laplace", "all-pairs"} <= {one.protocol for one in found.options}
    assert {0.3, 1.6, 3.0} <= {one.largest_epsilon for one in found.options}
    assert len({one.agreement.digest for one in found.options}) == len(found.options)
    sure = [one for one in found.options if one.largest_epsilon == 0 and one.recall == 1.0]
    assert found.choice.usual == min(one.usual for one in sure)
    assert price_agreed(PRODUCTS, question(50, 50, wish=Wanted(max_time=1e-9))).missed == ("max-time",)


def test_dual_is_planned_without_greedy_and_within_one_test() -> None:
    plain = agreement(greedy=False)
    dual = Agreement.model_validate(plain.model_dump() | {"engine": "dual"})
    found, other = (price_agreed(one, question(200, 200)) for one in (dual, plain))
    assert found.agreed.comparisons == other.agreed.comparisons
    assert found.agreed.bytes.expected > 10 * other.agreed.bytes.expected
    assert not any(getattr(one.agreement.protocol, "greedy", False) for one in found.options)
    with pytest.raises(UsageError):
        price_agreed(dual, question(100_000, 100_000))


@pytest.mark.parametrize("protocol", [None, "all-pairs"])
@pytest.mark.parametrize("greedy", [False, True])
def test_with_a_table_the_price_is_near_a_run(greedy: bool, protocol: str | None) -> None:
    made, asked = products(400, 0.5, 3, True), question(400, 400, overlap=0.5)
    plain, agreed = (adjust(PRODUCTS, protocol=protocol, greedy=one) for one in (False, greedy))
    own = Own(Side.A, load_records(made.a, agreed.fields, agreed.salt))
    planned, whole = (price_agreed(one, asked, own).agreed for one in (agreed, plain))
    run = simulate(made.a, made.b, agreed, seed=1).runs[0]
    assert planned.comparisons.low <= 1.1 * run.comparisons
    assert planned.comparisons.high >= 0.9 * run.comparisons
    # Short rounds cost more, and none less.
    each, other = (one.bytes.expected / one.comparisons.expected for one in (planned, whole))
    assert each >= 0.9 * other
    spared = price_agreed(agreed, question(400, 400, overlap=0)).agreed.comparisons
    alone = price_agreed(plain, question(400, 400)).agreed.comparisons
    assert spared.expected == alone.expected, "without matches nothing is spared"
    if greedy:
        every = price_agreed(agreed, question(400, 400, overlap=1)).agreed.comparisons
        assert every.low < every.expected < every.high
        assert planned.comparisons.low >= 0.9 * 400, "every record is compared with something"
    else:
        assert planned.comparisons.high <= 2 * planned.comparisons.low
        assert planned.comparisons.expected == pytest.approx(run.comparisons, rel=0.1)
        assert alone.low <= run.comparisons <= alone.high, "from counts alone, too"


def test_a_plan_is_json_a_table_and_a_page() -> None:
    plan = price_agreed(PRODUCTS, question(200, 300))
    found = json.loads(json.dumps(plan.to_json()))
    assert {"options", "choice", "warnings"} <= set(found)
    for option in found["options"]:
        assert {"protocol", "blocking", "greedy", "agreed", "recall"} <= set(option)
        assert set(option["epsilon"]) == set(option["delta"]) == {"A", "B"}
        every = option["protocol"] == "all-pairs"
        assert all(value == 0 if every else 0 < value <= 2.0**-40 for value in option["delta"].values())
        assert all((value == 0) == every for value in option["epsilon"].values())
        for name in ("dummies", "comparisons", "bytes", "seconds", "rounds", "memory"):
            assert option[name]["low"] <= option[name]["expected"] <= option[name]["high"], name
    assert found["choice"] in found["options"]
    assert [option["agreed"] for option in found["options"]].count(True) == 1
    assert all(set(warning) == {"code", "text"} for warning in found["warnings"])
    assert pa.table(plan)["chosen"].to_pylist().count(True) == 1
    assert plan.to_pandas()["comparisons_expected"].min() > 0
    assert plan._repr_html_().count("<tr>") == 1 + len(plan.options)
    assert plan.choice.protocol in repr(plan)
    assert Range.of(5, 3, 9) == Range(3, 5, 9)
    assert Range(0.7, 1.3, 1.5).scaled(2).to_json() == {"low": 1, "expected": 3, "high": 3}


# -- variants of an agreement -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "agreed",
    [PRODUCTS, birth_key(), places_agreement(), pytest.param(PEOPLE, marks=SLOW)],
)
def test_other_blockings_are_sound_and_none_is_the_agreed_one(agreed: Agreement) -> None:
    found = blockings(agreed, (5000, 4000))
    assert 3 < len(found) <= MOST_BLOCKINGS
    assert len({one.digest for one in found} | {agreed.digest}) == len(found) + 1
    for one in found:
        require_sound(one)
        assert one.rule == agreed.rule
    parts = [part for one in found for part in one.passes[0].parts]
    keys = [part for part in parts if isinstance(part, KeySpec)]
    if agreed is not PRODUCTS:
        assert any(key.buckets for key in keys), "a key by value is also tried in buckets"
    if "hour" in agreed.fields:
        assert max(key.buckets or 0 for key in keys) <= 24, "and in no more than it has values"


def test_variants_are_those_that_rule_and_blocking_allow() -> None:
    exact = agreement(rule="same(x) and same(y)")
    fuzzy, both = ({one.protocol.name for one in other_protocols(agreed)} for agreed in (PRODUCTS, exact))
    assert {"psi", "all-pairs"} <= both
    assert both - fuzzy == {"psi"}
    found = blockings(agreement(style="replicate"), (500, 500))
    grids = [part for one in found for part in one.passes[0].parts if isinstance(part, GridSpec)]
    assert len({grid.cell for grid in grids}) >= 3
    # The reach that the rule needs, and no more.
    assert {(grid.style, grid.reach) for grid in grids} == {("replicate", Fraction(1)), ("neighbours", None)}
    # Passes are left out one at a time where that is asked for.
    two = agreement(blocking=passes("x", "grid"), rule="within(x, 1)")
    for fewer in (True, False):
        assert any(len(one.passes) == 1 for one in blockings(two, (500, 500), fewer)) == fewer
    # Another ε changes nothing else.
    changed = with_epsilon(PRODUCTS, Fraction(3))
    assert changed is not None
    assert changed.protocol.A.epsilon == changed.protocol.B.epsilon == 3  # type: ignore[attr-defined]
    assert with_epsilon(changed, Fraction("1.6")) == PRODUCTS
    for agreed, epsilon in ((PRODUCTS, Fraction("1.6")), (agreement(protocol="all-pairs"), Fraction(3))):
        assert with_epsilon(agreed, epsilon) is None


@pytest.mark.parametrize("agreed", [PRODUCTS, PEOPLE])
def test_greedy_is_tried_only_where_a_match_shows_what_it_needs(agreed: Agreement) -> None:
    """It is for products."""
    tried = [greedy for one in (agreed, *other_protocols(agreed)) for greedy in greedy_variants(one)]
    for one in tried:
        require_sound(one)
    assert tried[0] is agreed
    switched = agreed.protocol.model_copy(update={"greedy": True})
    is_tried = agreed.model_copy(update={"protocol": switched}) in tried
    assert is_tried == ({*agreed.disclose.A} >= {*agreed.names}) == (agreed is PRODUCTS)


# -- synthetic pairs, and the share of them that is found ---------------------------------------------------


@pytest.mark.parametrize(
    "agreed", [PEOPLE, PRODUCTS, places_agreement()], ids=["people", "products", "places"]
)
def test_most_synthetic_pairs_are_accepted_and_meet(
    agreed: Agreement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts have slips. Numbers move no farther than the rule accepts alone: a disc in its square."""
    found = make_up_pairs(agreed, 2_000)
    monkeypatch.setattr(synthetic, "_made", {})
    again = make_up_pairs(agreed, 2_000)
    assert found is not None
    assert again is not None
    for name, column in found[1].columns.items():
        assert np.array_equal(column.present, again[1].columns[name].present), "the same every time"
    tables, rows = Tables(agreed.fields, *(side.columns for side in found)), np.arange(len(found[0]))
    assert 0.5 < holds(agreed.rule, tables, rows, rows).mean() < 1
    shares = shares_met(agreed.task, *found, {})
    assert shares is not None
    assert (shares.sum() == 1.0) == (not agreed.plan.losses(agreed.rule))
    assert shares.sum() > 0.97
    a, b = (side.columns for side in found)
    for name in ("given", "surname", "phone") if agreed is PEOPLE else ():
        assert 0 < (a[name].words != b[name].words).any(axis=1).mean() < 0.5  # type: ignore[union-attr]
    for name in ("lat", "lon") if "lat" in agreed.fields else ():
        moved = np.abs(a[name].values - b[name].values)  # type: ignore[union-attr]
        assert 0 < np.quantile(moved, 0.9) <= 1000, "but for those with another's place"


KINDS: dict[str, dict[str, Any]] = {
    "hash": {"type": "text", "encoder": "hash"},
    "bloom": {"type": "text", "encoder": "paper"},
    "letters": {"type": "text", "encoder": {"kind": "letters", "length": 5, "alphabet": "0123456789"}},
    "short": {"type": "text", "encoder": {"kind": "letters", "length": 1, "alphabet": "a"}},
    "number": {"type": "number", "min": "-3", "max": "4", "step": "0.25"},
    "date": {"type": "date", "min": "2026-03-01", "max": "2026-03-01"},
    "year": {"type": "number", "from": "day", "derive": "year", "min": 1900, "max": 2030, "step": 1},
    "category": {"type": "category", "values": ["one"], "other": "bin"},
    "place": {"type": "latitude"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_field_can_be_made_up(kind: str) -> None:
    plain = agreement(protocol="all-pairs").model_dump(mode="json")
    fields = plain["fields"] | {"z": KINDS[kind]}
    agreed = Agreement.model_validate(plain | {"fields": fields, "rule": "same(z)"})
    pairs = make_up_pairs(agreed, 300)
    assert pairs is not None
    assert pairs[0].columns["z"].present.mean() > 0.9
    if kind in ("hash", "bloom"):
        samples = make_up_samples(agreed, (300, 40), 200)
        assert samples is not None
        found = [(one.rows, one.size, one.half is None) for one in samples.values()]
        assert found == [(200, 300, False), (40, 40, True)]
        # A text that is compared by its letters is no key.
        assert ("z" in samples[Side.A].tables[0]) == (kind == "hash")


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "category", "values": ["F", "M"]},
        {"type": "category", "values": ["1", "2"], "missing": "skip"},
        {"type": "date", "min": "1960-01-01", "max": "1999-12-31"},
        {"type": "date", "min": "1955-01-01", "max": "2029-12-31", "other": "skip"},
    ],
)
def test_what_is_agreed_leaves_no_row_out(spec: dict[str, Any]) -> None:
    """People who do not fit what is agreed have no value there; their pairs stay side by side."""
    plain, field = PEOPLE.model_dump(mode="json"), "sex" if "values" in spec else "birth"
    plain["fields"][field] = {"missing": "differs"} | spec
    agreed = Agreement.model_validate(plain)
    found = make_up_pairs(agreed, 500)
    assert found is not None
    assert len(found[0]) == len(found[1]) == 500
    shares = shares_met(agreed.task, *found, {})
    assert shares is not None
    assert shares.sum() > 0.8
    assert field == "birth" or min(side.columns["sex"].present.mean() for side in found) > 0.9


def test_recall_is_that_of_the_bins_and_of_pruning() -> None:
    for agreed in (PRODUCTS, places_agreement(), agreement(protocol="all-pairs")):
        assert recall_of(agreed.task, 1.0) == 1.0
    assert (recall_of(PEOPLE.task, None), recall_of(PEOPLE.task, 0.5)) == (None, 0.5)
    assert recall_of(adjust(PRODUCTS, prune=10).task, 1.0) is None
    # The third pair is no match; the second is one and has another x.
    agreed = agreement(blocking=passes("x"), rule="euclidean(x, y) <= 1")
    a, b, far = (
        records(rows, agreed)
        for rows in ([(1, 1), (4, 4), (9, 9)], [(1, 2), (5, 4), (0, 0)], [(9, 9), (9, 9), (0, 0)])
    )
    met = shares_met(agreed.task, a, b, {})
    assert met is not None
    assert met.sum() == 0.5
    assert shares_met(agreed.task, a, far, {}) is None


# -- keys and caps ------------------------------------------------------------------------------------------

PAIRS, RECORDS, MANY = 1000, 4096, 10**6


def key(name: str, met: Sequence[int] | range, crowded: int = 0, sharers: int = 2, first: int = 0) -> Key:
    """A key that these pairs share, and which this many records share with others."""
    counts = np.ones(RECORDS, np.int64)
    counts[first : first + crowded] = sharers
    of = dict.fromkeys(Side, Sharers(counts, None, 1.0))
    return Key((name,), (), np.isin(np.arange(PAIRS), met), of, reads=frozenset({name}))


ASKED: dict[str, Any] = {"queries": MANY, "sides": tuple(Side), "covered": 0.995, "least": 0.001}
WRONG = [WrongField("name", frozenset({"name"}), np.ones(PAIRS, np.bool_))]


FIRST, SECOND = key("first", range(500), crowded=12), key("second", range(500, 1000), crowded=12)
APART = key("second", range(500, 1000), crowded=12, first=100)
NAME, BIRTH, CROWD = key("name", range(1000)), key("birth", range(990)), key("crowd", range(900), 4096, 16)
FINE = [key(f"fine {n}", range(250 * n, 250 * n + 250)) for n in range(4)]


@pytest.mark.parametrize(
    ("keys", "asked", "chosen"),
    [
        # The least cap that covers enough is taken.
        ([key("one", range(900))], {}, {"one": 1}),
        ([key("one", range(900), 10)], {"least": 0.01}, {"one": 1}),
        ([key("one", range(900), 40)], {"least": 0.01}, {"one": 2}),
        ([key("one", range(900), 40, 9)], {}, {}),
        ([key("one", range(900), 40, 9)], {"covered": 0.9, "least": 0.02}, {"one": 1}),
        # Coverage is that of all passes together: the second crowds the same records, or others.
        ([FIRST, SECOND], {"least": 0.01}, {"first": 1, "second": 1}),
        ([FIRST, APART], {"least": 0.01}, {"first": 1, "second": 2}),
        # A pass earns its least gain times its cap.
        ([BIRTH, key("more", range(990, 993))], {"least": 0.002}, {"birth": 1, "more": 1}),
        ([BIRTH, key("more", range(990, 991))], {"least": 0.002}, {"birth": 1}),
        ([BIRTH, key("more", range(990, 993), 400)], {"least": 0.002}, {"birth": 1}),
        # In small tables sessions cost more than caps.
        ([key("coarse", range(1000), 400, 8), *FINE], {"queries": 500}, {"coarse": 8}),
        # Nothing serves where nothing is shared.
        ([key("none", range(0))], {}, {}),
        # Sides without a promise ask for no coverage.
        ([CROWD], {"sides": ()}, {"crowd": CAPS[-1]}),
        # One key finds all pairs. A second one is taken for those with a wrong name.
        ([NAME, BIRTH], {}, {"name": 1}),
        ([NAME, BIRTH], {"wrong": WRONG}, {"name": 1, "birth": 1}),
    ],
)  # fmt: skip
def test_keys_are_chosen_with_their_caps(
    keys: list[Key], asked: dict[str, Any], chosen: dict[str, int]
) -> None:
    found = choose_keys(keys, **ASKED | asked)
    assert {one.key.fields[0]: one.cap for one in found} == chosen


@given(
    st.lists(st.tuples(st.integers(0, 999), st.integers(1, 400), st.integers(0, 60)), min_size=1, max_size=12)
)
def test_every_set_of_keys_keeps_its_promises(drawn: list[tuple[int, int, int]]) -> None:
    keys = [key(str(n), range(at, at + long), crowded) for n, (at, long, crowded) in enumerate(drawn)]
    found = choose_keys(keys, **ASKED)
    assert found == choose_keys(keys, **ASKED)
    assert 0 < len(found) <= MOST_PASSES
    assert len({one.key.fields for one in found}) == len(found)
    assert all(one.cap in CAPS for one in found)
    seen = np.zeros(RECORDS, np.bool_)
    for one in found:
        seen |= one.key.sharers[Side.A].over(one.cap)
    assert seen.mean() <= 0.005


# -- routing ------------------------------------------------------------------------------------------------


def _in_order(own: Records, ids: pa.ChunkedArray) -> dict[str, Column]:
    rows = np.asarray(pc.index_in(ids, own.ids))
    return {name: rows_of(column, rows) for name, column in own.columns.items()}


@pytest.mark.parametrize("size", [5_000, pytest.param(400_000, marks=SLOW)])
def test_a_routed_plan_keeps_the_coverage_and_the_recall_that_it_expects(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted on generated tables that the plan has not seen: of 5,000 records chance moves the share of
    uncovered ones by about .1 %."""
    monkeypatch.undo()
    monkeypatch.setattr(key_search, "_STARTS", 2)
    choice = make_plan(PEOPLE, PlanQuestion((size, size), Network(100, 20))).choice
    agreed = choice.agreement
    require_sound(agreed)
    assert (choice.protocol, choice.largest_epsilon) == ("routed", 0)
    assert len(agreed.passes) > 3
    names = ([name for part in one.parts for name in part.names] for one in agreed.passes)
    read = [{column for name in some for column in agreed.fields[name].columns(name)} for some in names]
    assert not set.intersection(*read), "no field stands in all keys"
    assert choice.comparisons.expected < size * size / 250
    assert (choice.covered or 0) >= 0.995
    made = people(size, 0.5, 77)
    both = [load_records(table, agreed.fields, agreed.salt) for table in (made.a, made.b)]
    samples = {side: Sample.of(side, own.columns, size, size) for side, own in zip(Side, both, strict=True)}
    assert agreed.protocol.expect_covered(agreed.task, samples) >= 0.995
    left, right = (_in_order(own, made.truth[name]) for own, name in zip(both, ("id_a", "id_b"), strict=True))
    tables, every = Tables(agreed.fields, left, right), np.arange(len(made.truth))
    accepted = every[holds(agreed.rule, tables, every, every)]
    met = agreed.protocol.meets(agreed.task, tables, accepted, samples)
    assert met.sum() / len(accepted) == pytest.approx(choice.recall, abs=0.005)
    assert met.sum() / len(every) >= 0.98


def test_coverage_that_is_asked_for_costs_comparisons() -> None:
    few, many = (
        make_plan(PEOPLE, question(4_000, 4_000, wish=Wanted(covered=covered))).choice
        for covered in (0.9, 0.999)
    )
    assert (few.covered or 1) < 0.999 <= (many.covered or 0)
    assert few.comparisons.expected < many.comparisons.expected


def test_answers_need_no_coverage_and_one_sided_results_that_of_one_side() -> None:
    plain = route(PEOPLE, question(1_500, 1_500))
    assert plain is not None
    samples = make_up_samples(plain, (1_500, 1_500), 1 << 20)
    assert samples is not None
    repeated = {name: rows_of(c, np.arange(1_500) // 8) for name, c in samples[Side.A].tables[0].items()}
    crowded = {**samples, Side.A: Sample.of(Side.A, repeated, 1_500, 1_500)}

    def covered(**output: object) -> float:
        task = replace(plain.task, output=Output.model_validate(output))
        return plain.protocol.expect_covered(task, crowded)

    assert covered(answer="count", epsilon=1) == 1
    assert covered() == covered(to="B") < 0.9 < covered(to="A")


@pytest.mark.parametrize(
    ("rule", "size", "name", "cap"),
    [
        ("same(hour) and euclidean(lat, lon) <= 0.001", 20, None, None),
        ("same(hour) and euclidean(lat, lon) <= 0.001", 60, None, None),
        ("euclidean(lat, lon) <= 0.001 or same(hour)", 300, "near lat and near lon", 8),
    ],
)
def test_a_place_is_a_key_in_cells_of_twice_the_reach(
    rule: str, size: int, name: str | None, cap: int | None
) -> None:
    """Where the rule requires it, it is the only one, with the least cap that covers enough."""
    places = places_agreement().model_copy(update={"rule": parse_rule(rule)})
    routed = route(places, question(size, size))
    assert routed is not None
    reach = Fraction("0.001")
    cells = GridSpec(kind="grid", fields=("lat", "lon"), cell=2 * reach, style="replicate", reach=reach)
    assert routed.passes == (PassSpec(name=name, parts=(cells,), cap=cap),)
    written = tomllib.loads(write_blocking(routed))["blocking"]
    assert Passes.model_validate(written) == routed.blocking
    if cap is None:
        assert routed.protocol.cap == {20: 1, 60: 4}[size]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("most", "level", "name"),
    [
        (15, "x: same", "near x"),
        (50, "y: same", "y and near x"),
        (16_000, "y: within 2", "near x and near y"),
    ],
)
def test_numbers_that_may_lie_apart_are_keys_in_cells(most: int, level: str, name: str) -> None:
    plain = agreement(protocol="all-pairs").model_dump(mode="json")
    for field, high in (("x", 16_000), ("y", most)):
        plain["fields"][field]["max"] = high
    rule = f"score(x: within 3 -> 4, otherwise -> -4; {level} -> 4, otherwise -> -4) >= 8"
    routed = route(Agreement.model_validate(plain | {"rule": rule}), question(300, 300))
    assert routed is not None
    assert [one.name for one in routed.passes] == [name]


def test_a_date_in_its_parts_is_no_second_key() -> None:
    part = {"type": "number", "min": "1", "max": "2029", "step": "1", "from": "birth"}
    parts = {f"birth_{name}": part | {"derive": name} for name in ("day", "month", "year")}
    plain = PEOPLE.model_dump()
    whole = Agreement.model_validate(plain | {"fields": plain["fields"] | parts})
    rest = {name: one for name, one in whole.fields.items() if name != "birth"}
    assert [_makes_whole(whole, names) for names in ((*parts,), ("birth_year", "birth_day"))] == [True, False]
    assert not _makes_whole(whole.model_copy(update={"fields": rest}), (*parts,))


def test_an_answer_has_no_pass_that_adds_more_noise_than_pairs() -> None:
    """In small tables a pass for the last few pairs would drown them all."""
    asked = question(1_000, 1_000)
    plain, counted = (route(one, asked) for one in (PEOPLE, PEOPLE.model_copy(update={"output": COUNT})))
    assert plain is not None
    assert counted is not None
    alike = plain.model_copy(update={"output": COUNT})
    widths = [one.protocol.widths(one.task)[0] for one in (counted, alike)]
    assert widths[0] < widths[1] / 2
    assert len(counted.passes) < len(plain.passes)
    shown_to_nobody = {"disclose": DisclosedColumns(), "most_matches": None}
    found = make_plan(counted.model_copy(update=shown_to_nobody), asked)
    assert {one.protocol for one in found.options} == {"routed"}
    assert str(found.choice.widths[0]) in found.why
    assert found.to_json()["choice"]["within"] == [*found.choice.widths] == widths[:1]


def test_an_exact_answer_of_all_pairs_is_priced_without_greedy() -> None:
    """Nothing is disclosed on the way, so nothing is spared."""
    exact = {"output": {"answer": "count", "exact": True}, "disclose": {"A": [], "B": []}}
    agreed = Agreement.model_validate(agreement(protocol="all-pairs").model_dump(mode="json") | exact)
    options = price_agreed(agreed, question(60, 50)).options
    every = [(one.greedy, one.comparisons.expected) for one in options if one.protocol == "all-pairs"]
    assert every == [(False, 60 * 50)]


def test_a_plan_expects_of_a_cascade_what_a_run_makes() -> None:
    asked = question(1_500, 1_500, overlap=0.5)
    routed = route(PEOPLE, asked)
    assert routed is not None
    cascading = routed.model_copy(update={"one_to_one": "pairs"})
    whole, some = (price_agreed(one, asked).agreed for one in (routed, cascading))
    for figure in ("comparisons", "bytes", "memory", "seconds"):
        every, left = getattr(whole, figure), getattr(some, figure)
        assert left.low <= left.expected <= left.high, figure
        assert left.expected <= every.expected, figure
        assert left.high == pytest.approx(every.high, rel=0.01), figure
    assert some.recall == whole.recall
    made = people(1_500, 0.5, 77)
    run = simulate(made.a, made.b, cascading, seed=1).runs[0]
    assert run.comparisons == pytest.approx(some.comparisons.expected, rel=0.05)
    assert run.comparisons < 0.8 * whole.comparisons.expected
    none = price_agreed(cascading, question(1_500, 1_500, overlap=0)).agreed.comparisons
    assert none.expected == none.high == pytest.approx(whole.comparisons.expected, rel=0.01)
