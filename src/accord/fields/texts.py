"""A column of texts that grows, as Arrow has it: where each text ends, all octets, and which texts there are.

Whoever adds texts gives away copies of them: they are in memory while they are little, and then in a file
(spill.py). The column is one piece in the end and never was two: to join them takes their memory twice.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord.spill import Growing, Ints, Scratch, pieces


class Texts:
    """Texts of one column, each of which may be missing."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._starts = Growing(scratch)
        self._octets = Growing(scratch, np.uint8)
        self._there = Growing(scratch, np.bool_)
        self._end = 0
        self._starts.add(np.zeros(1, np.int64))

    def __len__(self) -> int:
        return len(self._there)

    def add(self, texts: pa.Array) -> None:
        """Append these."""
        if not len(texts):
            return
        # What stands where none is could be anything.
        filled = pc.fill_null(texts.cast(pa.large_string()), "") if texts.null_count else texts
        plain = filled.cast(pa.large_string())
        _, offsets, data = plain.buffers()
        starts = np.frombuffer(offsets, np.int64)[plain.offset : plain.offset + len(plain) + 1]
        octets = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        self._starts.add(starts[1:] + (self._end - starts[0]))
        self._octets.add(octets[starts[0] : starts[-1]].copy())
        self._there.add(np.asarray(pc.is_valid(texts)))
        self._end += int(starts[-1] - starts[0])

    def order(self) -> Ints | None:
        """The rows by their texts, octet by octet; None if they stand so already."""
        rows = np.asarray(pc.sort_indices(self.whole())).astype(np.int64)
        return None if np.array_equal(rows, np.arange(len(rows))) else rows

    def whole(self, rows: Ints | None = None) -> pa.Array:
        """All of them, or these rows."""
        if rows is not None:
            return self._taken(rows)
        there = self._there.whole()
        marks = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        buffers = [marks, pa.py_buffer(self._starts.whole()), pa.py_buffer(self._octets.whole())]
        return pa.Array.from_buffers(pa.large_string(), len(there), buffers)

    def _taken(self, rows: Ints) -> pa.Array:
        texts, taken = self.whole(), Texts(self._scratch)
        for some in pieces(rows):
            taken.add(texts.take(pa.array(some)))
        return taken.whole()
