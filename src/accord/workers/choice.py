"""Who will work for a side: as many processes as its owner says, or workers on the owner's Ray cluster.

    4                 four processes on this machine
    ray               on the cluster that this machine belongs to, or that RAY_ADDRESS names
    ray://HOST:PORT   on the cluster at whose head a Ray Client server listens there
    8@ray…            at most eight of them; without a number as many as the cluster has free processors

A cluster is joined, and judged, before the owner is asked and before anybody is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from accord.arguments import require, require_flag
from accord.errors import UsageError
from accord.peer.connection import Reach
from accord.peer.handshake import Wish
from accord.workers.connections import Workers
from accord.workers.local import LocalWorkers
from accord.workers.resources import count_cores

MOST_WORKERS = 256

_CLUSTER = re.compile(r"(?:(?P<most>\d{1,3})@)?ray(?P<client>://[^\s/?#@]+:\d{1,5})?")
_EXPECTED = f"a number from 1 to {MOST_WORKERS}, 'ray' or 'ray://HOST:PORT', also as '8@ray'"


@dataclass(frozen=True)
class OnCluster:
    """Workers on a Ray cluster, at most so many."""

    address: str
    most: int = MOST_WORKERS


@dataclass(frozen=True)
class WorkerSource:
    """How many workers this side wants, and who starts them."""

    wish: Wish
    make: Callable[[], Workers] = LocalWorkers


def require_count(workers: object) -> None:
    """Raise unless it is a number of workers, or None."""
    if workers is None:
        return
    require("workers", workers, f"a number from 1 to {MOST_WORKERS}", int)
    assert isinstance(workers, int)
    if not 1 <= workers <= MOST_WORKERS:
        raise UsageError(problem=f"`workers=` is a number from 1 to {MOST_WORKERS}, not {workers}.")


def require_workers(workers: object, trust_cluster: object) -> int | OnCluster | None:
    """What `workers=` means; raises if it is nothing of that."""
    require_flag("trust_cluster", trust_cluster)
    found = _require_workers(workers)
    if trust_cluster and not isinstance(found, OnCluster):
        raise UsageError(problem="`trust_cluster=` is about workers on a Ray cluster: see `workers=`.")
    return found


def _require_workers(workers: object) -> int | OnCluster | None:
    if workers is None:
        return None
    require("workers", workers, _EXPECTED, int, str)
    named = _CLUSTER.fullmatch(workers) if isinstance(workers, str) else None
    most = int(named["most"] or MOST_WORKERS) if named else workers
    if not isinstance(most, int) or not 1 <= most <= MOST_WORKERS:
        raise UsageError(problem=f"`workers=` is {_EXPECTED}, not {workers!r}.")
    return OnCluster(f"ray{named['client']}" if named["client"] else "auto", most) if named else most


def own_wish(workers: int | None) -> Wish:
    """What this side wants: so many, or where it is worth it one for each core that it may use."""
    if workers is not None:
        return Wish(workers, always=True)
    return Wish(min(count_cores(), MOST_WORKERS), always=False)


@contextmanager
def choose_workers(
    workers: int | OnCluster | None, trust_cluster: bool, reach: Reach
) -> Iterator[WorkerSource]:
    """Whoever was asked for, until the end of the block; raises if there is nobody."""
    if not isinstance(workers, OnCluster):
        yield WorkerSource(own_wish(workers))
        return
    from accord.workers.ray import RayWorkers

    found = RayWorkers(workers.address, trust_cluster, bool(reach.listen))
    try:
        if not found.room:
            raise UsageError(problem="The Ray cluster has no free processor for a worker now.")
        yield WorkerSource(Wish(min(found.room, workers.most), always=True), lambda: found)
    finally:
        found.end()
