"""Made ids: drawn, whatever is in the table; found again as long as a row is the same; never replaced."""

from __future__ import annotations

import fcntl
import os
import random
import stat
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from accord.entropy import Entropy, Seeded, System
from accord.errors import IdsOutputError, UnreadableError
from accord.fields.row_ids import made_ids, open_named
from accord.table.layout import MADE_ID, Layout
from accord.table.sources.opening import ids_file, input_files
from tests.fields.made_ids import read_made

MADE = Layout(make_ids=True)
PEOPLE = ["ann,1980", "bob,1975", "ann,1980", "eve,1990"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "t.csv", PEOPLE)


def write(path: Path, rows: list[str], header: str = "name,born") -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def make(table: Path, entropy: Entropy | None = None) -> list[str]:
    """The ids of all rows, after they were made."""
    with made_ids(table, MADE, entropy or System()) as found:
        assert found is not None
    return list(found.ids.to_pylist())


def find(table: Path, layout: Layout = MADE) -> list[str | None]:
    with made_ids(table, layout, None) as found:
        assert found is not None
    return list(found.ids.to_pylist())


def neighbours(rows: list[str]) -> Iterator[list[str]]:
    """The table with one more row: first, in the middle, last, and the same as another."""
    for place, row in ((0, "aaa,1900"), (2, "cat,1950"), (len(rows), "zoe,2000"), (1, rows[0])):
        yield [*rows[:place], row, *rows[place:]]


def test_ids_follow_from_how_many_rows_there_are_and_from_nothing_else(tmp_path: Path) -> None:
    """The n-th row has the n-th that was drawn: so what matches has ids that are as likely in every table."""
    drawn = make(write(tmp_path / "many.csv", [f"p{i},1" for i in range(5)]), Seeded(7))
    assert len(set(drawn)) == 5
    for number, rows in enumerate([PEOPLE, ["x,1"] * 4, sorted(PEOPLE), *neighbours(PEOPLE)]):
        assert make(write(tmp_path / f"{number}.csv", rows), Seeded(7)) == drawn[: len(rows)]


def test_ids_are_drawn_evenly(tmp_path: Path) -> None:
    """Every letter at every place; and no order of rows in the order of ids. False alarms: 1e-6."""
    ids = make(write(tmp_path / "t.csv", [f"p{i:05},1" for i in range(4096)]), Seeded(3))
    letters = np.frombuffer("".join(ids).encode(), np.uint8).reshape(-1, 16)
    counts = np.array([[(column == letter).sum() for letter in set(column)] for column in letters.T])
    assert counts.shape == (16, 32)
    # 496 degrees of freedom, a variance of 2 each; 4.9 deviations and the skew of a small tail.
    assert ((counts - 128) ** 2 / 128).sum() < 496 + 5.5 * np.sqrt(2 * 496)
    rising = sum(one < other for one, other in pairwise(ids))
    # Neighbours rise in half of all cases, with a variance of a twelfth of them.
    assert abs(rising - 2048) < 4.9 * np.sqrt(4096 / 12)


def test_rows_keep_their_ids_in_the_table_of_a_neighbour(table: Path) -> None:
    ids = make(table)
    for rows in neighbours(PEOPLE):
        found = make(write(table, rows))
        by_row = [(row, id) for row, id in zip(rows, found, strict=True) if id in ids]
        assert sorted(by_row) == sorted(zip(PEOPLE, ids, strict=True))
        make(write(table, PEOPLE))


def test_rows_are_found_again_in_any_order_and_after_they_were_gone(table: Path) -> None:
    ids = make(table)
    shuffled = random.Random(1).sample(range(4), 4)
    found = make(write(table, [PEOPLE[i] for i in shuffled]))
    assert sorted(zip([PEOPLE[i] for i in shuffled], found, strict=True)) == sorted(
        zip(PEOPLE, ids, strict=True)
    )
    make(write(table, PEOPLE))
    assert make(write(table, PEOPLE[1:])) == [ids[1], ids[0], ids[3]], "the first of the same has the first"
    assert [*read_made(table)] == [1, 2, 3]
    assert make(write(table, PEOPLE)) == ids
    assert read_made(table) == dict(enumerate(ids, 1))
    found = make(write(table, [*PEOPLE[:3], "eve,1991"]))
    assert found[:3] == ids[:3]
    assert found[3] not in ids, "a row with another cell is another"


def test_columns_may_be_sorted_and_added_and_the_file_be_of_another_kind(table: Path) -> None:
    ids = make(table)
    rows = [",".join(reversed([*row.split(","), "new"])) for row in PEOPLE]
    assert make(write(table, rows, "city,born,name")) == ids
    other = table.with_name("t.parquet")
    names, born = zip(*(row.split(",") for row in PEOPLE), strict=True)
    pa.parquet.write_table(pa.table({"born": list(map(float, born)), "name": names}), other)
    ids_file(table).rename(ids_file(other))
    assert find(other) == ids


def test_columns_that_are_gone_are_missed_and_those_without_a_name_of_their_own_do_not_count(
    table: Path,
) -> None:
    make(table)
    write(table, [row.split(",")[0] for row in PEOPLE], "name")
    refused(lambda: make(table), "'born'")
    other = table.with_name("other.csv")
    ids = make(write(other, ["a,1,x,2,p", "b,1,y,2,p"], "name,twice,,twice,born"))
    assert make(write(other, ["a,3,z,4,p", "b,3,z,4,p"], "name,twice,,twice,born")) == ids


