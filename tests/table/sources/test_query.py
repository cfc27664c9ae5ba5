"""What Python has that is not read yet: queries over connections, relations, lazy frames."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import accord
from accord.errors import DataError, UnreadableError, UsageError
from accord.fields.load import load_records
from accord.protocols.parts.slots import table_digest
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, open_table
from accord.table.sources.query import Query
from tests.postgres import Server
from tests.protocols.worlds import agreement
from tests.run import worlds
from tests.table.homes import DISCLOSED, FIELDS, people, shuffled, write_postgres, write_sqlite

ALL = "SELECT * FROM people"


def digest(source: TableLike) -> bytes:
    return table_digest(load_records(source, FIELDS, "00", DISCLOSED))


def test_every_connection_gives_the_same_digest(tmp_path: Path, postgres: Server) -> None:
    import adbc_driver_postgresql.dbapi
    import sqlalchemy

    table = shuffled(people())
    expected = digest(people())
    write_sqlite(table, tmp_path)
    home = write_postgres(table, postgres).removeprefix("postgres:").partition("?")[0]
    with adbc_driver_postgresql.dbapi.connect(f"postgresql:///?service={home}") as adbc:
        assert digest(Query(adbc, ALL)) == expected
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as connection:
        assert digest(Query(connection, ALL)) == expected
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/people.sqlite")
    with engine.connect() as alchemy:
        assert digest(Query(alchemy, ALL)) == expected
        assert digest(Query(alchemy, ALL)) == expected, "it can be asked again"
    engine.dispose()
    with duckdb.connect() as database:
        database.register("people", table)
        assert digest(Query(database, ALL)) == expected
        assert digest(database.sql(ALL)) == expected


def test_a_lazy_frame_has_no_order(tmp_path: Path) -> None:
    """Nobody promises that one that is computed twice gives its rows twice in one order."""
    import polars as pl

    frame: Any = pl.from_arrow(shuffled(people()))
    assert digest(frame.lazy().filter(pl.col("height") > 0)) == digest(people())
    with pytest.raises(UsageError, match="has no file"):
        load_records(frame.lazy(), FIELDS, "00", layout=Layout(make_ids=True))
    with pytest.raises(DataError, match="was not found"):
        open_table(frame.lazy(), ["id", "nothing"], Layout())


def test_the_verbs_take_them(tmp_path: Path) -> None:
    import polars as pl

    a, b = worlds.table(worlds.A_ROWS, "a"), worlds.table(worlds.B_ROWS, "b")
    expected = accord.simulate(a, b, agreement(), seed=1).pairs
    with duckdb.connect() as database:
        database.register("a", shuffled(a))
        found = accord.simulate(
            accord.Query(database, "SELECT * FROM a"),
            pl.from_arrow(b).lazy(),  # type: ignore[union-attr]
            agreement(),
            seed=1,
        )
        checked = accord.check(agreement(), database.sql("FROM a"), party="A")
    assert found.pairs.equals(expected)
    assert checked.records == 4


class Driver:
    """A connection of PEP 249 that answers these rows, or refuses as drivers do."""

    def __init__(self, rows: list[tuple[Any, ...]], names: tuple[str, ...], refuses: str = "") -> None:
        self.description = [(name,) for name in names]
        self._rows, self._refuses, self.closed = rows, refuses, 0

    def cursor(self) -> Driver:
        return self

    def execute(self, sql: str) -> None:
        if self._refuses == "execute":
            raise ConnectionError(f"postgresql://me:canary@host/db refused {sql}")

    def fetchmany(self, count: int) -> list[tuple[Any, ...]]:
        if self._refuses == "fetch" and not self._rows:
            raise ConnectionError("postgresql://me:canary@host/db is gone")
        some, self._rows = self._rows[:count], self._rows[count:]
        return some

    def close(self) -> None:
        self.closed += 1


def test_cells_of_all_types_become_text() -> None:
    row = (
        "a",
        Decimal("1.50"),
        date(2026, 11, 15),
        datetime(2026, 11, 15),
        datetime(2026, 11, 15, tzinfo=UTC),
    )
    driver = Driver([row, (None,) * 5], ("id", "n", "day", "midnight", "moment"))
    (batch,) = open_table(Query(driver, ALL), ["id", "n", "day", "midnight", "moment"], Layout()).batches
    assert set(batch.schema.types) == {pa.large_string()}
    assert list(batch.to_pylist()[0].values()) == [
        *("a", "1.50", "2026-11-15", "2026-11-15", "2026-11-15 00:00:00+00:00")
    ]
    assert driver.closed == 1


@pytest.mark.parametrize("moment", ["execute", "fetch"])
def test_a_refusal_of_a_driver_is_not_repeated(moment: str) -> None:
    driver = Driver([("a", date(2000, 1, 1), 150)], ("id", "born", "height"), moment)
    with pytest.raises(UnreadableError, match=r"refused it \(ConnectionError\)") as caught:
        load_records(Query(driver, "SELECT 'secret'"), FIELDS, "00")
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_nothing_is_told_of_a_connection() -> None:
    with duckdb.connect() as database:
        assert repr(Query(database, "SELECT 'canary'")) == "Query(…)"
    with pytest.raises(UsageError, match="`connection=` is an open connection") as caught:
        Query("postgresql://me:canary@host/db", ALL)
    assert "canary" not in str(caught.value)
    with pytest.raises(UsageError, match="`sql=` is a text"):
        Query(Driver([], ()), 7)  # type: ignore[arg-type]


def test_a_lazy_frame_that_fails() -> None:
    import polars as pl

    frame = pl.LazyFrame({"id": ["canary"]}).with_columns(pl.col("id").cast(pl.Int64).alias("name"))
    with pytest.raises(UnreadableError) as caught:
        list(open_table(frame, ["id", "name"], Layout()).batches)
    assert "canary" not in str(caught.value)
