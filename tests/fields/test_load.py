"""From a table to records, or to all of its faults by row and column; and what its owner is shown of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from accord.entropy import Seeded
from accord.errors import DataError, UnreadableError, UsageError
from accord.fields import gathering, load
from accord.fields.columns import Bits, Integers, tell_unlisted
from accord.fields.gathering import Ids
from accord.fields.load import Loading, Tally, load_records
from accord.fields.row_ids import made_ids
from accord.fields.schema import FieldSpec
from accord.fields.showing import ShownValue, show_rows, show_values
from accord.spill import Scratch
from accord.table.layout import Layout, Source
from accord.table.sources import csv as sources_csv
from tests.fields.made_ids import read_made


def fields_of(**specs: dict[str, Any]) -> dict[str, FieldSpec]:
    return TypeAdapter(dict[str, FieldSpec]).validate_python(specs)


FIELDS = fields_of(
    name={"type": "text", "encoder": "paper"},
    day={"type": "date", "min": "2026-01-01", "max": "2026-01-31", "missing": "skip"},
    price={"type": "number", "min": 0, "max": 100, "step": "0.01", "missing": "differs"},
)
NAME = {"name": FIELDS["name"]}
PERSON = Layout(person="who")


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def places(*arguments: Any, **options: Any) -> list[str]:
    """Of all faults of a table."""
    with pytest.raises(DataError) as caught:
        load_records(*arguments, **options)
    return [fault.place for fault in caught.value.faults]


def test_records_have_what_is_agreed_and_disclosed(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv",
        "key,title,day,price,note",
        "a,Sony,2026-01-01,5,x",
        "b,Bose,,1,y",
        "c,JBL,2026-01-31,,",
    )
    layout = Layout(id="key", columns={"name": Source(column="title")})
    records = load_records(path, FIELDS, "00", ["name", "note"], layout)
    assert records.ids.to_pylist() == ["a", "c"]
    assert (records.left_out, records.size) == (1, 3)
    price = records.columns["price"]
    assert isinstance(price, Integers)
    assert price.values.tolist() == [500, 0]
    assert price.present.tolist() == [True, False]
    assert records.disclosed.to_pylist() == [{"name": "Sony", "note": "x"}, {"name": "JBL", "note": None}]
    numbered = pa.table({"id": [3, 4], "name": ["a", "b"]})
    assert load_records(numbered, NAME, "00").ids.to_pylist() == ["3", "4"]
    nothing = pa.table({name: pa.array([], pa.string()) for name in ("id", "name", "day", "price")})
    for table in (nothing, nothing.to_reader()):
        assert len(load_records(table, FIELDS, "00", ["name"])) == 0, "a mistake in a file alone"


def test_rows_are_counted_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources_csv, "_BLOCK", 200)
    lines = [f"{i},name {i},2026-01-0{1 + i % 9},{i % 50},p{i % 40}" for i in range(1, 101)]
    path = write(tmp_path / "t.csv", "id,name,day,price,who", *lines)
    assert load_records(path, FIELDS, "00", (), PERSON, per_person=3).size == 100
    assert places(path, FIELDS, "00", (), PERSON, per_person=2) == [
        "rows 1, 2, 3, 4, 5 and 55 more, column 'who'"
    ]
    lines[76] = "77,x,2026-01-01,oops,p"
    lines[90] = "5,x,2026-01-01,1,p"
    write(path, "id,name,day,price,who", *lines)
    assert places(path, FIELDS, "00") == ["rows 5, 91, column 'id'", "row 77, column 'price'"]


# -- ids that are made ------------------------------------------------------------------------------------


def test_ids_may_be_made_whatever_the_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are left out have one, too, and keep it where they are not."""
    path = write(tmp_path / "t.csv", "id,name,day,price", "7,a,2026-01-01,1", "7,b,,1", "7,c,2026-01-01,1")
    made, tally = Layout(make_ids=True), Tally()
    ids = load_records(path, FIELDS, "00", (), made, how=Loading(tally)).ids.to_pylist()
    assert tally.new_ids == 3
    kept = read_made(path)
    assert ids == [kept[1], kept[3]]
    monkeypatch.setattr(sources_csv, "_BLOCK", 20)
    again = load_records(path, NAME, "00", ["name"], made)
    assert again.ids.to_pylist() == [*kept.values()]
    assert again.disclosed["name"].to_pylist() == ["a", "b", "c"]


