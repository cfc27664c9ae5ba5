"""`learn` is better than a draft on people whom it never saw, and writes nothing but a rule."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from accord.agreement.document import Agreement, DisclosedColumns
from accord.agreement.file import parse_agreement
from accord.datasets.generated import Generated
from accord.datasets.starter import starter
from accord.drafting.answers import Answers
from accord.drafting.draft import _text
from accord.drafting.how import write_all_pairs, write_passes
from accord.drafting.kinds import ColumnKind
from accord.drafting.made_up import make_up
from accord.drafting.passes import DraftPass, Grid, Key
from accord.drafting.rules import sketch_rule
from accord.errors import AgreementError, DataError, UsageError
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.fields.schema import FieldSpec, Letters
from accord.learning import evidence
from accord.learning.drafts import compare_fields, put_weights, refine, score_of, write_into
from accord.learning.evidence import strangers_in
from accord.learning.labels import read_labels
from accord.learning.learn import Learnt, learn, task_of
from accord.rules.blocking.base import Passes, PassSpec, build_blocking
from accord.rules.blocking.key import KeySpec
from accord.rules.evaluate import Tables
from accord.rules.text import parse_rule
from accord.simulation.pair import simulate
from accord.simulation.truth import score
from accord.table.layout import Layout
from accord.table.sinks.files import write_table
from tests.learning.worlds import ALL_PAIRS, DRAFT, ROUTED, with_rule
from tests.prepared import SALT, answers, learned, people, true_pairs

AGREED = parse_agreement(DRAFT)
SLOW = pytest.mark.slow


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_PAIRS", 40_000)
    monkeypatch.setattr(evidence, "_MADE_UP", 200)


def taught(made: Generated, draft: Agreement = AGREED, **others: Any) -> Learnt:
    """What two tables teach, without labels unless some are given."""
    return learn(draft, made.a, **{"other": made.b, "learnt_from": "public"} | others)


def of_few(draft: Agreement, **fields: FieldSpec) -> Agreement:
    """A draft that compares these fields in the usual ways."""
    rule = compare_fields([*fields], fields)
    return draft.model_copy(update={"fields": fields, "rule": rule, "disclose": DisclosedColumns()})


def f1(agreement: Agreement) -> float:
    """On people of whom nothing was learned."""
    made = people(300, seed=77)
    return score(simulate(made.a, made.b, agreement, seed=1).found.ids(), true_pairs(made)).truth_f1 or 0.0


# -- what is learned, and what is written ------------------------------------------------------------------


@pytest.mark.parametrize("text", [ROUTED, ALL_PAIRS], ids=["routed", "all pairs"])
@pytest.mark.parametrize("way", ["made up", "labels", "looks"])
def test_every_way_keeps_the_blocking_and_the_protocol(way: str, text: str) -> None:
    draft, found = parse_agreement(text), learned(text, way)
    assert found.expected.f1 > 0.75
    assert found.agreement.model_copy(update={"rule": draft.rule, "learnt_from": None}) == draft
    assert parse_agreement(found.write_into(text)) == found.agreement
    assert found.agreement.learnt_from == ("nobody" if way == "made up" else "public")


def test_two_tables_without_labels_are_better_than_the_draft() -> None:
    """The threshold that is best for the draft's own weights would be found with labels alone."""
    found = learned(DRAFT, "looks")
    assert (found.matches, found.met, found.expected.interval) == (None, None, None)
    assert f1(found.agreement) > f1(AGREED)
    with pytest.raises(UsageError):
        taught(people(12, seed=3))


def test_other_made_up_tables_may_be_given() -> None:
    made = people(150, seed=11)
    given = learn(AGREED, made_up=made)
    assert given.agreement.learnt_from == "nobody"
    assert given.matches == made.truth.num_rows != learned(DRAFT).matches
    # Without any, they are the same for a seed, and others for another.
    assert learn(AGREED) == learned(DRAFT)
    assert learn(AGREED, seed=1).curve != learned(DRAFT).curve
    assert [strangers_in(1000), strangers_in(1000, 0.1), strangers_in(1, 1.0)] == [1999, 9999, 0]
    assert learned(DRAFT).strangers == strangers_in(200)


