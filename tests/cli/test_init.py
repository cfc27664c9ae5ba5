"""`accord init`: from one's own table, in scripts and at a terminal, and from a template."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accord.agreement.file import read_agreement
from accord.cli import app
from accord.cli.init import init as command
from accord.cli.init_questions import ask_lacking, ask_names, round_up
from accord.cli.init_told import Told
from accord.datasets.starter import starter_text
from accord.errors import AgreementError, DataError
from accord.preparing.seen import look
from accord.table.layout import Layout, read_layout
from tests.cli.terminal import Done, accord

PEOPLE = """\
Nr;Vorname;Name;Geburtsdatum;Geschlecht;PLZ
1;Jürgen;Müller;31.12.1980;m;10115
2;Anna;Groß;01.02.1975;w;80331
3;Lena;;17.03.1999;w;20095
"""
SHOP = """\
sku,title,maker,price
s1,Sony Turntable PSLX350H,Sony,149.00
s2,Bose Acoustimass 5,Bose,399 EUR
"""


def init(**given: Any) -> None:
    """The command in this process, where a test answers its questions."""
    command(typer.Context(typer.main.get_command(app)), **given)


def run(folder: Path, *arguments: str, code: int = 0) -> Done:
    done = accord(folder, "--state", "state", "init", *arguments)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.csv").write_text(SHOP)
    return tmp_path


FROM = ("--from", "shop.csv", "--yes", "--records", "100", "100")


def test_a_draft_passes_check_and_columns_stay_with_their_owner(tmp_path: Path) -> None:
    (tmp_path / "kunden.csv").write_bytes(PEOPLE.encode("cp1252"))
    done = run(
        tmp_path, "--from", "kunden.csv", "--yes", "--records", "200", "300", "--parties", "nord", "sued"
    )
    assert "all pairs, ε = 0" in done.stderr
    assert "'Geschlecht': w is read as f." in done.stderr
    text = (tmp_path / "agreement.toml").read_text()
    for word in ("Nr", "Vorname", "Geburtsdatum", "PLZ", "Müller", "10115", "%d.%m"):
        assert word not in text
    own, theirs = ((tmp_path / f"agreement.{one}.html").read_text() for one in ("nord", "sued"))
    for word in ("Vorname", "Geburtsdatum", "PLZ", "kunden", "%d.%m"):
        assert word not in theirs
    assert all(word in own for word in ("Vorname", "Geburtsdatum", "PLZ", "kunden.csv"))
    assert done.stderr.splitlines()[-2:] == [
        "Wrote agreement.nord.html: your card, with what you type next. It stays with you.",
        "Wrote agreement.sued.html: the card of sued. Hand it over with agreement.toml.",
    ]
    layout = read_layout(tmp_path / "kunden.csv.layout.toml")
    assert (layout.id, layout.encoding, layout.delimiter) == ("Nr", "cp1252", ";")
    assert layout.source("surname").column == "Name"
    assert layout.source("birth").format == "%d.%m.%Y"
    assert layout.source("sex").values == {"w": "f"}
    assert accord(tmp_path, "check", "agreement.toml", "kunden.csv", "--party", "nord").returncode == 0


def test_an_encoding_is_guessed_by_letters_and_told_or_named(tmp_path: Path) -> None:
    cells = "Nr;Imię;Nazwisko;Adres;Urodz.\n1;Łukasz;Wójcik;ul. Długa 5/7, 00-950 Warszawa;31.12.1980\n"
    (tmp_path / "klienci.csv").write_bytes(cells.encode("cp1250"))
    run(tmp_path, "--template", "people")
    fitted = (
        "--from",
        "klienci.csv",
        "--for",
        "agreement.toml",
        "--yes",
        "--absent",
        "middle,sex,phone,email",
    )
    assert (
        "Read as cp1250: a guess by its letters; --encoding names another." in run(tmp_path, *fitted).stderr
    )
    layout = read_layout(tmp_path / "klienci.csv.layout.toml")
    assert (layout.encoding, layout.source("given").column) == ("cp1250", "Imię")
    named = run(tmp_path, *fitted, "--force", "--encoding", "iso8859-2")
    assert "guess by its letters" not in named.stderr
    assert read_layout(tmp_path / "klienci.csv.layout.toml").encoding == "iso8859-2"


def test_the_other_side_fits_its_table_to_the_agreement(shop: Path) -> None:
    run(shop, *FROM, "--disclose", "brand")
    (shop / "artikel.csv").write_text("Artikelnummer;Bezeichnung;Marke;Preis\n7;Sony PSLX 350;SONY;149.5\n")
    fit = ("--from", "artikel.csv", "--for", "agreement.toml", "--yes")
    run(shop, *fit)
    layout = read_layout(shop / "artikel.csv.layout.toml")
    assert {name: layout.source(name).column for name in layout.columns} == {
        "title": "Bezeichnung",
        "brand": "Marke",
        "price": "Preis",
    }
    assert layout.id == "Artikelnummer"
    assert "Bezeichnung" in (shop / "artikel.csv.card.html").read_text()
    assert accord(shop, "check", "agreement.toml", "artikel.csv", "--party", "B").returncode == 0
    linked = accord(shop, "simulate", "shop.csv", "artikel.csv", "--agreement", "agreement.toml")
    assert linked.returncode == 0, linked.stderr


def test_whose_card_it_is_follows_from_the_identity_or_from_where_the_table_is(shop: Path) -> None:
    """An agreement may be read where the partner keeps it, with the partner's card beside it."""
    run(shop, *FROM, "--parties", "north", "south")
    (shop / "there").mkdir()
    (shop / "there" / "b.csv").write_text(SHOP)
    fitted = ("--from", "there/b.csv", "--for", "agreement.toml", "--yes", "--force")
    assert "your card as south" in run(shop, *fitted).stderr
    assert accord(shop, "--state", "state", "identity", "--name", "north").returncode == 0
    assert "your card as north" in run(shop, *fitted).stderr


