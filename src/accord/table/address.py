"""Addresses of tables in databases: `duckdb:FILE?table=…`, `sqlite:FILE?…`, `postgres:SERVICE?…`.

    duckdb:people.duckdb?table=people             a table; `&schema=…` where it is not in the usual one
    sqlite:people.sqlite?query=SELECT …           all that follows `query=` is the query, as it stands
    postgres:registry?table=people&schema=public  a service of libpq's service file; without a name, what
                                                  libpq's environment says

An address holds no credentials, by its grammar: it may stand in a list of processes, in a log and in a run's
manifest. What may be meant as one is refused, and no word of a refused address is repeated, since any of
them may be the password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote, unquote

from accord.errors import UsageError

_FORMS = (
    "`duckdb:FILE?table=NAME`, `sqlite:FILE?table=NAME` or `postgres:SERVICE?table=NAME`, with `query=SQL` "
    "instead of the table and `&schema=NAME` after it where there are schemas"
)
_CREDENTIALS = (
    "An address of a table holds no user, password or server. Name a service of libpq's service file "
    "(~/.pg_service.conf has host, dbname and user, ~/.pgpass the password), as in "
    "`postgres:SERVICE?table=NAME`."
)
_URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
_SECRET = re.compile(r"\b(ssl)?password\s*=", re.IGNORECASE)
_SERVICE = re.compile(r"[\w.-]{0,63}")


class Database(StrEnum):
    """Where a table lives that is no file of its own."""

    DUCKDB = "duckdb"
    SQLITE = "sqlite"
    POSTGRES = "postgres"


@dataclass(frozen=True)
class Address:
    """A table or a query in a database. `str` gives the text that `find_address` reads as the same."""

    database: Database
    place: str
    """The file; of PostgreSQL the service, empty for what the environment says."""
    table: str | None = None
    schema: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if self.table is not None and self.query is not None:
            raise UsageError(problem="An address names a table or a query, not both.")
        if self.schema is not None and (self.table is None or self.database is Database.SQLITE):
            raise UsageError(problem="A `schema` goes with a `table`; SQLite has none.")
        for part in (self.place, self.table, self.schema, self.query):
            if part is not None and "\0" in part:
                raise UsageError(problem="An address holds no NUL character.")
        for part in (self.table, self.schema, self.query):
            if part is not None and not part.strip():
                raise UsageError(problem=f"A part of the address is empty. It is {_FORMS}.")
        if self.database is Database.POSTGRES:
            if not _SERVICE.fullmatch(self.place):
                raise UsageError(problem=_CREDENTIALS)
        elif not self.place or "?" in self.place or self.place == ":memory:":
            raise UsageError(problem=f"The address names no file. It is {_FORMS}.")

    @property
    def file(self) -> Path | None:
        """The file, from the root on; None for a server."""
        return None if self.database is Database.POSTGRES else Path(self.place).absolute()

    @property
    def relation(self) -> str:
        """The table as SQL names it. *Requires* a table."""
        assert self.table is not None
        return ".".join(quote_name(part) for part in (self.schema, self.table) if part is not None)

    @property
    def name(self) -> str:
        """What it is called in messages: the address, without the text of a query, which may quote values."""
        return str(self) if self.query is None else f"{self.database}:{self.place} (query)"

    def settle(self) -> Address:
        """This address with its file from the root on: a run may go on from another folder."""
        return self if self.file is None else replace(self, place=str(self.file))

    def require_relation(self) -> Address:
        """This address, if it says what is to be read there."""
        if self.table is None and self.query is None:
            raise UsageError(problem=f"The address names neither a table nor a query. It is {_FORMS}.")
        return self

    def require_table(self) -> Address:
        """This address, if it names a table: nothing is written to a query."""
        if self.table is None:
            raise UsageError(problem="Rows are written to a table: the address needs `table=NAME`.")
        return self

    def __str__(self) -> str:
        start = f"{self.database}:{self.place}"
        if self.query is not None:
            return f"{start}?query={self.query}"
        parts = [("table", self.table), ("schema", self.schema)]
        given = "&".join(f"{name}={quote(part, safe=' ')}" for name, part in parts if part is not None)
        return f"{start}?{given}" if given else start


def find_address(text: str) -> Address | None:
    """The address that a text is; None if it is the name of a file. Raises for what may hold a password."""
    kind, colon, rest = text.partition(":")
    place, mark, tail = rest.partition("?")
    if kind.lower() not in set(Database) or not colon:
        if _URL.match(text) or kind.lower() == "postgresql" or _SECRET.search(text):
            raise UsageError(problem=_CREDENTIALS)
        return None
    if kind.lower() == Database.POSTGRES and not _SERVICE.fullmatch(place):
        raise UsageError(problem=_CREDENTIALS)
    parts = _parts(tail) if mark else {}
    return Address(Database(kind.lower()), place, **parts)


def _parts(tail: str) -> dict[str, str]:
    """What stands behind the question mark, by name."""
    found: dict[str, str] = {}
    while tail:
        name, equals, value = tail.partition("=")
        if name != "query":
            value, _, tail = value.partition("&")
            value = unquote(value)
        else:
            tail = ""
        if not equals or name not in ("table", "schema", "query") or name in found:
            raise UsageError(
                problem=f"A part of the address is not known, or appears twice. It is {_FORMS}. "
                "It holds no user and no password: libpq finds those."
            )
        found[name] = value
    return found


def quote_name(name: str) -> str:
    """A name as SQL takes it, whatever letters it has."""
    return '"' + name.replace('"', '""') + '"'
