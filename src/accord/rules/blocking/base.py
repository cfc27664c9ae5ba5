"""Blocking: which pairs of records are compared at all, from a public, finite set of bins.

A blocking is an ordered union of passes, each a product of parts (`blocking/passes.py`): a pair of records is
compared if it meets in any of them. The bins of all passes are one list, pass after pass; equal keys in two
passes are two bins. Nothing here depends on anyone's data but the placement itself, so the bins can be listed
in the agreement and padded by both sides, empty ones included.

A record falls into at most k′ = Σ over passes of the bins that it has in each, so replacing it adds 1 to at
most k′ bins and takes 1 from at most k′ others, and the noise of all bins is calibrated once, for k′ [MATHS
§9.6]. A record without a value for a pass is in no bin of that pass and still in the others.

A pair that meets in two passes is compared twice: to leave the second comparison out where the first said no
would tell that two slots are one record. [HMFS17, §2.2.4; one-sided replication and passes are ours]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    StrictInt,
    StringConstraints,
    Tag,
    field_validator,
    model_serializer,
)

from accord.fields.columns import Columns, slice_of
from accord.fields.schema import Spec
from accord.ranges import mix
from accord.rules.blocking.grid import GridPart, GridSpec
from accord.rules.blocking.key import KeyPart, KeySpec
from accord.rules.blocking.passes import MOST_BINS as MOST_BINS
from accord.rules.blocking.passes import Pass, PassPart, Placed
from accord.rules.evaluate import Indices, Mask, Tables
from accord.rules.implied import ways
from accord.rules.rule import And, Rule, Score
from accord.rules.thresholds import Fields
from accord.side import Side

AnyPart = KeySpec | GridSpec
PartSpec = Annotated[AnyPart, Field(discriminator="kind")]
_AT_ONCE = 1 << 17
"""Records whose bins are looked for at a time."""
MOST_PER_RECORD = 64
"""Bins that one record may fall into: noise for more is out of all proportion, and takes minutes to find."""
MOST_CAP = 64
"""Records of one key that meet: what more of them share is no key for this."""
Cap = Annotated[StrictInt, Field(ge=1, le=MOST_CAP)]
PASS_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 ,.+_-]{0,63}$"


class Caps(Spec):
    """How many records of each side meet in one key."""

    A: Cap
    B: Cap


class PassSpec(Spec):
    """One pass: records that agree on all its parts meet in it."""

    name: Annotated[str, StringConstraints(pattern=PASS_PATTERN)] | None = None
    """What reports call it; "pass 1" and so on where none is given."""
    parts: tuple[PartSpec, ...]
    """Parts of a blocking, on all of which two records must agree to meet in this pass."""
    cap: Cap | Caps | None = None
    """With `routed`: how many records of a side with one key meet in this pass."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A cap only where there is one: agreements of before keep their digests."""
        return {name: value for name, value in write(self).items() if name != "cap" or value is not None}

    @property
    def caps(self) -> dict[Side, int] | None:
        """Of each side, where it is said."""
        if isinstance(self.cap, Caps):
            return {Side.A: self.cap.A, Side.B: self.cap.B}
        return None if self.cap is None else dict.fromkeys(Side, self.cap)

    @field_validator("parts")
    @classmethod
    def _some(cls, parts: tuple[AnyPart, ...]) -> tuple[AnyPart, ...]:
        if not parts:
            raise ValueError("a pass without parts compares all pairs; add a part, or remove the pass")
        return parts


class Passes(Spec):
    """A blocking of several passes."""

    model_config = ConfigDict(populate_by_name=True)

    passes: tuple[PassSpec, ...] = Field(alias="pass", min_length=1, max_length=64)
    """Two records are compared if they meet in one of these."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Under the name that it is read by, which is a word of Python."""
        return {"pass": next(iter(write(self).values()))}


BlockingSpec = Annotated[
    Annotated[tuple[PartSpec, ...], Tag("parts")] | Annotated[Passes, Tag("passes")],
    Discriminator(lambda value: "passes" if isinstance(value, dict | Passes) else "parts"),
]
"""A list of parts, which is one pass, or a table of passes."""


def passes_of(blocking: tuple[AnyPart, ...] | Passes) -> tuple[PassSpec, ...]:
    """The passes of a blocking however it is written; none where everything is compared."""
    if isinstance(blocking, Passes):
        return blocking.passes
    return (PassSpec(parts=blocking),) if blocking else ()


def pass_names(names: Sequence[str | None]) -> list[str]:
    """What each pass is called, of which some have no name of their own."""
    return [name or f"pass {number}" for number, name in enumerate(names, 1)]


