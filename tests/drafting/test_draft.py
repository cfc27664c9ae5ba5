"""Drafts: always sound, fit for their mix, and a function of answers alone."""

from __future__ import annotations

import re
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import accord
from accord.datasets.people import generate_people
from accord.drafting.answers import RANGED, Answers, in_order, name_fields
from accord.drafting.draft import MadeDraft, make_draft, require_sound
from accord.drafting.kinds import LOCAL, PARTS, SEVERAL, ColumnKind, read_kind
from accord.errors import AgreementError
from accord.learning.drafts import score_of
from accord.rules.implied import enough_alone, reached_by, weights
from accord.rules.rule import Missing, Predicate, Score, fields_of
from accord.simulation.truth import score

SALT = "0123456789abcdef"


def draft(typed: str, records: tuple[int, int], **others: object) -> MadeDraft:
    named = in_order(name_fields([read_kind(one) for one in typed.split()]))
    return make_draft(Answers(named, records, **others), SALT)  # type: ignore[arg-type]


def test_small_tables_of_people_are_compared_all_with_all() -> None:
    """The example of a newcomer: a key on the date of birth took 59 million comparisons for these."""
    found = draft("given surname birth", (199, 220)).agreement
    assert found.protocol.name == "all-pairs"
    assert found.passes == ()
    assert not found.one_to_one
    assert found.expected is not None
    assert (found.expected.A, found.expected.B) == (199, 220)


def test_no_epsilon_is_spent_to_save_seconds() -> None:
    """All pairs of these take four seconds on a slow machine, and a blocking would halve that."""
    found = draft("text category:brand price", (300, 400)).agreement
    assert (found.protocol.name, found.passes) == ("all-pairs", ())


@pytest.mark.parametrize(
    ("overlap", "most"), [(None, None), (0.3, ("60%", "45%")), (0.02, (12, 12)), (0.7, None)]
)
def test_twice_what_is_expected_may_be_shown(
    overlap: float | None, most: tuple[object, object] | None
) -> None:
    found = draft("text category:brand price", (300, 400), overlap=overlap).agreement
    assert (found.most_matches is None) == (most is None)
    if most is not None:
        assert found.model_dump(mode="json")["most_matches"] == dict(zip("AB", most, strict=True))


@pytest.mark.parametrize(
    "typed", ["given surname birth", pytest.param("latitude longitude", marks=pytest.mark.slow)]
)
def test_a_count_is_routed_however_small_the_tables(typed: str) -> None:
    found = draft(typed, (199, 220), count_epsilon="0.5", overlap=0.3).agreement
    assert found.protocol.name == "routed"
    assert (found.output.answer, found.output.epsilon) == ("count", Fraction(1, 2))
    assert found.most_matches is None
    assert not found.disclose.A


@pytest.mark.parametrize(
    ("typed", "others", "expected"),
    [
        ("surname birth phone", {}, "pairs"),
        ("surname birth phone", {"disclose": ("surname", "birth", "phone")}, "score"),
        ("surname birth phone", {"copies": (1, 2)}, False),
        ("surname birth phone", {"count_epsilon": "1"}, False),
        ("text category:brand price", {}, False),
    ],
)
def test_people_who_are_in_a_table_once_are_in_one_pair(
    typed: str, others: dict[str, object], expected: object
) -> None:
    found = draft(typed, (20_000, 20_000), **others).agreement
    assert found.protocol.name == "routed"
    assert found.one_to_one == expected
    assert found.protocol.cascades(found.task) == bool(expected)


def test_a_count_needs_a_key() -> None:
    with pytest.raises(AgreementError, match="none of the fields can serve as one"):
        draft("sex", (300, 400), count_epsilon="1")


@pytest.mark.parametrize("bad", [{"overlap": 0.0}, {"overlap": 1.1}, {"max_time": 0.0}, {"max_time": -1.0}])
def test_odd_answers_are_faults(bad: dict[str, float]) -> None:
    with pytest.raises(AgreementError, match="accord init --"):
        draft("text price", (300, 400), **bad)


