"""Pairs in the order of both ids, each once; in files and databases: the same cells, whole or not at all."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import OutputError, UsageError
from accord.side import Side
from accord.spill import Scratch
from accord.table.address import Address, Database, quote_name
from accord.table.layout import Layout
from accord.table.pairs import Half, IdOrder, Paired, PairTable, SomePairs, order_pairs
from accord.table.sinks import files as sinks
from accord.table.sinks.database import require_table, write_to_table
from accord.table.sinks.postgres import _reason, open_postgres
from accord.table.sinks.targets import as_target, as_target_or_none, folder_of, require_free, settled
from accord.table.sinks.transaction import statement
from accord.table.sources.opening import open_table
from tests.postgres import Server
from tests.table.databases import Home, home, pairs

__all__ = ["home"]

# -- files ------------------------------------------------------------------------------------------------

TABLE = pa.table({"id_a": ["1"], "id_b": ["2"]})
ODD = [
    "=1", "+x", "-x", "@x", "\tx", "\rx", "'x", "''", "'", "+", "\n=1", " =1", "\v=1", "\x00=1",
    "\u00a0=1", "\u3000-x", "\ufeff=1", " \n@x", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20x",
]  # fmt: skip
PLAIN = ["-5", "+1.5e-3", "-.5", "x=1", "", "a'b", " -5", "\nx", "x;=1", None]


def refused(*attempts: Callable[[], object]) -> None:
    for attempt in attempts:
        with pytest.raises(OutputError) as caught:
            attempt()
        assert caught.value.exit_code == 5
        assert "canary" not in str(caught.value)


def test_every_ending_and_formulas_that_a_quote_disarms(tmp_path: Path) -> None:
    """In a csv, unless it is raw; other formats hold the true cells."""
    cells = ODD + PLAIN
    table = pa.table({"=x": cells, "n": pa.array(range(len(cells)))})
    for ending in sinks.ENDINGS:
        sinks.write_table(table, tmp_path / f"out{ending}")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist() == table.to_pylist()
    assert pyarrow.feather.read_table(tmp_path / "out.arrow").to_pylist() == table.to_pylist()
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    lines = pyarrow.csv.ParseOptions(newlines_in_values=True)
    found = pyarrow.csv.read_csv(tmp_path / "out.csv", parse_options=lines, convert_options=options)
    assert found.column_names == ["'=x", "n"]
    assert found["'=x"].to_pylist() == [f"'{cell}" for cell in ODD] + PLAIN
    assert found["n"].to_pylist() == list(range(len(cells)))
    assert sinks.unquote_formulas(found["'=x"]).to_pylist() == cells
    sinks.write_table(table.select(["=x"]), tmp_path / "out.csv", raw=True)
    assert (tmp_path / "out.csv").read_text().startswith('"=x"\n"=1"\n')
    assert sorted(os.listdir(tmp_path)) == ["out.arrow", "out.csv", "out.parquet"]


@given(st.lists(st.text(st.sampled_from("=+-@\t\r'5.e x\n"), max_size=5)))
def test_no_text_is_lost(texts: list[str]) -> None:
    quoted = sinks.quote_formulas(pa.chunked_array([texts], pa.large_string()))
    assert sinks.unquote_formulas(quoted).to_pylist() == texts
    assert all(not text.startswith(("=", "@", "\t", "\r")) for text in quoted.to_pylist())


def test_pairs_that_do_not_fit_are_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One long cell that stands in a hundred pairs."""
    found = wide(100, 1, 10_000)
    sinks.write_table(found, tmp_path / "out.csv")
    size = (tmp_path / "out.csv").stat().st_size
    assert abs(found.octets() - size) < 100
    (tmp_path / "out.csv").unlink()
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=size + 5000))
    refused(
        *(lambda name=name: sinks.write_table(found, tmp_path / name) for name in ("out.csv", "out.arrow"))
    )
    refused(lambda: write_to_table(found, Address(Database.SQLITE, str(tmp_path / "own.db"), "p"), own=False))
    assert not list(tmp_path.iterdir())
    sinks.write_table(found, tmp_path / "out.parquet")