@dataclass(frozen=True)
class Blocking:
    """The union of passes under the agreed fields."""

    passes: tuple[Pass, ...]

    @cached_property
    def bins(self) -> int:
        """The number of bins; a bin is a number below it. None are counted of passes that list none."""
        return sum(one.bins for one in self.passes)

    @cached_property
    def first_bins(self) -> tuple[int, ...]:
        """The first bin of each pass."""
        return tuple(accumulate((one.bins for one in self.passes[:-1]), initial=0))

    @property
    def equal(self) -> frozenset[str]:
        """Fields that need no comparison: every compared pair agrees on them, in whichever pass it meets.

        One circuit serves all passes: rounds mix their bins, and an engine that compiles once and batches
        over all of them saves more than a predicate in some of its bins.
        """
        return frozenset.intersection(*(one.equal for one in self.passes))

    def per_record(self, side: Side) -> int:
        """The most bins that one record of this side falls into: k′ of the paper, whose ΔB is 2k′."""
        return sum(one.per_record(side) for one in self.passes)

    def place(self, side: Side, columns: Columns, records: int) -> tuple[Indices, Indices]:
        """(record, bin) for each bin of each record, by ascending record."""
        # A record's bins depend on it alone, and what is computed on the way takes more than they do.
        found = list(self._place_some(side, columns, records))
        return np.concatenate([record for record, _ in found]), np.concatenate([bins for _, bins in found])

    def _place_some(self, side: Side, columns: Columns, records: int) -> Iterator[tuple[Indices, Indices]]:
        """The same, for some records after others."""
        for start in range(0, max(1, records), _AT_ONCE):
            stop = min(records, start + _AT_ONCE)
            some = {name: slice_of(column, start, stop) for name, column in columns.items()}
            record, bins = self._place(side, some, stop - start)
            yield record + start, bins

    def _place(self, side: Side, columns: Columns, records: int) -> tuple[Indices, Indices]:
        if len(self.passes) == 1:
            return self.passes[0].place(side, columns, records)
        placed = [one.place(side, columns, records) for one in self.passes]
        record = np.concatenate([found for found, _ in placed])
        bins = np.concatenate([b + first for (_, b), first in zip(placed, self.first_bins, strict=True)])
        order = np.argsort(record, kind="stable")
        return record[order], bins[order]

    def marks(self, side: Side, columns: Columns, records: int) -> tuple[Indices, Indices]:
        """What the bins of records follow from: (record, bin) as `place` has it, or, where some pass lists
        none, (record, a number that its key in a pass makes)."""
        if all(one.bins for one in self.passes):
            return self.place(side, columns, records)
        placed = [one.keys(side, columns, records) for one in self.passes]
        record = np.concatenate([found for found, _ in placed])
        marks = [mix(key, np.full(len(key), number, np.uint64)) for number, (_, key) in enumerate(placed)]
        order = np.argsort(record, kind="stable")
        return record[order], np.concatenate(marks)[order].view(np.int64)

    def place_both(self, columns: tuple[Columns, Columns], sizes: tuple[int, int]) -> Placed:
        """Where the records of A and of B are in all passes, and which bins meet."""
        placed = [one.place_both(columns, sizes) for one in self.passes]
        first = list(accumulate((one.bins for one in placed), initial=0))

        def joined(some: Iterator[tuple[Indices, Indices]]) -> tuple[Indices, Indices]:
            found = [(x, y + at) for (x, y), at in zip(some, first, strict=False)]
            return np.concatenate([x for x, _ in found]), np.concatenate([y for _, y in found])

        def by_record(found: tuple[Indices, Indices]) -> tuple[Indices, Indices]:
            order = np.argsort(found[0], kind="stable")
            return found[0][order], found[1][order]

        left, right = (
            np.concatenate([one.pairs[i] + at for one, at in zip(placed, first, strict=False)])
            for i in (0, 1)
        )
        a, b = by_record(joined(one.a for one in placed)), by_record(joined(one.b for one in placed))
        return Placed(a, b, first[-1], (left, right))

    def counts(self, side: Side, columns: Columns, records: int) -> NDArray[np.int64]:
        """The true number of records in every bin, empty ones included."""
        found = np.zeros(self.bins, np.int64)
        for _, bins in self._place_some(side, columns, records):
            found += np.bincount(bins, minlength=self.bins)
        return found

    def pairs(self) -> tuple[Indices, Indices]:
        """The pairs (bin of A, bin of B) that are compared, each once."""
        found = [one.pairs() for one in self.passes]
        left = [a + first for (a, _), first in zip(found, self.first_bins, strict=True)]
        right = [b + first for (_, b), first in zip(found, self.first_bins, strict=True)]
        return np.concatenate(left), np.concatenate(right)

    def compares(self, tables: Tables, left: Indices, right: Indices) -> Mask:
        """Whether some pass brings each pair of records together."""
        met = np.zeros(len(left), np.bool_)
        for one in self.passes:
            open_ = np.flatnonzero(~met)
            met[open_] = one.compares(tables, left[open_], right[open_])
        return met

    def losses(self, rule: Rule) -> list[str]:
        """Why matches of the rule may be missed; empty when the blocking is complete (recall 1).

        It is if each way to satisfy the rule is complete in some pass. Otherwise, for each way that is not,
        what every pass loses of it.
        """
        if len(self.passes) == 1:
            return self.passes[0].losses(rule)
        return [
            f"where {_called(way)}: {'; '.join(dict.fromkeys(self._told(way)))}"
            for way in ways(rule)
            if all(one.losses(way) for one in self.passes)
        ]

    def _told(self, way: Rule) -> Iterator[str]:
        for one in self.passes:
            yield f"in '{one.name}' {', and '.join(one.losses(way))}"


def _called(way: Rule) -> str:
    """A way to satisfy a rule, without the levels of its scores."""
    parts = way.parts if isinstance(way, And) else (way,)
    return " and ".join(f"the score is at least {p.least}" if isinstance(p, Score) else str(p) for p in parts)


def build_blocking(passes: Sequence[PassSpec], fields: Fields) -> Blocking:
    """The blocking that the agreement describes; its faults are judged by the `faults` of each spec."""
    if not passes:
        return Blocking((Pass("all pairs", ()),))
    names = pass_names([one.name for one in passes])
    return Blocking(
        tuple(
            Pass(name, tuple(_part(part, fields) for part in spec.parts), spec.caps)
            for name, spec in zip(names, passes, strict=True)
        )
    )


def _part(spec: AnyPart, fields: Fields) -> PassPart:
    return KeyPart(spec, fields) if isinstance(spec, KeySpec) else GridPart(spec, fields)