@pytest.mark.slow
def test_large_tables_have_passes_with_buckets_for_their_sizes() -> None:
    from accord.agreement.by_pass import best_buckets

    # Keys that few share would be routed.
    found = draft("surname birth_year", (50_000, 20_000)).agreement
    assert found.protocol.name == "laplace"
    assert 1 <= len(found.passes) <= 3
    buckets = [getattr(one.parts[0], "buckets", None) for one in found.passes]
    assert buckets == best_buckets(found, (50_000, 20_000))
    assert min(b for b in buckets if b) > 100


@pytest.mark.parametrize("typed", ["birth", "given surname identifier", "text price"])
def test_a_draft_is_judged_before_anything_is_learnt(typed: str) -> None:
    named = in_order(name_fields([read_kind(one) for one in typed.split()]))
    require_sound(Answers(named, (10, 10)))
    if one := next((one for one in named if one.kind in RANGED), None):
        with pytest.raises(AgreementError, match="max must not be be"):
            require_sound(Answers(named, (10, 10), ranges={one.name: RANGED[one.kind][::-1]}))


@pytest.mark.parametrize("learnt_from", ["few", pytest.param("as many as usual", marks=pytest.mark.slow)])
def test_people_are_found(learnt_from: str, request: pytest.FixtureRequest) -> None:
    """Made-up people that no weight was learnt from: another seed."""
    if learnt_from != "few":
        request.getfixturevalue("as_many_as_usual")
    made = generate_people(300, None, 5)
    agreed = draft("given middle surname sex birth postcode phone", (300, 300)).agreement
    found = accord.simulate(made.a, made.b, agreed, seed=1)
    names = pa.schema([(name, pa.large_string()) for name in ("id_a", "id_b")])
    scores = score(found.found.ids(), made.truth.select(["id_a", "id_b"]).cast(names))
    assert scores.truth_recall >= (0.9 if learnt_from == "few" else 0.95)
    assert scores.truth_precision >= 0.95


@pytest.mark.slow
def test_whole_names_of_people_are_found_by_passes() -> None:
    made = generate_people(600, None, 6)
    whole = {}
    for side, table in (("a", made.a), ("b", made.b)):
        pairs = zip(table["given"].to_pylist(), table["surname"].to_pylist(), strict=True)
        whole[side] = table.append_column("name", pa.array([" ".join(filter(None, pair)) for pair in pairs]))
    agreed = draft("name birth postcode phone", (20_000, 20_000)).agreement
    assert len(agreed.passes) >= 2
    found = accord.simulate(whole["a"], whole["b"], agreed, seed=1)
    names = pa.schema([(name, pa.large_string()) for name in ("id_a", "id_b")])
    scores = score(found.found.ids(), made.truth.select(["id_a", "id_b"]).cast(names))
    assert scores.truth_recall >= 0.7
    assert scores.truth_precision >= 0.95


@pytest.mark.parametrize(
    "typed",
    [
        "text:title category:brand date price",
        "identifier text",
        "latitude longitude",
        "street city postcode",
        "year text:title text:author number yesno",
    ],
)
@pytest.mark.parametrize("records", [50, pytest.param(30_000, marks=pytest.mark.slow)])
def test_things_and_places_have_a_score(typed: str, records: int) -> None:
    found = draft(typed, (records, records), ranges=RANGES if "lat" in typed else {})
    assert isinstance(found.agreement.rule, Score)
    assert found.rule.recall > 0.5
    assert (found.agreement.protocol.name in ("laplace", "routed")) == (records > 50)


def test_numbers_in_names_and_shares_of_amounts_may_be_missing() -> None:
    found = draft("company price", (50, 50), missing_values={"company": ("n/a",), "price": ("0",)}).agreement
    assert {*fields_of(found.rule)} >= {"company", "company_digits", "price", "price_log"}
    assert all(found.fields[name].missing == "differs" for name in ("company_digits", "price_log"))


RANGES = {"latitude": ("40.5", "41"), "longitude": ("-74.5", "-73.5")}


def test_what_has_no_key_is_compared_all_with_all_and_the_draft_says_why() -> None:
    found = draft("price", (50_000, 50_000))
    assert found.agreement.protocol.name == "all-pairs"
    assert "None of the fields can serve as a key" in found.text


