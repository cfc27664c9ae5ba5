"""A year of a series, counted in the clear: `python -m benchmarks.year 100000`.

Two registers of people (`accord generate people`), of which the first run has so many, and 2 % more come with
each of eleven later ones; each month 0.5 % are gone and 0.5 % change their surname. Every run looks at the
tables, draws the noise of its batches and counts what would be compared, as a linkage does (`SeriesSide`);
bytes are those that `accord plan` reckons for these blocks. Beside it stands the same year as linkages of
everything, each with fresh noise: at the same ε each, in the bins of the series and in finer ones of its own;
and at the same ε in all. Bins are as many as hold as many records as dummies in the end, near the least of
comparisons.

F1 is that of all pairs that were found until the last month, against all true pairs of which both were in the
tables in some month. Pairs are found by a join in the clear of all versions of the records that meet in the
bins; of large tables those of about 10,000 records of A, with all of B. Nothing is compared in private:
`benchmarks.months` does that, for fewer.

Results go into `docs/results/series.csv`.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.entropy import Entropy, Seeded
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.planning.costs import price_sizes
from accord.planning.variants import with_epsilon
from accord.protocols.parts.batches import Known, take_rows
from accord.protocols.parts.standing import BatchMeeting
from accord.rules.evaluate import Tables
from accord.rules.join import meeting_pairs
from accord.side import Side
from accord.simulation.series import SeriesSide

Ints = NDArray[np.int64]
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "series.csv"
MONTHS = 12
ARRIVALS, GONE, CHANGED = 0.02, 0.005, 0.005
ROOM = 1.25
"""Declared, of what is expected."""
_JUDGED = 10_000
_SALT = "00000000"


@dataclass(frozen=True)
class Row:
    """One way to keep the registers linked, over all months: a line of the results."""

    how: str
    """Whether it was counted, or linked for real."""
    records: int
    """Of each side, at first."""
    runs: int
    habit: str
    buckets: int
    """Of each pass."""
    epsilon: str
    """In all."""
    comparisons: int
    bytes: int
    f1: str
    processor_minutes: str = ""
    """Of both sides, where it was linked."""


@dataclass(frozen=True)
class Register:
    """A side's table over the months."""

    versions: pa.Table
    """Every version of every record, under the record's id."""
    months: tuple[Ints, ...]
    """Which of them are there in each month, ascending."""

    def table(self, month: int) -> pa.Table:
        return self.versions.take(pa.array(self.months[month]))


@dataclass(frozen=True)
class World:
    """Both registers, and which pairs of ids are true and were there together in some month."""

    registers: tuple[Register, Register]
    true: set[tuple[str, str]]


def size_then(records: int, month: int) -> int:
    """How many have come by a month, the first of which is 0."""
    return records + round(month * ARRIVALS * records)


def grow(table: pa.Table, records: int, months: int, rng: np.random.Generator) -> Register:
    """The first rows, then more; some go, and some change their surname."""
    rows = table.take(pa.array(rng.permutation(len(table))))
    names = np.array(rows["surname"].to_pylist(), object)
    row, named = [np.arange(len(rows))], [names.copy()]
    version, here, held = np.arange(len(rows)), np.zeros(len(rows), np.bool_), []
    made = len(rows)
    for month in range(months):
        old = np.flatnonzero(here)
        here[size_then(records, month - 1) if month else 0 : size_then(records, month)] = True
        if month:
            chosen = rng.permutation(old)
            gone, changed = round(GONE * len(old)), round(CHANGED * len(old))
            here[chosen[:gone]] = False
            some = chosen[gone : gone + changed]
            names[some] = names[rng.integers(0, len(names), len(some))]
            version[some] = made + np.arange(len(some))
            made += len(some)
            row.append(some)
            named.append(names[some])
        held.append(np.sort(version[here]))
    every = rows.take(pa.array(np.concatenate(row)))
    surname = every.schema.get_field_index("surname")
    every = every.set_column(
        surname, "surname", pa.array(np.concatenate(named), every.schema.field(surname).type)
    )
    return Register(every, tuple(held))


