"""What is learnt from: labelled pairs, one's own records with made-up errors, made-up people, a Splink model.

Each becomes the same thing, a `LearntWeights`: the comparisons with their weights, and how sums spread over
matches and over others. Where pairs were counted, the spread is found by setting a fifth of them aside in
turn, so that no pair judges weights that were learnt from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord.datasets.people import generate_people
from accord.datasets.people_errors import FIELDS as OF_PEOPLE
from accord.datasets.people_errors import Errors
from accord.errors import UsageError
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.fields.own_cells import read_settled
from accord.fields.row_ids import open_named
from accord.fields.schema import FieldSpec, agreed_columns
from accord.learning.mistakes import Rates, relax, with_errors
from accord.learning.patterns import Comparisons, PatternCounts, Weights, count
from accord.learning.splink_model import read_splink
from accord.learning.threshold import ScoreSpread, spread_of, spread_of_levels
from accord.learning.weights import fit
from accord.ranges import distinct
from accord.rules.evaluate import Indices, Tables
from accord.rules.rule import Score
from accord.rules.thresholds import Fields
from accord.simulation.truth import read_truth
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike

OVERLAP = 0.5
"""Of two tables, where nothing is said of it."""
_MOST_ROWS = 2_000
"""Of a table: their pairs, four million, show what strangers look like."""
_FEWEST_MATCHES = 20
_FOLDS = 5
_MADE_UP = 2_000

Shares = tuple[tuple[Sequence[float], Sequence[float]], ...]
"""By comparison: of how many matches and of how many others each level decides."""


@dataclass(frozen=True)
class LearntWeights:
    """What some evidence comes to."""

    comparisons: Comparisons
    weights: Weights
    shares: Shares
    spread: ScoreSpread
    strangers: float
    """How many pairs of strangers there are for each match, if nothing else is known of the linkage."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LearningTask:
    """What is to be learnt: the weights of a score on these fields."""

    score: Score
    fields: Mapping[str, FieldSpec]
    salt: str
    errors: float
    """So many times as many made-up ones as usual."""
    seed: int

    def load(self, source: TableLike, layout: Layout) -> Records:
        return load_records(source, self.fields, self.salt, (), layout)


def strangers_in(records: int, overlap: float = OVERLAP) -> float:
    """How many pairs of strangers there are for each match, between two tables of so many records."""
    return max(records / overlap - 1, 0.0)


def from_splink(path: Path, fields: Fields, layout: Layout) -> LearntWeights:
    """A trained model, as it is."""
    model = read_splink(path, fields, layout)
    spread = spread_of_levels(model.weights, model.shares)
    independent = "What is expected holds if comparisons err independently and no value is missing."
    notes = (*model.notes, independent)
    return LearntWeights(model.comparisons, model.weights, model.shares, spread, 1 / model.prior - 1, notes)


def from_people(asked: LearningTask) -> LearntWeights:
    """Made-up people in two tables, of whom it is known who is who."""
    lacking = [name for name in agreed_columns(asked.fields) if name not in OF_PEOPLE]
    if lacking:
        has = f"They have {', '.join(OF_PEOPLE)}"
        problem = f"Without a table made-up people are used, who have no {', '.join(lacking)}. {has}."
        raise UsageError(problem=f"{problem} Give a table of yours, one that is not to be linked.")
    made = generate_people(_MADE_UP, OVERLAP, asked.seed, errors=Errors().scaled(asked.errors))
    # Nobody can mend what is wrong with them.
    specs = relax(asked.fields)
    a, b = (load_records(table, specs, asked.salt, (), Layout()) for table in (made.a, made.b))
    return _weigh(asked, a, b, _rows_of(made.truth, a, b), len(a))


def from_labels(
    asked: LearningTask, tables: tuple[TableLike, TableLike], layouts: tuple[Layout, Layout], labels: Path
) -> LearntWeights:
    """Two tables, and all pairs of them that are matches."""
    a, b = (asked.load(table, layout) for table, layout in zip(tables, layouts, strict=True))
    truth = read_truth(labels)
    true = _rows_of(truth, a, b)
    if len(true[0]) < _FEWEST_MATCHES:
        problem = f"{len(true[0]):,} labelled pairs are in the tables, but at least {_FEWEST_MATCHES} are"
        raise UsageError(problem=f"{problem} needed to learn from. Label more, or learn from made-up errors.")
    unknown = truth.num_rows - len(true[0])
    uncounted = f"{unknown:,} of the labels do not count: repeated, or of records that do not exist."
    return _weigh(asked, a, b, true, max(len(a), len(b)), (uncounted,) if unknown else ())