@pytest.mark.parametrize("links", [True, False])
def test_a_file_is_written_whole_and_replaces_none_that_appears_meanwhile(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", fail)
    out = tmp_path / "out.csv"
    sinks.write_table(TABLE, out, replace=False)
    assert out.stat().st_mode & 0o777 == 0o600
    out.write_text("another's")
    refused(lambda: sinks.write_table(TABLE, out, replace=False))
    monkeypatch.setattr(sinks, "_write", fail)
    refused(lambda: sinks.write_table(TABLE, out))
    assert out.read_text() == "another's"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_what_no_file_can_be_or_is_an_input_by_any_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("out.xyz", "none/out.csv", "folder.csv", "x" * 300 + ".csv", "x\0.csv", "/proc/out.csv"):
        refused(partial(sinks.require_target, tmp_path / name, [], force=True))
        refused(partial(sinks.write_table, TABLE, tmp_path / name))
    data = tmp_path / "data.csv"
    data.write_text("id\n1\n")
    (tmp_path / "x").mkdir()
    (tmp_path / "there").symlink_to(tmp_path)
    (tmp_path / "link.csv").symlink_to(data)
    (tmp_path / "hard.csv").hardlink_to(data)
    for name in ("data.csv", "x/../data.csv", "link.csv", "hard.csv", "there/data.csv"):
        named, read = tmp_path / name, Address(Database.SQLITE, str(data), "people")
        refused(partial(sinks.require_target, named, [tmp_path / "missing.csv", data], force=True))
        refused(partial(require_free, named, [read], [], force=True))
    assert data.read_text() == "id\n1\n"


def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    sinks.require_target(out, [], force=False)
    out.write_text("mine")
    sinks.require_target(out, [], force=True)
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nowhere")
    refused(lambda: sinks.require_target(out, [], force=False))
    refused(lambda: sinks.require_target(tmp_path / "dangling.csv", [], force=False))
    assert out.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", "dangling.csv"}, "a trial was left"


def test_a_target_is_a_file_or_an_address_and_the_same_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert as_target("out", "pairs.csv") == as_target("out", Path("pairs.csv")) == Path("pairs.csv")
    table = Address(Database.SQLITE, "own.sqlite", "pairs")
    for given_ in ("sqlite:own.sqlite?table=pairs", Path("sqlite:own.sqlite?table=pairs"), table):
        assert as_target("out", given_) == table
    assert as_target_or_none("out", None) is None
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.sqlite").touch()
    (tmp_path / "link").symlink_to("own.sqlite")
    kept = settled(as_target("out", "sqlite:link?table=a b"))
    server = as_target("out", "postgres:there?table=p&schema=o")
    assert kept == f"sqlite:{tmp_path}/own.sqlite?table=a b" == settled(as_target("out", kept))
    assert settled(Path("pairs.csv")) == f"{tmp_path}/pairs.csv"
    assert as_target("out", settled(server)) == server
    assert folder_of(as_target("out", kept)) == folder_of(Path("pairs.csv")) == tmp_path
    assert folder_of(server) is None


# -- tables of databases ----------------------------------------------------------------------------------

FOUND = pairs(["1", "2"], ["x", "y"], {"name": ["Ann", None]}, {"name": ["=1+1", "Bö"]})
ROWS = [("1", "x", "Ann", "=1+1"), ("2", "y", None, "Bö")]
NAMES = FOUND.typed_schema.names
HOSTILE = ['x" text); DROP TABLE people; --', "a'b", "100%", "é ü", "select", "$1", "a\nb\tc", "\\"]


def found_in(home: Home) -> list[tuple[object, ...]]:
    return home.rows("SELECT id_a, id_b, name_a, name_b FROM pairs ORDER BY 1, 2")


class Failing(PairTable):
    """Pairs that end in the middle."""

    def typed_batches(self) -> Iterator[pa.RecordBatch]:
        yield from super().typed_batches()
        raise OutputError(path="there", reason="the middle has come")


FAILING = Failing(FOUND.a, FOUND.b, FOUND.pairs)


def test_a_table_is_written_whole_and_replaced_by_its_own_run_alone(home: Home) -> None:
    """Formulas stand as they are: no database takes a cell for one. Other tables of the place stay."""
    home.run("CREATE TABLE people (id bigint)", "INSERT INTO people VALUES (5)")
    require_table(home.address(), NAMES, own=False)
    refused(lambda: write_to_table(FAILING, home.address(), own=False))
    assert home.tables() == ["people"], "neither a trial nor a failure changes anything"
    write_to_table(FOUND, home.address(), own=False)
    refused(
        lambda: require_table(home.address(), NAMES, own=False),
        lambda: write_to_table(FOUND, home.address(), own=False),
        lambda: write_to_table(FAILING, home.address(), own=True),
    )
    require_table(home.address(), NAMES, own=True)
    assert found_in(home) == ROWS
    new = pairs([7, -3, 2**63 - 1], ["1", "2", "3"], {"name": ["new", None, ""]}, {"name": [None] * 3})
    write_to_table(new, home.address("typed"), own=False)
    typed = home.rows("SELECT id_a, id_b, name_a FROM typed ORDER BY id_a")
    assert typed == [(-3, "2", None), (7, "1", "new"), (2**63 - 1, "3", "")]
    write_to_table(pairs([], [], {"name": []}, {"name": []}), home.address(), own=True)
    assert found_in(home) == []
    assert home.rows("SELECT id FROM people") == [(5,)]


def test_tables_of_other_columns_and_views_are_left_alone(home: Home) -> None:
    for more in ("name_a text, name_b text, more text", "name_b text, name_a text"):
        home.run(
            "DROP TABLE IF EXISTS pairs",
            f"CREATE TABLE pairs (id_a text, id_b text, {more})",
            "INSERT INTO pairs (id_b) VALUES ('precious')",
        )
        refused(
            lambda: require_table(home.address(), NAMES, own=True),
            lambda: write_to_table(FOUND, home.address(), own=True),
        )
        assert home.rows("SELECT id_b FROM pairs") == [("precious",)]
    home.run("CREATE TABLE t (id_a text, id_b text)", "CREATE VIEW v AS SELECT id_a, id_b FROM t")
    two = pairs(["1"], ["2"])
    refused(*(partial(write_to_table, two, home.address("v"), own=own) for own in (False, True)))
    assert home.rows("SELECT * FROM v") == []


def test_names_that_the_partner_made_are_names_and_nothing_else(home: Home) -> None:
    home.run("CREATE TABLE people (id bigint)")
    hostile = pairs(["1"], ["2"], {}, {name: [str(place)] for place, name in enumerate(HOSTILE)})
    table = "".join(HOSTILE)[:50]
    for own in (False, True):
        require_table(home.address(table), hostile.typed_schema.names, own=own)
        write_to_table(hostile, home.address(table), own=own)
    assert set(home.tables()) == {"people", table}
    rows = home.rows(statement("SELECT * FROM", quote_name(table)))
    assert rows == [("1", "2", *map(str, range(len(HOSTILE))))]


def test_names_and_cells_that_a_database_would_change_are_refused(home: Home) -> None:
    """PostgreSQL would cut two long names to one, and say nothing; the others take letter cases for one."""
    with pytest.raises(OutputError) as caught:
        require_table(Address(Database.POSTGRES, "x", "pairs"), ["\x1b]0;owned\x07" + "x" * 60], own=False)
    assert str(caught.value).isprintable(), "no name steers a terminal"
    refused(lambda: require_table(home.address(), ["x\0y"], own=False))
    both = pairs(["1"], ["canary\0"], {}, {"Name": ["cell"], "name": ["other"]})
    long = [pairs(["1"], ["canary\0"], {}, {name: ["cell"]}) for name in ("é" * 31, "x" * 62)]
    other = home.address("other")
    if home.database is Database.POSTGRES:
        require_table(home.address(), both.typed_schema.names, own=False)
        refused(lambda: require_table(home.address("x" * 64), NAMES, own=False))
        refused(lambda: write_to_table(both, other, own=False))
        for one in long:
            refused(partial(require_table, other, one.typed_schema.names, own=False))
            refused(partial(write_to_table, one, other, own=False))
        assert home.tables() == []
        return
    refused(lambda: require_table(home.address(), both.typed_schema.names, own=False))
    assert home.tables() == []
    if home.database is Database.SQLITE:
        refused(lambda: require_table(home.address("SQLite_pairs"), NAMES, own=False))
    write_to_table(long[1], other, own=False)
    assert home.rows("SELECT id_b FROM other") == [("canary\0",)]


def test_a_schema(home: Home) -> None:
    if home.database is Database.SQLITE:
        return
    # A server's schemas are for all tests.
    schema = "results" if home.database is Database.DUCKDB else f"{home.place}_results"
    there = home.address("pairs", schema)
    refused(lambda: require_table(there, NAMES, own=False))
    home.run(f"CREATE SCHEMA {schema}")
    write_to_table(FOUND, there, own=False)
    require_table(home.address(), NAMES, own=False)
    refused(lambda: require_table(there, NAMES, own=False))
    write_to_table(FOUND, there, own=True)
    assert len(home.rows(statement("SELECT * FROM", f"{schema}.pairs"))) == 2


@pytest.fixture(params=[Database.DUCKDB, Database.SQLITE], ids=str)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return Home(request.param, str(tmp_path / "own.db"))


def test_a_new_file_is_its_owners_and_what_is_no_database_is_left_alone(file: Home, tmp_path: Path) -> None:
    out = tmp_path / "own.db"

    class Appearing(PairTable):
        def typed_batches(self) -> Iterator[pa.RecordBatch]:
            out.write_bytes(b"another's")
            yield from super().typed_batches()

    require_table(file.address(), NAMES, own=False)
    assert not os.listdir(tmp_path)
    refused(lambda: write_to_table(Appearing(FOUND.a, FOUND.b, FOUND.pairs), file.address(), own=False))
    assert out.read_bytes() == b"another's"
    refused(lambda: require_table(file.address(), NAMES, own=True))
    assert out.read_bytes() == b"another's"
    for place in ("none/own.db", ""):
        refused(partial(require_table, Address(file.database, str(tmp_path / place), "p"), NAMES, own=False))
    out.unlink()
    write_to_table(FOUND, file.address(), own=False)
    assert os.listdir(tmp_path) == ["own.db"]
    assert out.stat().st_mode & 0o777 == 0o600


def write_many(file: Home) -> None:
    """Four megabytes of pairs."""
    texts = [os.urandom(500).hex() for _ in range(4000)]
    none: dict[str, list[str | None]] = {"name": [None] * 4000}
    write_to_table(pairs(list(map(str, range(4000))), texts, none, none), file.address(), own=True)


def write_and_die(file: Home) -> None:
    """Kill this process before the end."""
    whole = PairTable.typed_batches

    def killed(pairs: PairTable) -> Iterator[pa.RecordBatch]:
        yield from whole(pairs)
        os.kill(os.getpid(), 9)

    PairTable.typed_batches = killed  # type: ignore[assignment,method-assign]
    write_many(file)


@pytest.mark.parametrize("there", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("fault", ["full", pytest.param("killed", marks=pytest.mark.slow)])
def test_a_full_disk_or_a_killed_process_leaves_what_was_there(
    fault: str, there: bool, file: Home, tmp_path: Path
) -> None:
    if there:
        write_to_table(FOUND, file.address(), own=False)
    if fault == "killed":
        process = multiprocessing.get_context("spawn").Process(target=write_and_die, args=(file,))
        process.start()
        process.join(120)
        assert process.exitcode == -9
    else:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
        try:
            with pytest.raises(OutputError) as caught:
                write_many(file)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert "own.db" in str(caught.value)
        # A log of the database's own says to whoever opens it next what to undo.
        assert {path.name for path in tmp_path.iterdir()} <= {"own.db", "own.db.wal", "own.db-journal"}
    assert file.tables() == (["pairs"] if there else [])
    assert not there or found_in(file) == ROWS
    write_to_table(FOUND, file.address(), own=True)
    assert found_in(file) == ROWS


def test_what_a_postgresql_server_refuses(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = postgres.add_service("frozen", "options=-c default_transaction_read_only=on")
    nowhere = postgres.add_service("nowhere", database="nowhere")
    for name in (frozen, nowhere):
        refused(partial(require_table, Address(Database.POSTGRES, name, "p"), NAMES, own=False))
    monkeypatch.setenv("PGSERVICE", postgres.add_schema())
    address = Address(Database.POSTGRES, "", "pairs")
    write_to_table(FOUND, address, own=False)
    with open_postgres(address) as transaction:
        assert transaction.find() == NAMES


def test_no_word_of_the_driver_is_repeated() -> None:
    """A state, or its class, has a reason of its own; words have one where there is no state."""

    def reason(words: str, state: str | None = None) -> str:
        error = RuntimeError(f"{words} canary host=there password=canary")
        error.sqlstate = state  # type: ignore[attr-defined]
        return _reason(error)

    states = ("53100", "42501", "40P01", "57P01", "28P01", "25006", "3F000", "XX000")
    reasons = {state: reason("FATAL", state) for state in states}
    assert reason("password authentication failed for") == reasons["28P01"]
    assert reason("server closed the connection") == reasons["57P01"]
    rest = {*reasons.values(), reason("could not parse"), reason("definition of service x not found")}
    assert len(rest) == len(states) + 2
    assert not any("canary" in text for text in rest)


# -- pairs ---------------------------------------------------------------------------------------------------


ids = st.lists(st.text(max_size=4), max_size=8, unique=True)
places = st.lists(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=9), max_size=5)
cells = st.lists(st.none() | st.text("ab", max_size=8), min_size=1, max_size=6)
SCRIPT = "<script>alert('x')</script>"


def order(texts: list[str]) -> IdOrder:
    return IdOrder.of(pa.array(texts, pa.large_string()))


@given(ids, ids, places, st.integers(0, 9), st.integers(1, 5))
def test_pairs_are_in_order_and_each_once(
    a: list[str], b: list[str], found: list[list[tuple[int, int]]], most: int, size: int
) -> None:
    some = [[(i % len(a), j % len(b)) for i, j in batch] if a and b else [] for batch in found]
    batches: list[SomePairs] = []
    for batch in some:
        rows = np.array(batch, np.int64).reshape(-1, 2)
        batches.append((rows[:, 0], rows[:, 1]))
    left_order = order(a)
    assert [a[row] for row in left_order.rows] == sorted(a, key=str.encode)
    assert [left_order.rows[place] for place in left_order.places] == list(range(len(left_order)))
    got = order_pairs(left_order, order(b), batches, Scratch(most=most))
    every = {pair for batch in some for pair in batch}
    expected = sorted(every, key=lambda pair: (a[pair[0]].encode(), b[pair[1]].encode()))
    assert list(zip(got.of(Side.A).tolist(), got.of(Side.B).tolist(), strict=True)) == expected
    assert len(got) == len(expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accord.table.pairs.PIECE", size)
        pieces = [list(zip(*map(np.ndarray.tolist, rows), strict=True)) for rows in got.pieces()]
    assert [pair for piece in pieces for pair in piece] == expected
    assert all(len(piece) <= size for piece in pieces)
    left, right = got.places(0, len(got))
    assert (np.diff(left * max(1, len(b)) + right) > 0).all()


def half(side: str, shown: list[str | None]) -> Half:
    ids = pa.array([f"{side}{i}" for i in range(len(shown))], pa.large_string())
    table = pa.concat_tables([pa.table({"x": pa.array([cell], pa.large_string())}) for cell in shown])
    return Half.of(ids, table)


def together(a: Half, b: Half, rows: list[tuple[int, int]], most: int = 1 << 20) -> PairTable:
    found = np.array(rows, np.int64).reshape(-1, 2).T
    orders = IdOrder.of(a.ids), IdOrder.of(b.ids)
    return PairTable(a, b, order_pairs(*orders, [(found[0], found[1])], Scratch(most=most)))


@given(
    cells, cells, st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30), st.integers(1, 40)
)
def test_batches_are_the_table(
    a: list[str | None], b: list[str | None], met: list[tuple[int, int]], size: int
) -> None:
    rows = sorted({(i % len(a), j % len(b)) for i, j in met})
    found = together(half("a", a), half("b", b), rows[::-1] + rows, most=size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accord.table.pairs._BATCH_BYTES", size)
        batches = list(found.to_batches())
    assert pa.Table.from_batches(batches).equals(found.table())
    assert found.table().to_pylist() == [
        {"id_a": f"a{i}", "id_b": f"b{j}", "x_a": a[i], "x_b": b[j]} for i, j in rows
    ]
    assert found.head(3).equals(found.table().slice(0, 3))
    assert found.ids().equals(found.table().select(["id_a", "id_b"]))
    octets = [sum(len(cell or "") for row in batch.to_pylist() for cell in row.values()) for batch in batches]
    assert all(batch.num_rows == 1 or count <= size for batch, count in zip(batches, octets, strict=True))
    assert len(found) == len(rows)


def wide(own: int, theirs: int, octets: int) -> PairTable:
    """Every record of A with every one of B, whose cells are long."""
    texts = [chr(97 + i) * octets for i in range(theirs)]
    every = [(i, j) for i in range(own) for j in range(theirs)]
    return together(half("a", ["x"] * own), half("b", [*texts]), every)


@pytest.mark.parametrize("ending", sinks.ENDINGS)
def test_batches_are_written_as_the_whole_in_bounded_memory(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As counted by Arrow, which holds the cells: 4 MiB of pairs."""
    monkeypatch.setattr("accord.table.pairs._BATCH_BYTES", 1 << 16)
    found, some, whole = wide(32, 16, 1 << 13), tmp_path / f"some{ending}", tmp_path / f"all{ending}"
    counted, usual = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(counted)
    try:
        sinks.write_table(found, some)
    finally:
        pa.set_memory_pool(usual)
    assert 1 << 16 <= counted.max_memory() < 1 << 20
    sinks.write_table(found.table(), whole)
    assert ending != ".csv" or some.read_bytes() == whole.read_bytes()
    read = [open_table(path, found.schema.names, Layout()).batches for path in (some, whole)]
    assert pa.Table.from_batches(read[0]).equals(pa.Table.from_batches(read[1]))


class Result(Paired):
    def __init__(self, rows: int) -> None:
        names = [SCRIPT, None, *(f"n{row}" for row in range(2, rows))]
        a, b = ([f"{side}{i}" for i in range(rows)] for side in "ab")
        self._found = pairs(a, b, {}, {"name": names})

    @property
    def found(self) -> PairTable:
        return self._found

    def _facts(self) -> dict[str, str]:
        return {"matches": f"{len(self.found):,}", "run": "<b>"}


def test_a_notebook_shows_a_few_rows_and_runs_nothing_of_theirs() -> None:
    shown = Result(12)._repr_html_()
    assert SCRIPT not in shown
    assert "&lt;script&gt;" in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == 2 + 1 + 10
    assert ("2 more" in shown, "more" in Result(3)._repr_html_()) == (True, False)
    assert "matches 12" in repr(Result(12))
    assert "\n" not in repr(Result(12))


def test_the_pairs_are_the_same_in_every_library_and_a_missing_one_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = Result(3)
    assert result.to_pandas()["id_a"].tolist() == ["a0", "a1", "a2"]
    assert result.to_polars()["id_a"].to_list() == ["a0", "a1", "a2"]
    assert pa.table(result).equals(result.pairs)
    for library, convert in (("pandas", result.to_pandas), ("polars", result.to_polars)):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(UsageError) as caught:
            convert()
        assert library in str(caught.value)
