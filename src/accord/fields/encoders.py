"""Values → codes and bits, a whole column chunk at a time.

`encode` never stops at a bad cell: it gives the column, and beside it, for each kind of fault, the rows that
have it. Values are rounded to the agreed step in IEEE double arithmetic, which is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.exact import text as written
from accord.fields.columns import Bits, Column, Integers
from accord.fields.folding import trim
from accord.fields.letters import spell
from accord.fields.making import Cells, Made, make
from accord.fields.schema import (
    Bloom,
    CategoryField,
    DateField,
    FieldSpec,
    Letters,
    NumberField,
    TextField,
)
from accord.fields.siphash import fill_filters, hash_texts, key
from accord.table.cell_text import to_text

Mask = NDArray[np.bool_]

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_EPOCH = date(1970, 1, 1)
_KEY = "name"
"""What all texts are hashed for: one key, so that texts of two fields can be compared."""


@dataclass
class Encoded:
    """A column, the rows it faults (by problem), and the rows that the field's policy leaves out (by
    reason)."""

    column: Column
    bad: dict[str, Mask] = field(default_factory=dict)
    left_out: dict[str, Mask] = field(default_factory=dict)
    unread: dict[str, Mask] = field(default_factory=dict)
    """By problem, the rows whose cells are taken for empty (`other = "missing"`)."""


@dataclass
class _Judged:
    """Codes of a chunk before the policies of the field are applied."""

    values: NDArray[np.int64]
    missing: Mask
    bad: dict[str, Mask]
    other: Mask


def encode(
    name: str,
    spec: FieldSpec,
    cells: pa.Array,
    salt: str,
    format: str | None = None,
) -> Encoded:
    """Encode the cells of one field, all of whose columns are this one."""
    columns = spec.columns(name)
    of = Cells(dict.fromkeys(columns, cells), dict.fromkeys(columns, format))
    return encode_made(name, spec, make(name, spec, of), salt)


def encode_made(name: str, spec: FieldSpec, made: Made, salt: str) -> Encoded:
    """Encode the values of one field."""
    whose = "" if spec.columns(name) == (name,) else f" (field '{name}')"
    if isinstance(spec, TextField):
        return _text(spec, made.values, salt, made.bad, whose)
    if isinstance(spec, CategoryField):
        judged = _category(spec, made.values, made.bad)
    elif isinstance(spec, DateField):
        judged = _date(spec, made.values, made.bad)
    else:
        judged = _number(spec, made.values, made.bad, whose)
    return _apply_policies(spec, judged, whose)


def _missing(cells: pa.Array) -> Mask:
    return np.asarray(pc.is_null(cells))


def _text(spec: TextField, text: pa.Array, salt: str, bad: dict[str, Mask], whose: str) -> Encoded:
    missing = _missing(text)
    filled = pc.fill_null(text, "")
    starts, octets = text_buffers(filled)
    if isinstance(spec.encoder, Letters):
        encoded, missing = _spelt(spec, spec.encoder, starts, octets, missing, bad, whose)
        return _missing_policy(spec, encoded, missing, whose)
    words = np.zeros((len(filled), (spec.bits + 63) // 64), np.uint64)
    k0, k1 = key(salt, _KEY)
    if isinstance(spec.encoder, Bloom):
        of = spec.encoder
        fill_filters(k0, k1, starts, octets, of.grams, of.hashes, of.bits, words)
    else:
        hash_texts(k0, k1, starts, octets, words)
        words[missing] = 0
    encoded = Encoded(Bits(words, spec.bits, ~missing), bad)
    if _other(spec) == "missing":
        missing = _forgo(encoded, missing, {})
    return _missing_policy(spec, encoded, missing, whose)


def _spelt(
    spec: TextField,
    of: Letters,
    starts: NDArray[np.int64],
    octets: NDArray[np.uint8],
    missing: Mask,
    bad: dict[str, Mask],
    whose: str,
) -> tuple[Encoded, Mask]:
    """The letters, and what is missing."""
    words, long, foreign = spell(starts, octets, of.alphabet, of.length)
    encoded = Encoded(Bits(words, spec.bits, ~missing), bad)
    others = {
        f"longer than the agreed {of.length} letters": long,
        "spelt with a letter outside the agreed alphabet": foreign & ~long,
    }
    if _other(spec) == "error":
        encoded.bad.update({f"is {problem}{whose}": rows for problem, rows in others.items()})
    elif spec.other == "skip":
        encoded.left_out.update(others)
    else:
        missing = _forgo(encoded, missing, others)
    return encoded, missing


def _other(spec: TextField | NumberField | CategoryField | DateField) -> str:
    """What becomes of a cell that cannot be read: where none may be missing, it is a fault of its own."""
    return "error" if spec.other == "missing" and spec.missing == "error" else spec.other


def _forgo(encoded: Encoded, missing: Mask, others: Mapping[str, Mask]) -> Mask:
    """What is bad, and these others, are empty cells from here on; what is missing then."""
    encoded.unread = encoded.bad | {f"is {problem}": rows for problem, rows in others.items()}
    encoded.bad = {}
    for rows in encoded.unread.values():
        missing = missing | rows
    column = encoded.column
    (column.words if isinstance(column, Bits) else column.values)[missing] = 0
    column.present[missing] = False
    return missing


def text_buffers(texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each text begins, and all UTF-8 octets; copies, since kernels take arrays that can be written."""
    plain = texts.cast(pa.large_string())
    _, offsets, data = plain.buffers()
    if offsets is None:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    starts = np.frombuffer(offsets, np.int64)[plain.offset : plain.offset + len(plain) + 1].copy()
    return starts, np.frombuffer(data, np.uint8).copy() if data is not None else np.zeros(0, np.uint8)