def from_mistakes(asked: LearningTask, table: TableLike, layout: Layout) -> LearntWeights:
    """A table's own records, and the same with made-up errors."""
    # What is no file may be readable only once.
    source = _whole(table, asked, layout) if hasattr(table, "__arrow_c_stream__") else table
    size = len(asked.load(source, layout))
    if size < _FEWEST_MATCHES:
        problem = f"{size:,} records are in the table, but learning needs at least {_FEWEST_MATCHES}"
        raise UsageError(problem=f"{problem}. Give a larger table, or none for made-up people.")
    rng = np.random.default_rng(asked.seed)
    cells, layout = read_settled(source, agreed_columns(asked.fields), layout)
    cells = cells.take(pa.array(_sample(rng, cells.num_rows)))
    rates = Rates().scaled(asked.errors)
    copy = with_errors(cells, asked.score, asked.fields, layout, rates, rng)
    a = asked.load(cells, layout)
    b = load_records(copy, relax(asked.fields), asked.salt, (), layout)
    return _weigh(asked, a, b, _rows_of(pa.table({"id_a": a.ids, "id_b": a.ids}), a, b), size)


def _whole(table: TableLike, asked: LearningTask, layout: Layout) -> pa.Table:
    """The columns that are read, and the ids."""
    columns = list(dict.fromkeys([layout.id_column, *layout.own_columns(agreed_columns(asked.fields))]))
    return pa.Table.from_batches(open_named(table, columns, layout).batches)


def _rows_of(truth: pa.Table, a: Records, b: Records) -> tuple[Indices, Indices]:
    """The rows that true pairs name, each pair once, without those that are not there."""
    rows = [
        pc.index_in(truth[name].combine_chunks().cast(ids.type), value_set=ids)
        for name, ids in (("id_a", a.ids), ("id_b", b.ids))
    ]
    known = pc.and_(*map(pc.is_valid, rows))
    left, right = (np.asarray(found.filter(known)).astype(np.int64) for found in rows)
    width = max(1, len(b))
    keys = distinct(left * width + right)
    return keys // width, keys % width


def _sample(rng: np.random.Generator, size: int) -> Indices:
    """Some rows, in their order."""
    if size <= _MOST_ROWS:
        return np.arange(size)
    return np.sort(rng.choice(size, _MOST_ROWS, replace=False))


def _weigh(
    asked: LearningTask,
    a: Records,
    b: Records,
    true: tuple[Indices, Indices],
    size: int,
    notes: tuple[str, ...] = (),
) -> LearntWeights:
    rng = np.random.default_rng(asked.seed)
    comparisons = asked.score.comparisons
    rows = _sample(rng, len(a)), _sample(rng, len(b))
    evidence = count(comparisons, Tables(asked.fields, a.columns, b.columns), true, rows)
    if not evidence.others.sum():
        raise UsageError(problem="All pairs are matches: nothing tells them from others. Give more records.")
    shares = tuple(_shares(evidence, place, len(each.weights)) for place, each in enumerate(comparisons))
    spread = spread_of(*_set_aside(comparisons, evidence, rng))
    return LearntWeights(comparisons, fit(comparisons, evidence), shares, spread, strangers_in(size), notes)


def _shares(evidence: PatternCounts, place: int, levels: int) -> tuple[Sequence[float], Sequence[float]]:
    held = [
        np.bincount(evidence.patterns[:, place], counts, levels) / max(counts.sum(), 1)
        for counts in (evidence.matches, evidence.others)
    ]
    return held[0].tolist(), held[1].tolist()


def _set_aside(
    comparisons: Comparisons, evidence: PatternCounts, rng: np.random.Generator
) -> tuple[Indices, Indices, Indices]:
    """The sums of all pairs, each under weights that were learnt without it, with how many matches and others
    have them."""
    parts: list[tuple[Indices, Indices, Indices]] = []
    for matches, others in zip(_deal(evidence.matches, rng), _deal(evidence.others, rng), strict=True):
        kept = PatternCounts(evidence.patterns, evidence.matches - matches, evidence.others - others)
        parts.append((evidence.scores(fit(comparisons, kept)), matches, others))
    scores, matches, others = (np.concatenate(found) for found in zip(*parts, strict=True))
    return scores, matches, others


def _deal(counts: Indices, rng: np.random.Generator) -> Iterator[Indices]:
    """Each of so many pairs into one of the folds."""
    left = counts.copy()
    for folds in range(_FOLDS, 0, -1):
        dealt = rng.binomial(left, 1 / folds)
        left = left - dealt
        yield dealt