def make_world(records: int, months: int, seed: int) -> World:
    made, rng = generate_people(size_then(records, months - 1), 0.5, seed), np.random.default_rng(seed)
    a, b = (grow(table, records, months, rng) for table in (made.a, made.b))
    pairs = list(zip(made.truth["id_a"].to_pylist(), made.truth["id_b"].to_pylist(), strict=True))
    together: set[tuple[str, str]] = set()
    for month in range(months):
        here = [set(r.versions["id"].take(pa.array(r.months[month])).to_pylist()) for r in (a, b)]
        together |= {(i, j) for i, j in pairs if i in here[0] and j in here[1]}
    return World((a, b), together)


def agree(records: int, buckets: int, versions: int | None, epsilon: str = "1.6") -> Agreement:
    """The starter for people with so many buckets in each pass; with a series unless `versions` is None."""
    plain: dict[str, Any] = starter("people", _SALT).model_dump(mode="json")
    for one in plain["blocking"]["pass"]:
        one["parts"][0]["buckets"] = buckets
    for side in ("A", "B"):
        plain["protocol"][side]["epsilon"] = epsilon
    if versions is None:
        return Agreement.model_validate(plain)
    more = max(1, round(ROOM * (ARRIVALS + (versions - 1) * CHANGED) * records))
    sizes = {"first": {"A": records, "B": records}, "arrivals": {"A": more, "B": more}}
    return Agreement.model_validate(plain | {"series": sizes | {"versions": versions}})


def best_buckets(records: int, batches: int, epsilon: str = "1.6") -> int:
    """So many that a bucket has about as many records as dummies, which come with every batch."""
    agreed = agree(records, 2, None, epsilon)
    setting = agreed.protocol.release(agreed.task, Side.A, records).setting
    assert setting is not None
    return max(2, round(records / (batches * setting.expected_dummies)))


def share_epsilon(agreed: Agreement, runs: int) -> Agreement:
    """At an ε of which so many make up the agreed one."""
    epsilon = agreed.leakage(Side.A).epsilon
    assert epsilon is not None
    shared = with_epsilon(agreed, epsilon / runs)
    assert shared is not None
    return shared


def load(agreed: Agreement, register: Register, side: Side) -> Records:
    """All versions, encoded; several have the id of one record."""
    ids = register.versions["id"].combine_chunks()
    numbers = pa.array(np.arange(len(ids))).cast(pa.string())
    place = register.versions.schema.get_field_index("id")
    numbered = register.versions.set_column(place, "id", numbers)
    loaded = load_records(numbered, agreed.fields, agreed.salt, agreed.disclosed(side))
    assert len(loaded) == len(ids)
    return replace(loaded, ids=ids.cast(loaded.ids.type))


Counted = tuple[int, int, Ints, Ints]
"""Comparisons and bytes of a month, and the versions of A and of B that take part."""


def count_series(
    agreed: Agreement, world: World, loaded: list[Records], entropy: Entropy
) -> Iterator[Counted]:
    """Month after month of a series."""
    sides = SeriesSide(agreed, Side.A), SeriesSide(agreed, Side.B)
    for number in range(len(world.registers[0].months)):
        taking, seen = [], []
        for side, register, every in zip(sides, world.registers, loaded, strict=True):
            here = register.months[number]
            stream = entropy.stream(f"{side.side.value} {number}")
            _, entered = side.take_part(take_rows(every, here, len(here)), number + 1, stream)
            assert not entered.changes.waiting
            taking.append(here[entered.rows.rows])
            seen.append(np.concatenate(Known.of(side.looks).counts))
        meeting = BatchMeeting((number, number), (number + 1, number + 1))
        left, right = meeting.bin_pairs(agreed.plan.pairs(), agreed.plan.bins)
        yield *price(agreed, seen[0][left], seen[1][right]), taking[0], taking[1]


def count_anew(agreed: Agreement, world: World, loaded: list[Records], entropy: Entropy) -> Iterator[Counted]:
    """The same months, everything linked in each."""
    left, right = agreed.plan.pairs()
    for number in range(len(world.registers[0].months)):
        here = [register.months[number] for register in world.registers]
        counts = []
        for side, rows, every in zip(Side, here, loaded, strict=True):
            table = take_rows(every, rows, len(rows))
            drawn = agreed.protocol.release(agreed.task, side, len(rows)).draw(
                table, entropy.stream(f"{side.value} {number}")
            )
            counts.append(agreed.plan.counts(side, table.columns, len(rows)) + drawn)
        yield *price(agreed, counts[0][left], counts[1][right]), here[0], here[1]


