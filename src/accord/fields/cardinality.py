"""How many different values a field has: a class that both parties agree on, and never a count.

Synthetic records draw as many values as the class says. So weights, keys, caps and expected coverage follow
from it. The owner of a table confirms the class that the table suggests. `check` compares the class with each
party's own table: a field of seven values that is declared unique looks like a perfect key, and is none.
"""

from __future__ import annotations

from math import inf
from typing import Literal, get_args

Cardinality = Literal["few", "hundreds", "thousands", "unique"]
CLASSES: tuple[Cardinality, ...] = get_args(Cardinality)
MEANINGS = {
    "few": "about 5 different values",
    "hundreds": "hundreds of different values",
    "thousands": "thousands of different values",
    "unique": "nearly as many different values as records",
}
_MOST = {"few": 30, "hundreds": 1_000}
"""Different values up to which a field has the class."""
_USUAL: dict[Cardinality, int] = {"few": 6, "hundreds": 150, "thousands": 3_000}
"""Different values of synthetic records."""
_UNIQUE = 0.5
"""The least share of different values in a field that is unique."""
_SLACK = 3
"""A table contradicts a class if it is wrong by more than this factor."""
_FEWEST = 100
"""Values that can contradict a class."""
FILLED_SHARE = 0.35
"""Filled cells of synthetic records in a field that is often empty."""
_OFTEN_EMPTY = 0.6
"""A field with a smaller share of filled cells is often empty."""


def classify(distinct: int, filled: int, copies: int = 1) -> Cardinality:
    """The class of a column with so many different values among its filled cells, where a person or thing has
    up to so many records."""
    if distinct >= _UNIQUE * _entities(filled, copies):
        return "unique"
    if distinct <= _MOST["few"]:
        return "few"
    return "hundreds" if distinct <= _MOST["hundreds"] else "thousands"


def _entities(filled: int, copies: int) -> float:
    """How many have so many cells, if each has one to so many."""
    return 2 * filled / (1 + copies)


def contradicts(declared: Cardinality, distinct: int, filled: int, copies: int = 1) -> bool:
    """Whether a column has far fewer or far more values than declared. Short columns contradict nothing."""
    if filled < _FEWEST:
        return False
    most = {**_MOST, "thousands": filled, "unique": filled}[declared]
    least = {"few": 1, "hundreds": _MOST["few"], "thousands": _MOST["hundreds"], "unique": inf}
    return distinct > _SLACK * most or _SLACK * distinct < min(
        least[declared], _UNIQUE * _entities(filled, copies)
    )


def is_often_empty(filled_share: float) -> bool:
    """Whether keys of such a field leave many records without one."""
    return filled_share < _OFTEN_EMPTY


def count_values(declared: Cardinality, records: int) -> int:
    """Different values of a field in synthetic tables of so many records."""
    return min(_USUAL.get(declared, records), max(1, records))


def is_coarser(one: Cardinality, other: Cardinality) -> bool:
    """Whether a class has fewer values than another."""
    return CLASSES.index(one) < CLASSES.index(other)
