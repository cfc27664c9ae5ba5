"""The levels of drafts tell names apart: those of organisations far better than plain edit distance does."""

from __future__ import annotations

from tests.drafting.name_pairs import organisations, persons


def test_names_of_organisations_are_told_apart() -> None:
    pairs = organisations()
    assert pairs.auc_of_draft("company") >= max(0.93, pairs.auc_of_edits() + 0.2)


def test_names_of_persons_are_told_apart() -> None:
    assert persons().auc_of_draft("given", "middle", "surname") >= 0.95
