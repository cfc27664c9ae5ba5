"""Cells → codes and bits, a whole column chunk at a time.

`encode` never stops at a bad cell: it gives the column, and beside it, for each kind of fault, the rows that
have it. Values are rounded to the agreed step in IEEE double arithmetic, which is the same on every machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.exact import text as written
from accord.records.columns import Bits, Column, Integers
from accord.records.folding import fold, fold_list, trim
from accord.records.schema import Bloom, CategoryField, DateField, FieldSpec, NumberField, TextField
from accord.records.siphash import fill_filters, hash_texts, key

Mask = NDArray[np.bool_]

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_EPOCH = date(1970, 1, 1)


@dataclass
class Encoded:
    """A column, the rows it faults (by problem), and the rows that the field's policy leaves out (by
    reason)."""

    column: Column
    bad: dict[str, Mask] = field(default_factory=dict)
    left_out: dict[str, Mask] = field(default_factory=dict)


@dataclass
class _Judged:
    """Codes of a chunk before the policies of the field are applied."""

    values: NDArray[np.int64]
    missing: Mask
    bad: dict[str, Mask]
    other: Mask


def encode(name: str, spec: FieldSpec, cells: pa.Array, salt: str, format: str | None = None) -> Encoded:
    """Encode the cells of one field."""
    bad: dict[str, Mask] = {}
    cells = _readable(cells, bad)
    if isinstance(spec, TextField):
        return _text(name, spec, cells, salt, bad)
    if isinstance(spec, CategoryField):
        judged = _category(spec, cells, bad)
    elif isinstance(spec, DateField):
        judged = _date(spec, cells, format, bad)
    else:
        judged = _number(spec, cells, bad)
    return _apply_policies(spec, judged)


def _readable(cells: pa.Array, bad: dict[str, Mask]) -> pa.Array:
    """Cells that can be compared; raw bytes and nested values become missing and are noted."""
    kind = cells.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_nested(kind):
        bad[f"holds {kind} values, which cannot be compared; store text, numbers or dates"] = ~_missing(cells)
        return pa.nulls(len(cells), pa.large_string())
    return cells


def _missing(cells: pa.Array) -> Mask:
    return np.asarray(pc.is_null(cells))


def _text(name: str, spec: TextField, cells: pa.Array, salt: str, bad: dict[str, Mask]) -> Encoded:
    text = fold(cells)
    missing = _missing(text)
    filled = pc.fill_null(text, "")
    starts, octets = text_buffers(filled)
    words = np.zeros((len(filled), (spec.bits + 63) // 64), np.uint64)
    k0, k1 = key(salt, spec.hash_key or name)
    if isinstance(spec.encoder, Bloom):
        of = spec.encoder
        fill_filters(k0, k1, starts, octets, of.grams, of.hashes, of.bits, words)
    else:
        hash_texts(k0, k1, starts, octets, words)
        words[missing] = 0
    return _missing_policy(spec, Encoded(Bits(words, spec.bits, ~missing), bad), missing)


def text_buffers(texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each text begins, and all UTF-8 octets; copies, since kernels take arrays that can be written."""
    plain = texts.cast(pa.large_string())
    _, offsets, data = plain.buffers()
    if offsets is None:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    starts = np.frombuffer(offsets, np.int64)[plain.offset : plain.offset + len(plain) + 1].copy()
    return starts, np.frombuffer(data, np.uint8).copy() if data is not None else np.zeros(0, np.uint8)


def _category(spec: CategoryField, cells: pa.Array, bad: dict[str, Mask]) -> _Judged:
    text = fold(cells)
    missing = _missing(text)
    listed = pa.array(fold_list(spec.values), pa.large_string())
    codes = np.asarray(pc.fill_null(pc.index_in(text, value_set=listed), -1)).astype(np.int64)
    other = (codes < 0) & ~missing
    if spec.other == "bin":
        codes[other] = spec.high
        other = np.zeros_like(other)
    return _Judged(codes, missing, bad, other)


