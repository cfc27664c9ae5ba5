"""All pairs: every record is compared with every record [HMFS17, §2.2].

One bin, no noise: its count is the public size of the table; rows that were left out are dummies. The rest is
linkage.py, Greedy Match & Clean included, which keeps ε = 0 [MATHS §2.5].

*Learns*: each side the other's size and matching records; nothing of a record that matches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from accord.entropy import Entropy
from accord.fields.columns import Records
from accord.privacy import events
from accord.protocols.base import NOTHING_TOLD, Guarantee, Ints, Options, Release, Task
from accord.protocols.binned import Binned
from accord.protocols.linkage import link_bins
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side


@dataclass(frozen=True)
class WholeTable(Release):
    """Nothing but the size of the table."""

    def draw(self, records: Records, entropy: Entropy) -> Ints:
        """As many dummies as rows were left out, so that the one bin has the size that was announced."""
        return np.array([records.left_out], np.int64)

    def foresee(self, counts: Ints, records: int, entropy: Entropy) -> Ints:
        return np.array([records], np.int64)


class AllPairs(Binned):
    """Every record with every record: ε = 0, at the highest cost."""

    blocked: ClassVar[bool] = False
    padded: ClassVar[bool] = True
    one_slot_a_row: ClassVar[bool] = True

    name: Literal["all-pairs"]

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        return {"name": "all-pairs"}

    def release(
        self, task: Task, side: Side, records: int, noise: str | None = None, claimed: bool = False
    ) -> Release:
        return WholeTable(task, side, events.AllPairs())

    def party(self, task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
        return link_bins(task, self, mine, engine)

    def guarantee(self, task: Task, side: Side) -> Guarantee:
        return NOTHING_TOLD

    def finds_beyond(self) -> bool:
        return False
