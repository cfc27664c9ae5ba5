"""From file to records: every fault of the table at once, by row and column, never by value."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from accord.errors import DataError, UnreadableError, UsageError
from accord.fields import load
from accord.fields.columns import Integers, tell_unlisted
from accord.fields.load import Loading, Tally, load_records
from accord.fields.schema import CategoryField, FieldSpec
from accord.table.layout import Layout, Source
from accord.table.sources import csv as sources_csv
from tests.fields.made_ids import read_made

FIELDS: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    {
        "name": {"type": "text", "encoder": "paper"},
        "day": {"type": "date", "min": "2026-01-01", "max": "2026-01-31", "missing": "skip"},
        "price": {"type": "number", "min": 0, "max": 100, "step": "0.01", "missing": "differs"},
    }
)


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_records(tmp_path: Path) -> None:
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
    assert records.left_out == 1
    price = records.columns["price"]
    assert isinstance(price, Integers)
    assert price.values.tolist() == [500, 0]
    assert price.present.tolist() == [True, False]
    assert records.disclosed.to_pylist() == [{"name": "Sony", "note": "x"}, {"name": "JBL", "note": None}]


def test_all_faults_at_once_and_no_value_among_them(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv",
        "id,name,day,price",
        "1,,2026-01-01,SECRET",
        "2,x,2026-02-01,-1",
        "3,x",
        "1,x,never,5",
        ",x,2026-01-01,5",
    )
    with pytest.raises(DataError) as caught:
        load_records(path, FIELDS, "00")
    assert [fault.place for fault in caught.value.faults] == [
        "row 3",
        "row 1, column 'name'",
        "row 1, column 'price'",
        "rows 1, 4, column 'id'",
        "row 2, column 'day'",
        "row 2, column 'price'",
        "row 4, column 'day'",
        "row 5, column 'id'",
    ]
    assert "has 9 faults" in str(caught.value)
    assert str(caught.value).endswith("Row 1 is the first one below the header; empty lines do not count.")
    assert "SECRET" not in str(caught.value)
    assert "never" not in str(caught.value)
    assert caught.value.exit_code == 4


def test_rows_are_counted_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources_csv, "_BLOCK", 200)
    lines = [f"{i},name {i},2026-01-0{1 + i % 9},{i % 50}" for i in range(1, 101)]
    lines[76] = "77,x,2026-01-01,oops"
    lines[90] = "5,x,2026-01-01,1"
    with pytest.raises(DataError) as caught:
        load_records(write(tmp_path / "t.csv", "id,name,day,price", *lines), FIELDS, "00")
    assert [fault.place for fault in caught.value.faults] == [
        "rows 5, 91, column 'id'",
        "row 77, column 'price'",
    ]


def test_a_whole_wrong_column_hides_nothing(tmp_path: Path) -> None:
    lines = [f"{i},{'' if i == 4000 else 'x'},2026-01-01,wrong" for i in range(5000)]
    with pytest.raises(DataError) as caught:
        load_records(write(tmp_path / "t.csv", "id,name,day,price", *lines), FIELDS, "00")
    assert "has 5,001 faults" in str(caught.value)
    assert [fault.place for fault in caught.value.faults] == [
        "rows 1, 2, 3, 4, 5 and 4,995 more, column 'price'",
        "row 4,001, column 'name'",
    ]


def test_columns_that_hold_no_text() -> None:
    table = pa.table({"id": [b"1"], "name": [["x"]], "day": ["2026-01-01"], "price": [1]})
    with pytest.raises(DataError) as caught:
        load_records(table, FIELDS, "00", ["name"])
    assert {fault.place for fault in caught.value.faults} == {"row 1, column 'id'", "row 1, column 'name'"}
    assert "header" not in str(caught.value)


def test_a_file_without_records_is_a_mistake_and_a_table_without_is_not(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no records below the header"):
        load_records(write(tmp_path / "t.csv", "id,name,day,price"), FIELDS, "00")
    nothing = pa.table({name: pa.array([], pa.string()) for name in ("id", "name", "day", "price")})
    for table in (nothing, nothing.to_reader()):
        assert len(load_records(table, FIELDS, "00", ["name"])) == 0


def test_ids_of_other_types() -> None:
    table = pa.table({"id": [3, 4], "name": ["a", "b"], "day": ["2026-01-01"] * 2, "price": [1, 2]})
    assert load_records(table, FIELDS, "00").ids.to_pylist() == ["3", "4"]


def test_ids_may_be_made(tmp_path: Path) -> None:
    """Rows that are left out have one, too, and keep it where they are not."""
    path = write(tmp_path / "t.csv", "id,name,day,price", "7,a,2026-01-01,1", "7,b,,1", "7,c,2026-01-01,1")
    with pytest.raises(DataError, match="`make_ids=True`"):
        load_records(path, FIELDS, "00")
    made, tally = Layout(make_ids=True), Tally()
    ids = load_records(path, FIELDS, "00", (), made, how=Loading(tally)).ids.to_pylist()
    assert tally.new_ids == 3
    kept = read_made(path)
    assert ids == [kept[1], kept[3]]
    assert load_records(path, {"name": FIELDS["name"]}, "00", (), made).ids.to_pylist() == [*kept.values()]


def test_made_ids_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"name {i},2026-01-01,5" for i in range(50)]
    path = write(tmp_path / "t.csv", "name,day,price", *lines)
    ids = load_records(path, FIELDS, "00", (), Layout(make_ids=True)).ids
    monkeypatch.setattr(sources_csv, "_BLOCK", 100)
    records = load_records(path, FIELDS, "00", ["name"], Layout(make_ids=True))
    assert records.ids == ids
    assert records.disclosed["name"].to_pylist() == [f"name {i}" for i in range(50)]


def test_rows_without_a_made_id_are_faults_for_who_makes_none(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "name,day,price", "a,2026-01-01,1")
    made, found = Layout(make_ids=True), Loading(entropy=None)
    with pytest.raises(UnreadableError, match=r"t.csv.ids.csv cannot be read: it is not there"):
        load_records(path, FIELDS, "00", (), made, how=found)
    load_records(path, FIELDS, "00", (), made)
    write(path, "name,day,price", "b,2026-01-01,1", "a,2026-01-01,1")
    with pytest.raises(DataError, match="row 1, column 'id': has none in the file of ids"):
        load_records(path, FIELDS, "00", (), made, how=found)
    assert [*read_made(path)] == [1]


def test_cells_that_no_field_takes() -> None:
    table = pa.table(
        {
            "id": [1.0, float("nan"), 3.0, float("inf")],
            "name": ["a\0", "b", "x" * (1 << 20), "x" * ((1 << 20) + 1)],
            "day": ["2026-01-01"] * 4,
            "price": [1.0, float("nan"), float("-inf"), 4.0],
            "who": [1.0, 2.0, float("inf"), 4.0],
        }
    )
    with pytest.raises(DataError) as caught:
        load_records(table, FIELDS, "00", ["price"], PERSON, per_person=1)
    assert [(fault.place, fault.problem.split(";")[0]) for fault in caught.value.faults] == [
        ("row 1, column 'name'", "holds a NUL character."),
        ("rows 2, 4, column 'id'", "is NaN or infinite"),
        ("rows 2, 3, column 'price'", "is not a number."),
        ("row 3, column 'who'", "is empty or not text"),
        ("row 4, column 'name'", "is longer than 1 MiB."),
    ]


def test_a_record_that_would_disclose_more_than_a_partner_takes() -> None:
    long = "x" * (1 << 20)
    table = pa.table({"id": ["a", "b"], "name": ["n"] * 2, "p": [long, long], "q": ["", long]})
    fields = {"name": FIELDS["name"]}
    assert len(load_records(table, fields, "00", ["p"])) == 2
    with pytest.raises(DataError, match="row 2, column 'id': belongs to a record with more than 1,536 KiB"):
        load_records(table, fields, "00", ["p", "q"])


# -- people -----------------------------------------------------------------------------------------------

PERSON = Layout(person="who")


def people(path: Path, *who: str) -> Path:
    """A table with these people, one a row; every third row is left out for want of a day."""
    days = ["2026-01-01", "2026-01-02", ""]
    rows = [f"{i},x,{days[i % 3]},5,{name}" for i, name in enumerate(who)]
    return write(path, "id,name,day,price,who", *rows)


def test_nobody_may_have_too_many_records(tmp_path: Path) -> None:
    path = people(tmp_path / "t.csv", "SECRET", "b", "SECRET", "b", "c", "SECRET", "b", "b")
    assert load_records(path, FIELDS, "00", (), PERSON, per_person=4).size == 8
    with pytest.raises(DataError) as caught:
        load_records(path, FIELDS, "00", (), PERSON, per_person=3)
    (fault,) = caught.value.faults
    assert fault.place == "rows 2, 4, 7, 8, column 'who'"
    assert "more than 3 records" in fault.problem
    with pytest.raises(DataError) as caught:
        load_records(path, FIELDS, "00", (), PERSON, per_person=2)
    (fault,) = caught.value.faults
    assert fault.place == "rows 1, 2, 3, 4, 6 and 2 more, column 'who'"
    assert "SECRET" not in str(caught.value)


def test_rows_that_are_left_out_count_for_their_person(tmp_path: Path) -> None:
    path = people(tmp_path / "t.csv", "a", "b", "a")
    assert load_records(path, FIELDS, "00", (), PERSON, per_person=2).left_out == 1
    with pytest.raises(DataError, match="rows 1, 3, column 'who'"):
        load_records(path, FIELDS, "00", (), PERSON, per_person=1)


def test_every_record_needs_its_person_and_all_faults_come_at_once(tmp_path: Path) -> None:
    path = people(tmp_path / "t.csv", "a", "", "a", "  ", "a ")
    path.write_text(path.read_text().replace("1,x,2026-01-02,5", "0,x,2026-01-02,dear"))
    with pytest.raises(DataError) as caught:
        load_records(path, FIELDS, "00", (), PERSON, per_person=2)
    assert [fault.place for fault in caught.value.faults] == [
        "rows 1, 2, column 'id'",
        "rows 1, 3, 5, column 'who'",
        "row 2, column 'price'",
        "rows 2, 4, column 'who'",
    ]


def test_people_are_counted_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = people(tmp_path / "t.csv", *(f"p{i % 40}" for i in range(100)))
    monkeypatch.setattr(sources_csv, "_BLOCK", 200)
    assert load_records(path, FIELDS, "00", (), PERSON, per_person=3).size == 100
    with pytest.raises(DataError, match="rows 1, 2, 3, 4, 5 and 55 more"):
        load_records(path, FIELDS, "00", (), PERSON, per_person=2)


@pytest.mark.parametrize(
    "cells", [pa.array([7, 7, None]), pa.array([7.0, 7.0, float("nan")]), pa.array(["q", "q", ""])]
)
def test_people_of_any_plain_type(cells: pa.Array) -> None:
    table = pa.table({"id": ["a", "b", "c"], "name": ["x"] * 3, "who": cells})
    only_name = {"name": FIELDS["name"]}
    with pytest.raises(DataError) as caught:
        load_records(table, only_name, "00", (), PERSON, per_person=1)
    assert [fault.place for fault in caught.value.faults] == [
        "rows 1, 2, column 'who'",
        "row 3, column 'who'",
    ]


def test_several_records_need_a_person_column(tmp_path: Path) -> None:
    path = people(tmp_path / "t.csv", "a", "a")
    for layout in (None, Layout()):
        with pytest.raises(UsageError, match=r"with up to 2 records each.* `person=`"):
            load_records(path, FIELDS, "00", (), layout, per_person=2)
    with pytest.raises(DataError, match="column 'whom': was not found"):
        load_records(path, FIELDS, "00", (), Layout(person="whom"), per_person=2)


def test_a_tally_for_the_owner(tmp_path: Path) -> None:
    """Why rows were left out; and how many people there are, also where nobody has to be asked for."""
    number = {"type": "number", "min": 0, "max": 9, "step": 1, "missing": "skip", "other": "skip"}
    fields = TypeAdapter(dict[str, FieldSpec]).validate_python({"n": number})
    rows = {"id": [*"abcde"], "n": [1, None, 99, 10, 2], "who": ["p", "P ", "q", None, "p"]}
    tally = Tally()
    load_records(pa.table(rows), fields, "00", (), PERSON, how=Loading(tally))
    assert tally.left_out == {("n", "outside the agreed range 0 to 9"): 2, ("n", "empty"): 1}
    assert (tally.people, tally.most_of_one) == (2, 3)
    plain = Tally()
    load_records(pa.table(rows), fields, "00", (), how=Loading(plain))
    assert (plain.people, plain.most_of_one) == (None, 0)


def test_without_a_promise_to_people_nobody_is_asked_for(tmp_path: Path) -> None:
    """A record a person needs no column, and where any number is covered it is not even read."""
    path = people(tmp_path / "t.csv", "a", "a", "a")
    assert load_records(path, FIELDS, "00", (), Layout(), per_person=1).size == 3
    assert load_records(path, FIELDS, "00", (), Layout(person="not there")).size == 3
    with pytest.raises(DataError, match="more than one record; agree on more"):
        load_records(path, FIELDS, "00", (), PERSON, per_person=1)
    assert load_records(path, FIELDS, "00", (), Layout(person="id"), per_person=1).size == 3


@pytest.mark.parametrize("error", [MemoryError(), pa.ArrowMemoryError("malloc of size 68719476736 failed")])
def test_a_table_that_takes_too_much_memory_is_named(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    (tmp_path / "small.csv").write_text("id,name,day,price\n1,x,,\n")
    monkeypatch.setattr(load, "_encode_batch", fail)
    with pytest.raises(UnreadableError, match=r"small\.csv cannot be read: it takes more memory") as caught:
        load_records(tmp_path / "small.csv", FIELDS, "00")
    assert caught.value.exit_code == 4


def test_cells_outside_a_list_are_counted_for_their_owner_alone() -> None:
    spec = CategoryField(type="category", values=("f", "m"), other="missing", missing="differs")
    table = pa.table({"id": [str(n) for n in range(40)], "sex": ["f", "M", "zz", None] * 10})
    found = load_records(table, {"sex": spec}, "salt")
    assert found.unlisted == {"sex": (10, 30)}
    (told,) = tell_unlisted(found.unlisted)
    assert told.startswith("10 of 30 cells of 'sex' are none of the agreed values.")
    assert "zz" not in told
    assert not tell_unlisted({"sex": (1, 30)})


def test_cells_that_cannot_be_read_are_empty_where_their_owner_says_so() -> None:
    fields: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
        {"day": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "missing": "differs"}}
    )
    table = pa.table({"id": ["1", "2", "3"], "day": ["2020-02-30", "2021-01-01", "2020-01-02"]})
    with pytest.raises(DataError):
        load_records(table, fields, "00")
    tally = Tally()
    layout = Layout(unreadable="empty")
    records = load_records(table, fields, "00", layout=layout, how=Loading(tally))
    assert records.columns["day"].present.tolist() == [False, False, True]
    assert sum(tally.unread.values()) == 2
    strict = {name: spec.model_copy(update={"missing": "error"}) for name, spec in fields.items()}
    with pytest.raises(DataError):
        load_records(table, strict, "00", layout=layout)
