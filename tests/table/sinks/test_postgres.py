"""What a PostgreSQL server refuses, in our words and without its own."""

from __future__ import annotations

import re

import pytest

from accord.errors import OutputError
from accord.table.address import Address, Database
from accord.table.sinks.database import require_table, write_to_table
from accord.table.sinks.postgres import _reason, open_postgres
from tests.postgres import Server
from tests.table.databases import pairs

NAMES = ["id_a", "id_b"]
FOUND = pairs(["1"], ["2"])


def refuse(address: Address, reason: str) -> None:
    with pytest.raises(OutputError, match=reason):
        require_table(address, NAMES, own=False)


def test_a_server_that_takes_no_writes(postgres: Server) -> None:
    name = postgres.add_service("frozen", "options=-c default_transaction_read_only=on")
    refuse(Address(Database.POSTGRES, name, "pairs"), "the server takes no writes")


def test_a_database_that_is_not_there(postgres: Server) -> None:
    name = postgres.add_service("nowhere", database="nowhere")
    refuse(Address(Database.POSTGRES, name, "pairs"), "no such database")


def test_what_the_environment_says_will_do(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSERVICE", postgres.add_schema())
    address = Address(Database.POSTGRES, "", "pairs")
    write_to_table(FOUND, address, own=False)
    with open_postgres(address) as transaction:
        assert transaction.find() == NAMES


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
