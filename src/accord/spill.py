"""Whole numbers that may be too many for memory: kept in a file without a name, and sorted there.

A match is one whole number here, and there may be far more matches than records. So they are written down
when they are many, and what grows with them is a file. It has no name from the moment it is open: whoever
lists its folder does not see it, and the system frees it with its last reader, whatever ends the process. So
there is nothing to clear away, not even after a crash.

Sorting is the textbook's external sort: as many numbers as memory is granted are sorted and written as a
run; then runs are merged, a stretch of each at a time. Whoever reads the result maps the file, so that its
pages are the system's to drop.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from accord.errors import ScratchError
from accord.ranges import distinct

Ints = NDArray[np.int64]
N = TypeVar("N", bound=np.integer[Any])

PIECE = 1 << 16
"""How many numbers are worked on at a time, where they are read one piece after the other."""


@dataclass(frozen=True)
class Scratch:
    """Where numbers go that are too many for memory, and how many are."""

    folder: Path | None = None
    """The system's folder for temporary files if None."""
    mend: str = "Make room there, or name another folder with the environment variable TMPDIR."
    most: int = 1 << 22
    """Numbers of eight bytes that are sorted in memory; of more, and of longer arrays, files are made."""

    def open(self) -> Spilled:
        """A new file, 0600 and without a name."""
        folder = Path(tempfile.gettempdir()) if self.folder is None else self.folder
        try:
            # Hidden for the moment in which it has a name on systems that cannot make one without.
            return Spilled(tempfile.TemporaryFile(dir=folder, prefix="."), folder, self.mend)
        except OSError as error:
            raise _failed(folder, error, self.mend) from None


class Spilled:
    """A file of numbers of one kind that is only appended to."""

    def __init__(self, file: BinaryIO, folder: Path, mend: str) -> None:
        self._file, self._folder, self._mend = file, folder, mend
        weakref.finalize(self, file.close)

    def write(self, numbers: NDArray[Any]) -> None:
        if not numbers.size:
            return
        try:
            self._file.write(np.ascontiguousarray(numbers).data.cast("B"))
        except OSError as error:
            raise _failed(self._folder, error, self._mend) from None

    def read(self, kind: DTypeLike) -> NDArray[Any]:
        """All that was written. The file lasts as long as what this gives."""
        try:
            self._file.flush()
            if not self._file.tell():
                return np.zeros(0, kind)
            # What a reader changes, which kernels reserve for themselves, is its own copy and not the file.
            return np.asarray(np.memmap(self._file, kind, "c"))
        except OSError as error:
            raise _failed(self._folder, error, self._mend) from None


class Growing:
    """An array that grows at its end."""

    def __init__(self, scratch: Scratch, kind: DTypeLike = np.int64, width: int | None = None) -> None:
        """Of single numbers, or of rows of so many."""
        self._scratch, self._kind = scratch, np.dtype(kind)
        self._shape = (-1,) if width is None else (-1, width)
        self._recent: list[NDArray[Any]] = []
        self._bytes = self._count = 0
        self._file: Spilled | None = None

    def __len__(self) -> int:
        return self._count

    def add(self, some: NDArray[Any]) -> None:
        """Append these; whoever gives them away does not change them."""
        self._recent.append(some.astype(self._kind, copy=False))
        self._bytes += self._recent[-1].nbytes
        self._count += len(some)
        # A quarter of what a sort may have: a run has dozens of arrays, and one sort at a time.
        if self._bytes > 2 * self._scratch.most:
            self._file = self._file or self._scratch.open()
            self._write(self._file)

    def _write(self, file: Spilled) -> None:
        for some in self._recent:
            file.write(some)
        self._recent.clear()
        self._bytes = 0

    def whole(self, rows: Ints | None = None) -> NDArray[Any]:
        """All of it, or these rows: in memory if it is little, or else mapped from a file."""
        if rows is not None:
            return self._taken(rows)
        if self._file is not None:
            self._write(self._file)
            return self._file.read(self._kind).reshape(self._shape)
        if len(self._recent) != 1:
            flat = [some.reshape(-1) for some in self._recent]
            self._recent = [np.concatenate([np.zeros(0, self._kind), *flat])]
        return self._recent[0].reshape(self._shape)

    def _taken(self, rows: Ints) -> NDArray[Any]:
        whole = self.whole()
        taken = Growing(self._scratch, self._kind, None if len(self._shape) == 1 else self._shape[1])
        for some in pieces(rows):
            taken.add(whole[some])
        return taken.whole()


def pieces(numbers: NDArray[N]) -> Iterator[NDArray[N]]:
    """A list of numbers, some at a time."""
    for start in range(0, len(numbers), PIECE):
        yield np.asarray(numbers[start : start + PIECE])


def sort_distinct(numbers: Iterable[Ints], scratch: Scratch) -> Ints:
    """The numbers, each once, ascending: in memory if they are few, or else mapped from a file."""
    file, ends = None, [0]
    waiting: list[Ints] = []
    for some in numbers:
        waiting.append(some)
        if sum(map(len, waiting)) > scratch.most:
            file = file or scratch.open()
            ends.append(ends[-1] + _write_run(file, waiting))
    if file is None:
        return distinct(_join(waiting))
    ends.append(ends[-1] + _write_run(file, waiting))
    written, merged = file.read(np.int64), scratch.open()
    for piece in _merge([written[start:stop] for start, stop in pairwise(ends)], scratch.most):
        merged.write(piece)
    return merged.read(np.int64)


def _join(waiting: list[Ints]) -> Ints:
    """All that waits, in one list; it waits no longer."""
    numbers = np.concatenate([np.zeros(0, np.int64), *waiting])
    waiting.clear()
    return numbers


def _write_run(file: Spilled, waiting: list[Ints]) -> int:
    """Write all that waits, ascending and each number once; how many that are."""
    once = distinct(_join(waiting))
    file.write(once)
    return len(once)


def _merge(runs: list[Ints], most: int) -> Iterator[Ints]:
    """Ascending runs as one, each number once.

    Of each run a stretch is looked at. No number behind these is below the least of their ends, so what is at
    most that comes next; and the run whose end it is gets on by a stretch.
    """
    stretch = max(1, most // (2 * len(runs)))
    runs = [run for run in runs if len(run)]
    while runs:
        least = min(int(run[:stretch][-1]) for run in runs)
        stops = [int(np.searchsorted(run[:stretch], least, "right")) for run in runs]
        taken = np.concatenate([run[:stop] for run, stop in zip(runs, stops, strict=True)])
        # Runs that stand one behind the other are what a stable sort, which looks for runs, is quick at.
        taken.sort(kind="stable")
        yield taken[np.diff(taken, prepend=taken[0] - 1) != 0]
        runs = [rest for run, stop in zip(runs, stops, strict=True) if len(rest := run[stop:])]


def _failed(folder: Path, error: OSError, mend: str) -> ScratchError:
    return ScratchError(path=folder, reason=(error.strerror or str(error)).lower(), mend=mend)
