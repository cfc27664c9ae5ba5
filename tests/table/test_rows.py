"""Rows of Python values: whole numbers are known as such though they are texts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from accord.table.rows import batch_rows, is_whole


@pytest.mark.parametrize(
    ("cells", "whole"),
    [
        ([1, -2], True),
        ([2**63 - 1, -(2**63)], True),
        ([2**63], False),
        ([1, None], False),
        ([1, "2"], False),
        ([True, False], False),
        ([1.0, 2.0], False),
        (["1", "2"], False),
    ],
)
def test_whole_numbers_are_noted(cells: list[Any], whole: bool) -> None:
    batch = batch_rows([(cell,) for cell in cells], ["id"])
    assert batch.column("id").type == pa.large_string()
    assert is_whole(batch.schema.field("id")) == whole


def test_types_of_arrow_that_every_database_has() -> None:
    assert all(is_whole(pa.field("id", kind)) for kind in (pa.int8(), pa.int64(), pa.uint32()))
    assert not any(is_whole(pa.field("id", kind)) for kind in (pa.uint64(), pa.string(), pa.float64()))