def test_what_tables_of_people_nearly_always_have_is_missed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,given name,city\n1,Anna,Rome\n2,Bob,Oslo\n3,Carl,Paris\n")
    told = run(tmp_path, "--from", "t.csv", "--yes", "--records", "10", "10").stderr
    assert "No column is taken for a family name" in told
    assert "If one is: --type COLUMN=birth." in told


def test_names_that_cannot_be_taken_apart_for_sure_are_told(tmp_path: Path) -> None:
    names = ("Deolinda Ferreira Silva", "João Gomes Pinto", "Ana Reis")
    rows = "".join(f"{row},{name},1980-01-0{row}\n" for row, name in enumerate(names, 1))
    (tmp_path / "t.csv").write_text("id,Nome completo,Data de nascimento\n" + rows)
    run(tmp_path, "--template", "people")
    fit = ("--from", "t.csv", "--for", "agreement.toml", "--yes")
    assert "field 'sex': has no column" in run(tmp_path, *fit, code=4).stderr
    told = run(tmp_path, *fit, "--absent", "middle,sex", "--absent", "phone,email,postcode").stderr
    assert "surname is the family name in 'Nome completo', as given surname." in told
    assert told.count("Many names in 'Nome completo' have three words or more") == 1
    assert "No column is taken for sex: every record counts as having none." in told


def test_without_a_terminal_the_missing_answers_are_named(shop: Path) -> None:
    done = run(shop, "--from", "shop.csv", code=2)
    assert "--yes accepts the guessed types (sku=" in done.stderr
    assert "--records A B" in done.stderr
    assert not (shop / "agreement.toml").exists()
    assert "--records A B" in run(shop, "--from", "shop.csv", "--yes", code=2).stderr


def test_nothing_is_overwritten_without_force(shop: Path) -> None:
    run(shop, *FROM)
    before = {path.name: path.read_bytes() for path in shop.iterdir()}
    assert "--force" in run(shop, *FROM, code=5).stderr
    assert "which is read" in run(shop, *FROM, "--out", "shop.csv", "--force", code=5).stderr
    told = run(shop, *FROM, "--out", "other.toml", code=5).stderr  # the layout is there
    assert "only --force replaces it. It belongs next to the table" in told
    assert "--out" not in told
    assert {path.name: path.read_bytes() for path in shop.iterdir()} == before
    run(shop, *FROM, "--force")


