"""Whose data a rule was learnt from, as an agreement records it and as people read it.

A learnt rule is a release of its own: its weights and its threshold follow from records, and the (ε, δ) of a
linkage does not cover what they tell of these. So the agreement says whose records they were, and whether
they are the very ones that are to be linked.
"""

from __future__ import annotations

from typing import Literal

from accord.protocols.base import LearntFrom
from accord.side import Side

Origin = Literal["nobody", "public", "A", "B", "A and B", "A linked", "B linked", "A and B linked"]
"""Nobody's records, but made-up ones; public ones; a party's or both parties', and whether they are in the
tables that are linked."""
LINKED: dict[Origin, Origin] = {"A": "A linked", "B": "B linked", "A and B": "A and B linked"}
"""The origins that are somebody's, and what each is called where it is linked."""


def learnt_about(origin: Origin | None, side: Side) -> LearntFrom:
    """Of which of a side's records the rule tells."""
    if origin is None or side.value not in origin.split():
        return "nothing"
    return "another table" if origin in LINKED else "this table"


def describe_origin(origin: Origin, names: dict[Side, str]) -> str:
    """Where the rule comes from, in words."""
    if origin == "nobody":
        return "learned from made-up records, which belong to nobody"
    if origin == "public":
        return "learned from public data"
    whose = [names[side] for side in Side if side.value in origin.split()]
    if len(whose) == 2:
        told = "that is, they say, not in the linked tables" if origin in LINKED else "that is linked"
        return f"learned from data of {' and '.join(whose)} {told}"
    if origin in LINKED:
        return f"learned from data of {whose[0]} that is, it says, not the linked table"
    return f"learned from the table of {whose[0]} that is linked"
