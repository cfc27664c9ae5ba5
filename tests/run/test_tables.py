"""Runs on tables of other kinds: in databases, on either end, and without ids.

What goes wrong costs nothing before the start, and leaves nothing half written after it.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from accord.errors import (
    AccordError,
    DataError,
    OutputError,
    SnapshotError,
    UnreadableError,
    UnsureOutputError,
)
from accord.notices import Notice, Reading
from accord.run import link as link_module
from accord.run.offer import Offer
from accord.run.request import Output
from accord.run.verbs import link
from accord.side import Side
from accord.state.ledger import Ledger
from accord.table.address import Database
from accord.table.pairs import PairTable
from accord.table.sinks import postgres as sinks_postgres
from accord.table.sinks.transaction import Refused
from accord.table.sources.opening import ids_file
from tests.fields.made_ids import read_made
from tests.postgres import Server
from tests.protocols.worlds import agreement
from tests.run import faults, worlds
from tests.run.faults import EXPECTED, Office, Wire
from tests.table.databases import Home, home

pytestmark = pytest.mark.usefixtures("quick")
__all__ = ["home"]

Both = dict[Side, Office]
ROWS = [tuple(line.replace('"', "").split(",")) for line in EXPECTED["plain"].decode().splitlines()[1:]]
ALL = "SELECT id_a, id_b, x_a, y_a, x_b, y_b FROM pairs ORDER BY id_a, id_b"


# -- databases -----------------------------------------------------------------------------------------------


def writing(folder: Path, home: Home) -> Both:
    """A writes to a table, B to a file."""
    both = faults.offices(folder, "plain")
    both[Side.A].out = home.address()  # type: ignore[assignment]
    return both


def sqlite(folder: Path) -> Home:
    return Home(Database.SQLITE, str(folder / "own.sqlite"))


def go_on(both: Both) -> None:
    """Both resume, are done and were charged once."""
    faults.require_linked(faults.resume(both, faults.the_run(both)))
    for office in both.values():
        faults.require_one_charge(office)


def test_a_run_from_a_table_to_a_table(home: Home, tmp_path: Path) -> None:
    """Own ids keep their type. The run goes on after a cut, and its end, done again, replaces its table."""
    both = writing(tmp_path, home)
    office = both[Side.A]
    cells = (f"({i}, {x}, {y})" for i, (x, y) in reversed(list(enumerate(faults.A_ROWS))))
    insert = f"INSERT INTO points VALUES {', '.join(cells)}"  # noqa: S608
    home.run("CREATE TABLE points (id bigint, x bigint, y bigint)", insert)
    office.data = home.address("points")  # type: ignore[assignment]
    faults.drive(faults.linking(both), Wire(12))
    assert office.run
    assert office.run.manifest.request.data == str(office.data)
    for _ in range(2):
        go_on(both)
        assert home.rows(ALL) == [(int(a[1:]), *rest) for a, *rest in ROWS]
        assert b'"0"' in both[Side.B].out.read_bytes(), "the partner has texts"
        home.run("DELETE FROM pairs")
    assert office.run.manifest.request.target == home.address()


def test_a_table_that_somebody_makes_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    own = sqlite(tmp_path)
    both = writing(tmp_path, own)
    parties = faults.linking(both)
    rows = ("CREATE TABLE pairs (id_a text)", "INSERT INTO pairs VALUES ('another')")
    parties[Side.A] = faults.meanwhile(parties[Side.A], lambda: own.run(*rows))
    assert isinstance(faults.drive(parties, Wire())[Side.A], OutputError)
    with pytest.raises(OutputError):
        go_on(both)
    assert own.rows("SELECT id_a FROM pairs") == [("another",)]
    own.run("DROP TABLE pairs")
    go_on(both)
    assert own.rows(ALL) == ROWS


def test_a_server_that_ends_while_it_is_written(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle nothing is left. Of a commit whose answer is lost nobody knows whether it was done: the
    run that asked for it may replace what it finds, and no other may."""
    own = Home(Database.POSTGRES, postgres.add_schema())
    both = writing(tmp_path, own)
    batches, commit = PairTable.typed_batches, sinks_postgres.Postgres.commit
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'accord'"

    def ending_server(pairs: PairTable) -> Iterator[pa.RecordBatch]:
        for batch in batches(pairs):
            yield batch
            postgres.run(end)
            yield from [batch] * 3000

    def lost(transaction: Any) -> None:
        commit(transaction)
        raise Refused("the connection to the server was lost", unsure=True)

    with monkeypatch.context() as patch:
        patch.setattr(PairTable, "typed_batches", ending_server)
        assert isinstance(faults.drive(faults.linking(both), Wire())[Side.A], OutputError)
    assert own.tables() == []
    assert (run := both[Side.A].run) is not None
    assert run.manifest.replaces == ""
    with monkeypatch.context() as patch:
        patch.setattr(sinks_postgres.Postgres, "commit", lost)
        error = faults.resume(both, faults.the_run(both))[Side.A]
    assert isinstance(error, UnsureOutputError)
    assert error.exit_code == 5
    go_on(both)
    assert own.rows(ALL) == ROWS
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert postgres.password.encode() not in everything


def refused(folder: Path, out: Any, **more: Any) -> str:
    """What a linkage says that ends before its owner is asked. Nothing is charged."""
    office, _ = worlds.introduce(folder, agreement())

    def never(offer: Offer) -> bool:
        raise AssertionError("asked")

    data = more.pop("data", worlds.table(worlds.A_ROWS, "A"))
    given: dict[str, Any] = {"partner": "bob", "listen": "127.0.0.1:0", "state": office.state.folder}
    with pytest.raises(AccordError) as caught:
        link(data, agreement(), confirm=never, out=out, **given | more)
    assert isinstance(caught.value, OutputError)
    assert caught.value.__cause__ is None
    assert not Ledger(office.state.store).runs()
    return str(caught.value)