def test_rows_without_a_made_id_are_faults_for_who_makes_none(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "name", "a")
    made, found = Layout(make_ids=True), Loading(entropy=None)
    with pytest.raises(UnreadableError) as caught:
        load_records(path, NAME, "00", (), made, how=found)
    assert "t.csv.ids.csv" in str(caught.value)
    load_records(path, NAME, "00", (), made)
    write(path, "name", "b", "a")
    assert places(path, NAME, "00", (), made, how=found) == ["row 1, column 'id'"]
    assert [*read_made(path)] == [1]


# -- people -----------------------------------------------------------------------------------------------


def test_rows_that_are_left_out_count_for_their_person_and_all_faults_come_at_once(tmp_path: Path) -> None:
    rows = ["1,x,2026-01-01,5,a", "2,x,2026-01-02,5,", "3,x,,5,a", "4,x,2026-01-02,5,  ", "5,x,,5,a "]
    path = write(tmp_path / "t.csv", "id,name,day,price,who", *rows[:1], *rows[2:3])
    assert load_records(path, FIELDS, "00", (), PERSON, per_person=2).left_out == 1
    assert places(path, FIELDS, "00", (), PERSON, per_person=1) == ["rows 1, 2, column 'who'"]
    rows[1] = "1,x,2026-01-02,dear,"
    write(path, "id,name,day,price,who", *rows)
    assert places(path, FIELDS, "00", (), PERSON, per_person=2) == [
        "rows 1, 2, column 'id'",
        "rows 1, 3, 5, column 'who'",
        "row 2, column 'price'",
        "rows 2, 4, column 'who'",
    ]


def test_without_a_promise_to_people_nobody_is_asked_for(tmp_path: Path) -> None:
    """A record a person needs no column, and where any number is covered it is not even read."""
    path = write(tmp_path / "t.csv", "id,name,who", *(f"{i},x,a" for i in range(3)))
    assert load_records(path, NAME, "00", (), Layout(), per_person=1).size == 3
    assert load_records(path, NAME, "00", (), Layout(person="not there")).size == 3
    assert load_records(path, NAME, "00", (), Layout(person="id"), per_person=1).size == 3


def test_a_tally_for_the_owner() -> None:
    """Why rows were left out; and how many people there are, also where nobody has to be asked for."""
    fields = fields_of(
        n={"type": "number", "min": 0, "max": 9, "step": 1, "missing": "skip", "other": "skip"}
    )
    rows = {"id": [*"abcde"], "n": [1, None, 99, 10, 2], "who": ["p", "P ", "q", None, "p"]}
    tally, plain = Tally(), Tally()
    load_records(pa.table(rows), fields, "00", (), PERSON, how=Loading(tally))
    assert sorted(tally.left_out.values()) == [1, 2]
    assert (tally.people, tally.most_of_one) == (2, 3)
    load_records(pa.table(rows), fields, "00", (), how=Loading(plain))
    assert (plain.people, plain.most_of_one) == (None, 0)
    category = {"type": "category", "values": ["f", "m"], "other": "missing", "missing": "differs"}
    table = pa.table({"id": [str(n) for n in range(40)], "sex": ["f", "M", "zz", None] * 10})
    found = load_records(table, fields_of(sex=category), "salt")
    assert found.unlisted == {"sex": (10, 30)}
    (told,) = tell_unlisted(found.unlisted)
    assert "zz" not in told
    assert not tell_unlisted({"sex": (1, 30)})


