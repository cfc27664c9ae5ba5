"""Drafts: always sound, fit for their mix, and a function of answers alone."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import accord
from accord.agreement.adjusting import adjust
from accord.datasets.people import generate_people
from accord.drafting.answers import RANGED, Answers, in_order, name_fields
from accord.drafting.draft import Draft, make_draft, require_sound
from accord.drafting.kinds import LOCAL, OF_PEOPLE, PARTS, ColumnKind, read_kind
from accord.errors import AgreementError
from accord.simulation.truth import score

SALT = "0123456789abcdef"


def draft(typed: str, records: tuple[int, int], **others: object) -> Draft:
    named = in_order(name_fields([read_kind(one) for one in typed.split()]))
    return make_draft(Answers(named, records, **others), SALT)  # type: ignore[arg-type]


def test_small_tables_of_people_are_compared_all_with_all() -> None:
    """The example of a newcomer: a key on the date of birth took 59 million comparisons for these."""
    found = draft("given surname birth", (199, 220)).agreement
    assert found.protocol.name == "all-pairs"
    assert found.passes == ()
    assert found.expected is not None
    assert (found.expected.A, found.expected.B) == (199, 220)


def test_no_epsilon_is_spent_to_save_seconds() -> None:
    """All pairs of these take four seconds on a slow machine, and a blocking would halve that."""
    found = draft("text category:brand price", (300, 400)).agreement
    assert (found.protocol.name, found.passes) == ("all-pairs", ())
    assert draft("text category:brand price", (20_000, 20_000)).agreement.passes


def test_every_month_is_a_series_where_epsilon_is_spent() -> None:
    found = draft("text category:brand price", (20_000, 10_000), monthly=True).agreement
    assert found.series is not None
    assert (found.series.first.A, found.series.first.B) == (20_000, 10_000)
    assert draft("text category:brand price", (300, 400), monthly=True).agreement.series is None


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


@pytest.mark.parametrize("bad", [{"overlap": 0.0}, {"overlap": 1.1}, {"max_time": 0.0}, {"max_time": -1.0}])
def test_odd_answers_are_faults(bad: dict[str, float]) -> None:
    with pytest.raises(AgreementError, match="accord init --"):
        draft("text price", (300, 400), **bad)


@pytest.mark.slow
def test_large_tables_have_passes_with_buckets_for_their_sizes() -> None:
    from accord.agreement.by_pass import best_buckets

    found = draft("given surname birth phone email postcode", (50_000, 20_000)).agreement
    assert [one.name for one in found.passes] == ["birth", "names", "phone"]
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
    made = generate_people(400, None, 5)
    agreed = draft("given middle surname sex birth street city postcode phone email", (400, 400)).agreement
    found = accord.simulate(made.a, made.b, agreed, seed=1)
    names = pa.schema([(name, pa.large_string()) for name in ("id_a", "id_b")])
    scores = score(found.found.ids(), made.truth.select(["id_a", "id_b"]).cast(names))
    assert scores.truth_recall >= 0.95
    assert scores.truth_precision >= 0.95


def test_whole_names_of_people_are_found_by_passes() -> None:
    made = generate_people(600, None, 6)
    whole = {}
    for side, table in (("a", made.a), ("b", made.b)):
        pairs = zip(table["given"].to_pylist(), table["surname"].to_pylist(), strict=True)
        whole[side] = table.append_column("name", pa.array([" ".join(filter(None, pair)) for pair in pairs]))
    agreed = adjust(draft("name birth postcode phone", (20_000, 20_000)).agreement, epsilon="20")
    assert len(agreed.passes) == 3
    found = accord.simulate(whole["a"], whole["b"], agreed, seed=1)
    names = pa.schema([(name, pa.large_string()) for name in ("id_a", "id_b")])
    scores = score(found.found.ids(), made.truth.select(["id_a", "id_b"]).cast(names))
    assert scores.truth_recall >= 0.7
    assert scores.truth_precision >= 0.95


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        (
            "text category:brand date price",
            "same(brand) and same(date) and dice(text) >= 0.75 and within(price, 1)",
        ),
        ("identifier text", "same(identifier) or dice(text) >= 0.75"),
        ("latitude longitude", "euclidean(latitude, longitude) <= 0.001"),
        ("street city postcode", "dice(street) >= 0.75 and dice(city) >= 0.75 and same(postcode)"),
    ],
)
@pytest.mark.parametrize("records", [50, 30_000])
def test_things_and_places_agree_on_everything(typed: str, rule: str, records: int) -> None:
    found = draft(typed, (records, records), ranges=RANGES if "lat" in typed else {}).agreement
    assert str(found.rule) == rule
    assert (found.protocol.name == "laplace") == (records > 50)


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
        rarity=True,
    )
    agreed = found.agreement
    fields = agreed.model_dump(mode="json")["fields"]
    assert agreed.parties.A == "city clinic"
    assert agreed.disclose.A == agreed.disclose.B == ("given", "ward")
    assert fields["sex"]["values"] == ["m", "w", "d"]
    assert fields["birth"]["min"] == "1890-01-01"
    assert fields["birth_year"]["min"] == "1890"
    assert fields["birth"]["missing"] == fields["birth_day"]["missing"] == "skip"
    assert fields["birth_year"]["missing_values"] == ["unknown", "1900-01-01"]
    assert "missing(birth)" not in str(agreed.rule)
    assert "rarity(surname_rarity)" in str(agreed.rule)
    # A rule for people has no use for these; what is disclosed is a column all the same.
    assert found.unused == ("ward", "text")
    assert "ward" not in fields
    assert "ward" in agreed.names


def test_a_number_that_both_know_weighs_in_a_score() -> None:
    found = draft("identifier:insurance surname birth", (40_000, 40_000)).agreement
    assert "same(insurance) -> 10" in str(found.rule)
    assert found.passes[0].parts[0].names == ("insurance",)


def test_the_head_says_what_the_draft_follows_from() -> None:
    text = draft("text", (10, 10)).text
    head = " ".join(text.replace("#", " ").split())
    assert "from nothing else in the table: no cell, no count and no name of a column is in it" in head
    guessed = draft("text", (10, 10), as_guessed=True).text
    assert "a single row can decide a type" in " ".join(guessed.replace("#", " ").split())
    for one in (text, guessed):
        assert len(max(one.splitlines(), key=len)) <= 110


THINGS = [kind.value for kind in ColumnKind if kind not in LOCAL | PARTS]


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from([kind for kind in THINGS if kind not in OF_PEOPLE]),
        min_size=1,
    ),
    st.sampled_from([(1, 1), (300, 50), (4_000, 9_000)]),
)
def test_every_mix_has_a_sound_draft(typed: list[str], records: tuple[int, int]) -> None:
    once = [
        k for i, k in enumerate(typed) if k in ("text", "category", "date", "price") or k not in typed[:i]
    ]
    if ("latitude" in once) != ("longitude" in once):
        once = [k for k in once if k not in ("latitude", "longitude")] or ["text"]
    found = draft(" ".join(once), records)  # raises if it is not sound
    assert re.search(r"^\[protocol\]$", found.text, re.M)


@pytest.mark.parametrize(
    "typed",
    [
        "surname city email price",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("birth", "surname", "given surname", "name sex")
        ),
    ],
)
def test_every_mix_of_people_has_a_sound_draft(typed: str) -> None:
    assert draft(typed, (50, 50)).rule.learnt
    assert draft(typed, (50, 50), missing=dict.fromkeys(typed.split(), "skip")).rule.learnt
