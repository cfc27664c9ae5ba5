"""`accord init`: a draft that follows from answers alone, the partner's table fitted to it, the questions."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from accord.agreement.file import read_agreement
from accord.cli.init_questions import ask_names, round_up
from accord.fields.showing import show_values
from accord.preparing.seen import look
from accord.side import Side
from accord.table.layout import Layout, read_layout
from tests import prepared
from tests.cli.terminal import Done, accord

TABLES = Path(__file__).parent / "tables"
"""The same four people as six owners write them, and an agreement on their fields."""
AGREED = (TABLES / "people.toml").read_text()
FIELDS = re.findall(r"^\[fields\.(\w+)\]", AGREED, re.M)
HEAD = AGREED.partition("[fields")[0]
PEOPLE = {
    "given": ["anna", "john", "maria", "david"],
    "surname": ["muller", "smith", "jones", "brown"],
    "birth": ["1980-02-29", "1955-12-01", "1999-05-17"],
    "sex": ["f", "m"],
    "postcode": ["10115", "80331", "20095"],
    "city": ["berlin", "münchen", "hamburg", "köln"],
    "phone": ["1234567", "7654321", "9999888"],
}


@pytest.fixture(autouse=True)
def _share_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared.share_drafts(monkeypatch)


def run(folder: Path, *arguments: str, code: int = 0, answers: list[str] | None = None) -> Done:
    done = accord(folder, "--state", "state", "init", *arguments, answers=answers)
    assert done.returncode == code, done.stderr
    return done


def fit(folder: Path, name: str, *more: str, code: int = 0) -> Done:
    """Fit a table to the agreement that is there."""
    return run(folder, "--from", name, "--for", "agreement.toml", "--yes", *more, code=code)


DRAFT = ("--yes", "--records", "100", "100", "--from")
SHOP = """\
sku,title,maker,price
s1,Sony Turntable PSLX350H,Sony,149.00
s2,Bose Acoustimass 5,Bose,399 EUR
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.csv").write_text(SHOP)
    return tmp_path


# -- drafts and their cards ---------------------------------------------------------------------------------


def test_columns_and_cells_stay_with_their_owner(tmp_path: Path) -> None:
    """A few cells that cannot be read lose neither their column nor the table."""
    names, years = ["Müller", "Schmidt", "Groß"], range(1950, 2010)
    rows = [f"{i};{names[i % 3]}{i};31.12.{year};{10115 + i}" for i, year in enumerate(years)]
    rows[7], rows[8] = "7;Smith;31.02.1957;10115", "8;Smith;01.01.2999;10115"
    (tmp_path / "t.csv").write_text("\n".join(["Nr;Nachname;Geburtsdatum;PLZ", *rows]))
    run(tmp_path, *DRAFT, "t.csv", "--parties", "nord", "sued")
    agreement = (tmp_path / "agreement.toml").read_text()
    own, theirs = ((tmp_path / f"agreement.{one}.html").read_text() for one in ("nord", "sued"))
    columns = ("Nachname", "Geburtsdatum", "PLZ", "t.csv")
    assert [word for word in columns if word not in own] == []
    for word in (*columns, "%d.%m", "Müller", "10115"):
        assert word not in agreement
        assert word not in theirs
    assert "birth" in read_agreement(tmp_path / "agreement.toml").fields
    assert accord(tmp_path, "check", "agreement.toml", "t.csv", "--party", "nord").returncode == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for out in ((), ("--out", "other.toml"), ("--out", "t.csv", "--force")):
        run(tmp_path, *DRAFT, "t.csv", *out, code=5)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.slow
def test_a_count_and_large_tables_are_drafted_with_routed(shop: Path) -> None:
    for more in (
        ("100", "100", "--answer", "count", "--answer-epsilon", "0.5"),
        ("30000", "30000", "--force"),
    ):
        run(shop, "--from", "shop.csv", "--yes", "--records", *more)
        agreed = read_agreement(shop / "agreement.toml")
        assert agreed.protocol.name == "routed"
        if "count" in more:
            assert (agreed.output.answer, str(agreed.output.epsilon)) == ("count", "0.5")
            assert not any(agreed.disclosed(side) for side in Side)