def test_what_is_wrong_is_said_before_fields_are_weighed(tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_text("surname,birth\nSmith,1980-01-31\nSmith,1975-12-31\n")
    typed = (*FROM, "--type", "birth=birth")
    assert "Learning weights" not in run(tmp_path, *typed, code=4).stderr
    assert "Learning weights" not in run(tmp_path, *typed, "--make-ids", "--parties", "a", "b", code=3).stderr
    assert "Learning weights" in run(tmp_path, *typed, "--make-ids").stderr


def test_spellings_and_marks_are_told_and_stay_in_the_layout(tmp_path: Path) -> None:
    rows = "".join(f"{n},thing {n},{'fm'[n % 2]}\n" for n in range(19))
    (tmp_path / "shop.csv").write_text(f"id,title,sex\n{rows}19,thing,unknown\n")
    assert "'sex': unknown counts as empty." in run(tmp_path, *FROM).stderr
    assert "unknown" not in (tmp_path / "agreement.toml").read_text()
    rows = "".join(f"{n},thing,{cell}\n" for n, cell in enumerate(["w", "Männlich", "k.A.", "zzz"] * 5))
    (tmp_path / "laden.csv").write_text(f"id,Titel,Geschlecht\n{rows}")
    told = run(tmp_path, "--from", "laden.csv", "--for", "agreement.toml", "--yes").stderr
    assert "'Geschlecht': k.A. counts as empty; w is read as f; männlich is read as m." in told
    assert "'Geschlecht': 5 cells mean none of the agreed values; say what they mean with values" in told
    assert "zzz" not in told
    assert read_layout(tmp_path / "laden.csv.layout.toml").source("sex").missing == ("k.A.",)
    checked = accord(tmp_path, "check", "agreement.toml", "laden.csv").stdout
    assert "5 of 15 cells of 'sex' are none of the agreed values" in checked
    assert "zzz" not in checked


def test_what_is_agreed_is_not_changed_for_one_table(tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_text("id,title,sold\n1,a thing,2026-01-31\n2,a thing,2026-02-01\n")
    run(tmp_path, *FROM, "--type", "sold=date:sold")
    agreed = (tmp_path / "agreement.toml").read_bytes()
    (tmp_path / "laden.csv").write_text("id,Titel,Tag,sex\n1,a thing,2026-01-31,f\n2,a thing,soon,m\n")
    fit = ("--from", "laden.csv", "--for", "agreement.toml", "--yes", "--type", "Tag=date:sold")
    told = run(tmp_path, *fit, code=4).stderr
    assert '`sold = { column = "…", missing = ["unknown"] }` under `[columns]`' in told
    assert "--field" not in told
    told = run(tmp_path, *fit, "--field", "sold.missing_values=n/a", "--overlap", "0.5", code=2).stderr
    assert "--field is part of the agreement, which --for does not change." in told
    assert "--overlap is part of the agreement, which --for does not change." in told
    assert (tmp_path / "agreement.toml").read_bytes() == agreed


def test_a_layout_has_its_place_beside_the_table(shop: Path) -> None:
    fit = ("--from", "shop.csv", "--for", "agreement.toml", "--yes", "--out", "other.toml")
    told = run(shop, *fit, code=2).stderr
    assert "--for writes no agreement, only shop.csv.layout.toml: leave out --out." in told
    assert [path.name for path in shop.iterdir()] == ["shop.csv"]


@pytest.mark.slow
@pytest.mark.usefixtures("as_many_as_usual")
def test_a_draft_says_which_field_is_enough_by_itself(tmp_path: Path) -> None:
    types = ("given", "middle", "surname", "sex", "birth", "street", "city", "postcode", "phone", "email")
    (tmp_path / "shop.csv").write_text(f"id,{','.join(types)}\n1,Ann,,Lee,f,1980-01-31,,,,,\n")
    typed = [word for one in types for word in ("--type", f"{one}={one}")]
    told = run(tmp_path, "--from", "shop.csv", "--yes", "--records", "60", "60", *typed).stderr
    note = "reach the threshold alone: two records that agree on "
    assert re.search(rf"^Worth knowing: .*email can (each )?{note}", told, re.M)
    checked = accord(tmp_path, "check", "agreement.toml", "--json")
    assert any(note in one for one in json.loads(checked.stdout)["advice"])


@pytest.mark.slow
def test_a_blocking_is_drafted_with_its_price_in_privacy(shop: Path) -> None:
    told = run(shop, "--from", "shop.csv", "--yes", "--records", "30000", "30000").stderr
    assert 'name = "routed"' in (shop / "agreement.toml").read_text()
    assert "; ε = 0.\n" in told
    assert "`accord ledger budget NAME --epsilon 0 --delta 0`" in told


@pytest.mark.slow
def test_only_how_many_is_drafted_with_noise(shop: Path) -> None:
    told = run(shop, *FROM, "--answer", "count").stderr
    text = (shop / "agreement.toml").read_text()
    assert '[output]\nanswer = "count"\nepsilon = "1"\n' in text
    assert 'name = "routed"' in text
    assert "disclose" not in text
    assert re.search(r"The answer: right within ± \d+ in 95 of 100 runs", told)
    assert "for one answer: `accord ledger budget NAME --epsilon 1 --delta 0`" in told
    run(shop, *FROM, "--answer", "count", "--answer-epsilon", "0.5", "--force")
    assert 'epsilon = "0.5"' in (shop / "agreement.toml").read_text()


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        (("--answer-epsilon", "1"), "--answer-epsilon is for --answer count"),
        (("--answer", "count", "--answer-epsilon", "0"), "above 0"),
        (("--answer", "count", "--disclose", "text"), "a count shows nobody"),
    ],
)
def test_what_a_count_does_not_go_with(shop: Path, typed: tuple[str, ...], problem: str) -> None:
    done = accord(shop, "init", *FROM, *typed)
    assert done.returncode in (2, 3)
    assert problem in done.stderr
    assert [path.name for path in shop.iterdir()] == ["shop.csv"]


