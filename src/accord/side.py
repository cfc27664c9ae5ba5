"""The two parties of a linkage, as every layer names them."""

from __future__ import annotations

from enum import Enum


class Side(Enum):
    """The two parties, named in the agreement."""

    A = "A"
    B = "B"

    @property
    def other(self) -> Side:
        return Side.B if self is Side.A else Side.A
