"""How bins are filled up with dummies, as a picture: for those who may know which slots are real."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.report.charts import Bar, columns
from accord.report.markup import Markup

Ints = NDArray[np.int64]

_MOST_COLUMNS = 120


def fill(title: str, says: str, real: Ints, dummies: Ints) -> Markup:
    """How bins are filled up, the largest first; many of them share a column."""
    order = np.argsort(-(real + dummies), kind="stable")
    groups = [group for group in np.array_split(order, min(_MOST_COLUMNS, len(order))) if len(group)]
    drawn, first = [], 1
    for group in groups:
        last = first + len(group) - 1
        name = f"{first:,}" if first == last else f"{first:,} to {last:,}"
        drawn.append(Bar(name, float(real[group].mean()), float(dummies[group].mean())))
        first = last + 1
    several = "" if len(groups) == len(order) else f", up to {len(groups[0])} in a column"
    return columns(title, says, drawn, ("records", "dummies"), f"bins by size{several}")
