"""`learn` is better than a draft, on people whom it never saw, and writes nothing but a rule."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

import accord
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.generated import Generated
from accord.errors import AgreementError, UsageError
from accord.learning import evidence
from accord.learning.learn import Learnt, learn
from accord.simulation.pair import simulate
from accord.simulation.truth import score
from tests.learning.worlds import ALL_PAIRS, DRAFT, ROUTED, with_rule
from tests.prepared import learned, people, true_pairs

AGREED = parse_agreement(DRAFT)
SLOW = pytest.mark.slow


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_PAIRS", 90_000)
    monkeypatch.setattr(evidence, "_MADE_UP", 300)


def f1(agreement: Agreement) -> float:
    """On people of whom nothing was learned."""
    made = people(400, seed=77)
    found = score(simulate(made.a, made.b, agreement, seed=1).found.ids(), true_pairs(made)).truth_f1
    assert found is not None
    return found


def both(made: Generated, **others: Any) -> dict[str, Any]:
    return {"table": made.a, "other": made.b, "learnt_from": "both", **others}


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
    assert isinstance(found, accord.Learnt)
    assert f1(found.agreement) > f1(AGREED)
    few = people(12, seed=3)
    with pytest.raises(UsageError):
        learn(AGREED, **both(few))


def test_other_made_up_tables_may_be_given() -> None:
    made = people(200, seed=11)
    given = learn(AGREED, made_up=made)
    assert given.agreement.learnt_from == "nobody"
    assert given.matches == made.truth.num_rows != learned(DRAFT).matches


@pytest.mark.parametrize(
    ("whose", "linked", "recorded"),
    [
        ("south-register", False, "B"),
        ("north-register", True, "A linked"),
        ("public", False, "public"),
        ("both", False, "A and B"),
        ("A and B", True, "A and B linked"),
    ],
)
def test_an_agreement_says_whose_data_it_was_learned_from(whose: str, linked: bool, recorded: str) -> None:
    made = people(60, seed=4)
    found = learn(AGREED, **both(made, learnt_from=whose), linked_table=linked, compare=["birth", "given"])
    assert found.agreement.learnt_from == recorded


def test_a_rule_keeps_what_stands_beside_its_score() -> None:
    beside = parse_agreement(with_rule(DRAFT, str(AGREED.rule) + " and not missing(surname)"))
    assert str(learn(beside).rule).endswith("and not missing(surname)")


def test_fields_can_be_named_instead_of_a_score() -> None:
    text = with_rule(DRAFT, "same(birth)")
    with pytest.raises(UsageError):
        learn(parse_agreement(text))
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
    small, large, careful, rare = (
        learned(DRAFT, **asked).expected
        for asked in ({"records": 200}, {"records": 10**6}, {"precision": 0.999}, {"overlap": 0.01})
    )
    assert small.least < large.least
    assert large.interval is not None
    assert small.interval is not None
    assert large.interval[1] - large.interval[0] > small.interval[1] - small.interval[0]
    assert careful.precision >= 0.999
    assert small.least <= rare.least


def test_a_table_like_another_gives_the_same_bytes() -> None:
    """Nothing but coarse weights tells which table it was: no statistic of another one is written."""
    made = people(200, seed=4)
    renamed = made.a.set_column(0, "id", pa.array([f"x{i}" for i in range(200)]))
    first, second = (learn(AGREED, one, other=made.b, learnt_from="A") for one in (made.a, renamed))
    assert first.agreement.rule == second.agreement.rule
    assert first.write_into(DRAFT) == second.write_into(DRAFT)
    other = learned(DRAFT, "looks")
    assert other.curve != first.curve
    moved = Learnt(first.agreement, other.levels, other.expected, other.curve, 3.0, 7, 5, ("note",))
    assert moved.write_into(DRAFT) == first.write_into(DRAFT)


def test_no_value_and_no_statistic_is_written() -> None:
    table, found = people(300, seed=3).a, learned(DRAFT, "looks")
    text = found.write_into(DRAFT)
    start = text.index("# Learned by")
    new = text[start : text.index('\n"""', start) + 4]
    assert DRAFT.startswith(text[:start])
    assert DRAFT.endswith(text[start + len(new) :])
    rule = new[new.index('rule = """') :]
    # Every figure is a weight, the threshold or a bound that stood in the draft.
    known = {level.weight for each in found.levels for level in each} | {found.expected.least}
    assert {int(number) for number in re.findall(r"(?:->|\) >=) (-?\d+)", rule)} <= known
    bounds = re.findall(r"[a-z)] >= ([\d.]+)", re.sub(r"\n\) >= .*", "", rule))
    assert set(bounds) <= set(re.findall(r">= ([\d.]+)", DRAFT))
    assert not re.search(r"\d", new[: new.index("rule =")].replace("(ε, δ)", "")), "no figure in the comments"

    def canaries(content: str) -> set[str]:
        cells = {str(cell) for name in table.column_names for cell in table[name].to_pylist() if cell}
        return {cell for cell in cells if len(cell) > 3 and cell in content}

    assert canaries(new) == set()
    assert canaries(str(table.to_pydict())), "the search finds what is there"
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


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"table": 3}, "`table="),
        (BOTH, "`learnt_from="),
        ({**BOTH, "learnt_from": "C"}, "'C'"),
        ({**BOTH, "learnt_from": "nobody"}, "'nobody'"),
        ({**BOTH, "learnt_from": 7}, "`learnt_from="),
        ({"learnt_from": "A"}, ""),
        ({**BOTH, "learnt_from": "public", "linked_table": True}, "`linked_table="),
        ({**BOTH, "learnt_from": "A", "linked_table": "no"}, "`linked_table="),
        ({"learnt_from": "A", "other": "b.csv"}, "`other="),
        ({"learnt_from": "A", "table": "a.csv"}, "`other="),
        ({"made_up": 3}, "`made_up="),
        ({"made_up": Generated(*[pa.table({})] * 3), **BOTH, "learnt_from": "A"}, ""),
        ({"labels": 3}, "`labels="),
        ({"table": "a.csv", "learnt_from": "A", "labels": "t.csv"}, "`other="),
        ({"learnt_from": "A", "other": "b.csv", "labels": "t.csv"}, "`other="),
        ({"labels": "t.csv"}, "`other="),
        *(({"records": wrong}, "`records=") for wrong in (0, 1.5)),
        *(({"overlap": wrong}, "`overlap=") for wrong in (0, "half")),
        ({"precision": 1.1}, "`precision="),
        ({"seed": "x"}, "`seed="),
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
    draft, made = parse_agreement(text), people(400, seed=3)
    found = learn(draft, **both(made, labels=true_pairs(made)), passes=True, records=400)
    agreed = found.agreement
    written = found.write_into(text)
    assert agreed.protocol.name == "routed"
    assert parse_agreement(written) == agreed
    assert parse_agreement(found.write_into(written)) == agreed
    assert agreed.fields.items() >= draft.fields.items()
    assert {*agreed.blocking_fields} <= {*agreed.fields}
    assert found.met is not None
    assert found.matches is not None
    assert found.met > 0.98 * found.matches
    assert f1(agreed) > 0.95
    assert abs(f1(agreed) - found.expected.f1) < 0.04


@pytest.mark.parametrize("way", ["looks", pytest.param("made up", marks=SLOW)])
def test_passes_are_chosen_without_labels(way: str) -> None:
    found = learned(DRAFT, way, passes=True)
    assert found.agreement.protocol.name == "routed"
    assert found.expected.f1 > 0.9


def test_passes_need_a_key() -> None:
    apart = pa.table({"id_a": [f"A{n}" for n in range(30)], "id_b": [f"B{n}" for n in range(30)]})
    with pytest.raises(UsageError):
        learn(AGREED, **both(people(60, 0.01, 3), labels=apart), compare=["sex"], passes=True)
