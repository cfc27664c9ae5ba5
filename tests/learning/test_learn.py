"""`learn` is better than a draft, on people whom it never saw, and writes nothing but a rule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import accord
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.people import generate_people
from accord.errors import AgreementError, UsageError
from accord.learning import evidence
from accord.learning.learn import Learnt, learn
from accord.simulation.pair import simulate
from accord.simulation.truth import score
from tests.learning.worlds import ALL_PAIRS, DRAFT, ROUTED, with_rule

AGREED = parse_agreement(DRAFT)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_PAIRS", 250_000)
    monkeypatch.setattr(evidence, "_MADE_UP", 500)


def f1(agreement: Agreement) -> float:
    """On people whom nobody has learnt from."""
    made = generate_people(600, None, 77)
    found = simulate(made.a, made.b, agreement, seed=1).found.ids()
    scores = score(found, made.truth.select(["id_a", "id_b"]).cast(found.schema))
    p, r = scores.truth_precision, scores.truth_recall
    return 2 * p * r / (p + r)


def from_labels(folder: Path, seed: int) -> Learnt:
    made = generate_people(500, None, seed)
    pyarrow.csv.write_csv(made.truth.select(["id_a", "id_b"]), folder / "labels.csv")
    return learn(AGREED, made.a, other=made.b, labels=folder / "labels.csv", learnt_from="public")


@pytest.mark.slow
def test_every_way_to_learn_is_better_than_the_draft(tmp_path: Path) -> None:
    draft = f1(AGREED)
    assert draft < 0.97
    ways = {
        "people": learn(AGREED),
        "labels": from_labels(tmp_path, 3),
    }
    found = {name: f1(way.agreement) for name, way in ways.items()}
    assert all(one > draft for one in found.values()), found
    assert found["people"] > 0.975
    assert found["labels"] > 0.975
    for name in ("people", "labels"):
        assert abs(ways[name].expected.f1 - found[name]) < 0.02, "what is expected comes about"


@pytest.mark.parametrize("text", [ROUTED, ALL_PAIRS], ids=["routed", "all pairs"])
@pytest.mark.parametrize("way", ["people", "labels", "looks"])
def test_every_way_keeps_the_blocking_and_the_protocol(way: str, text: str, tmp_path: Path) -> None:
    draft, made = parse_agreement(text), generate_people(300, None, 3)
    pyarrow.csv.write_csv(made.truth.select(["id_a", "id_b"]), tmp_path / "labels.csv")
    given: dict[str, dict[str, Any]] = {
        "people": {},
        "labels": {
            "table": made.a,
            "other": made.b,
            "labels": tmp_path / "labels.csv",
            "learnt_from": "both",
        },
        "looks": {"table": made.a, "other": made.b, "learnt_from": "both"},
    }
    found = learn(draft, **given[way])
    assert found.expected.f1 > 0.75
    assert found.agreement.model_copy(update={"rule": draft.rule, "learnt_from": None}) == draft
    assert parse_agreement(found.write_into(text)) == found.agreement


def test_two_tables_without_labels_are_better_than_the_draft() -> None:
    """The threshold that is best for the draft's own weights would be found with labels alone."""
    made = generate_people(400, None, 3)
    found = learn(AGREED, made.a, other=made.b, learnt_from="both")
    assert (found.matches, found.met, found.expected.interval) == (None, None, None)
    assert "at most one partner" in found.notes[0]
    assert f1(found.agreement) > f1(AGREED)
    with pytest.raises(UsageError, match="matches seem to be in the tables"):
        learn(AGREED, made.a.slice(0, 12), other=made.b.slice(0, 12), learnt_from="both")


def test_other_made_up_tables_may_be_given() -> None:
    made = generate_people(300, None, 11)
    plain, given = learn(AGREED), learn(AGREED, made_up=made)
    assert given.agreement.learnt_from == "nobody"
    assert given.matches == made.truth.num_rows != plain.matches
    assert given == learn(AGREED, made_up=made, learnt_from="nobody")