def test_an_agreement_says_whose_data_it_was_learned_from() -> None:
    made = people(60, seed=4)
    for whose, linked, recorded in (
        ("south-register", False, "B"),
        ("north-register", True, "A linked"),
        ("public", False, "public"),
        ("both", False, "A and B"),
        ("A and B", True, "A and B linked"),
    ):
        found = taught(made, learnt_from=whose, linked_table=linked, compare=["birth", "given"])
        assert found.agreement.learnt_from == recorded


def test_a_rule_keeps_what_stands_beside_its_score() -> None:
    beside = "not missing(surname)"
    draft = parse_agreement(with_rule(DRAFT, f"{AGREED.rule} and {beside}"))
    assert str(learn(draft).rule).partition(" and ")[2] == beside


@pytest.mark.parametrize("rule", ["same(birth)", "{0} or same(birth)", "not {0}", "{0} and {0}"])
def test_a_rule_without_one_score_is_refused(rule: str) -> None:
    with pytest.raises(UsageError):
        learn(parse_agreement(with_rule(DRAFT, rule.format("score(same(birth) -> 2) >= 2"))))


def test_fields_can_be_named_instead_of_a_score() -> None:
    text = with_rule(DRAFT, "same(birth)")
    found = learn(parse_agreement(text), compare=["given", "surname", "birth", "postcode"])
    assert len(found.levels) == 4
    assert parse_agreement(found.write_into(text)) == found.agreement
    with pytest.raises(UsageError) as raised:
        learn(parse_agreement(text), compare=["postcode"], precision=0.99)
    assert "0.99" in str(raised.value)
    greedy = text.replace("greedy = false", "greedy = true").replace('"birth"]', '"birth", "phone"]')
    with pytest.raises(AgreementError) as refused:
        learn(parse_agreement(greedy), compare=["birth", "email"])
    assert "disclose.A" in str(refused.value)


def test_the_threshold_is_for_the_linkage_that_is_named() -> None:
    asked = {"records": 200}, {"records": 10**6}, {"precision": 0.999}, {"overlap": 0.01}
    small, large, careful, rare = (learned(DRAFT, **one).expected for one in asked)
    assert small.least < large.least
    assert small.least <= rare.least
    assert careful.precision >= 0.999
    widths = [interval[1] - interval[0] for one in (large, small) if (interval := one.interval)]
    assert widths[0] > widths[1]


def test_a_table_like_another_gives_the_same_bytes() -> None:
    """Nothing but coarse weights tells which table it was: no statistic of another one is written."""
    made = people(150, seed=4)
    renamed = made.a.set_column(0, "id", pa.array([f"x{i}" for i in range(150)]))
    first, second = (taught(replace(made, a=one), learnt_from="A") for one in (made.a, renamed))
    assert first.write_into(DRAFT) == second.write_into(DRAFT)
    other = learned(DRAFT, "looks")
    assert other.curve != first.curve
    moved = Learnt(first.agreement, other.levels, other.expected, other.curve, 3.0, 7, 5, ("note",))
    assert moved.write_into(DRAFT) == first.write_into(DRAFT)


def test_no_value_and_no_statistic_is_written() -> None:
    """Every figure is a weight, the threshold or a bound that stood in the draft."""
    table, found = people(200, seed=3).a, learned(DRAFT, "looks")
    text = found.write_into(DRAFT)
    start = text.index("# Learned by")
    new = text[start : text.index('\n"""', start) + 4]
    assert DRAFT.startswith(text[:start])
    assert DRAFT.endswith(text[start + len(new) :])
    comments, _, rule = new.partition('rule = """')
    known = {level.weight for each in found.levels for level in each} | {found.expected.least}
    assert {int(number) for number in re.findall(r"(?:->|\) >=) (-?\d+)", rule)} <= known
    bounds = re.findall(r"[a-z)] >= ([\d.]+)", re.sub(r"\n\) >= .*", "", rule))
    assert set(bounds) <= set(re.findall(r">= ([\d.]+)", DRAFT))
    assert not re.search(r"\d", comments.replace("(ε, δ)", ""))
    cells = {str(cell) for column in table.columns for cell in column.to_pylist() if len(str(cell)) > 3}
    assert [cell for cell in cells if cell in new] == []


