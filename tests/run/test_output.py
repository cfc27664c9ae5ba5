"""The output table: the same on both sides, in the order of the ids."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from accord.run.output import arrange_output
from tests.protocols import worlds

points = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=12)


@given(points, points)
def test_both_sides_write_the_same(a: worlds.Rows, b: worlds.Rows) -> None:
    agreed = worlds.agreement()
    left, right, _ = worlds.link(agreed, a, b)
    of_a, of_b = worlds.records(a, agreed, "A"), worlds.records(b, agreed, "B")
    mine = arrange_output(agreed, of_a, of_a.ids, left).table()
    theirs = arrange_output(agreed, of_b, of_b.ids, right).table()
    assert mine.equals(theirs)
    assert mine.column_names == ["id_a", "id_b", "x_a", "y_a", "x_b", "y_b"]
    pairs = list(zip(mine["id_a"].to_pylist(), mine["id_b"].to_pylist(), strict=True))
    assert pairs == sorted(pairs)
    assert pairs == sorted((f"A{i}", f"B{j}") for i, j in worlds.textbook(a, b))
    for row in mine.to_pylist():
        assert (int(row["x_a"]), int(row["y_a"])) == a[int(row["id_a"][1:])]
        assert (int(row["x_b"]), int(row["y_b"])) == b[int(row["id_b"][1:])]


def test_no_match_is_a_table_without_rows() -> None:
    agreed = worlds.agreement()
    left, _, _ = worlds.link(agreed, [(0, 0)], [(15, 15)])
    own = worlds.records([(0, 0)], agreed, "A")
    found = arrange_output(agreed, own, own.ids, left).table()
    assert found.num_rows == 0
    assert found.schema.field("id_a").type == pa.large_string()
