"""Both parties in one process: what an agreement will find and what it will cost.

`simulate` sees both tables, so it is for planning, teaching and research on data that one may see; a linkage
never runs this way. The program is the one that runs between two parties; only the wire is a queue in memory,
and with the `ideal` engine the comparisons are made in the clear. Beside the protocol's output it finds the
pairs that the rule accepts, which the output is measured against: among those that meet in the blocking,
which is what the protocol can find, or, if asked, among all. Under a complete blocking these are the same.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import mean, pstdev

import numpy as np
import pyarrow.compute as pc

from accord.agreement.by_pass import PassFigures, by_pass
from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.arguments import require, require_flag, require_function, require_text, require_text_or_none
from accord.entropy import Entropy, Seeded, System
from accord.errors import DataError, UsageError
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.protocols.base import Ints, Release, prepare
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide, Watch
from accord.rules.evaluate import Tables, holds
from accord.rules.join import Index, each_meeting
from accord.secure.engine import Engine
from accord.secure.engines import engine_named
from accord.secure.ideal import IdealEngine
from accord.secure.party import Party, Wire, run_pair
from accord.side import Side
from accord.simulation.known import Known
from accord.simulation.report import Quality, judge
from accord.simulation.truth import read_truth
from accord.spill import Scratch
from accord.table.layout import Layout
from accord.table.pairs import Half, Paired, Pairs, PairTable, order_pairs
from accord.table.sources.opening import TableLike, require_table
from accord.wording import tell_kept


@dataclass(frozen=True)
class Trial:
    """One run of the protocol."""

    matches: int
    matches_found: int | None
    """Of which these are the best one-to-one set; None where all are kept."""
    comparisons: int
    dummies_a: int
    dummies_b: int
    rounds: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Promised:
    """What a side's records that match nothing are promised, with the δ that is true of it; None where the
    protocol promises nothing."""

    epsilon: float | None
    delta: float | None


@dataclass(frozen=True, repr=False)
class Simulation(Paired):
    """The outcome of one or several simulated linkages of the same tables."""

    runs: tuple[Trial, ...]
    records_a: int
    records_b: int
    left_out: int
    all_matches: int
    """Pairs that the rule accepts, whether or not the protocol finds them; see `among_candidates`."""
    among_candidates: bool
    """Whether only pairs that meet in the blocking were looked at for these, and it may lose some."""
    true_positives: int
    """Matches of the first run that the rule accepts."""
    candidate_pairs: int
    """Pairs of real records that the blocking brings together, in each pass."""
    bins: int
    passes: tuple[PassFigures, ...]
    """What each pass of the blocking brings together of the pairs that the rule accepts."""
    promises: Mapping[Side, Promised]
    engine: str
    filled: Mapping[Side, tuple[Ints, Ints]]
    """Of the first run, by bin: how many records are in it, and how many dummies; nothing where a protocol
    has no bins to fill up."""
    advice: tuple[str, ...]
    """What is worth knowing of the protocol under this rule."""
    leaks: str
    """What a leaky protocol tells; empty for the others."""
    seconds: float
    join_seconds: float
    """Of these, for the exact matches in the clear."""
    peak_mib: float
    _agreement: Agreement = field(repr=False)
    _noise: str | None = field(repr=False)
    _tables: tuple[Records, Records] = field(repr=False)
    _pairs: Pairs = field(repr=False)

    @cached_property
    def found(self) -> PairTable:
        """The matches of the first run, as rows of both tables."""
        a, b = (Half.of(table.ids, table.disclosed, table.numbered) for table in self._tables)
        return PairTable(a, b, self._pairs)

    @property
    def matches(self) -> int:
        return len(self._pairs)

    @property
    def matches_found(self) -> int | None:
        """The pairs of the first run before the best one-to-one set was kept; None where all are."""
        return self.runs[0].matches_found

    def _facts(self) -> dict[str, str]:
        return {
            "matches": tell_kept(self.matches, self.matches_found),
            "recall under the rule": f"{self.recall:.4f}{' of the pairs that meet' * self.among_candidates}",
            "comparisons": f"{self.comparisons:,.0f}",
            "of all pairs": f"{self.cost_ratio:.2%}",
        }

    @cached_property
    def comparisons(self) -> float:
        """Secure comparisons, dummies included: the mean over the runs."""
        return mean(run.comparisons for run in self.runs)

    @cached_property
    def comparisons_sd(self) -> float:
        return pstdev(run.comparisons for run in self.runs)

    @cached_property
    def recall(self) -> float:
        """The share of `all_matches` that was found, whether or not it was kept: the mean over the runs."""
        found = [run.matches if run.matches_found is None else run.matches_found for run in self.runs]
        return mean(found) / self.all_matches if self.all_matches else 1.0

    @property
    def precision(self) -> float:
        """The share of what was found that the rule accepts."""
        return self.true_positives / self.matches if self.matches else 1.0

    def quality(self, truth: TableLike, pairs: int = 3) -> Quality:
        """How good the matches are against true pairs (`id_a`, `id_b`), with this many pairs to look at."""
        require_table("truth", truth)
        require("pairs", pairs, "a whole number of at least 0", int)
        if pairs < 0:
            raise UsageError(problem="`pairs=` is a whole number of at least 0.")
        known = Known.of(self._agreement, *self._tables, self._pairs.rows(0, self.matches), read_truth(truth))
        return judge(known, pairs, self._noise)

    @property
    def all_pairs(self) -> int:
        return self.records_a * self.records_b

    @property
    def cost_ratio(self) -> float:
        """Comparisons against comparing all pairs."""
        return self.comparisons / self.all_pairs if self.all_pairs else 0.0

    @property
    def reduction_ratio(self) -> float:
        """The share of all pairs that the blocking saves, dummies aside."""
        live = len(self._tables[0]) * len(self._tables[1])
        return 1 - self.candidate_pairs / live if live else 0.0


def simulate(  # noqa: PLR0913 — a public function: one keyword for each thing that may be said
    a: TableLike,
    b: TableLike,
    agreement: Agreement,
    *,
    engine: str = "ideal",
    noise: str | None = None,
    beyond_blocking: bool = False,
    runs: int = 1,
    seed: int | None = None,
    layout_a: Layout | None = None,
    layout_b: Layout | None = None,
    watch: Watch = lambda status: None,
) -> Simulation:
    """Run the agreement's protocol on two tables (files, or anything with the Arrow C stream interface).

    `noise` replaces the agreement's, `paper-2017` included, which no linkage may use. `beyond_blocking` has
    all pairs looked at for those that the rule accepts, which may take long. With a seed the run can be
    repeated exactly.
    """
    began = time.perf_counter()
    _require_kinds(a, b, engine, noise, runs, seed, watch)
    require_flag("beyond_blocking", beyond_blocking)
    for argument, layout in (("layout_a", layout_a), ("layout_b", layout_b)):
        if layout is not None:
            require(argument, layout, "a Layout", Layout)
    require_sound(agreement, simulated=True)
    left, right = load_both(a, b, agreement, layout_a, layout_b)
    tables = Tables(agreement.fields, left.columns, right.columns)
    loaded = time.perf_counter()
    for side, own, partner in ((Side.A, left, right), (Side.B, right, left)):
        if problem := agreement.protocol.refuse_sizes(agreement.task, side, own.size, partner.size):
            raise UsageError(problem=problem)
        agreement.protocol.refuse_records(agreement.task, side, own)
    among = not (beyond_blocking or agreement.protocol.finds_beyond())
    among = among and bool(agreement.plan.losses(agreement.rule))
    accepted = _accepted(agreement, tables, left, right, among)
    joined = time.perf_counter()
    releases = {
        side: release_of(agreement, side, r.size, noise) for side, r in ((Side.A, left), (Side.B, right))
    }
    figures: list[Trial] = []
    for number in range(runs):
        entropy = System() if seed is None else seeded_run(seed, number)
        outcome, figure, filled = _run(agreement, left, right, releases, engine, entropy, watch)
        figures.append(figure)
        if number == 0:
            first, filled_first = _as_rows(outcome, right), filled
    return Simulation(
        runs=tuple(figures),
        records_a=left.size,
        records_b=right.size,
        left_out=left.left_out + right.left_out,
        all_matches=len(accepted),
        among_candidates=among,
        true_positives=_count_accepted(agreement, tables, first),
        candidate_pairs=candidate_pairs(agreement, left, right),
        bins=agreement.plan.bins,
        passes=by_pass(agreement, left, right, accepted.pieces(), noise),
        promises={side: _promised(agreement, release) for side, release in releases.items()},
        engine=engine,
        filled=filled_first,
        advice=tuple(agreement.protocol.advice(agreement.task)),
        leaks=agreement.protocol.leaky,
        seconds=time.perf_counter() - began,
        join_seconds=joined - loaded,
        peak_mib=peak_mib(),
        _agreement=agreement,
        _noise=noise,
        _tables=(left, right),
        _pairs=first,
    )


def _accepted(
    agreement: Agreement, tables: Tables, left: Records, right: Records, among_candidates: bool
) -> Pairs:
    """The pairs that the rule accepts: all of them, or those that meet in the blocking."""
    sizes = len(left), len(right)
    if among_candidates:
        found = each_meeting(agreement.rule, tables, sizes, agreement.plan)
    else:
        found = Index(agreement.rule, agreement.fields, Side.B, tables.b, sizes[1]).each(tables.a, sizes[0])
    return order_pairs(left.by_id, right.by_id, found, Scratch())


def _require_kinds(
    a: object, b: object, engine: object, noise: object, runs: object, seed: object, watch: object
) -> None:
    """Raise for an argument of a wrong kind."""
    require_table("a", a)
    require_table("b", b)
    require_text("engine", engine, "ideal")
    require_text_or_none("noise", noise)
    require("runs", runs, "a whole number of at least 1", int)
    require("seed", seed, "a whole number, or None", int, type(None))
    require_function("watch", watch, "a function of a Status")
    assert isinstance(runs, int)
    if runs < 1:
        raise UsageError(problem="`runs=` is a whole number of at least 1.")


def _promised(agreement: Agreement, release: Release) -> Promised:
    told = agreement.leakage(release.side)
    delta = None if told.delta is None else float(told.delta)
    exact = delta if release.setting is None else release.setting.delta_exact
    return Promised(None if told.epsilon is None else float(told.epsilon), exact)


def seeded_run(seed: int, number: int) -> Entropy:
    """The randomness of one run of `simulate` with a seed; each side takes the stream of its letter."""
    return Seeded(f"simulate {seed} {number}")


def release_of(agreement: Agreement, side: Side, records: int, noise: str | None = None) -> Release:
    """What a simulated run tells of a table of so many records; `noise` replaces the agreed one."""
    return agreement.protocol.release(agreement.task, side, records, noise, claimed=True)


def make_mine(
    release: Release,
    records: Records,
    partner_size: int,
    entropy: Entropy,
    watch: Watch = lambda status: None,
) -> OwnSide:
    """One side, with fresh noise; a linkage takes its noise from the ledger instead."""
    told = () if release.event is None else (release.event,)
    noise = release.draw(records, entropy)
    made = prepare(release.task, release.side, records, partner_size, noise, entropy, told)
    return replace(made, watch=watch)


def start_party(
    agreement: Agreement, side: Side, records: Records, partner_size: int, entropy: Entropy, engine: Engine
) -> Party[Outcome]:
    """One side of the agreed protocol, with fresh noise: for benchmarks, which time it between processes."""
    mine = make_mine(release_of(agreement, side, records.size), records, partner_size, entropy)
    return agreement.protocol.party(agreement.task, mine, engine)


def _engine(agreement: Agreement, name: str) -> Engine:
    """The engine of this name, with the agreement's options if it is the one that the agreement names."""
    if name == "ideal":
        return IdealEngine()
    return agreement.engine.build() if name == agreement.engine.name else engine_named(name)


