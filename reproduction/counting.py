"""What a linkage finds and costs, counted without making its comparisons.

The rule's matches are found once in the clear; then a run needs only the slots and the schedule. Noise, slots
and schedule are those of the protocol itself, drawn from the same entropy, so a count equals the run: the
same comparisons, matches and dummies for the same seed (a test holds that). What makes it exact:

- without greedy, every compared pair of bins is compared whole: the cost is the dot product of noisy sizes,
  and the matches are those of the compared pairs of bins;
- with greedy, a match that is compared discloses its records, their matches in the clear, and theirs, to the
  fixed point: the whole connected component of the match graph [MATHS §7.1]. So a round cleans every slot
  of every component that has a match in it, and the matches are all those of the components found.

For research on tables that one may see, like `simulate`; many times faster where runs are repeated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from accord import Agreement
from accord.entropy import Entropy
from accord.errors import UsageError
from accord.fields.columns import Records, rows_of
from accord.kernel import kernel
from accord.protocols.base import Release
from accord.protocols.binned import Binned
from accord.protocols.parts.schedule import Round, Schedule
from accord.protocols.parts.slots import Slots, slots_among
from accord.ranges import contained, distinct, ranges
from accord.rules.blocking.base import Blocking
from accord.rules.join import Index
from accord.side import Side
from accord.simulation.pair import load_both, make_mine, release_of, seeded_run
from accord.table.sources.opening import TableLike

Ints = NDArray[np.int64]

_SLICE = 1 << 16
"""Rows of A that are joined at a time: the matches of dense tables are many more than their records."""


@dataclass(frozen=True)
class Count:
    """What one run would have found and cost."""

    matches: int
    comparisons: int
    dummies_a: int
    dummies_b: int


@dataclass(frozen=True)
class Joined:
    """All matches of the rule, as far as counting needs them."""

    matches: int
    by_pair: tuple[Ints, Ints]
    """Matches by pair of bins: ascending keys bin of A · bins + bin of B, and how many each has."""
    met: Ints
    """Ascending keys record of A · bins + bin of B: where a record of A meets a match of its own."""
    component: tuple[Ints, Ints]
    """For each record of A and of B its component of the match graph."""
    sizes: Ints
    """How many matches each component has."""

    @cached_property
    def linked(self) -> NDArray[np.bool_]:
        """Which records of A match something; one more entry, for a dummy."""
        return np.append(self.sizes[self.component[0]] > 0, False)

    @cached_property
    def members(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """For each side the components, ascending, and the record of each entry."""
        a, b = (np.argsort(side, kind="stable") for side in self.component)
        return (self.component[0][a], a), (self.component[1][b], b)


class Counter:
    """Two loaded tables under one blocking and rule, ready to be counted under any protocol with bins."""

    def __init__(self, a: TableLike, b: TableLike, agreement: Agreement) -> None:
        self._tables = load_both(a, b, agreement, None, None)
        self._base = agreement
        self._joined: Joined | None = None
        self._releases: dict[str, Release] = {}
        self._last: tuple[object, tuple[Slots, Slots] | None] = (None, None)

    @property
    def joined(self) -> Joined:
        """The matches, found when they are first asked for: costs without greedy do not need them."""
        if self._joined is None:
            self._joined = _join(self._base, *self._tables)
        return self._joined

    @property
    def all_matches(self) -> int:
        return self.joined.matches

    @property
    def all_pairs(self) -> int:
        return self._tables[0].size * self._tables[1].size

    @cached_property
    def candidate_pairs(self) -> int:
        """Pairs of real records that the blocking brings together."""
        left, right = self._base.plan.pairs()
        return int(np.dot(self._counts[Side.A][left], self._counts[Side.B][right]))

    @cached_property
    def _counts(self) -> dict[Side, Ints]:
        """The true bin sizes."""
        plan = self._base.plan
        return {s: plan.counts(s, r.columns, len(r)) for s, r in zip(Side, self._tables, strict=True)}

    @property
    def disclosed(self) -> tuple[int, int]:
        """How many records of A and of B match something, so that no guarantee speaks of them."""
        linked = np.flatnonzero(self.joined.sizes)
        a, b = (int(contained(side, linked).sum()) for side in self.joined.component)
        return a, b

    def cost(self, agreement: Agreement, seed: int, run: int = 0, noise: str | None = None) -> int:
        """The comparisons of a run without greedy, from the noisy bin sizes alone."""
        if self._options(agreement).greedy:
            raise UsageError(problem="With greedy the cost depends on the matches: count it.")
        return self._schedule(agreement, self._drawn(agreement, seed, run, noise)).most_comparisons

    def count(self, agreement: Agreement, seed: int, run: int = 0, noise: str | None = None) -> Count:
        """What run number `run` of `simulate` with this seed finds and costs.

        *Requires* the rule, fields and blocking that the counter was made with.
        """
        options = self._options(agreement)
        if not options.greedy:
            drawn = self._drawn(agreement, seed, run, noise)
            schedule = self._schedule(agreement, drawn)
            return Count(self._compared(schedule), schedule.most_comparisons, *(int(d.sum()) for d in drawn))
        a, b = self._own(agreement, seed, run, noise)
        schedule = options.schedule(agreement.task, (a.counts, b.counts))
        comparisons, matches = _greedy(self.joined, schedule, a, b)
        return Count(matches, comparisons, *(int((slots.record < 0).sum()) for slots in (a, b)))

    def _schedule(self, agreement: Agreement, dummies: tuple[Ints, Ints]) -> Schedule:
        counts = self._counts[Side.A] + dummies[0], self._counts[Side.B] + dummies[1]
        return self._options(agreement).schedule(agreement.task, counts)

    def _options(self, agreement: Agreement) -> Binned:
        """The protocol, if it can be counted."""
        kept = ("rule", "fields", "blocking")
        if any(getattr(agreement, name) != getattr(self._base, name) for name in kept):
            raise UsageError(problem="A counter counts under the rule, fields and blocking it was made with.")
        protocol = agreement.protocol
        if not protocol.padded:
            raise UsageError(problem=f"{protocol.name} places records otherwise: simulate it.")
        options = cast(Binned, protocol)
        if not options.finds_all(agreement.task):
            raise UsageError(problem="A count follows matches to all others; take a rule with an index.")
        return options

    def _compared(self, schedule: Schedule) -> int:
        keys, counts = self.joined.by_pair
        chosen = np.sort(schedule.pairs[0] * self._base.plan.bins + schedule.pairs[1])
        return int(counts[contained(keys, chosen)].sum())

    def _own(self, agreement: Agreement, seed: int, run: int, noise: str | None) -> tuple[Slots, Slots]:
        """Both sides' slots, as a run of `simulate` draws them.

        The last ones are kept: the same run is often counted with other options, which do not change them.
        """
        releases = [self._release(agreement, side, noise) for side in Side]
        key = [_noise_key(agreement, side, noise) for side in Side], seed, run
        known, slots = self._last
        if known != key or slots is None:
            self._last = None, None
            a, b = (
                make_mine(release, table, other.size, _entropy(seed, run, release.side)).slots
                for release, table, other in zip(releases, self._tables, self._tables[::-1], strict=True)
            )
            slots = a, b
            self._last = key, slots
        return slots

    def _drawn(self, agreement: Agreement, seed: int, run: int, noise: str | None) -> tuple[Ints, Ints]:
        """The dummies of both sides' bins, as `make_mine` would draw them."""
        a, b = (
            self._release(agreement, side, noise).draw(table, _entropy(seed, run, side))
            for side, table in zip(Side, self._tables, strict=True)
        )
        return a, b

    def _release(self, agreement: Agreement, side: Side, noise: str | None) -> Release:
        """Calibrated once: a search that is the same for every run."""
        key = _noise_key(agreement, side, noise)
        if key not in self._releases:
            self._releases[key] = release_of(agreement, side, self._tables[side is Side.B].size, noise)
        return self._releases[key]


