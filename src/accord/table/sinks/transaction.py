"""One transaction on one table of a database: what pairs need of it to be written there whole or not at all.

Nothing that happens in a transaction is there for anybody else before `commit`, and nothing of it stays
without. So a trial is a transaction that is not committed.

What a driver says is never repeated: it may quote cells, which are the partner's, and what it was connected
with. `Refused` has a reason in our words, found by the driver's code for it.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from accord.table.address import quote_name

THERE = "the table already exists. Drop it first"
LOCKED = "somebody else is writing there"
NO_RIGHT = "you have no right to write there"
FULL = "there is no room left on its disk"


class Refused(Exception):
    """What the database refuses, and why, in our words."""

    def __init__(self, reason: str, unsure: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.unsure = unsure
        """Whether it may have been done all the same: the answer to a commit was lost."""


class Transaction(Protocol):
    """A transaction on a table, which may not be there yet; raises `Refused`."""

    def find(self) -> list[str] | None:
        """The columns of the table or the view; None if there is none of that name."""

    def drop(self) -> None:
        """Remove the table, which is there."""

    def create(self, schema: pa.Schema) -> None:
        """Make the table."""

    def fill(self, rows: pa.RecordBatchReader) -> None:
        """Add rows, in batches as they come."""

    def commit(self) -> None:
        """Let everybody see it."""


def statement(*words: str) -> str:
    """A statement. *Requires*: names in it are quoted, and it holds no value."""
    return " ".join(words)


def declare(schema: pa.Schema, text: str) -> str:
    """The columns as `CREATE TABLE` takes them: whole numbers, and texts of this type."""
    each = ((field.name, "BIGINT" if pa.types.is_integer(field.type) else text) for field in schema)
    return f"({', '.join(f'{quote_name(name)} {kind}' for name, kind in each)})"
