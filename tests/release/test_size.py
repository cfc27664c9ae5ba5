"""Rooms are measured by their code, and neither growth nor a loose limit goes unseen."""

from __future__ import annotations

import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from release.size import HEAD, faults, sizes, tokens, with_limits

_MODULE = '''"""Theory."""

from __future__ import annotations

import math
from os import (
    path,
)


def root(x: float) -> float:
    """Meaning."""
    # A remark.
    return math.sqrt(x)
'''


def test_comments_docstrings_imports_and_line_breaks_are_no_code() -> None:
    bare = "def root(x: float) -> float: return math.sqrt(x)"
    spread = "def root(\n x: float\n) -> float:\n return math.sqrt(x)"
    assert tokens(_MODULE) == tokens(bare) == tokens(spread)
    assert tokens(f"{bare}\nx = 'text'") == tokens(bare) + 3


def test_rooms_of_the_package_other_folders_and_data_are_told_apart(tmp_path: Path) -> None:
    for name, text in {
        "src/accord/kernel.py": "a = 1\n",
        "src/accord/rules/rule.py": "a = b = 1\n",
        "src/accord/rules/deep/word.py": "a\n",
        "src/accord/datasets/people.toml": "[fields]\na = 1\n",
        "src/accord/datasets/cache.nbc": "no text \udcff",
        "tests/test_kernel.py": "assert a\n",
        "tests/transcripts.json": "{\n}\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, errors="surrogateescape")
    assert sizes(tmp_path) == {
        "accord": 3,
        "rules": 6,
        "src/accord": 9,
        "tests": 2,
        "lines of src/accord": 2,
        "lines of tests": 2,
    }


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_limit_is_neither_below_the_size_nor_far_above(size: int, limit: int) -> None:
    assert bool(faults({"rules": size}, {"rules": limit})) == (not size <= limit <= size + limit // 50)


def test_every_room_has_a_limit_and_every_limit_a_room() -> None:
    assert len(faults({"rules": 1}, {"fields": 1})) == 2


def test_the_limits_are_replaced_and_nothing_else() -> None:
    project = f'[tool.ruff]\nline-length = 110\n\n# Why.\n{HEAD}\n"rules" = 9\n'
    changed = with_limits(project, {"rules": 3, "src/accord": 3})
    assert tomllib.loads(changed)["tool"] == {
        "ruff": {"line-length": 110},
        "accord": {"size": {"rules": 3, "src/accord": 3}},
    }
    assert changed.startswith(project[: project.index(HEAD)])
