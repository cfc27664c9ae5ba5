"""A series between two organisations over TLS: each record is paid for once, and what is new is compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from accord.errors import UsageError
from accord.privacy.events import NO_COST
from accord.session.ledger import Ledger
from accord.session.link import Linked
from accord.session.store import list_runs
from tests.protocols.test_batches import Table
from tests.protocols.test_series import agreement
from tests.session import worlds

Both = tuple[worlds.Organisation, worlds.Organisation]
A_TABLES: list[Table] = [
    {"p": (1, 1), "q": (9, 9)},
    {"p": (1, 1), "q": (9, 9), "r": (5, 6)},
    {"q": (9, 9), "r": (5, 6), "s": (2, 2), "t": (12, 12)},
]
B_TABLES: list[Table] = [
    {"u": (1, 2), "w": (15, 0)},
    {"u": (1, 2), "w": (15, 0), "x": (9, 8)},
    {"u": (1, 2), "x": (9, 8), "y": (5, 5)},
]
FOUND = [{("p", "u")}, {("q", "x")}, {("r", "y"), ("s", "u")}]
"""In each run; p is gone when s comes."""


def rows(table: Table) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(list(table), pa.string()),
            "x": pa.array([x for x, _ in table.values()], pa.int64()),
            "y": pa.array([y for _, y in table.values()], pa.int64()),
        }
    )


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return worlds.introduce(tmp_path, agreement())


def run(both: Both, a: Table, b: Table, **options: Any) -> tuple[Any, Any]:
    """Both sides of the next run; `a_options` and `b_options` are those of one side."""
    given = {"series": "monthly"}
    a_options, b_options = (given | options.get(name, {}) for name in ("a_options", "b_options"))
    return worlds.link_both(
        *both,
        options.get("agreement", agreement()),
        a_options={"data": rows(a), **a_options},
        b_options={"data": rows(b), **b_options},
    )


def pairs(linked: Linked) -> set[tuple[str, str]]:
    table = linked.found.table()
    return set(zip(table["id_a"].to_pylist(), table["id_b"].to_pylist(), strict=True))


def test_three_runs_find_what_is_new_and_cost_one_release(both: Both) -> None:
    for number, (a, b) in enumerate(zip(A_TABLES, B_TABLES, strict=True)):
        left, right = run(both, a, b)
        assert isinstance(left, Linked) and isinstance(right, Linked), (left, right)
        assert pairs(left) == pairs(right) == FOUND[number]
        assert (left.charged == NO_COST) == (number > 0)
    for own in both:
        entries = Ledger(own.state.ledger).runs()
        assert [entry.paid for entry in entries] == [True, False, False]
        assert {entry.series for entry in entries} == {"monthly"}
        kept = sorted(found.manifest.series_run for found in list_runs(own.state)[0])
        assert kept == [1, 2, 3]


def test_a_series_is_named_where_it_is_declared_and_nowhere_else(both: Both) -> None:
    for options, told in (
        ({"series": None}, "Name it: `series=`"),
        ({"snapshot": "now"}, "leave out `snapshot=`"),
    ):
        left, _ = run(both, A_TABLES[0], B_TABLES[0], a_options=options, b_options=options)
        assert isinstance(left, UsageError)
        assert told in str(left)
    assert worlds.untouched(*both)
