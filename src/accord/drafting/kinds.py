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


class Kind(StrEnum):
    """What the cells of a column are."""

    GIVEN = "given"
    SURNAME = "surname"
    MIDDLE = "middle"
    NAME = "name"
    BIRTH = "birth"
    SEX = "sex"
    STREET = "street"
    CITY = "city"
    POSTCODE = "postcode"
    PHONE = "phone"
    EMAIL = "email"
    IDENTIFIER = "identifier"
    CATEGORY = "category"
    DATE = "date"
    TEXT = "text"
    PRICE = "price"
    LATITUDE = "latitude"
    LONGITUDE = "longitude"
    ID = "id"
    SKIP = "skip"


MEANINGS = {
    Kind.GIVEN: "given name",
    Kind.SURNAME: "family name",
    Kind.MIDDLE: "middle name",
    Kind.NAME: "whole name of a person",
    Kind.BIRTH: "date of birth",
    Kind.SEX: "sex",
    Kind.STREET: "street, with or without its number",
    Kind.CITY: "city",
    Kind.POSTCODE: "postcode",
    Kind.PHONE: "phone number",
    Kind.EMAIL: "email address",
    Kind.IDENTIFIER: "a number that both sides know, such as an insurance or article number",
    Kind.CATEGORY: "one of some values, such as a brand",
    Kind.DATE: "another date",
    Kind.TEXT: "free text, such as the name of a product",
    Kind.PRICE: "price, a plain number",
    Kind.LATITUDE: "degrees north",
    Kind.LONGITUDE: "degrees east",
    Kind.ID: "names the record; the partner sees it for matches",
    Kind.SKIP: "left out",
}
OF_PEOPLE = frozenset({Kind.GIVEN, Kind.SURNAME, Kind.NAME, Kind.BIRTH})
"""Where one of these is, records are about people."""
SEVERAL = frozenset({Kind.IDENTIFIER, Kind.CATEGORY, Kind.DATE, Kind.TEXT, Kind.PRICE})
"""May stand several times, and be named."""
LOCAL = frozenset({Kind.ID, Kind.SKIP})
"""Never in an agreement."""


@dataclass(frozen=True)
class Confirmed:
    """What an owner says of a column: its type and, where that has no name of its own, an agreed name."""

    kind: Kind
    name: str = ""


def read_kind(text: str) -> Confirmed:
    """A type as it is typed: `surname`, or with a name of its own `category:brand`."""
    word, colon, name = (part.strip() for part in text.partition(":"))
    known = [kind.value for kind in Kind]
    if word.lower() not in known:
        hint = did_you_mean(word, known, f"Types are: {', '.join(known)}.")
        raise UsageError(problem=f"'{word}' is not a column type. {hint}")
    kind = Kind(word.lower())
    if colon and kind not in SEVERAL:
        names = ", ".join(sorted(SEVERAL))
        raise UsageError(problem=f"'{text}': a {kind} has its own name; only {names} can be named.")
    if colon and not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(problem=f"'{text}': a name has letters, digits and _, and begins with a letter.")
    return Confirmed(kind, name)


_NAMES = {
    Kind.ID: (
        "id rowid recordid recid pid uid uuid key nr no num number nummer lfdnr row index identifiant "
        "patientid patientno patientnr personid personnr customerid customerno kundennummer kundennr "
        "kundenid clientid memberid productid itemid recordno recordnr laufnummer datensatz codigo "
        "sku articlenumber partnumber artikelnummer artnr"
    ),
    Kind.GIVEN: (
        "given givenname first firstname fname forename forenames christianname vorname vornamen "
        "rufname prenom nombre nome primernombre namefirst"
    ),
    Kind.SURNAME: (
        "surname last lastname lname familyname family nachname familienname zuname nomdefamille "
        "apellido apellidos cognome namelast"
    ),
    Kind.MIDDLE: (
        "middle middlename mname secondname middleinitial zweitername zweitname zweitvorname deuxiemeprenom"
    ),
    Kind.NAME: (
        "name person patient customer client kunde mitglied "
        "fullname wholename personname patientname customername clientname vollername nom "
        "nombrecompleto nomecompleto"
    ),
    Kind.BIRTH: (
        "birth geb dob birthdate dateofbirth birthday bdate born geburtsdatum gebdatum gebdat geburtstag "
        "geboren gebam datedenaissance naissance datenaissance fechanacimiento fechadenacimiento "
        "nacimiento datadinascita datanascita"
    ),
    Kind.SEX: ("sex gender sexcode gendercode geschlecht sexe genre sexo genero sesso"),
    Kind.STREET: (
        "street streetname streetaddress address address1 addressline1 addr strasse str anschrift "
        "adresse rue calle direccion via indirizzo"
    ),
    Kind.CITY: (
        "city town place placename municipality suburb ort wohnort stadt gemeinde ville commune "
        "ciudad localidad citta comune"
    ),
    Kind.POSTCODE: ("postcode postalcode zip zipcode zip5 plz postleitzahl codepostal codigopostal cp cap"),
    Kind.PHONE: (
        "phone phonenumber phoneno telephone tel telno mobile mobilephone cell cellphone telefon "
        "telefonnummer telefonnr handy handynummer mobil mobilnummer rufnummer portable telefono "
        "movil cellulare"
    ),
    Kind.EMAIL: ("email mail emailaddress mailaddress emailadresse courriel correo correoelectronico"),
    Kind.IDENTIFIER: (
        "ssn socialsecuritynumber nhsnumber nhs nino nationalid nationalnumber passport "
        "passportnumber insurancenumber insuranceno medicareid taxid vat vatid gtin ean ean13 upc "
        "isbn issn doi mpn modelno modelnumber versichertennummer "
        "versicherungsnummer kvnr rvnr sozialversicherungsnummer steuerid steuernummer ausweisnummer "
        "dni nif iban imei vin"
    ),
    Kind.LATITUDE: ("latitude lat breite breitengrad geobreite latitud latitudine"),
    Kind.LONGITUDE: ("longitude lon lng long laenge lange langengrad geolange longitud longitudine"),
    Kind.PRICE: (
        "price amount cost unitprice listprice msrp preis betrag verkaufspreis einzelpreis vkpreis "
        "prix montant precio importe prezzo"
    ),
    Kind.DATE: (
        "date day datum tag jour fecha giorno pickupdate orderdate saledate admission admissiondate "
        "visitdate created createdat timestamp aufnahmedatum kaufdatum"
    ),
    Kind.CATEGORY: (
        "category brand maker manufacturer vendor type kind class group department status country "
        "state region colour color size language nationality kategorie marke hersteller art typ "
        "klasse gruppe abteilung land bundesland farbe groesse sprache staatsangehorigkeit categorie "
        "marque fabricant pays categoria marca pais"
    ),
    Kind.TEXT: (
        "title description product productname item itemname text comment comments note notes remarks "
        "venue authors bezeichnung beschreibung artikel artikelname produkt produktname titel "
        "bemerkung kommentar libelle titulo descripcion producto descrizione prodotto titolo"
    ),
}
WORDS = {kind: frozenset(names.split()) for kind, names in _NAMES.items()}
ENDINGS = (
    ("vorname", Kind.GIVEN),
    ("nachname", Kind.SURNAME),
    ("geburtsdatum", Kind.BIRTH),
    ("datum", Kind.DATE),
    ("strasse", Kind.STREET),
    ("preis", Kind.PRICE),
    ("telefon", Kind.PHONE),
)
"""German joins words."""
