"""A draft from what was confirmed: the same file as the command line writes, and what it finds and costs."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import accord
from accord.errors import OutputError, UsageError
from tests.preparing.worlds import drafted, shop


def test_what_drafts_takes_what_was_confirmed_and_nothing_else() -> None:
    (argument,) = inspect.signature(accord.draft).parameters.values()
    assert argument.annotation == "Confirmation"
    for table in (shop(), "shop.csv", accord.propose(shop())):
        with pytest.raises(UsageError, match="`answers=` is a Confirmation"):
            accord.draft(table)  # type: ignore[arg-type]


def test_a_draft_is_written_and_read_again(tmp_path: Path) -> None:
    path = drafted().write(tmp_path)
    assert path == tmp_path / "agreement.toml"
    assert accord.read_agreement(path) == drafted().agreement
    with pytest.raises(OutputError):
        drafted().write(tmp_path)
    drafted().write(tmp_path, force=True)


def test_what_it_will_find_and_cost() -> None:
    draft = drafted()
    assert 0 < draft.recall <= 1
    assert "Records are compared by: all pairs, ε = 0, δ = 0." in str(draft)
    assert f"{draft.recall:.1%}" in repr(draft)
    page = draft._repr_html_()
    assert "<iframe sandbox srcdoc=" in page
    assert "What it will find" in page
