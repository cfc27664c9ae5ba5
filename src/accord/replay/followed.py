"""What a run followed from besides its seed, if a table was its own: the table with its noise, or a series.

A replay asks a `Followed` and not which of the two it is; `find_followed` alone chooses, by the agreement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from accord.agreement.document import Agreement
from accord.entropy import Entropy
from accord.errors import DamagedError, StateError
from accord.fields.columns import Records
from accord.protocols.base import Task
from accord.protocols.parts.slots import Slots, table_digest
from accord.protocols.parts.standing import ALONE, Standing
from accord.replay.series import Earlier, NotKept, find_in_series
from accord.side import Side
from accord.state.folder import State
from accord.state.noise import decode_noise
from accord.state.runs import StoredRun


class Followed(Protocol):
    """What the messages of a side follow from, as it was fixed when the run began."""

    @property
    def records(self) -> Records:
        """Those that took part."""

    @property
    def standing(self) -> Standing: ...

    @property
    def digest(self) -> bytes:
        """What the side must have pledged."""

    @property
    def kept(self) -> bytes | None:
        """The same by what the side keeps, where it is more than the table; whoever keeps another than it
        pledged has not shown another table."""

    def slots(self, entropy: Entropy) -> Slots:
        """The slots of the run; raises NotKept where that cannot be known."""

    def require_goes_on(self, state: State) -> Earlier | None:
        """The runs before this one, if it goes on from any; raises ValueError, which says what is wrong,
        unless they are in order, and NotKept where they cannot be known."""


@dataclass(frozen=True, eq=False)
class FromTable:
    """A run that goes on from nothing: its slots follow from table, noise and seed."""

    run: StoredRun
    task: Task
    side: Side
    records: Records = field(repr=False)
    standing: Standing = ALONE
    kept: None = None

    @cached_property
    def digest(self) -> bytes:
        return table_digest(self.records)

    def slots(self, entropy: Entropy) -> Slots:
        try:
            noise = decode_noise(self.run.read("noise"))
        except DamagedError:
            raise
        except (StateError, ValueError):
            raise NotKept("the noise of the run cannot be read") from None
        return self.task.protocol.make_slots(self.task, self.side, self.records, noise, entropy)

    def require_goes_on(self, state: State) -> None:
        return None


def find_followed(run: StoredRun, agreement: Agreement, side: Side, table: Records) -> list[Followed]:
    """What a run followed from if this was its table: one of these, whichever was pledged."""
    if agreement.series is None:
        return [FromTable(run, agreement.task, side, table)]
    return [*find_in_series(run, agreement, agreement.series, table)]
