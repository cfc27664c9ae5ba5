"""Slips: each is what its name says, one a text, and none where none can happen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.datasets.people_typos import SLIPS, letters, texts

WORDS = st.lists(
    st.text("abcdefghijklmnopqrstuvwxyz0123456789 .@", min_size=0, max_size=9).map(str.strip), min_size=1
)


def distance(one: bytes, other: bytes) -> int:
    """Insertions, deletions and replacements from one text to the other."""
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, right in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (left != right))
    return row[-1]


@given(WORDS)
def test_matrices_and_texts_are_the_same(words: list[str]) -> None:
    made = np.array([word.encode() for word in words], "S12")
    assert (texts(letters(made)) == made).all()


@pytest.mark.parametrize("name", list(SLIPS))
@given(words=WORDS, seed=st.integers(0, 1000))
def test_one_slip_a_text(name: str, words: list[str], seed: int) -> None:
    before = np.array([word.encode() for word in words], "S12")
    after = SLIPS[name](np.random.default_rng(seed), before)
    assert after.dtype == before.dtype
    assert after.shape == before.shape
    for old, new in zip(before.tolist(), after.tolist(), strict=True):
        assert bool(new) == bool(old), "a text that is there stays there"
        assert distance(old, new) <= {"keyboard": 1, "inserted": 1, "deleted": 1}.get(name, 2)
        assert len(new) - len(old) in {
            "keyboard": (0,),
            "transposed": (0,),
            "inserted": (0, 1),
            "deleted": (-1, 0),
        }.get(name, (-1, 0, 1))


@pytest.mark.parametrize(
    ("name", "text", "possible"),
    [
        ("keyboard", "a1", {"q1", "s1", "z1", "a2"}),
        ("transposed", "anna", {"nana", "anan"}),
        ("inserted", "p", {"pp", "po"}),
        ("deleted", "ab c", {"b c", "a c", "ab "}),
        ("phonetic", "phu", {"fu"}),
        ("scanning", "rnt", {"mt", "rrit"}),
    ],
)
def test_what_may_become_of_a_text(name: str, text: str, possible: set[str]) -> None:
    many = np.array([text.encode()] * 500, "S9")
    found = SLIPS[name](np.random.default_rng(3), many)
    # Of four equally likely results one stays away from 500 texts with probability 4·0.75^500 < 1e-60.
    assert {one.decode() for one in found.tolist()} == possible


@pytest.mark.parametrize(
    ("name", "text"),
    [("keyboard", ". "), ("transposed", "aaa"), ("deleted", "a"), ("phonetic", "brr"), ("scanning", "kk")],
)
def test_no_slip_where_none_can_happen(name: str, text: str) -> None:
    before = np.array([text.encode(), b""], "S9")
    assert (SLIPS[name](np.random.default_rng(1), before) == before).all()


@pytest.mark.parametrize("name", list(SLIPS))
def test_a_full_column_is_not_cut(name: str) -> None:
    before = np.array([b"mmmm", b"fmff"] * 50, "S4")
    after = SLIPS[name](np.random.default_rng(1), before)
    assert all(distance(old, new) <= 2 for old, new in zip(before.tolist(), after.tolist(), strict=True))


@pytest.mark.parametrize("name", list(SLIPS))
def test_nothing_to_slip_on(name: str) -> None:
    assert len(SLIPS[name](np.random.default_rng(1), np.zeros(0, "S9"))) == 0
