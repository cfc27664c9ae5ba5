"""Answers of the agreement that a table refutes: how many values a field has, and copies of a person.

Keys, caps and weights follow from these answers. A wrong one costs matches, and leaves records uncovered.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from accord.agreement.document import Agreement
from accord.errors import Fault
from accord.fields.cardinality import MEANINGS, classify, contradicts
from accord.fields.columns import Bits, Column, Records, rows_of
from accord.ranges import mix
from accord.rules.evaluate import Tables, holds
from accord.rules.join import candidates
from accord.side import Side

_LOOKED_AT = 2_000
"""Records whose copies are looked for."""
_MOST_TRIED = 20_000_000
"""Pairs that are tried at the most."""
_MORE_COPIES = 0.25
"""The least share of records with more copies than agreed that contradicts the agreement."""


def contradictions(agreement: Agreement, side: Side | None, records: Records) -> Iterator[Fault]:
    """All that a table refutes."""
    expected, sides = agreement.expected, [side] if side is not None else [*Side]
    agreed = 1 if expected is None else max(expected.copies.of(one) for one in sides)
    for name, spec in agreement.fields.items():
        if spec.cardinality is None or spec.columns(name) != (name,):
            continue
        column = records.columns[name]
        filled = int(column.present.sum())
        distinct = _count_distinct(column)
        if contradicts(spec.cardinality, distinct, filled, agreed):
            own = classify(distinct, filled, agreed)
            absent = f" Another coding? `accord init --absent {name}`." if spec.missing == "differs" else ""
            yield Fault(
                f"field '{name}'",
                f"has {MEANINGS[own]} in your table, and {MEANINGS[spec.cardinality]} in the agreement.",
                f"Right column? Agree on its class: `accord init --field {name}.cardinality={own}`.{absent}",
            )
    if fault := _find_copies(agreement, agreed, records):
        yield fault


def _count_distinct(column: Column) -> int:
    if not isinstance(column, Bits):
        return len(np.unique(column.values[column.present]))
    words = column.words[column.present]
    hashed = np.zeros(len(words), np.uint64)
    for word in words.T:
        hashed = mix(hashed, np.ascontiguousarray(word))
    return len(np.unique(hashed))


def _find_copies(agreement: Agreement, agreed: int, records: Records) -> Fault | None:
    """The fault that too many records match more others of their table than agreed."""
    count = len(records)
    if agreement.expected is None or not agreement.passes or count < 2:
        return None
    rows = np.sort(np.random.default_rng(0).permutation(count)[:_LOOKED_AT])
    some = {name: rows_of(column, rows) for name, column in records.columns.items()}
    tables, copies, tried = Tables(agreement.fields, some, records.columns), np.zeros(len(rows), np.int64), 0
    for left, right in candidates(tables, (len(rows), count), agreement.plan):
        accepted = holds(agreement.rule, tables, left, right)
        copies += np.bincount(left[accepted], minlength=len(rows))
        tried += len(left)
        if tried > _MOST_TRIED:
            break
    # Each record matches itself, if anything.
    over = int((copies > agreed).sum())
    if over <= _MORE_COPIES * len(rows):
        return None
    usual = int(np.quantile(copies, 0.98, method="higher"))
    return Fault(
        "",
        f"The rule takes at least {over / len(rows):.0%} of your records for {agreed} or more others of your "
        f"own table. The agreement expects at most {agreed} of one person or thing.",
        f"If they are copies, agree on {usual}, with `accord init --copies`. If they are relatives or "
        "branches, the rule must ask for more: `accord init --precision 0.99`, or another field.",
    )
