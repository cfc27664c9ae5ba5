"""Pairs in tables of databases: the same cells in each, whole or not at all, and nothing lost by it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from accord.errors import OutputError
from accord.table.address import Address, Database, quote_name
from accord.table.pairs import PairTable
from accord.table.sinks.database import require_table, write_to_table
from accord.table.sinks.transaction import statement
from tests.table.databases import Home, home, pairs

__all__ = ["home"]

FOUND = pairs(["1", "2"], ["x", "y"], {"name": ["Ann", None]}, {"name": ["=1+1", "Bö"]})
ROWS = [("1", "x", "Ann", "=1+1"), ("2", "y", None, "Bö")]
NAMES = FOUND.typed_schema.names


def found_in(home: Home) -> list[tuple[object, ...]]:
    return home.rows("SELECT id_a, id_b, name_a, name_b FROM pairs ORDER BY 1, 2")


def refused(reason: str, *attempts: Callable[[], None]) -> None:
    for attempt in attempts:
        with pytest.raises(OutputError, match=reason) as caught:
            attempt()
        assert caught.value.exit_code == 5


def test_cells_are_there_as_they_are(home: Home) -> None:
    """Formulas, too: no database takes a cell for one."""
    require_table(home.address(), NAMES, own=False)
    assert home.tables() == []
    write_to_table(FOUND, home.address(), own=False)
    assert found_in(home) == ROWS
    assert home.tables() == ["pairs"]


def test_own_ids_keep_their_type_and_the_partners_are_text(home: Home) -> None:
    write_to_table(pairs([7, -3, 2**63 - 1], ["1", "2", "3"]), home.address(), own=False)
    assert home.rows("SELECT id_a, id_b FROM pairs ORDER BY id_a") == [(-3, "2"), (7, "1"), (2**63 - 1, "3")]


def test_a_cell_with_a_nul_that_no_honest_partner_sends(home: Home) -> None:
    """A file holds it; PostgreSQL cannot, and says so without the cell."""
    hostile = pairs(["1"], ["canary\0"])
    if home.database is not Database.POSTGRES:
        write_to_table(hostile, home.address(), own=False)
        assert home.rows("SELECT id_b FROM pairs") == [("canary\0",)]
        return
    with pytest.raises(OutputError, match="holds a NUL character") as caught:
        write_to_table(hostile, home.address(), own=False)
    assert "canary" not in str(caught.value)
    assert home.tables() == []


def test_no_pairs_are_an_empty_table(home: Home) -> None:
    write_to_table(pairs([], []), home.address(), own=False)
    assert home.rows("SELECT * FROM pairs") == []


def test_a_table_that_is_there_is_replaced_by_its_own_run_alone(home: Home) -> None:
    write_to_table(FOUND, home.address(), own=False)
    refused(
        "the table already exists. Drop it first",
        lambda: require_table(home.address(), NAMES, own=False),
        lambda: write_to_table(FOUND, home.address(), own=False),
    )
    require_table(home.address(), NAMES, own=True)
    assert found_in(home) == ROWS, "a trial changes nothing"
    other = pairs(["9"], ["z"], {"name": ["new"]}, {"name": [None]})
    write_to_table(other, home.address(), own=True)
    assert found_in(home) == [("9", "z", "new", None)]


@pytest.mark.parametrize(
    "columns",
    [
        "id_a text, id_b text",
        "id_a text, id_b text, name_a text, name_b text, more text",
        "id_a text, id_b text, name_b text, name_a text",
    ],
)
def test_a_table_that_has_other_columns_by_now_is_left_alone(home: Home, columns: str) -> None:
    home.run(f"CREATE TABLE pairs ({columns})", "INSERT INTO pairs (id_b) VALUES ('precious')")
    refused(
        "the table already exists",
        lambda: require_table(home.address(), NAMES, own=True),
        lambda: write_to_table(FOUND, home.address(), own=True),
    )
    assert home.rows("SELECT id_b FROM pairs") == [("precious",)]


def test_a_view_is_never_dropped(home: Home) -> None:
    home.run("CREATE TABLE t (id_a text, id_b text)", "CREATE VIEW pairs AS SELECT id_a, id_b FROM t")
    two = pairs(["1"], ["2"])
    for own in (False, True):
        with pytest.raises(OutputError):
            write_to_table(two, home.address(), own=own)
    assert home.rows("SELECT * FROM pairs") == []


def test_other_tables_of_the_place_stay(home: Home) -> None:
    home.run("CREATE TABLE people (id bigint)", "INSERT INTO people VALUES (5)")
    write_to_table(FOUND, home.address(), own=False)
    assert home.rows("SELECT id FROM people") == [(5,)]
    assert home.tables() == ["pairs", "people"]


HOSTILE = ['x" text); DROP TABLE people; --', "a'b", "100%", "é ü", "select", "$1", "a\nb\tc", "\\"]


def test_names_that_the_partner_made_are_names_and_nothing_else(home: Home) -> None:
    home.run("CREATE TABLE people (id bigint)")
    hostile = pairs(["1"], ["2"], {}, {name: [str(place)] for place, name in enumerate(HOSTILE)})
    table = "".join(HOSTILE)[:50]
    for own in (False, True):
        require_table(home.address(table), hostile.typed_schema.names, own=own)
        write_to_table(hostile, home.address(table), own=own)
    assert set(home.tables()) == {"people", table}
    found = home.rows(statement("SELECT * FROM", quote_name(table)))
    assert found == [("1", "2", *map(str, range(len(HOSTILE))))]


@pytest.mark.parametrize("name", ["é" * 31, "x" * 62, "x" * 100])
def test_a_name_that_would_be_cut_is_refused(home: Home, name: str) -> None:
    """With `_b` behind it; PostgreSQL would cut two such names to one, and say nothing."""
    long = pairs(["1"], ["2"], {}, {name: ["cell"]})
    if home.database is not Database.POSTGRES:
        write_to_table(long, home.address(), own=False)
        return
    refused(
        "no names of more than 63 octets",
        lambda: require_table(home.address(), long.typed_schema.names, own=False),
        lambda: write_to_table(long, home.address(), own=False),
        lambda: require_table(home.address(name + "__"), NAMES, own=False),
    )
    assert home.tables() == []


def test_names_that_sqlite_keeps(tmp_path: Path) -> None:
    own = Home(Database.SQLITE, str(tmp_path / "own.db"))
    refused("to itself", lambda: require_table(own.address("SQLite_pairs"), NAMES, own=False))


def test_names_that_differ_in_letter_case(home: Home) -> None:
    both = pairs(["1"], ["2"], {}, {"Name": ["cell"], "name": ["other"]})
    if home.database is Database.POSTGRES:
        write_to_table(both, home.address(), own=False)
        return
    with pytest.raises(OutputError, match="takes 'Name_b' and a column"):
        require_table(home.address(), both.typed_schema.names, own=False)
    assert home.tables() == []


def test_a_name_that_steers_a_terminal_is_shown_without_that() -> None:
    address = Address(Database.POSTGRES, "anywhere", "pairs")
    with pytest.raises(OutputError, match="63 octets") as caught:
        require_table(address, ["\x1b]0;owned\x07" + "x" * 60], own=False)
    assert str(caught.value).isprintable()


def test_a_name_with_a_nul(home: Home) -> None:
    with pytest.raises(OutputError, match="NUL"):
        require_table(home.address(), ["x\0y"], own=False)


def test_a_schema(home: Home) -> None:
    if home.database is Database.SQLITE:
        return
    # A server's schemas are for all tests.
    schema = "results" if home.database is Database.DUCKDB else f"{home.place}_results"
    there = home.address("pairs", schema)
    with pytest.raises(OutputError, match="there is no such schema"):
        require_table(there, NAMES, own=False)
    home.run(f"CREATE SCHEMA {schema}")
    require_table(there, NAMES, own=False)
    write_to_table(FOUND, there, own=False)
    write_to_table(FOUND, home.address(), own=False)
    with pytest.raises(OutputError, match="the table already exists"):
        require_table(there, NAMES, own=False)
    write_to_table(FOUND, there, own=True)
    assert len(home.rows(statement("SELECT * FROM", f"{schema}.pairs"))) == len(found_in(home)) == 2


# -- files ------------------------------------------------------------------------------------------------

FILES = [Database.DUCKDB, Database.SQLITE]


@pytest.fixture(params=FILES, ids=str)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return Home(request.param, str(tmp_path / "own.db"))


def test_a_new_file_is_its_owners_and_alone(file: Home, tmp_path: Path) -> None:
    require_table(file.address(), NAMES, own=False)
    assert not os.listdir(tmp_path)
    write_to_table(FOUND, file.address(), own=False)
    assert os.listdir(tmp_path) == ["own.db"]
    assert (tmp_path / "own.db").stat().st_mode & 0o777 == 0o600


def test_what_is_no_database_is_left_alone(file: Home, tmp_path: Path) -> None:
    (tmp_path / "own.db").write_bytes(b"a letter to a friend\n" * 400)
    before = (tmp_path / "own.db").read_bytes()
    with pytest.raises(OutputError, match=r"it is not a (DuckDB|SQLite) file"):
        require_table(file.address(), NAMES, own=True)
    assert (tmp_path / "own.db").read_bytes() == before
    assert os.listdir(tmp_path) == ["own.db"]


@pytest.mark.parametrize(("place", "problem"), [("none/own.db", "no folder"), ("", "is a folder")])
def test_what_no_file_can_be(place: str, problem: str, tmp_path: Path) -> None:
    for kind in FILES:
        with pytest.raises(OutputError, match=problem):
            require_table(Address(kind, str(tmp_path / place), "pairs"), NAMES, own=False)


def test_a_file_that_appears_meanwhile(file: Home, tmp_path: Path) -> None:
    """Between the beginning and the end of writing, another makes it: neither is lost."""
    out = tmp_path / "own.db"

    class Appearing(PairTable):
        def typed_batches(self) -> Iterator[pa.RecordBatch]:
            out.write_bytes(b"another's")
            yield from super().typed_batches()

    with pytest.raises(OutputError, match="the file already exists"):
        write_to_table(Appearing(FOUND.a, FOUND.b, FOUND.pairs), file.address(), own=False)
    assert out.read_bytes() == b"another's"
    assert os.listdir(tmp_path) == ["own.db"]


def test_a_failure_in_the_middle_leaves_the_old_table(home: Home) -> None:
    class Failing(PairTable):
        def typed_batches(self) -> Iterator[pa.RecordBatch]:
            yield from super().typed_batches()
            raise OutputError(path="there", reason="the middle has come")

    failing = Failing(FOUND.a, FOUND.b, FOUND.pairs)
    with pytest.raises(OutputError, match="the middle has come"):
        write_to_table(failing, home.address(), own=False)
    assert home.tables() == []
    write_to_table(FOUND, home.address(), own=False)
    with pytest.raises(OutputError, match="the middle has come"):
        write_to_table(failing, home.address(), own=True)
    assert found_in(home) == ROWS


def test_pairs_that_do_not_fit_are_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
    with pytest.raises(OutputError, match="10 bytes are left there"):
        write_to_table(FOUND, Address(Database.SQLITE, str(tmp_path / "own.db"), "pairs"), own=False)
    assert not os.listdir(tmp_path)


ENDED = """
import os, resource, sys
from accord.errors import OutputError
from accord.table.address import find_address
from accord.table.pairs import PairTable
from accord.table.sinks.database import write_to_table
from tests.table.databases import pairs