# -- the partner's table ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.stem for path in TABLES.glob("*.csv")))
def test_the_same_people_are_the_same_however_they_are_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_bytes((TABLES / f"{name}.csv").read_bytes())
    (tmp_path / "agreement.toml").write_text(AGREED)
    fit(tmp_path, "t.csv")
    layout = read_layout(tmp_path / "t.csv.layout.toml")
    fields = read_agreement(tmp_path / "agreement.toml").fields
    for field, wanted in PEOPLE.items():
        values = show_values(tmp_path / "t.csv", field, fields, layout)
        found = dict.fromkeys(one.after for one in values if one.after is not None)
        assert [*found][: len(wanted)] == wanted, field
        assert name == "american" or len(found) == len(wanted), field
    assert "5a" in str(show_values(tmp_path / "t.csv", "street", fields, layout)[0].after)
    assert accord(tmp_path, "check", "agreement.toml", "t.csv").returncode == 0


def test_spellings_and_marks_stay_in_the_layout_and_are_counted_without_values(tmp_path: Path) -> None:
    (tmp_path / "agreement.toml").write_text(AGREED)
    cells = ["w", "Männlich", "k.A.", "zzz"] * 5
    rows = "".join(f"{n},Ann,Lee,1980-01-31,{cell},1,Rome,301234567,X\n" for n, cell in enumerate(cells))
    (tmp_path / "t.csv").write_text(f"id,{','.join(FIELDS)}\n{rows}")
    told = fit(tmp_path, "t.csv").stderr
    source = read_layout(tmp_path / "t.csv.layout.toml").source("sex")
    assert (source.values, source.missing) == ({"w": "f", "männlich": "m"}, ("k.A.",))
    told += accord(tmp_path, "check", "agreement.toml", "t.csv").stdout
    assert "5 of 15 " in told
    assert "zzz" not in told


def test_whose_card_it_is_follows_from_the_identity_or_from_where_the_table_is(tmp_path: Path) -> None:
    """An agreement may be read where the partner keeps it, with the partner's card beside it."""
    (tmp_path / "agreement.toml").write_text(AGREED)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "b.csv").write_bytes((TABLES / "german.csv").read_bytes())
    parties = read_agreement(tmp_path / "agreement.toml").parties
    fit(tmp_path, "there/b.csv")
    card = tmp_path / "there" / "b.csv.card.html"
    assert f"--name {parties.B}" in card.read_text()
    assert accord(tmp_path, "--state", "state", "identity", "--name", parties.A).returncode == 0
    fit(tmp_path, "there/b.csv", "--force")
    assert f"--name {parties.A}" in card.read_text()


# -- at a terminal ------------------------------------------------------------------------------------------


