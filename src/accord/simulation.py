"""Both parties in one process, in the clear: what an agreement will find and what it will cost.

`simulate` sees both tables, so it is for planning, teaching and research on data that one may see; a linkage
never runs this way. It finds the exact matches of the rule, those among them that the blocking brings
together, and how many pairs must be compared for it.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from accord.agreement import Agreement
from accord.agreement_file import require_sound
from accord.errors import DataError
from accord.matching.evaluate import Indices, Tables
from accord.matching.join import Progress, full_join
from accord.records.columns import Records
from accord.records.layout import Layout
from accord.records.load import load_records
from accord.records.sources import open_table
from accord.secure.circuit import Side


@dataclass(frozen=True)
class Simulation:
    """The outcome of a simulated linkage."""

    pairs: pa.Table
    """The matches found: `id_a`, `id_b`, and the disclosed columns of both sides."""
    records_a: int
    records_b: int
    left_out: int
    all_matches: int
    """Pairs that the rule accepts, whether or not the blocking brings them together."""
    candidate_pairs: int
    comparisons: int
    bins: int
    seconds: float
    peak_mib: float

    @property
    def matches(self) -> int:
        return self.pairs.num_rows

    @property
    def recall(self) -> float:
        """The share of all matches that was found."""
        return self.matches / self.all_matches if self.all_matches else 1.0

    @property
    def precision(self) -> float:
        """1 by construction: what was found is drawn from what the rule accepts."""
        return 1.0

    @property
    def all_pairs(self) -> int:
        return self.records_a * self.records_b

    @property
    def reduction_ratio(self) -> float:
        """The share of all pairs that the blocking spares."""
        return 1 - self.candidate_pairs / self.all_pairs if self.all_pairs else 0.0


def simulate(
    a: object,
    b: object,
    agreement: Agreement,
    *,
    layout_a: Layout | None = None,
    layout_b: Layout | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Link two tables (files, or anything with the Arrow C stream interface) in the clear."""
    began = time.perf_counter()
    require_sound(agreement)
    left, right = load_both(a, b, agreement, layout_a, layout_b)
    tables = Tables(agreement.fields, left.columns, right.columns)
    rows_a, rows_b = full_join(agreement.rule, tables, (len(left), len(right)), progress)
    met = np.ones(len(rows_a), np.bool_)
    if agreement.plan.losses(agreement.rule):
        met = agreement.plan.compares(tables, rows_a, rows_b)
    candidates = candidate_pairs(agreement, left, right)
    return Simulation(
        pairs=_output(left, right, rows_a[met], rows_b[met]),
        records_a=len(left),
        records_b=len(right),
        left_out=left.left_out + right.left_out,
        all_matches=len(rows_a),
        candidate_pairs=candidates,
        comparisons=candidates,
        bins=agreement.plan.bins,
        seconds=time.perf_counter() - began,
        peak_mib=peak_mib(),
    )


def load_both(
    a: object, b: object, agreement: Agreement, layout_a: Layout | None, layout_b: Layout | None
) -> tuple[Records, Records]:
    """Both tables, or the faults of both."""
    loaded: list[Records] = []
    faulty: list[DataError] = []
    for source, side, layout in ((a, Side.A, layout_a), (b, Side.B, layout_b)):
        try:
            shown = agreement.disclosed(side)
            loaded.append(load_records(source, agreement.fields, agreement.salt, shown, layout))
        except DataError as error:
            faulty.append(error)
    if len(faulty) == 2:
        both = [
            replace(fault, place=f"{side.value}, {fault.place}".rstrip(", "))
            for side, error in zip(Side, faulty, strict=True)
            for fault in error.faults
        ]
        raise DataError("A's and B's data together", both)
    if faulty:
        raise faulty[0]
    return loaded[0], loaded[1]


def read_truth(path: Path) -> pa.Table:
    """A file of true pairs, columns `id_a` and `id_b`."""
    table = open_table(path, ["id_a", "id_b"], Layout())
    empty = pa.table({name: pa.array([], pa.large_string()) for name in ("id_a", "id_b")})
    batches = [pa.Table.from_batches([batch]).cast(empty.schema) for batch in table.batches]
    return pa.concat_tables([empty, *batches])


def truth_scores(result: Simulation, truth: pa.Table) -> dict[str, float]:
    """How the matches found compare with the true pairs."""
    found, true = _codes(result.pairs, truth)
    both = len(np.intersect1d(found, true))
    return {
        "true_pairs": len(true),
        "recall_of_truth": both / len(true) if len(true) else 1.0,
        "precision_of_truth": both / len(found) if len(found) else 1.0,
    }


def _codes(found: pa.Table, true: pa.Table) -> tuple[Indices, Indices]:
    """Pairs of ids as whole numbers, each pair once, so that they can be compared without a loop."""
    keys = np.zeros(len(found) + len(true), np.int64)
    for name in ("id_a", "id_b"):
        ids = pa.chunked_array([*found[name].chunks, *true[name].chunks], pa.large_string())
        distinct = ids.combine_chunks().dictionary_encode()
        keys = keys * len(distinct.dictionary) + np.asarray(distinct.indices)
    return np.unique(keys[: len(found)]), np.unique(keys[len(found) :])


def candidate_pairs(agreement: Agreement, a: Records, b: Records) -> int:
    """How many pairs of real records the blocking compares."""
    counts_a = agreement.plan.counts(Side.A, a.columns, len(a))
    counts_b = agreement.plan.counts(Side.B, b.columns, len(b))
    bins_a, bins_b = agreement.plan.pairs()
    return int(np.dot(counts_a[bins_a], counts_b[bins_b]))


def _output(a: Records, b: Records, rows_a: Indices, rows_b: Indices) -> pa.Table:
    columns = {"id_a": a.ids.take(pa.array(rows_a)), "id_b": b.ids.take(pa.array(rows_b))}
    for records, rows, side in ((a, rows_a, "a"), (b, rows_b, "b")):
        shown = records.disclosed.take(pa.array(rows)) if records.disclosed.num_columns else records.disclosed
        columns |= {f"{name}_{side}": shown[name] for name in shown.column_names}
    return pa.table(columns)


def peak_mib() -> float:
    """The most memory this process has used."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