def test_the_head_is_true_of_guesses(shop: Path) -> None:
    types = ("sku=id", "title=text", "maker=category", "price=price")
    typed = [word for one in types for word in ("--type", one)]
    run(shop, *FROM)
    assert "a single row can decide it" in (shop / "agreement.toml").read_text()
    run(shop, *FROM, *typed, "--force")
    assert "single row" in (shop / "agreement.toml").read_text(), "classes and copies are suggested, too"
    classes = {"text": "unique", "category": "few", "price": "hundreds"}
    fields = [*(f"{name}.cardinality={one}" for name, one in classes.items()), "price.range=0..1000"]
    said = ("--copies", "1", "1", *(word for one in fields for word in ("--field", one)))
    run(shop, *FROM, *typed, *said, "--force")
    assert "single row" not in (shop / "agreement.toml").read_text()


def test_a_script_is_told_of_every_column_that_is_left_out(shop: Path) -> None:
    (shop / "shop.csv").write_text("sku,title,Brutto-Preis,code\ns1,Sony,ab 149,x1\ns2,Bose,ab 399,x2\n")
    told = run(shop, *FROM).stderr
    assert "'Brutto-Preis' is left out: its name says price" in told
    assert "--type Brutto-Preis=price uses it anyway" in told
    assert "'code' is left out: another column names the records. --type code=identifier uses" in told
    assert "149" not in told
    settled = ("--type", "Brutto-Preis=skip", "--type", "code=identifier")
    assert "left out" not in run(shop, *FROM, *settled, "--force").stderr


def test_columns_that_could_name_records_are_told(shop: Path) -> None:
    (shop / "shop.csv").write_text("sku,title\ns1,Sony one\ns1,Bose two\n")
    told = run(shop, *FROM, code=4).stderr
    assert "'sku' is left out: it cannot name records: rows 1 and 2 have the same.\n" in told
    assert "No column names the records. All cells are filled and different in 'title'." in told


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (None, 4, "no such file"),
        (b"", 4, "it is empty"),
        (b"id,name\n", 4, "There are no rows below the header"),
        (b"id,name,name\n1,a,b\n", 4, "column 'name': appears more than once"),
        (b"id,,b\n1,a,b\n", 4, "Column 2 has no name"),
        (b"title,maker\nx,y\nx,y\n", 4, "No column names the records"),
        (b"id,other_id\n1,2\n2,3\n", 3, "No column is left to compare"),
    ],
)
def test_tables_that_cannot_be_drafted_for(
    content: bytes | None, code: int, message: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "shop.csv").write_bytes(content)
    assert message in run(tmp_path, *FROM, code=code).stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"shop.csv"}


