"""What the owner of a table says of a series, and whether the table is what its owner takes it for.

All of it is judged before anybody is called, so that no partner sees whether a table was refused, or what its
owner answered. Three things are not done unasked:

    a table that a series hardly knows again    whoever goes on by mistake releases all of it once more
    more arrivals than a run has room for       who waits depends on who else came, which no ε covers
    a first table that is larger than declared  it has no later run in which the rest would be expected
"""

from __future__ import annotations

from dataclasses import dataclass

from accord.errors import DataError, Fault, FullBatchError, OtherIdsError
from accord.protocols.batches import Changes, Known


@dataclass(frozen=True)
class Part:
    """What the owner of a table says of the series that it takes part in."""

    name: str
    unchanged_only: bool = False
    """Records that changed take part no more."""
    mostly_new: bool = False
    """The table is right, though most of it is new."""
    let_wait: bool = False
    """Arrivals that a run has no room for wait for a later one."""


def require_plausible(
    changes: Changes, known: Known, part: Part, dataset: str, declared: int, due: bool
) -> None:
    """Raise for a table that its owner should look at first. `declared` is the size of the next batch, which
    is `due` in this run, or whatever is new waits for it anyway."""
    if known.batches == 0 and changes.waiting:
        problem = (
            f"It has {len(changes.arrived) + changes.waiting:,} records, but for the first run of a series "
            f"the agreement declares {declared:,}."
        )
        raise DataError("the table", [Fault("", problem, "Agree on a larger `first` under [series].")])
    named = {"series": part.name, "dataset": dataset, "declared": declared}
    if changes.mostly_gone and not part.mostly_new:
        raise OtherIdsError(
            **named,
            there=changes.there,
            stayed=len(changes.stayed),
            changed=changes.changed,
            gone=len(changes.gone) - changes.changed,
            new=changes.fresh - changes.changed,
        )
    if due and changes.waiting and not part.let_wait:
        arrived = len(changes.arrived) + changes.waiting
        raise FullBatchError(**named, arrived=arrived, waiting=changes.waiting)