BOTH = {"table": "a.csv", "other": "b.csv"}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (BOTH, "`learnt_from="),
        ({**BOTH, "learnt_from": "C"}, "'C'"),
        ({**BOTH, "learnt_from": "nobody"}, "'nobody'"),
        ({"learnt_from": "A"}, ""),
        ({**BOTH, "learnt_from": "public", "linked_table": True}, "`linked_table="),
        ({"learnt_from": "A", "other": "b.csv"}, "`other="),
        ({"learnt_from": "A", "table": "a.csv"}, "`other="),
        ({"made_up": Generated(*[pa.table({})] * 3), **BOTH, "learnt_from": "A"}, ""),
        ({"table": "a.csv", "learnt_from": "A", "labels": "t.csv"}, "`other="),
        ({"learnt_from": "A", "other": "b.csv", "labels": "t.csv"}, "`other="),
        ({"labels": "t.csv"}, "`other="),
        ({"compare": ["gven"]}, "'given'"),
    ],
)
def test_what_is_asked_wrongly_is_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError) as raised:
        learn(AGREED, **given)
    assert named in str(raised.value)


# -- passes are chosen on known matches, and bring together what the rule accepts ---------------------------


@pytest.mark.parametrize(
    "text", [DRAFT, pytest.param(ROUTED, marks=SLOW), pytest.param(ALL_PAIRS, marks=SLOW)]
)
def test_passes_are_written_in_place_of_the_drafts(text: str) -> None:
    draft, made = parse_agreement(text), people(300, seed=3)
    found = taught(made, draft, labels=true_pairs(made), passes=True, records=300)
    agreed = found.agreement
    written = found.write_into(text)
    assert agreed.protocol.name == "routed"
    assert parse_agreement(written) == agreed
    assert parse_agreement(found.write_into(written)) == agreed
    assert agreed.fields.items() >= draft.fields.items()
    assert {*agreed.blocking_fields} <= {*agreed.fields}
    assert (found.met or 0) > 0.98 * (found.matches or 0) > 0
    assert f1(agreed) > 0.95
    assert abs(f1(agreed) - found.expected.f1) < 0.04


@pytest.mark.parametrize("way", ["looks", pytest.param("made up", marks=SLOW)])
def test_passes_are_chosen_without_labels(way: str) -> None:
    found = learned(DRAFT, way, passes=True)
    assert found.agreement.protocol.name == "routed"
    assert found.expected.f1 > 0.9


# -- made-up people -----------------------------------------------------------------------------------------


def test_faults_of_made_up_people_are_no_faults() -> None:
    """Some have a typo in the postcode, or none. Of one's own table both would be named."""
    digits = Letters(kind="letters", length=5, alphabet="0123456789")
    spec = AGREED.fields["postcode"].model_copy(update={"encoder": digits, "missing": "error"})
    odd = of_few(parse_agreement(ALL_PAIRS), postcode=spec)
    with pytest.raises(DataError):
        taught(people(300, seed=0), odd)
    ((alike, *_),) = learn(odd).levels
    assert alike.weight > 0


def test_fields_that_people_do_not_have_are_made_up_besides() -> None:
    fields, key = (
        {**AGREED.fields, "badge": AGREED.fields["email"]},
        {"kind": "key", "field": "badge", "buckets": 50},
    )
    draft = with_passes(AGREED.model_copy(update={"fields": fields}), {"parts": [key]})
    found = learn(draft, compare=["birth", "badge"])
    alike, *_, differ = found.levels[1]
    assert alike.weight > 0 >= differ.weight
    assert (found.matches or 0) > (found.met or 0) > (found.matches or 0) / 2
    with pytest.raises(UsageError):
        learn(draft, made_up=people(30))


def with_passes(draft: Agreement, *passes: PassSpec | dict[str, Any]) -> Agreement:
    return draft.model_copy(update={"blocking": Passes.model_validate({"pass": passes})})


