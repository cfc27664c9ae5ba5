"""Rows of Python values → Arrow record batches of text, for drivers that speak no Arrow.

Every cell becomes text by itself, as a csv would have it, whatever the rows beside it hold. That all cells
of a batch were whole numbers is noted beside them, for whoever writes them into a table again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from accord.table.cell_text import from_python

_WHOLE = {b"accord": b"whole numbers"}


def batch_rows(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> pa.RecordBatch:
    """Some rows as a batch; there is at least one."""
    columns = list(zip(*rows, strict=True))
    made = [from_python(cells) for cells in columns]
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
