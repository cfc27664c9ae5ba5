"""How well pairs are found: Accord's private run beside Splink, recordlinkage and anonlink in the clear.

Every system sees the same cells (quality_data.py). What it may learn with labels, it learns from one half of
the people, and is judged on the other; ten times, by a seed (halves.py). Of Accord that is the weights and
the threshold of a score, as `accord learn` finds them, of recordlinkage the weights and the threshold of a
regression, of Splink and anonlink the threshold; Splink estimates its weights without labels, on all records.
What takes no label, a newcomer's draft (quality_drafted.py) and Splink at a probability of a half, is judged
on all records.

Accord is judged on the pairs that a run of its agreement compares, by its rule in the clear: what the
protocol finds. The draft for the set's tables (quality_drafted.py) also links some rows of them for real,
between two processes, and must find the very pairs that it accepts in the clear. Generated sets
(quality_made.py) have neither peers nor a private run.

A line is on disk before the next system begins, and is not measured again.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from accord import Agreement, read_agreement
from accord.agreement.adjusting import adjust
from accord.fields.load import load_records
from accord.learning.evidence import from_labels
from accord.learning.learn import finish, task_of
from accord.rules.evaluate import Tables as Columns
from accord.rules.join import meeting_pairs
from accord.rules.rule import Rule
from accord.table.layout import Layout
from reproduction.halves import Floats, Half, Ints, Judged, Truth, average, judge, judge_scores
from reproduction.quality_data import Dataset, Tables, prepare, read_tables, run_peer
from reproduction.quality_drafted import Drafted, draft
from reproduction.quality_private import link_privately
from reproduction.quality_rows import DRAFTED, HALF, LEARNED, Line, Rows, Turn

TURNS = 10
LINKED = 1_000
"""Records a side that a draft links privately: the largest sets would take an hour each."""
LEARNING = 3
"""Of these, from how many a draft's weights are learnt: that takes a minute each."""
FILTER_BYTES = 128
QUICK = ("rldata500", "febrl1")


@dataclass(frozen=True)
class Measured:
    """What a system did on a set."""

    turns: list[Judged]
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Case:
    """A set, ready for every system."""

    dataset: Dataset
    folder: Path
    tables: Tables
    truth: Truth
    halves: tuple[Half, ...]


def study(
    results: Path, data: Path | None, seed: int, quick: bool, tell: Callable[[str], None]
) -> tuple[list[Line], list[Turn]]:
    """Measure what is not in the results yet; give all lines, and those of the halves."""
    lines, turns = Rows(results / "quality.csv", Line), Rows(results / "quality-halves.csv", Turn)

    def seeded(dataset: str, system: str) -> bool:
        return any(turn.seed == seed for turn in turns.of(dataset, system))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for dataset in prepare(folder, data):
            due = [
                one
                for one in dataset.systems
                if not (lines.of(dataset.name, one) and seeded(dataset.name, one))
            ]
            if not due or (quick and dataset.name not in QUICK):
                continue
            case = read_case(dataset, folder / dataset.name, seed)
            if DRAFTED in due and dataset.agreement:
                _warm_up(case, folder / "warm" / dataset.name)
            for system in due:
                tell(f"{dataset.name}: {system}")
                made, key = measure(case, system), (dataset.name, system)
                turns.put(*key, [Turn(*key, seed, turn, *_short(one)) for turn, one in enumerate(made.turns)])
                taken = round(made.seconds, 2), made.bytes
                lines.put(*key, [Line(*key, *_short(average(made.turns)[0]), *taken)])
    return lines.all, turns.all


def _warm_up(case: Case, folder: Path) -> None:
    """A private run of a few rows: kernels are compiled and kept before the clock of a real one starts."""
    folder.mkdir(parents=True)
    for side, table in case.tables.sides:
        pyarrow.csv.write_csv(table.slice(0, 20), folder / f"{side}.csv")
    agreed = adjust(read_agreement(case.dataset.path), protocol="all-pairs")
    link_privately(folder / "a.csv", folder / "b.csv", agreed, folder / "run")


def measure(case: Case, system: str) -> Measured:
    """One system on one set."""
    match system:
        case "tuned":
            return _measure_ours(case)
        case "drafted" | "learned":
            return _measure_draft(case, system == LEARNED)
    return _measure_peer(case, system)


def read_case(dataset: Dataset, folder: Path, seed: int) -> Case:
    tables = read_tables(folder)
    truth = Truth(tables)
    halves = tuple(truth.halve(seed, turn) for turn in range(LEARNING if dataset.large else TURNS))
    return Case(dataset, folder, tables, truth, halves)


def _measure_ours(case: Case) -> Measured:
    return Measured([judged for _, judged in _learnt(case, agreement(case.dataset))], 0.0, 0)


