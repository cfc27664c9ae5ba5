"""Series in the ledger: what their runs found in the table, kept in the transaction that charges them.

The first run of a series draws its first batch, and is charged for all of it; a later run draws the noise of
its own batch and is charged nothing. Both are one entry with the run, so that what a run found and what was
drawn for it are there together or not at all, and are final from then on. A series whose noise was forgotten
does not go on: who drew its batches again would release them twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from accord.errors import SeriesError
from accord.naming import fold_name
from accord.protocols.parts.batches import Look, decode_look
from accord.state.database import Reading

_FORGOTTEN = (
    "what its runs had stored was forgotten, and who draws it again releases it twice. Begin a new series"
)


@dataclass(frozen=True)
class SeriesLook:
    """A run that is about to go on with a series."""

    name: str
    key: bytes = field(repr=False)
    """Of the release that the whole series is."""
    after: int
    """How many looks there were when the table was looked at."""
    make: Callable[[], Look] = field(repr=False)
    """Draw what is to be drawn, and give what is kept of the look."""


@dataclass(frozen=True)
class SeriesSoFar:
    """A series as the ledger has it."""

    name: str
    key: bytes = field(repr=False)
    looks: tuple[Look, ...] = field(repr=False)
    runs: tuple[str, ...]
    """The run of each look."""


def find_series(state: Reading, account: str, name: str) -> SeriesSoFar | None:
    """The series of this name; raises if it cannot go on."""
    known = state.register.series.get((fold_name(account), fold_name(name)))
    if known is None:
        return None
    looks = []
    for run, content in known.looks:
        if content is None:
            raise SeriesError(series=known.name, dataset=account, reason=_FORGOTTEN)
        looks.append(decode_look(state.content(content, f"what the run {run} found for the series '{name}'")))
    runs = tuple(run for run, _ in known.looks)
    return SeriesSoFar(known.name, bytes.fromhex(known.key), tuple(looks), runs)


def require_same(known: SeriesSoFar | None, account: str, key: bytes) -> None:
    """Raise unless what is to go on with a series is the release that the series is."""
    if known is not None and known.key != key:
        reason = (
            "it was begun under another agreement: other fields, bins, noise, ε, δ or declared sizes. Go on "
            "with that one, or begin a new series"
        )
        raise SeriesError(series=known.name, dataset=account, reason=reason)


def require_series(state: Reading, account: str, look: SeriesLook) -> None:
    """Raise unless the series that a run goes on with, or begins, is the one it means."""
    known = find_series(state, account, look.name)
    require_same(known, account, look.key)
    if look.after != (0 if known is None else len(known.looks)):
        raise SeriesError(
            series=look.name, dataset=account, reason="another run has just gone on with it. Link again"
        )
