"""What is learnt from: each kind of evidence, and what is too little or wrong of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from accord.agreement.file import parse_agreement
from accord.datasets.people import generate_people
from accord.errors import DataError, UsageError
from accord.fields.schema import FieldSpec, Letters
from accord.learning import evidence
from accord.learning.drafts import compare_fields, score_of
from accord.learning.evidence import (
    LearningTask,
    from_labels,
    from_made_up,
    from_unlabelled,
    strangers_in,
)
from accord.learning.learn import task_of
from accord.learning.threshold import curve
from accord.rules.blocking.base import Passes, PassSpec, build_blocking
from accord.rules.blocking.key import KeySpec
from accord.rules.evaluate import Tables
from accord.rules.text import parse_rule
from accord.table.layout import Layout
from accord.table.sinks.files import write_table
from tests.learning.worlds import ALL_PAIRS, DRAFT, ROUTED

AGREED = parse_agreement(DRAFT)
SCORE = score_of(AGREED.rule)


def question(seed: int = 0) -> LearningTask:
    return task_of(AGREED, AGREED.rule, seed)


def compared_all() -> LearningTask:
    return replace(question(), blocking=build_blocking((), AGREED.fields))


def alone(name: str, spec: FieldSpec) -> LearningTask:
    """The usual comparison of one field, of all pairs."""
    draft = parse_agreement(ALL_PAIRS).model_copy(update={"fields": {name: spec}})
    return task_of(draft, compare_fields([name], draft.fields))


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_PAIRS", 90_000)
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
    found, again, other = (
        from_made_up(question(), None),
        from_made_up(question(), None),
        from_made_up(question(seed=1), None),
    )
    assert found.weights == again.weights
    assert np.array_equal(found.expected.others, again.expected.others)
    assert not np.array_equal(found.expected.matches, other.expected.matches)
    assert found.strangers == strangers_in(300)


def test_what_people_do_not_have_is_made_up_besides() -> None:
    ((alike, differ, *_),) = from_made_up(alone("shoe", AGREED.fields["email"]), None).weights
    assert alike > 0 > differ or alike > differ == 0


def test_made_up_tables_have_what_the_draft_reads() -> None:
    with pytest.raises(UsageError):
        from_made_up(alone("shoe", AGREED.fields["email"]), generate_people(30, None, 5))


def test_what_is_wrong_with_made_up_people_is_no_fault() -> None:
    """Some have a typo in the postcode, or none: of one's own table both would be named."""
    digits = Letters(kind="letters", length=5, alphabet="0123456789")
    spec = AGREED.fields["postcode"].model_copy(update={"encoder": digits, "missing": "error"})
    odd = alone("postcode", spec)
    with pytest.raises(DataError):
        odd.load(generate_people(300, 0.5, 0).b, Layout())
    ((alike, *_),) = from_made_up(odd, None).weights
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


def test_too_few_labels_are_refused(tmp_path: Path) -> None:
    made = generate_people(200, None, 5)
    few = labelled(tmp_path, made.truth.slice(0, 19))
    with pytest.raises(UsageError, match="19 labelled pairs are in the tables, but at least 20 are needed"):
        from_labels(question(), (made.a, made.b), (Layout(), Layout()), few)


def test_faults_of_a_table_are_those_of_any_table() -> None:
    made, layouts = generate_people(30, None, 5), (Layout(), Layout())
    wrong = made.a.set_column(made.a.column_names.index("birth"), "birth", pa.array(["soon"] * 30))
    with pytest.raises(DataError, match="column 'birth': is not a date"):
        from_unlabelled(question(), (wrong, made.b), layouts)
    with pytest.raises(DataError, match="column 'phone'"):
        from_unlabelled(question(), (made.a.drop_columns(["phone"]), made.b), layouts)


def test_tables_that_can_be_read_only_once_and_columns_of_ones_own(tmp_path: Path) -> None:
    made = generate_people(60, None, 5)
    names = ["nr", *made.a.column_names[1:]]
    names[names.index("birth")] = "dob"
    own, plain = made.a.rename_columns(names), (Layout(), Layout())
    layout = Layout(id="nr", columns={"birth": "dob"})
    expected = from_unlabelled(question(), (made.a, made.b), plain)
    found = from_unlabelled(question(), (own.to_reader(), made.b.to_reader()), (layout, Layout()))
    assert found.weights == expected.weights
    made_ids = Layout(make_ids=True, columns={"birth": "dob"})
    write_table(own, tmp_path / "own.parquet")
    again = from_unlabelled(question(), (tmp_path / "own.parquet", made.b), (made_ids, Layout()))
    assert again.weights == expected.weights
    with pytest.raises(UsageError, match="has no file"):
        from_unlabelled(question(), (own, made.b), (made_ids, Layout()))


def test_pairs_that_do_not_meet_are_missed_and_no_strangers() -> None:
    """Passes on the birth date: of matches without it, or with a slip, none is ever found."""
    made = generate_people(300, None, 5)
    everything = compared_all()
    passes = (PassSpec(parts=(KeySpec(kind="key", field="birth", buckets=50),)),)
    met = replace(everything, blocking=build_blocking(passes, AGREED.fields))
    beside = replace(everything, rest=parse_rule("same(postcode)"))
    whole, some, strict = (from_made_up(asked, made) for asked in (everything, met, beside))
    assert whole.matches == whole.met == some.matches == made.truth.num_rows
    for less in (some, strict):
        assert less.met is not None
        assert whole.met is not None
        assert less.met < whole.met
        assert less.expected.matches.max() == pytest.approx(less.met / whole.met)
        assert less.expected.others.max() < 0.2, "of all strangers few are compared"
    assert whole.expected.others.max() == 1


