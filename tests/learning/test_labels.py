"""Labels are pairs that are in the tables, each once, and say yes or no."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv

from accord.agreement.file import parse_agreement
from accord.errors import DataError
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.learning.labels import read_labels
from tests.learning.worlds import DRAFT

AGREED = parse_agreement(DRAFT)


def records(letter: str) -> Records:
    ids = [f"{letter}{number}" for number in range(4)]
    fields = {"postcode": AGREED.fields["postcode"]}
    return load_records(pa.table({"id": ids, "postcode": ["12345"] * 4}), fields, AGREED.salt)


A, B = records("a"), records("b")


def test_every_listed_pair_is_a_match_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id_a,id_b\na1,b0\na0,b2\na1,b0\na9,b1\n")
    found = read_labels(path, A, B)
    assert found.all_known
    assert found.uncounted == 2
    assert [rows.tolist() for rows in (*found.matches, *found.others)] == [[0, 1], [2, 0], [], []]
    same = pa.table({"id_a": ["a1", "a0"], "id_b": ["b0", "b2"]})
    assert [rows.tolist() for rows in read_labels(same, A, B).matches] == [[0, 1], [2, 0]]


def test_a_third_column_says_which_are(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id_a,id_b,match\na0,b0,1\na1,b1, Yes\na2,b2,TRUE\na3,b0,0\na0,b1,no\na0,b2,False\n")
    found = read_labels(path, A, B)
    assert not found.all_known
    assert [rows.tolist() for rows in found.matches] == [[0, 1, 2], [0, 1, 2]]
    assert [rows.tolist() for rows in found.others] == [[0, 0, 3], [1, 2, 0]]


def test_what_is_neither_yes_nor_no_is_a_fault_without_its_value(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id_a,id_b,match\na0,b0,1\na1,b1,perhaps\na2,b2,\n")
    with pytest.raises(DataError, match=r"column 'match', from row 2 on: is neither yes nor no") as error:
        read_labels(path, A, B)
    assert "2 faults" in str(error.value)
    assert "perhaps" not in str(error.value)


@pytest.mark.parametrize("name", ["Match", "match ", "MATCH"])
def test_the_third_column_is_known_however_it_is_spelt(name: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"id_a,note,{name},id_b\na0,1,1,b0\na1,0,0,b1\n")
    table = pa.table({"id_b": ["b0", "b1"], name: [True, False], "id_a": ["a0", "a1"]})
    whole = table.set_column(1, name, pa.array([1.0, 0.0]))
    for source in (path, table, table.to_reader(), table.to_pandas(), whole):
        found = read_labels(source, A, B)
        assert not found.all_known
        assert [rows.tolist() for rows in (*found.matches, *found.others)] == [[0], [0], [1], [1]]


@pytest.mark.parametrize("said", [(1, 0), (1, 1), ("Y", "n"), (None, False), ("match", "non-match")])
def test_a_column_of_flags_under_another_name_is_refused(said: tuple[object, object], tmp_path: Path) -> None:
    table = pa.table({"id_a": ["a0", "a1"], "id_b": ["b0", "b1"], "label": pa.array(said)})
    csv.write_csv(table, tmp_path / "labels.csv")
    for source in (table, tmp_path / "labels.csv"):
        with pytest.raises(DataError, match=r"column 'label': seems to say .* call it match"):
            read_labels(source, A, B)


@pytest.mark.parametrize("told", [["typo", "1"], [0.93, 0.2], [None, None], [[1], [0]]])
def test_other_columns_are_ignored(told: list[object]) -> None:
    table = pa.table({"id_a": ["a0", "a1"], "id_b": ["b0", "b1"], "errors": pa.array(told)})
    found = read_labels(table, A, B)
    assert found.all_known
    assert [rows.tolist() for rows in found.matches] == [[0, 1], [0, 1]]


def test_a_pair_that_is_a_match_and_none_is_a_fault_by_row(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id_a,id_b,match\na0,b0,1\na1,b1,0\na0,b0,yes\na0,b0,0\na1,b1,1\n")
    (tmp_path / "empty.csv").write_text("id_a,id_b,match,,\na0,b0,1,,\n,b0,1,,\n,b0,1,,\n")
    assert read_labels(tmp_path / "empty.csv", A, B).uncounted == 2
    (tmp_path / "empty.csv").write_text("id_a,id_b,,\na0,b0,,\n")
    assert read_labels(tmp_path / "empty.csv", A, B).all_known
    with pytest.raises(DataError, match=r"from row 4 on: says otherwise of a pair than a row above") as error:
        read_labels(path, A, B)
    assert "2 faults" in str(error.value)
    twice = pa.table({"id_a": ["a0"], "id_b": ["b0"], "match": [1], "Match": [0]})
    with pytest.raises(DataError, match="column 'match': is there more than once"):
        read_labels(twice, A, B)


def test_labels_of_a_database_are_read_at_once(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "l.db")) as base:
        base.execute("CREATE TABLE l (id_a, id_b, match)")
        base.executemany("INSERT INTO l VALUES (?, ?, ?)", [("a0", "b0", 1), ("a1", "b1", 0)])
        base.commit()
    found = read_labels(f"sqlite:{tmp_path}/l.db?table=l", A, B)
    assert [rows.tolist() for rows in (*found.matches, *found.others)] == [[0], [0], [1], [1]]


def test_labels_without_ids_are_told_what_they_are() -> None:
    with pytest.raises(DataError, match="Labels are a table with the columns id_a and id_b"):
        read_labels(pa.table({"id_a": ["a0"], "other": ["b0"]}), A, B)
    with pytest.raises(DataError, match="Is the first line a header"):
        read_labels(pa.table({"a0": ["a1"], "b0": ["b1"], "1": ["0"]}), A, B)