def test_cells_that_do_not_fit_are_told_with_the_answer_that_mends_them(shop: Path) -> None:
    (shop / "shop.csv").write_text("id,title,price\n1,a thing,10\n2,another,SECRET\n3,third,200000\n")
    typed = (*FROM, "--type", "price=price")
    done = run(shop, *typed, "--field", "price.range=0..1000", code=4)
    assert "row 2, column 'price'" in done.stderr
    assert "row 3, column 'price'" in done.stderr
    assert "--field FIELD.missing_values" in done.stderr
    assert "SECRET" not in done.stderr
    assert not (shop / "agreement.toml").exists()
    mended = ("--field", "price.missing_values=secret", "--field", "price.range=0..1000000")
    run(shop, *typed, *mended)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--type", "titel=text"], "Did you mean 'title'"),
        (["--type", "title"], "COLUMN=TYPE"),
        (["--type", "title=txet"], "Did you mean 'text'"),
        (["--type", "sku=id", "--make-ids"], "not both"),
        (["--field", "price.range"], "FIELD.WORD=VALUE"),
        (["--field", "price.ragne=0..5"], "Did you mean 'range'"),
        (["--date", "birth=%d.%m.%Y"], "no field or column 'birth' to map"),
        (["--field", "price.range=a..b"], "--field price.range=a..b"),
        (["--records", "5", "20000001"], "from 1 to 20,000,000. More cannot be planned"),
        (["--template", "people"], "Say what to start from"),
    ],
)
def test_slips_on_the_command_line(options: list[str], message: str, shop: Path) -> None:
    done = accord(shop, "init", *FROM, *options)
    assert done.returncode in (2, 3)
    assert message in done.stderr
    assert not (shop / "agreement.toml").exists()


def test_a_template_needs_no_data(tmp_path: Path) -> None:
    for number, kind in enumerate(("people", "products")):
        run(tmp_path, "--template", kind, "--out", f"{number}.toml")
        read_agreement(tmp_path / f"{number}.toml")
    assert "accord init --from MY.csv" in run(tmp_path, code=2).stderr


def test_a_template_takes_no_answers(tmp_path: Path) -> None:
    done = run(tmp_path, "--template", "products", "--parties", "north", "south", code=2)
    assert "--parties is for --from" in done.stderr
    assert not list(tmp_path.glob("*.toml"))


# -- at a terminal ------------------------------------------------------------------------------------------


def answer(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    keyboard = io.StringIO("".join(f"{line}\n" for line in lines))
    monkeypatch.setattr(keyboard, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", keyboard)


def test_at_a_terminal_enter_takes_what_is_shown(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shop)
    # A slip, the types, a change, Enter; names, sizes, copies, classes, how many, how long.
    # Then values, a range, what to show.
    expected = ("30%", "60")
    typed = ("3=brnd", "?", "3=category:brand", "", "", "", "", "300", "", "", "")
    answer(monkeypatch, *typed, *expected, "Sony,Bose", "0..500", "brand")
    init(table="shop.csv")
    shown = capsys.readouterr().err
    assert "'brnd' is not a column type" in shown
    assert "given name" in shown
    agreed = read_agreement(shop / "agreement.toml")
    assert agreed.expected is not None
    assert (agreed.expected.A, agreed.expected.B) == (10, 300)
    fields = agreed.model_dump(mode="json")["fields"]
    assert fields["brand"]["values"] == ["Sony", "Bose"]
    assert fields["price"]["max"] == "500"
    command = re.search(r"The same without questions: `accord init (.*)`", shown)
    assert command is not None
    first = (shop / "agreement.toml").read_text()
    again = command[1].replace("'", "").split()
    assert accord(shop, "init", *again, "--force").returncode == 0
    assert unsalted(first) == unsalted((shop / "agreement.toml").read_text())


def test_at_a_terminal_spellings_and_ages_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agreement.toml").write_text(
        'version = 2\nsalt = "00000000"\nengine = "ot"\nrule = "same(sex)"\n[parties]\nA = "one"\nB = "two"\n'
        '[protocol]\nname = "all-pairs"\ngreedy = false\n[fields.sex]\ntype = "category"\n'
        'values = ["f", "m"]\nother = "missing"\nmissing = "differs"\n[fields.birth_year]\ntype = "number"\n'
        'min = 1900\nmax = 2029\nstep = 1\nmissing = "differs"\n'
    )
    (tmp_path / "t.csv").write_text("id,sex,age\n1,w,30\n2,zz,31\n3,yy,32\n4,-,33\n5,w,34\n6,m,35\n")
    # The types, a day that is none, the day, what zz is, a slip, and what yy is.
    answer(monkeypatch, "", "in May", "2024-06-30", "m", "d", "")
    init(table="t.csv", agreement=Path("agreement.toml"))
    shown = capsys.readouterr().err
    assert "- counts as empty; w is read as f" in shown
    assert "A day is written 2024-06-30" in shown
    layout = read_layout(tmp_path / "t.csv.layout.toml")
    assert layout.source("sex").values == {"w": "f", "zz": "m"}
    assert layout.source("sex").missing == ("-", "yy")
    assert layout.source("birth_year").as_of == date(2024, 6, 30)


def test_nothing_that_a_terminal_obeys_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agreement.toml").write_text(
        'version = 2\nsalt = "00000000"\nengine = "ot"\nrule = "same(sex)"\n[parties]\nA = "one"\nB = "two"\n'
        '[protocol]\nname = "all-pairs"\ngreedy = false\n[fields.sex]\ntype = "category"\n'
        'values = ["f", "m", "\\u001b]0;x"]\nother = "missing"\nmissing = "differs"\n'
    )
    (tmp_path / "t.csv").write_text("id,s\x1b[2Jex,z\x1b[2J\n1,w,\n2,zz,\n3,m,\n")
    answer(monkeypatch, "2=sex", "", "x", "f")
    init(table="t.csv", agreement=Path("agreement.toml"))
    assert read_layout(tmp_path / "t.csv.layout.toml").source("sex").values == {"w": "f", "zz": "f"}
    asked = capsys.readouterr()
    assert "w is read as f" in asked.err
    assert "One of f, m, \N{REPLACEMENT CHARACTER}]0;x, or Enter" in asked.err
    told = run(tmp_path, "--from", "t.csv", "--yes", "--force", code=2).stderr
    assert "is left out: it is empty" in told
    assert "\x1b" not in asked.err + asked.out + told


