"""A column of texts that grows is the column of all its texts."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.texts import Texts
from accord.spill import Scratch

batches = st.lists(st.lists(st.none() | st.text(max_size=5), max_size=12), max_size=6)


@given(
    batches,
    st.sampled_from([0, 2, 1 << 20]),
    st.integers(0, 3),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_all_texts_are_there(some: list[list[str | None]], most: int, cut: int, kind: pa.DataType) -> None:
    """Wherever they lie in a batch."""
    found = Texts(Scratch(most=most))
    for batch in some:
        found.add(pa.array(batch, kind).slice(cut))
    expected = [text for batch in some for text in batch[cut:]]
    whole = found.whole()
    whole.validate(full=True)
    assert whole.type == pa.large_string()
    assert whole.to_pylist() == expected
    assert len(found) == len(expected)
