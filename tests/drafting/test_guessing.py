"""Columns as they are called and filled in real tables."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.drafting.confirming import change, find_fields, take_guesses
from accord.drafting.guessing import Sample, guess_kinds
from accord.drafting.headers import without_qualifiers
from accord.drafting.kinds import SEVERAL, ColumnKind
from accord.drafting.proposing import suggest
from accord.drafting.shapes import FITS, are_streets

GERMAN = {
    "Nr": ("1", "2", "3", "id"),
    "Vorname": ("Jürgen", "Anna", "Lena", "given"),
    "Name": ("Müller", "Groß", "Schmidt", "surname"),
    "Geburtsdatum": ("31.12.1980", "01.02.1975", "17.03.1999", "birth"),
    "Geschlecht": ("m", "w", "W", "sex"),
    "Straße": ("Hauptstr. 5", "Am Markt 7a", "Ring 12", "street"),
    "PLZ": ("10115", "80331", "20095", "postcode"),
    "Wohnort": ("Berlin", "München", "Hamburg", "city"),
    "Telefon": ("+49 30 1234567", "+49 171 1234567", "040/123456", "phone"),
    "E-Mail": ("j@x.de", "", "l@y.de", "email"),
    "Versichertennummer": ("A123", "B234", "C345", "identifier"),
}
AMERICAN = {
    "customer_no": ("17", "18", "19", "id"),
    "first_name": ("John", "Mary", "Ann", "given"),
    "LAST NAME": ("Smith", "Jones", "Brown", "surname"),
    "middleInitial": ("J", "", "K", "middle"),
    "dob": ("12/31/1980", "01/15/1975", "02/03/1999", "birth"),
    "Gender": ("1", "2", "2", "sex"),
    "zip": ("02139-1234", "02140", "90210", "postcode"),
    "phone_home": ("617-555-1234", "(617) 555 9999", "+1 617 555 1111", "phone"),
    # What somebody bought does not say who it was.
    "amount": ("$12.99", "$1,200.00", "$3.00", "skip"),
    "ssn": ("123-45-6789", "987-65-4321", "111-22-3333", "identifier"),
}
THINGS = {
    "id": ("a", "b", "c", "id"),
    "name": ("Sony Turntable PSLX350H", "Bose Acoustimass 5", "Canon PIXMA MP 500 Printer", "text"),
    "brand": ("Sony", "Bose", "Canon", "category"),
    "price": ("149.00", "399", "12.99 EUR", "price"),
    "order date": ("2026-03-01", "2026-03-02", "2026-03-03", "date"),
    "lat": ("52.5200", "-48.1371", "53.5511", "latitude"),
    "lng": ("13.4050", "11.5755", "-170.9937", "longitude"),
}


@pytest.mark.parametrize("table", [GERMAN, AMERICAN, THINGS], ids=["german", "american", "things"])
def test_columns_are_taken_for_what_they_are(table: dict[str, tuple[str, str, str, str]]) -> None:
    samples = [Sample(name, cells[:3], len(set(cells[:3])) == 3) for name, cells in table.items()]
    guessed = {guess.column: guess.kind.value for guess in guess_kinds(samples)}
    assert guessed == {name: cells[3] for name, cells in table.items()}


def kinds(**columns: tuple[str, ...]) -> list[ColumnKind]:
    samples = [Sample(name, cells, len(set(cells)) == len(cells)) for name, cells in columns.items()]
    return [guess.kind for guess in guess_kinds(samples)]


def test_cells_decide_where_names_say_nothing() -> None:
    many = 40
    found = kinds(
        c1=tuple(f"K{n}" for n in range(many)),
        c2=("mary", "john", "linda", "james") * 10,
        c3=("Mary Smith", "John Jones", "Linda Brown", "James Miller") * 10,
        c4=("a@b.org", "c@d.com") * 20,
        c5=("1950-01-02", "1999-12-31") * 20,
        c6=("f", "M") * 20,
    )
    assert found == ["id", "given", "name", "email", "birth", "sex"]
    assert kinds(
        c1=tuple(f"K{n}" for n in range(many)),
        c2=("2026-03-01", "2026-03-02") * 20,
        c3=("reddish", "greenish") * 20,
    ) == ["id", "date", "category"]


def test_of_people_only_what_says_who_they_are_is_kept() -> None:
    """Dates and kinds of one organisation are not those of another, and would count against pairs."""
    people = {"given": ("Mary", "John"), "birth": ("1950-01-02", "1999-12-31")}
    others = {
        "last visit": ("2026-03-01", "2026-03-02"),
        "paid": ("12.50 EUR", "3 EUR"),
        "status": ("a", "b"),
    }
    others |= {"package": ("basic basic", "more of it"), "remarks": ("came late", "none today")}
    kept = {"nationality": ("fr", "be"), "date of death": ("2020-01-02", "2021-02-03")}
    assert kinds(**people, **others, **kept)[2:] == [ColumnKind.SKIP] * 5 + [
        ColumnKind.CATEGORY,
        ColumnKind.DATE,
    ]
    assert ColumnKind.SKIP not in kinds(**{name: others[name] for name in ("last visit", "paid", "status")})


def test_tables_of_things_keep_all_though_somebody_made_or_sells_them() -> None:
    names, places = ("Mary Smith", "John Jones", "Linda Brown"), ("Paris", "Rome", "Oslo")
    hosts = kinds(
        name=("Loft by the sea", "Old barn", "Blue room"), host_name=names, price=("10", "20", "30")
    )
    assert ColumnKind.PRICE in hosts
    firms = kinds(company=("Acme", "Globex", "Initech"), contact_person=names, city=places)
    assert firms[0] is ColumnKind.COMPANY
    papers = kinds(title=("On sets", "Of maps", "A proof"), first_author=names, venue=("A", "B", "C"))
    assert papers == [ColumnKind.TEXT] * 3
    museum = kinds(Title=("Night", "Day", "Noon"), Artist=names, ArtistBirthYear=("1840", "1901", "1877"))
    assert museum[0] is ColumnKind.TEXT


def test_codes_are_told_from_words() -> None:
    # What numbers are called may mean something else where there are none.
    assert kinds(RC=("ano", "ne", "ne"))[0] is not ColumnKind.IDENTIFIER
    assert kinds(rc=("716223/5157", "670625/9956", "670625/9956")) == [ColumnKind.IDENTIFIER]
    hardly = Sample("mail", ("a@b.org",) * 3, filled_share=0.002)
    assert guess_kinds([hardly])[0].kind is ColumnKind.SKIP


def test_letters_of_sexes_mean_what_the_two_that_stand_there_mean() -> None:
    assert kinds(Neme=("F", "N", "N", "F", "N")) == [ColumnKind.SEX]
    assert kinds(Sukupuoli=("M", "N", "N")) == [ColumnKind.SEX]


def test_of_several_columns_the_most_usual_name_decides() -> None:
    titled = kinds(Anrede=("Herr", "Frau", "Frau"), Geschl=("m", "w", "w"))
    assert titled == [ColumnKind.SKIP, ColumnKind.SEX]
    looks = kinds(code=("716223/5157", "670625/9956", "670625/9956"), Tel=("518 351 735", "602 111 222", ""))
    assert looks == [ColumnKind.SKIP, ColumnKind.PHONE]


def test_addresses_in_one_column() -> None:
    whole = ("Lipová 12, 602 00 Brno", "Dlouhá 1179/15, 695 01 Hodonín, ČR", "Krátká 3, 110 00 Praha")
    assert kinds(given=("a", "b", "c"), Adresa=whole)[1] is ColumnKind.ADDRESS
    assert kinds(c1=whole) == [ColumnKind.ADDRESS]
    assert kinds(Adresa=("Lipová 12", "Dlouhá 15", "Krátká 3")) == [ColumnKind.STREET]
    assert kinds(Ort=("20095 Hamburg", "10115 Berlin", "Bonn")) == [ColumnKind.PLACE]
    assert kinds(**{"Straße, PLZ, Ort": whole}) == [ColumnKind.ADDRESS]
    assert kinds(**{"Mailová adresa": ("a@b.cz", "c@d.sk", "e@f.cz")}) == [ColumnKind.EMAIL]


def test_a_name_alone_may_be_whole_or_of_a_family_or_of_a_thing() -> None:
    whole = ("Mary Smith", "John Jones")
    assert kinds(name=whole) == [ColumnKind.NAME]
    assert kinds(name=("Smith", "Jones"), vorname=("Mary", "John")) == [ColumnKind.SURNAME, ColumnKind.GIVEN]
    assert kinds(name=("Zweckform 3475 A4", "Xerox 8R")) == [ColumnKind.TEXT]


def test_cells_can_contradict_a_name() -> None:
    assert kinds(email=("yes", "no")) != [ColumnKind.EMAIL]
    assert kinds(lat=("1", "2", "1")) != [ColumnKind.LATITUDE]
    assert kinds(birth=("Berlin", "Hamburg")) != [ColumnKind.BIRTH]


def test_an_id_has_all_cells_filled_and_different_and_there_is_one() -> None:
    assert kinds(id=("1", "1", "2")) == [ColumnKind.SKIP]
    assert kinds(id=("1", "2"), patient_id=("7", "8")) == [ColumnKind.ID, ColumnKind.SKIP]
    assert kinds(empty=("", "")) == [ColumnKind.SKIP]
    assert (
        kinds(phone=("030 123456", "040 123456"), mobile=("0171 123456", "0172 123456"))[1] is ColumnKind.SKIP
    )


@pytest.mark.parametrize(
    ("column", "cells", "meant", "why"),
    [
        ("lat", ("52° N", "48° N"), ColumnKind.LATITUDE, "decimal numbers of degrees"),
        ("Preis", ("ab 12", "ca. 3"), ColumnKind.PRICE, "numbers, such as 12.99"),
        ("Geburtsdatum", ("im Mai", "im Juni"), ColumnKind.BIRTH, "its name says birth"),
        ("birth year", ("MCM", "MCMI"), ColumnKind.BIRTH_YEAR, "its name says birth_year"),
    ],
)
def test_a_known_name_that_cells_contradict_is_a_word_to_the_owner(
    column: str, cells: tuple[str, ...], meant: ColumnKind, why: str
) -> None:
    nr, guess = guess_kinds([Sample("Nr", ("1", "2"), True), Sample(column, cells, True)])
    assert (nr.kind, guess.kind, guess.meant) == (ColumnKind.ID, ColumnKind.SKIP, meant)
    assert why in guess.note
    assert not any(cell in guess.note for cell in cells)


def test_a_known_name_decides_over_cells_that_are_all_different() -> None:
    plz = Sample("PLZ", ("10115", "1234 AB"), True)
    number = Sample("Aktenzeichen", ("K1", "K2"), True)
    assert [guess.kind for guess in guess_kinds([plz, number, Sample("id", ("7", "8"), True)])] == [
        ColumnKind.POSTCODE,
        ColumnKind.SKIP,
        ColumnKind.ID,
    ]
    assert kinds(cost_centre=("zx 7 qv", "qv 8 zx", "zx 7 qv")) == [ColumnKind.TEXT]


def test_one_row_does_not_make_dates_of_birth() -> None:
    visits = ("2026-03-01",) * 30
    assert kinds(c=visits) == kinds(c=(*visits, "1900-01-01")) == [ColumnKind.DATE]
    born = tuple(f"{year}-05-06" for year in range(1940, 2000))
    assert kinds(c=born) == kinds(c=born[1:]) == [ColumnKind.BIRTH]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["id", "name", "dob", "Ort", "price", "lat", "x", "", "=", "e-mail"])
            | st.text(max_size=9),
            st.lists(st.text(max_size=12) | st.dates().map(str) | st.floats().map(str), max_size=6),
        ),
        max_size=8,
    )
)
def test_any_table_has_a_guess_that_an_agreement_can_hold(table: list[tuple[str, list[str]]]) -> None:
    samples = [Sample(name, tuple(cells), len(set(cells)) == len(cells)) for name, cells in table]
    guesses = guess_kinds(samples)
    assert [guess.column for guess in guesses] == [name for name, _ in table]
    once = [
        guess.kind for guess in guesses if guess.kind not in SEVERAL and guess.kind is not ColumnKind.SKIP
    ]
    assert len(once) == len(set(once))
    assert all(guess.note for guess in guesses if guess.kind is ColumnKind.SKIP)


LANGUAGES = """
given: first_name Vorname prénom nombre nome voornaam imię förnamn
surname: last_name Nachname nom_de_famille apellidos cognome achternaam nazwisko efternamn sobrenome
birth_year: yob birth_year Geburtsjahr annee_naissance año_de_nacimiento anno_nascita geboortejaar födelseår
birth_month: birth_month Geburtsmonat mois_naissance mes_de_nacimiento geboortemaand
sex: gender Geschlecht sexe sexo sesso geslacht płeć kön
house: street_number Hausnummer huisnummer nr_domu husnummer numero_civico
city: suburb Wohnort ville ciudad città woonplaats miasto cidade
postcode: zip PLZ code_postal código_postal CAP postnummer kod_pocztowy
phone: mobile Telefon téléphone móvil cellulare telefoon telemóvel
age: age Alter edad età leeftijd idade wiek ålder
identifier: soc_sec_id ssn isbn ean iban NIR nhs_number PESEL personnummer
"""
CELLS = {
    "birth_year": ("1980", "1955", "-"), "birth_month": ("2", "12", "7"), "sex": ("1", "2", "9"),
    "house": ("5a", "7", "12-14"), "postcode": ("10115", "FR-75001", "k.A."), "age": ("30", "41", "7"),
    "phone": ("+33 1 23 45 67 89", "030/1234567", "-"), "identifier": ("123-45-6789", "12", "12"),
}  # fmt: skip


@pytest.mark.parametrize("line", LANGUAGES.strip().splitlines())
def test_headers_of_many_languages(line: str) -> None:
    kind, _, words = line.partition(": ")
    for word in words.split():
        (guess,) = guess_kinds([Sample(word, CELLS.get(kind, ("abc", "xyz", "abc")))])
        assert guess.kind == kind, word


def one(column: str, *cells: str) -> tuple[str, str]:
    (guess,) = guess_kinds([Sample(column, cells)])
    return guess.kind.value, guess.name


def test_a_web_address_is_called_by_its_last_part() -> None:
    assert one("http://x.org/ontology/birthYear", "1905-01-01", "1925-01-01") == ("birth_year", "")
    assert one("https://x.org/ontology#release_year/", "1995", "2001") == ("year", "")
    assert one("http://x.org/city/title", "Some film", "Another one") == ("text", "title")


def test_names_of_fields_come_of_the_vocabulary_alone() -> None:
    assert one("Hersteller", "Sony", "Bose") == one("manufacturer", "Sony", "Bose") == ("category", "brand")
    assert one("brand_name", "Sony", "Bose") == ("category", "brand")
    assert one("Projekt Falke", "a b c", "d e f") == ("text", "")
    found = guess_kinds([Sample("title", ("a b",)), Sample("Titel", ("c d",))])
    assert [guess.name for guess in found] == ["title", ""]


def test_numbers_with_a_check_digit_say_what_they_are() -> None:
    assert one("c", "9780306406157", "0-306-40615-2", "9783161484100") == ("identifier", "isbn")
    assert one("c", "4006381333931", "4006381333931", "5901234123457") == ("identifier", "ean")
    assert one("c", "GB82 WEST 1234 5698 7654 32", *["DE89370400440532013000"] * 2) == ("identifier", "iban")
    assert one("c", *["255081416802538"] * 3) == ("identifier", "ssn")
    assert one("c", "9780306406158", "1", "2")[0] != "identifier"


def test_parts_of_a_birth_are_known_together() -> None:
    years = tuple(str(year) for year in range(1940, 2000))
    numbers = tuple(str(1 + n % 12) for n in range(60))
    parts = ["birth_year", "birth_month", "birth_day"]
    assert kinds(by=years, bm=numbers, bd=numbers) == parts
    assert kinds(annee=years, mois=numbers, jour=numbers) == parts
    assert kinds(year=("2020",) * 60, month=numbers, day=numbers) != parts
    assert kinds(yob=years, mob=numbers, dob=numbers) == parts
    assert kinds(Geburtsdatum=years) == ["birth_year"]


def test_a_whole_name_is_left_out_beside_its_parts() -> None:
    whole = ("Mary Smith", "John Jones")
    given, surname = ("Mary", "John"), ("Smith", "Jones")
    found = kinds(first_name=given, surname=surname, first_and_surname=whole)
    assert found == ["given", "surname", "skip"]
    assert kinds(first_and_surname=whole) == ["name"]
    assert kinds(nome=("Maria Silva Santos", "Ana Souza")) == ["name"]
    assert kinds(apellido1=surname, apellido2=surname, nombre=given) == ["surname", "surname_2", "given"]


def test_marks_and_slips_lose_no_column() -> None:
    days = tuple(f"{day:02}.03.1980" for day in range(1, 20))
    assert kinds(geboren=(*days, "31.02.1980", *["k.A."] * 30, *["00.00.0000"] * 9)) == ["birth"]
    assert kinds(tel=("030 123456", "040 123456", "ask", *["-"] * 9)) == ["phone"]
    assert kinds(price=("$399.00", "1,299.00", "n/a")) == kinds(prix=("1.299,00 €", "12,-")) == ["price"]
    assert kinds(c=("yes", "no", "n/a", "Yes")) == kinds(c=("0", "1", "1")) == ["yesno"]
    assert kinds(sexe=("F", "H", "F")) == ["sex"]
    assert kinds(geboren=("-", "k.A.")) == ["skip"]


def test_a_column_that_hardly_has_a_cell_is_kept_only_if_it_is_agreed() -> None:
    sample = Sample("phone", ("030 123456",), filled_share=0.001)
    assert guess_kinds([sample])[0].meant is ColumnKind.PHONE
    assert guess_kinds([sample], keep_sparse=True)[0].kind is ColumnKind.PHONE


@pytest.mark.parametrize("cell", ["a" * 6_000, "€" + " " * 3_000 + "x", "5 " + "ab " * 2_000 + "!"])
@pytest.mark.parametrize("column", ["x7", "street", "price"])
def test_a_long_cell_is_judged_in_no_time_and_fits_no_pattern(column: str, cell: str) -> None:
    began = time.process_time()
    guess = guess_kinds([Sample(column, (cell,))])[0]
    assert time.process_time() - began < 1, "cubic time would be minutes"
    assert guess.kind in (ColumnKind.TEXT, ColumnKind.STREET if column == "street" else ColumnKind.SKIP)


def test_patterns_that_take_linear_time_still_find_streets_and_prices() -> None:
    streets = ("Hauptstr. 5", "12 High Street", "Am Markt 7 a", "10b Downing Street") * 3
    assert FITS[ColumnKind.PRICE](("€ 1.200,50", "Fr. 12.–", "−5 kr", "1'200.00 CHF", "Rs. 500")) == 1
    assert FITS[ColumnKind.PRICE](("EUR", "1 2 x", "5 - 6", " ")) == 0
    assert are_streets(streets) == 1
    assert are_streets(("Ab 5", "High Street", "5 ab", "12x")) == 0


DUTCH = {
    "lidnummer": ("81", "82", "83", "id"),
    "voorletters": ("J.P.", "M.", "K.L.", "skip"),
    "tussenvoegsel": ("van der", "", "de", "prefix"),
    "achternaam": ("Berg", "Smit", "Wit", "surname"),
    "roepnaam": ("Joop", "Mies", "Klaas", "given"),
    "Geb.jaar": ("1961", "1972", "1983", "birth_year"),
    "toevoeging": ("A", "bis", "", "skip"),
}
FIRMS = {
    "vendor_no": ("K7", "K8", "K9", "id"),
    "Company Name": ("Nordlicht Bau", "Ahorn Druck", "Elbe Papier", "company"),
    "PLZ/Ort": ("20095 Hamburg", "10115 Berlin", "01067 Dresden", "place"),
    "USt-IdNr.": ("DE111111111", "", "DE222222222", "identifier"),
    "Contact number": ("+49 40 123456", "+49 30 765432", "+49 351 998877", "phone"),
    "EMAIL_ADDR": ("a@x.de", "b@y.de", "c@z.de", "email"),
    "ADDR1": ("Ring 1", "Weg 2", "Gasse 3", "street"),
    "Type de cuisine": ("Thai", "Italian", "Thai", "category"),
}


@pytest.mark.parametrize("table", [DUTCH, FIRMS], ids=["dutch", "firms"])
def test_headers_of_several_words_say_what_they_are_of(table: dict[str, tuple[str, str, str, str]]) -> None:
    test_columns_are_taken_for_what_they_are(table)


@pytest.mark.parametrize(
    ("header", "cells", "kind"),
    [
        ("Date naiss.", ("01/02/1950", "03/04/1999"), "birth"),
        ("Fecha nac.", ("01/02/1950", "03/04/1999"), "birth"),
        ("Data nasc.", ("01/02/1950", "03/04/1999"), "birth"),
        ("Data ur.", ("1950.02.01", "1999.04.03"), "birth"),
        ("Geb.-Dat.", ("01.02.1950", "03.04.1999"), "birth"),
        ("Año nac.", ("1950", "1999"), "birth_year"),
        ("Nr telefonu", ("746-636-498", "512-000-111"), "phone"),
        ("Civilité", ("M.", "Mme"), "sex"),
        ("Title", ("Mr", "Miss"), "sex"),
        ("Tratamiento", ("Sr.", "Sra."), "sex"),
        ("Title", ("A Farewell to Arms", "Emma"), "text"),
        ("M.I.", ("A", "Q"), "middle"),
        ("Concelho", ("Faro", "Aveiro"), "city"),
        ("Postnr", ("411 03", "111 22"), "postcode"),
        ("Contribuinte", ("241521845", "202743111"), "identifier"),
    ],
)
def test_words_of_headers_in_many_languages(header: str, cells: tuple[str, ...], kind: str) -> None:
    (guess,) = guess_kinds([Sample(header, cells * 20)])
    assert guess.kind == kind


MIXED = {
    "RECORD_ID": ("1001", "1002", "1003", "id"),
    "PRIMARY_NAME_ORG": ("Acme Corp", "Zeta LLC", "Orion Ltd", "company"),
    "PRIMARY_NAME_LAST": ("Smith", "Jones", "Brown", "surname"),
    "PRIMARY_NAME_FIRST": ("Bob", "Mary", "Ann", "given"),
    "DATE_OF_BIRTH": ("12/11/1978", "11-Dec-1978", "1/2/1990", "birth"),
    "ADDR_LINE1": ("123 Main St", "45 Oak Ave", "7 Elm Rd", "street"),
    "ADDR_CITY": ("Las Vegas", "Reno", "Elko", "city"),
    "ADDR_STATE": ("NV", "CA", "OR", "category:region"),
    "ADDR_POSTAL_CODE": ("89111", "89222", "89333", "postcode"),
    "HOME_PHONE": ("702-919-1300", "702-555-1111", "702-555-2222", "phone"),
}
FIRM = {
    "account_id": ("A1", "A2", "A3", "id"),
    "account_name": ("Acme GmbH", "Beta SA", "Gamma", "company"),
    "billing_street": ("Main St 1", "Oak St 3", "Elm St 5", "street"),
    "billing_city": ("Bonn", "Köln", "Ulm", "city"),
    "billing_zip": ("53111", "50667", "89073", "postcode"),
    "shipping_city": ("Bonn", "Köln", "Ulm", "skip"),
    "strona www": ("www.acme.de", "beta.com", "gamma.eu", "text:website"),
    "Rechtsform": ("GmbH", "SA", "AG", "category:legal_form"),
    "Branche": ("Retail", "Metal", "Food", "category:industry"),
}
PREFIXED = {
    "kd_nr": ("1", "2", "3", "id"),
    "kd_vorname": ("Anna", "Lena", "Ida", "given"),
    "kd_name": ("Müller", "Schmidt", "Groß", "surname"),
    "kd_gebdat": ("01.02.1980", "03.04.1970", "05.06.1990", "birth"),
    "kd_ort": ("Bonn", "Köln", "Ulm", "city"),
}


@pytest.mark.parametrize("table", [MIXED, FIRM, PREFIXED], ids=["mixed", "firm", "prefixed"])
def test_first_words_that_say_whose_or_which_are_dropped(table: dict[str, tuple[str, str, str, str]]) -> None:
    some = {"PRIMARY_NAME_ORG": 0.2, "PRIMARY_NAME_LAST": 0.8, "PRIMARY_NAME_FIRST": 0.8}
    samples = [
        Sample(name, cells[:3], len(set(cells[:3])) == 3, filled_share=some.get(name, 1.0))
        for name, cells in table.items()
    ]
    found = {one.column: f"{one.kind}:{one.name}" if one.name else one.kind for one in guess_kinds(samples)}
    assert found == {name: cells[3] for name, cells in table.items()}


def test_a_first_word_that_says_what_stays() -> None:
    headers = ["birth_year", "birth_month", "street_number", "address_2", "party_name", "home_id"]
    assert without_qualifiers(headers) == headers
    assert without_qualifiers(["CUSTOMER_ADDRESS_CITY", "x_zip", "y_zip"]) == ["city", "x_zip", "y_zip"]


def test_the_word_that_says_most_names_a_field() -> None:
    (guess,) = guess_kinds([Sample("Type of cuisine", ("Thai", "Greek") * 20)])
    assert guess.name == "cuisine"


def _kinds(**columns: tuple[str, ...]) -> dict[str, ColumnKind]:
    found = guess_kinds([Sample(name, cells) for name, cells in columns.items()])
    return {guess.column: guess.kind for guess in found}


def test_remarks_about_people_are_left_out_and_those_about_things_are_not() -> None:
    remarks = ("called twice", "no answer", "pays later")
    people = _kinds(Vorname=("Anna", "Lena", "Ida"), Bemerkung=remarks, Allerlei=remarks)
    assert (people["Bemerkung"], people["Allerlei"]) == (ColumnKind.SKIP, ColumnKind.SKIP)
    assert _kinds(titel=("Die Tür", "Der Hof", "Das Amt"), notas=remarks)["notas"] is ColumnKind.TEXT
    kept = guess_kinds([Sample("Vorname", ("Anna", "Lena")), Sample("Bemerkung", remarks)], keep_sparse=True)
    assert kept[1].kind is ColumnKind.TEXT


def test_a_column_whose_cells_are_all_the_same_is_left_out_unless_they_are_few() -> None:
    land = {"Land": ("Spain",) * 30}
    assert _kinds(**land)["Land"] is ColumnKind.SKIP
    assert _kinds(Land=("Spain",) * 3)["Land"] is ColumnKind.CATEGORY
    # A town may be the one that only one side's people live in.
    assert _kinds(Wohnort=("Bonn",) * 30)["Wohnort"] is ColumnKind.CITY


def test_a_birth_that_cannot_be_read_is_no_street() -> None:
    (found,) = guess_kinds([Sample("F. nacimiento", ("3 mayomes 1980", "12 juniomes 1999", "7 xyz 1940"))])
    assert found.kind is ColumnKind.SKIP
    assert found.meant is ColumnKind.BIRTH


def test_months_in_words_are_dates_of_birth() -> None:
    cells = ("3 de mayo de 1980", "12 de junio de 1999", "7 de enero de 1940", "1 de abril de 1971")
    assert _kinds(**{"F. nacimiento": cells})["F. nacimiento"] is ColumnKind.BIRTH


@pytest.mark.parametrize(
    ("column", "kind"),
    [("Nazw.", "surname"), ("Miejsc.", "city"), ("Cogn.", "surname"), ("Indir.", "street")],
)
def test_a_name_that_ends_in_a_full_stop_is_short_for_a_word(column: str, kind: str) -> None:
    (guess,) = guess_kinds([Sample(column, ("Lange Gasse", "Am Ring", "Winkel", "Hohe Mark"))])
    assert guess.kind == kind
    assert guess_kinds([Sample(column.rstrip("."), ("x1", "y2", "x1"))])[0].kind != kind


def test_slips_do_not_lose_a_column_of_births() -> None:
    cells = ("1880-01-02", "17.05.1860", "1799-12-31", "18x9-01-01") * 10
    assert kinds(id=tuple(map(str, range(40))), dob=cells)[1] is ColumnKind.BIRTH
    assert kinds(id=tuple(map(str, range(40))), dob=("1880-01-02 10:15",) * 40)[1] is ColumnKind.SKIP


@pytest.mark.parametrize(
    ("cells", "limits"),
    [
        (("31.01.62", "01.02.25", "03.04.11"), ("1900-01-01", "2026-12-31")),
        (("1880-01-02", "1799-12-31", "1801", "x"), ("1700-01-01", "2026-12-31")),
    ],
)
def test_the_range_of_births_ends_this_year(cells: tuple[str, ...], limits: tuple[str, str]) -> None:
    fields = find_fields(change(take_guesses(guess_kinds([Sample("dob", cells)])), ["dob=birth"]))
    assert suggest(fields, [Sample("dob", cells)], date(2026, 11, 19)).ranges == {"birth": limits}


def test_codes_and_places_are_no_names_of_people() -> None:
    many = tuple(f"P{n:05}" for n in range(40))
    assert kinds(given=("Ann", "Bob") * 20, surname=many)[1] not in (ColumnKind.SURNAME, ColumnKind.NAME)
    assert kinds(name=tuple(f"P{n % 9:05}" for n in range(40)))[0] is not ColumnKind.NAME
    counties = ("Washington", "Jefferson", "Franklin", "Jackson") * 10
    sites = kinds(x=tuple(f"S{n}" for n in range(40)), c=counties, lat=("52.5200", "48.1371") * 20)
    assert sites[1] is ColumnKind.CATEGORY
    people = kinds(x=tuple(f"S{n}" for n in range(40)), c=counties, sex=("f", "m") * 20)
    assert people[1] in (ColumnKind.GIVEN, ColumnKind.SURNAME)


@pytest.mark.parametrize(
    ("header", "cells", "guess"),
    [
        ("Duração", ("160 min", "95 min"), ("number", "runtime")),
        ("Länge", ("160 min", "95 min"), ("skip", "")),
        ("Realizador", ("Ana Reis", "Rui Pinto"), ("text", "director")),
        ("Género", ("Comédia", "Drama"), ("category", "genre")),
        ("Género", ("M", "F"), ("sex", "")),
        ("födelseförsamling", ("Vallsta", "Nyköping"), ("category", "birth_place")),
        ("birth_state", ("PA", "GA"), ("category", "birth_place")),
        ("Freguesia", ("Sé", "Lapa"), ("category", "parish")),
        ("C.POSTAL", ("25601", "43940"), ("postcode", "")),
        ("cod_postal", ("25601", "43940"), ("postcode", "")),
        ("modalità_pagamento", ("assegno", "RID"), ("category", "payment")),
        ("oprichtingsdatum", ("19-11-1988", "21-10-2006"), ("date", "founded")),
    ],
)
def test_public_names_of_things_and_places(
    header: str, cells: tuple[str, ...], guess: tuple[str, str]
) -> None:
    assert one(header, *cells * 20) == guess


def test_suffixes_of_names_are_no_names() -> None:
    people = {"last": ("Lee", "Poe", "Ash"), "first": ("Ann", "Bob", "Cy")}
    for header, cells in {"name_suffix_lbl": ("JR", "III", "x"), "gen": ("JR", "SR", "II")}.items():
        (*_, guess) = guess_kinds([Sample(n, c * 9) for n, c in {**people, header: cells}.items()])
        assert guess.kind is ColumnKind.SKIP
        assert "a suffix of names" in guess.note
    assert one("stage", *("I", "II", "III") * 30)[0] == "category"


def test_of_people_a_second_column_of_the_same_name_is_left_out() -> None:
    table = {
        "first": ("Ann", "Bob"),
        "last": ("Lee", "Poe"),
        "dob": ("1950-01-02", "1960-02-03"),
        "country": ("A", "B"),
        "country_code": ("C", "D"),
    }
    (*_, guess) = guess_kinds([Sample(name, cells * 20) for name, cells in table.items()])
    assert (guess.kind, guess.note) == (ColumnKind.SKIP, "another column is taken for country")
