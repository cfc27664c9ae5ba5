"""A rule in the clear: its answer for whole arrays of pairs.

One party's own view after a match is disclosed, `simulate`, and the tests of every secure engine rest on it.
Later parts of a conjunction see only the pairs that the earlier ones left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.fields.columns import Bits, Columns, Integers
from accord.fields.schema import Letters, TextField
from accord.rules.distances import (
    add_squared_difference,
    cosine_at_least,
    edits_at_most,
    hamming_at_most,
    mismatches_at_most,
    overlap_at_least,
    words_equal,
)
from accord.rules.rule import (
    And,
    Edit,
    Euclidean,
    Hamming,
    Levels,
    Mismatches,
    Missing,
    Not,
    Or,
    Rule,
    Same,
    Score,
    Similar,
    Within,
    predicates,
    read_by,
)
from accord.rules.thresholds import Fields, linear_weights, squared_steps, within_steps
from accord.side import Side

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Tables:
    """Both sides' columns under the agreed fields."""

    fields: Fields
    a: Columns
    b: Columns


def holds(rule: Rule, tables: Tables, left: Indices, right: Indices) -> Mask:
    """Whether the rule holds, for each pair (row left[i] of A, row right[i] of B)."""
    match rule:
        case And(parts):
            alive = np.arange(len(left))
            for part in parts:
                alive = alive[holds(part, tables, left[alive], right[alive])]
            return _mask(alive, len(left))
        case Or(parts):
            open_ = np.arange(len(left))
            for part in parts:
                open_ = open_[~holds(part, tables, left[open_], right[open_])]
            return ~_mask(open_, len(left))
        case Not(part):
            return ~holds(part, tables, left, right)
        case Score(comparisons, least):
            return scores(comparisons, tables, left, right) >= least
        case Missing():
            return ~_present(rule, tables, left, right)
        case _:
            return _predicate(rule, tables, left, right) & _present(rule, tables, left, right)


def scores(
    comparisons: tuple[Levels, ...], tables: Tables, left: Indices, right: Indices
) -> NDArray[np.int64]:
    """The sum of weights of each pair."""
    total = np.zeros(len(left), np.int64)
    for each in comparisons:
        open_ = np.arange(len(left))
        for level in each.levels:
            held = holds(level.when, tables, left[open_], right[open_])
            total[open_[held]] += level.weight
            open_ = open_[~held]
        total[open_] += each.otherwise
    return total


def _mask(indices: Indices, length: int) -> Mask:
    mask = np.zeros(length, np.bool_)
    mask[indices] = True
    return mask


def _present(rule: Rule, tables: Tables, left: Indices, right: Indices) -> Mask:
    """Whether every value that the predicate reads is there."""
    present = np.ones(len(left), np.bool_)
    for predicate in predicates(rule):
        for side, columns, rows in ((Side.A, tables.a, left), (Side.B, tables.b, right)):
            for name in read_by(side, predicate):
                if not columns[name].present.all():
                    present &= columns[name].present[rows]
    return present


def _predicate(rule: Rule, tables: Tables, left: Indices, right: Indices) -> Mask:
    out = np.empty(len(left), np.bool_)
    match rule:
        case Same(of_a, field_b=of_b):
            a, b = tables.a[of_a], tables.b[of_b]
            if isinstance(a, Integers) and isinstance(b, Integers):
                return a.values[left] == b.values[right]
            words_equal(*_words(tables, of_a, of_b), left, right, out)
        case Hamming(of_a, bound, field_b=of_b):
            hamming_at_most(*_words(tables, of_a, of_b), left, right, bound, out)
        case Edit(of_a, bound, field_b=of_b):
            edits_at_most(*_words(tables, of_a, of_b), left, right, *_shape(tables, of_a), bound, out)
        case Mismatches(of_a, bound, field_b=of_b):
            mismatches_at_most(*_words(tables, of_a, of_b), left, right, *_shape(tables, of_a), bound, out)
        case Similar("cosine", of_a, similarity, field_b=of_b):
            p, q = similarity.numerator, similarity.denominator
            cosine_at_least(*_words(tables, of_a, of_b), left, right, p, q, out)
        case Similar(_, of_a, _, field_b=of_b):
            overlap_at_least(*_words(tables, of_a, of_b), left, right, *linear_weights(rule), out)
        case Within(of_a, field_b=of_b):
            a_values, b_values = _values(tables, of_a, of_b)
            return np.abs(a_values[left] - b_values[right]) <= within_steps(rule, tables.fields)
        case Euclidean(fields):
            return squared_distance(tables, fields, left, right) <= squared_steps(rule, tables.fields)
        case _:
            raise TypeError(f"not a rule: {type(rule).__name__}")
    return out


def squared_distance(
    tables: Tables, fields: tuple[str, ...], left: Indices, right: Indices
) -> NDArray[np.int64]:
    """Σ (a − b)² over fields of integers."""
    total = np.zeros(len(left), np.int64)
    for field in fields:
        add_squared_difference(*_values(tables, field, field), left, right, total)
    return total


def _words(tables: Tables, of_a: str, of_b: str) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    a, b = tables.a[of_a], tables.b[of_b]
    if not (isinstance(a, Bits) and isinstance(b, Bits)):
        raise TypeError(f"{of_a} or {of_b} is no field of bits")
    return a.words, b.words


def _shape(tables: Tables, field: str) -> tuple[int, int]:
    """How many letters a text has at most, and the bits of one; B's field has the same (check.py)."""
    spec = tables.fields[field]
    if not (isinstance(spec, TextField) and isinstance(spec.encoder, Letters)):
        raise TypeError(f"{field} is no field of letters")
    return spec.encoder.length, spec.encoder.bits


def _values(tables: Tables, of_a: str, of_b: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    a, b = tables.a[of_a], tables.b[of_b]
    if not (isinstance(a, Integers) and isinstance(b, Integers)):
        raise TypeError(f"{of_a} or {of_b} is no field of integers")
    return a.values, b.values