def _number(spec: NumberField, cells: pa.Array, bad: dict[str, Mask]) -> _Judged:
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        cells = trim(cells)
        wrong = np.asarray(pc.fill_null(pc.invert(pc.match_substring_regex(cells, _NUMBER)), False))
        bad["is not a number"] = wrong
        cells = pc.if_else(pa.array(wrong), pa.scalar(None, cells.type), cells)
        cells = pc.utf8_ltrim(cells, characters="+")
    try:
        numbers = np.asarray(pc.fill_null(cells.cast(pa.float64(), safe=False), 0.0))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        bad["is not a number"] = ~_missing(cells)
        numbers, cells = np.zeros(len(cells)), pa.nulls(len(cells))
    finite = np.isfinite(numbers)
    missing = _missing(cells)
    bad["is not a number"] = bad.get("is not a number", np.zeros_like(missing)) | ~finite
    steps = np.rint(np.where(finite, numbers, 0.0) / float(spec.step)) - spec.first
    # Judged before rounding: 23.4 is not within 0 to 23.
    other = (numbers < float(spec.min)) | (numbers > float(spec.max)) | (steps < 0) | (steps > spec.high)
    return _Judged(np.where(other, 0, steps).astype(np.int64), missing, bad, other & ~missing & finite)


def _date(spec: DateField, cells: pa.Array, format: str | None, bad: dict[str, Mask]) -> _Judged:
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        cells = trim(cells)
        given = ~_missing(cells)
        cells = _parse_dates(cells, format or "%Y-%m-%d")
        how = format or "YYYY-MM-DD"
        bad[f"is not a date written as {how}; `accord check` finds another format, `format=` names it"] = (
            given & _missing(cells)
        )
    if pa.types.is_timestamp(cells.type) and cells.type.tz is not None:
        bad["is a moment in a time zone, not a day; store days"] = ~_missing(cells)
        cells = pa.nulls(len(cells), pa.date32())
    try:
        days = cells.cast(pa.date32(), safe=False).cast(pa.int32())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        bad["is not a date"] = ~_missing(cells)
        days = pa.nulls(len(cells), pa.int32())
    missing = _missing(days)
    codes = np.asarray(pc.fill_null(days, 0)).astype(np.int64) - (spec.min - _EPOCH).days
    other = ((codes < 0) | (codes > spec.high)) & ~missing
    return _Judged(np.where(other, 0, codes), missing, bad, other)


def _parse_dates(cells: pa.Array, format: str) -> pa.Array:
    """Texts as dates, null where they are none; each distinct text is parsed once.

    By Python, because Arrow's own parser takes 30 February for 2 March.
    """
    distinct = cells.dictionary_encode()
    dates = pa.array([parse_date(value, format) for value in distinct.dictionary.to_pylist()], pa.date32())
    return dates.take(distinct.indices)


def parse_date(value: str, format: str) -> date | None:
    """The day that a text is in this format; None if it is none."""
    try:
        return datetime.strptime(value, format).date()
    except (ValueError, re.error):
        return None


def _apply_policies(spec: NumberField | CategoryField | DateField, judged: _Judged) -> Encoded:
    """Turn what is missing or outside into faults or omissions, as the field says."""
    encoded = Encoded(Integers(judged.values, ~judged.missing), judged.bad)
    judged.values[judged.missing] = 0
    if spec.other == "error":
        encoded.bad[f"is {_outside(spec)}"] = judged.other
    elif spec.other == "skip":
        encoded.left_out[_outside(spec)] = judged.other
    return _missing_policy(spec, encoded, judged.missing)


def _missing_policy(spec: FieldSpec, encoded: Encoded, missing: Mask) -> Encoded:
    for rows in encoded.bad.values():
        missing = missing & ~rows
    if spec.missing == "error":
        encoded.bad['is empty (the agreement says missing = "error")'] = missing
    elif spec.missing == "skip":
        encoded.left_out["empty"] = missing
    return encoded


def _outside(spec: NumberField | CategoryField | DateField) -> str:
    if isinstance(spec, CategoryField):
        return "not in the agreed list of values"
    if isinstance(spec, DateField):
        return f"outside the agreed range {spec.min} to {spec.max}"
    return f"outside the agreed range {written(spec.min)} to {written(spec.max)}"