def test_pairs_that_do_not_meet_are_missed() -> None:
    """Passes on the birth date: of matches without it, or with a slip, none is ever found."""
    made = people(200)
    whole = learn(parse_agreement(ALL_PAIRS), made_up=made)
    birth = PassSpec(parts=(KeySpec(kind="key", field="birth", buckets=50),))
    less = learn(with_passes(AGREED, birth), made_up=made)
    assert whole.matches == whole.met == less.matches == made.truth.num_rows
    share = (less.met or 0) / made.truth.num_rows
    assert 0 < share < 1
    assert max(point.recall for point in less.curve) <= share


def test_caps_decide_what_is_expected_and_not_what_is_learned() -> None:
    """A cap of 1 on a key that a dozen share leaves nearly all out. In larger tables more share a key."""
    routed, found = parse_agreement(ROUTED), []
    for cap, records in ((1, None), (64, None), (64, 3_000)):
        draft = with_passes(routed, {"cap": cap, "parts": [KeySpec(kind="key", field="birth_day")]})
        found.append(evidence.from_made_up(task_of(draft, AGREED.rule, records=records), people(300)))
    tight, wide, larger = found
    assert tight.weights == wide.weights
    assert 0 < (tight.met or 0) < 0.1 * (wide.met or 0)
    assert tight.expected.others.max() < 0.1 * wide.expected.others.max()
    assert 0 < (larger.met or 0) < (wide.met or 0)


# -- tables and labels --------------------------------------------------------------------------------------


def test_labels_count_once_and_where_they_are_known(tmp_path: Path) -> None:
    made = people(200)
    truth = true_pairs(made)
    plain = taught(made, labels=truth)
    unknown = pa.table({"id_a": ["nobody"], "id_b": ["nobody"]}, schema=truth.schema)
    pyarrow.csv.write_csv(pa.concat_tables([truth, truth.slice(0, 3), unknown]), tmp_path / "labels.csv")
    noted = taught(made, labels=tmp_path / "labels.csv")
    assert plain.notes == ()
    assert [note.split()[0] for note in noted.notes] == ["4"]
    assert noted.levels == plain.levels
    with pytest.raises(UsageError) as raised:
        taught(made, labels=truth.slice(0, 19))
    assert all(number in str(raised.value) for number in ("19", "20"))


def test_tables_may_be_read_only_once_and_have_own_columns(tmp_path: Path) -> None:
    made = people(60)
    names = ["nr", *made.a.column_names[1:]]
    names[names.index("birth")] = "dob"
    own, expected = made.a.rename_columns(names), taught(made)
    layout = Layout(id="nr", columns={"birth": "dob"})
    once = Generated(own.to_reader(), made.b.to_reader(), made.truth)
    assert taught(once, layout=layout).levels == expected.levels
    made_ids = Layout(make_ids=True, columns={"birth": "dob"})
    write_table(own, tmp_path / "own.parquet")
    assert taught(replace(made, a=tmp_path / "own.parquet"), layout=made_ids).levels == expected.levels
    with pytest.raises(UsageError):
        taught(replace(made, a=own), layout=made_ids)


def test_labels_of_a_part_teach_as_much_as_they_can() -> None:
    """Sixty matches of a hundred, and a few pairs that are none. All others are unknown, also the matches
    among them: taken for strangers who agree, they would lower what is expected."""
    made = people(400)
    truth = true_pairs(made)
    listed, wrong = truth.slice(0, 60), truth.slice(60, 20)
    moved = pa.table({"id_a": wrong["id_a"], "id_b": truth.slice(80, 20)["id_b"]}, schema=truth.schema)
    said = pa.concat_tables([listed, moved]).append_column("match", pa.array(["yes"] * 60 + ["0"] * 20))
    found, as_all = taught(made, labels=said), taught(made, labels=listed)
    assert (found.matches, found.strangers) == (60, strangers_in(400))
    assert as_all.strangers == pytest.approx(400 * 400 / 60 - 1)
    assert found.expected.f1 > 0.9 > as_all.expected.f1


def test_nothing_that_meets_is_refused() -> None:
    made, rule = people(60), parse_rule(f"{AGREED.rule} and (same(birth) and not same(birth))")
    apart = pa.table({"id_a": [f"A{n}" for n in range(30)], "id_b": [f"B{n}" for n in range(30)]})
    for draft, asked in (
        (AGREED.model_copy(update={"rule": rule}), {"labels": true_pairs(made)}),
        (AGREED.model_copy(update={"rule": rule}), {}),
        (AGREED, {"labels": apart, "compare": ["sex"], "passes": True}),
    ):
        with pytest.raises(UsageError):
            taught(people(60, 0.01, 3) if "compare" in asked else made, draft, **asked)


