"""What columns are called: in English, German, French, Spanish and Italian, written without blanks, accents
and capitals. Data alone, so that a language is added by adding words."""

from __future__ import annotations

from accord.drafting.kinds import Kind

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
