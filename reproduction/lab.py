"""The tables that experiments run on: the paper's two set-ups, from real files or made up in their likeness.

    ab       products of two shops: 16 brands, same day and brand and Hamming ≤ 5      [HMFS17, §5.1]
    taxi     pick-ups of a city's taxis: 16 × 16 cells an hour, same hour and within θ [HMFS17, §5.1]
    products, places    the sparse variants, where few records match; always made up

Where the folder of real data has a set, that is used; otherwise a generated one of the same size, rule and
blocking. The results say which: 'generated', or 'real' with a digest of the files, so that rows of other
files are not taken for theirs. A lab keeps the set-up it made last, since points of a sweep that share one
follow each other; nothing else is kept. `paper-2017` is the paper's noise as published; `geometric` is
ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord import Agreement
from accord.datasets.generated import Generated
from accord.datasets.products import BRANDS, generate_products
from reproduction.counting import Counter
from reproduction.paper_data import FIRST_DAY, abt_buy, abt_buy_agreement, taxi, taxi_agreement
from reproduction.places import generate_places
from reproduction.sources import FOLDERS, GENERATED, find_files

PAPER, OURS = "paper-2017", "geometric"
NOISES = (PAPER, OURS)


@dataclass(frozen=True)
class Size:
    """How large the experiments are."""

    name: str
    ab_days: tuple[int, ...]
    ab_per_day: int
    taxi_days: tuple[int, ...]
    taxi_per_day: int
    runs: int

    def days(self, data: str) -> tuple[int, ...]:
        return self.taxi_days if data == "taxi" else self.ab_days

    def per_day(self, data: str) -> int:
        return self.taxi_per_day if data == "taxi" else self.ab_per_day

    @property
    def is_quick(self) -> bool:
        return self.name == "quick"

    def noises(self, data: str) -> tuple[str, ...]:
        """The paper's noise and ours; where it must be quick, the paper's alone for Taxi."""
        return NOISES[:1] if data == "taxi" and self.is_quick else NOISES


FULL = Size("full", (1, 2, 4, 8, 16), 5_000, (1, 2, 4, 8, 16), 300_000, 10)
QUICK = Size("quick", (1, 2, 4), 5_000, (1, 2), 20_000, 3)


@dataclass(frozen=True)
class Setup:
    """Two tables, what is agreed about them, and their counter."""

    made: Generated
    agreement: Agreement
    counter: Counter


class Lab:
    """Where the tables of an experiment come from: the data folder, the seed and the size."""

    def __init__(self, size: Size, data: Path | None, seed: int) -> None:
        self.size, self.seed = size, seed
        self._data = data
        self._sources: dict[str, str] = {}
        self._key: tuple[object, ...] | None = None
        self._setup: Setup | None = None

    def source(self, data: str) -> str:
        """Where the tables of this name come from."""
        if data not in self._sources:
            found = find_files(self._data, data)
            self._sources[data] = GENERATED if found is None else found.source
        return self._sources[data]

    def tables(self, data: str, days: int, per_day: int) -> tuple[Generated, Agreement]:
        """The tables of a set-up and its agreement."""
        if self._data is not None and self.source(data) != GENERATED:
            build = abt_buy if data == "ab" else taxi
            return build(self._data / FOLDERS[data], days, per_day, self.seed)
        sparse = data in ("products", "places")
        if data in ("ab", "products"):
            parts = [generate_products(per_day, None, self._day(day), sparse) for day in range(days)]
            return _many_days(parts), abt_buy_agreement(BRANDS, days)
        parts = [generate_places(per_day, None, self._day(day), sparse) for day in range(days)]
        return _many_days(parts), taxi_agreement(days)

    def setup(self, data: str, days: int, per_day: int, agreement: Agreement | None = None) -> Setup:
        """A set-up ready to be counted, under its own agreement or another with the same fields."""
        key = data, days, per_day, agreement.digest if agreement else None
        if self._key != key or self._setup is None:
            # The old one goes first: two large ones would not fit.
            self._key, self._setup = None, None
            made, own = self.tables(data, days, per_day)
            self._setup = Setup(made, agreement or own, Counter(made.a, made.b, agreement or own))
            self._key = key
        return self._setup

    def _day(self, day: int) -> int:
        return 1_000 * self.seed + day


def _many_days(parts: list[Generated]) -> Generated:
    """One table out of some days; ids say the day, so that they stay apart."""
    return Generated(
        pa.concat_tables([_on_day(part.a, day) for day, part in enumerate(parts)]),
        pa.concat_tables([_on_day(part.b, day) for day, part in enumerate(parts)]),
        pa.concat_tables([_renamed(part.truth, ("id_a", "id_b"), day) for day, part in enumerate(parts)]),
    )


def _on_day(table: pa.Table, day: int) -> pa.Table:
    when = pa.array(np.full(len(table), np.datetime64(FIRST_DAY, "D") + day))
    kept = table.drop_columns(["day"]) if "day" in table.column_names else table
    return _renamed(kept.append_column("day", when), ("id",), day)


def _renamed(table: pa.Table, names: tuple[str, ...], day: int) -> pa.Table:
    for name in names:
        ids = pc.binary_join_element_wise(f"day{day}", table[name].cast(pa.string()), "-")
        table = table.set_column(table.column_names.index(name), name, ids)
    return table