def test_more_pairs_than_are_looked_at_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    made, routed = people(200), parse_agreement(ROUTED)
    asked = task_of(routed, routed.rule)
    a, b = asked.load(made.a, Layout()), asked.load(made.b, Layout())
    tables, rng = Tables(asked.fields, a.columns, b.columns), np.random.default_rng(0)
    met = sum(one.place_both((a.columns, b.columns), (200, 200)).candidates for one in routed.plan.passes)
    whole = replace(asked, blocking=build_blocking((), asked.fields), caps=())
    for task, pairs in ((asked, met), (whole, 40_000)):
        for share, rows in ((1, 200), (4, 100)):
            monkeypatch.setattr(evidence, "_MOST_PAIRS", pairs / share)
            assert [len(one) for one in task.sample(tables, (200, 200), rng)] == [rows, rows]
    found = taught(made, parse_agreement(ALL_PAIRS), labels=true_pairs(made))
    assert found.met == made.truth.num_rows, "all matches count, wherever they are"


def test_keys_that_only_matches_share_leave_all_pairs_to_learn_from() -> None:
    names = [f"{chr(97 + n % 26) * 3}{chr(97 + n // 26) * 3}" for n in range(60)]
    a, b = (
        pa.table({"id": [f"{side}{n}" for n in range(60)], "phone": [*map(str, range(60))], "given": names})
        for side in "ab"
    )
    draft = with_passes(parse_agreement(ROUTED), {"cap": 1, "parts": [KeySpec(kind="key", field="phone")]})
    labels = pa.table({"id_a": a["id"], "id_b": b["id"]})
    draft = of_few(draft, given=AGREED.fields["given"], phone=AGREED.fields["phone"])
    learnt = taught(Generated(a, b, labels), draft, labels=labels, compare=["given"])
    assert "dice(given)" in str(learnt.rule)


# -- labels as they are read: faulty ones stand in tests/bad_inputs.toml ------------------------------------


def records(letter: str) -> Records:
    table = pa.table({"id": [f"{letter}{number}" for number in range(4)], "postcode": ["12345"] * 4})
    return load_records(table, {"postcode": AGREED.fields["postcode"]}, AGREED.salt)


@pytest.mark.parametrize(
    ("text", "rows", "uncounted"),
    [
        # Every listed pair is a match, each once, and other columns than `match` are ignored.
        ("id_a,id_b\na1,b0\na0,b2\na1,b0\na9,b1\n", [[0, 1], [2, 0], None], 2),
        ("id_a,id_b,,\na0,b0,,\n", [[0], [0], None], 0),
        ("id_a,id_b,errors\na0,b0,typo\na1,b1,1\n", [[0, 1], [0, 1], None], 0),
        ("id_a,id_b,errors\na0,b0,0.93\na1,b1,0.2\n", [[0, 1], [0, 1], None], 0),
        ("id_a,id_b,errors\na0,b0,\na1,b1,\n", [[0, 1], [0, 1], None], 0),
        # A third column says which are, however it is spelt.
        (
            "id_a,id_b,match\na0,b0,1\na1,b1, Yes\na2,b2,TRUE\na3,b0,0\na0,b1,no\na0,b2,False\n",
            [[0, 1, 2], [0, 1, 2], [[0, 0, 3], [1, 2, 0]]], 0,
        ),
        ("id_a,id_b,match,,\na0,b0,1,,\n,b0,1,,\n,b0,1,,\n", [[0], [0], [[], []]], 2),
        *((f"id_a,note,{name},id_b\na0,1,1,b0\na1,0,0,b1\n", [[0], [0], [[1], [1]]], 0)
          for name in ("Match", "match ", "MATCH")),
    ],
)  # fmt: skip
def test_labels_say_which_pairs_are_matches(
    text: str, rows: list[Any], uncounted: int, tmp_path: Path
) -> None:
    (tmp_path / "labels.csv").write_text(text)
    found = read_labels(tmp_path / "labels.csv", records("a"), records("b"))
    left, right, others = rows
    assert [one.tolist() for one in found.matches] == [left, right]
    assert [one.tolist() for one in found.others] == (others or [[], []])
    assert (found.all_known, found.uncounted) == (others is None, uncounted)


