"""What is learnt from: each kind of evidence, and what is too little or wrong of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from accord.agreement.file import parse_agreement
from accord.datasets.people import generate_people
from accord.errors import DataError, UsageError
from accord.fields.schema import Letters
from accord.learning import evidence
from accord.learning.drafts import compare_fields, score_of
from accord.learning.evidence import LearningTask, from_labels, from_mistakes, from_people, strangers_in
from accord.rules.rule import fields_of
from accord.table.layout import Layout
from accord.table.sinks.files import write_table
from tests.learning.worlds import DRAFT

AGREED = parse_agreement(DRAFT)
SCORE = score_of(AGREED.rule)


def question(seed: int = 0, errors: float = 1.0) -> LearningTask:
    fields = {name: AGREED.fields[name] for name in fields_of(SCORE)}
    return LearningTask(SCORE, fields, AGREED.salt, errors, seed)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_ROWS", 300)
    monkeypatch.setattr(evidence, "_MADE_UP", 300)


def labelled(folder: Path, truth: pa.Table) -> Path:
    path = folder / "labels.csv"
    pyarrow.csv.write_csv(truth.select(["id_a", "id_b"]), path)
    return path


def test_strangers_follow_from_sizes_and_overlap() -> None:
    assert strangers_in(1000) == 1999
    assert strangers_in(1000, 0.1) == 9999
    assert strangers_in(1, 1.0) == 0


def test_made_up_people_are_the_same_for_a_seed_and_others_for_another() -> None:
    found, again, other = from_people(question()), from_people(question()), from_people(question(seed=1))
    assert found.weights == again.weights
    assert np.array_equal(found.spread.others, again.spread.others)
    assert not np.array_equal(found.spread.matches, other.spread.matches)
    assert found.strangers == strangers_in(300)


def test_people_lack_what_nobody_made_up() -> None:
    spec = AGREED.fields["email"]
    odd = LearningTask(compare_fields(["shoe"], {"shoe": spec}), {"shoe": spec}, "00", 1.0, 0)
    with pytest.raises(UsageError, match=r"no shoe\. They have given, .*Give a table"):
        from_people(odd)


def test_what_is_wrong_with_made_up_people_is_no_fault() -> None:
    """Some have a typo in the postcode, or none: of one's own table both would be named."""
    digits = Letters(kind="letters", length=5, alphabet="0123456789")
    spec = AGREED.fields["postcode"].model_copy(update={"encoder": digits, "missing": "error"})
    odd = LearningTask(compare_fields(["postcode"], {"postcode": spec}), {"postcode": spec}, "00", 1.0, 0)
    with pytest.raises(DataError):
        odd.load(generate_people(300, 0.5, 0).b, Layout())
    ((alike, *_),) = from_people(odd).weights
    assert alike > 0


def test_labels_count_once_and_where_they_are_known(tmp_path: Path) -> None:
    made = generate_people(200, None, 5)
    truth = made.truth.select(["id_a", "id_b"])
    plain = from_labels(question(), (made.a, made.b), (Layout(), Layout()), labelled(tmp_path, truth))
    assert plain.notes == ()
    unknown = pa.table({"id_a": ["nobody"], "id_b": ["nobody"]}).cast(truth.schema)
    more = pa.concat_tables([truth, truth.slice(0, 3), unknown])
    noted = from_labels(question(), (made.a, made.b), (Layout(), Layout()), labelled(tmp_path, more))
    assert noted.notes == ("4 of the labels do not count: repeated, or of records that do not exist.",)
    assert noted.weights == plain.weights


def test_too_few_labels_or_records_are_refused(tmp_path: Path) -> None:
    made = generate_people(200, None, 5)
    few = labelled(tmp_path, made.truth.slice(0, 19))
    with pytest.raises(UsageError, match="19 labelled pairs are in the tables, but at least 20 are needed"):
        from_labels(question(), (made.a, made.b), (Layout(), Layout()), few)
    with pytest.raises(UsageError, match="19 records are in the table, but learning needs at least 20"):
        from_mistakes(question(), made.a.slice(0, 19), Layout())


def test_faults_of_a_table_are_those_of_any_table() -> None:
    made = generate_people(30, None, 5)
    wrong = made.a.set_column(made.a.column_names.index("birth"), "birth", pa.array(["soon"] * 30))
    with pytest.raises(DataError, match="column 'birth': is not a date"):
        from_mistakes(question(), wrong, Layout())
    with pytest.raises(DataError, match="column 'phone'"):
        from_mistakes(question(), made.a.drop_columns(["phone"]), Layout())


def test_a_table_that_can_be_read_only_once_and_columns_of_ones_own(tmp_path: Path) -> None:
    made = generate_people(60, None, 5)
    names = ["nr", *made.a.column_names[1:]]
    names[names.index("birth")] = "dob"
    own = made.a.rename_columns(names)
    layout = Layout(id="nr", columns={"birth": "dob"})
    found = from_mistakes(question(), own.to_reader(), layout)
    assert found.weights == from_mistakes(question(), made.a, Layout()).weights
    made_ids = Layout(make_ids=True, columns={"birth": "dob"})
    write_table(own, tmp_path / "own.parquet")
    assert from_mistakes(question(), tmp_path / "own.parquet", made_ids).weights == found.weights
    with pytest.raises(UsageError, match="has no file"):
        from_mistakes(question(), own, made_ids)


def test_no_errors_find_every_copy() -> None:
    found = from_mistakes(question(errors=0), generate_people(300, None, 5).a, Layout())
    for each, (of_matches, _) in zip(SCORE.comparisons, found.shares, strict=True):
        agreed = [str(level.when) for level in each.levels]
        whole = sum(share for share, name in zip(of_matches, agreed, strict=False) if "missing" in name)
        assert of_matches[0] + whole == pytest.approx(1)