def _noise_key(agreement: Agreement, side: Side, noise: str | None) -> str:
    """All that a side's noise depends on, the tables apart; no option of the run is among it."""
    options = agreement.protocol.model_dump(mode="json", include={"name", side.value})
    return json.dumps([side.value, options, noise], sort_keys=True)


def _entropy(seed: int, run: int, side: Side) -> Entropy:
    return seeded_run(seed, run).stream(side.value)


def _greedy(joined: Joined, schedule: Schedule, a: Slots, b: Slots) -> tuple[int, int]:
    """(comparisons, matches) of the rounds, with the found components cleaned after each."""
    comparisons = matches = 0
    bins = len(b.counts)
    ends = np.cumsum(b.counts)
    while (round_ := schedule.next()) is not None:
        comparisons += round_.pairs
        found = distinct(joined.component[0][_hit(joined, round_, a, ends, bins)])
        if not len(found):
            continue
        matches += int(joined.sizes[found].sum())
        for side, slots in enumerate((a, b)):
            schedule.remove(side, _slots_of(joined.members[side], slots, found))
    return comparisons, matches


def _hit(joined: Joined, round_: Round, slots: Slots, ends: Ints, bins: int) -> Ints:
    """The records of A that meet a match in this round."""
    first = np.cumsum(round_.b_counts) - round_.b_counts
    bin_b = np.searchsorted(ends, round_.b[first], "right")
    of = slots.records_of(round_.a)
    # Dummies, which are −1, and records that match nothing meet nothing.
    some = np.flatnonzero(joined.linked[of])
    of, beside = of[some], np.repeat(bin_b, round_.a_counts)[some]
    return of[contained(of * bins + beside, joined.met)]