many = [os.urandom(500).hex() for _ in range(4000)]
found = pairs([str(i) for i in range(4000)], many, {"name": [None] * 4000}, {"name": [None] * 4000})
whole = PairTable.typed_batches

def killed(pairs):
    yield from whole(pairs)
    os.kill(os.getpid(), 9)

if sys.argv[1] == "killed":
    PairTable.typed_batches = killed
else:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    write_to_table(found, find_address(sys.argv[2]), own=True)
except OutputError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize(
    ("fault", "there"),
    [
        ("full", True),
        ("killed", False),
        pytest.param("full", False, marks=pytest.mark.slow),
        pytest.param("killed", True, marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_or_a_killed_process_leaves_what_was_there(
    fault: str, there: bool, file: Home, tmp_path: Path
) -> None:
    if there:
        write_to_table(FOUND, file.address(), own=False)
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", ENDED, fault, str(file.address())]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)
    if fault == "killed":
        assert done.returncode == -9, done.stderr
    else:
        assert "cannot be written: " in done.stderr
        assert re.search("no room left|lack of space", done.stderr), done.stderr
        # A log of the database's own says to whoever opens it next what to undo.
        assert {path.name for path in tmp_path.iterdir()} <= {"own.db", "own.db.wal", "own.db-journal"}
    assert file.tables() == (["pairs"] if there else [])
    assert not there or found_in(file) == ROWS
    write_to_table(FOUND, file.address(), own=True)
    assert found_in(file) == ROWS
