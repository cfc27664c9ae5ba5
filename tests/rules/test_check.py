"""What is wrong with a rule for the agreed fields."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from accord.fields.schema import FieldSpec
from accord.rules.check import rule_faults
from accord.rules.text import RuleSyntaxError, parse_rule
from tests.rules import worlds


def faults(text: str) -> list[str]:
    return rule_faults(parse_rule(text), worlds.FIELDS)


def test_a_sound_score_has_no_fault() -> None:
    assert not faults("score(name: dice >= 1 -> 5, dice >= 0.8 -> 3, missing -> 0, otherwise -> -4) >= 3")


@pytest.mark.parametrize(
    "levels",
    [
        "name: dice >= 0.8 -> 3, dice >= 0.9 -> 5",
        "name: hamming <= 5 -> 3, hamming <= 5 -> 1",
        "birth: within 3 days -> 4, within 1 day -> 5",
        "birth: within 3 days -> 4, same -> 5",
        "x: within 3 -> 4, missing -> 0, within 2 and same(hour) -> 5",
        "euclidean(x, y) <= 3 -> 4, euclidean(x, y) <= 2 -> 5",
        "tag: edit <= 2 -> 3, edit <= 1 -> 5",
        "tag: edit <= 1 -> 3, same -> 5",
        "tag: mismatches <= 1 -> 3, same -> 5",
        "tag, label: edit <= 2 -> 3, mismatches <= 2 -> 5",
    ],
)
def test_a_level_behind_a_looser_one(levels: str) -> None:
    [fault] = faults(f"score({levels}, otherwise -> -1) >= 2")
    assert "in comparison 1 of the score can never count" in fault
    assert "write the stricter level first" in fault


@pytest.mark.parametrize(
    "levels",
    [
        "tag: mismatches <= 2 -> 3, edit <= 2 -> 5",
        "tag: mismatches <= 1 -> 3, mismatches <= 2 -> 5",
        "tag: edit <= 1 -> 3, mismatches <= 2 -> 5",
        "tag: edit <= 1 -> 3, edit(tag, label) <= 1 -> 5",
    ],
)
def test_a_level_behind_one_that_is_not_looser(levels: str) -> None:
    assert not faults(f"score({levels}, otherwise -> -1) >= 2")


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("edit(name) <= 2", 'edit() needs a text field with encoder = { kind = "letters", length = 12 }'),
        ("mismatches(hour) <= 2", "mismatches() needs a text field"),
        ("edit(tag) <= 4", "edit() takes a threshold of at most 3"),
        ("edit(tag) <= 5", "edit() takes a threshold of at most 3"),
        ("mismatches(tag) <= 5", "from 0 to 4, below the length of the field"),
        ("edit(tag, code) <= 1", "write the same encoder"),
        ("dice(tag) >= 0.8", "dice() needs a text field with"),
        ("hamming(tag) <= 1", "hamming() needs a text field with"),
    ],
)
def test_letters_are_counted_on_letters(rule: str, problem: str) -> None:
    [fault] = faults(rule)
    assert problem in fault
    assert not faults("edit(tag) <= 3 and mismatches(label, tag) <= 4 and same(tag, label)")


def test_thresholds_that_decide_nothing() -> None:
    score = "score(hour: same -> 4, otherwise -> -2; birth: same -> 6, missing -> 0, otherwise -> -3)"
    assert not faults(f"{score} >= 10")
    assert not faults(f"{score} >= -4")
    [high], [low] = faults(f"{score} >= 11"), faults(f"same(hour) and {score} >= -5")
    assert "no pair can reach a score of 11: the largest weights add up to 10" in high
    assert "every pair reaches a score of -5: the smallest weights add up to -5" in low


def test_equal_weights_and_faults_of_predicates() -> None:
    found = faults("score(name: same -> 2, otherwise -> 2; hour: missing -> 1, same -> 2) >= 3")
    assert len(found) == 3
    assert "write dice(name) >= 1" in found[0]
    assert "an empty hour is an error" in found[1]
    assert "weigh the same" in found[2]


def test_scores_and_edits_that_are_made_to_be_expensive() -> None:
    levels = ", ".join(f"hamming <= {i % 20} and same(hour) -> {i}" for i in range(33))
    with pytest.raises(RuleSyntaxError, match="a comparison has at most 32 levels"):
        parse_rule(f"score(name: {levels}) >= 1")
    long = {"type": "text", "encoder": {"kind": "letters", "length": 24}}
    fields = TypeAdapter(dict[str, FieldSpec]).validate_python({f"f{i}": long for i in range(13)})
    every = [f"edit(f{i}) <= 3 or edit(f{i}) <= 1" for i in range(13)]
    assert not rule_faults(parse_rule(" or ".join(every[:12])), fields)
    [fault] = rule_faults(parse_rule(" or ".join(every)), fields)
    assert "edit() compares 2,184 pairs of letters, but at most 2,048 are allowed" in fault
