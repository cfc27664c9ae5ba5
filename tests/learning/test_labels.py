"""Labels are pairs that are in the tables, each once, and say yes or no."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

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
