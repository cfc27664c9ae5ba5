"""What is learnt from: labelled pairs, pairs without labels, made-up people.

Each becomes the same thing, a `LearntWeights`: the comparisons with their weights, and how sums spread over
matches and over others. Weights are learnt from the pairs that meet in the draft's passes and satisfy what
stands beside its score. What is expected counts each as often as it is likely to be compared (chances.py). A
match that is not compared is missed whatever the weights.

Where it is known who is who, what is expected comes from five folds of people: the sums of a fold are those
of weights that were learnt without anybody in it. The threshold is chosen on these sums and on those of the
final weights together, since each alone moves with a few pairs where labels are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np

from accord.agreement.document import Agreement
from accord.datasets.generated import Generated
from accord.datasets.people import generate_people
from accord.datasets.people_errors import FIELDS as OF_PEOPLE
from accord.errors import UsageError
from accord.fields.columns import Records, rows_of, slice_of
from accord.fields.load import load_records
from accord.fields.relaxing import relax_ranges
from accord.fields.schema import FieldSpec, agreed_columns
from accord.learning import labels as labelled
from accord.learning.chances import Chances
from accord.learning.drafts import refine
from accord.learning.passes import KnownMatches
from accord.learning.patterns import (
    FOLDS,
    Comparisons,
    FoldedCounts,
    Pairs,
    PatternCounts,
    Weights,
    count,
    deal,
)
from accord.learning.threshold import ScoreSpread, spread_of
from accord.learning.unlabelled import Unlabelled, tell_apart
from accord.learning.weights import FEWEST, Drafted, Prior, Ratios, fit, rare_levels, whole
from accord.planning.made_up import make_up_pairs
from accord.ranges import contained
from accord.rules.blocking.base import Blocking, build_blocking
from accord.rules.evaluate import Indices, Tables, holds
from accord.rules.join import candidates
from accord.rules.rule import Rule, Score
from accord.side import Side
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike

OVERLAP = 0.5
"""Of two tables, where nothing is said of it."""
_MOST_PAIRS = 4_000_000
"""That are looked at to see what strangers look like."""
_MADE_UP = 2_000
_LIKELY = 0.5
"""From which a pair without a label is taken for a match, where passes are chosen."""
_NONE = np.zeros(0, np.int64)

Shares = tuple[tuple[Sequence[float], Sequence[float]], ...]
"""By comparison: of how many matches and of how many others each level decides."""


@dataclass(frozen=True)
class LearntWeights:
    """What some evidence comes to."""

    comparisons: Comparisons
    weights: Weights
    shares: Shares
    choice: ScoreSpread
    """By which the threshold is chosen."""
    expected: ScoreSpread
    """By which it is judged."""
    strangers: float
    """How many pairs of strangers there are for each match, if nothing else is known of the linkage."""
    matches: int | None = None
    """Known ones that were learnt from; None where none is known."""
    met: int | None = None
    """How many of them the draft would compare."""
    notes: tuple[str, ...] = ()
    known: KnownMatches | None = field(default=None, repr=False)
    """By which passes can be chosen."""


@dataclass(frozen=True)
class LearningTask:
    """What is to be learnt: the weights of a score on these fields, for pairs that are compared."""

    score: Score
    rest: Rule
    """What else a match has to satisfy."""
    blocking: Blocking
    caps: Sequence[Mapping[Side, int]]
    """Of its passes; none where all that meet are compared."""
    draft: Agreement
    fields: Mapping[str, FieldSpec]
    """All that these read."""
    seed: int = 0
    records: int | None = None
    """Of each side of the linkage, where that is known."""

    @property
    def salt(self) -> str:
        return self.draft.salt

    def wide(self) -> LearningTask:
        """The same for all pairs."""
        return replace(self, blocking=build_blocking((), self.fields), caps=())

    @property
    def copies(self) -> tuple[int, int]:
        """The most records of A and of B that one person or thing usually has."""
        if self.draft.expected is None:
            return 1, 1
        first, second = (self.draft.expected.copies.of(side) for side in Side)
        return first, second

    def chances(self, tables: Tables, sizes: tuple[int, int]) -> Chances | None:
        """How likely pairs of these tables are compared, in a linkage of its size, or of so many records."""
        first, second = (1.0 if self.records is None else self.records / max(1, size) for size in sizes)
        return Chances.of(tables, sizes, self.blocking, self.caps, (first, second))

    def load(self, source: TableLike, layout: Layout) -> Records:
        return load_records(source, self.fields, self.salt, (), layout)

    def compares(self, tables: Tables, pairs: Pairs) -> Pairs:
        """Those of the pairs that meet and satisfy what stands beside the score."""
        met = self.blocking.compares(tables, *pairs) & holds(self.rest, tables, *pairs)
        return pairs[0][met], pairs[1][met]

    def pairs(self, tables: Tables, rows: Pairs) -> Iterator[Pairs]:
        """All that are compared between some rows of A and some of B, each once, in batches."""
        some = Tables(
            self.fields,
            {name: rows_of(column, rows[0]) for name, column in tables.a.items()},
            {name: rows_of(column, rows[1]) for name, column in tables.b.items()},
        )
        for left, right in candidates(some, (len(rows[0]), len(rows[1])), self.blocking):
            kept = holds(self.rest, some, left, right)
            yield rows[0][left[kept]], rows[1][right[kept]]

    def sample(self, tables: Tables, sizes: tuple[int, int], rng: np.random.Generator) -> Pairs:
        """Rows of A and of B between which not too many pairs meet."""
        columns = tables.a, tables.b
        met = sum(one.place_both(columns, sizes).candidates for one in self.blocking.passes)
        share = sqrt(min(1.0, _MOST_PAIRS / max(1, met)))
        rows = [_sample(rng, size, round(share * size)) for size in sizes]
        return rows[0], rows[1]


def strangers_in(records: int, overlap: float = OVERLAP) -> float:
    """How many pairs of strangers there are for each match, between two tables of so many records."""
    return max(records / overlap - 1, 0.0)


def from_made_up(asked: LearningTask, made: Generated | None) -> LearntWeights:
    """Two made-up tables of which it is known who is who; if there are no others, of people, or of whatever
    the fields are about."""
    if made is None:
        if not {*agreed_columns(asked.fields)} <= {*OF_PEOPLE}:
            return _from_synthetic(asked)
        made = generate_people(_MADE_UP, OVERLAP, asked.seed)
    lacking = [name for name in agreed_columns(asked.fields) if name not in made.a.column_names]
    if lacking:
        problem = f"The made-up tables have no {', '.join(lacking)}, which the draft reads."
        raise UsageError(problem=f"{problem} Give others, or none.")
    # Nobody can mend what is wrong with them.
    specs = relax_ranges(asked.fields, {*asked.draft.blocking_fields} & {*asked.fields})
    a, b = (load_records(table, specs, asked.salt, (), Layout()) for table in (made.a, made.b))
    found = _weigh(asked, a, b, labelled.rows_of(made.truth, a, b), Ratios(asked.score.comparisons))
    return replace(found, strangers=strangers_in(len(a)))


def _from_synthetic(asked: LearningTask) -> LearntWeights:
    """Synthetic records that follow from the fields, of which half are in both tables."""
    shared = round(_MADE_UP * OVERLAP)
    pairs = make_up_pairs(asked.draft, 2 * _MADE_UP - shared)
    if pairs is None or len(pairs[0]) != len(pairs[1]):
        problem = "No synthetic records fit the draft's fields."
        raise UsageError(problem=f"{problem} Give a table of yours, one that is not to be linked.")
    a, b = _take(pairs[0], slice(0, _MADE_UP)), _take(pairs[1], slice(_MADE_UP - shared, None))
    true = np.arange(_MADE_UP - shared, _MADE_UP), np.arange(shared)
    found = _weigh(asked, a, b, true, Ratios(asked.score.comparisons))
    return replace(found, strangers=strangers_in(len(a)))


def _take(records: Records, rows: slice) -> Records:
    start, stop, _ = rows.indices(len(records))
    columns = {name: slice_of(column, start, stop) for name, column in records.columns.items()}
    return Records(records.ids.slice(start, stop - start), columns, records.disclosed.slice(start, 0))


def from_labels(
    asked: LearningTask,
    tables: tuple[TableLike, TableLike],
    layouts: tuple[Layout, Layout],
    labels: TableLike,
    fewest: int = FEWEST,
) -> LearntWeights:
    """Two tables, and pairs of them of which somebody says whether they are matches, so many at least."""
    asked = replace(asked, score=refine(asked.score, asked.fields))
    a, b = (asked.load(table, layout) for table, layout in zip(tables, layouts, strict=True))
    found = labelled.read_labels(labels, a, b)
    matches = len(found.matches[0])
    if matches < fewest:
        problem = f"{matches:,} labelled pairs are in the tables, but at least {fewest} are"
        raise UsageError(problem=f"{problem} needed to learn from. Label more, or learn from made-up people.")
    uncounted = f"{found.uncounted:,} of the labels do not count: repeated, or of records that do not exist."
    learnt = _weigh(asked, a, b, found.matches, None, None if found.all_known else found.others)
    strangers = len(a) * len(b) / matches - 1 if found.all_known else strangers_in(max(len(a), len(b)))
    return replace(learnt, strangers=strangers, notes=(uncounted,) if found.uncounted else ())


def from_unlabelled(
    asked: LearningTask, tables: tuple[TableLike, TableLike], layouts: tuple[Layout, Layout]
) -> LearntWeights:
    """Two tables of which nobody knows who is who."""
    asked = replace(asked, score=refine(asked.score, asked.fields))
    a, b = (asked.load(table, layout) for table, layout in zip(tables, layouts, strict=True))
    sizes, both = (len(a), len(b)), Tables(asked.fields, a.columns, b.columns)
    rows = asked.sample(both, sizes, np.random.default_rng(asked.seed))
    comparisons = asked.score.comparisons
    pairs = Unlabelled.of(comparisons, both, asked.pairs(both, rows), asked.copies)
    if not len(pairs.left):
        raise UsageError(problem="No two records of the tables meet in the draft's passes.")
    likely = tell_apart(comparisons, pairs, OVERLAP * min(len(rows[0]), len(rows[1])))
    evidence = judged = pairs.count(likely)
    if chances := asked.chances(both, sizes):
        judged = pairs.count(likely, chances(pairs.left, pairs.right))
    matches = float(evidence.matches.sum())
    if matches < FEWEST:
        problem = (
            f"About {matches:.0f} matches seem to be in the tables, but learning needs at least {FEWEST}"
        )
        raise UsageError(problem=f"{problem}. Give larger tables, or learn from labels or made-up people.")
    prior = Drafted(comparisons, rare_levels(comparisons, evidence))
    points = prior.points(evidence)
    weights = whole(comparisons, fit(comparisons, evidence, prior.start(evidence)), points)
    totals = matches, len(rows[0]) * len(rows[1]) - matches
    spread = replace(_spread([(judged.scores(weights), judged)], totals), counted=None)
    most = " and ".join(f"{one:,}" for one in sorted({*asked.copies}))
    partners = "one partner" if max(asked.copies) == 1 else f"{most} partners"
    notes = (
        f"Without labels: about {matches:,.0f} of the pairs that meet seem to be matches, and all figures "
        f"rest on that guess. It assumes that a record has at most {partners} in the other table.",
    )
    shares, sure = _shares(comparisons, evidence), likely > _LIKELY
    known = KnownMatches(a, b, (pairs.left[sure], pairs.right[sure]))
    learnt = LearntWeights(comparisons, weights, shares, spread, spread, totals[1] / matches, notes=notes)
    return replace(learnt, known=known)


def _sample(rng: np.random.Generator, size: int, most: int) -> Indices:
    """Some rows, in their order."""
    if size <= most:
        return np.arange(size)
    return np.sort(rng.choice(size, most, replace=False))


def _weigh(
    asked: LearningTask,
    a: Records,
    b: Records,
    true: Pairs,
    prior: Prior | None,
    listed: Pairs | None = None,
) -> LearntWeights:
    """From true pairs, and others: of all records, or, if there are `listed` ones that are no matches, of the
    records that these and the true ones name. Drawn to the draft, if there is no other prior."""
    rng = np.random.default_rng(asked.seed)
    comparisons, tables = asked.score.comparisons, Tables(asked.fields, a.columns, b.columns)
    sizes = len(a), len(b)
    met = asked.compares(tables, true)
    if not len(met[0]):
        raise UsageError(problem="No match meets in the draft's passes: nothing can be learned from them.")
    rows = asked.sample(tables, sizes, rng)
    if listed is not None:
        rows = np.unique(np.append(true[0], listed[0])), np.unique(np.append(true[1], listed[1]))
    picked = asked.compares(tables, listed) if listed is not None else (_NONE, _NONE)
    folds = deal(true, sizes, rng)
    evidence = judged = count(comparisons, tables, met, asked.pairs(tables, rows), folds, picked)
    if chances := asked.chances(tables, sizes):
        judged = count(comparisons, tables, met, asked.pairs(tables, rows), folds, chances=chances)
    if not evidence.others.sum():
        if not any(one.parts for one in asked.blocking.passes):
            raise UsageError(
                problem="All pairs are matches: nothing tells them from others. Give more records."
            )
        # Fine keys bring few others together: all pairs tell what others look like.
        return _weigh(asked.wide(), a, b, true, prior, listed)
    inside = contained(true[0], rows[0]) & contained(true[1], rows[1])
    totals = float(len(true[0])), float(len(rows[0]) * len(rows[1]) - inside.sum())
    prior = prior or Drafted(comparisons, rare_levels(comparisons, evidence.whole))
    return replace(_fit(comparisons, evidence, judged, prior, totals), known=KnownMatches(a, b, true))


def _fit(
    comparisons: Comparisons,
    evidence: FoldedCounts,
    judged: FoldedCounts,
    prior: Prior,
    totals: tuple[float, float],
) -> LearntWeights:
    """Weights from all that meets, and what they are expected to find of what is compared."""
    all_, to_learn = judged.whole, evidence.without(None)
    points = prior.points(to_learn)

    def weigh(counts: PatternCounts) -> Weights:
        return whole(comparisons, fit(comparisons, counts, prior.start(counts)), points)

    weights = weigh(to_learn)
    aside = [(weigh(evidence.without(fold)), judged.within(fold)) for fold in range(FOLDS)]
    expected = [(counts.scores(of), counts) for of, counts in aside]
    choosing = [*expected, (all_.scores(weights), all_)]
    twice = 2 * totals[0], 2 * totals[1]
    spreads = _spread(choosing, twice), _spread(expected, totals)
    strangers = totals[1] / totals[0]
    shares, met = _shares(comparisons, evidence.whole), round(all_.matches.sum())
    return LearntWeights(comparisons, weights, shares, *spreads, strangers, round(totals[0]), met)


def _spread(parts: Sequence[tuple[Indices, PatternCounts]], totals: tuple[float, float]) -> ScoreSpread:
    """Of pairs under several weights, by their sums."""
    sums = np.concatenate([of for of, _ in parts])
    matches = np.concatenate([counts.matches for _, counts in parts])
    others = np.concatenate([counts.others for _, counts in parts])
    # A pattern that no pair has would only widen the range of sums.
    some = matches + others > 0
    return spread_of(sums[some], matches[some], others[some], totals)


def _shares(comparisons: Comparisons, evidence: PatternCounts) -> Shares:
    return tuple(_share(evidence, place, len(each.weights)) for place, each in enumerate(comparisons))


def _share(evidence: PatternCounts, place: int, levels: int) -> tuple[Sequence[float], Sequence[float]]:
    held = [
        np.bincount(evidence.patterns[:, place], counts, levels) / max(counts.sum(), 1)
        for counts in (evidence.matches, evidence.others)
    ]
    return held[0].tolist(), held[1].tolist()
