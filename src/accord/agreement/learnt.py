"""Whose data a rule was learnt from, as an agreement records it and as people read it.

A learnt rule is a release of its own: its weights and its threshold follow from records, and the (ε, δ) of a
linkage does not cover what they tell of these. So the agreement says whose records they were, and whether
they are the very ones that are to be linked.
"""

from __future__ import annotations

from typing import Literal

from accord.protocols.base import LearntFrom
from accord.side import Side

Origin = Literal["nobody", "public", "A", "B", "A linked", "B linked"]
"""Nobody's records, but made-up ones; public ones; a party's, and whether they are in the table that is
linked."""


def learnt_about(origin: Origin | None, side: Side) -> LearntFrom:
    """Of which of a side's records the rule tells."""
    if origin == side.value:
        return "another table"
    return "this table" if origin == f"{side.value} linked" else "nothing"


def describe_origin(origin: Origin, names: dict[Side, str]) -> str:
    """Where the rule comes from, in words."""
    if origin == "nobody":
        return "learned from made-up records, which belong to nobody"
    if origin == "public":
        return "learned from public data"
    name = names[Side(origin[0])]
    if origin in ("A", "B"):
        return f"learned from data of {name} that is, it says, not the linked table"
    return f"learned from the table of {name} that is linked"
