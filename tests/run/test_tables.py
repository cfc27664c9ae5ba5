"""Pairs in tables of databases, at the end of real runs: what goes wrong is said in words, costs nothing
before the start, and leaves nothing half written after it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from accord.errors import AccordError, OutputError, UnsureOutputError
from accord.run.link import reopen
from accord.run.offer import Offer
from accord.run.request import Output, Resumption
from accord.run.stages import Linked, go_on
from accord.run.verbs import link
from accord.secure.party import Party
from accord.side import Side
from accord.state.ledger import Ledger
from accord.state.runs import open_run
from accord.table.address import Address, Database
from accord.table.pairs import PairTable
from accord.table.sinks import postgres as sinks_postgres
from accord.table.sinks.targets import Target
from accord.table.sinks.transaction import Refused, statement
from tests.postgres import Server
from tests.protocols.worlds import agreement
from tests.run import faults, worlds
from tests.run.faults import Line, Office, Wire
from tests.run.test_resume import EXPECTED
from tests.table.databases import Home, home

pytestmark = pytest.mark.usefixtures("quick")
__all__ = ["home"]

ROWS = [tuple(line.replace('"', "").split(",")) for line in EXPECTED["plain"].decode().splitlines()[1:]]
ALL = "SELECT id_a, id_b, x_a, y_a, x_b, y_b FROM pairs ORDER BY id_a, id_b"


def offices(folder: Path, home: Home) -> dict[Side, Office]:
    """A writes to a table, B to a file."""
    both = faults.offices(folder, "plain")
    both[Side.A].out = home.address()  # type: ignore[assignment]
    return both


def again(both: dict[Side, Office], out: Target | None = None) -> faults.Ending:
    """Both go on with their run; A perhaps to another place."""
    name = faults.common_run(both)
    assert name
    a, b = both[Side.A], both[Side.B]
    with (
        reopen(a.state, name, Resumption(output=Output(out))) as mine,
        reopen(b.state, name) as theirs,
    ):
        return faults.drive({Side.A: go_on(*mine, Line()), Side.B: go_on(*theirs, Line())}, Wire())


def require_done(ending: faults.Ending, both: dict[Side, Office]) -> None:
    for side, office in both.items():
        assert isinstance(ending[side], Linked), ending
        faults.require_one_charge(office)


def test_a_run_writes_its_table_and_replaces_it_when_its_end_is_done_again(
    home: Home, tmp_path: Path
) -> None:
    both = offices(tmp_path, home)
    require_done(faults.drive(faults.linking(both), Wire()), both)
    assert home.rows(ALL) == ROWS
    home.run("DELETE FROM pairs")
    require_done(again(both), both)
    assert home.rows(ALL) == ROWS
    run = both[Side.A].run
    assert run is not None
    assert run.manifest.request.target == home.address()


def test_own_ids_keep_their_type(home: Home, tmp_path: Path) -> None:
    both = offices(tmp_path, home)
    data = tmp_path / "numbers.parquet"
    rows = list(enumerate(faults.A_ROWS))
    columns = {"id": [i for i, _ in rows], "x": [x for _, (x, _) in rows], "y": [y for _, (_, y) in rows]}
    pyarrow.parquet.write_table(pa.table(columns), data)
    both[Side.A].data = data
    require_done(faults.drive(faults.linking(both), Wire()), both)
    found = home.rows("SELECT id_a, id_b FROM pairs ORDER BY id_a, id_b")
    assert found == sorted((int(a[1:]), b) for a, b, *_ in ROWS)
    assert b'"0"' in both[Side.B].out.read_bytes(), "the partner has texts"


def interrupted(both: dict[Side, Office], act: Callable[[], object]) -> faults.Ending:
    """Something happens while the run goes on."""
    parties = faults.linking(both)

    def acting() -> Party[Linked]:
        party = parties[Side.A]
        effect = next(party)
        act()
        while True:
            answer = yield effect
            try:
                effect = party.send(answer)
            except StopIteration as end:
                return end.value

    return faults.drive({**parties, Side.A: acting()}, Wire())


def test_a_table_that_somebody_makes_meanwhile_is_not_replaced(home: Home, tmp_path: Path) -> None:
    both = offices(tmp_path, home)
    made = "CREATE TABLE pairs (id_a text, id_b text, x_a text, y_a text, x_b text, y_b text)"
    ending = interrupted(both, lambda: home.run(made, "INSERT INTO pairs (id_a) VALUES ('another')"))
    assert isinstance(ending[Side.A], OutputError)
    with pytest.raises(OutputError, match="the table already exists"):
        again(both)
    assert home.rows("SELECT id_a FROM pairs") == [("another",)]
    home.run("DROP TABLE pairs")
    require_done(again(both), both)
    assert home.rows(ALL) == ROWS


@pytest.mark.slow
def test_a_server_that_is_away_at_the_end(postgres: Server, tmp_path: Path) -> None:
    """The run is kept, and goes on with another place, or with the same once the server is there."""
    own = Home(Database.POSTGRES, postgres.add_schema())
    both = offices(tmp_path, own)
    try:
        ending = interrupted(both, lambda: postgres.stop(signal.SIGQUIT))
        assert isinstance(ending[Side.A], OutputError)
        assert "the server cannot be reached" in str(ending[Side.A])
        with pytest.raises(OutputError, match="the server cannot be reached"):
            again(both)
        elsewhere = Address(Database.SQLITE, str(tmp_path / "own.sqlite"), "pairs")
        require_done(again(both, elsewhere), both)
        assert Home(Database.SQLITE, elsewhere.place).rows(ALL) == ROWS
    finally:
        postgres.start()
    require_done(again(both), both)
    assert own.rows(ALL) == ROWS


def test_a_server_that_ends_in_the_middle_of_writing(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Home(Database.POSTGRES, postgres.add_schema())
    both = offices(tmp_path, own)
    batches = PairTable.typed_batches

    def ending_server(pairs: PairTable) -> Iterator[pa.RecordBatch]:
        for batch in batches(pairs):
            yield batch
            postgres.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'accord'"
            )
            yield from [batch] * 3000

    with monkeypatch.context() as patch:
        patch.setattr(PairTable, "typed_batches", ending_server)
        ending = faults.drive(faults.linking(both), Wire())
    assert isinstance(ending[Side.A], OutputError)
    assert "the server ended the connection" in str(ending[Side.A])
    assert own.tables() == []
    assert (run := both[Side.A].run) is not None
    assert run.manifest.replaces == ""
    require_done(again(both), both)
    assert own.rows(ALL) == ROWS


def test_an_answer_to_a_commit_that_is_lost(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was done or it was not: the run that asked for it may replace what it finds, and nobody else's."""
    own = Home(Database.POSTGRES, postgres.add_schema())
    both = offices(tmp_path, own)
    commit = sinks_postgres.Postgres.commit

    def lost(transaction: Any) -> None:
        commit(transaction)
        raise Refused("the connection to the server was lost", unsure=True)

    with monkeypatch.context() as patch:
        patch.setattr(sinks_postgres.Postgres, "commit", lost)
        ending = faults.drive(faults.linking(both), Wire())
    assert isinstance(ending[Side.A], UnsureOutputError)
    assert "may have been written, or not" in str(ending[Side.A])
    assert ending[Side.A].exit_code == 5  # type: ignore[union-attr]
    require_done(again(both), both)
    assert own.rows(ALL) == ROWS