def _run(
    agreement: Agreement,
    left: Records,
    right: Records,
    releases: Mapping[Side, Release],
    engine: str,
    entropy: Entropy,
    watch: Watch,
) -> tuple[Outcome, Trial, dict[Side, tuple[Ints, Ints]]]:
    began = time.perf_counter()
    chosen = _engine(agreement, engine)
    a = make_mine(releases[Side.A], left, right.size, entropy.stream("A"), watch)
    b = make_mine(releases[Side.B], right, left.size, entropy.stream("B"))
    wire, task = Wire(), agreement.task
    parties = [task.protocol.party(task, mine, chosen) for mine in (a, b)]
    outcome, other = run_pair(parties[0], parties[1], wire)
    filled = {mine.side: mine.slots.filled for mine in (a, b) if task.protocol.padded}
    figure = Trial(
        matches=len(outcome.pairs),
        matches_found=outcome.matches_found,
        comparisons=outcome.comparisons,
        dummies_a=outcome.dummies,
        dummies_b=other.dummies,
        rounds=outcome.rounds,
        bytes=wire.bytes,
        seconds=time.perf_counter() - began,
    )
    return outcome, figure, filled


def _as_rows(outcome: Outcome, right: Records) -> Pairs:
    """The matches as rows of both tables: here the partner's ids can be looked up."""
    partner = np.asarray(pc.index_in(outcome.partner_ids, value_set=right.ids)).astype(np.int32)
    return replace(outcome.pairs, b=partner[outcome.pairs.b])


