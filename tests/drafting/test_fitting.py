"""Agreed names in tables of other owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from accord.drafting.confirming import change, take_guesses
from accord.drafting.fitting import Fitted, fit
from accord.drafting.guessing import Sample, guess_kinds
from accord.fields.schema import DateField, FieldSpec, NumberField, TextField

TEXT = TextField.model_validate({"type": "text", "encoder": "hash"})
NUMBER = NumberField.model_validate({"type": "number", "min": 0, "max": 9, "step": 1})
DAY = DateField.model_validate({"type": "date", "min": "1900-01-01", "max": "2030-01-01"})
WORDS = ("some words", "of a kind", "here and there")


def fitted(table: Mapping[str, tuple[str, ...]], is_own: bool = False, **fields: FieldSpec) -> Fitted:
    samples = [Sample(name, cells) for name, cells in table.items()]
    columns = take_guesses(guess_kinds(samples))
    return fit(columns, samples, [*fields], fields, is_own=is_own)


def fitted_as_text(table: Mapping[str, tuple[str, ...]], **fields: FieldSpec) -> Fitted:
    """Where fields are found in columns that their owner says are texts."""
    samples = [Sample(name, cells) for name, cells in table.items()]
    columns = change(take_guesses(guess_kinds(samples)), [f"{name}=text" for name in table])
    return fit(columns, samples, [*fields], fields)


def test_the_only_column_of_a_type_is_the_only_name_of_it() -> None:
    found = fitted({"Angabe": WORDS}, text=TEXT)
    assert found.sources["text"].column == "Angabe"
    assert found.alone == {"text": "Angabe"}


def test_a_postcode_and_a_city_in_one_column_are_two_fields() -> None:
    found = fitted({"PLZ/Ort": ("20095 Hamburg", "10115 Berlin")}, postcode=TEXT, city=TEXT)
    for name in ("postcode", "city"):
        source = found.sources[name]
        assert (source.column, source.part, source.order) == ("PLZ/Ort", name, "postcode city")
    beside = {"PLZ/Ort": ("20095 Hamburg", "10115 Berlin"), "PLZ": ("20095", "10115")}
    found = fitted(beside, postcode=TEXT, city=TEXT)
    assert (found.sources["postcode"].column, found.sources["city"].column) == ("PLZ", "PLZ/Ort")


def test_two_family_names_in_one_column_are_two_fields() -> None:
    names = ("Muñoz Gómez", "de la Cruz Ruiz", "Pardo")
    found = fitted({"Nombre": ("Ana", "Eva", "Luz"), "Apellidos": names}, surname=TEXT, surname_2=TEXT)
    first, rest = found.sources["surname"], found.sources["surname_2"]
    assert first.column == rest.column == "Apellidos"
    assert (first.part, rest.part, rest.order) == ("surname", "given", "surname given")
    single = fitted({"Nombre": ("Ana",), "Apellidos": ("Muñoz",)}, surname=TEXT, surname_2=TEXT)
    assert single.lacking == ["surname_2"]
    # Both together, where one field is agreed.
    assert fitted({"Nombre": ("Ana",), "Apellidos": names}, surname=TEXT).sources["surname"].part is None


def test_where_several_would_do_none_is_taken() -> None:
    found = fitted({"Angabe": WORDS, "Lager": WORDS}, text=TEXT)
    assert found.lacking == ["text"]
    assert "'Angabe' or 'Lager'" in found.why["text"]
    assert fitted({"Angabe": WORDS}, text=TEXT, text_2=TEXT).lacking == ["text", "text_2"]


def test_columns_of_tables_laid_out_alike_are_found_by_their_place() -> None:
    few, many = WORDS * 70, tuple(f"words of kind {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(210))
    table = {"Angabe": few, "Lager": many}
    fields = {
        name: TEXT.model_copy(update={"cardinality": declared})
        for name, declared in (("text", "few"), ("text_2", "unique"))
    }
    found = fitted_as_text(table, **fields)
    assert [found.sources[name].column for name in fields] == ["Angabe", "Lager"]
    assert found.alone == {"text": "Angabe", "text_2": "Lager"}
    assert fitted_as_text({**table, "mehr": many}, **fields).lacking == ["text", "text_2"]
    turned = {"text": fields["text_2"], "text_2": fields["text"]}
    assert fitted_as_text(table, **turned).lacking == ["text", "text_2"]


def test_the_column_that_its_owner_typed_is_taken_before_guessed_ones() -> None:
    table = {"Angabe": WORDS, "Lager": WORDS, "Sparte": WORDS}
    samples = [Sample(name, cells) for name, cells in table.items()]
    columns = change(take_guesses(guess_kinds(samples)), ["Lager=text"])
    found = fit(columns, samples, ["text"], {"text": TEXT})
    assert found.sources["text"].column == "Lager"
    # Its owner said so, and not its place.
    assert not found.alone
    assert fit(columns, samples, ["text", "title"], {"text": TEXT, "title": TEXT}).lacking == ["title"]
    both = change(columns, ["Angabe=text"])
    assert fit(both, samples, ["text"], {"text": TEXT}).lacking == ["text"]


def test_columns_that_a_draft_would_leave_out_come_last() -> None:
    """Of equal headers, the owner of the draft had the same left out."""
    samples = [Sample(name, WORDS) for name in ("Angabe", "Lager", "Sparte")]
    columns = tuple(replace(one, spare=one.name != "Lager") for one in take_guesses(guess_kinds(samples)))
    found = fit(columns, samples, ["text"], {"text": TEXT})
    assert found.alone == {"text": "Lager"}
    all_spare = tuple(replace(one, spare=True) for one in columns)
    assert fit(all_spare, samples, ["text"], {"text": TEXT}).lacking == ["text"]


def test_in_the_own_draft_a_number_is_a_column() -> None:
    found = fitted({"Angabe": WORDS, "Lager": WORDS}, is_own=True, text=TEXT, text_2=TEXT)
    assert [found.sources[name].column for name in ("text", "text_2")] == ["Angabe", "Lager"]
    assert not found.alone


def test_a_general_word_is_the_field_without_a_number() -> None:
    prices = ("1.20", "3.40")
    found = fitted({"shipping cost": prices, "Preis": prices}, price=NUMBER)
    assert found.sources["price"].column == "Preis"
    assert not found.alone


def test_a_word_of_a_header_names_an_agreed_field() -> None:
    found = fitted({"Angabe": WORDS, "the colouring used": WORDS}, colouring=TEXT, text=TEXT)
    assert found.sources["colouring"].column == "the colouring used"
    assert found.sources["text"].column == "Angabe"


def test_a_category_that_is_called_otherwise_is_another() -> None:
    kinds = ("red", "green") * 20
    assert fitted({"Sparte": kinds}, birth_place=TEXT).lacking == ["birth_place"]
    assert fitted({"Consenso privacy": ("s\u00ec", "no") * 20}, category=TEXT).lacking == ["category"]


def test_numbers_are_no_texts_however_they_are_called() -> None:
    assert fitted({"Preis": ("1.20", "3.40")}, preise=TEXT).lacking == ["preise"]


def test_firms_may_be_called_as_things_are() -> None:
    assert fitted({"Firma": WORDS}, title=TEXT).sources["title"].column == "Firma"


def test_a_year_is_no_date_of_birth() -> None:
    found = fitted({"Geb.jaar": ("1950", "1980"), "Vorname": ("Ann", "Eve")}, birth=DAY, given=TEXT)
    assert found.lacking == ["birth"]
    assert "your 'Geb.jaar' gives only a year of birth" in found.why["birth"]
