"""What a series finds in a table: stayed, gone, arrived, late, waiting; against a model in plain Python."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.columns import Records
from accord.fields.load import Loading, load_records
from accord.protocols.parts.batches import (
    Batch,
    Changes,
    Known,
    Look,
    Members,
    decode_look,
    encode_look,
    find_changes,
    look_at,
    members_of,
    rows_released,
    take_rows,
)
from accord.table.layout import Layout
from tests.protocols import worlds

Table = dict[str, tuple[int, int]]
"""A record by its id."""


def records(table: Table, people: Mapping[str, str] | None = None) -> Records:
    """The table; `people` says whose record an id is."""
    agreed = worlds.agreement()
    columns = {
        "id": pa.array(list(table), pa.string()),
        "x": pa.array([x for x, _ in table.values()], pa.int64()),
        "y": pa.array([y for _, y in table.values()], pa.int64()),
    }
    if people is None:
        return load_records(pa.table(columns), agreed.fields, agreed.salt, ("x", "y"))
    columns["who"] = pa.array([people[name] for name in table], pa.string())
    own, layout = (agreed.fields, agreed.salt, ("x", "y")), Layout(person="who")
    return load_records(pa.table(columns), *own, layout, 99, Loading(keep_people=True))


def members(table: Table) -> Members:
    return members_of(records(table), "00000000")


NO_COUNTS = np.zeros(1, np.int64)


def look(looks: list[Look], table: Table, room: int = 100, versions: int = 1) -> Changes:
    found = find_changes(Known.of(looks), members(table), room, versions)
    looks.append(look_at(found, members(table), NO_COUNTS))
    return found


def test_a_first_look_finds_everything_new() -> None:
    found = look([], {"a": (1, 1), "b": (2, 2)})
    assert found.arrived.tolist() == [0, 1]
    assert (len(found.stayed), len(found.gone), found.waiting, found.late) == (0, 0, 0, 0)


def test_a_record_that_changes_is_gone_and_another_version() -> None:
    for versions, arrived, late in ((1, [], 1), (2, [1], 0)):
        looks: list[Look] = []
        look(looks, {"a": (1, 1), "b": (2, 2)}, versions=versions)
        found = look(looks, {"a": (1, 1), "b": (2, 3)}, versions=versions)
        assert (found.stayed.tolist(), found.gone.tolist(), found.changed) == ([0], [1], 1)
        assert (found.arrived.tolist(), found.late) == (arrived, late)


def test_an_id_that_comes_back_is_another_version_though_nothing_changed() -> None:
    looks: list[Look] = []
    look(looks, {"a": (1, 1), "b": (2, 2)})
    look(looks, {"a": (1, 1)})
    found = look(looks, {"a": (1, 1), "b": (2, 2)})
    assert (len(found.arrived), found.late, found.stayed.tolist()) == (0, 1, [0])


def test_only_unchanged_records_take_part_if_that_is_wanted() -> None:
    looks: list[Look] = []
    look(looks, {"a": (1, 1)}, versions=5)
    known, table = Known.of(looks), members({"a": (1, 2), "b": (5, 5)})
    assert find_changes(known, table, 9, 5).arrived.tolist() == [0, 1]
    only = find_changes(known, table, 9, 5, unchanged_only=True)
    assert (only.arrived.tolist(), only.late) == ([1], 1)


def test_what_does_not_fit_waits_and_comes_next() -> None:
    looks: list[Look] = []
    table = {f"r{i}": (i, i) for i in range(7)}
    assert look(looks, table, room=4).waiting == 3
    found = look(looks, table, room=4)
    assert (len(found.stayed), len(found.arrived), found.waiting) == (4, 3, 0)


def look_of_people(looks: list[Look], table: Owned, most: int, versions: int = 9) -> list[str]:
    """Look at a table in which every id has its person and its value; the ids that are released."""
    values = {name: value for name, (_, value) in table.items()}
    loaded = members_of(records(values, {name: person for name, (person, _) in table.items()}), "00000000")
    found = find_changes(Known.of(looks), loaded, 100, versions, per_person=most)
    looks.append(decode_look(encode_look(look_at(found, loaded, NO_COUNTS))))
    return [list(table)[row] for row in found.arrived]


Owned = dict[str, tuple[str, tuple[int, int]]]


def test_of_a_person_no_more_than_that_is_ever_released() -> None:
    looks: list[Look] = []
    ann = {"a": ("ann", (1, 1)), "b": ("Ann ", (2, 2))}
    assert look_of_people(looks, ann | {"c": ("bea", (3, 3))}, 3) == ["a", "b", "c"]
    assert look_of_people(looks, ann | {"a": ("ann", (1, 2))}, 3) == ["a"], "a version counts"
    more = {"d": ("ann", (4, 4)), "e": ("bea", (4, 4)), "b": ("ann", (9, 9))}
    assert look_of_people(looks, more, 3) == ["e"], "of ann there were three"
    both = {"f": ("bea", (5, 5)), "g": ("bea", (6, 6))}
    assert len(look_of_people(looks, both, 3)) == 1, "one of the two is the third"


owned = st.lists(
    st.dictionaries(
        st.sampled_from([f"r{i}" for i in range(6)]),
        st.tuples(st.sampled_from(["ann", "bea", "cy"]), st.tuples(st.integers(0, 2), st.just(1))),
        max_size=6,
    ),
    min_size=4,
    max_size=4,
)


@given(owned, owned, st.integers(1, 3), st.integers(1, 3))
def test_what_is_released_follows_from_the_history_of_its_person_alone(
    series: list[Owned], others: list[Owned], most: int, versions: int
) -> None:
    """Ann has another history, with other records: of all others the same is released, run by run."""
    found: list[list[set[str]]] = []
    for histories in (series, others):
        looks: list[Look] = []
        released: list[set[str]] = []
        for table, other in zip(series, histories, strict=True):
            rest = {name: row for name, row in table.items() if row[0] != "ann"}
            hers = {name: row for name, row in other.items() if row[0] == "ann" and name not in rest}
            arrived = look_of_people(looks, rest | hers, most, versions)
            released.append({name for name in arrived if name in rest})
        found.append(released)
        people = Known.of(looks).members.people
        assert people is not None
        assert np.unique(people, return_counts=True)[1].max(initial=0) <= most
    assert found[0] == found[1]


def test_whose_records_these_are_must_be_known_where_people_are_protected() -> None:
    with pytest.raises(ValueError, match="whose records"):
        find_changes(Known.of([]), members({"a": (1, 1)}), 9, per_person=2)


def test_ids_that_were_numbered_anew_are_noticed() -> None:
    looks: list[Look] = []
    look(looks, {f"r{i}": (i, i) for i in range(10)})
    assert look(list(looks), {f"s{i}": (i, i) for i in range(10)}).mostly_gone
    assert look(list(looks), {f"r{i + 6}": (i + 6, 1) for i in range(10)}).mostly_gone
    assert not look(list(looks), {f"r{i}": (i, i) for i in range(1, 12)}).mostly_gone
    assert look(list(looks), {"r1": (1, 1)}).mostly_gone, "a part of the table"
    assert not look([], {"r1": (1, 1)}).mostly_gone


tables = st.dictionaries(
    st.sampled_from([f"r{i}" for i in range(8)]), st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=8
)


@given(st.lists(tables, max_size=6), st.integers(1, 3), st.integers(1, 8))
def test_looks_agree_with_a_model(series: list[Table], versions: int, room: int) -> None:
    looks: list[Look] = []
    live: dict[str, tuple[tuple[int, int], int]] = {}
    had: dict[str, int] = {}
    for number, table in enumerate(series):
        before = Known.of(looks)
        found = look(looks, table, room, versions)
        names = list(table)
        stayed = {name for name, (value, _) in live.items() if table.get(name) == value}
        assert {names[row] for row in found.stayed} == stayed
        assert all(live[names[row]][1] == b for row, b in zip(found.stayed, found.batch, strict=True))
        assert len(found.gone) == len(live) - len(stayed)
        fresh = {name for name in table if name not in stayed and had.get(name, 0) < versions}
        arrived = {names[row] for row in found.arrived}
        assert arrived <= fresh
        assert len(arrived) == min(room, len(fresh))
        assert found.waiting == len(fresh) - len(arrived)
        assert found.late == len(table) - len(stayed) - len(fresh)
        live = {name: live[name] for name in stayed} | {name: (table[name], number) for name in arrived}
        for name in arrived:
            had[name] = had.get(name, 0) + 1
        taking = rows_released(found, before, due=True)
        batches = {names[row]: b for row, b in zip(taking.rows, taking.batch, strict=True)}
        assert batches == {n: b for n, (_, b) in live.items()}
        assert taking.rows.tolist() == sorted(taking.rows)
        after, ids = Known.of(looks).members.ids, members(table).ids
        assert after[taking.member].tolist() == ids[taking.rows].tolist()


def test_without_a_batch_nobody_arrives() -> None:
    looks: list[Look] = []
    look(looks, {"a": (1, 1), "b": (2, 2)})
    table = {"b": (2, 2), "c": (3, 3)}
    found = find_changes(Known.of(looks), members(table), 0)
    assert (found.waiting, len(found.arrived)) == (1, 0)
    taking = rows_released(found, Known.of(looks), due=False)
    assert (taking.rows.tolist(), taking.batch.tolist(), taking.member.tolist()) == ([0], [0], [1])
    looks.append(look_at(found, members(table), None))
    known = Known.of(looks)
    assert (known.batches, known.gone.tolist()) == (1, [True, False])


def test_records_that_take_part_are_announced_as_declared() -> None:
    table = records({"a": (1, 1), "b": (2, 2), "c": (3, 3)})
    taken = take_rows(table, np.array([0, 2]), 50)
    assert (taken.ids.to_pylist(), len(taken), taken.size) == (["a", "c"], 2, 50)
    assert taken.disclosed["x"].to_pylist() == [table.disclosed["x"].to_pylist()[row] for row in (0, 2)]


@given(
    tables,
    st.lists(st.integers(0, 100), max_size=5),
    st.lists(st.integers(0, 9), max_size=5),
    st.sampled_from(["", "records", "people"]),
)
def test_a_look_is_read_as_it_was_written(table: Table, counts: list[int], gone: list[int], due: str) -> None:
    of = members(table)
    of = Members(of.ids, of.values, of.ids[::-1] if due == "people" else None)
    batch = Batch(of, np.array(counts, np.int64)) if due else None
    written = encode_look(Look(batch, np.array(gone, np.int64)))
    read = decode_look(written)
    assert encode_look(read) == written
    assert read.gone.tolist() == gone
    assert (read.batch is None) == (not due)
    if read.batch is not None:
        assert read.batch.members.ids.tolist() == members(table).ids.tolist()
        people = read.batch.members.people
        assert (None if people is None else people[::-1].tolist()) == (
            of.ids.tolist() if due == "people" else None
        )
    for wrong in (written[:-1], written + b"\0", b"x" + written, written[:-1] + bytes([written[-1] ^ 1])):
        with pytest.raises(ValueError, match="not a look"):
            decode_look(wrong)
