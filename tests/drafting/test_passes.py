"""Passes: keys that find what was not found yet, and few strangers."""

from __future__ import annotations

import pytest

from accord.drafting import passes
from accord.drafting.answers import Answers, in_order, name_fields
from accord.drafting.draft import make_draft
from accord.drafting.kinds import read_kind
from accord.drafting.passes import keys_to_try
from accord.planning import plan

SALT = "0123456789abcdef"


def answers(typed: str, records: int) -> Answers:
    return Answers(in_order(name_fields([read_kind(one) for one in typed.split()])), (records, records))


def test_keys_are_tried_alone_and_together_but_none_with_itself() -> None:
    tried = keys_to_try(answers("given surname birth phone", 100))
    assert ("phone_key",) in tried
    assert ("given_sound", "surname_sound") in tried
    assert ("birth_year", "birth_day") in tried
    assert all(len(set(keys)) == len(keys) for keys in tried)
    assert ("title_start", "title_end") not in keys_to_try(answers("text:title year", 100))


@pytest.mark.slow
def test_of_one_pass_the_draft_says_what_a_second_would_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "_MOST_PASSES", 1)
    monkeypatch.setattr(passes, "_ENOUGH", 1.1)
    monkeypatch.setattr(plan._Planner, "_routed", lambda planner: None)
    found = make_draft(answers("phone email street", 20_000), SALT)
    assert len(found.agreement.passes) == 1
    assert 0 < found.met < 1
    assert found.more is not None
    assert found.more.met > found.met
    assert found.more.times > 1


@pytest.mark.slow
def test_large_tables_have_keys_that_few_share() -> None:
    """A year of birth is no key for a million people."""
    many = make_draft(answers("surname birth", 10**6), SALT).agreement
    assert ("birth_year",) not in [one.parts[0].names for one in many.passes]
