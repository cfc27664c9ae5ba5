"""The name that was probably meant: for a typing error, and never the name that was given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(given: str, known: Iterable[str]) -> str | None:
    """The known name that is spelt most alike; None if none is, or if nothing is wrong with the spelling."""
    names = list(known)
    close = [] if given in names else difflib.get_close_matches(given, names, 1)
    return close[0] if close else None


def did_you_mean(given: str, known: Iterable[str], otherwise: str = "") -> str:
    """The question that helps, or what is said otherwise."""
    close = nearest(given, known)
    return otherwise if close is None else f"Did you mean '{close}'?"