def test_labels_may_be_tables_of_any_kind() -> None:
    said = pa.table({"id_b": ["b0", "b1"], "match": [True, False], "id_a": ["a0", "a1"]})
    for source in (said, said.set_column(1, "match", pa.array([1.0, 0.0])), said.to_reader()):
        found = read_labels(source, records("a"), records("b"))
        assert [rows.tolist() for rows in (*found.matches, *found.others)] == [[0], [0], [1], [1]]


# -- every draft, in every mode that compares ---------------------------------------------------------------

MIXES = {
    "people": ("given surname birth street city phone", ("surname_sound", "birth_year")),
    "people in codes": ("name birth_year sex identifier category:ethnicity yesno", ("name_sound",)),
    "copies": ("given surname birth postcode", ("surname_sound", "given_sound")),
    "things": ("text category:brand price identifier", ("text_start", "brand")),
    "places": ("text:name latitude longitude date", ("name_start",)),
    "many fields": (
        "given middle surname birth sex street city postcode phone email identifier "
        "category:race category:county category:party category:status category:birth_place category:district "
        "text:employer text:occupation number:height number:income date:registered yesno",
        ("surname_sound", "birth_year"),
    ),
}
MODES = ("all pairs", "bins", "sorted", "greedy", "routed")
WAYS = ("made up", "labels", "listed", "looks")
SOME = [
    ("people", "all pairs", "labels"),
    ("people in codes", "bins", "listed"),
    ("copies", "sorted", "looks"),
    ("things", "greedy", "made up"),
    ("places", "routed", "labels"),
]
"""Every mix, mode and way."""


def draft_of(asked: Answers, keys: tuple[str, ...], mode: str) -> Agreement:
    parts: list[Key | Grid] = [Key((name,), 5) for name in keys]
    parts += [Grid(Fraction(10), "0.01")] if asked.named(ColumnKind.LATITUDE) else []
    passes = "".join(DraftPass(f"pass {number}", (part,)).text for number, part in enumerate(parts))
    how = {
        "all pairs": write_all_pairs(),
        "bins": write_passes(passes),
        "sorted": write_passes(passes).replace("prune = 0 ", "prune = 20 "),
        "greedy": write_passes(passes).replace("greedy = false", "greedy = true"),
        "routed": passes.replace(", buckets = 5", "") + '[protocol]\nname = "routed"\ncap = 3\n',
    }[mode]
    shown = tuple(one.name for one in asked.fields) if mode == "greedy" else ()
    return parse_agreement(_text(replace(asked, disclose=shown), sketch_rule(asked), how, keys, SALT))


@pytest.mark.parametrize(
    ("mix", "mode", "way"),
    [case if case in SOME else pytest.param(*case, marks=SLOW) for case in product(MIXES, MODES, WAYS)],
)
def test_every_draft_is_learned_from(mix: str, mode: str, way: str) -> None:
    typed, keys = MIXES[mix]
    asked = answers(typed, (200, 200), copies=(3, 2) if mix == "copies" else (1, 1))
    agreed, made = draft_of(asked, keys, mode), make_up(asked.fields, asked.map_)
    labels = made.truth.select(["id_a", "id_b"])
    if way == "listed":
        moved = pa.table({"id_a": labels["id_a"].slice(1), "id_b": labels["id_b"].slice(0, len(labels) - 1)})
        said = pa.array(["1"] * len(labels) + ["0"] * len(moved))
        labels = pa.concat_tables([labels, moved]).append_column("match", said)
    known = {} if way == "looks" else {"labels": labels}
    found = learn(agreed) if way == "made up" else taught(made, agreed, **known)
    assert found.agreement.protocol == agreed.protocol
    assert 0 < found.expected.f1 <= 1


# -- what is written into a draft ---------------------------------------------------------------------------

