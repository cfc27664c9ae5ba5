"""A cell as text: one rule for values of Arrow and of Python, so that one table has one digest from any home.

    nothing, or a text of no letters   no text
    true and false                     `true`, `false`
    a float that is whole              as the whole number, up to 2⁵³; any other as Arrow writes it
    a decimal number                   all its digits, with no exponent
    a moment at midnight               its day, `2026-01-31`; whether others are at midnight is not asked
    any other moment, and a time       `2026-01-31 12:30:00`, and behind a point what there is of a second
    a moment in a time zone            in UTC, `2026-01-31 12:30:00+00:00`; at midnight, too

Raw bytes and nested values are no text. A column of SQLite's may have some among texts: it is `MIXED`, so
that they are faults of their own and change nothing of the cells beside them.

Rows of SQLite, which speaks no Arrow, become batches of text: every cell by itself, as a csv would have it,
whatever the rows beside it hold. That all cells of a batch were whole numbers is noted beside them, for
whoever writes them into a table again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_TEXT = pa.large_string()
_MOST_WHOLE = 2**53
MIXED = pa.struct([pa.field("accord: text", _TEXT), pa.field("accord: no text", _TEXT)])
"""Cells of text among others that are raw bytes or nested, of which only the kind is known."""
_BYTES = "large_binary"
_WHOLE = {b"accord": b"whole numbers"}


def to_text(cells: pa.Array) -> pa.Array:
    """Arrow's cells as text; null where they are empty or have none."""
    if cells.type == MIXED:
        texts = pc.struct_field(cells, 0)
    elif is_no_text(cells.type):
        return pa.nulls(len(cells), _TEXT)
    else:
        texts = _writer(cells.type)(cells)
    empty = pc.equal(texts, "")
    return pc.if_else(empty, pa.scalar(None, _TEXT), texts) if pc.any(empty).as_py() else texts


def is_no_text(kind: pa.DataType) -> bool:
    """Whether a column has raw bytes, nested values or what nobody writes in one way."""
    is_binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    is_binary = is_binary or pa.types.is_fixed_size_binary(kind)
    return is_binary or pa.types.is_interval(kind) or (pa.types.is_nested(kind) and kind != MIXED)


def without_text(cells: pa.Array) -> dict[str, NDArray[np.bool_]]:
    """By its kind, which cells hold something that is no text."""
    if cells.type != MIXED:
        return {str(cells.type): np.asarray(pc.is_valid(cells))} if is_no_text(cells.type) else {}
    kinds = pc.struct_field(cells, 1)
    known = dict.fromkeys([_BYTES, *kinds.unique().drop_null().to_pylist()])
    return {kind: np.asarray(pc.fill_null(pc.equal(kinds, kind), False)) for kind in known}


def among_text(texts: pa.Array, odd: Sequence[Mapping[str, NDArray[np.bool_]]]) -> pa.Array:
    """Texts of which some rows, by kind, were made of something that is no text: `MIXED`."""
    kinds = pa.nulls(len(texts), _TEXT)
    for kind, rows in (found for one in odd for found in one.items()):
        kinds = pc.if_else(pa.array(rows), pa.scalar(kind, _TEXT), kinds)
    bare = pc.if_else(pc.is_null(kinds), texts, pa.scalar(None, _TEXT))
    return pa.StructArray.from_arrays([bare, kinds], fields=list(MIXED))


def from_python(cells: Sequence[Any]) -> pa.Array:
    """Python's cells as a column of text, each by itself; `MIXED` if some have none."""
    kinds = set(map(type, cells)) - {type(None)}
    if kinds <= {str}:
        return pa.array(cells, _TEXT)
    if kinds == {float}:
        return to_text(pa.array(cells, pa.float64()))
    odd = [_BYTES if isinstance(cell, bytes) else None for cell in cells]
    # What a text is without its letters is judged later, with those that came as texts.
    pairs = zip(cells, odd, strict=True)
    texts = pa.array(
        [None if kind else cell if isinstance(cell, str) else as_text(cell) for cell, kind in pairs], _TEXT
    )
    if not any(odd):
        return texts
    return pa.StructArray.from_arrays([texts, pa.array(odd, _TEXT)], fields=list(MIXED))


def as_text(cell: Any) -> str | None:
    """A cell of SQLite or of a workbook, which is no raw bytes, as text."""
    if isinstance(cell, str) or cell is None:
        return cell or None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        written: str = _write_floats(pa.array([cell], pa.float64()))[0].as_py()
        return written
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else _short(cell.isoformat(" "))
    if isinstance(cell, time):
        return _short(cell.isoformat())
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def _short(text: str) -> str:
    """A time without zeros at the end of its fraction."""
    return re.sub(r"\.?0+$", "", text) if "." in text else text


def _writer(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    if pa.types.is_floating(kind):
        return _write_floats
    if pa.types.is_decimal(kind):
        return _write_decimals
    if pa.types.is_timestamp(kind):
        return _write_moments if kind.tz is None else _write_zoned
    return _without_zeros if pa.types.is_time(kind) else _write


def _write(cells: pa.Array) -> pa.Array:
    try:
        return cells.cast(_TEXT)
    except pa.ArrowNotImplementedError:
        return pa.nulls(len(cells), _TEXT)


def _write_floats(cells: pa.Array) -> pa.Array:
    numbers = cells.cast(pa.float64())
    whole = pc.and_(pc.equal(numbers, pc.trunc(numbers)), pc.less(pc.abs(numbers), float(_MOST_WHOLE)))
    whole = pc.fill_null(whole, False)
    integers = pc.if_else(whole, numbers, 0.0).cast(pa.int64())
    return pc.if_else(whole, integers.cast(_TEXT), cells.cast(_TEXT))


def _write_decimals(cells: pa.Array) -> pa.Array:
    texts = cells.cast(_TEXT)
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return texts
    return pa.array([None if cell is None else f"{cell:f}" for cell in cells.to_pylist()], _TEXT)


def _write_moments(cells: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(_without_zeros(cells), r" 00:00:00$", "")


def _write_zoned(cells: pa.Array) -> pa.Array:
    naive = cells.cast(pa.timestamp(cells.type.unit, "UTC")).cast(pa.timestamp(cells.type.unit))
    return pc.binary_join_element_wise(
        _without_zeros(naive), pa.scalar("+00:00", _TEXT), pa.scalar("", _TEXT)
    )


def _without_zeros(cells: pa.Array) -> pa.Array:
    """Times without zeros at the end of their fractions, and without a point if nothing is left of them."""
    texts = _write(cells)
    shorter = pc.replace_substring_regex(texts, r"(\.\d*?)0+$", r"\1")
    return pc.replace_substring_regex(shorter, r"\.$", "")


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
