"""Numbers and what they count, in words: 1 run, 2 runs."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """The number with its noun, in the singular where it is one."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
