"""Numbers and what they count, in words: 1 run, 2 runs."""

from __future__ import annotations

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def counted(number: int, one: str, many: str = "") -> str:
    """The number with its noun, in the singular where it is one."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def sized(octets: int) -> str:
    """So many bytes, in a unit that can be read."""
    found = next(((unit, name) for unit, name in _UNITS if octets >= unit), None)
    return f"{octets:,} bytes" if found is None else f"{octets / found[0]:,.1f} {found[1]}"


def tell_kept(matches: int, found: int | None) -> str:
    """How many pairs there are, and of how many that were found they are the best one-to-one set."""
    return f"{matches:,}" if found is None else f"{matches:,} kept one to one of {found:,} found"
