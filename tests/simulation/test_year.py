"""The year that benchmarks count is the one that a series links."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from accord.datasets.people import generate_people
from accord.entropy import Seeded
from accord.fields.load import load_records
from accord.protocols.parts.batches import members_of, take_rows
from accord.side import Side
from accord.simulation.series import rehearse
from benchmarks.year import (
    MONTHS,
    Row,
    World,
    agree,
    best_buckets,
    count_anew,
    count_series,
    count_year,
    f1,
    find_pairs,
    found_together,
    grow,
    judged_of,
    load,
    make_world,
    size_then,
    write_rows,
)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(120, 3, 2)


def test_registers_grow_and_change_as_they_should() -> None:
    made = generate_people(244, 0.5, 3)
    register = grow(made.a, 200, MONTHS, np.random.default_rng(1))
    months = [register.table(month) for month in range(MONTHS)]
    assert len(months[0]) == 200
    for number, (before, after) in enumerate(pairwise(months), 1):
        names = [
            dict(zip(t["id"].to_pylist(), t["surname"].to_pylist(), strict=True)) for t in (before, after)
        ]
        old, new = names
        assert len(new) == len(after), "nobody is there twice"
        assert len(set(new) - set(old)) == size_then(200, number) - size_then(200, number - 1)
        assert len(set(old) - set(new)) == round(0.005 * len(old))
        changed = [name for name in set(old) & set(new) if old[name] != new[name]]
        assert len(changed) <= round(0.005 * len(old))
    assert len(register.versions) > 244, "somebody changed"


def test_versions_are_loaded_as_the_tables_of_the_months_are(world: World) -> None:
    agreed = agree(120, 5, None)
    for register, side in zip(world.registers, Side, strict=True):
        every = load(agreed, register, side)
        table = load_records(register.table(2), agreed.fields, agreed.salt, agreed.disclosed(side))
        here = register.months[2]
        assert every.ids.take(here).to_pylist() == table.ids.to_pylist()
        some = take_rows(every, here, len(here))
        assert some.disclosed.equals(table.disclosed)
        assert members_of(some, "salt").values.tolist() == members_of(table, "salt").values.tolist()


def test_what_is_counted_is_what_a_series_compares_and_finds(world: World) -> None:
    agreed, entropy = agree(120, 5, 1, "5"), Seeded("year")
    loaded = [load(agreed, r, side) for r, side in zip(world.registers, Side, strict=True)]
    counted = list(count_series(agreed, world, loaded, entropy))
    tables = [
        tuple(
            load_records(r.table(month), agreed.fields, agreed.salt, agreed.disclosed(side))
            for r, side in zip(world.registers, Side, strict=True)
        )
        for month in range(3)
    ]
    runs = rehearse(agreed, [(a, b) for a, b in tables], Seeded("another"))
    every = judged_of(world.registers[0], 120)
    pairs = set().union(*(run.pairs() for run in runs))
    assert found_together(find_pairs(agreed, loaded, every), counted, loaded) == pairs
    half = set(sorted(every)[::2])
    some = found_together(find_pairs(agreed, loaded, half), counted, loaded)
    assert some == {pair for pair in pairs if pair[0] in half}
    assert float(f1(pairs, world.true)) > 0.8
    for (comparisons, size, a, _), run in zip(counted, runs, strict=True):
        # Noise is drawn anew, and spreads a sum of 15 bins by far less.
        assert 0.7 < comparisons / run.comparisons < 1.4
        assert size > 10 * comparisons
        assert len(a) == len(run.changes[0].stayed) + len(run.changes[0].arrived)


def test_everything_anew_takes_all_that_are_there(world: World) -> None:
    agreed = agree(120, 5, None)
    loaded = [load(agreed, r, side) for r, side in zip(world.registers, Side, strict=True)]
    for number, (comparisons, _, a, b) in enumerate(count_anew(agreed, world, loaded, Seeded(1))):
        assert (len(a), len(b)) == tuple(len(r.months[number]) for r in world.registers)
        assert comparisons > len(a) * len(b) / 5


def test_bins_are_near_the_cheapest() -> None:
    """With k times as many or as few, a whole linkage costs more: (n/b + d)² b is least at b = n/d."""
    best = best_buckets(10_000, 1)
    assert best == pytest.approx(3 * best_buckets(10_000, 3), rel=0.02)
    agreed = agree(10_000, best, None)
    setting = agreed.protocol.release(agreed.task, Side.A, 10_000).setting
    assert setting is not None
    cost = [(10_000 / b + setting.expected_dummies) ** 2 * b for b in (best // 2, best, 2 * best)]
    assert min(cost) == cost[1]


def test_a_year_pays_once_or_every_month(tmp_path: Path) -> None:
    rows = list(count_year(60, 1, 4, months=2))
    assert [(row.habit, row.epsilon) for row in rows] == [
        ("series", "1.6"),
        ("anew", "3.2"),
        ("anew, own bins", "3.2"),
        ("anew, same ε", "1.6"),
    ]
    assert rows[3].comparisons > rows[0].comparisons
    out = tmp_path / "series.csv"
    write_rows(rows, out)
    write_rows([Row(**{**vars(rows[0]), "comparisons": 7})], out)
    lines = out.read_text().splitlines()
    assert len(lines) == 5, "a line replaces that of the same kind"
    assert "counted,60,2,series" in lines[-1]
    assert ",7," in lines[-1]