def test_answers_come_into_the_draft() -> None:
    found = draft(
        "given surname birth sex category:ward text",
        (100, 200),
        parties=("city clinic", "lake clinic"),
        disclose=("given", "ward"),
        values={"sex": ("m", "w", "d"), "ward": ("a", "b")},
        ranges={"birth": ("1890-01-01", "2026-12-31")},
        missing={"birth": "skip"},
        missing_values={"birth": ("unknown", "1900-01-01")},
    )
    agreed = found.agreement
    fields = agreed.model_dump(mode="json")["fields"]
    assert agreed.parties.A == "city clinic"
    assert agreed.disclose.A == agreed.disclose.B == ("given", "ward")
    assert fields["ward"]["values"] == ["a", "b"]
    assert fields["birth"]["min"] == "1890-01-01"
    assert fields["birth_year"]["min"] == "1890"
    assert fields["birth"]["missing"] == fields["birth_day"]["missing"] == "skip"
    assert fields["birth_year"]["missing_values"] == ["unknown", "1900-01-01"]
    assert "missing(birth)" not in str(agreed.rule)
    assert "same(ward)" in str(agreed.rule)
    assert "dice(text)" in str(agreed.rule)


@pytest.mark.slow
def test_a_number_that_both_know_weighs_in_a_score() -> None:
    found = draft("identifier:insurance surname birth", (40_000, 40_000))
    assert "dice(insurance) >= 1" in str(found.agreement.rule)
    assert found.met > 0.9
    assert ("insurance_key",) in [one.parts[0].names for one in found.agreement.passes]


def test_where_all_pairs_are_compared_all_meet() -> None:
    found = draft("given surname birth postcode phone", (100, 100))
    assert (found.met, found.more) == (1.0, None)


def test_the_head_says_what_the_draft_follows_from() -> None:
    text = draft("text", (10, 10)).text
    head = " ".join(text.replace("#", " ").split())
    assert "from nothing else in the table: no cell, no count and no name of a column is in it" in head
    guessed = draft("text", (10, 10), as_guessed=True).text
    assert "a single row can decide it" in " ".join(guessed.replace("#", " ").split())
    for one in (text, guessed):
        assert len(max(one.splitlines(), key=len)) <= 110


KINDS = [kind for kind in ColumnKind if kind not in LOCAL | PARTS]


def sound(typed: list[ColumnKind]) -> str:
    """Types that may stand together."""
    once = [k for i, k in enumerate(typed) if k in SEVERAL or k not in typed[:i]]
    if ("latitude" in once) != ("longitude" in once):
        once = [k for k in once if k not in ("latitude", "longitude")]
    if "birth" in once:
        once = [k for k in once if k != "birth_year"]
    return " ".join(once) or "text"


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    st.sampled_from([(1, 1), (300, 50), (4_000, 9_000)]),
)
def test_every_mix_has_a_sound_draft(typed: list[ColumnKind], records: tuple[int, int]) -> None:
    found = draft(sound(typed), records)  # raises if it is not sound
    assert re.search(r"^\[protocol\]$", found.text, re.M)


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=12),
    st.sampled_from([(1, 1), (300, 50), (4_000, 9_000), (10**6, 10**6)]),
)
@settings(max_examples=40, deadline=None)
def test_every_long_mix_has_a_sound_draft(typed: list[ColumnKind], records: tuple[int, int]) -> None:
    assert draft(sound(typed), records).agreement.fields


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_alone_is_sketched(kind: ColumnKind) -> None:
    typed = "latitude longitude" if "tude" in kind else kind
    require_sound(Answers(in_order(name_fields([read_kind(one) for one in typed.split()])), (50, 50)))


@pytest.mark.parametrize("typed", ["surname city", pytest.param("name sex", marks=pytest.mark.slow)])
def test_fields_that_no_record_lacks(typed: str) -> None:
    found = draft(typed, (50, 50), missing=dict.fromkeys(typed.split(), "skip")).agreement
    assert "missing(" not in str(found.rule)