RULE = """
score(
    given: dice >= 1 -> 5, dice >= 0.5 -> 2, missing -> 0, otherwise -> -3;
    birth: within 31 days -> 8, otherwise -> -5;
    surname, given: dice >= 0.9 -> 4, missing(surname, A) or missing(given, B) -> 0, otherwise -> -1;
    email: same and not missing(phone) -> 3, otherwise -> 0;
) >= 7 and (same(birth) or missing(birth))"""
LEARNT = AGREED.model_copy(update={"learnt_from": "A", "rule": parse_rule(RULE)})
ONE_LINE = with_rule(DRAFT, "MARK").replace('"""MARK"""', "'same(birth)'  # by hand")


@pytest.mark.parametrize(
    "draft", [DRAFT, ONE_LINE, DRAFT.replace("\n", "\r\n"), DRAFT.replace("rule =", '"rule"=', 1)]
)
def test_every_other_line_stays(draft: str) -> None:
    text = write_into(draft, LEARNT)
    assert parse_agreement(text) == LEARNT
    assert RULE in text
    start, end = text.index("# Learned by"), text.index('\n"""', text.index('learnt_from = "A"')) + 4
    plain = draft.replace("\r\n", "\n")
    first, last = text[:start], text[end:]
    assert plain.startswith(first)
    assert plain.endswith(last)
    gone = re.sub("^(#.*\n)+", "", plain[len(first) : len(plain) - len(last)].strip())
    assert gone.startswith(("rule =", '"rule"='))
    assert gone.endswith(('"""', "'same(birth)'")), "nothing but the rule and its comment is gone"
    # Learning again replaces it.
    again = LEARNT.model_copy(update={"learnt_from": "B linked"})
    twice = text.replace('learnt_from = "A"', 'learnt_from = "B linked"')
    assert write_into(text, again) == twice


def test_a_rule_in_another_text_is_left_alone() -> None:
    odd = DRAFT.replace('salt = "00000000"', "salt = \"00000000\"\nx = '''\nrule = \"same(birth)\"\n'''")
    for text in (odd, "version = 2\n"):
        with pytest.raises(UsageError):
            write_into(text, LEARNT)


def test_fields_are_compared_in_the_usual_ways() -> None:
    fields = starter("people").fields
    digits = fields["postcode"].model_copy(update={"encoder": Letters(kind="letters", length=2)})
    found = compare_fields(["given", "birth", "email", "zip"], {**fields, "zip": digits})
    usual = (
        "given: dice >= 1 -> 6, dice >= 0.8 -> 4, dice >= 0.6 -> 2, missing -> 0, otherwise -> -2;"
        "birth: same -> 6, within 31 days -> 4, missing -> 0, otherwise -> -2;"
        "email: same -> 6, missing -> 0, otherwise -> -2;"
        "zip: same -> 6, edit <= 1 -> 4, missing -> 0, otherwise -> -2"
    )
    assert found == parse_rule(f"score({usual}) >= {found.least}")
    products = compare_fields(["day", "brand"], starter("products").fields)
    assert "missing" not in str(products), "no record lacks them"


@pytest.mark.parametrize(
    ("drafted", "finer"),
    [
        (
            "given: dice >= 0.75 -> 4, otherwise -> -2",
            "given: dice >= 1 -> 4, dice >= 0.75 -> 4, dice >= 0.5 -> -2, missing -> -2, otherwise -> -2",
        ),
        (
            "birth: same -> 4, same(birth_year) -> 1",
            "birth: same -> 4, same(birth_year) -> 1, missing -> 0, otherwise -> 0",
        ),
        *[("dice(given, surname) >= 0.7 and dice(surname, given) >= 0.7 -> 4",) * 2],
    ],
)
def test_finer_levels_weigh_what_the_draft_gives_such_pairs(drafted: str, finer: str) -> None:
    fields = starter("people").fields
    score, wanted = (score_of(parse_rule(f"score({one}) >= 1")) for one in (drafted, finer))
    assert refine(score, fields) == wanted
    if "given:" in drafted:
        weights = tuple(each.weights for each in wanted.comparisons)
        assert put_weights(wanted.comparisons, weights, 1, fields) == score
        # Comparisons that decide nothing are left out.
        twice, nothing = wanted.comparisons * 2, (0,) * len(weights[0])
        assert put_weights(twice, (*weights, nothing), 1, fields) == score
