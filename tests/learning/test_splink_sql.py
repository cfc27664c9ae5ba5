"""What Splink writes becomes a rule; what has no counterpart is named with the nearest that has."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accord.agreement.file import parse_agreement
from accord.fields.schema import Letters
from accord.learning.splink_sql import NEVER, NoCounterpartError, Translator
from accord.rules.rule import Same
from accord.table.layout import Layout
from tests.learning.worlds import DRAFT

FIELDS = parse_agreement(DRAFT).fields


def translate(sql: str, layout: Layout | None = None) -> str:
    return str(Translator(FIELDS, layout or Layout()).rule(sql))


DUCKDB_DAYS = (
    "ABS(EPOCH(try_strptime(\"birth_l\", '%Y-%m-%d')) - EPOCH(try_strptime(\"birth_r\", '%Y-%m-%d')))"
)


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ('"email_l" = "email_r"', "same(email)"),
        ("email_r = email_l", "same(email)"),
        ("`email_l` = `email_r`", "same(email)"),
        ('LOWER(TRIM("email_l")) = lower(trim("email_r"))', "same(email)"),
        ('CAST("birth_l" AS TEXT)=CAST("birth_r" AS TEXT)', "same(birth)"),
        ("birth_l::date = birth_r::date", "same(birth)"),
        ('"given_l" = "given_r"', "dice(given) >= 1"),
        ('"given_l" IS NULL OR "given_r" IS NULL', "missing(given)"),
        (
            "given_l IS NULL OR given_r IS NULL OR surname_l is null or surname_r is null",
            "missing(given) or missing(surname)",
        ),
        ("email_l is null", "missing(email, A)"),
        ("birth_r IS NOT NULL AND birth_l = birth_r", "not missing(birth, B) and same(birth)"),
        (
            '"given_l" = "surname_r" AND "given_r" = "surname_l"',
            "dice(given, surname) >= 1 and dice(surname, given) >= 1",
        ),
        ("(email_l = email_r) OR (phone_l = phone_r)", "same(email) or same(phone)"),
        ("NOT (email_l = email_r)", "not same(email)"),
        (
            "(email_l = email_r AND (phone_l = phone_r OR birth_l = birth_r))",
            "same(email) and (same(phone) or same(birth))",
        ),
        (f"{DUCKDB_DAYS} <= 2629800.0", "within(birth, 30 days)"),
        (f"{DUCKDB_DAYS} <= 31557600.0", "within(birth, 365 days)"),
        ("abs(date_diff('day', birth_l, birth_r)) <= 2", "within(birth, 2 days)"),
        ("abs(datediff(birth_l, birth_r)) < 2", "within(birth, 1 day)"),
        ("abs(birth_year_l - birth_year_r) <= 1", "within(birth_year, 1)"),
    ],
)
def test_conditions_have_counterparts(sql: str, rule: str) -> None:
    assert translate(sql) == rule


@pytest.mark.parametrize(
    "sql",
    [
        'jaro_winkler_similarity("given_l", "given_r") >= 0.92',
        "jaro_winkler(given_l, given_r) > 0.92",
        "jaro_sim(given_l, given_r) >= 0.9",
        "jaccard(given_l, given_r) >= 0.8",
        "levenshtein(given_l, given_r) <= 1",
        "damerau_levenshtein(given_l, given_r) < 2",
    ],
)
def test_measures_of_letters_become_the_nearest_dice_and_say_so(sql: str) -> None:
    translator = Translator(FIELDS, Layout())
    rule = str(translator.rule(sql))
    assert rule.startswith("dice(given) >= 0.")
    (note,) = translator.notes
    assert note.startswith(f"given: dice >= {rule.split()[-1]} in place of")


def test_columns_have_other_names_in_the_model() -> None:
    layout = Layout(columns={"given": "first_name", "birth": "dob"})
    assert translate("first_name_l = first_name_r", layout) == "dice(given) >= 1"
    assert translate("dob_l = dob_r", layout) == "same(birth)"
    with pytest.raises(NoCounterpartError, match="no field of the draft is the column 'given'"):
        translate("given_l = given_r", layout)


def test_a_field_that_no_record_lacks_is_never_missing() -> None:
    sure = {name: spec.model_copy(update={"missing": "error"}) for name, spec in FIELDS.items()}
    translator = Translator(sure, Layout())
    assert translator.rule("email_l IS NULL OR email_r IS NULL") == NEVER
    assert translator.rule("email_l IS NOT NULL AND email_l = email_r") == Same("email")


@pytest.mark.parametrize(
    ("sql", "nearest"),
    [
        ("len(array_intersect(tags_l, tags_r)) >= 1", "for each value of the list"),
        ("substr(postcode_l, 1, 3) = substr(postcode_r, 1, 3)", "derive = { prefix = 3 }"),
        ("NULLIF(regexp_extract(\"email_l\", '^[^@]+', 0), '') = 'x'", "derive = { prefix = 3 }"),
        ("soundex(given_l) = soundex(given_r)", 'derive = "soundex"'),
        ("cos(radians(lat_l)) * cos(radians(lat_r)) <= 3", "euclidean(lat, lon)"),
        ("array_cosine_similarity(v_l, v_r) >= 0.9", "value of the list"),
        ("(ABS(a_l - a_r) / (CASE WHEN a_r > a_l THEN a_r ELSE a_l END)) < 0.1", "within(), by an amount"),
        ("email_l != email_r", "not same()"),
        ("levenshtein(given_l, given_r) >= 3", "known are equality"),
        ("hamming(given_l, given_r) <= 3", "known are equality"),
        ("levenshtein(birth_l, birth_r) <= 1", 'from = "birth" with a Bloom filter'),
        ("jaro_winkler(email_l, email_r) >= 0.9", 'from = "email" with a Bloom filter'),
        ("abs(given_l - given_r) <= 1", "no field of dates or numbers"),
        ("fname_l = fname_r", "Declare one"),
        ("surnam_l = surnam_r", "'surname'"),
        ("given_l = given_l", "of the same record"),
        ("abs(birth_year_l - birth_year_r) <= 1.2.3", "is not a number"),
        ("given_l = 'MARY'", "known are equality"),
        ("", "known are equality"),
        ("((", "known are equality"),
        ("or and", "known are equality"),
    ],
)
def test_what_has_no_counterpart_names_the_nearest(sql: str, nearest: str) -> None:
    with pytest.raises(NoCounterpartError) as error:
        translate(sql)
    assert nearest in str(error.value)


def test_levenshtein_of_letters_is_itself() -> None:
    letters = FIELDS["surname"].model_copy(update={"encoder": Letters(kind="letters", length=12)})
    translator = Translator({**FIELDS, "surname": letters}, Layout())
    assert str(translator.rule("levenshtein(surname_l, surname_r) <= 2")) == "edit(surname) <= 2"
    assert not translator.notes


def test_bounds_are_exact() -> None:
    rule = Translator(FIELDS, Layout()).rule("abs(birth_day_l - birth_day_r) <= 0.5")
    assert getattr(rule, "bound", None) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("abs(date_diff('day', birth_l, birth_r)) <= 1e400", "is not a number"),
        ("abs(date_diff('day', birth_l, birth_r)) <= 1e40", "is below 0 or above"),
        ("abs(birth_year_l - birth_year_r) <= 1e999999999", "is not a number"),
        ("abs(birth_year_l - birth_year_r) <= 1e-999999999", "is not a number"),
        ("abs(birth_year_l - birth_year_r) <= -3", "is below 0"),
        ("levenshtein(given_l, given_r) <= 1e400", "is not a number"),
        ("levenshtein(given_l, given_r) < 1e400", "is not a number"),
        ("(" * 3_000 + "email_l = email_r" + ")" * 3_000, "has 6,017 characters"),
        ("not " * 990 + "email_l = email_r", "nested too deeply"),
    ],
)
def test_a_malformed_condition_is_told_and_takes_neither_time_nor_memory(sql: str, why: str) -> None:
    with pytest.raises(NoCounterpartError, match=why):
        translate(sql)


def test_below_a_number_is_one_step_less() -> None:
    assert translate("abs(birth_year_l - birth_year_r) < 2") == "within(birth_year, 1)"
    assert translate("abs(birth_year_l - birth_year_r) < 1.5") == "within(birth_year, 1)"