def test_what_is_learnt_is_an_agreement_that_says_whose_data_it_was(tmp_path: Path) -> None:
    people = learn(AGREED)
    assert people.agreement.learnt_from == "nobody"
    assert parse_agreement(people.write_into(DRAFT)) == people.agreement
    assert people.agreement.model_copy(update={"rule": AGREED.rule, "learnt_from": None}) == AGREED
    made = generate_people(60, None, 4)
    for whose, linked, recorded in (
        ("A", False, "A"),
        ("south-register", False, "B"),
        ("B", True, "B linked"),
        ("north-register", True, "A linked"),
        ("public", False, "public"),
        ("both", False, "A and B"),
        ("A and B", True, "A and B linked"),
    ):
        found = learn(AGREED, made.a, other=made.b, learnt_from=whose, linked_table=linked)
        assert found.agreement.learnt_from == recorded


def test_a_rule_keeps_what_stands_beside_its_score() -> None:
    beside = parse_agreement(with_rule(DRAFT, str(AGREED.rule) + " and not missing(surname)"))
    assert str(learn(beside).rule).endswith("and not missing(surname)")


def test_fields_can_be_named_instead_of_a_score() -> None:
    plain = parse_agreement(with_rule(DRAFT, "same(birth)"))
    with pytest.raises(UsageError, match="no score"):
        learn(plain)
    found = learn(plain, compare=["given", "surname", "birth", "postcode"])
    assert len(found.levels) == 4
    assert parse_agreement(found.write_into(with_rule(DRAFT, "same(birth)"))) == found.agreement


def test_what_the_protocol_wants_of_another_rule_is_told() -> None:
    greedy = parse_agreement(
        with_rule(DRAFT, "same(birth)")
        .replace("greedy = false", "greedy = true")
        .replace('"given", "surname", "birth"]', '"given", "surname", "birth", "phone"]')
    )
    with pytest.raises(AgreementError, match=r"add email to disclose\.A"):
        learn(greedy, compare=["birth", "email"])


def test_the_threshold_is_for_the_linkage_that_is_named() -> None:
    small, large, careful, rare = (
        learn(AGREED, **asked).expected
        for asked in ({"records": 200}, {"records": 10**6}, {"precision": 0.999}, {"overlap": 0.01})
    )
    assert small.least < large.least
    assert large.interval is not None
    assert small.interval is not None
    assert large.interval[1] - large.interval[0] > small.interval[1] - small.interval[0]
    assert careful.precision >= 0.999
    assert small.least <= rare.least
    assert learn(AGREED, records=200, overlap=0.5).expected == small


def test_a_table_like_another_gives_the_same_bytes() -> None:
    """Other people, of whom the coarse weights say the same: nothing else tells which table it was."""
    made, another = generate_people(200, None, 4), generate_people(200, None, 9)
    renamed = made.a.set_column(0, "id", pa.array([f"x{i}" for i in range(200)]))
    first, second = (learn(AGREED, one, other=made.b, learnt_from="A") for one in (made.a, renamed))
    assert first.agreement.rule == second.agreement.rule
    assert first.write_into(DRAFT) == second.write_into(DRAFT)
    other = learn(AGREED, another.a, other=another.b, learnt_from="A")
    assert other.curve != first.curve
    moved = Learnt(first.agreement, other.levels, other.expected, other.curve, 3.0, 7, 5, ("note",))
    assert moved.write_into(DRAFT) == first.write_into(DRAFT)


