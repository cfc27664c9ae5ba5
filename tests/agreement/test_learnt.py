"""Whose data a rule was learnt from: recorded, under the digest, and told to whoever signs."""

from __future__ import annotations

import pytest

from accord.agreement.differences import diff
from accord.agreement.disclosure import advice, learned_about
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.agreement.learnt import learnt_about
from accord.datasets.starter import starter, starter_text
from accord.errors import AgreementError
from accord.side import Side

TEXT = starter_text("people", "00000000")
ORIGINS = ("nobody", "public", "A", "B", "A and B", "A linked", "B linked", "A and B linked")


def learnt(origin: str) -> Agreement:
    return parse_agreement(TEXT.replace("version = 2", f'version = 2\nlearnt_from = "{origin}"'))


def test_it_is_written_only_where_something_was_learnt_and_changes_the_digest() -> None:
    plain = starter("people")
    assert b"learnt_from" not in plain.canonical()
    assert "learnt_from" not in plain.to_toml()
    digests = {learnt(origin).digest for origin in ORIGINS}
    assert len(digests | {plain.digest}) == len(ORIGINS) + 1
    for origin in ORIGINS:
        assert parse_agreement(learnt(origin).to_toml()) == learnt(origin)
        assert diff(plain, learnt(origin)) == [f"learnt_from is only in theirs: '{origin}'."]
        assert learnt(origin).task.placement == plain.task.placement, "the noise of before stays good"


def test_another_origin_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        AgreementError, match=r"line 4, learnt_from: 'learnt_from' should be 'nobody', 'public'"
    ):
        learnt("C")


@pytest.mark.parametrize(
    ("origin", "of_a", "of_b"),
    [
        ("nobody", "nothing", "nothing"),
        ("public", "nothing", "nothing"),
        ("A", "another table", "nothing"),
        ("B", "nothing", "another table"),
        ("A linked", "this table", "nothing"),
        ("B linked", "nothing", "this table"),
        ("A and B", "another table", "another table"),
        ("A and B linked", "this table", "this table"),
    ],
)
def test_leakage_and_words_name_the_side_whose_data_it_was(origin: str, of_a: str, of_b: str) -> None:
    agreed = learnt(origin)
    for side, told in ((Side.A, of_a), (Side.B, of_b)):
        assert agreed.leakage(side).learnt_from == told
        lines = learned_about(agreed, side)
        found = [line for line in lines if "(ε, δ) does not cover it" in line]
        assert len(found) == (told != "nothing")
        assert lines[-1].startswith("nothing else")
        for line in found:
            assert f"{told} of {agreed.party(side)}" in line
    (note,) = [note for note in advice(agreed) if note.startswith("The rule was learned from")]
    assert (
        note
        == {
            "nobody": "The rule was learned from made-up records, which belong to nobody.",
            "public": "The rule was learned from public data.",
            "A": "The rule was learned from data of north-register that is, it says, not the linked table.",
            "B": "The rule was learned from data of south-register that is, it says, not the linked table.",
            "A linked": "The rule was learned from the table of north-register that is linked.",
            "B linked": "The rule was learned from the table of south-register that is linked.",
            "A and B": "The rule was learned from data of north-register and south-register that is, they "
            "say, not in the linked tables.",
            "A and B linked": "The rule was learned from data of north-register and south-register that is "
            "linked.",
        }[origin]
    )


def test_nothing_is_told_of_a_rule_that_was_not_learnt() -> None:
    agreed = starter("people")
    for side in Side:
        assert learnt_about(None, side) == agreed.leakage(side).learnt_from == "nothing"
        assert not any("learnt" in line for line in learned_about(agreed, side))
    assert not any("learnt" in note for note in advice(agreed))
