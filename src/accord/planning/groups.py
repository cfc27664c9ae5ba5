"""Which records of one's own table hang together, and so who would match at a partner's.

Greedy Match & Clean discloses to a fixed point: whatever hangs together by matches goes at once. So records
of one's own table that match each other, directly or by way of others, are a *group*, and a partner alike has
groups as a whole: were its matching records drawn one by one, a large group would nearly always be hit, and
many more of one's own records would match than the overlap says.

Where records match so many others that the pairs cannot be listed, those of a bin are taken as a group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.fields.columns import Records, rows_of
from accord.planning.spread import Alike
from accord.protocols.base import Task
from accord.rules.join import Index, has_index
from accord.side import Side

Ints = NDArray[np.int64]

_MOST_LINKS = 1 << 22
_TRIED = 1 << 26
"""Pairs of rows that may be tried one by one, where the rule has no index."""
_SAMPLED = 512


def hang_together(task: Task, records: Records) -> Ints:
    """For each record the group that it is in: the least record of it, or a bin."""
    links = _links(task, records)
    if links is None:
        record, bins = task.blocking.place(Side.A, records.columns, len(records))
        # A record in no bin meets nobody: its number, beyond all bins, is nobody else's.
        found = len(records) + task.blocking.bins + np.arange(len(records))
        found[record] = bins
        return np.unique(found, return_inverse=True)[1]
    return _components(len(records), *links)


def find_groups(side: Side, together: Ints, alike: Alike, matching: int, guess: bool) -> tuple[Ints, Ints]:
    """For each record of A and of B its group; −1 for one that matches nothing.

    Of the partner's records the first `matching` do; with `guess`, where nobody knows how many, also those
    that match another one of the same table: of a partner alike, some record would match them.
    """
    theirs = together[alike.rows]
    matches = np.arange(len(theirs)) < matching
    if guess:
        matches |= np.bincount(together)[theirs] > 1
    # Not all of a group, but whom the partner has: a large table may hang together as a whole by records of
    # which a partner with few of them has nearly none.
    both = np.zeros(len(together), np.bool_)
    both[alike.rows[matches]] = True
    mine, theirs = np.where(both, together, -1), np.where(matches, theirs, -1)
    return (mine, theirs) if side is Side.A else (theirs, mine)


def _links(task: Task, records: Records) -> tuple[Ints, Ints] | None:
    """The pairs of different records of one's own table that the rule accepts; none where they cannot be
    looked up, and None where they are too many to list."""
    size, none = len(records), np.zeros(0, np.int64)
    if not size or (not has_index(task.rule, task.fields) and size * size > _TRIED):
        return none, none
    index = Index(task.rule, task.fields, Side.B, records.columns, size)
    some = np.random.default_rng(0).permutation(size)[:_SAMPLED]
    columns = {name: rows_of(column, some) for name, column in records.columns.items()}
    if len(index.matches(columns, len(some))[0]) / len(some) * size > _MOST_LINKS:
        return None
    left, right = index.matches(records.columns, size)
    apart = left != right
    return left[apart], right[apart]


def _components(nodes: int, left: Ints, right: Ints) -> Ints:
    """What hangs together: each node gets the least number in its component."""
    label = np.arange(nodes)
    while True:
        # Each takes the least label that it is linked to, and then that one's: a few times through.
        before = label.copy()
        np.minimum.at(label, left, label[right])
        np.minimum.at(label, right, label[left])
        label = label[label]
        if np.array_equal(before, label):
            return label
