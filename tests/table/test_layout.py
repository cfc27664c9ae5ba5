"""One's own table: the layout of its columns, and the address where it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.table.address import Address, Database, find_address, quote_name
from accord.table.layout import Layout, Source, named_in, read_layout

FULL = """\
[columns]
birth = { columns = ["y", "m", "d"], format = "%Y-%m-%d", missing = ["0"] }
sex = { column = "s", values = { w = "f", H = "m" } }
surname = { column = "n", part = "surname", order = "surname given" }
birth_year = { column = "age", as_of = 2024-06-30 }
price = { column = "p", decimal = "," }
phone = { absent = true }
street = { columns = ["no", "way"] }
city = "ort"
"""


def test_a_layout_file_and_the_command_line_say_where_columns_are(tmp_path: Path) -> None:
    path = tmp_path / "columns.toml"
    path.write_text(
        'id = "key"\nperson = "patient"\nencoding = "latin-1"\n[columns]\nname = "title"\n'
        'birth = { column = "dob", format = "%d.%m.%Y" }\n'
    )
    layout = read_layout(path).map_columns(["name=Title"])
    assert (layout.id, layout.encoding, layout.delimiter, layout.person) == ("key", "latin-1", ",", "patient")
    assert layout.source("name") == Source(column="Title")
    assert layout.source("birth") == Source(column="dob", format="%d.%m.%Y")
    assert layout.source("other") == Source(column="other")
    day = Layout().map_dates(["day=%d.%m.%Y"]).map_columns(["day=d"]).source("day")
    assert day == Source(column="d", format="%d.%m.%Y")
    assert Layout().map_columns(["name= title "]).source("name").column == " title "


def test_only_agreed_names_can_be_mapped() -> None:
    Layout().map_columns(["name=title"]).require_known(["name"])
    with pytest.raises(UsageError) as caught:
        Layout().map_columns(["nmae=title"]).require_known(["name", "day"])
    assert "'name'" in str(caught.value)


@pytest.mark.parametrize(
    "layout",
    [
        Layout(),
        Layout("key", "cp1252", "\t", {"day": Source(column="d", format="%d")}, "who", "none", False, "S", 7),
        Layout(make_ids=True, quote="'", unreadable="empty"),
    ],
)
def test_everything_that_a_layout_says_is_stored_and_written(layout: Layout, tmp_path: Path) -> None:
    path = tmp_path / "layout.toml"
    path.write_text(layout.to_toml())
    assert Layout.from_json(layout.to_json()) == read_layout(path) == layout
    assert named_in(path) >= layout.said
    assert Layout.from_json("{}") == Layout()


def test_a_source_may_be_joined_split_mapped_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "layout.toml"
    path.write_text(FULL)
    layout = read_layout(path)
    assert layout.own_columns(layout.columns) == ["y", "m", "d", "s", "n", "age", "p", "no", "way", "ort"]
    assert (layout.place(["street"]), layout.place(["phone"])) == ("no + way", "phone")
    assert layout.source("birth_year").as_of == date(2024, 6, 30)
    assert Layout.from_json(layout.to_json()) == layout
    path.write_text(layout.to_toml())
    assert read_layout(path) == layout
    assert layout.map_dates(["birth=%Y/%m/%d"]).source("birth").format == "%Y/%m/%d"
    assert layout.map_columns(["sex=S", "phone=tel"]).source("sex").values == {"w": "f", "H": "m"}
    assert layout.map_columns(["birth=dob", "phone=tel"]).source("phone") == Source(column="tel")
    with pytest.raises(UsageError):
        layout.map_dates(["birth=%m/%Y"])
    surrogate = "\ud800"
    for said in (
        {"column": "s", "values": {surrogate: "f"}},
        {"column": "s", "values": {"w": surrogate}},
        {"column": "s", "missing": [surrogate]},
        {"columns": [surrogate, "t"]},
        {"column": "s", "format": f"%Y{surrogate}"},
    ):
        with pytest.raises(UsageError):
            Layout(columns={"sex": said})  # type: ignore[dict-item]
    told = {name: layout.source(name).tell() for name in layout.columns}
    facts = {"birth": "y + m + d", "sex": "2", "birth_year": "2024-06-30", "price": "','"}
    assert all(fact in told[name] for name, fact in facts.items())


# -- addresses --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("duckdb:a.db?table=people", Address(Database.DUCKDB, "a.db", "people")),
        ("DuckDB:/x/a.db?table=p&schema=s", Address(Database.DUCKDB, "/x/a.db", "p", "s")),
        ("sqlite:a b.db?query=SELECT '?&=%41'", Address(Database.SQLITE, "a b.db", query="SELECT '?&=%41'")),
        ("postgres:reg?schema=s&table=a%26b", Address(Database.POSTGRES, "reg", "a&b", "s")),
        ("postgres:?table=p", Address(Database.POSTGRES, "", "p")),
        ("duckdb:a.db", Address(Database.DUCKDB, "a.db")),
        ("people.csv", None),
        ("folder/people?.parquet", None),
        ("./duckdb:people.csv", None),
        ("C:people.csv", None),
    ],
)
def test_addresses_are_read(text: str, found: Address | None) -> None:
    assert find_address(text) == found


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    lambda text: bool(text.strip())
)


@given(st.sampled_from(Database), names, st.none() | names)
def test_an_address_that_is_written_is_read_as_the_same(
    database: Database, name: str, schema: str | None
) -> None:
    schema = None if database is Database.SQLITE else schema
    for address in (Address(database, "place", name, schema), Address(database, "place", query=name)):
        assert find_address(str(address)) == address


def test_an_address_names_a_table_or_a_query() -> None:
    bare = Address(Database.DUCKDB, "a.db")
    asked = replace(bare, query="SELECT 1")
    assert asked.require_relation() is asked
    for refused in (bare.require_relation, asked.require_table, lambda: replace(asked, table="t")):
        with pytest.raises(UsageError):
            refused()
    assert "SELECT" not in asked.name
    assert asked.settle().place.startswith("/")
    assert quote_name('a"b') == '"a""b"'
    assert Address(Database.POSTGRES, "r", "p", "s.x").relation == '"s.x"."p"'