def test_a_draft_has_no_field_that_is_not_used() -> None:
    agreed = draft(
        "given surname birth sex city postcode phone email", (5_000, 5_000), disclose=("sex",)
    ).agreement
    used = {*fields_of(agreed.rule), *agreed.blocking_fields, "sex"}
    columns = {column for name in used for column in agreed.fields[name].columns(name)}
    assert set(agreed.fields) <= used | columns
    assert used <= set(agreed.fields)


@pytest.mark.parametrize(
    "typed",
    [
        "given surname birth sex phone",
        pytest.param("text street city latitude longitude", marks=pytest.mark.slow),
        pytest.param("identifier category:brand price date", marks=pytest.mark.slow),
    ],
)
def test_a_missing_value_weighs_nothing(typed: str) -> None:
    found = draft(typed, (400, 400), ranges=RANGES if "lat" in typed else {}).agreement

    def nothing_there(predicate: Predicate) -> tuple[bool, bool]:
        return isinstance(predicate, Missing), not isinstance(predicate, Missing)

    assert {*map(tuple, (weights(each, nothing_there) for each in score_of(found.rule).comparisons))} == {
        (0,)
    }


def test_names_that_agree_gain_nothing_crosswise() -> None:
    """Anders Andersson has a given name that is like his surname."""
    agreed = draft("given surname birth", (400, 400)).agreement
    names = {
        "id": ["1", "2"], "given": ["Anders", "Anders"], "surname": ["Andersson", "Andersson"],
        "birth": ["1950-01-31", "1987-11-05"],
    }  # fmt: skip
    swapped = {"id": ["3"], "given": ["Andersson"], "surname": ["Gustav"], "birth": ["1950-01-31"]}
    straight = {"id": ["3"], "given": ["Gustav"], "surname": ["Andersson"], "birth": ["1950-01-31"]}
    same = accord.simulate(pa.table(names), pa.table(names), agreed, seed=1).found.ids()
    assert sorted(zip(*same.to_pydict().values(), strict=True)) == [("1", "1"), ("2", "2")]
    assert len(accord.simulate(pa.table(swapped), pa.table(straight), agreed, seed=1).found.ids()) == 1


@pytest.mark.parametrize(
    "typed",
    [
        "given surname birth sex",
        pytest.param("name street city", marks=pytest.mark.slow),
        pytest.param("given middle surname sex birth postcode phone email", marks=pytest.mark.slow),
    ],
)
def test_names_alone_are_no_match(typed: str) -> None:
    agreed = draft(typed, (400, 400)).agreement
    people = generate_people(200, None, 5).a
    names = [name for name in people.column_names if name in {*WHOLE, "middle"} & {*agreed.fields}]
    if not names:
        names = ["name"]
        people = people.append_column("name", pc.binary_join_element_wise(*people.select(WHOLE), " "))
    others = [name for name in agreed.fields if name in people.column_names and name not in names]
    bare = people
    for name in others:
        bare = bare.set_column(bare.column_names.index(name), name, pa.nulls(len(bare), pa.string()))
    assert len(accord.simulate(people, bare, agreed, seed=1).found.ids()) == 0
    assert reached_by(agreed.rule, {*names}, agreed.fields) is None


WHOLE = ["given", "surname"]


def test_names_are_a_match_where_there_is_nothing_else() -> None:
    agreed = draft("given surname", (400, 400)).agreement
    assert reached_by(agreed.rule, {"given", "surname"}, agreed.fields) is not None


@pytest.mark.parametrize("declared", ["few", "hundreds", pytest.param("thousands", marks=pytest.mark.slow)])
def test_a_field_of_few_values_is_no_match_alone(declared: str) -> None:
    agreed = draft("text:title text:kind year", (400, 400), cardinality={"kind": declared}).agreement
    assert "kind" not in enough_alone(agreed.rule, agreed.fields)
    assert "year" not in enough_alone(agreed.rule, agreed.fields)


@pytest.mark.parametrize("range_", [("1990-01-01", "2030-12-31"), ("2025-01-01", "2025-12-31")])
def test_weights_of_days_do_not_depend_on_the_agreed_range(range_: tuple[str, str]) -> None:
    drafted = draft("date text price", (400, 400), ranges={"date": range_}).agreement
    usual = draft("date text price", (400, 400)).agreement
    assert drafted.rule == usual.rule
    assert "date" in fields_of(drafted.rule)
