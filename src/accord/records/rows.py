"""Rows of Python values → Arrow record batches of text, for drivers that speak no Arrow.

Every cell becomes text by itself, as a csv would have it, so that the batches of a table have one type
whatever a row holds. Raw bytes are no text: they stay what they are, for whoever judges the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

import pyarrow as pa


def batch_rows(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> pa.RecordBatch:
    """Some rows as a batch; there is at least one."""
    columns = zip(*rows, strict=True)
    return pa.record_batch([_column(cells) for cells in columns], names=list(names))


def _column(cells: Sequence[Any]) -> pa.Array:
    kinds = set(map(type, cells)) - {type(None)}
    if kinds <= {str}:
        return pa.array(cells, pa.large_string())
    if kinds & {bytes, bytearray, memoryview}:
        return pa.array([_octets(cell) for cell in cells], pa.large_binary())
    texts = [cell if isinstance(cell, str) else as_text(cell) for cell in cells]
    return pa.array(texts, pa.large_string())


def _octets(cell: Any) -> bytes | None:
    return bytes(cell) if isinstance(cell, bytes | bytearray | memoryview) else None


def as_text(cell: Any) -> str | None:
    """A cell as a csv would have it; what is empty is None."""
    if isinstance(cell, str) or cell is None:
        return cell or None
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, datetime):
        # A day in some time zone is no day everywhere: it stays a moment.
        is_day = cell.time() == time() and cell.tzinfo is None
        return cell.date().isoformat() if is_day else cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)
