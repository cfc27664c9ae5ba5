"""Drafts: sound, fit for their mix of columns, what a plan chooses, and a function of answers alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accord
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.people import whole_names
from accord.datasets.starter import starter, starter_text
from accord.drafting import passes
from accord.drafting.answers import RANGED, in_order, name_fields
from accord.drafting.draft import MadeDraft, make_draft, require_sound
from accord.drafting.how import fit_template, settle_draft, write_expected
from accord.drafting.kinds import LOCAL, PARTS, SEVERAL, ColumnKind, Confirmed
from accord.drafting.made_up import RECORDS, make_up
from accord.drafting.passes import keys_to_try
from accord.drafting.reached import leave_out_unreached
from accord.errors import AgreementError
from accord.learning.drafts import score_of
from accord.planning import plan as planning
from accord.planning.plan import PlanQuestion, agreed_network, make_plan, price_agreed
from accord.rules.implied import enough_alone, reached_by, weights
from accord.rules.rule import Missing, Predicate, Score, fields_of
from accord.simulation.pair import simulate
from tests.drafting.name_pairs import separation
from tests.prepared import SALT, answers, draft, once, products, search_briefly
from tests.prepared import people as generate
from tests.protocols.worlds import agreement

SLOW = pytest.mark.slow
KINDS = [kind for kind in ColumnKind if kind not in LOCAL | PARTS]
RANGES = {"latitude": ("40.5", "41"), "longitude": ("-74.5", "-73.5")}
PEOPLE = "given middle surname sex birth postcode phone"
NAMES = ["given", "surname"]


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Slow tests search as long as users do."""
    if request.node.get_closest_marker("slow") is None:
        search_briefly(monkeypatch)


def drafted(typed: str, records: tuple[int, int], **others: Any) -> Agreement:
    return draft(typed, records, **others).agreement


