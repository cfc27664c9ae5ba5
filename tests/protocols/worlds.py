"""Small linkages for the tests of protocols: tables, agreements, and both sides with chosen dummies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.entropy import Entropy, Seeded
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.protocols import binned
from accord.protocols.base import Task, prepare
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.party import Party, Wire, run_pair
from accord.side import Side

Rows = list[tuple[int, int]]
"""A record is a point (x, y) with 0 ≤ x, y ≤ 15; two of them match when they are at most 1 apart."""
RULE = "euclidean(x, y) <= 1"
WITHOUT_INDEX = f"not not {RULE}"
"""The same rule, in a form that offers nothing to look matches up by."""


def agreement(**options: Any) -> Agreement:
    """Points on a grid of 4 × 4 cells, or in another blocking; `style`, `protocol` and its options can be
    chosen."""
    style, name = options.pop("style", "neighbours"), options.pop("protocol", "laplace")
    rule = options.pop("rule", RULE)
    whole = name in ("all-pairs", "psi")
    promised = not whole and name != "routed"
    privacy = {"epsilon": "1", "delta": "1e-3", "noise": "geometric"}
    grid: dict[str, Any] = {"kind": "grid", "fields": ["x", "y"], "cell": 4, "style": style}
    blocking = options.pop("blocking", [grid | ({"reach": 1} if style == "replicate" else {})])
    number = {"type": "number", "min": 0, "max": 15, "step": 1, "missing": options.pop("missing", "error")}
    return Agreement.model_validate(
        {
            "version": 2,
            "salt": "00000000",
            "parties": {"A": "alice", "B": "bob"},
            "fields": {"x": number, "y": number},
            "rule": rule,
            "blocking": [] if whole else blocking,
            "protocol": {"name": name, **({"A": privacy, "B": privacy} if promised else {}), **options},
            "disclose": {"A": ["x", "y"], "B": ["x", "y"]},
            "engine": "ot",
        }
    )


def passes(*names: str) -> dict[str, Any]:
    """A blocking of passes: by x, by y, by both hashed together, on a grid."""
    parts = {
        "x": {"kind": "key", "field": "x"},
        "y": {"kind": "key", "field": "y", "buckets": 5},
        "both": {"kind": "key", "field": ["x", "y"], "buckets": 7},
        "grid": {"kind": "grid", "fields": ["x"], "cell": 4, "style": "replicate", "reach": 1},
        "around": {"kind": "grid", "fields": ["y"], "cell": 4, "style": "neighbours"},
    }
    return {"pass": [{"parts": [parts[name]]} for name in names]}


def records(rows: Rows, agreed: Agreement, prefix: str = "r") -> Records:
    table = pa.table(
        {
            "id": [f"{prefix}{i}" for i in range(len(rows))],
            "x": pa.array([x for x, _ in rows], pa.int64()),
            "y": pa.array([y for _, y in rows], pa.int64()),
        }
    )
    # Both sides show the same columns here.
    shown = dict.fromkeys(name for side in Side for name in agreed.kept_columns(side))
    return load_records(table, agreed.fields, agreed.salt, tuple(shown))


def side(
    agreed: Agreement,
    which: Side,
    rows: Rows,
    entropy: Entropy,
    dummies: int | NDArray[np.int64] = 2,
    partner: int = 1000,
) -> OwnSide:
    """One side with this many dummies in every bin, against a table of this size; none for all-pairs."""
    if isinstance(dummies, int):
        few = dummies if agreed.protocol.name == "laplace" else 0
        dummies = np.full(agreed.plan.bins, few, np.int64)
    return prepare(
        agreed.task, which, records(rows, agreed, which.value), partner, dummies, entropy.stream(which.value)
    )


def run(task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
    """One side of the task's protocol."""
    return task.protocol.party(task, mine, engine)


@contextmanager
def slabs(rows: int) -> Iterator[None]:
    """Meanwhile so many rows of a bin, at the most, are compared before the matched ones are cleaned."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binned, "SLAB", rows)
        yield


def link(
    agreed: Agreement, a: Rows, b: Rows, seed: int = 0, dummies: int = 2, engine: Engine | None = None
) -> tuple[Outcome, Outcome, Wire]:
    """Both sides in this thread."""
    entropy, wire = Seeded(seed), Wire()
    chosen = engine or IdealEngine()
    own_a = side(agreed, Side.A, a, entropy, dummies, len(b))
    own_b = side(agreed, Side.B, b, entropy, dummies, len(a))
    left, right = run_pair(run(agreed.task, own_a, chosen), run(agreed.task, own_b, chosen), wire)
    return left, right, wire


def pairs_of_a(outcome: Outcome) -> list[tuple[int, int]]:
    """Side A's output as positions in both tables."""
    partner = [int(name[1:]) for name in outcome.partner_ids.to_pylist()]
    return sorted((int(i), partner[j]) for i, j in zip(outcome.own, outcome.partner, strict=True))


def pairs_of_b(outcome: Outcome) -> list[tuple[int, int]]:
    return sorted((i, j) for j, i in pairs_of_a(outcome))


def textbook(a: Rows, b: Rows) -> list[tuple[int, int]]:
    """Every matching pair, by the formula."""
    return [
        (i, j) for i, (x, y) in enumerate(a) for j, (u, v) in enumerate(b) if (x - u) ** 2 + (y - v) ** 2 <= 1
    ]


def compared(agreed: Agreement, a: Rows, b: Rows) -> set[tuple[int, int]]:
    """The pairs of real records that the blocking brings together."""
    from accord.rules.evaluate import Tables

    left, right = records(a, agreed), records(b, agreed)
    i, j = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    met = agreed.plan.compares(Tables(agreed.fields, left.columns, right.columns), i, j)
    return set(zip(i[met].tolist(), j[met].tolist(), strict=True))
