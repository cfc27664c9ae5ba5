"""What is kept of the partner's records: everything that the output needs, and a hash of each id."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import PeerError
from accord.fields.columns import Integers
from accord.protocols.parts.disclosed import Disclosed, take
from accord.protocols.seen import Hashes, Seen
from accord.side import Side
from accord.spill import Scratch
from tests.protocols import worlds

AGREED = worlds.agreement()


def disclosed(rows: worlds.Rows, first: int) -> Disclosed:
    """Records whose ids go on from this number."""
    records = worlds.records([(0, 0)] * first + rows, AGREED)
    shown = take(records, np.arange(first, first + len(rows)), ["x", "y"])
    return Disclosed(np.ones(len(rows), np.int64), np.arange(len(rows)), *shown)


points = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=5)


@given(st.lists(points, max_size=6), st.sampled_from([0, 3, 1 << 24]))
def test_all_records_are_there_in_their_order(messages: list[worlds.Rows], most: int) -> None:
    everyone = [row for message in messages for row in message]
    found = Seen(AGREED.task, Side.B, Scratch(most=most), [*AGREED.task.chosen_by, *AGREED.task.checked_by])
    for message in messages:
        theirs = disclosed(message, len(found))
        found.require_new(theirs)
        found.add(theirs)
    assert len(found) == len(everyone)
    ids, columns = found.texts()
    assert ids.to_pylist() == [f"r{i}" for i in range(len(everyone))]
    assert columns.column_names == ["x", "y"]
    assert [(int(row["x"]), int(row["y"])) for row in columns.to_pylist()] == everyone
    assert found.fields() == {}


def lies_in_file(some: Any) -> bool:
    """Whether an array is a view of a file that is mapped."""
    return isinstance(some, np.memmap) or (some is not None and lies_in_file(getattr(some, "base", None)))


@pytest.mark.parametrize("most", [0, 1 << 22])
def test_fields_are_kept_only_to_choose_by(most: int) -> None:
    agreed = AGREED.model_copy(update={"one_to_one": "score"})
    found = Seen(agreed.task, Side.B, Scratch(most=most), [*agreed.task.chosen_by, *agreed.task.checked_by])
    assert found.fields() == found.checked() == {}
    found.add(disclosed([(1, 2), (3, 4)], 0))
    found.add(disclosed([(5, 6)], 2))
    x, y = found.fields()["x"], found.fields()["y"]
    assert isinstance(x, Integers)
    assert isinstance(y, Integers)
    assert (x.values.tolist(), y.values.tolist()) == ([1, 3, 5], [2, 4, 6])
    # Without memory for anything they lie in a file.
    assert lies_in_file(x.values) is (most == 0)


def test_a_message_does_not_outlive_its_texts() -> None:
    """Texts that lie in a long message are copied out of it."""
    message = bytearray(b"r0" + b"\0" * 1_000_000)
    ids = pa.LargeStringArray.from_buffers(1, pa.py_buffer(np.array([0, 2]).tobytes()), pa.py_buffer(message))
    theirs = disclosed([(1, 1)], 0)
    found = Seen(AGREED.task, Side.B, Scratch(), [*AGREED.task.chosen_by, *AGREED.task.checked_by])
    found.add(Disclosed(theirs.slot_counts, theirs.slots, theirs.fields, ids, theirs.columns))
    del ids
    # A buffer that somebody still refers to cannot be resized.
    message.clear()
    assert found.texts()[0].to_pylist() == ["r0"]


def test_an_id_that_was_there_is_refused() -> None:
    found = Seen(AGREED.task, Side.B, Scratch(), [*AGREED.task.chosen_by, *AGREED.task.checked_by])
    found.add(disclosed([(1, 1), (2, 2)], 0))
    with pytest.raises(PeerError, match="a record that it had disclosed before"):
        found.require_new(disclosed([(9, 9)], 1))
    found.require_new(disclosed([(9, 9)], 2))


words = st.lists(st.tuples(st.integers(0, 3) | st.integers(0, (1 << 64) - 1), st.integers(0, 3)), max_size=6)


def array(some: Any) -> Any:
    return np.array(some, np.uint64).reshape(-1, 2)


@given(st.lists(words, max_size=12), words)
def test_hashes_are_a_set(added: list[list[tuple[int, int]]], asked: list[tuple[int, int]]) -> None:
    """Also where first words are the same."""
    found = Hashes()
    for some in added:
        found.add(array(some))
    known = {one for some in added for one in some}
    assert found.has_any(array(asked)) == (not known.isdisjoint(asked))
    for one in asked:
        assert found.has_any(array([one])) == (one in known)


def test_there_are_few_lists_of_hashes() -> None:
    found, rng = Hashes(), np.random.default_rng(1)
    for _ in range(300):
        found.add(rng.integers(0, 1 << 63, (rng.integers(1, 20), 2)).astype(np.uint64))
    assert len(found._lists) <= 12
