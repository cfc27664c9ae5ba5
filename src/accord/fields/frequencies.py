"""Public lists of values and how often each occurs, and the classes that a field makes of one.

Agreement on a rare name says more than on a common one. How rare a value is comes from a list that both
parties have and that the agreement names by its digest; never from a table, of which it would tell something.
Each side looks up its own values and nobody else's.

The digest is that of the content, however the list is written:

    SHA-256( "accord frequencies 1\n", then for each value in the order of code points: value \t count \n )

where the rest, if there is one, has the empty value. The share of a value is its count by the sum of all
counts. A field cleans the list as it cleans cells, and counts of values that become the same add up.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.fields.cleaning import clean
from accord.fields.schema import FrequencyField

_TAG = b"accord frequencies 1\n"


@dataclass(frozen=True)
class Frequencies:
    """Folded values, each once, and how often each occurs."""

    values: pa.Array
    counts: NDArray[np.int64]
    rest: int = 0
    """How many have a value that is not listed."""

    @property
    def total(self) -> int:
        return int(self.counts.sum()) + self.rest

    @cached_property
    def digest(self) -> str:
        """What an agreement names the list by."""
        rows = sorted(zip(self.values.to_pylist(), self.counts.tolist(), strict=True))
        rest = [("", self.rest)] if self.rest else []
        body = "".join(f"{value}\t{count}\n" for value, count in rest + rows)
        return f"sha256:{hashlib.sha256(_TAG + body.encode()).hexdigest()}"


@dataclass(frozen=True)
class Classes:
    """The classes of the values of a list, under one field: 0 for common ones and `rarest` for the rarest
    and for all that are not listed."""

    values: pa.Array
    classes: NDArray[np.int64]
    rarest: int

    def of(self, texts: pa.Array) -> pa.Array:
        """The class of each cleaned text; null where there is no text."""
        places = np.asarray(pc.fill_null(pc.index_in(texts, value_set=self.values), -1))
        # The place −1 of what is not listed is the last.
        found = np.append(self.classes, self.rarest)[places]
        return pa.array(found, pa.int64(), mask=np.asarray(pc.is_null(texts)))

    def listed(self, texts: pa.Array) -> int:
        """How many of the texts the list has."""
        return int(pc.sum(pc.is_in(texts.drop_null(), value_set=self.values)).as_py() or 0)

    def sizes(self) -> list[int]:
        """How many listed values each class has."""
        return np.bincount(self.classes, minlength=self.rarest + 1).tolist()


def classes_of(spec: FrequencyField, of: Frequencies) -> Classes:
    """The classes of a list under a field; exact: a share is below s where the count is below ⌈s·total⌉."""
    cleaned = clean(of.values, spec.clean)
    table = pa.table({"value": cleaned, "count": of.counts}).filter(pc.is_valid(cleaned))
    summed = table.group_by("value").aggregate([("count", "sum")])
    counts, bounds = np.asarray(summed["count_sum"]), [ceil(share * of.total) for share in spec.shares]
    classes = sum((counts < bound).astype(np.int64) for bound in bounds)
    values = summed["value"].combine_chunks().cast(pa.large_string())
    return Classes(values, np.asarray(classes, np.int64), spec.high)
