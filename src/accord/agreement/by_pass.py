"""What each pass of an agreed blocking finds and costs: for planning, from tables that one may see.

A pass over keys that two strangers share with probability c, hashed into K bins, costs in expectation
n_A·n_B·c + n_A·n_B/K + n_A·d_B + n_B·d_A + K·d_A·d_B comparisons, n the records and d the expected dummies of
a bin. It is least at K = √(n_A·n_B / (d_A·d_B)), where a bin has as many dummies as records [MATHS §9.6]. All
of these numbers are public.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from accord.agreement.document import Agreement
from accord.fields.columns import Records
from accord.rules.blocking.base import MOST_BINS, PassSpec, build_blocking
from accord.rules.blocking.key import KeySpec
from accord.rules.evaluate import Tables
from accord.rules.join import Compared
from accord.side import Side
from accord.table.pairs import SomePairs


@dataclass(frozen=True)
class PassFigures:
    """One pass."""

    name: str
    bins: int
    candidate_pairs: int
    """Pairs of records that meet in it."""
    recall: float
    """The share of the wanted pairs that are compared in it."""
    recall_so_far: float
    """The share that is compared in it or in a pass before it."""
    buckets: int | None
    """Of its key; None where nothing is hashed."""
    best_buckets: int | None
    """How many would cost the least, for tables of this size."""


def by_pass(
    agreement: Agreement,
    a: Records,
    b: Records,
    wanted: Iterable[SomePairs],
    noise: str | None = None,
    compared: Compared | None = None,
) -> tuple[PassFigures, ...]:
    """Every pass, and how many of the wanted pairs (row of A, row of B), which come in batches, are compared
    in it: all that meet, or those that a run has `compared`. `noise` replaces the agreed one."""
    plan = agreement.plan
    if compared is None:
        tables = Tables(agreement.fields, a.columns, b.columns)
        compared = Compared.of(tables, (len(a), len(b)), plan)
    total, met, so_far = _meet(compared, wanted)
    found = []
    best = best_buckets(agreement, (a.size, b.size), noise)
    for i, one in enumerate(plan.passes):
        spec = _bucketed(agreement.passes[i]) if agreement.passes else None
        found.append(
            PassFigures(
                name=one.name,
                bins=one.bins,
                candidate_pairs=one.place_both((a.columns, b.columns), (len(a), len(b))).candidates,
                recall=met[i] / total if total else 1.0,
                recall_so_far=so_far[i] / total if total else 1.0,
                buckets=None if spec is None else spec.buckets,
                best_buckets=best[i] if best else None,
            )
        )
    return tuple(found)


def _meet(compared: Compared, wanted: Iterable[SomePairs]) -> tuple[int, list[int], list[int]]:
    """How many pairs there are; how many are compared in each pass, and in it or one before it."""
    total, met, so_far = 0, [0] * len(compared.passes), [0] * len(compared.passes)
    for left, right in wanted:
        rows = left.astype(np.int64), right.astype(np.int64)
        total += len(left)
        before = np.zeros(len(left), np.bool_)
        for i, one in enumerate(compared.passes):
            now = Compared((one,)).has(*rows)
            before |= now
            met[i] += int(now.sum())
            so_far[i] += int(before.sum())
    return total, met, so_far


def best_buckets(agreement: Agreement, sizes: tuple[int, int], noise: str | None = None) -> list[int | None]:
    """For each pass with one hashed key the number of buckets that costs the least, to two digits."""
    task = agreement.task
    settings = [
        agreement.protocol.release(task, side, size, noise, claimed=True).setting
        for side, size in zip(Side, sizes, strict=True)
    ]
    dummies = [found.expected_dummies for found in settings if found is not None]
    if len(dummies) < 2 or not all(dummies):
        return [None] * len(agreement.passes)
    return [_best(agreement, spec, sizes, dummies[0] * dummies[1]) for spec in agreement.passes]


def _best(agreement: Agreement, spec: PassSpec, sizes: tuple[int, int], dummies: float) -> int | None:
    hashed = _bucketed(spec)
    if hashed is None or hashed.buckets is None:
        return None
    one = build_blocking([spec], agreement.fields).passes[0]
    slots = prod(size * one.per_record(side) for side, size in zip(Side, sizes, strict=True))
    others = one.bins / hashed.buckets
    best = min(sqrt(slots / dummies), MOST_BINS / len(agreement.passes)) / others
    return max(1, int(float(f"{best:.1e}")))


def _bucketed(spec: PassSpec) -> KeySpec | None:
    """The key of a pass that is hashed, if there is exactly one."""
    found = [part for part in spec.parts if isinstance(part, KeySpec) and part.buckets is not None]
    return found[0] if len(found) == 1 else None


def count_unplaced(agreement: Agreement, side: Side, records: Records) -> tuple[int, dict[str, int]]:
    """How many records are in no bin at all, and how many in none of each pass: for their owner alone."""
    none, each = np.ones(len(records), np.bool_), {}
    for one in agreement.plan.passes:
        without = np.ones(len(records), np.bool_)
        without[one.keys(side, records.columns, len(records))[0]] = False
        none &= without
        each[one.name] = int(without.sum())
    return int(none.sum()), each
