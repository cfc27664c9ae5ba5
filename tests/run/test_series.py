"""A series between two organisations over TLS: each record is paid for once, and what is new is compared."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from accord.errors import DataError, RefusedError, SeriesError, UsageError
from accord.peer.channel import Patience
from accord.peer.connection import Reach
from accord.privacy.events import NO_COST
from accord.run.link import Linked
from accord.run.receipt import read_receipt
from accord.state.ledger import Ledger
from accord.state.runs import list_runs
from tests.cli import terminal
from tests.protocols.parts.test_batches import Table
from tests.protocols.test_series import agreement
from tests.run import worlds

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
PATIENT = Reach(wait=60.0, patience=Patience(silence=60.0, message=60.0))


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
    given = {"series": "monthly", "reach": PATIENT}
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
        assert not isinstance(left, BaseException), (left, right)
        assert not isinstance(right, BaseException), right
        assert pairs(left) == pairs(right) == FOUND[number]
        assert (left.charged == NO_COST) == (number > 0)
    for own in both:
        entries = Ledger(own.state.database).runs()
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


def test_a_receipt_names_series_run_and_declared_sizes(both: Both) -> None:
    for number, (a, b) in enumerate(zip(A_TABLES[:2], B_TABLES[:2], strict=True)):
        left, right = run(both, a, b, b_options={"series": "Monthly"})
        assert isinstance(left, Linked), (left, right)
        said = read_receipt(left.receipt).facts
        assert said["version"] == 1
        assert said["series"] == {
            "name": "monthly",
            "run": number + 1,
            "met": {"A": number, "B": number},
            "batches": {"A": number + 1, "B": number + 1},
            "announced": {"A": 20 + 10 * number, "B": 20 + 10 * number},
            "versions": 1,
        }
        assert [said["parties"][side]["records"] for side in "AB"] == [20 + 10 * number] * 2
    shown = terminal.accord(both[0].state.folder, "--state", str(both[0].state.folder), "series")
    assert "monthly" in shown.stdout
    out = both[0].state.folder.parent / "all.csv"
    terminal.accord(out.parent, "--state", str(both[0].state.folder), "series", "monthly", "--out", str(out))
    found = {tuple(line.replace('"', "").split(",")[:2]) for line in out.read_text().splitlines()[1:]}
    assert found == FOUND[0] | FOUND[1]


def refusals(both: Both, before: int) -> None:
    """Nothing was charged, drawn or begun."""
    for own in both:
        assert len(Ledger(own.state.database).runs()) == before
        book = Ledger(own.state.database).series(worlds.ACCOUNT, "monthly")
        assert (0 if book is None else len(book.looks)) == before


def test_what_does_not_fit_is_refused_before_anything_is_drawn(both: Both) -> None:
    a, b = A_TABLES[0], B_TABLES[0]
    left, _ = run(both, {f"r{i}": (i % 15, 1) for i in range(21)}, b)
    assert isinstance(left, DataError)
    assert "It has 21 records, but for the first run of a series the agreement declares 20." in str(left)
    refusals(both, 0)
    left, _ = run(both, a, b)
    assert isinstance(left, Linked)
    refusals(both, 1)
    for options, error, told in (
        ({"data": rows({f"n{i}": (i, 1) for i in range(5)})}, SeriesError, "Were the ids numbered anew"),
        ({"agreement": agreement(rule="euclidean(x, y) <= 2")}, SeriesError, "under another agreement"),
        ({"agreement": agreement({"versions": 2})}, SeriesError, "under another agreement"),
    ):
        left, _ = run(both, a, b, a_options=options)
        assert isinstance(left, error), left
        assert told in str(left)
        assert "Nothing was drawn and nothing was charged" in str(left)
        refusals(both, 1)


def test_a_partner_at_another_run_or_in_another_series_is_refused(both: Both) -> None:
    a, b = A_TABLES[0], B_TABLES[0]
    left, right = run(both, a, b, b_options={"series": "other"})
    for error, names in ((left, "'other', and you 'monthly'"), (right, "'monthly', and you 'other'")):
        assert isinstance(error, RefusedError), error
        assert names in str(error)
    run(both, a, b)
    copied = both[1].state.folder.parent / "copy"
    shutil.copytree(both[1].state.folder, copied)
    left, _ = run(both, A_TABLES[1], B_TABLES[1])
    assert isinstance(left, Linked)
    # B restores the copy that it made after the first run.
    shutil.rmtree(both[1].state.folder)
    shutil.copytree(copied, both[1].state.folder)
    left, right = run(both, A_TABLES[2], B_TABLES[2])
    assert isinstance(left, RefusedError)
    assert isinstance(right, RefusedError)
    assert "bob is at run 2 of the series 'monthly', and you are at run 3" in str(left)
    assert "begin a series of another name, which is a new release and is charged" in str(right)
    assert len(Ledger(both[0].state.database).runs()) == 2


def test_a_series_whose_run_was_forgotten_does_not_go_on(both: Both) -> None:
    left, _ = run(both, A_TABLES[0], B_TABLES[0])
    where = "--state", str(both[0].state.folder)
    refused = terminal.accord(both[0].state.folder, *where, "forget", left.run)
    assert "is a run of the series 'monthly'" in refused.stderr
    terminal.accord(both[0].state.folder, *where, "forget", left.run, "--force")
    again, _ = run(both, A_TABLES[1], B_TABLES[1])
    assert isinstance(again, SeriesError)
    assert "was forgotten" in str(again)
    (entry,) = Ledger(both[0].state.database).runs()
    assert entry.paid, "what was spent stays spent"
