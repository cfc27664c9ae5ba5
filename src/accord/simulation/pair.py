"""Both parties in one process: what an agreement will find and what it will cost.

`simulate` sees both tables, so it is for planning, teaching and research on data that one may see; a linkage
never runs this way. The program is the one that runs between two parties; only the wire is a queue in memory,
and with the `ideal` engine the comparisons are made in the clear. Beside the protocol's output it finds the
pairs that the rule accepts, which the output is measured against: among those that meet in the blocking,
which is what the protocol can find, or, if asked, among all. Under a complete blocking these are the same.
What an agreement hides from a side, pairs or the exact answer, is shown here as well.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from statistics import mean, pstdev

import numpy as np
import pyarrow as pa

from accord.agreement.by_pass import PassFigures, by_pass
from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.arguments import require, require_flag, require_function, require_text, require_text_or_none
from accord.drawing import draw
from accord.entropy import System
from accord.errors import DataError, UsageError
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.protocols.base import Ints, Release
from accord.protocols.parts.answers import Answered
from accord.protocols.parts.own_side import OwnSide, Watch
from accord.ranges import contained
from accord.rules.evaluate import Tables, holds
from accord.rules.join import Compared, Index, PassPairs, matches_among
from accord.side import Side
from accord.simulation.curve import trace
from accord.simulation.known import Known, PairFacts
from accord.simulation.report import Quality, judge
from accord.simulation.trials import Trial as Trial
from accord.simulation.trials import Tried, try_once
from accord.simulation.trials import make_mine as make_mine
from accord.simulation.trials import release_of as release_of
from accord.simulation.trials import seeded_run as seeded_run
from accord.simulation.trials import start_party as start_party
from accord.simulation.truth import read_truth
from accord.spill import Scratch
from accord.table.layout import Layout
from accord.table.pairs import Half, Paired, Pairs, PairTable, SomePairs, order_pairs
from accord.table.sources.opening import TableLike, require_table
from accord.wording import tell_kept

_MOST_TRIED, _TIMES = 1 << 20, 4
"""Pairs that are looked at in any case for what the rule accepts, and how many times what a run compares."""


@dataclass(frozen=True)
class Promised:
    """What a side's records that match nothing are promised, with the δ that is true of it; None where the
    protocol promises nothing."""

    epsilon: float | None
    delta: float | None
    unless: str = ""
    """When they do not hold; empty where they always do."""


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
    estimated: bool
    """Whether `all_matches` is estimated, from the pairs of some of A's records: far more pairs meet than a
    run compares."""
    true_positives: int
    """Matches of the first run that the rule accepts."""
    candidate_pairs: int
    """Pairs of real records that the blocking brings together, in each pass."""
    bins: int
    passes: tuple[PassFigures, ...]
    """What each pass of the first run compares of the pairs that the rule accepts."""
    promises: Mapping[Side, Promised]
    answer: Answered | None
    """What both would learn from the first run, where nobody is shown; None where pairs are asked for."""
    exact_answer: Answered | None
    """The same without noise, which nobody would learn."""
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
    _sides: tuple[OwnSide, OwnSide] = field(repr=False)

    @cached_property
    def found(self) -> PairTable:
        """The matches of the first run, as rows of both tables."""
        a, b = (Half.of(table.ids, table.disclosed, table.numbered) for table in self._tables)
        return PairTable(a, b, self._pairs)

    def _repr_html_(self) -> str:
        """For notebooks: figures and first pairs as tables, and where they come from as charts."""
        return super()._repr_html_() + draw("show_simulation", self)

    @property
    def agreement(self) -> Agreement:
        """What was simulated."""
        return self._agreement

    @property
    def matches(self) -> int:
        return len(self._pairs)

    @property
    def matches_found(self) -> int | None:
        """The pairs of the first run before a one-to-one set was kept; None where all are."""
        return self.runs[0].matches_found

    @property
    def result(self) -> PairTable | pa.Table:
        """What a run would write: the pairs, or the cells of the answer."""
        return self.found if self.answer is None else self.answer.table()

    def _facts(self) -> dict[str, str]:
        asked = {} if self.answer is None else {"answer": self.answer.brief()}
        return asked | {
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
        return judge(self._known(read_truth(truth)), pairs, self._noise)

    def nearest(self, pairs: int = 3) -> Mapping[str, tuple[PairFacts, ...]]:
        """So many pairs just `below` the threshold of the rule's score and just `above` it, where the true
        pairs are not known; nothing for a rule without a score."""
        require("pairs", pairs, "a whole number of at least 0", int)
        nobody = pa.table({name: pa.array([], pa.string()) for name in ("id_a", "id_b")})
        known = self._known(nobody)
        traced = trace(known, pairs)
        named = {} if traced is None else {"below": traced[1], "above": traced[2]}
        return {
            name: tuple(replace(one, true=None) for one in known.describe(keys))
            for name, keys in named.items()
        }

    def _known(self, truth: pa.Table) -> Known:
        found = self._pairs.rows(0, self.matches)
        return Known.of(self._agreement, *self._tables, found, truth, self.compared)

    @cached_property
    def compared(self) -> Compared:
        """What the first run compared."""
        return find_compared(self._agreement, self._sides)

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

    `noise` replaces the agreement's, also by one that no linkage may use. `beyond_blocking` has
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
    for side, own, partner in ((Side.A, left, right), (Side.B, right, left)):
        if problem := agreement.protocol.refuse_sizes(agreement.task, side, own.size, partner.size):
            raise UsageError(problem=problem)
        agreement.protocol.refuse_records(agreement.task, side, own)
    among = not (beyond_blocking or agreement.protocol.finds_beyond(agreement.task))
    among = among and bool(agreement.plan.losses(agreement.rule))
    releases = {
        side: release_of(agreement, side, r.size, noise) for side, r in ((Side.A, left), (Side.B, right))
    }
    figures: list[Trial] = []
    for number in range(runs):
        drawn = System().bytes(16).hex() if seed is None else seed
        trial = try_once(agreement, left, right, releases, engine, partial(seeded_run, drawn, number), watch)
        figures.append(trial.figure)
        if number == 0:
            first = trial
    ran = time.perf_counter()
    # Where the blocking loses nothing, these are all of them, too.
    meeting = among or (agreement.protocol.places and not beyond_blocking)
    accepted = _find_accepted(agreement, tables, left, right, meeting, first)
    return Simulation(
        runs=tuple(figures),
        records_a=left.size,
        records_b=right.size,
        left_out=left.left_out + right.left_out,
        all_matches=accepted.count,
        among_candidates=among,
        estimated=accepted.estimated,
        true_positives=_count_accepted(agreement, tables, first.pairs),
        candidate_pairs=candidate_pairs(agreement, left, right),
        bins=agreement.plan.bins if agreement.protocol.lists_bins else 0,
        passes=by_pass(
            *(agreement, left, right, accepted.pairs.pieces(), noise),
            find_compared(agreement, first.sides),
        ),
        promises={side: _promised(agreement, release) for side, release in releases.items()},
        answer=first.answer,
        exact_answer=first.exact,
        engine=engine,
        filled=first.filled,
        advice=tuple(agreement.protocol.advice(agreement.task)),
        leaks=agreement.protocol.leaky,
        seconds=time.perf_counter() - began,
        join_seconds=time.perf_counter() - ran,
        peak_mib=peak_mib(),
        _agreement=agreement,
        _noise=noise,
        _tables=(left, right),
        _pairs=first.pairs,
        _sides=first.sides,
    )


@dataclass(frozen=True)
class _Accepted:
    """Pairs that the rule accepts, and how many there are of them."""

    pairs: Pairs
    count: int
    estimated: bool = False
    """Whether the pairs are those of some of A's records."""


