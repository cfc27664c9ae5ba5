"""The local-DP protocol [HMFS17, §4.1 and appendix]: every record reports one bin by randomised response.

    1  each record reports a bin (privacy/randomised_response.py); public bins are reported as they are
    2  the reports are the slots, shuffled within each bin: no dummies, and as many slots as records
    3  reports i of A are compared with the reports i, …, i + k' − 1 of B, round the end, by the engine, as in
       linkage.py; the whole rule, since nothing follows from a reported bin
    4  matches are disclosed and confirmed as there, Greedy Match & Clean included

*Learns*: each side the other's size, how many records reported each bin, and its matching records with the
bins that they reported. *Theorem*: (ε, 0) for every record that matches nothing. Its report is the only
thing that the partner's view depends on besides the matching records, by the argument of linkage.py, and the
report is ε-private by itself. *Recall*: of the matches whose records share a bin, the share that
`expected_recall` gives; with a window of all bins every pair is compared.

Reports are sticky: drawn once for a table, stored by the ids' order, reused for every partner and run
(privacy/release.py says what is the same table). Two independent reports of one record would cost 2ε.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.entropy import NOISE, Entropy, below
from accord.errors import UsageError
from accord.privacy.events import Event, PublicBins, Reports
from accord.privacy.randomised_response import Response, best_spread, compared, compared_public, report
from accord.privacy.release import reports_key
from accord.protocols.linkage import Own
from accord.protocols.slots import shuffled
from accord.protocols.spec import LocalDp
from accord.protocols.task import Task
from accord.records.columns import Records
from accord.records.encoders import text_buffers
from accord.side import Side

Ints = NDArray[np.int64]


def response(task: Task, side: Side) -> Response | None:
    """How this side's records report; None where their bins are public."""
    protocol = _protocol(task)
    epsilon, other = protocol.local(side).epsilon, protocol.local(side.other)
    if epsilon is None:
        return None
    x = spread(task)
    # A's block must end with the true bin where B reports that itself, since windows run upward from A's bin.
    start = x - 1 if other.public and side is Side.A else 0
    return Response(task.blocking.bins, x, epsilon, start)


def spread(task: Task) -> int:
    """How many bins are likely: as agreed, or the number with which most matches are compared."""
    protocol, bins = _protocol(task), task.blocking.bins
    if protocol.spread is not None:
        return protocol.spread
    if protocol.A.epsilon is None or protocol.B.epsilon is None:
        return protocol.window
    return best_spread(bins, protocol.window, protocol.A.epsilon, protocol.B.epsilon)


def expected_recall(task: Task) -> float:
    """The probability that a match whose records share a bin is compared."""
    protocol, bins, x = _protocol(task), task.blocking.bins, spread(task)
    a, b = protocol.A.epsilon, protocol.B.epsilon
    if a is not None and b is not None:
        return float(compared(bins, protocol.window, x, a, b))
    private = a if a is not None else b
    return 1.0 if private is None else compared_public(bins, protocol.window, x, private)


def released(task: Task, side: Side) -> Event:
    """What this side tells of its table."""
    found = response(task, side)
    return PublicBins() if found is None else Reports(found)


def draw(task: Task, side: Side, records: Records, entropy: Entropy) -> Ints:
    """Fresh reports, in the order of the ids. *Distribution*: as `report`, or the true bins."""
    bins, found = true_bins(task, side, records)[_by_id(records)], response(task, side)
    if found is not None:
        return report(found, bins, entropy)
    anywhere = below(entropy.stream(NOISE), task.blocking.bins, len(bins)).astype(np.int64)
    return np.where(bins < 0, anywhere, bins)


def key(task: Task, side: Side, records: Records, blocking: bytes) -> bytes | None:
    """The release key of the reports, or None where bins are public. *Requires* as `reports_key`."""
    found, order = response(task, side), _by_id(records)
    if found is None:
        return None
    starts, octets = text_buffers(records.ids.take(pa.array(order)))
    ids = np.diff(starts).astype("<i8").tobytes() + octets.tobytes()
    return reports_key(true_bins(task, side, records)[order], ids, blocking, side.value, found)


def prepare(
    task: Task,
    side: Side,
    records: Records,
    partner_size: int,
    reports: Ints,
    entropy: Entropy,
    events: tuple[Event, ...] = (),
) -> Own:
    """Fix this side's slots. *Requires* the stored reports of this very table, by the ids' order."""
    bins = task.blocking.bins
    if len(reports) != len(records) or (len(reports) and not 0 <= reports.min() <= reports.max() < bins):
        raise UsageError(problem="The stored reports are not those of this table. Start a new run.")
    placed = np.empty(len(records), np.int64)
    placed[_by_id(records)] = reports
    slots = shuffled(np.arange(len(records)), placed, bins, records, entropy)
    return Own(side, records, partner_size, slots, entropy, events)


def true_bins(task: Task, side: Side, records: Records) -> Ints:
    """The bin of each record; −1 where it has none. *Requires* a blocking with at most one bin a record."""
    found = np.full(len(records), -1, np.int64)
    record, bins = task.blocking.place(side, records.columns, len(records))
    found[record] = bins
    return found


def _by_id(records: Records) -> Ints:
    return np.asarray(pc.sort_indices(records.ids)).astype(np.int64)


def _protocol(task: Task) -> LocalDp:
    if not isinstance(task.protocol, LocalDp):
        raise TypeError(f"{task.protocol.name} has no reports")
    return task.protocol
