"""One run of a series, as one party: linkage.py over the bins of all batches (series.py).

The partner's counts of batches that were seen before must be those that it had shown: noise that is drawn
again would weaken the first, on whichever side. New counts must be possible for the declared size of their
batch, each by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accord.errors import PeerError
from accord.protocols.base import Ints, Task
from accord.protocols.batches import Released
from accord.protocols.binned import Binned
from accord.protocols.disclose import DiscloseAtEnd
from accord.protocols.found import Found
from accord.protocols.linkage import compare_bins, open_counts
from accord.protocols.mine import Mine
from accord.protocols.outcome import Outcome
from accord.protocols.series import Meeting, Series
from accord.protocols.series_greedy import SeriesGreedy, Shown
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side


@dataclass(frozen=True)
class SeriesRun:
    """What is public of a run of a series, what both have shown before it, and what the own rows are."""

    series: Series
    meeting: Meeting
    partner_counts: Ints
    """Of the partner's batches that were seen, batch after batch, without what is out of them."""
    shown: Shown
    rows: Released
    """The own records."""

    def own(self, side: Side) -> tuple[int, int]:
        """(batches that the partner has seen, all batches) of a side."""
        place = 0 if side is Side.A else 1
        return self.meeting.seen[place], self.meeting.total[place]


def link_series(
    task: Task, options: Binned, mine: Mine, engine: Engine, run: SeriesRun
) -> Party[tuple[Outcome, Shown]]:
    """One side of the run: what it found, and what both have shown by then.

    *Requires*: its slots are those of all its batches (`series_slots`), and its records and the partner's are
    as many as were announced.
    """
    engine.supports(task.lowered.node)
    clock, bins = mine.stopwatch, task.blocking.bins
    partner = mine.side.other
    total = run.own(partner)[1]

    def judge(counts: Ints) -> None:
        _require_counts(task, options, mine, run, counts)

    theirs = yield from open_counts(mine, total * bins, judge)
    own = mine.slots.counts
    counts = (own, theirs) if mine.side is Side.A else (theirs, own)
    schedule = options.schedule(task, counts, run.meeting.bin_pairs(options.pairs(task), bins))
    found = Found(task, mine, theirs)
    if not options.greedy:
        plain = DiscloseAtEnd(task, mine, found)
        outcome = yield from compare_bins(task, options, mine, engine, schedule, found, plain, clock)
        return outcome, run.shown
    new = run.rows.batch >= run.own(mine.side)[0]
    greedy = SeriesGreedy(task, options, mine, schedule, found, run.shown, run.rows.member, new)
    outcome = yield from compare_bins(task, options, mine, engine, schedule, found, greedy, clock)
    return outcome, greedy.result()


def series_party(task: Task, mine: Mine, engine: Engine, run: SeriesRun) -> Party[tuple[Outcome, Shown]]:
    """One side of a run of the task's protocol in a series; no agreement declares one for another."""
    options = task.protocol
    assert isinstance(options, Binned)
    return link_series(task, options, mine, engine, run)


def compared_in_series(task: Task, counts: tuple[Ints, Ints], meeting: Meeting) -> tuple[Ints, Ints]:
    """How many slots of A and of B each compared pair of bins has, in a run of a series."""
    options = task.protocol
    assert isinstance(options, Binned)
    return options.compared(task, counts, meeting.bin_pairs(options.pairs(task), task.blocking.bins))


def _require_counts(task: Task, options: Binned, mine: Mine, run: SeriesRun, counts: Ints) -> None:
    """Raise unless the partner's counts go on from those that it has shown."""
    partner, bins = mine.side.other, task.blocking.bins
    if not np.array_equal(counts[: len(run.partner_counts)], run.partner_counts):
        raise PeerError(problem="other bin counts for a batch than those it had shown before")
    seen, total = run.own(partner)
    for batch in range(seen, total):
        size = run.series.declared(partner, batch)
        options.require_counts(task, partner, counts[batch * bins : (batch + 1) * bins], size, mine.padding)