def test_the_file_is_a_csv_for_its_owner_alone(table: Path) -> None:
    ids = make(table)
    kept = ids_file(table)
    assert kept == table.with_name("t.csv.ids.csv")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert read_made(table) == dict(enumerate(ids, 1))
    assert "ann" not in kept.read_text()
    assert sorted(path.name for path in table.parent.iterdir()) == ["t.csv", "t.csv.ids.csv"]


def test_nothing_is_written_if_nothing_changed_or_reading_fails(table: Path) -> None:
    with pytest.raises(RuntimeError), made_ids(table, MADE, System()):
        raise RuntimeError
    assert not ids_file(table).exists()
    make(table)
    before = ids_file(table).stat()
    make(table)
    find(table)
    assert ids_file(table).stat() == before


def test_a_link_a_folder_and_a_pattern_have_theirs_beside_the_table(table: Path) -> None:
    """Whether ids are made or not, their file is among what is read: no output is written there."""
    other = table.parent / "elsewhere"
    other.mkdir()
    (other / "link.csv").symlink_to(table)
    assert make(other / "link.csv") == find(table)
    assert input_files(table) == (table, ids_file(table))
    assert input_files(table.parent / "no.csv") == (table.parent / "no.csv",)
    assert input_files(Path("\0")) == (Path("\0"),)
    parts = table.parent / "parts"
    parts.mkdir()
    for number in range(2):
        pa.parquet.write_table(pa.table({"n": [number, number + 10]}), parts / f"{number}.parquet")
    ids = make(parts)
    assert ids_file(parts) == table.parent / "parts.ids.csv"
    assert find(parts) == ids
    assert ids_file(parts / "*.parquet") == parts / "_.parquet.ids.csv"
    assert make(parts / "*.parquet") != ids


def refused(attempt: Callable[[], object], *facts: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        attempt()
    for fact in facts:
        assert fact in str(caught.value)


def test_a_file_that_was_cut_or_has_a_flipped_bit_is_left_alone(table: Path) -> None:
    make(table)
    kept, draw = ids_file(table), random.Random(2)
    whole = kept.read_bytes()
    flipped = [
        whole[:place] + bytes([whole[place] ^ 1 << draw.randrange(8)]) + whole[place + 1 :]
        for place in draw.sample(range(len(whole)), 40)
    ]
    for damaged in (*(whole[:cut] for cut in (0, 1, 20, 150, -30, -1)), *flipped):
        kept.write_bytes(damaged)
        refused(lambda: make(table))
        assert kept.read_bytes() == damaged


def test_a_table_that_shrank_or_grew_keeps_its_ids_and_another_is_refused(tmp_path: Path) -> None:
    rows = [f"ann{i},19{i:02}" for i in range(10)]
    table = write(tmp_path / "t.csv", rows)
    first = make(table)
    assert make(write(table, rows[:3])) == first[:3]
    assert make(write(table, rows)) == first
    assert make(write(table, [*rows, *(f"bob{i},1" for i in range(90))]))[:10] == first
    changed = write(tmp_path / "u.csv", rows)
    make(changed)
    write(changed, [*rows[:2], *(row.upper() for row in rows[2:])])
    kept = ids_file(changed).read_bytes()
    refused(lambda: make(changed), "2 of its 10 ids", "u.csv")
    assert ids_file(changed).read_bytes() == kept


def test_a_file_that_cannot_be_read_or_written_is_said(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    ids_file(table).mkdir()
    refused(lambda: make(table))
    ids_file(table).rmdir()
    for target, name, fault in ((Path, "write_bytes", full), (os, "access", lambda *_: False)):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, fault)
            with pytest.raises(IdsOutputError):
                make(table)
    assert [path.name for path in table.parent.iterdir()] == ["t.csv"]


def test_who_comes_second_finds_what_the_first_made(table: Path) -> None:
    """One waits for the other: both have the same ids, of the same file."""
    seen: list[list[str]] = []
    started = threading.Barrier(4)

    def work() -> None:
        started.wait()
        seen.append(make(table))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(seen) == 4
    assert all(one == [*read_made(table).values()] for one in seen)


def test_without_locks_nobody_writes_over_another(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(fcntl, "flock", no_locks)
    for _ in range(2):
        with pytest.raises(UnreadableError), made_ids(table, MADE, System()):
            first = make(table)
        assert find(table) == first
        write(table, [*PEOPLE, "new,1"])


def test_a_table_that_changes_while_it_is_read(table: Path) -> None:
    make(table)
    for rows in (PEOPLE[:3], [*PEOPLE, "new,1"]):
        write(table, PEOPLE)
        with made_ids(table, MADE, None) as ids:
            write(table, rows)
            with pytest.raises(UnreadableError):
                list(open_named(table, [MADE_ID, "name"], MADE, ids).batches)


def test_what_is_no_file_has_no_made_ids(table: Path) -> None:
    make(table)
    read = pa.Table.from_batches(open_named(table, [MADE_ID, "name"], MADE).batches)
    with made_ids(read, MADE, System()) as ids:
        assert ids is None, "what was read of a file has them"


def test_ids_that_are_there_already_are_drawn_again(table: Path) -> None:
    class Repeating:
        """Gives nothing but zeros at first: a salt, then ids that are all the same."""

        def __init__(self) -> None:
            self.asked: list[int] = []

        def bytes(self, count: int) -> bytes:
            self.asked.append(count)
            return bytes(count) if len(self.asked) <= 2 else Seeded(1).bytes(count)

        def stream(self, name: str) -> Repeating:
            return self

    entropy = Repeating()
    assert len(set(make(table, entropy))) == 4
    assert entropy.asked == [16, 40, 40]