def test_no_value_and_no_statistic_is_written() -> None:
    made = generate_people(200, None, 4)
    table = made.a
    found = learn(AGREED, table, other=made.b, learnt_from="A")
    text = found.write_into(DRAFT)
    start = text.index("# Learned by")
    new = text[start : text.index('\n"""', start) + 4]
    assert DRAFT.startswith(text[:start])
    assert DRAFT.endswith(text[start + len(new) :])
    rule = new[new.index('rule = """') :]
    # Every figure is a weight, the threshold or a bound that stood in the draft.
    known = {level.weight for each in found.levels for level in each} | {found.expected.least}
    weights = {int(number) for number in re.findall(r"(?:->|\) >=) (-?\d+)", rule)}
    assert weights <= known
    bounds = re.findall(r"[a-z)] >= ([\d.]+)", re.sub(r"\n\) >= .*", "", rule))
    assert set(bounds) <= set(re.findall(r">= ([\d.]+)", DRAFT))
    assert not re.search(r"\d", new[: new.index("rule =")].replace("(ε, δ)", "")), "no figure in the comments"

    def canaries(content: str) -> set[str]:
        cells = {str(cell) for name in table.column_names for cell in table[name].to_pylist() if cell}
        return {cell for cell in cells if len(cell) > 3 and cell in content}

    assert canaries(new) == set()
    assert canaries(table.to_pandas().to_csv()), "the search finds what is there"
    shares = {
        f"{share:.{digits}f}"
        for each in found.levels
        for level in each
        for share in (level.of_matches, level.of_others)
        if 0 < share < 1
        for digits in (3, 4)
    }
    assert not [share for share in shares if share in new]


BOTH = {"table": "a.csv", "other": "b.csv"}
BAD: list[tuple[dict[str, Any], str]] = [
    ({"table": 3}, "`table=` is a table"),
    (
        {**BOTH},
        "Say whose data it is, with `learnt_from=`: public, A .north-register., B .* or both",
    ),
    ({**BOTH, "learnt_from": "C"}, "Data cannot belong to 'C'"),
    (
        {**BOTH, "learnt_from": "nobody"},
        "Data cannot belong to 'nobody'; say .*: public, A .*or both",
    ),
    ({**BOTH, "learnt_from": 7}, "`learnt_from=` is a text"),
    ({"learnt_from": "A"}, "made-up people are used, who are nobody's"),
    ({**BOTH, "learnt_from": "public", "linked_table": True}, "Only a party's table can be linked"),
    ({**BOTH, "learnt_from": "A", "linked_table": "no"}, "`linked_table=` is True or False"),
    ({"learnt_from": "A", "other": "b.csv"}, "needs two tables"),
    ({"learnt_from": "A", "table": "a.csv"}, "needs two tables"),
    ({"made_up": 3}, "`made_up=` is two generated tables"),
    ({"made_up": generate_people(5, None, 0), **BOTH, "learnt_from": "A"}, "leave out one of both"),
    ({"labels": 3}, "`labels=` is a table"),
    ({"table": "a.csv", "learnt_from": "A", "labels": "t.csv"}, "needs two tables"),
    ({"learnt_from": "A", "other": "b.csv", "labels": "t.csv"}, "needs two tables"),
    ({"labels": "t.csv"}, "needs two tables"),
    ({"records": 0}, "`records=` is a whole number"),
    ({"records": 1.5}, "`records=` is a whole number"),
    ({"overlap": 0}, "`overlap=` is a share"),
    ({"overlap": "half"}, "`overlap=` is a share"),
    ({"precision": 1.1}, "`precision=` is a share"),
    ({"seed": "x"}, "`seed=` is a whole number"),
    ({"compare": ["gven"]}, "Did you mean 'given'"),
]


@pytest.mark.parametrize(("given", "problem"), BAD)
def test_what_is_asked_wrongly_is_named(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        learn(AGREED, **given)


def test_a_precision_that_nothing_reaches_is_told() -> None:
    plain = parse_agreement(with_rule(DRAFT, "same(birth)"))
    with pytest.raises(UsageError, match=r"No threshold is expected to have a precision of 0\.99; the most"):
        learn(plain, compare=["postcode"], precision=0.99)


def test_it_is_on_the_public_face() -> None:
    assert accord.learn is learn
    assert accord.Learnt is Learnt
