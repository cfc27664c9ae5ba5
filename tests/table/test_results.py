"""Results in a notebook, in pandas, in polars: short, escaped, and the same pairs."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from accord.errors import UsageError
from accord.spill import Scratch
from accord.table.id_order import IdOrder
from accord.table.pairing import Half, PairTable
from accord.table.pairs import order_pairs
from accord.table.results import Paired

SCRIPT = "<script>alert('x')</script>"


class Result(Paired):
    def __init__(self, rows: int) -> None:
        names = [SCRIPT if row == 0 else None if row == 1 else f"n{row}" for row in range(rows)]
        ids = [pa.array([f"{side}{i}" for i in range(rows)], pa.large_string()) for side in "ab"]
        orders = IdOrder.of(ids[0]), IdOrder.of(ids[1])
        pairs = order_pairs(*orders, [(np.arange(rows), np.arange(rows))], Scratch())
        shown = {"name": pa.array(names, pa.large_string())}
        self._found = PairTable(Half(ids[0], {}), Half(ids[1], shown), pairs)

    @property
    def found(self) -> PairTable:
        return self._found

    def _facts(self) -> dict[str, str]:
        return {"matches": f"{len(self.found):,}", "run": "<b>"}


def test_the_pairs_are_the_same_in_every_library() -> None:
    result = Result(3)
    assert result.to_pandas()["id_a"].tolist() == ["a0", "a1", "a2"]
    assert result.to_polars()["id_a"].to_list() == ["a0", "a1", "a2"]
    assert pa.table(result).equals(result.pairs)


def test_a_notebook_shows_a_few_rows_and_runs_nothing_of_theirs() -> None:
    shown = Result(12)._repr_html_()
    assert SCRIPT not in shown
    assert "&lt;script&gt;" in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == 2 + 1 + 10
    assert "… and 2 more pairs" in shown
    assert "more pairs" not in Result(3)._repr_html_()


def test_a_repr_is_one_short_line() -> None:
    assert repr(Result(12)) == "<Result: matches 12, run <b>>"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_missing_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == library:
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=f"pip install {library}"):
        getattr(Result(1), f"to_{library}")()