# -- before anybody is asked or called --------------------------------------------------------------------


@pytest.fixture
def office(tmp_path: Path) -> worlds.Organisation:
    return worlds.introduce(tmp_path, agreement())[0]


def attempt(office: worlds.Organisation, out: Any, **more: Any) -> str:
    """What a linkage says that ends before its owner is asked; nothing is charged."""

    def never(offer: Offer) -> bool:
        raise AssertionError("asked")

    with pytest.raises(AccordError) as caught:
        link(
            more.pop("data", worlds.table(worlds.A_ROWS, "A")), agreement(), partner="bob",
            confirm=never, listen="127.0.0.1:0", out=out, state=office.state.folder, **more,
        )  # fmt: skip
    assert isinstance(caught.value, OutputError)
    assert caught.value.exit_code == 5
    assert caught.value.__cause__ is None
    assert not Ledger(office.state.database).runs()
    return str(caught.value)


def test_a_server_that_is_away_is_found_at_once(postgres: Server, office: worlds.Organisation) -> None:
    postgres.add_service("away")
    text = postgres.services.read_text()
    before, after = text.rsplit(f"port={postgres.port}", 1)
    postgres.services.write_text(f"{before}port=1{after}")
    assert "the server cannot be reached" in attempt(office, "postgres:away?table=pairs")
    assert "knows no such service" in attempt(office, "postgres:nobody-named-it?table=pairs")


