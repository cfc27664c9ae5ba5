"""The store: changes of the file are noticed, a transaction is whole or undone, what is dropped is gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from accord.errors import AccordError, DamagedError, PeerError, StateError
from accord.state import store as stores
from accord.state.journal import StoredJournal
from accord.state.store import Store
from tests.run import faults
from tests.spent import SpentError
from tests.state.damage import flip


def add_partners(folder: Path, *names: str) -> Store:
    store = Store(folder)
    with store.writing() as state:
        for name in names:
            state.put("partner", name=name, card="card", lost=0)
    return store


def partners(store: Store) -> list[str]:
    with store.reading() as state:
        state.require_whole()
        return [row["name"] for row in state.rows("partner")]


CHANGES = [
    "UPDATE partner SET card = 'other' WHERE name = 'p2'",
    "UPDATE partner SET sum = zeroblob(32) WHERE name = 'p3'",
    "DELETE FROM partner WHERE name = 'p2'",
    "INSERT INTO partner SELECT sum, 'p4', card, lost FROM partner WHERE name = 'p3'",
    *("UPDATE head SET total = zeroblob(32)", "DELETE FROM head", "DROP TABLE partner"),
    *("PRAGMA user_version = 1", "PRAGMA application_id = 2"),
]


def test_every_change_of_the_file_is_noticed(tmp_path: Path) -> None:
    """Also an older row, another store, text, and a file that is gone though runs are here."""
    store = add_partners(tmp_path, "p1", "p2", "p3")
    path, whole = store.path, store.path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600

    def require_damaged() -> None:
        with pytest.raises(DamagedError):
            partners(store)
        with suppress(DamagedError), store.reading() as state:
            assert list(state.inspect())

    for statement in CHANGES:
        path.write_bytes(whole)
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(statement)
        require_damaged()
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as db:
        (old,) = db.execute("SELECT * FROM partner WHERE name = 'p1'")
    with store.writing() as state:
        state.put("partner", name="p1", card="new", lost=0)
    assert partners(store) == ["p1", "p2", "p3"]
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("REPLACE INTO partner VALUES (?, ?, ?, ?)", old)
    require_damaged()
    path.write_text("hello, this is not a database, but some text of some length" * 20)
    require_damaged()
    with pytest.raises(StateError):
        partners(Store(path / "folder"))
    path.unlink()
    (tmp_path / "runs").mkdir()
    for _ in range(2):
        require_damaged()
        path.touch()


def flips(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """The content with one bit changed each."""
    random = np.random.default_rng(seed)
    for at, bit in zip(random.integers(0, len(content), count), random.integers(0, 8, count), strict=True):
        changed = bytearray(content)
        changed[at] ^= 1 << bit
        yield bytes(changed)


def test_no_bit_of_the_file_changes_silently(tmp_path: Path) -> None:
    """What is read is what was written, or an error."""
    store = add_partners(tmp_path, *(f"p{number}" for number in range(50)))
    expected = partners(store)
    whole = store.path.read_bytes()
    # SQLite cites the statement that made a table, though it is no text any more.
    stated = range(at := whole.index(b"CREATE TABLE"), at + 200)
    for changed in [*flips(whole, 300, 68), *(flip(whole, one, 1 << 7) for one in stated)]:
        store.path.write_bytes(changed)
        with suppress(AccordError):
            assert partners(store) == expected


def test_a_full_disk_and_a_lock_are_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restored copy forgets what was spent since."""
    store, errors = add_partners(tmp_path, "p1"), list[StateError]()
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorname = "SQLITE_FULL"
    for error in (full, faults.full()):
        with pytest.raises(StateError) as caught, store.reading():
            raise error
        errors.append(caught.value)
    monkeypatch.setattr(stores, "PATIENCE_SECONDS", 0.01)
    with store.writing(), pytest.raises(StateError) as caught, Store(tmp_path).writing():
        pass
    errors.append(caught.value)
    assert not any(isinstance(error, DamagedError) for error in errors)


def test_every_writer_sees_what_others_wrote(tmp_path: Path) -> None:
    """And nothing that was undone."""
    one, other = Store(tmp_path), Store(tmp_path)
    for number, store in enumerate((one, other, one, other)):
        with suppress(SpentError), store.writing() as state:
            state.put("partner", name="undone", card="card")
            raise SpentError
        with store.writing() as state:
            assert state.count("partner") == number
            state.put("partner", name=f"p{number}", card="card")
    with one.writing() as state:
        state.drop("partner", "name = ?", "p0")
    assert partners(one) == partners(other) == ["p1", "p2", "p3"]


def test_long_contents_are_kept_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any parts, and a piece that is missing is noticed, also the last."""
    monkeypatch.setattr(stores, "PIECE", 10)
    store, long = Store(tmp_path), bytes(range(95))
    with store.writing() as state:
        state.keep("part", "r1", "long", (long[:30], bytearray(long[30:31]), memoryview(long)[31:]))
        state.keep("part", "r1", "empty", (b"",))
    with store.reading() as state:
        kept = [state.content("part", "r1", name) for name in ("long", "empty", "none")]
        assert kept == [bytearray(long), bytearray(), None]
    with store.writing() as state:
        state.drop("part", "owner = 'r1' AND piece = 9")
    with store.reading() as state, pytest.raises(DamagedError):
        state.content("part", "r1", "long")


def test_what_is_dropped_is_nowhere_in_the_file_nor_in_a_copy(tmp_path: Path) -> None:
    secret = b"noise that nobody may read again" * 3000
    store, copy = Store(tmp_path), Store(tmp_path / "copy")
    with store.writing() as state:
        state.keep("part", ":1", "noise", (secret,))
        state.keep("step", "r1", 0, (secret,))
    assert secret[:90] in store.path.read_bytes()
    with store.writing() as state:
        state.drop("part", "owner = ?", ":1")
        state.drop("step", "run = ?", "r1")
    copy.path.parent.mkdir()
    store.copy(copy.path)
    for path in (store.path, copy.path):
        assert secret[:30] not in path.read_bytes()


def test_a_journal_gives_back_what_it_kept(tmp_path: Path) -> None:
    """In order, as far as both sides have it; a step that is done again may have no other answer."""
    store = Store(tmp_path)
    answers = [(b"",), (b"one", bytearray(b"two")), (b"three",)]
    journal = StoredJournal(store, "r1")
    for answer in answers:
        assert journal.recall() is None
        journal.keep(answer)
    again = StoredJournal(store, "r1")
    assert (again.steps, again.again, again.first()) == (3, 3, b"")
    with pytest.raises(PeerError):
        again.meet(1)
    again.meet(2)
    assert [again.recall(), again.recall(), again.recall()] == [b"", b"onetwo", None]
    with pytest.raises(PeerError):
        again.keep((b"four",))
    again.keep((b"thr", b"ee"))
    assert again.again == 0
    cut = StoredJournal(store, "r1")
    cut.meet(2, anew=True)
    assert (cut.steps, StoredJournal(store, "r1").steps) == (2, 2)
    assert StoredJournal(store, "r2").steps == 0
