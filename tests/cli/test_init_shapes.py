"""Tables as people have them: the same people, written in six ways, are the same to an agreement."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.agreement.file import read_agreement
from accord.drafting.confirming import explain, find_fields, take_guesses
from accord.drafting.guessing import guess_kinds
from accord.drafting.sampling import look_at
from accord.fields.showing import show_values
from accord.table.layout import Layout, read_layout
from accord.table.sniffing import sniff_text
from tests.cli.terminal import accord

FIELDS = {
    "given": 'type = "text"\nclean = ["accents", "letters only"]\nencoder = "hash"',
    "surname": 'type = "text"\nclean = ["accents", "letters only"]\nencoder = "hash"',
    "birth": 'type = "date"\nmin = 1900-01-01\nmax = 2029-12-31\nother = "missing"',
    "sex": 'type = "category"\nvalues = ["f", "m"]\nother = "missing"',
    "postcode": 'type = "text"\nclean = ["spaces"]\nencoder = "hash"',
    "city": 'type = "text"\nencoder = "hash"',
    "phone": 'type = "text"\nclean = ["digits only"]\nderive = { suffix = 7 }\nencoder = "hash"',
    "street": 'type = "text"\nclean = ["punctuation"]\nencoder = { kind = "bloom", bits = 64, hashes = 1, '
    "grams = 2 }",
}
HEAD = """\
version = 2
salt = "00000000"
engine = "ot"
rule = "same(surname)"
[parties]
A = "one"
B = "other"
[protocol]
name = "all-pairs"
greedy = false
"""
AGREED = HEAD + "".join(f'[fields.{name}]\n{text}\nmissing = "differs"\n' for name, text in FIELDS.items())

GERMAN = """\
Kd-Nr;Vorname;Nachname;Geburtsdatum;Geschlecht;Straße;Hausnr.;PLZ;Wohnort;Telefon
K1;Anna;Müller;29.02.1980;w;Ringstr.;5a;D-10115;Berlin;+49 30 1234567
K2;John;Smith;01.12.1955;m;Hofgasse;7;D-80331;München;089/7654321
K3;Maria;Jones;17.05.1999;weiblich;Am Markt;12;D-20095;Hamburg;k.A.
K4;David;Brown;k.A.;unbekannt;-;-;-;Köln;030 9999888
"""
FRENCH = """\
identifiant\tnom complet\tjour_naissance\tmois_naissance\tannee_naissance\tsexe\tadresse\tCP\tville\ttél.
1\tMÜLLER Anna\t29\t2\t1980\tF\tRingstr. 5a\t10115\tBerlin\t+49301234567
2\tSMITH John\t1\t12\t1955\tH\tHofgasse 7\t80331\tMünchen\t+33897654321
3\tJONES Maria\t17\t5\t1999\tF\tAm Markt 12\t20095\tHamburg\tinconnu
4\tBROWN David\t\t\t\tinconnu\t\t\tKöln\t0309999888
"""
AMERICAN = """\
rec_id,full_name,dob,Gender,street_number,address_1,zip,city,phone_home
r1,"Müller, Anna",02/29/1980,Female,5a,Ringstr.,10115,Berlin,(030) 123-4567
r2,"Smith, John",12/01/1955,Male,7,Hofgasse,80331,München,089 765 4321
r3,"Jones, Maria",05/17/1999,Female,12,Am Markt,20095,Hamburg,N/A
r4,"Brown, David",01/01/1900,U,,,00000,Köln,030 999 9888
r5,"Stone, Emma",01/01/1900,U,,,00000,Köln,030 999 0000
r6,"Wood, James",01/01/1900,U,,,00000,Köln,030 999 1111
"""
SPANISH = """\
código|nombre|apellidos|fecha de nacimiento|sexo|dirección|código postal|ciudad|móvil
1|Anna|Müller|1980-02-29|mujer|Ringstr. 5a|10115|Berlin|301234567
2|John|Smith|1955-12-01|hombre|Hofgasse 7|80331|München|897654321
3|Maria|Jones|1999-05-17|mujer|Am Markt 12|20095|Hamburg|s/d
4|David|Brown|0000-00-00|desconocido|s/d|s/d|Köln|309999888
"""
POLISH = """\
lp;imię;nazwisko;by;bm;bd;płeć;ulica;nr domu;kod pocztowy;miasto;telefon
1;Anna;Müller;1980;02;29;K;Ringstr.;5a;10115;Berlin;301234567
2;John;Smith;1955;12;01;M;Hofgasse;7;80331;München;897654321
3;Maria;Jones;1999;05;17;K;Am Markt;12;20095;Hamburg;brak danych
4;David;Brown;0000;00;00;?;brak danych;;brak danych;Köln;309999888
"""
DUTCH = """\
"klantnr";"voornaam";"achternaam";"geboortedatum";"geslacht";"adres";"postcode";"woonplaats";"mobiel"
"1";"Anna";"Müller";"29-02-1980";"V";"Ringstr. 5a";"10115";"Berlin";"06-301234567"
"2";"John";"Smith";"01-12-1955";"M";"Hofgasse 7";"80331";"München";"06-897654321"
"3";"Maria";"Jones";"17-05-1999";"vrouw";"Am Markt 12";"20095";"Hamburg";"onbekend"
"4";"David";"Brown";"n.v.t.";"onbekend";"";"";"Köln";"06-309999888"
"""
TABLES = {
    "german": (GERMAN, "cp1252"),
    "french": (FRENCH, "utf-8"),
    "american": (AMERICAN, "utf-8-sig"),
    "spanish": (SPANISH, "utf-16"),
    "polish": (POLISH, "utf-8"),
    "dutch": (DUTCH, "cp1252"),
}
PEOPLE = {
    "given": ["anna", "john", "maria", "david"],
    "surname": ["muller", "smith", "jones", "brown"],
    "birth": ["1980-02-29", "1955-12-01", "1999-05-17"],
    "sex": ["f", "m"],
    "postcode": ["10115", "80331", "20095"],
    "city": ["berlin", "münchen", "hamburg", "köln"],
    "phone": ["1234567", "7654321", "9999888"],
}


@pytest.mark.parametrize("name", TABLES)
def test_the_same_people_are_the_same_however_they_are_written(tmp_path: Path, name: str) -> None:
    text, encoding = TABLES[name]
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    (tmp_path / "agreement.toml").write_text(AGREED)
    done = accord(tmp_path, "init", "--from", "t.csv", "--for", "agreement.toml", "--yes")
    assert done.returncode == 0, done.stderr
    layout = read_layout(tmp_path / "t.csv.layout.toml")
    fields = read_agreement(tmp_path / "agreement.toml").fields
    for field, wanted in PEOPLE.items():
        values = show_values(tmp_path / "t.csv", field, fields, layout)
        found = dict.fromkeys(one.after for one in values if one.after is not None)
        assert [*found][: len(wanted)] == wanted, field
        assert name == "american" or len(found) == len(wanted), field
    assert "5a" in str(show_values(tmp_path / "t.csv", "street", fields, layout)[0].after)
    assert accord(tmp_path, "check", "agreement.toml", "t.csv").returncode == 0


@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_left_open(tmp_path: Path, name: str) -> None:
    """A draft has all fields, and no column is left out."""
    text, encoding = TABLES[name]
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    columns = take_guesses(guess_kinds(look_at(path, sniff_text(path, Layout(), (), ())).samples))
    fields = {one.is_.name for one in find_fields(columns)}
    names = {"name"} if name in ("french", "american") else {"given", "surname"}
    assert fields == names | {"birth", "sex", "postcode", "city", "phone", "street"}
    assert not [one.tell() for one in explain(columns, None) if one.note]


def test_codes_of_sexes_that_only_their_owner_can_read_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{n},Ann,Lee,{'VM'[n % 2]},0301234567\n" for n in range(40))
    (tmp_path / "t.csv").write_text("id,given,surname,sex,phone\n" + rows)
    (tmp_path / "agreement.toml").write_text(AGREED)
    fit = ("init", "--from", "t.csv", "--for", "agreement.toml", "--yes")
    done = accord(tmp_path, *fit)
    assert done.returncode == 4
    assert "column 'sex': has the codes V and M." in done.stderr
    said = '[columns]\nsex = { column = "sex", values = { v = "m", m = "f" } }\n'
    (tmp_path / "own.toml").write_text(said)
    done = accord(tmp_path, *fit, "--layout", "own.toml")
    assert done.returncode == 0, done.stderr
    assert read_layout(tmp_path / "t.csv.layout.toml").source("sex").values == {"v": "m", "m": "f"}


def test_what_a_table_lacks_is_absent_and_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,given,surname,sex\n1,Ann,Lee,f\n2,Bob,Poe,m\n")
    (tmp_path / "agreement.toml").write_text(AGREED)
    fit = ("init", "--from", "t.csv", "--for", "agreement.toml", "--yes", "--force")
    done = accord(tmp_path, *fit)
    assert done.returncode == 0, done.stderr
    assert "No column is taken for phone: every record counts as having none." in done.stderr
    assert read_layout(tmp_path / "t.csv.layout.toml").source("phone").absent
    strict = AGREED.replace(
        'suffix = 7 }\nencoder = "hash"\nmissing = "differs"', 'suffix = 7 }\nencoder = "hash"'
    )
    (tmp_path / "agreement.toml").write_text(strict)
    done = accord(tmp_path, *fit)
    assert done.returncode == 4
    assert "field 'phone': has no column. Say which: --type COLUMN=phone" in done.stderr
    assert "no phone may be missing" in done.stderr


SHOP = HEAD.replace("surname", "isbn") + "".join(
    f'[fields.{name}]\ntype = "{type_}"\nmissing = "differs"\n'
    for name, type_ in {
        "isbn": 'text"\nencoder = "hash',
        "title": 'text"\nencoder = "hash',
        "brand": 'text"\nencoder = "hash',
        "text": 'text"\nencoder = "hash',
        "text_2": 'text"\nencoder = "hash',
        "wattage": 'number"\nmin = 0\nmax = 5000\nstep = 1\nother = "missing',
        "birth_year": 'number"\nmin = 1900\nmax = 2029\nstep = 1\nother = "missing',
        "price": 'number"\nmin = 0\nmax = 100000\nstep = 0.01\nother = "missing',
    }.items()
)


def test_things_are_found_by_vocabulary_and_by_name_and_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "agreement.toml").write_text(SHOP)
    (tmp_path / "t.csv").write_text(
        "Artikelnummer;Bezeichnung;Hersteller;Zustandsangabe;Wattage;Preis;Strichcode;Alter;Lagerplatz\n"
        "1;Lampe A;Osram;wie neu, Karton fehlt;60 W;1.299,00 €;9780306406157;30;links oben\n"
        "2;Lampe B;Philips;gut erhalten;40 W;12,50 €;9783161484100;31;rechts unten\n"
        "3;Lampe C;Osram;sehr gut, Kratzer;25 W;12,- €;9780306406157;32;rechts oben\n"
    )
    fit = ("init", "--from", "t.csv", "--for", "agreement.toml", "--yes", "--as-of", "2024-06-30")
    done = accord(tmp_path, *fit, "--type", "Strichcode=identifier:isbn", "--type", "Wattage=number")
    assert done.returncode == 0, done.stderr
    assert "No column is taken for text_2: every record counts as having none (it may be" in done.stderr
    assert "'Zustandsangabe' or 'Lagerplatz'" in done.stderr
    assert "Not used, for want of an agreed field: 'Zustandsangabe', 'Lagerplatz'." in done.stderr
    layout, fields = (
        read_layout(tmp_path / "t.csv.layout.toml"),
        read_agreement(tmp_path / "agreement.toml").fields,
    )

    def values(name: str) -> list[str | None]:
        return [one.after for one in show_values(tmp_path / "t.csv", name, fields, layout)]

    assert layout.source("brand").column == "Hersteller"
    assert layout.source("title").column == "Bezeichnung"
    assert values("price") == ["1299.00", "12.50", "12"]
    assert values("wattage") == ["60", "40", "25"]
    assert values("birth_year") == ["1994", "1993", "1992"]