def test_fields_without_a_public_name_are_asked_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"{n},lamp {n} of glass,kept with {chr(97 + n)} things,{n}.50\n" for n in range(20))
    (tmp_path / "t.csv").write_text(f"id,Titel,Foo,Preis\n{rows}")
    answers = iter(["no name", "storage"])
    monkeypatch.setattr("accord.cli.init_questions._ask", lambda question, usual: next(answers))
    named = ask_names(look(tmp_path / "t.csv", Layout(), frozenset())).columns
    assert [one.is_.typed for one in named] == ["id", "text:title", "text:storage", "price"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An agreement on a category, one of whose values a terminal would obey, and on a year of birth."""
    (tmp_path / "agreement.toml").write_text(
        HEAD.replace("surname", "sex")
        + '[fields.sex]\ntype = "category"\nvalues = ["f", "m", "\\u001b]0;x"]\n'
        'other = "missing"\nmissing = "differs"\n[fields.birth_year]\ntype = "number"\n'
        'min = 1900\nmax = 2029\nstep = 1\nmissing = "differs"\n'
    )
    return tmp_path


def test_spellings_and_ages_are_asked_for_and_no_terminal_is_steered(small: Path) -> None:
    """Nor by a fault."""
    head, rows = "id,s\x1b[2Jex,age,z\x1b[2J\n1,w,30,\n2,zz,31,\n3,yy,32,\n", "4,-,33,\n5,m,35,\n"
    (small / "t.csv").write_text(head + rows)
    done = run(small, "--from", "t.csv", "--for", "agreement.toml", "--yes", code=4)
    assert "ex'" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    # The types, a day that is none, the day, what zz is, a slip, and what yy is.
    typed = ["2=sex", "", "in May", "2024-06-30", "m", "d", ""]
    done = run(small, "--from", "t.csv", "--for", "agreement.toml", answers=typed)
    assert "\x1b" not in done.stdout + done.stderr
    layout = read_layout(small / "t.csv.layout.toml")
    assert layout.source("sex").values == {"w": "f", "zz": "m"}
    assert layout.source("sex").missing == ("-", "yy")
    assert layout.source("birth_year").as_of == date(2024, 6, 30)


def test_another_column_is_asked_for_where_one_contradicts_the_agreement(tmp_path: Path) -> None:
    (tmp_path / "agreement.toml").write_text(
        HEAD.replace("surname", "brand") + '[fields.brand]\ntype = "text"\nencoder = "hash"\n'
        'missing = "differs"\ncardinality = "few"\n'
    )
    rows = [f"{number},stock {number},maker {number % 5}" for number in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["id,brand,marque", *rows]))
    fit(tmp_path, "t.csv", code=4)
    # The types, which are wrong; two changes, what they are, and nothing else.
    run(tmp_path, "--from", "t.csv", "--for", "agreement.toml", answers=["", "2=skip 3=category:brand", ""])
    assert read_layout(tmp_path / "t.csv.layout.toml").source("brand").column == "marque"


def test_enter_makes_ids_where_no_column_is_one_and_the_end_stops_the_questions(shop: Path) -> None:
    slips = ["?", "3=brnd", "3=category:brand 4=latitude", "", "4=price", "", *[""] * 7, "many"]
    run(shop, "--from", "shop.csv", code=130, answers=slips)
    assert not (shop / "agreement.toml").exists()
    run(shop, "--from", "shop.csv", answers=["1=skip", *[""] * 16])
    assert read_layout(shop / "shop.csv.layout.toml").make_ids
    assert (shop / "shop.csv.ids.csv").exists()
    (shop / "b.csv").write_text(SHOP)
    fit(shop, "b.csv")
    assert [round_up(rows) for rows in (1, 10, 11, 199, 501, 12_345)] == [10, 10, 20, 200, 1000, 20_000]


# -- the border ---------------------------------------------------------------------------------------------


def unsalted(text: str) -> str:
    return re.sub(r'(?m)^salt = "[0-9a-f]+"$', "", text)


SAID = (
    *(f"{name}.cardinality=hundreds" for name in ("text", "date", "category", "number")),
    *(f"{name}.often_empty=no" for name in ("text", "date", "yesno", "number")),
    "category.often_empty=yes",
    *("date.range=1900-01-01..2029-12-31", "number.range=0..1000"),
)


def test_tables_with_equal_answers_give_equal_drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the tables differ: in cells, rows, order, names of columns, delimiters."""
    monkeypatch.undo()  # Each is drafted by itself.
    one = "id,text,date,category,yesno,number\n1,a,1980-01-31,x,yes,5\n2,b,1981-02-28,y,no,7\n"
    other = "Menge;J/N;Nr;Tag;Sorte;Wort\n" + "".join(
        f"{n},50 kg;{'Ja' if n % 3 else 'k.A.'};{n};19{10 + n}-12-01;q{n};{'ÄŁ' * n}\n" for n in range(30)
    )
    kinds = {
        one: "id=id text=text date=date category=category yesno=yesno number=number",
        other: "Nr=id Wort=text Tag=date Sorte=category J/N=yesno Menge=number",
    }
    texts = []
    for table, types in kinds.items():
        (tmp_path / "t.csv").write_text(table)
        typed = [word for one in types.split() for word in ("--type", one)]
        fields = [word for one in SAID for word in ("--field", one)]
        run(tmp_path, *DRAFT, "t.csv", "--copies", "1", "1", "--force", *typed, *fields)
        texts.append(unsalted((tmp_path / "agreement.toml").read_text()))
    assert texts[0] == texts[1]
