"""Protocols that compare the records of bins with an engine: what they share, and where they may differ.

Each is one way to fill bins (`make_slots`) and one way to say which bins meet (`pairs`); the rounds, the
disclosure and the checks are those of `linkage.py` for all of them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field, StrictBool, StrictInt

from accord.entropy import Entropy
from accord.errors import PeerError, UnsupportedError
from accord.fields.columns import Columns, Records
from accord.protocols.base import Ints, Protocol, Task
from accord.protocols.parts.journal import UNDER_WAY
from accord.protocols.parts.outcome import CONFIRMED
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.schedule import GROWN, Schedule, most_rows, order_pairs
from accord.protocols.parts.slots import Padding, Slots, exchanged_bytes, make_slots, require_possible
from accord.rules.blocking.passes import Placed
from accord.rules.evaluate import Indices
from accord.rules.join import has_index
from accord.rules.rule import fields_of
from accord.secure.circuit import inputs
from accord.secure.engine import AtOnceEngine, Engine
from accord.side import Side

SLAB = 64
"""The most rows of a bin that are compared before the matched ones are cleaned."""
OF_MATCHES = ("for each record that matches: the bins it falls into;",)
"""In words: what the bins of a matching record tell of it."""


def tell_bins(task: Task) -> str:
    """In words: how many there are, and of how many passes."""
    passes = len(task.blocking.passes)
    return f"{task.blocking.bins:,} bins" + (f" of {passes} passes" if passes > 1 else "")


class Binned(Protocol):
    """A protocol over bins."""

    options: ClassVar[tuple[str, ...]] = ("greedy",)
    one_slot_a_row: ClassVar[bool] = False
    """Whether the counts add up to the size of the table, which is public."""

    greedy: StrictBool = True
    """Greedy Match & Clean: matched records are disclosed at once and need no further comparison."""

    # -- the bins of a side -------------------------------------------------------------------------------

    def counts(self, task: Task, side: Side, records: Records, noise: Ints) -> Ints:
        return task.blocking.counts(side, records.columns, len(records)) + noise

    def make_slots(self, task: Task, side: Side, records: Records, noise: Ints, entropy: Entropy) -> Slots:
        return make_slots(task.blocking, side, records, noise, entropy)

    def bins_of(
        self, task: Task, side: Side, columns: Columns, records: int
    ) -> tuple[Indices, Indices] | None:
        """(record, bin) of the slots that disclosed records with these values must have; None where each has
        one slot, which may lie in any bin."""
        return task.blocking.place(side, columns, records)

    def require_counts(self, task: Task, side: Side, counts: Ints, records: int, padding: Padding) -> None:
        """Raise unless a side's table of so many records can have these counts."""
        require_possible(counts, task.blocking, side, records, padding)
        if self.one_slot_a_row and counts.sum() != records:
            raise PeerError(problem="another number of slots than of records")

    def require_engine(self, task: Task, engine: Engine) -> None:
        """One that shows nothing before all is compared cannot go on from what was shown."""
        super().require_engine(task, engine)
        if self.greedy and isinstance(engine, AtOnceEngine):
            rounds = "rounds of which each shows its matches, as greedy = true has them"
            raise UnsupportedError(engine=engine.name, node=f"{rounds}; set greedy = false")

    # -- which bins meet ----------------------------------------------------------------------------------

    def pairs(self, task: Task) -> tuple[Indices, Indices]:
        """The pairs (bin of A, bin of B) that are compared, each once."""
        return task.blocking.pairs()

    @property
    def order(self) -> tuple[bool, int]:
        """Whether the largest bins come first, and the percentile of the noisy sizes at which to stop."""
        return False, 0

    def schedule(self, task: Task, counts: tuple[Ints, Ints]) -> Schedule:
        """What is compared when, with these noisy counts of A and of B."""
        node = task.lowered.node
        values = (sum(of.length for of in inputs(node, side)) for side in Side)
        rows = most_rows((next(values), next(values)))
        ordered = self._choose(task, counts, self.order[0])
        return Schedule(ordered, counts, SLAB, self.greedy, grown=GROWN, rows=rows)

    def _choose(self, task: Task, counts: tuple[Ints, Ints], sort: bool) -> tuple[Ints, Ints]:
        """The pairs of bins that are compared, in their order if it matters."""
        pairs = self.pairs(task)
        prune = self.order[1]
        if not (sort or prune):
            return pairs
        per_record = [task.blocking.per_record(side) for side in Side]
        chosen = order_pairs(pairs, counts, sort, prune, pooled=per_record[0] == per_record[1])
        return pairs[0][chosen], pairs[1][chosen]

    def place(self, task: Task, a: OwnSide, b: OwnSide) -> list[Placed]:
        """By the slots of both: some bins may be pruned, and some records suppressed."""
        counts = a.slots.counts, b.slots.counts
        chosen = self._choose(task, counts, sort=False)
        both, blocking = [_entries(mine.slots) for mine in (a, b)], task.blocking
        ends = [*blocking.first_bins[1:], blocking.bins]
        found = []
        for first, end in zip(blocking.first_bins, ends, strict=True):
            (of_a, of_b), here = (_between(one, first, end) for one in both), chosen[0] >= first
            here &= chosen[0] < end
            pairs = chosen[0][here] - first, chosen[1][here] - first
            found.append(Placed(of_a, of_b, end - first, pairs))
        return found

    def price(self, task: Task, sizes: tuple[int, int], counts: tuple[Ints, Ints]) -> int:
        a, b = self.compared(task, counts)
        return int(np.dot(a, b))

    def compared(self, task: Task, counts: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
        left, right = self._choose(task, counts, sort=False)
        return counts[0][left], counts[1][right]

    def sends(self, task: Task, sizes: tuple[int, int]) -> int:
        return exchanged_bytes(task.blocking.bins) + CONFIRMED

    def steps_at_once(self, task: Task) -> int:
        """With greedy a round depends on what the one before it came to; and of an answer nothing that both
        have kept may be asked again."""
        return 1 if self.greedy or task.output.answers else UNDER_WAY

    # -- what it leaks ------------------------------------------------------------------------------------

    def shown_fields(self, task: Task) -> tuple[str, ...]:
        """With greedy those of rule and blocking: so the other side can check a match, find the record's
        other matches and see in which bins it was."""
        if not self.greedy:
            return ()
        return tuple(dict.fromkeys([*fields_of(task.rule), *task.blocking_fields]))

    def finds_all(self, task: Task) -> bool:
        """Whether greedy looks for the matches of a disclosed record among all records, not only in bins that
        meet: if the rule can be looked up, by an equality or a number within bounds, or if all bins meet."""
        return not self.blocked or has_index(task.rule, task.fields)

    def finds_beyond(self, task: Task) -> bool:
        return self.blocked and self.greedy and self.finds_all(task)


def _entries(slots: Slots) -> tuple[Indices, Indices]:
    """(record, bin) of the slots with a record, by ascending record."""
    record, places = slots.of_record
    return record.astype(np.int64), np.searchsorted(slots.first, places, "right") - 1


def _between(entries: tuple[Indices, Indices], first: int, end: int) -> tuple[Indices, Indices]:
    """Those in some bins, which are numbered anew."""
    record, bins = entries
    here = (bins >= first) & (bins < end)
    return record[here], bins[here] - first


class Sorted(Binned):
    """Sort & Prune [HMFS17, §4.3]."""

    options: ClassVar[tuple[str, ...]] = ("prune", "greedy")

    sort: StrictBool = True
    """Compare the bins with the largest noisy sizes first."""
    prune: StrictInt = Field(default=0, ge=0, le=99)
    """Stop at this percentile of the bins' noisy sizes; 0 compares everything."""

    @property
    def order(self) -> tuple[bool, int]:
        return self.sort, self.prune

    def share_found(self, task: Task) -> float | None:
        return None if self.prune else 1.0

    def advice(self, task: Task) -> list[str]:
        if not self.prune:
            return []
        return [
            f"Matches may be missed: prune = {self.prune} compares only bins whose noisy sizes are among the "
            f"largest {100 - self.prune}%; `accord simulate` says how many matches that finds."
        ]
