"""Rows of Python values → Arrow record batches of text, for drivers that speak no Arrow.

Every cell becomes text by itself, as a csv would have it, so that the batches of a table have one type
whatever a row holds. Raw bytes are no text: they stay what they are, for whoever judges the column. That all
cells of a batch were whole numbers is noted beside them, for whoever writes them into a table again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

import pyarrow as pa

_WHOLE = {b"accord": b"whole numbers"}


def batch_rows(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> pa.RecordBatch:
    """Some rows as a batch; there is at least one."""
    columns = list(zip(*rows, strict=True))
    made = [_column(cells) for cells in columns]
    fields = [
        pa.field(name, column.type, metadata=_WHOLE if _are_whole(cells) else None)
        for name, column, cells in zip(names, made, columns, strict=True)
    ]
    return pa.record_batch(made, schema=pa.schema(fields))


def is_whole(field: pa.Field) -> bool:
    """Whether a column of a batch holds, or held, whole numbers that every database has, too."""
    if field.metadata is not None and _WHOLE.items() <= field.metadata.items():
        return True
    return pa.types.is_integer(field.type) and not pa.types.is_uint64(field.type)


def _are_whole(cells: Sequence[Any]) -> bool:
    return set(map(type, cells)) == {int} and min(cells) >= -(1 << 63) and max(cells) < 1 << 63


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