@pytest.mark.parametrize("error", [MemoryError(), pa.ArrowMemoryError("malloc of size 68719476736 failed")])
def test_a_table_that_takes_too_much_memory_is_named(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(load, "_encode_batch", fail)
    with pytest.raises(UnreadableError) as caught:
        load_records(write(tmp_path / "small.csv", "id,name", "1,x"), NAME, "00")
    assert "small.csv" in str(caught.value)


# -- as a layout says -------------------------------------------------------------------------------------

OWN = fields_of(
    birth={"type": "date", "min": "1900-01-01", "max": "2029-12-31"},
    sex={"type": "category", "values": ["f", "m"]},
    name={"type": "text", "encoder": "hash"},
    price={"type": "number", "min": 0, "max": 9, "step": 1, "missing": "differs"},
)
LAYOUT = Layout(
    id="nr",
    columns={
        "birth": Source(columns=("y", "m", "d"), format="%Y-%m-%d"),
        "sex": Source(column="s", values={"w": "f"}, missing=("-",)),
        "name": Source(columns=("first", "last")),
        "price": Source(absent=True),
    },
)
TABLE = {
    "nr": ["1", "2"], "y": ["1980", "1981"], "m": ["2", "3"], "d": ["28", "1"], "s": ["w", "m"],
    "first": ["Ann", ""], "last": ["Lee", "Poe"],
}  # fmt: skip


def test_a_table_is_judged_and_disclosed_as_its_layout_says() -> None:
    read = load_records(pa.table(TABLE), OWN, "salt", ("sex", "birth"), LAYOUT)
    assert read.disclosed.to_pydict() == {"sex": ["f", "m"], "birth": ["1980-02-28", "1981-03-01"]}
    for wrong, faulty in (
        ({"d": ["30", "1"], "s": ["w", "-"]}, ["row 1, column 'y + m + d'", "row 2, column 's'"]),
        ({"last": pa.array([["Lee"], ["Poe"]])}, ["rows 1, 2, column 'first + last'"]),
        ({"last": pa.array([b"Lee", b"Poe"])}, ["rows 1, 2, column 'first + last'"]),
        ({"y": pa.array([["1980"], ["1981"]])}, ["rows 1, 2, column 'y + m + d'"]),
    ):
        assert places(pa.table(TABLE | wrong), OWN, "salt", (), LAYOUT) == faulty


def test_what_counts_as_empty_may_be_no_number_or_cannot_be_read() -> None:
    fields = fields_of(city={"type": "text", "encoder": "hash", "missing": "differs"})
    table = pa.table({"id": ["1", "2"], "c": pa.array([float("nan"), 5.0])})
    layout = Layout(columns={"city": Source(column="c", missing=("NaN",))})
    found = load_records(table, fields, "salt", ("city",), layout).disclosed
    assert found.to_pydict() == {"city": [None, "5"]}
    for strict in (Layout(columns={"city": "c"}), Layout(id="c", columns=layout.columns)):
        assert places(table, fields, "salt", ("city",), strict) == ["row 1, column 'c'"]
    days = fields_of(day={"type": "date", "min": "2020-01-01", "max": "2020-12-31", "missing": "differs"})
    table = pa.table({"id": ["1", "2", "3"], "day": ["2020-02-30", "2021-01-01", "2020-01-02"]})
    tally, lenient = Tally(), Layout(unreadable="empty")
    read = load_records(table, days, "00", layout=lenient, how=Loading(tally))
    assert read.columns["day"].present.tolist() == [False, False, True]
    assert sum(tally.unread.values()) == 2
    needed = {name: spec.model_copy(update={"missing": "error"}) for name, spec in days.items()}
    for specs, how in ((days, None), (needed, lenient)):
        assert len(places(table, specs, "00", layout=how)) == 2


# -- what its owner is shown ------------------------------------------------------------------------------


def test_ten_distinct_values_are_shown_before_and_after(tmp_path: Path) -> None:
    fields = fields_of(
        name={"type": "text", "encoder": "paper", "clean": ["accents"], "from": ["given", "surname"]},
        birth={"type": "date", "min": "1900-01-01", "max": "2030-12-31"},
    )
    rows = [f"{i},José{i // 2},  ,{1 + i % 28:02}.03.1980" for i in range(100)]
    path = write(tmp_path / "a.csv", "id,given,last,dob", "x,,,", *rows)
    layout = Layout(columns={"surname": "last", "birth": Source(column="dob", format="%d.%m.%Y")})
    assert show_values(path, "name", fields, layout) == [
        ShownValue((f"José{i}", None), f"jose{i}") for i in range(10)
    ]
    assert show_values(path, "birth", fields, layout, 1) == [ShownValue(("01.03.1980",), "1980-03-01")]
    sound = fields_of(x={"type": "text", "encoder": "hash", "derive": "soundex", "missing": "differs"})
    shown = show_values(pa.table({"x": ["李", None, "Li"]}), "x", sound, Layout())
    assert shown == [ShownValue(("李",), None), ShownValue(("Li",), "l000")]
    with pytest.raises(UsageError) as caught:
        show_values(path, "nam", fields, layout)
    assert "'name'" in str(caught.value)


def test_cells_of_some_records_stand_as_in_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "key,given,dob", "x,José,1.2.1980", "y,,2.2.1980", "z,Ann,")
    layout = Layout(id="key", columns={"birth": Source(column="dob", format="%d.%m.%Y")})
    found = show_rows(path, {"x", "z", "nobody"}, ["given", "birth"], layout)
    assert found == {"x": ["José", "1.2.1980"], "z": ["Ann", None]}
    made = Layout(make_ids=True, columns=layout.columns)
    with made_ids(path, made, Seeded(1)) as ids:
        assert ids is not None
    second = ids.ids[1].as_py()
    assert show_rows(path, {second}, ["given", "birth"], made) == {second: [None, "2.2.1980"]}


