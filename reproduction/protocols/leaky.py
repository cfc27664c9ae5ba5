"""Protocols that leak, each in its own way: for simulation and audit alone, so that both can show it.

    blocking           bins as they are [HMFS17, §2.2.4]: every count is exact
    laplace-suppress   LP-2 [HMFS17, §4.2.3]: noise of mean 0; below 0 records are left out. Dummies hide a
                       record, leaving out does not: `noise_suppress.py` [MATHS §6]

Both run like the Laplace Protocol but for their slots. No agreement may name them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from accord.entropy import Entropy, arrangement
from accord.fields.columns import Records
from accord.fields.schema import Exact
from accord.protocols.base import Guarantee, Ints, Options, Release, Task
from accord.protocols.binned import OF_MATCHES, Sorted, tell_bins
from accord.protocols.linkage import link_bins
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.slots import Slots, shuffle_slots
from accord.rules.blocking.base import Blocking
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side
from reproduction.protocols import noise_suppress


class PlainBlocking(Sorted):
    """Bins as they are: every count is exact. Leaky; for simulation only."""

    padded: ClassVar[bool] = True
    leaky: ClassVar[str] = (
        "LEAKY: the partner sees exactly how many records fall into each bin, so it can tell whether "
        "a record that matches nothing is there."
    )

    name: Literal["blocking"]

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        return {"name": "blocking"}

    def release(
        self, task: Task, side: Side, records: int, noise: str | None = None, claimed: bool = False
    ) -> Release:
        return Release(task, side, None)

    def party(self, task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
        return link_bins(task, self, mine, engine)

    def guarantee(self, task: Task, side: Side) -> Guarantee:
        return Guarantee(
            "the true bin of each record", None, None, (f"exactly {_tell_counts(task)};",), OF_MATCHES
        )


@dataclass(frozen=True)
class SuppressedCounts(Release):
    """How many records fall into each bin, with dummies added or records left out."""

    epsilon: Fraction = Fraction(0)

    def draw(self, records: Records, entropy: Entropy) -> Ints:
        """How many dummies each bin gets, or below 0 how many records it loses."""
        blocking = self.task.blocking
        return noise_suppress.draw(self.epsilon, blocking.per_record(self.side), blocking.bins, entropy)


class Suppress(Sorted):
    """LP-2 [HMFS17, §4.2.3]: noise of mean 0; below 0 it suppresses records. Leaky; for simulation only."""

    leaky: ClassVar[str] = (
        "LEAKY: records are suppressed at random, so how many matches are missing from a bin tells "
        "how many records without a match it holds; no (ε, δ) follows from the noise."
    )
    promises: ClassVar[tuple[str, ...]] = ("epsilon",)
    options: ClassVar[tuple[str, ...]] = ("epsilon", "prune")

    name: Literal["laplace-suppress"]
    greedy: Literal[False] = False
    """A suppressed record is out of the run: no other may bring it back."""
    epsilon: Exact = Field(gt=0, le=64)

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        return {"name": "laplace-suppress", "epsilon": epsilon}

    def release(
        self, task: Task, side: Side, records: int, noise: str | None = None, claimed: bool = False
    ) -> Release:
        return SuppressedCounts(task, side, None, None, self.epsilon)

    def counts(self, task: Task, side: Side, records: Records, noise: Ints) -> Ints:
        return np.maximum(super().counts(task, side, records, noise), np.maximum(noise, 0))

    def make_slots(self, task: Task, side: Side, records: Records, noise: Ints, entropy: Entropy) -> Slots:
        return suppress_slots(task.blocking, side, records, noise, entropy)

    def party(self, task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
        return link_bins(task, self, mine, engine)

    def guarantee(self, task: Task, side: Side) -> Guarantee:
        told = f"{_tell_counts(task)}, with dummies added or records left out;"
        return Guarantee("how full the bins are, records left out", None, None, (told,), OF_MATCHES)


def _tell_counts(task: Task) -> str:
    return f"how many records fall into each of {tell_bins(task)}"


def suppress_slots(blocking: Blocking, side: Side, records: Records, noise: Ints, entropy: Entropy) -> Slots:
    """Place, pad or suppress, and shuffle. *Distribution*: each bin loses a uniform choice of its records."""
    record, bins = blocking.place(side, records.columns, len(records))
    order = arrangement(entropy.stream("suppressed"), bins)
    record, bins = record[order], bins[order]
    counts = np.bincount(bins, minlength=blocking.bins)
    rank = np.arange(len(bins)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = rank < (counts + np.minimum(noise, 0))[bins]
    padding = np.repeat(np.arange(blocking.bins), np.maximum(noise, 0))
    record = np.concatenate([record[kept], np.full(len(padding), -1, np.int64)])
    return shuffle_slots(record, np.concatenate([bins[kept], padding]), blocking.bins, records, entropy)
