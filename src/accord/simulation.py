"""Both parties in one process, in the clear: what an agreement will find and what it will cost.

`simulate` sees both tables, so it is for planning, teaching and research on data that one may see; a linkage
never runs this way. It finds the exact matches of the rule, those among them that the blocking brings
together, and how many pairs must be compared for it.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from accord.agreement import Agreement
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
    left = load_records(a, agreement.fields, agreement.salt, agreement.disclosed(Side.A), layout_a)
    right = load_records(b, agreement.fields, agreement.salt, agreement.disclosed(Side.B), layout_b)
    tables = Tables(agreement.fields, left.columns, right.columns)
    rows_a, rows_b = full_join(agreement.rule, tables, (len(left), len(right)), progress)
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


def truth_scores(result: Simulation, truth: Path) -> dict[str, float]:
    """How the matches found compare with a file of the true pairs, columns `id_a` and `id_b`."""
    table = open_table(truth, ["id_a", "id_b"], Layout())
    true = {pair for batch in table.batches for pair in _id_pairs(batch)}
    found = set(_id_pairs(result.pairs))
    both = len(true & found)
    return {
        "true_pairs": len(true),
        "recall_of_truth": both / len(true) if true else 1.0,
        "precision_of_truth": both / len(found) if found else 1.0,
    }


def _id_pairs(table: pa.Table | pa.RecordBatch) -> Iterable[tuple[str, str]]:
    ids = [table.column(name).cast(pa.large_string()).to_pylist() for name in ("id_a", "id_b")]
    return zip(*ids, strict=True)


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
