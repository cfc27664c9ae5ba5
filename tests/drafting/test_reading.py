"""What a layout should say of cells: marks, spellings, numbers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from accord.drafting.guessing import Sample
from accord.drafting.kinds import ColumnKind
from accord.drafting.reading import order_of, propose, share_marks

Kind = ColumnKind


def marks(kind: ColumnKind, *cells: str) -> tuple[str, ...]:
    found: tuple[str, ...] = propose(kind, Sample("c", cells)).said.get("missing", ())
    return found


def test_marks_of_any_column_are_proposed_as_they_are_spelt() -> None:
    assert marks(Kind.CITY, "Rom", "k.A.", "K.a.", "-", "Inconnu") == ("k.A.", "-", "Inconnu")
    assert marks(Kind.SEX, "f", "U", "0") == ("U", "0")
    assert marks(Kind.POSTCODE, "10115", "00000", "99999") == ("00000", "99999")
    assert marks(Kind.YEAR, "1999", "0000", "9999") == ("0000", "9999")
    assert marks(Kind.BIRTH, "1980-01-01", "0000-00-00", "9999-12-31") == ("0000-00-00", "9999-12-31")


def test_what_may_be_a_value_is_a_mark_only_where_it_is_too_frequent() -> None:
    assert marks(Kind.SURNAME, "Null", "Smith") == ()
    assert marks(Kind.SURNAME, *["NULL"] * 3, "Smith") == ("NULL",)
    assert marks(Kind.BIRTH, "01.01.1900", "31.12.1980") == ()
    assert marks(Kind.BIRTH, *["01.01.1900"] * 3, "31.12.1980") == ("01.01.1900",)
    assert marks(Kind.PRICE, "9999", "1") == ()
    assert marks(Kind.PRICE, *["9999"] * 4, "1") == ("9999",)
    # A film of this name.
    assert marks(Kind.TEXT, "Unknown", "Some film") == ()


@pytest.mark.parametrize(
    ("agreed", "cells", "values"),
    [
        (("f", "m"), ("w", "H", "Femme", "male", "F"), {"w": "f", "h": "m", "femme": "f", "male": "m"}),
        (("f", "m"), ("1", "2", "9"), {"1": "m", "2": "f"}),
        (("w", "m"), ("female", "m"), {"female": "w"}),
        (("1", "2"), ("kobieta", "2"), {"kobieta": "2"}),
    ],
)
def test_spellings_of_sexes(agreed: tuple[str, ...], cells: tuple[str, ...], values: dict[str, str]) -> None:
    assert propose(Kind.SEX, Sample("c", cells), agreed).said["values"] == values


def test_of_agreed_values_that_mean_the_same_the_first_is_taken() -> None:
    agreed = ("female", "f", "woman", "w", "male", "man", "m")
    found = propose(Kind.SEX, Sample("c", ("Frau", "weiblich", "Herr")), agreed).said["values"]
    assert found == {"frau": "female", "weiblich": "female", "herr": "male"}


def test_spellings_that_nobody_knows_are_counted() -> None:
    found = propose(Kind.SEX, Sample("c", ("f", "zz", "zz", "d", "-")), ("f", "m"))
    assert (found.unknown, found.unknown_cells) == (("zz", "d"), 3)
    assert "zz" not in found.tell()
    answers = propose(Kind.YESNO, Sample("c", ("Ja", "nein", "yes")), ("yes", "no")).said["values"]
    assert answers == {"ja": "yes", "nein": "no"}
    # A category's values are its owner's.
    assert not propose(Kind.CATEGORY, Sample("c", ("red",)), ("blue",)).said


@pytest.mark.parametrize(
    ("kind", "cells", "sign"),
    [
        (Kind.PRICE, ("$399.00", "$1,299.00"), "."),
        (Kind.PRICE, ("1.299,00 €", "5,50 €"), ","),
        (Kind.PRICE, ("1,299", "2,500"), "."),
        (Kind.PRICE, ("12.99 EUR",), "."),
        (Kind.LATITUDE, ("52,520", "13,405"), ","),
        (Kind.PRICE, ("Rs.500", "Rs. 1,200"), "."),
        (Kind.PRICE, ("12.99", "399"), None),
    ],
)
def test_which_sign_stands_before_decimals(
    kind: ColumnKind, cells: tuple[str, ...], sign: str | None
) -> None:
    assert propose(kind, Sample("c", cells)).said.get("decimal") == sign


def test_years_in_days_postcodes_with_countries_and_the_order_of_names() -> None:
    assert propose(Kind.BIRTH_YEAR, Sample("c", ("1905-01-01", "1925-01-01"))).said == {"part": "year"}
    assert propose(Kind.BIRTH_YEAR, Sample("c", ("1905", "1925"))).said == {}
    assert propose(Kind.POSTCODE, Sample("c", ("D-10115", "80331"))).said == {"part": "postcode"}
    assert propose(Kind.POSTCODE, Sample("c", ("02139-1234", "SW1A 1AA", "00-950"))).said == {}
    assert order_of(Sample("c", ("Smith Mary", "Jones Linda"))) == "surname given"
    assert order_of(Sample("c", ("Mary Smith", "Linda Jones"))) == "given surname"


def test_m_is_a_woman_beside_h_alone() -> None:
    spanish = Sample("Sexo", ("H", "M", "H", "m") * 10)
    assert propose(ColumnKind.SEX, spanish, ("f", "m")).said["values"] == {"h": "m", "m": "f"}
    assert propose(ColumnKind.SEX, spanish, ("H", "M")).said == {}
    french = Sample("Sexe", ("H", "F") * 20)
    assert propose(ColumnKind.SEX, french, ("f", "m")).said["values"] == {"h": "m"}
    mixed = Sample("Sex", ("H", "M", "F") * 20)
    assert propose(ColumnKind.SEX, mixed, ("f", "m")).said["values"] == {"h": "m"}


def test_spellings_that_all_mean_one_value_are_told() -> None:
    assert propose(ColumnKind.SEX, Sample("s", ("Mr", "male") * 20), ("f", "m")).lone == "m"
    assert not propose(ColumnKind.SEX, Sample("s", ("Mr", "Ms") * 20), ("f", "m")).lone
    assert not propose(ColumnKind.SEX, Sample("s", ("f",) * 20), ("f", "m")).lone


def test_zeros_that_a_spreadsheet_took_are_put_back() -> None:
    whole, short = ("30800", "29001", "18001", "28013"), ("4600", "8001")
    assert propose(Kind.POSTCODE, Sample("c", (*whole, *short))).said == {"digits": 5}
    # Nothing is lost where some begin with a zero, and four digits may be all there are.
    assert propose(Kind.POSTCODE, Sample("c", (*whole, *short, "04600"))).said == {}
    assert propose(Kind.POSTCODE, Sample("c", (*whole[:1], *short))).said == {}


@pytest.mark.parametrize(
    ("cells", "read"),
    [("FN", {"f": "m", "n": "f"}), ("MN", {"n": "f"}), ("BF", {"b": "m"}), ("HM", {"h": "m", "m": "f"})],
)
def test_letters_of_sexes_are_read_by_the_two_that_stand_there(cells: str, read: dict[str, str]) -> None:
    assert propose(Kind.SEX, Sample("c", tuple(cells) * 20), ("f", "m")).said == {"values": read}
    # Beside a third, N says that nothing is known.
    assert "n" not in propose(Kind.SEX, Sample("c", ("F", "M", "N") * 20), ("f", "m")).said.get("values", {})


@pytest.mark.parametrize(
    ("header", "cells", "read"),
    [
        ("sexo", "V M", {"v": "m", "m": "f"}),
        ("SEXO", "V H", {"v": "m", "h": "f"}),
        ("sexo", "H M hombre mujer", {"h": "m", "m": "f", "hombre": "m", "mujer": "f"}),
        ("sexo", "V", {"v": "m"}),
        ("geslacht", "V M", {"v": "f"}),
        ("geslacht", "M V vrouw", {"v": "f", "vrouw": "f"}),
        ("Geslacht", "V H", {"v": "f", "h": "m"}),
        ("kön", "kv man", {"kv": "f", "man": "m"}),
        ("kön", "K M", {"k": "f"}),
        ("kjønn", "kvinne mann", {"kvinne": "f", "mann": "m"}),
        ("płeć", "mezczyzna kobieta", {"mezczyzna": "m", "kobieta": "f"}),
        ("spol", "ženski moški", {"ženski": "f", "moški": "m"}),
    ],
)
def test_codes_of_sexes_are_read_in_the_language_of_the_header(
    header: str, cells: str, read: dict[str, str]
) -> None:
    found = propose(Kind.SEX, Sample(header, tuple(cells.split()) * 20), ("f", "m"))
    assert found.said == {"values": read}
    assert not found.unknown


def test_codes_of_which_the_header_does_not_say_the_language_are_not_guessed() -> None:
    found = propose(Kind.SEX, Sample("sex", ("V", "M") * 20), ("f", "m"))
    assert found.said == {}
    assert found.unsure == ("V", "M")
    # Agreed letters are themselves.
    agreed = propose(Kind.SEX, Sample("geslacht", ("V", "M") * 20), ("V", "M"))
    assert (agreed.said, agreed.unknown) == ({}, ())
    beside = propose(Kind.SEX, Sample("sex", ("V", "M", "F") * 20), ("f", "m"))
    assert (beside.unknown, beside.unsure) == (("V",), ())


def test_a_code_that_means_unknown_in_one_column_does_in_every_column_of_codes() -> None:
    table = {
        "sex": (Kind.SEX, ("F", "M", "U")),
        "race": (Kind.CATEGORY, ("W", "B", "U")),
        "ethnic": (Kind.CATEGORY, ("HL", "NL", "UN")),
        "initial": (Kind.MIDDLE, ("A", "B", "U")),
    }

    def shared(table: Mapping[str, tuple[Kind, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
        samples = [Sample(name, cells * 20) for name, (_, cells) in table.items()]
        found = share_marks({name: kind for name, (kind, _) in table.items()}, samples)
        return {one.column: propose(table[one.column][0], one).said.get("missing", ()) for one in found}

    assert shared(table) == {"sex": ("U",), "race": ("U",), "ethnic": ("UN",), "initial": ()}
    assert shared(table | {"sex": (Kind.SEX, ("F", "M"))})["race"] == ()
    numbers = {"sex": (Kind.SEX, ("1", "2", "9")), "status": (Kind.CATEGORY, ("1", "2", "9"))}
    assert shared(numbers) == {"sex": ("9",), "status": ("9",)}
    assert shared(numbers | {"status": (Kind.CATEGORY, ("7", "8", "9"))})["status"] == ()
