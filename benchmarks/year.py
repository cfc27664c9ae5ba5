"""A year of a series, counted in the clear: `python -m benchmarks.year 100000`.

Two registers of people (`accord generate people`), of which the first run has so many, and 2 % more come with
each of eleven later ones; each month 0.5 % are gone and 0.5 % change their surname. Every run looks at the
tables, draws the noise of its batches and counts what would be compared, as a linkage does (`SeriesSide`);
nothing is compared. Beside it stands the same year as twelve linkages of everything, each with fresh noise
at the same ε. `--quality` also joins the records that take part, in the clear, and tells F1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.entropy import Entropy, Seeded
from accord.matching.evaluate import Tables
from accord.matching.meeting import each_meeting
from accord.protocols.batches import Known
from accord.records.columns import Records
from accord.records.load import load_records
from accord.series_simulation import SeriesSide
from accord.side import Side

Ints = NDArray[np.int64]
MONTHS = 12
ARRIVALS, GONE, CHANGED = 0.02, 0.005, 0.005
ROOM = 1.25
"""Declared, of what is expected."""
_SALT = "00000000"


@dataclass(frozen=True)
class Month:
    """One run of the series, and the same tables linked anew."""

    run: int
    records: tuple[int, int]
    arrived: tuple[int, int]
    late: tuple[int, int]
    comparisons: int
    anew: int
    """Comparisons of a linkage of everything."""


def agree(records: int, buckets: int, versions: int) -> Agreement:
    """The starter for people, with a series and so many buckets in each pass."""
    plain: dict[str, Any] = starter("people", _SALT).model_dump(mode="json")
    for one in plain["blocking"]["pass"]:
        one["parts"][0]["buckets"] = buckets
    more = max(1, round(ROOM * (ARRIVALS + (versions - 1) * CHANGED) * records))
    sizes = {"first": {"A": records, "B": records}, "arrivals": {"A": more, "B": more}}
    return Agreement.model_validate(plain | {"series": sizes | {"versions": versions}})


def tables_of(table: pa.Table, records: int, rng: np.random.Generator) -> Iterator[pa.Table]:
    """What a register holds in each month: the first rows, then more; some go, some change their surname."""
    rows, here = table.take(pa.array(rng.permutation(len(table)))), np.zeros(len(table), np.bool_)
    names = np.array(rows["surname"].to_pylist(), object)
    for month in range(MONTHS):
        old = np.flatnonzero(here)
        here[: records + round(month * ARRIVALS * records)] |= ~_ever(here, month, records)
        if month:
            chosen = rng.permutation(old)
            gone, changed = round(GONE * len(old)), round(CHANGED * len(old))
            here[chosen[:gone]] = False
            some = chosen[gone : gone + changed]
            names[some] = names[rng.integers(0, len(names), len(some))]
        surname = rows.schema.get_field_index("surname")
        now = rows.set_column(surname, "surname", pa.array(names, rows["surname"].type))
        yield now.take(pa.array(np.flatnonzero(here)))


def _ever(here: NDArray[np.bool_], month: int, records: int) -> NDArray[np.bool_]:
    """Of the rows that this month holds at the most, those that had come before."""
    last = 0 if month == 0 else records + round((month - 1) * ARRIVALS * records)
    return np.arange(records + round(month * ARRIVALS * records)) < last


def compared(agreed: Agreement, a: list[Ints], b: list[Ints]) -> int:
    """Of the last batch with all of the partner's, and of the older ones with its last."""
    left, right = agreed.plan.pairs()
    first = sum(int(np.dot(a[-1][left], other[right])) for other in b)
    return first + sum(int(np.dot(other[left], b[-1][right])) for other in a[:-1])


Both = tuple[Records, Records]