def test_a_wrong_password_is_not_repeated_nor_is_what_is_right(
    postgres: Server, office: worlds.Organisation, capfd: pytest.CaptureFixture[str]
) -> None:
    canary = "canary-5d1f"
    postgres.run("CREATE ROLE guest LOGIN PASSWORD 'canary-true'")
    postgres.add_service("guest", user="guest", password=canary)
    said = attempt(office, "postgres:guest?table=pairs")
    assert "the password is wrong or missing" in said
    assert canary in postgres.passwords.read_text(), "the search would find it"
    told = "".join(capfd.readouterr())
    for secret in (canary, "canary-true", postgres.password, str(postgres.passwords), "guest:"):
        assert secret not in said + told


def test_who_may_not_write_is_told_at_once(postgres: Server, office: worlds.Organisation) -> None:
    own = Home(Database.POSTGRES, postgres.add_schema())
    reader = postgres.add_user("reader", f"GRANT USAGE ON SCHEMA {own.place} TO reader")
    address = f"postgres:{reader}?table=pairs&schema={own.place}"
    assert "you have no right to write there" in attempt(office, address)
    own.run("CREATE TABLE pairs (id_a text)", "GRANT SELECT, INSERT ON pairs TO reader")
    assert "the table already exists" in attempt(office, address)


def test_a_table_that_is_there(home: Home, office: worlds.Organisation) -> None:
    home.run("CREATE TABLE pairs (precious text)")
    for out, force in ((home.address(), False), (str(home.address()), False), (home.address(), True)):
        assert "the table already exists" in attempt(office, out, force=force)
    assert home.tables() == ["pairs"]


def test_the_table_that_is_read(home: Home, office: worlds.Organisation) -> None:
    home.run("CREATE TABLE people (id text, x bigint, y bigint)", "INSERT INTO people VALUES ('A', 1, 1)")
    address = home.address("people")
    assert "the table already exists" in attempt(office, address, data=str(address), force=True)
    assert home.rows("SELECT id FROM people") == [("A",)]


def test_a_linkage_from_a_table_to_another_beside_it(home: Home, tmp_path: Path) -> None:
    """Over a real connection: read, compared, written, and its receipt fits the table."""
    a, b = worlds.introduce(tmp_path, agreement())
    rows = ", ".join(f"({i}, {x}, {y})" for i, (x, y) in enumerate(worlds.A_ROWS))
    insert = statement("INSERT INTO people VALUES", rows)
    home.run("CREATE TABLE people (id bigint, x bigint, y bigint)", insert)
    ours, theirs = worlds.link_both(
        a, b, a_options={"data": str(home.address("people")), "out": str(home.address())}
    )
    assert isinstance(ours, Linked), ours
    assert isinstance(theirs, Linked), theirs
    assert ours.out == home.address()
    assert home.rows("SELECT id_a, id_b FROM pairs ORDER BY id_a") == [(0, "b0"), (1, "b1")]
    assert open_run(a.state, ours.run).manifest.replaces == str(home.address())
