"""One transaction on one table of a database: what pairs need of it to be written there whole or not at all.

Nothing that happens in a transaction is there for anybody else before `commit`, and nothing of it stays
without. So a trial is a transaction that is not committed.

What a driver says is never repeated: it may quote cells, which are the partner's, and what it was connected
with. `Refused` has a reason in our words, found by the driver's code for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import pyarrow as pa

THERE = "the table already exists; only `force=True` replaces it"
NO_TABLE = "it is a view or something else that is not a plain table"
CONSTRAINT = "a constraint or a trigger of the table refuses a row"
LOCKED = "somebody else is writing there"
NO_RIGHT = "you have no right to write there"
FULL = "there is no room left on its disk"


class CellKind(Enum):
    """What the cells of a column are."""

    TEXT = "text"
    NUMBER = "whole numbers"


@dataclass(frozen=True)
class Heading:
    """A column of a table; of no kind if that is not known yet, or if it is none of ours."""

    name: str
    kind: CellKind | None = None


class Refused(Exception):
    """What the database refuses, and why, in our words."""

    def __init__(self, reason: str, unsure: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.unsure = unsure
        """Whether it may have been done all the same: the answer to a commit was lost."""


class Transaction(Protocol):
    """A transaction on a table, which may not be there yet; raises `Refused`."""

    def find(self) -> list[Heading] | None:
        """The columns of the table; None if there is no such table."""

    def create(self, headings: Sequence[Heading]) -> None:
        """Make the table."""

    def require_rights(self) -> None:
        """Raise unless the rows of the table, which is there, may be replaced."""

    def empty(self) -> None:
        """Remove all rows, and let nobody else write any."""

    def fill(self, rows: pa.RecordBatchReader) -> None:
        """Add rows, in batches as they come."""

    def commit(self) -> None:
        """Let everybody see it."""


def statement(*words: str) -> str:
    """A statement. *Requires*: names in it are quoted, and it holds no value."""
    return " ".join(words)