def count_year(agreed: Agreement, records: int, seed: int) -> Iterator[tuple[Month, Both, Both]]:
    """Month after month, with the records that take part, and with all that are there."""
    total = records + round((MONTHS - 1) * ARRIVALS * records)
    made = generate_people(total, 0.5, seed)
    rng = np.random.default_rng(seed)
    sides = SeriesSide(agreed, Side.A), SeriesSide(agreed, Side.B)
    held = [tables_of(table, records, rng) for table in (made.a, made.b)]
    entropy: Entropy = Seeded(f"year {seed}")
    for number, both in enumerate(zip(*held, strict=True)):
        parts, whole, seen = [], [], []
        for side, table in zip(sides, both, strict=True):
            loaded = load_records(table, agreed.fields, agreed.salt, agreed.disclosed(side.side))
            stream = entropy.stream(f"{side.side.value} {number}")
            mine, changes, _ = side.take_part(loaded, number + 1, stream)
            parts.append((mine.records, len(changes.arrived), changes.late, loaded))
            release = agreed.protocol.release(agreed.task, side.side, loaded.size)
            true = agreed.plan.counts(side.side, loaded.columns, len(loaded))
            whole.append(true + release.draw(loaded, stream.stream("anew")))
            seen.append(list(Known.of(side.looks).counts))
        left, right = agreed.plan.pairs()
        a, b = parts
        month = Month(
            run=number + 1,
            records=(len(a[3]), len(b[3])),
            arrived=(a[1], b[1]),
            late=(a[2], b[2]),
            comparisons=compared(agreed, seen[0], seen[1]),
            anew=int(np.dot(whole[0][left], whole[1][right])),
        )
        yield month, (a[0], b[0]), (a[3], b[3])


def found_pairs(agreed: Agreement, both: tuple[Records, Records]) -> set[tuple[str, str]]:
    """The pairs of records that meet in the blocking and match."""
    tables = Tables(agreed.fields, both[0].columns, both[1].columns)
    ids = both[0].ids.to_pylist(), both[1].ids.to_pylist()
    pairs: set[tuple[str, str]] = set()
    for a, b in each_meeting(agreed.rule, tables, (len(both[0]), len(both[1])), agreed.plan):
        pairs |= {(ids[0][i], ids[1][j]) for i, j in zip(a.tolist(), b.tolist(), strict=True)}
    return pairs


def f1(found: set[tuple[str, str]], true: set[tuple[str, str]]) -> float:
    return 2 * len(found & true) / max(1, len(found) + len(true))


def year_quality(agreed: Agreement, records: int, seed: int) -> tuple[float, float]:
    """F1 of all pairs of the series, and of everything linked anew each month, against true pairs of which
    both were in the tables in some month."""
    total = records + round((MONTHS - 1) * ARRIVALS * records)
    truth = generate_people(total, 0.5, seed).truth
    true = set(zip(truth["id_a"].to_pylist(), truth["id_b"].to_pylist(), strict=True))
    series: set[tuple[str, str]] = set()
    anew: set[tuple[str, str]] = set()
    possible: set[tuple[str, str]] = set()
    for _, taking, whole in count_year(agreed, records, seed):
        series |= found_pairs(agreed, taking)
        anew |= found_pairs(agreed, whole)
        here = [set(one.ids.to_pylist()) for one in whole]
        possible |= {(a, b) for a, b in true if a in here[0] and b in here[1]}
    return f1(series, possible), f1(anew, possible)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", type=int)
    parser.add_argument("--buckets", type=int, default=74)
    parser.add_argument("--versions", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quality", action="store_true")
    given = parser.parse_args()
    agreed = agree(given.records, given.buckets, given.versions)
    made, anew = 0, 0
    print("run,records_a,records_b,arrived_a,arrived_b,late_a,late_b,comparisons,anew")
    for month, _, _ in count_year(agreed, given.records, given.seed):
        made, anew = made + month.comparisons, anew + month.anew
        numbers = (*month.records, *month.arrived, *month.late, month.comparisons, month.anew)
        print(month.run, *numbers, sep=",", flush=True)
    epsilon = agreed.leakage(Side.A).epsilon
    assert epsilon is not None
    each = epsilon / given.versions
    print(f"series: ε = {float(epsilon):g}, {made:,} comparisons")
    print(f"anew: ε = {float(MONTHS * each):g}, {anew:,} comparisons")
    if given.quality:
        print(f"F1 of the series: {year_quality(agreed, given.records, given.seed):.4f}")


if __name__ == "__main__":
    main()