def test_at_a_terminal_another_column_is_asked_for_where_one_contradicts_the_agreement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agreement.toml").write_text(
        'version = 2\nsalt = "00000000"\nengine = "ot"\nrule = "same(brand)"\n[parties]\nA = "one"\n'
        'B = "two"\n[protocol]\nname = "all-pairs"\ngreedy = false\n[fields.brand]\ntype = "text"\n'
        'encoder = "hash"\nmissing = "differs"\ncardinality = "few"\n'
    )
    rows = [f"{number},stock {number},maker {number % 5}" for number in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["id,brand,marque", *rows]))
    fit = ("--from", "t.csv", "--for", "agreement.toml", "--yes")
    refused = run(tmp_path, *fit, code=4).stderr
    assert "--field brand.cardinality=unique" in refused
    assert "Fix the cells" not in refused
    # The types, which are wrong; two changes, what they are, and nothing else.
    answer(monkeypatch, "", "2=skip 3=category:brand", "")
    init(table="t.csv", agreement=Path("agreement.toml"))
    assert "Is another column the right one?" in capsys.readouterr().err
    assert read_layout(tmp_path / "t.csv.layout.toml").source("brand").column == "marque"


def test_at_a_terminal_enter_makes_ids_where_no_column_is_one(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shop)
    # The types, no id, and what is usual.
    answer(monkeypatch, "1=skip", "", "", *[""] * 14)
    init(table="shop.csv")
    shown = capsys.readouterr().err
    assert "Which one is it? Its number, or Enter for random ids" in shown
    assert "--make-ids" in shown
    assert "Wrote shop.csv.ids.csv: random ids for " in shown
    assert read_layout(shop / "shop.csv.layout.toml").make_ids
    assert "shop.csv.ids.csv" not in accord(shop, "check", "agreement.toml", "shop.csv").stderr


def test_a_bad_answer_is_refused_at_once_and_asked_again(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shop)
    types = ("3=text:maker 2=text:title 4=latitude", "", "3=category:maker 4=price", "")
    parties = ("?", "party-b", "party-b", "south")
    sizes = ("many", "0", "30000000", "100", "100")
    copies = ("none", "1", "2", "maker=lots", "maker=few price=hundreds maker=empty")
    values, ranges = ("Sony,sony", "Sony,Bose"), ("cheap", "500..0", "0..500")
    expected = ("many", "120%", "0.4", "-1", "5")
    answer(
        monkeypatch,
        *types,
        *parties,
        *sizes,
        *copies,
        *expected,
        *values,
        *ranges,
        "maker prize",
        "maker",
    )
    init(table="shop.csv")
    shown = capsys.readouterr().err
    for question, refusal in (
        ("(? for types)", "A place has a latitude and a longitude, and one is missing."),
        ("Your organisation [party-a]", "'?': cannot be a party's name. Begin with a letter"),
        ("Your partner [party-b]", "'party-b': the two parties must have different names."),
        ("Yours [10]", "A whole number of at least 1"),
        ("Yours [10]", "'30000000': each is a whole number from 1 to 20,000,000."),
        ("In yours [1]", "A whole number of at least 1"),
        ("such as city=hundreds phone=empty", "'maker=lots': is unknown. Known are few"),
        ("Enter if nobody knows", "A share, such as 30% or 0.3."),
        ("Enter if nobody knows", "'120%': is a share of the smaller table, above 0 and at most 1."),
        ("else up to a day", "A whole number of minutes"),
        ("(they are hashed)", "'Sony,sony': values must differ from each other"),
        ("[0..100000]", "'cheap': does not give two days or numbers."),
        ("[0..100000]", "'500..0': max must not be below min."),
        ("Enter for nothing", "'maker prize': names no such field of the draft. Did you mean 'price'?"),
    ):
        assert f"{question}:{refusal}" in shown
    agreed = read_agreement(shop / "agreement.toml")
    assert (agreed.parties.A, agreed.parties.B) == ("party-b", "south")
    assert "--field price.range=0..500 " in shown


