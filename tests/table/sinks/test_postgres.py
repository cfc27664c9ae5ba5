"""What a PostgreSQL server refuses, in our words and without its own."""

from __future__ import annotations

import re

import pytest

from accord.errors import OutputError
from accord.table.address import Address, Database
from accord.table.sinks.database import require_table, write_to_table
from accord.table.sinks.postgres import _reason, open_postgres, table_identity
from accord.table.sinks.transaction import CellKind, Heading
from tests.postgres import Server
from tests.table.databases import Home, pairs

HEADINGS = [Heading("id_a", CellKind.TEXT), Heading("id_b", CellKind.TEXT)]
FOUND = pairs(["1"], ["2"])


def refuse(address: Address, reason: str) -> None:
    with pytest.raises(OutputError, match=reason):
        require_table(address, [], False, HEADINGS)


def test_a_server_that_takes_no_writes(postgres: Server) -> None:
    name = postgres.add_service("frozen", "options=-c default_transaction_read_only=on")
    refuse(Address(Database.POSTGRES, name, "pairs"), "the server takes no writes")


def test_a_database_that_is_not_there(postgres: Server) -> None:
    name = postgres.add_service("nowhere", database="nowhere")
    refuse(Address(Database.POSTGRES, name, "pairs"), "no such database")


def test_what_the_environment_says_will_do(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSERVICE", postgres.add_schema())
    address = Address(Database.POSTGRES, "", "pairs")
    write_to_table(FOUND, address, replace=False)
    with open_postgres(address) as transaction:
        assert transaction.find() == HEADINGS


def test_one_table_by_two_services_is_one(postgres: Server) -> None:
    own = Home(Database.POSTGRES, postgres.add_schema())
    write_to_table(FOUND, own.address(), replace=False)
    other = Address(Database.POSTGRES, postgres.service, "pairs", own.place)
    assert table_identity(other) == table_identity(own.address()) is not None
    assert table_identity(own.address("others")) is None
    with pytest.raises(OutputError, match="which is read"):
        require_table(own.address(), [other], True, HEADINGS)
    away = Address(Database.POSTGRES, "away-from-here", "pairs")
    require_table(own.address(), [away], True, HEADINGS)


def test_parts_of_the_table_that_is_read(postgres: Server) -> None:
    """By inheritance a table is emptied, or read, with others."""
    own = Home(Database.POSTGRES, postgres.add_schema())
    own.run(
        "CREATE TABLE pairs (id_a text, id_b text)",
        "CREATE TABLE people (id_a text, id_b text) PARTITION BY LIST (id_a)",
        "CREATE TABLE a_part PARTITION OF people FOR VALUES IN ('a')",
        "CREATE TABLE heirs () INHERITS (pairs)",
    )
    for target, source in (
        ("a_part", "people"),
        ("people", "a_part"),
        ("heirs", "pairs"),
        ("pairs", "heirs"),
    ):
        with pytest.raises(OutputError, match="which may read it"):
            require_table(own.address(target), [own.address(source)], True, HEADINGS)
    other = Address(Database.POSTGRES, postgres.service, query=f"SELECT * FROM {own.place}.pairs")  # noqa: S608
    with pytest.raises(OutputError, match="which may read it"):
        require_table(own.address(), [other], True, HEADINGS)


def test_rights_that_others_have_on_the_table_stay(postgres: Server) -> None:
    own = Home(Database.POSTGRES, postgres.add_schema())
    write_to_table(FOUND, own.address(), replace=False)
    service = postgres.add_user("analyst", f"GRANT USAGE ON SCHEMA {own.place} TO analyst")
    own.run("GRANT SELECT ON pairs TO analyst", "CREATE INDEX quick ON pairs (id_b)")
    write_to_table(FOUND, own.address(), replace=True)
    seen = Home(Database.POSTGRES, service).rows(f"SELECT id_a, id_b FROM {own.place}.pairs")  # noqa: S608
    assert seen == [("1", "2")]
    assert len(own.rows("SELECT 1 FROM pg_indexes WHERE indexname = 'quick'")) == 1


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("53100", "no room left"),
        ("42501", "no right to write"),
        ("40P01", "somebody else is writing"),
        ("57P01", "the server ended the connection"),
        ("28P01", "the password is wrong"),
        ("XX000", r"refuses it \(SQLSTATE XX000\)"),
        (None, "server"),
    ],
)
def test_no_word_of_the_driver_is_repeated(state: str | None, reason: str) -> None:
    class Said(Exception):
        sqlstate = state

    told = _reason(Said("FATAL canary host=there password=canary"))
    assert re.search(reason, told)
    assert "canary" not in told
