"""How many generated people the promise of `routed` covers: `python -m benchmarks.coverage`.

A record is covered if at most `cap` records of its own table share each of its keys [MATHS §10.4]. The
results, docs/results/coverage.csv, have the share of records that are not covered, and of records without a
match that share a full key with a match, each of the worse side. `former` are the passes that plans took for
100,000 people before they counted coverage, `fine` are keys of more fields.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.rules.blocking.key import KeyPart, KeySpec
from accord.side import Side

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "coverage.csv"
COLUMNS = ("passes", "records", "cap", "uncovered_percent", "beside_match_percent")
SEED = 1
PASSES = {
    "former": (
        "birth given_sound", "birth surname_sound", "email", "birth_year phone", "sex phone",
        "postcode given_sound surname_sound", "sex given_sound surname_sound",
        "birth_year birth_day postcode",
    ),
    "fine": (
        "birth given_sound", "birth surname_sound", "email", "sex birth_year phone", "given_sound phone",
        "postcode given_sound surname_sound", "birth_year given_sound surname_sound",
        "birth_year birth_day postcode",
    ),
}  # fmt: skip
SETTINGS = {
    "former": [(100_000, cap) for cap in (1, 2, 4, 8)],
    "fine": [(5_000, 2), (20_000, 2), (100_000, 2), (400_000, 3)],
}


def measure(passes: str, records: int, cap: int) -> dict[str, object]:
    """One row."""
    people = generate_people(records, None, SEED)
    sides = [
        _shares(side, table, people.truth[column], PASSES[passes], cap)
        for side, table, column in zip(Side, (people.a, people.b), ("id_a", "id_b"), strict=True)
    ]
    shares = (f"{100 * max(share):.2f}" for share in zip(*sides, strict=True))
    return dict(zip(COLUMNS, (passes, records, cap, *shares), strict=True))


def _shares(
    side: Side, table: pa.Table, matching: pa.ChunkedArray, keys: tuple[str, ...], cap: int
) -> tuple[float, float]:
    """The uncovered records, and of those without a match the ones that share a full key with a match."""
    agreement = starter("people")
    records: Records = load_records(table, agreement.fields, agreement.salt)
    matches = pc.is_in(table["id"], value_set=matching.combine_chunks()).to_numpy()
    uncovered, beside = np.zeros((2, len(records)), bool)
    for fields in map(str.split, keys):
        field = tuple(fields) if len(fields) > 1 else fields[0]
        part = KeyPart(KeySpec(kind="key", field=field), agreement.fields)
        record, key = part.keys(side, records.columns)
        _, group, counts = np.unique(key, return_inverse=True, return_counts=True)
        full = counts[group] > cap
        matched = np.bincount(group, matches[record], len(counts)) > 0
        uncovered[record[full]] = True
        beside[record[full & matched[group]]] = True
    return float(uncovered.mean()), float(beside[~matches].mean())


def main() -> None:
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for passes, settings in SETTINGS.items():
            for records, cap in settings:
                writer.writerow(measure(passes, records, cap))
                file.flush()


if __name__ == "__main__":
    main()
