"""What a linkage gives to one side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from accord.fields.columns import Columns
from accord.privacy.events import Event
from accord.protocols.parts.answers import Answered
from accord.protocols.parts.phases import Phases
from accord.side import Side
from accord.table.pairs import Pairs, Rows

CONFIRMED = 4 * 32
"""Bytes by which both sides make sure that they hold the same output (confirm.py)."""


@dataclass(frozen=True)
class Digest:
    """A digest of the output, under a key that both sides made; the same on both."""

    key: bytes
    value: bytes


@dataclass(frozen=True)
class Outcome:
    """The matches, and public figures of the run."""

    side: Side
    pairs: Pairs
    """Rows of one's own table, and of `partner_ids` and `partner_columns`."""
    partner_ids: pa.Array
    partner_columns: pa.Table
    partner_size: int
    partner_slots: int
    """The partner's noisy total: its records in all bins, and its dummies."""
    comparisons: int
    """Secure comparisons, dummies included; for psi the values listed or asked for."""
    rounds: int
    dummies: int
    """One's own dummies."""
    released: tuple[Event, ...]
    """What this side released about its table."""
    phases: Phases
    digest: Digest = Digest(b"", b"")
    """Empty before both confirmed."""
    partner_fields: Columns = field(default_factory=dict, repr=False)
    """The encoded fields that the partner's records brought along, until the pairs are chosen by them."""
    matches_found: int | None = None
    """How many pairs were found, of which these are a one-to-one set; None where all are kept."""
    hidden: bool = False
    """Whether a side learns no pairs: with an answer, or with pairs for the other side alone."""
    answer: Answered | None = None
    """What both learned where nobody was shown; then there are no pairs."""
    unseal: Callable[[], Outcome] | None = field(default=None, repr=False)
    """With a result for one side, on that side: the pairs, to be had once both have signed."""

    @property
    def matches(self) -> int | None:
        """How many pairs both have; None where one side has none to count."""
        return None if self.hidden else len(self.pairs)

    @property
    def own(self) -> Rows:
        """For each match the row of one's own table: all at once, for whoever has few."""
        return self.pairs.of(self.side)

    @property
    def partner(self) -> Rows:
        """For each match the row of the partner's record, likewise."""
        return self.pairs.of(self.side.other)
