"""The types that a column can have for a draft: words that people say, and how columns are called.

A type is all that a draft learns of a column. Those of people (and `latitude`, `longitude`) stand once in an
agreement, under their own name; the others may stand several times, and their owner may name them.

Columns are called by words in English, German, French, Spanish and Italian, written without blanks, accents
and capitals. That is data alone, so that a language is added by adding words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from accord.errors import UsageError
from accord.fields.schema import NAME_PATTERN
from accord.wording import did_you_mean


class ColumnKind(StrEnum):
    """What the cells of a column are."""

    GIVEN = "given"
    SURNAME = "surname"
    SURNAME_2 = "surname_2"
    MIDDLE = "middle"
    NAME = "name"
    BIRTH = "birth"
    BIRTH_YEAR = "birth_year"
    BIRTH_MONTH = "birth_month"
    BIRTH_DAY = "birth_day"
    AGE = "age"
    SEX = "sex"
    STREET = "street"
    HOUSE = "house"
    CITY = "city"
    POSTCODE = "postcode"
    PHONE = "phone"
    EMAIL = "email"
    IDENTIFIER = "identifier"
    CATEGORY = "category"
    YESNO = "yesno"
    DATE = "date"
    YEAR = "year"
    TEXT = "text"
    PRICE = "price"
    NUMBER = "number"
    LATITUDE = "latitude"
    LONGITUDE = "longitude"
    ID = "id"
    SKIP = "skip"


MEANINGS = {
    ColumnKind.GIVEN: "given name",
    ColumnKind.SURNAME: "family name",
    ColumnKind.SURNAME_2: "second family name",
    ColumnKind.MIDDLE: "middle name",
    ColumnKind.NAME: "whole name of a person",
    ColumnKind.BIRTH: "date of birth",
    ColumnKind.BIRTH_YEAR: "year of birth",
    ColumnKind.BIRTH_MONTH: "its month, in a column of its own",
    ColumnKind.BIRTH_DAY: "its day, in a column of its own",
    ColumnKind.AGE: "age",
    ColumnKind.SEX: "sex",
    ColumnKind.STREET: "street, with or without its number",
    ColumnKind.HOUSE: "number of the house",
    ColumnKind.CITY: "city",
    ColumnKind.POSTCODE: "postcode",
    ColumnKind.PHONE: "phone number",
    ColumnKind.EMAIL: "email address",
    ColumnKind.IDENTIFIER: "a number that both sides know, such as an insurance or article number",
    ColumnKind.CATEGORY: "one of some values, such as a brand",
    ColumnKind.YESNO: "yes or no",
    ColumnKind.DATE: "another date",
    ColumnKind.YEAR: "another year",
    ColumnKind.TEXT: "free text, such as the name of a product",
    ColumnKind.PRICE: "price, a plain number",
    ColumnKind.NUMBER: "another number",
    ColumnKind.LATITUDE: "degrees north",
    ColumnKind.LONGITUDE: "degrees east",
    ColumnKind.ID: "names the record; the partner sees it for matches",
    ColumnKind.SKIP: "left out",
}
OF_PEOPLE = frozenset(
    {ColumnKind.GIVEN, ColumnKind.SURNAME, ColumnKind.NAME, ColumnKind.BIRTH, ColumnKind.BIRTH_YEAR}
)
"""Where one of these is, records are about people."""
SEVERAL = frozenset(
    {ColumnKind.IDENTIFIER, ColumnKind.CATEGORY, ColumnKind.YESNO, ColumnKind.DATE, ColumnKind.YEAR}
    | {ColumnKind.TEXT, ColumnKind.PRICE, ColumnKind.NUMBER}
)
"""May stand several times, and be named."""
PARTS = frozenset({ColumnKind.BIRTH_MONTH, ColumnKind.BIRTH_DAY, ColumnKind.AGE, ColumnKind.HOUSE})
"""Of fields that other columns belong to as well; never in an agreement by themselves."""
LOCAL = frozenset({ColumnKind.ID, ColumnKind.SKIP})
"""Never in an agreement."""


@dataclass(frozen=True)
class Confirmed:
    """What an owner says of a column: its type and, where that has no name of its own, an agreed name."""

    kind: ColumnKind
    name: str = ""


def read_kind(text: str) -> Confirmed:
    """A type as it is typed: `surname`, or with a name of its own `category:brand`."""
    word, colon, name = (part.strip() for part in text.partition(":"))
    known = [kind.value for kind in ColumnKind]
    if word.lower() not in known:
        hint = did_you_mean(word, known, f"Types are: {', '.join(known)}.")
        raise UsageError(problem=f"'{word}' is not a column type. {hint}")
    kind = ColumnKind(word.lower())
    if colon and kind not in SEVERAL:
        names = ", ".join(sorted(SEVERAL))
        raise UsageError(problem=f"'{text}': a {kind} has its own name; only {names} can be named.")
    if colon and not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(problem=f"'{text}': a name has letters, digits and _, and begins with a letter.")
    return Confirmed(kind, name)


_NAMES = {
    ColumnKind.ID: (
        "id rowid recordid recid pid uid uuid key nr no num number nummer lfdnr row index identifiant "
        "patientid patientno patientnr personid personnr customerid customerno kundennummer kundennr "
        "kundenid clientid memberid productid itemid recordno recordnr laufnummer datensatz codigo "
        "sku articlenumber partnumber artikelnummer artnr"
    ),
    ColumnKind.GIVEN: (
        "given givenname first firstname fname forename forenames christianname vorname vornamen "
        "rufname prenom nombre nome primernombre namefirst"
    ),
    ColumnKind.SURNAME: (
        "surname last lastname lname familyname family nachname familienname zuname nomdefamille "
        "apellido apellidos cognome namelast"
    ),
    ColumnKind.MIDDLE: (
        "middle middlename mname secondname middleinitial zweitername zweitname zweitvorname deuxiemeprenom"
    ),
    ColumnKind.NAME: (
        "name person patient customer client kunde mitglied "
        "fullname wholename personname patientname customername clientname vollername nom "
        "nombrecompleto nomecompleto"
    ),
    ColumnKind.BIRTH: (
        "birth geb dob birthdate dateofbirth birthday bdate born geburtsdatum gebdatum gebdat geburtstag "
        "geboren gebam datedenaissance naissance datenaissance fechanacimiento fechadenacimiento "
        "nacimiento datadinascita datanascita"
    ),
    ColumnKind.SEX: ("sex gender sexcode gendercode geschlecht sexe genre sexo genero sesso"),
    ColumnKind.STREET: (
        "street streetname streetaddress address address1 addressline1 addr strasse str anschrift "
        "adresse rue calle direccion via indirizzo"
    ),
    ColumnKind.CITY: (
        "city town place placename municipality suburb ort wohnort stadt gemeinde ville commune "
        "ciudad localidad citta comune"
    ),
    ColumnKind.POSTCODE: (
        "postcode postalcode zip zipcode zip5 plz postleitzahl codepostal codigopostal cp cap"
    ),
    ColumnKind.PHONE: (
        "phone phonenumber phoneno telephone tel telno mobile mobilephone cell cellphone telefon "
        "telefonnummer telefonnr handy handynummer mobil mobilnummer rufnummer portable telefono "
        "movil cellulare"
    ),
    ColumnKind.EMAIL: ("email mail emailaddress mailaddress emailadresse courriel correo correoelectronico"),
    ColumnKind.IDENTIFIER: (
        "ssn socialsecuritynumber nhsnumber nhs nino nationalid nationalnumber passport "
        "passportnumber insurancenumber insuranceno medicareid taxid vat vatid gtin ean ean13 upc "
        "isbn issn doi mpn modelno modelnumber versichertennummer "
        "versicherungsnummer kvnr rvnr sozialversicherungsnummer steuerid steuernummer ausweisnummer "
        "dni nif iban imei vin"
    ),
    ColumnKind.LATITUDE: ("latitude lat breite breitengrad geobreite latitud latitudine"),
    ColumnKind.LONGITUDE: ("longitude lon lng long laenge lange langengrad geolange longitud longitudine"),
    ColumnKind.PRICE: (
        "price amount cost unitprice listprice msrp preis betrag verkaufspreis einzelpreis vkpreis "
        "prix montant precio importe prezzo"
    ),
    ColumnKind.DATE: (
        "date day datum tag jour fecha giorno pickupdate orderdate saledate admission admissiondate "
        "visitdate created createdat timestamp aufnahmedatum kaufdatum"
    ),
    ColumnKind.CATEGORY: (
        "category brand maker manufacturer vendor type kind class group department status country "
        "state region colour color size language nationality kategorie marke hersteller art typ "
        "klasse gruppe abteilung land bundesland farbe groesse sprache staatsangehorigkeit categorie "
        "marque fabricant pays categoria marca pais"
    ),
    ColumnKind.TEXT: (
        "title description product productname item itemname text comment comments note notes remarks "
        "venue authors bezeichnung beschreibung artikel artikelname produkt produktname titel "
        "bemerkung kommentar libelle titulo descripcion producto descrizione prodotto titolo"
    ),
}
WORDS = {kind: frozenset(names.split()) for kind, names in _NAMES.items()}
ENDINGS = (
    ("vorname", ColumnKind.GIVEN),
    ("nachname", ColumnKind.SURNAME),
    ("geburtsdatum", ColumnKind.BIRTH),
    ("datum", ColumnKind.DATE),
    ("strasse", ColumnKind.STREET),
    ("preis", ColumnKind.PRICE),
    ("telefon", ColumnKind.PHONE),
)
"""German joins words."""