def _slots_of(members: tuple[Ints, Ints], slots: Slots, components: Ints) -> Ints:
    """Every slot of every record of these components."""
    of, records = members
    chosen = records[ranges(np.searchsorted(of, components), np.searchsorted(of, components, "right"))]
    return slots_among(*slots.of_record, chosen)[1]


def _join(agreement: Agreement, left: Records, right: Records) -> Joined:
    """All matches, a slice of A at a time."""
    plan, bins = agreement.plan, agreement.plan.bins
    placed = [_placed(plan, s, r) for s, r in ((Side.A, left), (Side.B, right))]
    pairs = plan.pairs()
    compared = np.sort(pairs[0] * bins + pairs[1])
    parent = np.arange(len(left) + len(right))
    met, by_pair = [np.zeros(0, np.int64)], np.zeros(len(compared), np.int64)
    degree = np.zeros(len(left), np.int64)
    for rows_a, rows_b in _matches(agreement, left, right):
        _unite(parent, rows_a, rows_b + len(left))
        degree += np.bincount(rows_a, minlength=len(left))
        record, bin_a, bin_b = _bins(rows_a, rows_b, placed)
        keys = bin_a * bins + bin_b
        kept = contained(keys, compared)
        met.append(distinct((record * bins + bin_b)[kept]))
        by_pair += np.bincount(np.searchsorted(compared, keys[kept]), minlength=len(compared))
    _flatten(parent)
    component = parent[: len(left)], parent[len(left) :]
    # Sums of floats, exact below 2^53.
    sizes = np.bincount(component[0], degree, minlength=len(parent)).astype(np.int64)
    used = by_pair > 0
    return Joined(
        int(degree.sum()), (compared[used], by_pair[used]), distinct(np.concatenate(met)), component, sizes
    )


def _matches(agreement: Agreement, left: Records, right: Records) -> Iterator[tuple[Ints, Ints]]:
    index = Index(agreement.rule, agreement.fields, Side.B, right.columns, len(right))
    for first in range(0, len(left), _SLICE):
        rows = np.arange(first, min(first + _SLICE, len(left)))
        some = {name: rows_of(column, rows) for name, column in left.columns.items()}
        rows_a, rows_b = index.matches(some, len(rows))
        yield rows_a + first, rows_b


def _placed(plan: Blocking, side: Side, records: Records) -> tuple[Ints, Ints]:
    """The bins of all records, one record after the other, and where those of each begin; then the end."""
    record, bins = plan.place(side, records.columns, len(records))
    return bins, np.searchsorted(record, np.arange(len(records) + 1))


def _bins(rows_a: Ints, rows_b: Ints, placed: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    """(record of A, its bin, the other's bin) for every match and every two bins of its records."""
    (bins_a, first_a), (bins_b, first_b) = placed
    if len(bins_a) == len(first_a) - 1 and len(bins_b) == len(first_b) - 1:
        # One bin a record.
        return rows_a, bins_a[rows_a], bins_b[rows_b]
    of = np.repeat(np.arange(len(rows_a)), first_a[rows_a + 1] - first_a[rows_a])
    at_a = ranges(first_a[rows_a], first_a[rows_a + 1])
    starts, stops = first_b[rows_b[of]], first_b[rows_b[of] + 1]
    again = stops - starts
    return np.repeat(rows_a[of], again), np.repeat(bins_a[at_a], again), bins_b[ranges(starts, stops)]


@kernel("void(int64[::1], int64[::1], int64[::1])")
def _unite(parent: Any, left: Any, right: Any) -> None:
    """Union-find with path halving; the smaller number leads, so that the result is one and the same."""
    for i in range(len(left)):
        a, b = left[i], right[i]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        else:
            parent[a] = b


@kernel("void(int64[::1])")
def _flatten(parent: Any) -> None:
    """Let every record point at the leader of its component: a leader comes before all it leads."""
    for i in range(len(parent)):
        parent[i] = parent[parent[i]]
