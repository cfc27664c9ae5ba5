"""docs/compliance.md: what it names as proof is there, and no row is without proof or without an owner."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compliance.md").read_text()
MOST_WORDS = 1350


def rows(text: str) -> list[list[str]]:
    """The cells of all rows of all tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| asked")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def proofs(cell: str) -> list[str]:
    """Tests and pages that a cell names."""
    return [*re.findall(r"`(tests/[^`]+)`", cell), *re.findall(r"\]\(([^)#]+)[^)]*\)", cell)]


def test_both_texts_have_their_table() -> None:
    assert len(rows(PAGE)) >= 25
    assert all(len(cells) == 4 for cells in rows(PAGE))


def test_every_file_that_is_named_exists() -> None:
    tests = re.findall(r"`(tests/[^`]+)`", PAGE)
    assert len(tests) >= 20
    assert [name for name in tests if not (ROOT / name).is_file()] == []
    assert all("def test_" in (ROOT / name).read_text() for name in tests)


def test_every_row_has_a_proof_or_is_the_organisations() -> None:
    for asked, _, shown, rest in rows(PAGE):
        assert proofs(shown) or "the organisation" in rest, asked


def test_a_row_without_either_would_be_found() -> None:
    ((_, _, shown, rest),) = rows("| a | b | – | nothing |")
    assert not proofs(shown)
    assert "the organisation" not in rest


def test_it_stays_short() -> None:
    assert len(PAGE.split()) < MOST_WORDS
