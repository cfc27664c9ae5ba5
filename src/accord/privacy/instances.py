"""Two instances of output-constrained differential privacy: a linkage, and answers in which nobody is shown.

*Linkage.* f is the size, the matches and the matching records [MATHS §1.1]; so neighbours differ in one
record that matches nothing. The partner's view follows from f and the noisy count of every bin [MATHS §2.1]:
this is what `BinCounts` shows, with the very table that production noise is sampled from.

*Answers.* f is the size alone, so neighbours differ in any one record, matching or not. `Answers` shows whole
numbers with two-sided noise, and nothing else [MATHS §10.5].

Rule, bins and cells are functions of plain records: whoever has others gives others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from accord.errors import UsageError
from accord.privacy.events import Event, NoisyAnswer, NoisyCounts
from accord.privacy.mechanism import Part
from accord.privacy.noise_answers import TwoSided
from accord.privacy.problem import Problem, Record, Table
from accord.privacy.window import PRECISION


def linkage(rule: Callable[[Record, Record], bool], partner: Table, tables: tuple[Table, ...]) -> Problem:
    """The problem of linking one of the tables with the partner's, whose record is the rule's first."""

    def output(table: Table) -> Hashable:
        matches = tuple((a, b) for b in table for a in partner if rule(a, b))
        matching = tuple(b for b in table if any(rule(a, b) for a in partner))
        return len(table), matches, matching

    return Problem(output, tables)


@dataclass(frozen=True)
class BinCounts:
    """The output of a linkage as it is, and how many records are in each bin, with dummies."""

    problem: Problem
    event: NoisyCounts
    bins: tuple[Hashable, ...]
    """All that were agreed on."""
    places: Callable[[Record], Collection[Hashable]]
    """The bins of a record."""

    @property
    def events(self) -> tuple[Event, ...]:
        return (self.event,)

    def parts(self, table: Table) -> Sequence[Part]:
        counts = [sum(name in self._bins_of(record) for record in table) for name in self.bins]
        return [{self.problem.output(table): Fraction(1)}, *map(self._noisy, counts)]

    def _bins_of(self, record: Record) -> Collection[Hashable]:
        """A bin that is not listed would be shown without noise, or to nobody; here it would go unseen."""
        found = self.places(record)
        if isinstance(found, str) or not isinstance(found, Collection) or not set(found) <= set(self.bins):
            raise UsageError(problem="The places of a record must be a collection of bins that are listed.")
        return found

    def _noisy(self, count: int) -> Part:
        weights = enumerate(self.event.noise.window.table)
        return {count + dummies: Fraction(weight, 1 << PRECISION) for dummies, weight in weights}


@dataclass(frozen=True)
class Answers:
    """Whole numbers about a table, each with noise of its own; ε is what all of them claim together.

    What is shown is cut to the range in which the true numbers of all tables lie. That is exact: beyond it
    an outcome is as many times as likely with the one table as with the other as it is at the end.
    """

    problem: Problem
    event: NoisyAnswer
    cells: Callable[[Table], Sequence[int]]
    noises: tuple[TwoSided, ...]
    """One for each cell."""

    @property
    def events(self) -> tuple[Event, ...]:
        return (self.event,)

    def parts(self, table: Table) -> Sequence[Part]:
        each = zip(self.cells(table), self.noises, self._ranges, strict=True)
        return [
            _shifted(value, noise.chances(low - value, high - value)) for value, noise, (low, high) in each
        ]

    @cached_property
    def _ranges(self) -> list[tuple[int, int]]:
        seen = zip(*map(self.cells, self.problem.tables), strict=True)
        return [(min(values), max(values)) for values in seen]


def _shifted(value: int, chances: dict[int, Fraction]) -> Part:
    return {value + noise: chance for noise, chance in chances.items()}