def _measure_draft(case: Case, learns: bool) -> Measured:
    """A newcomer's draft: as it is, linked for real; or with what each half teaches."""
    made, truth = draft(case.folder, case.truth.sizes, case.dataset.answers, case.dataset.lacking), case.truth
    if learns:
        return Measured([*_learned(made, case)], 0.0, 0)
    left, right = made.pairs(made.agreement.rule)
    judged = judge(len(left), int(truth.contains(left, right).sum()), len(truth.left))
    if not case.dataset.agreement:
        return Measured([judged], 0.0, 0)
    with tempfile.TemporaryDirectory() as name:
        part = made.cut(LINKED, Path(name))
        ran = link_privately(*part.files, made.agreement, Path(name) / "run")
        if ran.pairs != part.ids(part.pairs(made.agreement.rule)):
            raise RuntimeError(
                f"{case.dataset.name}: the draft found other pairs privately than in the clear"
            )
    return Measured([judged], 0.0, 0)


def _learned(made: Drafted, case: Case) -> Iterator[Judged]:
    truth = case.truth
    for half in case.halves[:LEARNING]:
        left, right = made.pairs(made.learn(truth, half))
        found = half.other.holds(left, right)
        true = truth.contains(left[found], right[found])
        yield judge(int(found.sum()), int(true.sum()), truth.count(half.other))


def _columns(tables: Tables, agreed: Agreement) -> Columns:
    a, b = (load_records(table, agreed.fields, agreed.salt) for _, table in tables.sides)
    return Columns(agreed.fields, a.columns, b.columns)


def agreement(dataset: Dataset) -> Agreement:
    """What the two parties of a set agree on, with draft weights."""
    agreed = read_agreement(dataset.path)
    return adjust(agreed, protocol="all-pairs") if dataset.all_pairs else agreed


def _learnt(case: Case, agreed: Agreement) -> Iterator[tuple[Rule, Judged]]:
    """The rule of each turn, from the half to learn from, and how well it does on the other."""
    columns, truth = _columns(case.tables, agreed), case.truth
    for half in case.halves:
        rule = learn(case, agreed, half)
        left, right = meeting_pairs(rule, columns, truth.sizes, agreed.plan)
        found = half.other.holds(left, right)
        true = truth.contains(left[found], right[found])
        yield rule, judge(int(found.sum()), int(true.sum()), truth.count(half.other))


def learn(case: Case, agreed: Agreement, half: Half) -> Rule:
    """As `accord learn` does from labels; but also from fewer than it accepts, which some halves have."""
    a, b = case.tables.a.filter(pa.array(half.a)), case.tables.b.filter(pa.array(half.b))
    labels = case.tables.truth.filter(pa.array(half.holds(case.truth.left, case.truth.right)))
    asked = task_of(agreed, agreed.rule)
    found = from_labels(asked, (a, b), (Layout(), Layout()), labels, fewest=1)
    return finish(agreed, agreed.rule, found, "public", np.random.default_rng(asked.seed)).rule


def _measure_peer(case: Case, system: str) -> Measured:
    _write_halves(case)
    records = case.truth.sizes
    job = {
        **{"folder": str(case.folder), "kinds": case.dataset.kinds, "blocks": case.dataset.blocks},
        **{"prior": None if system == HALF else len(case.truth.left) / (records[0] * records[1])},
        **{"certain": case.dataset.certain},
        **{"halves": str(case.folder / "halves.csv")},
    }
    (case.folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    said = run_peer("with_splink" if system == HALF else f"with_{system}", case.folder / "job.json")
    left, right, scores = read_scores(case.folder / "pairs.csv", case.tables)
    if system == HALF:
        # Nothing is decided by labels: judged on all records, as a draft is.
        found = scores[0] >= 0
        right_ones = int(case.truth.contains(left[found], right[found]).sum())
        turns = [judge(int(found.sum()), right_ones, len(case.truth.left))]
    else:
        turns = [
            judge_scores(case.truth, half, left, right, scores[turn % len(scores)])
            for turn, half in enumerate(case.halves)
        ]
    seconds = float(json.loads(said.splitlines()[-1])["seconds"])
    # In the clear one table goes to the other side; the filters of both go to whoever compares them.
    sent = sum(records) * FILTER_BYTES if system == "anonlink" else (case.folder / "b.csv").stat().st_size
    return Measured(turns, seconds, sent)


def read_scores(path: Path, tables: Tables) -> tuple[Ints, Ints, list[Floats]]:
    """Pairs as rows, and their scores: one for all turns, or one for each."""
    ids = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(("id_a", "id_b"), pa.string()))
    table = pyarrow.csv.read_csv(path, convert_options=ids)
    left, right = tables.rows(table)
    return left, right, [np.asarray(table[name]) for name in table.column_names[2:]]


def _write_halves(case: Case) -> None:
    """For each record, whether it is to be learnt from in each turn."""
    with (case.folder / "halves.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *range(len(case.halves))])
        for side, table in case.tables.sides:
            flags = np.stack([getattr(half, side) for half in case.halves], axis=1).astype(int)
            writer.writerows([name, *row] for name, row in zip(table["id"].to_pylist(), flags, strict=True))


def _short(judged: Judged) -> tuple[float, float, float]:
    return round(judged.precision, 4), round(judged.recall, 4), round(judged.f1, 4)