def test_a_pass_over_a_field_that_people_do_not_have_brings_synthetic_records_together() -> None:
    fields = {**AGREED.fields, "badge": AGREED.fields["email"]}
    blocking = Passes.model_validate({"pass": [{"parts": [KeySpec(kind="key", field="badge", buckets=50)]}]})
    draft = AGREED.model_copy(update={"fields": fields, "blocking": blocking})
    found = from_made_up(task_of(draft, AGREED.rule), None)
    assert found.matches is not None
    assert found.met is not None
    assert found.matches > found.met > found.matches / 2
    assert found.expected.others.max() < 0.2


def test_caps_decide_what_is_expected_and_not_what_is_learnt() -> None:
    """A cap of 1 on a key that a dozen share leaves nearly all out."""
    made = generate_people(300, None, 5)
    specs = [{"cap": cap, "parts": [KeySpec(kind="key", field="birth_day")]} for cap in (1, 64)]
    drafts = [
        parse_agreement(ROUTED).model_copy(update={"blocking": Passes.model_validate({"pass": [one]})})
        for one in specs
    ]
    tight, wide = (from_made_up(task_of(one, AGREED.rule), made) for one in drafts)
    assert tight.weights == wide.weights
    assert tight.met is not None
    assert wide.met is not None
    assert 0 < tight.met < 0.1 * wide.met
    assert tight.expected.others.max() < 0.1 * wide.expected.others.max()
    larger = from_made_up(task_of(drafts[1], AGREED.rule, records=3_000), made)
    assert larger.met is not None
    assert 0 < larger.met < wide.met, "in larger tables more share a key"


def test_labels_of_a_part_teach_as_much_as_they_can(tmp_path: Path) -> None:
    """Sixty matches of a hundred, and a few pairs that are none: all others are unknown, also the matches
    among them."""
    made = generate_people(400, None, 5)
    truth = made.truth.select(["id_a", "id_b"])
    listed, wrong = truth.slice(0, 60), truth.slice(60, 20)
    moved = pa.table({"id_a": wrong["id_a"], "id_b": truth.slice(80, 20)["id_b"]})
    said = pa.concat_tables([listed, moved]).append_column("match", pa.array(["yes"] * 60 + ["0"] * 20))
    pyarrow.csv.write_csv(said, tmp_path / "labels.csv")
    both, layouts = (made.a, made.b), (Layout(), Layout())
    found = from_labels(question(), both, layouts, tmp_path / "labels.csv")
    assert (found.matches, found.strangers) == (60, strangers_in(400))
    assert found.expected.matches.max() == 1
    as_all = from_labels(question(), both, layouts, labelled(tmp_path, listed))
    assert as_all.strangers == pytest.approx(400 * 400 / 60 - 1)
    best = [
        max(one.f1 for one in curve(of.expected, 800, np.random.default_rng(0))) for of in (found, as_all)
    ]
    assert best[0] > 0.9 > best[1], "the unlisted matches look like strangers who agree"


def test_nothing_that_meets_is_refused(tmp_path: Path) -> None:
    made = generate_people(100, None, 5)
    truth = labelled(tmp_path, made.truth)
    never = replace(question(), rest=parse_rule("same(birth) and not same(birth)"))
    with pytest.raises(UsageError, match="No match meets in the draft's passes"):
        from_labels(never, (made.a, made.b), (Layout(), Layout()), truth)
    with pytest.raises(UsageError, match="No two records of the tables meet"):
        from_unlabelled(never, (made.a, made.b), (Layout(), Layout()))


def test_more_pairs_than_are_looked_at_are_sampled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = generate_people(200, None, 5)
    asked = compared_all()
    a, b = asked.load(made.a, Layout()), asked.load(made.b, Layout())
    tables = Tables(asked.fields, a.columns, b.columns)
    rng = np.random.default_rng(0)
    assert [len(rows) for rows in asked.sample(tables, (200, 200), rng)] == [200, 200]
    monkeypatch.setattr(evidence, "_MOST_PAIRS", 10_000)
    assert [len(rows) for rows in asked.sample(tables, (200, 200), rng)] == [100, 100]
    found = from_labels(asked, (made.a, made.b), (Layout(), Layout()), labelled(tmp_path, made.truth))
    assert found.met == made.truth.num_rows, "all matches count, wherever they are"
    assert found.expected.counted is not None
    assert found.expected.counted.of_others < 10_000


def test_pairs_that_share_a_key_are_sampled_without_listed_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    made, routed = generate_people(200, None, 5), parse_agreement(ROUTED)
    asked = task_of(routed, routed.rule)
    a, b = asked.load(made.a, Layout()), asked.load(made.b, Layout())
    tables, rng = Tables(asked.fields, a.columns, b.columns), np.random.default_rng(0)
    met = sum(one.place_both((a.columns, b.columns), (200, 200)).candidates for one in routed.plan.passes)
    monkeypatch.setattr(evidence, "_MOST_PAIRS", met)
    assert [len(rows) for rows in asked.sample(tables, (200, 200), rng)] == [200, 200]
    monkeypatch.setattr(evidence, "_MOST_PAIRS", met / 4)
    assert [len(rows) for rows in asked.sample(tables, (200, 200), rng)] == [100, 100]
