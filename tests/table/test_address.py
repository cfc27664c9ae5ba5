"""The grammar of addresses: what is read, what is written, and that a refused one is not repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.table.address import Address, Database, find_address, quote_name

CANARY = "hunter2"


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
def test_what_is_written_is_read_as_the_same(database: Database, name: str, schema: str | None) -> None:
    place = "place"
    schema = None if database is Database.SQLITE else schema
    for address in (Address(database, place, name, schema), Address(database, place, query=name)):
        assert find_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:{CANARY}@host/db",
        f"postgres://me:{CANARY}@host/db?table=people",
        f"postgres:/me:{CANARY}@host/db",  # what a Path makes of it
        f"postgresql:me:{CANARY}@host",
        f"postgres:me:{CANARY}@host?table=people",
        f"postgres:reg?password={CANARY}&table=people",
        f"postgres:reg?table=people&user={CANARY}",
        f"postgres:host=h password={CANARY}?table=people",
        f"host=h password={CANARY}",
        f"mysql://me:{CANARY}@host/db",
        f"duckdb:a.db?token={CANARY}",
        f"postgres:reg?{CANARY}",
        f"postgres:reg?table=a&table={CANARY}",
        f"postgres:{CANARY} x?table=p",
    ],
)
def test_what_may_hold_a_password_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        find_address(text)
    assert CANARY not in str(refused.value)
    assert "password" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("duckdb:?table=p", "no file"),
        ("duckdb::memory:?table=p", "no file"),
        ("sqlite:a.db?table=p&schema=s", "SQLite has none"),
        ("duckdb:a.db?schema=s", "goes with a `table`"),
        ("duckdb:a.db?table=", "is empty"),
        ("duckdb:a.db?table=p&query=SELECT 1", "not both"),
        ("duckdb:a.db?table=p%00", "NUL"),
    ],
)
def test_what_is_no_address_is_said(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find_address(text)


def test_an_address_says_what_is_read_or_written() -> None:
    bare = Address(Database.DUCKDB, "a.db")
    with pytest.raises(UsageError, match="neither a table nor a query"):
        bare.require_relation()
    asked = replace(bare, query="SELECT 1")
    assert asked.require_relation() is asked
    with pytest.raises(UsageError, match="needs `table=NAME`"):
        asked.require_table()
    with pytest.raises(UsageError, match="a table or a query, not both"):
        replace(asked, table="t")
    assert "SELECT" not in asked.name
    assert asked.settle().place.startswith("/")


def test_names_are_quoted() -> None:
    assert quote_name('a"b') == '"a""b"'
    assert Address(Database.POSTGRES, "r", "p", "s.x").relation == '"s.x"."p"'
