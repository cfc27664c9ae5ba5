"""Matches against the truth: shares of sets, F1, and none of none."""

from __future__ import annotations

import pyarrow as pa
import pytest

from accord.simulation.truth import Scores, f1, read_truth, score, share


def pairs(*ids: str) -> pa.Table:
    return read_truth(pa.table({"id_a": [i[0] for i in ids], "id_b": [i[1] for i in ids]}) if ids else EMPTY)


EMPTY = pa.table({"id_a": pa.array([], pa.string()), "id_b": pa.array([], pa.string())})


def test_each_pair_counts_once() -> None:
    found, true = pairs("a1", "b2", "b2", "c9"), pairs("a1", "b2", "c3", "d4", "d4")
    assert score(found, true) == Scores(4, 2 / 4, 2 / 3, f1(2 / 3, 2 / 4))


def test_of_none_every_share_is_one_and_f1_is_between() -> None:
    assert score(pairs(), pairs()) == Scores(0, 1.0, 1.0, 1.0)
    assert score(pairs("a1"), pairs("b2")) == Scores(1, 0.0, 0.0, 0.0)
    assert (share(0, 0), share(1, 4), f1(0.0, 0.0)) == (1.0, 0.25, 0.0)
    assert f1(0.5, 1.0) == f1(1.0, 0.5) == pytest.approx(2 / 3)