def test_a_server_that_refuses_is_found_at_once_and_no_secret_is_repeated(
    postgres: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    canary, own = "canary-5d1f", Home(Database.POSTGRES, postgres.add_schema())
    postgres.run("CREATE ROLE guest LOGIN PASSWORD 'canary-true'")
    postgres.add_service("guest", user="guest", password=canary)
    reader = postgres.add_user("reader", f"GRANT USAGE ON SCHEMA {own.place} TO reader")
    postgres.add_service("away")
    before, after = postgres.services.read_text().rsplit(f"port={postgres.port}", 1)
    postgres.services.write_text(f"{before}port=1{after}")
    outs = [f"postgres:{name}?table=pairs" for name in ("guest", "nobody-named-it", "away")]
    outs.append(f"postgres:{reader}?table=pairs&schema={own.place}")
    said = "".join(refused(tmp_path / str(number), out) for number, out in enumerate(outs))
    assert canary in postgres.passwords.read_text(), "the search would find it"
    office = faults.offices(tmp_path)[Side.A]
    for name in ("guest", "away"):
        office.data = Path(f"postgres:{name}?table=points")
        with pytest.raises(UnreadableError) as caught:
            office.ready()
        said += str(caught.value)
    assert (office.ledger.runs(), office.run) == ((), None)
    told = "".join(capfd.readouterr())
    for secret in (canary, "canary-true", postgres.password, str(postgres.passwords), "guest:"):
        assert secret not in said + told


def test_a_table_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """Also the table that is read, and with `force`."""
    own = sqlite(tmp_path)
    own.run("CREATE TABLE pairs (id text, x bigint, y bigint)", "INSERT INTO pairs VALUES ('A', 1, 1)")
    refused(tmp_path / "forced", own.address(), force=True)
    refused(tmp_path / "read", str(own.address()), data=str(own.address()))
    assert own.tables() == ["pairs"]
    assert own.rows("SELECT id FROM pairs") == [("A",)]


def test_a_long_table_tells_how_many_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office = faults.offices(tmp_path)[Side.A]
    told: list[Notice] = []
    monkeypatch.setattr(link_module, "_TOLD", 3)
    link_module.get_ready(office.request(snapshot=None, output=Output()), office.state, told.append)
    assert told == [Reading(8), Reading(8, done=True)]


# -- tables without ids --------------------------------------------------------------------------------------


def without_ids(folder: Path, kind: str) -> Both:
    return faults.drop_ids(faults.offices(folder, kind))


def pairs_of(office: Office) -> list[tuple[str, str]]:
    with office.out.open(newline="") as file:
        return [(pair["id_a"], pair["id_b"]) for pair in csv.DictReader(file)]


@pytest.mark.parametrize("kind", ["greedy", "plain", "all-pairs", "psi"])
def test_made_ids_in_messages_are_those_of_what_matches(kind: str, tmp_path: Path) -> None:
    both, wire = without_ids(tmp_path, kind), Wire()
    faults.require_linked(faults.link(both, wire))
    found = pairs_of(both[Side.A])
    assert pairs_of(both[Side.B]) == found == sorted(found)
    for place, side in enumerate(Side):
        told = b"".join(frame for sender, frame in wire.passed if sender is side)
        matched = {pair[place] for pair in found}
        assert {id for id in read_made(both[side].data).values() if id.encode() in told} == matched


@pytest.mark.parametrize("kind", ["plain", "all-pairs"])
def test_neighbouring_tables_are_the_same_to_a_partner(kind: str, tmp_path: Path) -> None:
    """A row more that matches nothing, or that is the same as another: rows that match keep their ids, and a
    row's number would differ."""
    base = without_ids(tmp_path / "base", kind)
    faults.require_linked(faults.link(base))
    for place, row in ((0, "5,9"), (2, "9,2")):
        both = without_ids(tmp_path / f"{place}", kind)
        for side in Side:
            shutil.copy(ids_file(base[side].data), ids_file(both[side].data))
        lines = both[Side.A].data.read_text().splitlines()
        lines.insert(1 + place, row)
        both[Side.A].data.write_text("\n".join(lines) + "\n")
        faults.require_linked(faults.link(both))
        assert both[Side.B].out.read_bytes() == base[Side.B].out.read_bytes()
        assert len(read_made(both[Side.A].data)) == 9


def test_a_sorted_table_is_the_same_snapshot_and_a_changed_one_is_not(tmp_path: Path) -> None:
    """A run that is resumed makes no ids."""
    both = without_ids(tmp_path, "plain")
    data = both[Side.A].data

    def linked(*lines: str) -> str:
        data.write_text("\n".join(lines) + "\n")
        return faults.require_linked(faults.link(both))[Side.A].run

    header, *rows = data.read_text().splitlines()
    linked(header, *rows)
    found = pairs_of(both[Side.A])
    name = linked(header, *reversed(rows))
    assert pairs_of(both[Side.A]) == found
    before = ids_file(data).read_bytes()
    data.write_text("\n".join([header, *rows, "5,9"]) + "\n")
    with pytest.raises(DataError) as missing:
        faults.resume(both, name)
    assert missing.value.faults[0].place == "row 9, column 'id'"
    assert ids_file(data).read_bytes() == before
    with pytest.raises(SnapshotError):
        linked(header, *rows[1:], "5,9")