def find_compared(agreement: Agreement, sides: tuple[OwnSide, OwnSide]) -> Compared:
    """What a run of these sides compares."""
    placed = agreement.protocol.place(agreement.task, *sides)
    return Compared(tuple(PassPairs(one) for one in placed))


def _find_accepted(
    agreement: Agreement, tables: Tables, left: Records, right: Records, among_candidates: bool, run: Tried
) -> _Accepted:
    """All of them, or those that meet in the blocking. Where far more meet than the run compared, they are
    looked for among the pairs of some records, and as many more are expected as the run found more."""
    sizes = len(left), len(right)

    def ordered(found: Iterator[SomePairs]) -> Pairs:
        return order_pairs(left.by_id, right.by_id, found, Scratch())

    if not among_candidates:
        index = Index(agreement.rule, agreement.fields, Side.B, tables.b, sizes[1])
        pairs = ordered(index.each(tables.a, sizes[0]))
        return _Accepted(pairs, len(pairs))
    meeting = Compared.of(tables, sizes, agreement.plan)
    share = min(1.0, max(_MOST_TRIED, _TIMES * run.figure.comparisons) / max(1, meeting.count))
    rows = np.sort(np.random.default_rng(0).permutation(sizes[0])[: max(1, round(share * sizes[0]))])
    pairs = ordered(matches_among(agreement.rule, tables, meeting.among(rows)))
    if len(rows) == sizes[0]:
        return _Accepted(pairs, len(pairs))
    found = run.pairs.rows(0, len(run.pairs))[0]
    here = int(contained(found.astype(np.int64), rows).sum())
    times = len(found) / here if here else sizes[0] / len(rows)
    return _Accepted(pairs, round(times * len(pairs)), True)


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
    return Promised(None if told.epsilon is None else float(told.epsilon), exact, told.unless)


def _count_accepted(agreement: Agreement, tables: Tables, found: Pairs) -> int:
    """How many of these the rule accepts."""
    each = ((left.astype(np.int64), right.astype(np.int64)) for left, right in found.pieces())
    return sum(int(holds(agreement.rule, tables, *rows).sum()) for rows in each)


def load_both(
    a: TableLike, b: TableLike, agreement: Agreement, layout_a: Layout | None, layout_b: Layout | None
) -> tuple[Records, Records]:
    """Both tables, or the faults of both: also people with too many records, where a layout names people."""
    loaded: list[Records] = []
    faulty: list[DataError] = []
    for source, side, layout in ((a, Side.A, layout_a), (b, Side.B, layout_b)):
        if layout is not None:
            layout.require_known(agreement.names)
        try:
            most = None
            if layout is not None and layout.person is not None:
                most = agreement.protocol.records_per_person(agreement.task, side)
            shown = agreement.kept_columns(side)
            loaded.append(load_records(source, agreement.fields, agreement.salt, shown, layout, most))
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
