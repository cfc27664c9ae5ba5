"""From confirmed types to fields: the answers of an owner, and where a partner's table has agreed names."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.drafting.answers import in_order, name_fields
from accord.drafting.confirming import change, explain, find_fields, find_id, take_guesses, without_id
from accord.drafting.fitting import Fitted, fit
from accord.drafting.guessing import Guess, Sample, guess_kinds
from accord.drafting.kinds import ColumnKind, Confirmed, read_kind
from accord.errors import AgreementError, UsageError
from accord.fields.schema import DateField, FieldSpec, NumberField, TextField
from tests.prepared import answers

CASES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("fields.toml").read_text("utf-8"))

# -- answers ------------------------------------------------------------------------------------------------


def fields(*typed: str) -> tuple[Confirmed, ...]:
    return in_order(name_fields([read_kind(one) for one in typed]))


def test_fields_are_in_the_order_of_types_whatever_the_order_of_columns() -> None:
    assert fields("birth", "id", "given", "skip") == fields("given", "birth")
    named = fields("category", "category:brand", "category")
    assert [one.name for one in named] == ["brand", "category", "category_2"]


def test_all_faults_of_answers_are_named_at_once() -> None:
    with pytest.raises(AgreementError) as raised:
        answers(
            "birth price latitude",
            (0, 5),
            parties=("A", "?"),
            disclose=("brith",),
            values={"birth": ("x",)},
            ranges={"birth": ("1", "2"), "price": ("0", "x")},
            within={"latitude": "-1"},
            missing={"birth": "ignore"},
            cardinality={"price": "some", "latitude": "few"},
            often_empty=("town",),
            copies=(0, 65),
            overlap=1.1,
            precision=0.0,
            max_time=0.0,
            count_epsilon="65",
        )
    places = [fault.place.strip("`").split()[2:] for fault in raised.value.faults]
    assert [" ".join(place).removeprefix("--field ") for place in places] == [
        *("birth.values", "latitude.cardinality", "town.often_empty", "--disclose brith"),
        *("birth.missing=ignore", "birth.range=1..2", "price.range=0..x", "latitude.within=-1"),
        *("--parties` 'A'", "--parties` '?'", "", "--overlap", "--precision", "--max-time"),
        *("--answer-epsilon", "--disclose", "--copies", "--records", "price.cardinality=some"),
    ]
    assert "'birth'" in raised.value.faults[3].mend


@pytest.mark.parametrize(
    ("typed", "bad"),
    [
        *((typed, {}) for typed in ("id skip", "text:a category:a", "birth text:birth_year", "birth birth")),
        *(("text price", bad) for bad in ({"overlap": 0.0}, {"max_time": -1.0}, {"precision": 1.1})),
        *(("text price", bad) for bad in ({"count_epsilon": "0"}, {"parties": ("x", "x")})),
    ],
)
def test_what_no_agreement_can_have_is_a_fault(typed: str, bad: dict[str, Any]) -> None:
    with pytest.raises(AgreementError) as raised:
        answers(typed, (300, 400), **bad)
    assert len(raised.value.faults) == 1


def test_a_type_is_known_and_may_have_capitals_and_spaces() -> None:
    assert read_kind(" Surname ") == Confirmed(ColumnKind.SURNAME)
    assert read_kind("category: brand") == Confirmed(ColumnKind.CATEGORY, "brand")
    for typed in ("surnme", "given:first", "category:", "category:a b", ""):
        with pytest.raises(UsageError):
            read_kind(typed)


def test_values_and_policies_are_the_usual_ones_unless_named() -> None:
    given = answers("text sex", (10, 10))
    sex = next(one for one in given.fields if one.kind is ColumnKind.SEX)
    assert given.values_of(sex) == ("f", "m")
    assert replace(given, values={"sex": ("m", "w")}).values_of(sex) == ("m", "w")
    assert given.policy_of("text") == "differs"


# -- columns and the fields that they are -------------------------------------------------------------------

COLUMNS = take_guesses(
    [Guess("Nr", ColumnKind.ID), Guess("a=b", ColumnKind.TEXT), Guess("2", ColumnKind.SKIP, "empty")]
)


def test_an_owner_changes_the_type_of_a_column() -> None:
    """By its number or its name, which goes first and may have a sign of equality. One is the id or none."""
    for typed, kinds in (
        ("3=phone", "id text phone"),
        ("2=phone", "id text phone"),
        ("a=b=city", "id city skip"),
        ("a=b=id", "skip id skip"),
    ):
        assert [one.is_.kind.value for one in change(COLUMNS, [typed])] == kinds.split()
    for typed in ("4=phone", "0=phone", "Nr", "=phone", "Nr="):
        with pytest.raises(UsageError):
            change(COLUMNS, [typed])
    assert find_id(change(COLUMNS, ["a=b=id"])) == "a=b"
    assert find_id(without_id(COLUMNS)) is None


@pytest.mark.parametrize("case", CASES["columns"], ids=lambda case: case["typed"])
def test_columns_that_belong_together_are_one_field(case: dict[str, Any]) -> None:
    typed, as_of = case["typed"].split(), case.get("as_of")
    guesses = [Guess(one.partition("=")[0], ColumnKind.TEXT) for one in typed]
    table = change(take_guesses(guesses), typed)
    found = {one.is_.name: " ".join(one.own) for one in find_fields(table, as_of)}
    assert found == case.get("found", {})
    assert [one.name for one in explain(table, as_of) if one.note] == case.get("noted", "").split()


# -- agreed names in a table --------------------------------------------------------------------------------

TEXT = TextField.model_validate({"type": "text", "encoder": "hash"})
NUMBER = NumberField.model_validate({"type": "number", "min": 0, "max": 9, "step": 1})
DATE = DateField.model_validate({"type": "date", "min": "1900-01-01", "max": "2030-01-01"})
WORDS = ("some words", "of a kind", "here and there")
PRICES = ("1.20", "3.40")
TOWNS = ("20095 Hamburg", "10115 Berlin")
FAMILIES = ("Muñoz Gómez", "de la Cruz Ruiz", "Pardo")
GIVEN = ("Ana", "Eva", "Luz")
Cells = tuple[str, ...]
CELLS: dict[str, Cells] = {
    "words": WORDS, "towns": TOWNS, "codes": ("20095", "10115"), "families": FAMILIES, "given": GIVEN,
    "surnames": ("Muñoz",), "prices": PRICES, "colours": ("red", "green") * 20,
    "answers": ("s\u00ec", "no") * 20, "years": ("1950", "1980"),
}  # fmt: skip


def fitted(
    table: Mapping[str, Cells], fields: Mapping[str, FieldSpec], *typed: str, is_own: bool = False
) -> Fitted:
    """The agreed fields in a table of which its owner names some types."""
    samples = [Sample(name, cells) for name, cells in table.items()]
    columns = change(take_guesses(guess_kinds(samples)), typed)
    return fit(columns, samples, [*fields], fields, is_own=is_own)


@pytest.mark.parametrize("cases", CASES["fitting"], ids=lambda cases: cases["of"])
def test_agreed_fields_are_found_or_lacking(cases: dict[str, Any]) -> None:
    specs: dict[str, FieldSpec] = {"price": NUMBER, "birth": DATE}
    for case in cases["cases"]:
        names, table = case["names"].split(), {name: CELLS[of] for name, of in case["table"].items()}
        fit = fitted(table, {name: specs.get(name, TEXT) for name in names})
        assert {name: source.column for name, source in fit.sources.items()} == case["found"]
        assert fit.lacking == [name for name in names if name not in case["found"]]


def test_parts_of_a_column_are_read_in_its_order() -> None:
    def parts(cells: Mapping[str, Cells], *names: str) -> list[tuple[str | None, ...]]:
        return [(one.part, one.order) for one in fitted(cells, dict.fromkeys(names, TEXT)).sources.values()]

    order = "postcode city"
    assert parts({"PLZ/Ort": TOWNS}, "postcode", "city") == [("postcode", order), ("city", order)]
    names, order = {"Nombre": GIVEN, "Apellidos": FAMILIES}, "surname given"
    assert parts(names, "surname", "surname_2") == [("surname", order), ("given", order)]
    assert parts(names, "surname")[0][0] is None


def test_of_what_is_lacking_its_owner_hears_which_columns_come_near() -> None:
    several = fitted({"Angabe": WORDS, "Lager": WORDS}, {"text": TEXT})
    assert several.candidates == {"text": ("Angabe", "Lager")}
    assert all(f"'{column}'" in several.why["text"] for column in ("Angabe", "Lager"))
    years = fitted({"Geb.jaar": ("1950", "1980"), "Vorname": ("Ann", "Eve")}, {"birth": DATE})
    assert "'Geb.jaar'" in years.why["birth"]


def test_only_type_and_place_speak_for_some_columns() -> None:
    assert fitted({"Angabe": WORDS}, {"text": TEXT}).alone == {"text": "Angabe"}
    assert not fitted({"shipping cost": PRICES, "Preis": PRICES}, {"price": NUMBER}).alone
    own = fitted({"Angabe": WORDS, "Lager": WORDS}, {"text": TEXT, "text_2": TEXT}, is_own=True)
    assert ([one.column for one in own.sources.values()], own.alone) == (["Angabe", "Lager"], {})


def test_columns_of_tables_laid_out_alike_are_found_by_their_place() -> None:
    few, many = WORDS * 70, tuple(f"words of kind {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(210))
    table = {"Angabe": few, "Lager": many}
    fields: dict[str, FieldSpec] = {
        name: TEXT.model_copy(update={"cardinality": declared})
        for name, declared in (("text", "few"), ("text_2", "unique"))
    }

    def as_texts(table: Mapping[str, Cells], fields: Mapping[str, FieldSpec]) -> Fitted:
        return fitted(table, fields, *(f"{name}=text" for name in table))

    found = as_texts(table, fields)
    assert [one.column for one in found.sources.values()] == ["Angabe", "Lager"]
    assert found.alone == {"text": "Angabe", "text_2": "Lager"}
    assert as_texts({**table, "mehr": many}, fields).lacking == ["text", "text_2"]
    turned = {"text": fields["text_2"], "text_2": fields["text"]}
    assert as_texts(table, turned).lacking == ["text", "text_2"]


def test_a_typed_column_is_taken_before_guessed_ones() -> None:
    table = dict.fromkeys(("Angabe", "Lager", "Sparte"), WORDS)
    found = fitted(table, {"text": TEXT}, "Lager=text")
    assert found.sources["text"].column == "Lager"
    assert not found.alone
    assert fitted(table, {"text": TEXT, "title": TEXT}, "Lager=text").lacking == ["title"]
    assert fitted(table, {"text": TEXT}, "Lager=text", "Angabe=text").lacking == ["text"]


def test_columns_that_a_draft_would_leave_out_come_last() -> None:
    """Of equal headers, the owner of the draft had the same left out."""
    samples = [Sample(name, WORDS) for name in ("Angabe", "Lager", "Sparte")]
    columns = tuple(replace(one, spare=one.name != "Lager") for one in take_guesses(guess_kinds(samples)))
    assert fit(columns, samples, ["text"], {"text": TEXT}).alone == {"text": "Lager"}
    all_spare = tuple(replace(one, spare=True) for one in columns)
    assert fit(all_spare, samples, ["text"], {"text": TEXT}).lacking == ["text"]