def _category(spec: CategoryField, text: pa.Array, bad: dict[str, Mask]) -> _Judged:
    missing = _missing(text)
    listed = pa.array(spec.compared(), pa.large_string())
    codes = np.asarray(pc.fill_null(pc.index_in(text, value_set=listed), -1)).astype(np.int64)
    other = (codes < 0) & ~missing
    if spec.other == "bin":
        codes[other] = spec.high
        other = np.zeros_like(other)
    return _Judged(codes, missing, bad, other)


def _number(spec: NumberField, cells: pa.Array, bad: dict[str, Mask], whose: str) -> _Judged:
    no_number = f"is not a number{whose}"
    if pa.types.is_boolean(cells.type):
        # True and false are texts in every home of a table, and in none numbers.
        cells = to_text(cells)
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        cells = trim(cells)
        wrong = np.asarray(pc.fill_null(pc.invert(pc.match_substring_regex(cells, _NUMBER)), False))
        bad[no_number] = wrong
        cells = pc.if_else(pa.array(wrong), pa.scalar(None, cells.type), cells)
        cells = pc.utf8_ltrim(cells, characters="+")
    try:
        numbers = np.asarray(pc.fill_null(cells.cast(pa.float64(), safe=False), 0.0))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        bad[no_number] = ~_missing(cells)
        numbers, cells = np.zeros(len(cells)), pa.nulls(len(cells))
    finite = np.isfinite(numbers)
    missing = _missing(cells)
    bad[no_number] = bad.get(no_number, np.zeros_like(missing)) | ~finite
    if spec.is_log:
        # Of 0 below every range.
        logs = np.full_like(numbers, float(spec.min) - 1)
        numbers = np.log10(np.abs(numbers), out=logs, where=finite & (numbers != 0))
    steps = np.rint(np.where(finite, numbers, 0.0) / float(spec.step)) - spec.first
    # Judged before rounding: 23.4 is not within 0 to 23.
    other = (numbers < float(spec.min)) | (numbers > float(spec.max)) | (steps < 0) | (steps > spec.high)
    return _Judged(np.where(other, 0, steps).astype(np.int64), missing, bad, other & ~missing & finite)


def _date(spec: DateField, days: pa.Array, bad: dict[str, Mask]) -> _Judged:
    missing = _missing(days)
    codes = np.asarray(pc.fill_null(days, 0)).astype(np.int64) - (spec.min - _EPOCH).days
    other = ((codes < 0) | (codes > spec.high)) & ~missing
    return _Judged(np.where(other, 0, codes), missing, bad, other)


def _apply_policies(spec: NumberField | CategoryField | DateField, judged: _Judged, whose: str) -> Encoded:
    """Turn what is missing or outside into faults or omissions, as the field says."""
    encoded = Encoded(Integers(judged.values, ~judged.missing), judged.bad)
    judged.values[judged.missing] = 0
    if _other(spec) == "error":
        encoded.bad[f"is {_outside(spec)}{whose}"] = judged.other
    elif spec.other == "skip":
        encoded.left_out[_outside(spec)] = judged.other
    elif _other(spec) == "missing":
        judged.missing = _forgo(encoded, judged.missing, {_outside(spec): judged.other})
    return _missing_policy(spec, encoded, judged.missing, whose)


def _missing_policy(spec: FieldSpec, encoded: Encoded, missing: Mask, whose: str) -> Encoded:
    for rows in encoded.bad.values():
        missing = missing & ~rows
    if spec.missing == "error":
        made = spec.clean or spec.missing_values or spec.derive is not None
        problem = "is empty, or gives no value" if made else "is empty"
        encoded.bad[f'{problem} (the agreement says missing = "error"){whose}'] = missing
    elif spec.missing == "skip":
        encoded.left_out["empty"] = missing
    return encoded


def _outside(spec: NumberField | CategoryField | DateField) -> str:
    if isinstance(spec, CategoryField):
        return "not in the agreed list of values"
    if isinstance(spec, DateField):
        return f"outside the agreed range {spec.min} to {spec.max}"
    if spec.is_log:
        return f"outside the agreed range {10 ** float(spec.min):g} to {10 ** float(spec.max):g}"
    return f"outside the agreed range {written(spec.min)} to {written(spec.max)}"