# -- batches become one table -----------------------------------------------------------------------------


BATCHES = fields_of(
    t={"type": "text", "encoder": "hash", "missing": "differs"},
    n={"type": "number", "min": 0, "max": 9, "step": 1, "missing": "skip"},
)
cells = st.tuples(st.none() | st.text("ab é漢", max_size=5), st.none() | st.integers(0, 9))


@given(
    st.lists(st.lists(cells, max_size=7), max_size=5),
    st.sampled_from([0, 3, 1 << 20]),
    st.integers(0, 3),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_a_table_may_come_in_any_batches(some: list[Any], most: int, cut: int, kind: pa.DataType) -> None:
    """With little memory, too, and wherever texts lie in a batch."""
    types = pa.schema({"id": kind, "t": kind, "n": pa.int64()})
    rows = [
        [{"id": f"{place}.{n}", "t": t, "n": number} for n, (t, number) in enumerate(batch)]
        for place, batch in enumerate(some)
    ]
    parts = [pa.RecordBatch.from_pylist(batch, types).slice(cut) for batch in rows]
    reader = pa.RecordBatchReader.from_batches(types, parts)
    found = load_records(reader, BATCHES, "00", ["t"], how=Loading(scratch=Scratch(most=most)))
    every = [row for batch in rows for row in batch[cut:]]
    whole = load_records(pa.Table.from_pylist(every, types), BATCHES, "00", ["t"])
    expected = [row for row in every if row["n"] is not None]
    assert found.ids.to_pylist() == [row["id"] for row in expected]
    assert found.disclosed["t"].to_pylist() == [row["t"] or None for row in expected]
    assert found.left_out == len(every) - len(expected)
    for one, other in zip(found.columns.values(), whole.columns.values(), strict=True):
        assert one.present.tolist() == other.present.tolist()
        stored = [of.words if isinstance(of, Bits) else of.values for of in (one, other)]
        assert stored[0].tolist() == stored[1].tolist()


@given(st.lists(st.lists(st.none() | st.sampled_from("abcdefgh"), max_size=4), max_size=4), st.booleans())
def test_ids_that_another_row_has(some: list[list[str | None]], collide: bool) -> None:
    """Also where hashes are the same and ids are not."""
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(gathering, "hash_texts", lambda *_: None)
        found = Ids(Scratch(most=2))
        for ids in some:
            found.add(pa.array(ids, pa.large_string()))
        every = [name for ids in some for name in ids]
        marks = found.repeated()
    expected = [name is not None and every.count(name) > 1 for name in every]
    assert (marks is None) == (not any(expected))
    assert marks is None or marks.tolist() == expected