def test_what_the_command_line_says_wrongly_is_not_asked_for(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    answer(monkeypatch, "")
    with pytest.raises(AgreementError, match="max must not be below min"):
        init(table="shop.csv", field=["price.range=5..1"])


def test_answers_that_end_stop_the_questions(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    answer(monkeypatch, "", "?")
    with pytest.raises(KeyboardInterrupt):
        init(table="shop.csv")
    assert not (shop / "agreement.toml").exists()


def test_fields_without_a_column_are_named_and_enter_does_not_ask_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agreement.toml").write_text(starter_text("people", "0" * 32))
    (tmp_path / "whole.csv").write_text("id,Name\n1,Mary Smith\n2,John Jones\n")
    answer(monkeypatch, "", "", "")  # types, ids, and no column; one more would end the keyboard
    with pytest.raises(DataError, match="field 'birth': has no column"):
        init(table="whole.csv", agreement=Path("agreement.toml"))
    assert capsys.readouterr().err.count("field 'birth': has no column") == 1
    done = run(tmp_path, "--from", "whole.csv", "--for", "agreement.toml", "--yes", code=4)
    assert "field 'given'" not in done.stderr
    assert "Most of the agreed fields have no column" in done.stderr


def test_fields_without_a_public_name_are_asked_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{n},lamp {n} of glass,kept with {chr(97 + n)} things,{n}.50\n" for n in range(20))
    (tmp_path / "t.csv").write_text(f"id,Titel,Foo,Preis\n{rows}")
    seen = look(tmp_path / "t.csv", Layout(), frozenset())
    answer(monkeypatch, "no name", "storage")
    assert [one.is_.typed for one in ask_names(seen).columns] == ["id", "text:title", "text:storage", "price"]
    shown = capsys.readouterr().err
    assert shown.count("'Foo' is a text") == 2
    assert "Preis" not in shown


def test_what_a_table_has_not_is_said_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agreement.toml").write_text(starter_text("people", "0" * 32))
    (tmp_path / "t.csv").write_text(
        "id,Vorname,Name,geb,foo\n1,Ann,Lee,1980-01-02,x\n2,Bob,Poe,1981-01-02,y\n"
    )
    seen = look(tmp_path / "t.csv", Layout(), frozenset()).sought()
    answer(monkeypatch, "5=city middle,sex", "phone email postcode")
    agreed = read_agreement(tmp_path / "agreement.toml")
    seen, told = ask_lacking(agreed, seen, Told(tmp_path / "t.csv", "t.csv"))
    assert told.absent == ("middle", "sex", "phone", "email", "postcode")
    assert seen.columns[4].is_.kind == "city"


def test_sizes_that_enter_takes_are_rounded() -> None:
    assert [round_up(rows) for rows in (1, 10, 11, 199, 220, 500, 501, 12_345)] == [
        *(10, 10, 20, 200, 500, 500, 1000, 20_000)
    ]


# -- the border ---------------------------------------------------------------------------------------------


def unsalted(text: str) -> str:
    return re.sub(r'(?m)^salt = "[0-9a-f]+"$', "", text)


WORDS = st.text(st.characters(categories=("L", "N", "P", "Z")), max_size=12).map(
    lambda text: text.replace("\0", "")
)
ROWS = st.lists(
    st.tuples(
        WORDS,
        st.dates(date(1900, 1, 1), date(2029, 12, 31)).map(str),
        WORDS,
        # Spellings and marks, which are read as a layout says.
        st.sampled_from(["yes", "Ja", "nein", "0", "k.A.", "-"]),
        st.integers(0, 999).map(lambda number: f"{number},50 kg") | st.just("n/a"),
    ),
    min_size=1,
    max_size=25,
)
HEADERS = st.lists(
    WORDS.filter(lambda name: name.strip()), min_size=6, max_size=6, unique_by=lambda name: name.strip()
)
KINDS = ("id", "text", "date", "category", "yesno", "number")
SAID = (
    *(f"{name}.cardinality=hundreds" for name in ("text", "date", "category", "number")),
    *(f"{name}.often_empty=no" for name in ("text", "date", "category", "yesno", "number")),
    *("date.range=1900-01-01..2029-12-31", "number.range=0..1000"),
)


@settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(HEADERS, ROWS, st.permutations(range(6)), st.sampled_from([",", ";", "\t"]))
def test_tables_with_equal_answers_give_equal_drafts(
    tmp_path: Path,
    header: list[str],
    rows: list[tuple[str, ...]],
    order: list[int],
    delimiter: str,
) -> None:
    """However the tables differ: in cells, rows, order, names of columns, delimiters."""
    from accord.cli.init_table import draft_from
    from accord.cli.init_told import Told

    cells = [[str(number), *row] for number, row in enumerate(rows)]
    table = tmp_path / "drawn.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerows([row[at] for at in order] for row in [header, *cells])
    types = tuple(f"{name}={kind}" for name, kind in zip(header, KINDS, strict=True))
    written = tmp_path / "written.toml"
    written.write_text(f'delimiter = "{"tab" if delimiter == chr(9) else delimiter}"\nencoding = "utf-8"\n')
    told = Told(table, str(table), True, types, (300, 300), fields=SAID, copies=(1, 1), layout=written)
    out = tmp_path / "drawn.toml"
    draft_from(told, out, force=True)
    # The first one drawn is what all others are compared with.
    first = tmp_path / "first.toml"
    if not first.exists():
        first.write_text(out.read_text())
    assert unsalted(out.read_text()) == unsalted(first.read_text())


def test_a_few_cells_that_cannot_be_read_lose_neither_column_nor_table(tmp_path: Path) -> None:
    rows = [f"r{i},Smith{i},{1950 + i}-02-0{1 + i % 9}" for i in range(60)]
    rows[7], rows[8] = "r7,Smith7,1957-02-31", "r8,Smith8,2999-01-01"
    (tmp_path / "shop.csv").write_text("\n".join(["id,surname,birth", *rows]))
    done = run(tmp_path, "--from", "shop.csv", "--yes", "--records", "100", "100")
    assert "Each is outside the agreed range 1900-01-01 to 20" in done.stderr
    assert "Each is not a date" in done.stderr
    agreed = read_agreement(tmp_path / "agreement.toml")
    assert "birth" in agreed.fields
    told = accord(tmp_path, "check", "agreement.toml", "shop.csv", "--party", "A").stdout
    assert "Data       shop.csv fits: 60 records\n" in told
    assert "Unread     1 row: 'birth' is not a date" in told


def test_ids_that_number_rows_are_told(tmp_path: Path) -> None:
    rows = [f"{i},Smith{i},1950-01-01" for i in range(1, 9)]
    (tmp_path / "shop.csv").write_text("\n".join(["Nr,surname,birth", *rows]))
    done = run(tmp_path, "--from", "shop.csv", "--yes", "--records", "100", "100", "--type", "Nr=id")
    assert "The ids in 'Nr' go up by one from row to row" in done.stderr
    told = accord(tmp_path, "check", "agreement.toml", "shop.csv", "--party", "A").stdout
    assert "go up by one" in told
    (tmp_path / "shop.csv").write_text("\n".join(["Nr,surname,birth", *rows[:3], *rows[4:]]))
    assert (
        "go up by one" not in accord(tmp_path, "check", "agreement.toml", "shop.csv", "--party", "A").stdout
    )


@pytest.mark.slow
def test_who_has_all_places_in_one_town_is_told_what_that_costs(tmp_path: Path) -> None:
    rows = [f"p{i * i},shop {i},{52 + i % 97 / 1000:.3f},{13 + i % 89 / 1000:.3f}" for i in range(500)]
    (tmp_path / "shop.csv").write_text("\n".join(["pid,title,lat,lon", *rows]))
    wide = run(tmp_path, "--from", "shop.csv", "--yes", "--records", "2800", "200000")
    assert "For your eyes: with a partner's table like yours it takes " in wide.stderr
    ranges = ("--field", "latitude.range=52..52.1", "--field", "longitude.range=13..13.1")
    near = run(tmp_path, "--from", "shop.csv", "--yes", "--records", "2800", "200000", *ranges, "--force")
    assert "narrower ranges" not in near.stderr
