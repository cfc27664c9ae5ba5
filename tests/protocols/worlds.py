"""Small linkages for the tests of protocols: tables, agreements, and both sides with chosen dummies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.entropy import Entropy, Seeded
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.protocols import binned
from accord.protocols.base import Task, prepare
from accord.protocols.parts.journal import Answer
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.party import Buffer, Party, Wire, run_pair
from accord.side import Side

Rows = list[tuple[int, int]]
"""A record is a point (x, y) with 0 ≤ x, y ≤ 15; two of them match when they are at most 1 apart."""
Point = tuple[int | None, int | None]
Points = Sequence[Point]
"""Records that may lack a value."""
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


def table(rows: Points, prefix: str) -> pa.Table:
    x, y = (pa.array([row[i] for row in rows], pa.int64()) for i in range(2))
    return pa.table({"id": [f"{prefix}{i}" for i in range(len(rows))], "x": x, "y": y})


def records(rows: Points, agreed: Agreement, prefix: str = "r") -> Records:
    # Both sides show the same columns here.
    shown = dict.fromkeys(name for side in Side for name in agreed.kept_columns(side))
    return load_records(table(rows, prefix), agreed.fields, agreed.salt, tuple(shown))


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
    left, right = run_pair(run(agreed.task, own_a, chosen), run(agreed.task, own_b, chosen), wire=wire)
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


# -- routed ------------------------------------------------------------------------------------------------

Pairs = list[tuple[int, int]]
PARTS: dict[str, dict[str, Any]] = {
    "x": {"kind": "key", "field": "x"},
    "y": {"kind": "key", "field": "y"},
    "both": {"kind": "key", "field": ["x", "y"]},
    "grid": {"kind": "grid", "fields": ["x"], "cell": 4, "style": "replicate", "reach": 1},
    "square": {"kind": "grid", "fields": ["x", "y"], "cell": 4, "style": "replicate", "reach": 1},
}
some = st.none() | st.integers(0, 15)
few = st.none() | st.integers(4, 7)
tables = st.lists(st.tuples(some, some), min_size=1, max_size=14) | st.lists(
    st.tuples(few, few), min_size=1, max_size=9
)
chosen = st.lists(st.sampled_from(list(PARTS)), min_size=1, max_size=4).map(tuple)
askers = st.sampled_from([None, "A", "B"])

NOBODY: dict[str, Any] = {"A": [], "B": []}
X, Y = ({"column": name, "values": ["5", "6"]} for name in "xy")
ANSWERS: list[dict[str, Any]] = [
    {"answer": "count"},
    {"answer": "table", "by": {"A": X, "B": Y}},
    {"answer": "table", "by": {"B": X}},
    {"answer": "sum", "of": {"side": "A", "column": "y", "low": -2, "high": 9}},
    {"answer": "sum", "of": {"side": "B", "column": "x", "low": 5, "high": 14}},
]


def routed(*passes: str, caps: Any = None, rule: str = RULE, **options: Any) -> Agreement:
    """Points in these passes; `caps` is one for each of them."""
    blocking = {"pass": [{"parts": [PARTS[name]]} for name in passes]}
    for one, cap in zip(blocking["pass"], caps or [], strict=False):
        if cap is not None:
            one["cap"] = cap
    made = {"protocol": "routed", "rule": rule, "missing": "differs", "blocking": blocking}
    return agreement(**made | options)


def changed(agreed: Agreement, **changes: Any) -> Agreement:
    return Agreement.model_validate(agreed.model_dump(mode="json") | changes)


def one_to_one(agreed: Agreement) -> Agreement:
    """The same, in which matched records take no part in later passes."""
    return changed(agreed, one_to_one="pairs")


def asking(agreed: Agreement, output: dict[str, Any], noise: str | None = None) -> Agreement:
    """The same, with an answer."""
    more = {"exact": True} if noise is None else {"epsilon": noise}
    return changed(agreed, output=output | more, disclose=NOBODY)


def keys_of(name: str, side: Side, p: Point) -> set[Any]:
    """The keys of a record in a pass, on plain rows."""
    x, y = p
    match name:
        case "x" | "y":
            return {x if name == "x" else y} - {None}
        case "both":
            return {p} if x is not None and y is not None else set()
        case "grid":
            near = [] if x is None else [x] if side is Side.A else [x - 1, x, x + 1]
            return {w // 4 for w in near if 0 <= w <= 15}
        case _:
            if x is None or y is None:
                return set()
            moves = [(0, 0)] if side is Side.A else [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)]
            return {((x + u) // 4, (y + v) // 4) for u, v in moves}


def meet(name: str, p: Point, q: Point) -> bool:
    """Whether a record of A and one of B have a key of a pass in common."""
    return bool(keys_of(name, Side.A, p) & keys_of(name, Side.B, q))


def holds(p: Point, q: Point) -> bool:
    (x, y), (u, v) = p, q
    return None not in (x, y, u, v) and (x - u) ** 2 + (y - v) ** 2 <= 1  # type: ignore[operator]


def oracle(names: Sequence[str], a: Points, b: Points) -> Pairs:
    """What is found without full keys."""
    every = product(range(len(a)), range(len(b)))
    return [(i, j) for i, j in every if holds(a[i], b[j]) and any(meet(n, a[i], b[j]) for n in names)]


def sides(agreed: Agreement, a: Points, b: Points, seed: int = 5) -> dict[Side, OwnSide]:
    """Both sides with these coins."""
    entropy = Seeded(seed)
    return {
        Side.A: side(agreed, Side.A, a, entropy, partner=len(b)),  # type: ignore[arg-type]
        Side.B: side(agreed, Side.B, b, entropy, partner=len(a)),  # type: ignore[arg-type]
    }


def join(agreed: Agreement, a: Points, b: Points, seed: int = 0, engine: Engine | None = None) -> Pairs:
    """What both sides come to, which is the same."""
    left, right, _ = link(agreed, a, b, seed, engine=engine)  # type: ignore[arg-type]
    assert pairs_of_a(left) == pairs_of_b(right)
    assert left.digest == right.digest
    assert left.comparisons == right.comparisons
    return pairs_of_a(left)


def answer(agreed: Agreement, a: Points, b: Points, seed: int = 0, engine: Engine | None = None) -> list[int]:
    """The numbers that both sides have."""
    left, right, _ = link(agreed, a, b, seed, engine=engine)  # type: ignore[arg-type]
    assert left.digest == right.digest
    assert values(left) == values(right)
    return values(left)


def values(outcome: Outcome) -> list[int]:
    assert outcome.answer is not None
    assert outcome.matches is None
    assert not len(outcome.pairs)
    return [cell.value for cell in outcome.answer.cells]


@dataclass
class Kept:
    """A journal in memory, of which a partner has so many steps, too."""

    answers: list[bytes] = field(default_factory=list)
    shared: int = 0
    place: int = 0

    @property
    def again(self) -> int:
        return max(0, len(self.answers) - self.place)

    def recall(self) -> Buffer | None:
        if self.place >= self.shared:
            return None
        self.place += 1
        return self.answers[self.place - 1]

    def keep(self, answer: Answer) -> None:
        whole = b"".join(bytes(part) for part in answer)
        if self.place < len(self.answers):
            assert self.answers[self.place] == whole, "another answer than before"
        else:
            self.answers.append(whole)
        self.place += 1

    def cut(self, steps: int, shared: int) -> Kept:
        return Kept(self.answers[:steps], shared)