def price(agreed: Agreement, a: Ints, b: Ints) -> tuple[int, int]:
    """Comparisons and bytes of blocks of so many rows."""
    return int(np.dot(a, b)), round(price_sizes(agreed, agreed.task, (a, b)).bytes)


def find_pairs(agreed: Agreement, loaded: list[Records], judged: set[str]) -> tuple[Ints, Ints]:
    """All pairs of versions that meet in the bins and match, of these records of A."""
    rows = np.flatnonzero(np.asarray(pc.is_in(loaded[0].ids, pa.array(judged, loaded[0].ids.type))))
    some = take_rows(loaded[0], rows, len(rows))
    tables = Tables(agreed.fields, some.columns, loaded[1].columns)
    a, b = meeting_pairs(agreed.rule, tables, (len(some), len(loaded[1])), agreed.plan)
    return rows[a], b


def judged_of(register: Register, records: int) -> set[str]:
    """The records that F1 is of: about 10,000 by chance, or all."""
    ids = sorted(set(register.versions["id"].to_pylist()))
    chosen = np.random.default_rng(0).permutation(len(ids))[:: max(1, records // _JUDGED)]
    return {ids[place] for place in chosen}


def found_together(
    pairs: tuple[Ints, Ints], months: list[Counted], loaded: list[Records]
) -> set[tuple[str, str]]:
    """Of these pairs of versions the ids of those that took part in the same month."""
    met = np.zeros(len(pairs[0]), np.bool_)
    for *_, a, b in months:
        met |= np.isin(pairs[0], a) & np.isin(pairs[1], b)
    ids = [pc.take(side.ids, pa.array(p[met])).to_pylist() for side, p in zip(loaded, pairs, strict=True)]
    return set(zip(*ids, strict=True))


def f1(found: set[tuple[str, str]], true: set[tuple[str, str]]) -> str:
    return f"{2 * len(found & true) / max(1, len(found) + len(true)):.4f}"


def count_year(records: int, versions: int, seed: int, months: int = MONTHS) -> Iterator[Row]:
    """All ways, one after the other."""
    world = make_world(records, months, seed)
    wide, fine = best_buckets(size_then(records, months - 1), months), best_buckets(records, 1)
    series, same, own = agree(records, wide, versions), agree(records, wide, None), agree(records, fine, None)
    loaded = [load(same, register, side) for register, side in zip(world.registers, Side, strict=True)]
    ways = (
        *(("series", series, wide), ("anew", same, wide), ("anew, own bins", own, fine)),
        ("anew, same ε", share_epsilon(same, months), wide),
    )
    counted = {}
    for habit, agreed, _ in ways:
        count = count_series if habit == "series" else count_anew
        counted[habit] = list(count(agreed, world, loaded, Seeded(f"year {seed} {habit}")))
        print(habit, [month[:2] for month in counted[habit]], flush=True)
    judged = judged_of(world.registers[0], records)
    true = {pair for pair in world.true if pair[0] in judged}
    matching = {fine: find_pairs(own, loaded, judged), wide: find_pairs(same, loaded, judged)}
    for habit, agreed, buckets in ways:
        epsilon = agreed.leakage(Side.A).epsilon
        assert epsilon is not None
        yield Row(
            how="counted",
            records=records,
            runs=months,
            habit=habit,
            buckets=buckets,
            epsilon=f"{float(epsilon if habit == 'series' else months * epsilon):g}",
            comparisons=sum(month[0] for month in counted[habit]),
            bytes=sum(month[1] for month in counted[habit]),
            f1=f1(found_together(matching[buckets], counted[habit], loaded), true),
        )


def write_rows(rows: list[Row], path: Path = RESULTS) -> None:
    """Put them into the results, in place of those of the same way, size and habit."""
    names = [field.name for field in fields(Row)]
    old = list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []
    new = [{name: str(value) for name, value in asdict(row).items()} for row in rows]
    kinds = [_kind(row) for row in new]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows([row for row in old if _kind(row) not in kinds] + new)


def _kind(row: dict[str, str]) -> tuple[str, ...]:
    return row["how"], row["records"], row["runs"], row["habit"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", type=int)
    parser.add_argument("--versions", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    for row in count_year(given.records, given.versions, given.seed):
        print(row, flush=True)
        write_rows([row], given.out)


if __name__ == "__main__":
    main()
