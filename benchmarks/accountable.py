"""What an accountable run costs beside the same run that is not: time, bytes and disk, side by side.

`python -m benchmarks.accountable` links 5,000 + 5,000 records with `accord link` in two processes: the
paper's AB set-up where the real data is at hand, generated products otherwise, or as many as `--records`
says. Both ways run in turns, and the best of some `--turns` counts. Then A's side is replayed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from accord.agreement.document import Agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.replay.one_side import replay_side
from accord.replay.pledged import open_pledged_side
from accord.state.folder import State
from accord.table.sinks.files import write_table
from benchmarks.linkage import DATA, cases, introduce, link, outcomes, ports

Way = tuple[str, Agreement]


def ways(agreed: Agreement) -> Iterator[Way]:
    """The agreement as it is, and accountable."""
    for name, bound in (("as it is", False), ("accountable", True)):
        plain = agreed.model_dump(mode="json", exclude_none=True)
        yield name, Agreement.model_validate(plain | ({"accountable": True} if bound else {}))


def turn(made: Any, agreed: Agreement, folder: Path) -> dict[str, float]:
    """One linkage; the slower side's seconds, the bytes of both directions, and what A keeps."""
    folder.mkdir()
    (folder / "agreement.toml").write_text(agreed.to_toml())
    for side, table in (("A", made.a), ("B", made.b)):
        write_table(table, folder / f"{side}.parquet")
    introduce(agreed, folder)
    found = outcomes(link(side, agreed, folder, port) for side, port in ports())
    state = State(folder / "state-A")
    disk = sum(path.stat().st_size for path in (state.folder / "runs").rglob("*") if path.is_file())
    facts = {"seconds": max(one["seconds"] for one in found), "bytes": found[0]["bytes"], "disk": disk}
    facts["comparisons"] = found[0]["comparisons"]
    if agreed.accountable:
        began = time.perf_counter()
        replayed = replay_side(open_pledged_side(state, found[0]["run"], None))
        facts["replay"], facts["signatures"] = time.perf_counter() - began, replayed.signatures
    return facts


def compare(label: str, made: Any, agreed: Agreement, turns: int) -> None:
    """Both ways in turns, and the best of each."""
    seen: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        for number in range(turns):
            for way, bound in ways(agreed):
                seen.setdefault(way, []).append(turn(made, bound, Path(name) / f"{way}-{number}"))
    best = {way: min(found, key=lambda facts: facts["seconds"]) for way, found in seen.items()}
    for way, facts in best.items():
        told = ", ".join(f"{key} {value:,.2f}" for key, value in facts.items())
        print(f"{label}  {way}: {told}", flush=True)
    plain, kept = best["as it is"], best["accountable"]
    more = (kept["seconds"] - plain["seconds"]) / kept["bytes"] * 1e9
    print(f"{label}  {kept['seconds'] / plain['seconds']:.3f} times, {more:.2f} ns a byte", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=0, help="generated products of each side")
    parser.add_argument("--turns", type=int, default=3)
    chosen = parser.parse_args()
    if DATA.is_dir() and not chosen.records:
        for label, made, agreed in cases("ab"):
            compare(label, made, agreed, chosen.turns)
    else:
        records = chosen.records or 5000
        compare(
            f"products {records:,}", generate_products(records, None, 1), starter("products"), chosen.turns
        )


if __name__ == "__main__":
    main()