@once
def compared_all(typed: str, records: tuple[int, int], **others: Any) -> MadeDraft:
    """The draft without keys: its fields and its rule."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accord.drafting.draft.choose_passes", lambda answers, draft: passes.Passes(()))
        return make_draft(answers(typed, records, **others), SALT)


def ruled(typed: str, records: tuple[int, int], **others: Any) -> Agreement:
    return compared_all(typed, records, **others).agreement


# -- how records are compared -------------------------------------------------------------------------------


def test_small_tables_of_people_are_compared_all_with_all() -> None:
    """The example of a newcomer: a key on the date of birth took 59 million comparisons for these. The draft
    does not follow from its salt, by which tests share drafts, too."""
    made, salt = draft("given surname birth", (199, 220), overlap=0.3), "fedcba9876543210"
    agreed = made.agreement
    assert (agreed.protocol.name, agreed.passes, agreed.one_to_one) == ("all-pairs", (), False)
    assert agreed.expected is not None
    assert agreed.expected.sizes == (199, 220)
    assert (made.met, made.more) == (1.0, None)
    require_chosen(agreed)
    other = make_draft(answers("given surname birth", (199, 220), overlap=0.3), salt)
    assert other.text == made.text.replace(SALT, salt)
    assert (other.met, other.covered, other.rule) == (made.met, made.covered, made.rule)


@pytest.mark.parametrize(
    ("overlap", "most"),
    [(None, None), (0.3, {"A": "60%", "B": "45%"}), (0.02, {"A": 12, "B": 12}), (0.7, None)],
)
def test_twice_what_is_expected_may_be_shown(overlap: float | None, most: dict[str, object] | None) -> None:
    agreed = drafted("price", (300, 400), overlap=overlap)
    assert agreed.model_dump(mode="json").get("most_matches") == most


@pytest.mark.parametrize("typed", ["given surname birth", pytest.param("latitude longitude", marks=SLOW)])
def test_a_count_is_routed_however_small_the_tables(typed: str) -> None:
    agreed = drafted(typed, (199, 220), count_epsilon="0.5", overlap=0.3)
    assert (agreed.output.answer, agreed.output.epsilon) == ("count", Fraction(1, 2))
    assert (agreed.protocol.name, agreed.one_to_one) == ("routed", False)
    assert (agreed.most_matches, agreed.disclose.A) == (None, ())


@pytest.mark.parametrize(
    ("typed", "others", "expected"),
    [
        ("surname birth phone", {}, "pairs"),
        ("surname birth phone", {"disclose": ("surname", "birth", "phone")}, "score"),
        ("surname birth phone", {"copies": (1, 2)}, False),
        pytest.param("text category:brand price", {}, False, marks=SLOW),
    ],
)
def test_people_who_are_in_a_table_once_are_in_one_pair(
    typed: str, others: dict[str, object], expected: object
) -> None:
    found = drafted(typed, (20_000, 20_000), **others)
    assert (found.protocol.name, found.one_to_one) == ("routed", expected)
    assert found.protocol.cascades(found.task) == bool(expected)
    if not others:
        require_chosen(found)


def test_without_a_key_all_pairs_are_compared_and_nothing_is_counted() -> None:
    agreed = drafted("price", (50_000, 50_000))
    assert (agreed.protocol.name, agreed.passes) == ("all-pairs", ())
    with pytest.raises(AgreementError) as raised:
        drafted("sex", (300, 400), count_epsilon="1")
    assert ["--answer" in fault.place for fault in raised.value.faults] == [True]


def test_keys_that_many_share_are_listed_in_buckets_for_the_sizes() -> None:
    found = drafted("birth_year", (50_000, 20_000))
    assert found.protocol.name == "laplace"
    assert 1 <= len(found.passes) <= 3
    buckets = [getattr(one.parts[0], "buckets", None) or 0 for one in found.passes]
    # There are no more buckets than years.
    assert buckets == [100]


def test_keys_are_tried_alone_and_together_but_none_with_itself() -> None:
    people, things = (
        keys_to_try(answers(typed, (100, 100))) for typed in ("given surname birth phone", "text:title year")
    )
    assert {*people} >= {("phone_key",), ("given_sound", "surname_sound"), ("birth_year", "birth_day")}
    assert all(len(set(keys)) == len(keys) for keys in people)
    assert ("title_start", "title_end") not in things


def test_of_one_pass_the_draft_says_what_a_second_would_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "_MOST_PASSES", 1)
    monkeypatch.setattr(passes, "_ENOUGH", 1.1)
    monkeypatch.setattr(planning._Planner, "_routed", lambda planner: None)
    found = make_draft(answers("phone email street", (20_000, 20_000)), SALT)
    assert len(found.agreement.passes) == 1
    assert found.more is not None
    assert 0 < found.met < 1
    assert found.more.met > found.met
    assert found.more.times > 1


@pytest.mark.parametrize(("keys", "kept"), [("x", ["same"]), ("x y", ["same", "within(x, 3)"])])
def test_levels_that_no_compared_pair_reaches_are_left_out(keys: str, kept: list[str]) -> None:
    rule = "score(x: same -> 6, within 3 -> 4; y: same -> 5) >= 8"
    one_pass = [{"parts": [{"kind": "key", "field": name}]} for name in keys.split()]
    agreed = agreement(blocking={"pass": one_pass}, rule=rule, missing="differs")
    levels = str(leave_out_unreached(agreed)).partition(";")[0]
    assert [level for level in ("same", "within(x, 3)") if level in levels] == kept


# -- what a plan chooses ------------------------------------------------------------------------------------

SIZES = (30_000, 300_000, 1_000_000, 10_000_000)


def require_chosen(agreed: Agreement) -> None:
    """A plan for the expected sizes finds nothing that is quicker by a tenth: keys are searched from anew."""
    assert agreed.expected is not None
    found = make_plan(agreed, PlanQuestion(agreed.expected.sizes, agreed_network(agreed)))
    (own,) = (option for option in found.options if option.agreed)
    assert found.choice.seconds.expected > 0.9 * own.seconds.expected, found.why


@pytest.mark.parametrize("size", [100, 3000, *(pytest.param(size, marks=SLOW) for size in SIZES)])
@pytest.mark.parametrize("kind", ["people", pytest.param("products", marks=SLOW)])
def test_a_template_is_what_a_plan_chooses(kind: str, size: int) -> None:
    agreed = parse_agreement(fit_template(kind, "00000000", (size, size)), kind)
    require_chosen(agreed)
    assert agreed.expected is not None
    assert agreed.expected.sizes == (size, size)
    assert bool(agreed.passes) == (size > (1_000 if kind == "people" else 10_000))


@pytest.mark.parametrize(
    ("typed", "records"),
    [
        *(pytest.param("given surname birth sex postcode", (n, n), marks=SLOW) for n in (100, 3000, *SIZES)),
        *(pytest.param("text category price", (n, n), marks=SLOW) for n in (100, 3000, *SIZES)),
        *(pytest.param("text latitude longitude", (n, n), marks=SLOW) for n in (100, 3000, *SIZES)),
    ],
)
def test_a_draft_is_what_a_plan_chooses(typed: str, records: tuple[int, int]) -> None:
    require_chosen(drafted(typed, records))


@pytest.mark.parametrize("size", [500, *(pytest.param(size, marks=SLOW) for size in (1_000, 6_000))])
def test_what_a_plan_expects_of_products_comes_true(size: int) -> None:
    """The template has the days of the tables that are generated for it; with the whole month the range of
    the plan holds what a table of few days makes."""
    plain, made = starter("products"), products(size)
    fitted = parse_agreement(fit_template("products", "00000000", (size, size)), "products")
    for agreed, most in ((plain.model_copy(update={"fields": fitted.fields}), 2.0), (plain, inf)):
        asked = PlanQuestion((size, size), agreed_network(agreed))
        expected = price_agreed(agreed, asked).agreed.comparisons
        run = simulate(made.a, made.b, agreed, engine="ideal", seed=1)
        assert expected.low <= run.comparisons <= expected.high
        assert 1 / most < run.comparisons / expected.expected < most


@SLOW
def test_a_time_limit_that_no_method_meets_is_ignored() -> None:
    text = starter_text("products", "00000000")
    small = parse_agreement(text.replace("[fields.", write_expected((2000, 2000)) + "[fields.", 1))
    assert settle_draft(small, None, 30.0)[1] is False
    settled, too_slow = settle_draft(small, None, 0.5)
    assert too_slow
    assert not settled.choice.agreement.passes


# -- rules and fields ---------------------------------------------------------------------------------------


def sound(typed: list[ColumnKind]) -> str:
    """Types that may stand together."""
    once = [k for i, k in enumerate(typed) if k in SEVERAL or k not in typed[:i]]
    if ("latitude" in once) != ("longitude" in once):
        once = [k for k in once if k not in ("latitude", "longitude")]
    if "birth" in once:
        once = [k for k in once if k != "birth_year"]
    return " ".join(once) or "text"


@settings(max_examples=2)
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    st.sampled_from([(1, 1), (300, 50)]),
)
def test_every_mix_has_a_sound_draft(typed: list[ColumnKind], records: tuple[int, int]) -> None:
    assert drafted(sound(typed), records).fields  # raises if it is not sound


@SLOW
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=12),
    st.sampled_from([(1, 1), (4_000, 9_000), (10**6, 10**6)]),
)
@settings(max_examples=40)
def test_every_long_mix_has_a_sound_draft(typed: list[ColumnKind], records: tuple[int, int]) -> None:
    assert drafted(sound(typed), records).fields


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_alone_is_judged_before_anything_is_learnt(kind: ColumnKind) -> None:
    asked = answers("latitude longitude" if "tude" in kind else kind, (50, 50))
    require_sound(asked)
    if kind in RANGED:
        with pytest.raises(AgreementError) as raised:
            require_sound(replace(asked, ranges={kind: RANGED[kind][::-1]}))
        assert f"fields.{kind}" in raised.value.faults[0].place


@pytest.mark.parametrize(
    ("typed", "records"),
    [
        ("latitude longitude", 600),
        ("year text:title text:author number yesno", 50),
        pytest.param("text:title category:brand date price", 30_000, marks=SLOW),
        pytest.param("latitude longitude", 30_000, marks=SLOW),
        pytest.param("street city postcode", 30_000, marks=SLOW),
    ],
)
def test_things_and_places_have_a_score(typed: str, records: int) -> None:
    make = compared_all if records == 50 else draft
    found = make(typed, (records, records), ranges=RANGES if "lat" in typed else {})
    assert isinstance(found.agreement.rule, Score)
    assert found.rule.recall > 0.5
    assert (found.agreement.protocol.name in ("laplace", "routed")) == (records > 600)


def test_numbers_in_names_and_shares_of_amounts_may_be_missing() -> None:
    found = ruled("company price", (50, 50), missing_values={"company": ("n/a",), "price": ("0",)})
    assert {*fields_of(found.rule)} >= {"company", "company_digits", "price", "price_log"}
    assert all(found.fields[name].missing == "differs" for name in ("company_digits", "price_log"))


def test_answers_come_into_the_draft() -> None:
    agreed = ruled(
        "given surname birth sex category:ward text",
        (100, 200),
        parties=("city clinic", "lake clinic"),
        disclose=("given", "ward"),
        values={"sex": ("m", "w", "d"), "ward": ("a", "b")},
        ranges={"birth": ("1890-01-01", "2026-12-31")},
        missing={"birth": "skip"},
        missing_values={"birth": ("unknown", "1900-01-01")},
    )
    fields = agreed.model_dump(mode="json")["fields"]
    assert agreed.parties.A == "city clinic"
    assert agreed.disclose.A == agreed.disclose.B == ("given", "ward")
    assert fields["ward"]["values"] == ["a", "b"]
    assert (fields["birth"]["min"], fields["birth_year"]["min"]) == ("1890-01-01", "1890")
    assert fields["birth"]["missing"] == fields["birth_day"]["missing"] == "skip"
    assert fields["birth_year"]["missing_values"] == ["unknown", "1900-01-01"]
    parts = ("missing(birth)", "same(ward)", "dice(text)")
    assert [part in str(agreed.rule) for part in parts] == [False, True, True]


def test_the_text_says_whether_its_owner_was_asked() -> None:
    asked, guessed = (compared_all("text", (10, 10), **said) for said in ({}, {"as_guessed": True}))
    assert asked.agreement == guessed.agreement
    assert asked.text != guessed.text
    assert max(map(len, (asked.text + guessed.text).splitlines())) <= 110


@pytest.mark.parametrize("typed", ["surname city", pytest.param("name sex", marks=SLOW)])
def test_fields_that_no_record_lacks_have_no_missing_level(typed: str) -> None:
    found = ruled(typed, (50, 50), missing=dict.fromkeys(typed.split(), "skip"))
    assert "missing(" not in str(found.rule)


def test_a_draft_has_no_field_that_is_not_used() -> None:
    for agreed, shown in (
        (drafted("surname birth phone", (20_000, 20_000)), set[str]()),
        (ruled("company price", (50, 50), disclose=("price",)), {"price"}),
    ):
        used = {*fields_of(agreed.rule), *agreed.blocking_fields} | shown
        columns = {column for name in used for column in agreed.fields[name].columns(name)}
        assert used <= set(agreed.fields) <= used | columns


@pytest.mark.parametrize(
    "typed",
    [
        PEOPLE,
        pytest.param("text street city latitude longitude", marks=SLOW),
        pytest.param("identifier category:brand price date", marks=SLOW),
    ],
)
def test_a_missing_value_weighs_nothing(typed: str) -> None:
    found = ruled(typed, (300, 300), ranges=RANGES if "lat" in typed else {})

    def nothing_there(predicate: Predicate) -> tuple[bool, bool]:
        return isinstance(predicate, Missing), not isinstance(predicate, Missing)

    comparisons = score_of(found.rule).comparisons
    assert {tuple(weights(each, nothing_there)) for each in comparisons} == {(0,)}


def test_names_that_agree_gain_nothing_crosswise() -> None:
    """Anders Andersson has a given name that is like his surname."""
    agreed = ruled("given surname birth", (199, 220))

    def matches(*sides: list[str]) -> list[tuple[str, str]]:
        rows = [
            [dict(zip(("id", *NAMES, "birth"), one.split(), strict=True)) for one in side] for side in sides
        ]
        a, b = map(pa.Table.from_pylist, rows)
        found = accord.simulate(a, b, agreed, seed=1).found.ids()
        return sorted(zip(*found.to_pydict().values(), strict=True))

    names = ["1 Anders Andersson 1950-01-31", "2 Anders Andersson 1987-11-05"]
    assert matches(names, names) == [("1", "1"), ("2", "2")]
    assert len(matches(["3 Andersson Gustav 1950-01-31"], ["3 Gustav Andersson 1950-01-31"])) == 1


@pytest.mark.parametrize("typed", [PEOPLE, pytest.param("name street city", marks=SLOW)])
def test_names_alone_are_no_match(typed: str) -> None:
    agreed, people = ruled(typed, (300, 300)), generate(200).a
    people = people.append_column("name", whole_names(people))
    names = {*NAMES, "middle", "name"} & {*agreed.fields}
    bare = people
    for name in {*agreed.fields} & {*people.column_names} - names:
        bare = bare.set_column(bare.column_names.index(name), name, pa.nulls(len(bare), pa.string()))
    assert len(accord.simulate(people, bare, agreed, seed=1).found.ids()) == 0
    assert reached_by(agreed.rule, names, agreed.fields) is None


def test_names_are_a_match_where_there_is_nothing_else() -> None:
    agreed = ruled("given surname", (400, 400))
    assert reached_by(agreed.rule, {*NAMES}, agreed.fields) is not None


@pytest.mark.parametrize(
    "declared", ["few", *(pytest.param(c, marks=SLOW) for c in ("hundreds", "thousands"))]
)
def test_a_field_of_few_values_is_no_match_alone(declared: str) -> None:
    agreed = ruled("text:title text:kind year", (400, 400), cardinality={"kind": declared})
    assert not {"kind", "year"} & {*enough_alone(agreed.rule, agreed.fields)}


@pytest.mark.parametrize(
    "limits", [("2025-01-01", "2025-12-31"), pytest.param(("1990-01-01", "2030-12-31"), marks=SLOW)]
)
def test_weights_of_days_do_not_depend_on_the_agreed_range(limits: tuple[str, str]) -> None:
    narrow = ruled("date price", (400, 400), ranges={"date": limits})
    assert narrow.rule == ruled("date price", (400, 400)).rule
    assert "date" in fields_of(narrow.rule)


def test_levels_tell_names_apart_better_than_edit_distance() -> None:
    """That of whole names tells 66 % of these organisations from others."""
    company, person = (ruled(typed, (200, 200)) for typed in ("company", "given middle surname"))
    assert separation("organisations", company) >= 0.93
    assert separation("persons", person) >= 0.95


# -- synthetic records of a draft ---------------------------------------------------------------------------

MAP = (("40", "42"), ("-75", "-73"))


def fields(*kinds: ColumnKind) -> tuple[Confirmed, ...]:
    return in_order(name_fields([Confirmed(kind) for kind in kinds]))


@pytest.mark.parametrize("kind", KINDS)
def test_cells_of_true_pairs_agree_more_often_than_by_chance(kind: ColumnKind) -> None:
    made, piece = make_up(fields(kind), MAP), {"sex": slice(0, 1), "phone": slice(-4, None)}
    sides = []
    for name, table in (("id_a", made.a), ("id_b", made.b)):
        rows = pc.index_in(made.truth[name], value_set=table["id"].combine_chunks())
        cells = table[kind].take(rows).fill_null("").to_pylist()
        sides.append([cell.lower()[piece.get(kind, slice(0, 4))] for cell in cells])
    same, by_chance = (
        sum(x == y != "" for x, y in zip(sides[0], others, strict=False))
        for others in (sides[1], sides[1][1:])
    )
    assert same > by_chance


def test_some_records_have_a_name_and_little_else() -> None:
    asked = fields(ColumnKind.NAME, ColumnKind.BIRTH_YEAR, ColumnKind.YEAR, ColumnKind.TEXT)
    made = make_up(asked, MAP)
    assert make_up.__wrapped__(asked, MAP).a.equals(made.a), "the same every time"
    assert RECORDS > 1_000
    lacks = made.a["text"].is_null().to_numpy()
    assert 0.05 < lacks.mean() < 0.4
    assert not (lacks & made.a["name"].is_null().to_numpy()).mean() > 0.05


def test_hundreds_of_days_lie_near_each_other() -> None:
    made = make_up(fields(ColumnKind.DATE), MAP, (("date", "hundreds"),))
    days = np.array(made.a["date"].drop_null().to_pylist(), "datetime64[D]")
    assert 80 < len(np.unique(days)) <= (days.max() - days.min()).astype(int) < 150


@pytest.mark.parametrize("who", [ColumnKind.SURNAME, ColumnKind.COMPANY])
def test_towns_lie_in_regions_and_postcodes_in_towns(who: ColumnKind) -> None:
    asked = (*fields(who, ColumnKind.CITY, ColumnKind.POSTCODE), Confirmed(ColumnKind.CATEGORY, "region"))
    classes = (("city", "hundreds"), ("postcode", "hundreds"), ("region", "few"))
    table = make_up(in_order(asked), MAP, classes).a.drop_null()
    for inner, outer in (("city", "region"), ("postcode", "city")):
        together = table.group_by([inner, outer]).aggregate([([], "count_all")])
        most = together.group_by(inner).aggregate([("count_all", "max"), ("count_all", "sum")])
        often = most.filter(pc.greater(most["count_all_sum"], 2))
        assert pc.sum(often["count_all_max"]).as_py() > 0.8 * pc.sum(often["count_all_sum"]).as_py()