def _count_accepted(agreement: Agreement, tables: Tables, found: Pairs) -> int:
    """How many of these the rule accepts."""
    each = ((left.astype(np.int64), right.astype(np.int64)) for left, right in found.pieces())
    return sum(int(holds(agreement.rule, tables, *rows).sum()) for rows in each)


def load_both(
    a: TableLike, b: TableLike, agreement: Agreement, layout_a: Layout | None, layout_b: Layout | None
) -> tuple[Records, Records]:
    """Both tables, or the faults of both."""
    loaded: list[Records] = []
    faulty: list[DataError] = []
    for source, side, layout in ((a, Side.A, layout_a), (b, Side.B, layout_b)):
        if layout is not None:
            layout.require_known(agreement.names, agreement.lists)
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
        mends = dict.fromkeys(error.mend for error in faulty if error.mend)
        raise DataError("A's and B's data together", both, "\n".join(mends))
    if faulty:
        raise faulty[0]
    return loaded[0], loaded[1]


def candidate_pairs(agreement: Agreement, a: Records, b: Records) -> int:
    """How many pairs of real records the blocking compares, in each pass."""
    return sum(
        one.place_both((a.columns, b.columns), (len(a), len(b))).candidates for one in agreement.plan.passes
    )


def peak_mib() -> float:
    """The most memory this process has used."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
