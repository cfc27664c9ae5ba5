"""The recurrence of edits: over plain bits it is the edit distance, and each bit is made once."""

from __future__ import annotations

from itertools import product

import pytest

from accord.secure.edits import Known, ends
from tests.rules.worlds import edits

LENGTH = 4
TEXTS = ["".join(letters) for n in range(LENGTH + 1) for letters in product("ab", repeat=n)]


def few_edits(x: str, y: str, bound: int) -> bool:
    """What an engine computes, in the clear."""
    a, b = x.ljust(LENGTH, "-"), y.ljust(LENGTH, "-")

    def make(i: int, d: int, before: str | None, others: tuple[str, ...]) -> str:
        # Texts stand for bits, so that no constant is taken for one.
        held = (before or "yes") == "yes" and (a[i - 1] == b[i + d - 1] or "yes" in others)
        return "yes" if held else "no"

    found = ends(LENGTH, bound, make, {})
    fits = {d: len(x if d > 0 else y) <= LENGTH - abs(d) for d in found}
    return any(fits[d] and end in (True, "yes") for d, end in found.items())


@pytest.mark.parametrize("bound", range(4))
def test_every_pair_of_short_texts(bound: int) -> None:
    for x, y in product(TEXTS, TEXTS):
        assert few_edits(x, y, bound) == (edits(x, y) <= bound), (x, y)


def made(length: int, bound: int, known: Known[str]) -> list[int]:
    """How many others each bit depends on, the equality included."""
    sizes = []

    def make(i: int, d: int, before: str | None, others: tuple[str, ...]) -> str:
        assert 1 <= i <= length
        assert 1 <= i + d <= length
        sizes.append(1 + (before is not None) + len(others))
        return f"{i} {d}"

    ends(length, bound, make, known)
    return sizes


def test_bits_grow_with_the_length_and_depend_on_five_others_at_most() -> None:
    assert len(made(12, 2, {})) - len(made(11, 2, {})) == 9
    assert len(made(24, 3, {})) - len(made(23, 3, {})) == 16
    assert max(made(24, 3, {})) == 5


def test_a_smaller_bound_is_a_part_of_a_larger_one() -> None:
    known: Known[str] = {}
    larger = len(made(12, 2, known))
    smaller = len(made(12, 1, known))
    assert (larger + smaller, smaller) == (len(known), 1)
