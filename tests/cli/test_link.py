"""What `accord link` asks a person about a table that its series hardly knows again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accord.cli.link import _ask_of_ids
from accord.errors import DeclinedError, OtherIdsError
from tests.cli.test_account import type_in

NUMBERS = {"there": 10, "stayed": 1, "changed": 1, "gone": 8, "new": 12, "declared": 20}


def start(said: list[bool]) -> Callable[..., Any]:
    """A linkage that goes on if its owner says that the table is right; `said` has what it was told."""

    def run(mostly_new: bool) -> str:
        said.append(mostly_new)
        if not mostly_new:
            raise OtherIdsError(series="monthly", dataset="people", **NUMBERS)
        return "linked"

    return run


def test_a_person_is_asked_with_the_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[bool] = []
    type_in(monkeypatch, "y")
    linked: Any = _ask_of_ids(start(said), mostly_new=False, asking=True)
    assert linked == "linked"
    assert said == [False, True]
    told = " ".join(capsys.readouterr().err.split())
    assert "8 are gone, and 12 records are new" in told
    assert "say so: --accept mostly-new" in told
    assert "Is the table right as it is? [y/N]" in told


@pytest.mark.parametrize("answer", ["n", ""])
def test_any_other_answer_links_nothing(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    said: list[bool] = []
    type_in(monkeypatch, answer)
    with pytest.raises(DeclinedError):
        _ask_of_ids(start(said), mostly_new=False, asking=True)
    assert said == [False]


def test_nobody_at_the_keyboard_and_yes_to_what_is_spent_are_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[bool] = []
    with pytest.raises(OtherIdsError):
        _ask_of_ids(start(said), mostly_new=False, asking=True)
    type_in(monkeypatch, "y")
    with pytest.raises(OtherIdsError):
        _ask_of_ids(start(said), mostly_new=False, asking=False)
    assert said == [False, False]
    linked: Any = _ask_of_ids(start(said), mostly_new=True, asking=False)
    assert linked == "linked"
