"""Words for people: numbers with what they count, as in 2 min 10 s, and the name that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_TIMES = ((86_400, "day", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s"))


def counted(number: int, one: str, many: str = "") -> str:
    """The number with its noun, in the singular where it is one."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def sized(octets: int) -> str:
    """So many bytes, in a unit that can be read."""
    found = next(((unit, name) for unit, name in _UNITS if octets >= unit), None)
    return counted(octets, "byte") if found is None else f"{octets / found[0]:,.1f} {found[1]}"


def lasting(seconds: float) -> str:
    """So long, in a unit or two that can be read."""
    for large, of_large, small, of_small in _TIMES:
        many, rest = divmod(round(seconds / small), large // small)
        if many:
            first = counted(many, of_large) if of_large == "day" else f"{many} {of_large}"
            return f"{first} {rest} {of_small}" if rest else first
    return f"{round(seconds, 2):.2g} s"


def tell_kept(matches: int, found: int | None) -> str:
    """How many pairs there are, and of how many that were found they are a one-to-one set."""
    return f"{matches:,}" if found is None else f"{matches:,} kept one to one of {found:,} found"


def tell_share(some: int, records: int) -> str:
    """How many of one's own records, and which share that is."""
    share = 100 * some / max(1, records)
    told = "under 0.01" if 0 < share < 0.01 else f"{share:.{1 if share >= 1 else 2}f}"
    return f"{some:,} of your {records:,} records ({told} %)"


def nearest(given: str, known: Iterable[str]) -> str | None:
    """The known name that is spelt most alike; None if none is, or if nothing is wrong with the given one."""
    names = list(known)
    close = [] if given in names else difflib.get_close_matches(given, names, 1)
    return close[0] if close else None


def did_you_mean(given: str, known: Iterable[str], otherwise: str = "") -> str:
    """The question that helps, or what is said otherwise."""
    close = nearest(given, known)
    return otherwise if close is None else f"Did you mean '{close}'?"
