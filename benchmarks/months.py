"""Some months of a series linked for real, beside the same months linked anew: `python -m benchmarks.months`.

The registers are those of `benchmarks.year`, smaller. Two processes link them by `accord link`, over TLS,
with the `ot` engine, each with its own state, which is asked what was spent. Counted are comparisons, what
passed between them, and the processor time of both; F1 is that of all pairs that were found. Results go into
`docs/results/series.csv`, those of a way when it is done.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from accord.agreement.document import Agreement
from accord.side import Side
from accord.state.accounts import accounts
from accord.state.folder import open_state
from accord.state.ledger import Ledger
from accord.table.sinks.files import write_table
from benchmarks.linkage import introduce, link, outcomes, ports
from benchmarks.year import (
    RESULTS,
    Row,
    World,
    agree,
    best_buckets,
    f1,
    make_world,
    size_then,
    write_rows,
)


def link_months(
    agreed: Agreement, world: World, folder: Path, series: str | None
) -> tuple[str, int, int, str, str]:
    """Month after month: what all of them came to, as the last parts of a row."""
    (folder / "agreement.toml").write_text(agreed.to_toml())
    introduce(agreed, folder)
    found: set[tuple[str, str]] = set()
    comparisons, size, before = 0, 0, sum(os.times()[2:4])
    for month in range(len(world.registers[0].months)):
        for side, register in zip(Side, world.registers, strict=True):
            (folder / f"out-{side.value}.parquet").unlink(missing_ok=True)
            (folder / f"{side.value}.parquet").unlink(missing_ok=True)
            write_table(register.table(month), folder / f"{side.value}.parquet")
        facts = outcomes((link(s, agreed, folder, port, None, series) for s, port in ports()), 6 * 3600)[0]
        comparisons, size = comparisons + facts["comparisons"], size + facts["bytes"]
        pairs = pq.read_table(folder / "out-A.parquet")
        found |= set(zip(pairs["id_a"].to_pylist(), pairs["id_b"].to_pylist(), strict=True))
        print(f"month {month + 1}: {facts}", flush=True)
    busy = sum(os.times()[2:4]) - before
    return f"{spent(folder):g}", comparisons, size, f1(found, world.true), f"{busy / 60:.1f}"


def spent(folder: Path) -> float:
    """By A's account."""
    ledger = Ledger(open_state(folder / "state-A", {}).database)
    (account,) = accounts(ledger.runs(), ledger.budgets())
    assert account.spent is not None
    return float(account.spent.epsilon)


def link_all(records: int, months: int, seed: int, epsilon: str) -> Iterator[Row]:
    """As a series, and anew in bins of their own."""
    world = make_world(records, months, seed)
    wide = best_buckets(size_then(records, months - 1), months, epsilon)
    fine = best_buckets(records, 1, epsilon)
    for habit, versions, buckets in (("series", 1, wide), ("anew, own bins", None, fine)):
        agreed = agree(records, buckets, versions, epsilon)
        with tempfile.TemporaryDirectory() as name:
            came_to = link_months(agreed, world, Path(name), "monthly" if versions else None)
        yield Row("linked", records, months, habit, buckets, *came_to)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--months", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epsilon", default="1.6")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    for row in link_all(given.records, given.months, given.seed, given.epsilon):
        print(row, flush=True)
        write_rows([row], given.out)


if __name__ == "__main__":
    main()
