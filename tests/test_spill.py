"""Numbers that are written when they are many: the same numbers, in files that nobody sees or clears."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import spill
from accord.errors import ScratchError
from accord.spill import Growing, Scratch, sort_distinct

whole = st.integers(-(1 << 62), 1 << 62) | st.integers(0, 9)
lists = st.lists(st.lists(whole, max_size=12).map(lambda some: np.array(some, np.int64)), max_size=12)


@given(lists, st.integers(1, 20))
def test_sorted_and_each_once_whatever_fits_in_memory(numbers: list[Any], most: int) -> None:
    expected = sorted({int(one) for some in numbers for one in some})
    assert sort_distinct(iter(numbers), Scratch(most=most)).tolist() == expected
    assert sort_distinct(iter(numbers), Scratch()).tolist() == expected


@given(lists, st.integers(0, 20), st.integers(1, 9))
def test_an_array_has_what_was_added_in_its_order(numbers: list[Any], most: int, size: int) -> None:
    found = Growing(Scratch(most=most))
    expected: list[int] = []
    for some in numbers:
        found.add(some)
        expected += some.tolist()
        # In between, too: what was read can be read again, with what came since.
        assert found.whole().tolist() == expected
    assert len(found) == len(expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spill, "PIECE", size)
        parts = list(spill.pieces(found.whole()))
    assert [int(one) for some in parts for one in some] == expected
    assert all(0 < len(some) <= size for some in parts)


def test_rows_and_other_kinds() -> None:
    words, marks = Growing(Scratch(most=0), np.uint64, 2), Growing(Scratch(most=100), np.bool_)
    assert words.whole().shape == (0, 2)
    for i in range(3):
        words.add(np.arange(4 * i, 4 * i + 4, dtype=np.uint64).reshape(2, 2))
        marks.add(np.array([True, False]))
    assert words.whole().tolist() == np.arange(12).reshape(6, 2).tolist()
    assert words.whole().dtype == np.dtype(np.uint64)
    assert marks.whole().dtype == np.dtype(np.bool_)
    assert marks.whole().tolist() == [True, False] * 3
    words.whole()[0] = 9
    assert words.whole()[0].tolist() == [0, 1], "what a reader changes is its own"
    assert len(words) == len(marks) == 6


def test_files_have_no_name_and_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, usual = [], tempfile.TemporaryFile

    def noted(**options: Any) -> Any:
        file = usual(**options)
        made.append(os.fstat(file.fileno()))
        return file

    monkeypatch.setattr(tempfile, "TemporaryFile", noted)
    result = sort_distinct([np.arange(100) % 60, np.arange(50, 90)], Scratch(tmp_path, most=10))
    assert result.tolist() == list(range(90))
    assert isinstance(result.base, np.memmap)
    assert len(made) == 2
    for facts in made:
        assert stat.S_IMODE(facts.st_mode) == 0o600
        assert facts.st_nlink == 0
        assert facts.st_dev == tmp_path.stat().st_dev
    assert not list(tmp_path.iterdir())
    # The result outlives its file, as a whole.
    assert result[-1] == 89
    # Few numbers make none.
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    sort_distinct([np.arange(10)], Scratch(most=10))
    Growing(Scratch(most=40)).add(np.arange(10))


def test_a_disk_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> object:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    full = Mock(write=Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    scratch = Scratch(tmp_path, "Make room.", most=2)
    for give in (lambda **_: full, refuse):
        monkeypatch.setattr(tempfile, "TemporaryFile", give)
        for write in (
            lambda: sort_distinct([np.arange(9)], scratch),
            lambda: Growing(scratch).add(np.arange(9)),
        ):
            with pytest.raises(ScratchError) as caught:
                write()
            assert caught.value.path == tmp_path
            assert caught.value.facts["mend"] == "Make room."


def test_memory_is_what_was_granted() -> None:
    """Sixty times as many numbers as may be in memory; numpy tells its memory to the tracer."""
    import tracemalloc

    rng, most = np.random.default_rng(1), 2000
    some = [rng.integers(0, 1 << 60, most // 4) for _ in range(4)]
    peaks = []
    # What other threads of this process take in the meantime is traced, too.
    for _ in range(3):
        tracemalloc.start()
        try:
            result = sort_distinct((some[i % 4] ^ (i << 40) for i in range(240)), Scratch(most=most))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert len(result) == 60 * most
    assert min(peaks) < 8 * 8 * most + (1 << 18)
