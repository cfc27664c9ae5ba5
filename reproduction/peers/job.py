"""What a peer is asked for, and what it answers: files, since it runs under another interpreter.

A job is a JSON file: the folder of a set (a.csv, b.csv), what each column holds, on which columns pairs are
blocked, the share of all pairs that match or else which columns hardly agree by chance, and for each pair of
halves the true pairs of the one to learn from.
The answer is pairs.csv: id_a, id_b and one score, or one for each pair of halves.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Job:
    """One set for one peer."""

    a: pd.DataFrame
    b: pd.DataFrame
    kinds: dict[str, str]
    blocks: list[list[str]]
    prior: float | None
    """The share of all pairs that match, for who may know it."""
    certain: list[list[str]]
    """Columns that agree for most matches and for hardly anybody else."""
    halves: Path
    """A table of ids: column i holds for each record whether it is to be learnt from in the i-th turn."""
    truth: pd.DataFrame

    def of(self, *kinds: str) -> list[str]:
        """The columns of these kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]


class Clock:
    """From the first to the last moment of one linkage: what is done again for other halves is left out."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self.seconds = 0.0

    def stop(self) -> None:
        self.seconds = time.perf_counter() - self._began


def read(path: Path) -> Job:
    asked = json.loads(path.read_text())
    folder = Path(asked["folder"])
    # Only an empty cell is missing: there are people whose name is Null.
    a, b, truth = (
        pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False, na_values=[""])
        for name in ("a", "b", "truth")
    )
    return Job(
        a, b, asked["kinds"], asked["blocks"], asked["prior"], asked["certain"], Path(asked["halves"]), truth
    )


def answer(score: Callable[[Job, Clock], Any]) -> None:
    """Read the job that the command line names, and write the pairs beside it; say how long it took."""
    path = Path(sys.argv[1])
    job = read(path)
    clock = Clock()
    pairs = score(job, clock)
    pairs.to_csv(path.with_name("pairs.csv"), index=False)
    sys.stdout.write(json.dumps({"seconds": clock.seconds}) + "\n")
