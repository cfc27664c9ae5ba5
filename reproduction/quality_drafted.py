"""What a newcomer gets: the draft for the tables as they were published, as it is and with labels.

`accord init --from` drafts for A's table, `accord init --for` lays out B's, both by `--yes`, from the command
line and without a look at the truth. That is *out of the box*. *Learned* is the same draft after `accord
learn` with the labels of one half, judged on the other.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from accord import Agreement, read_agreement
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.learning.evidence import from_labels
from accord.learning.learn import finish, task_of
from accord.rules.evaluate import Tables as Columns
from accord.rules.join import matches_among
from accord.rules.rule import Rule
from accord.side import Side
from accord.simulation.pair import find_compared
from accord.simulation.trials import make_mine, release_of, seeded_run, try_once
from accord.table.layout import Layout, read_layout
from accord.table.sources.opening import column_names, open_table
from reproduction.halves import Half, Ints, Truth
from reproduction.quality_data import PUBLISHED


@dataclass(frozen=True)
class Drafted:
    """A draft, and how both tables are read under it; rows are in the order of the set's own tables."""

    agreement: Agreement
    files: tuple[Path, Path]
    layouts: tuple[Layout, Layout]

    @cached_property
    def tables(self) -> tuple[pa.Table, pa.Table]:
        a, b = (_whole(file, layout) for file, layout in zip(self.files, self.layouts, strict=True))
        return a, b

    @cached_property
    def records(self) -> tuple[Records, Records]:
        agreed = self.agreement
        a, b = (
            load_records(table, agreed.fields, agreed.salt, (), layout)
            for table, layout in zip(self.tables, self.layouts, strict=True)
        )
        return a, b

    def pairs(self, rule: Rule) -> tuple[Ints, Ints]:
        """The rows of the pairs that a run finds by a rule: those that it accepts among the compared ones,
        within caps, or those of a cascade."""
        agreed, (a, b) = self.agreement.model_copy(update={"rule": rule}), self.records
        releases = {side: release_of(agreed, side, own.size) for side, own in ((Side.A, a), (Side.B, b))}
        if agreed.protocol.cascades(agreed.task):
            run = try_once(agreed, a, b, releases, "ideal", partial(seeded_run, 0, 0), lambda status: None)
            left, right = run.pairs.rows(0, len(run.pairs))
            return left.astype(np.int64), right.astype(np.int64)
        entropy = seeded_run(0, 0)
        sides = [
            make_mine(releases[side], own, other.size, entropy.stream(side.value))
            for side, own, other in ((Side.A, a, b), (Side.B, b, a))
        ]
        columns = Columns(agreed.fields, a.columns, b.columns)
        compared = find_compared(agreed, (sides[0], sides[1]))
        keys = [left * len(b) + right for left, right in matches_among(rule, columns, compared)]
        found = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]))
        return found // len(b), found % len(b)

    def cut(self, rows: int, folder: Path) -> Drafted:
        """The same of so many rows of each table, in files of its own."""
        files, layouts = [], []
        for side, table, layout in zip("ab", self.tables, self.layouts, strict=True):
            files.append(folder / f"{side}.csv")
            layouts.append(replace(layout, encoding="utf-8", delimiter=",", quote='"'))
            pyarrow.csv.write_csv(table.slice(0, rows), files[-1])
            (folder / f"{side}.csv.layout.toml").write_text(layouts[-1].to_toml(), encoding="utf-8")
        return Drafted(self.agreement, (files[0], files[1]), (layouts[0], layouts[1]))

    def ids(self, pairs: tuple[Ints, Ints]) -> frozenset[tuple[str, str]]:
        named = (
            records.ids.take(rows).to_pylist() for records, rows in zip(self.records, pairs, strict=True)
        )
        return frozenset(zip(*named, strict=True))

    def learn(self, truth: Truth, half: Half) -> Rule:
        """The rule with weights from the labels of a half, as `accord learn` finds them."""
        a, b = (
            table.filter(pa.array(flags)) for table, flags in zip(self.tables, (half.a, half.b), strict=True)
        )
        inside = half.holds(truth.left, truth.right)
        true = {
            name: records.ids.take(rows[inside])
            for name, records, rows in zip(
                ("id_a", "id_b"), self.records, (truth.left, truth.right), strict=True
            )
        }
        asked = task_of(self.agreement, self.agreement.rule)
        found = from_labels(asked, (a, b), self.layouts, pa.table(true), fewest=1)
        rng = np.random.default_rng(asked.seed)
        return finish(self.agreement, self.agreement.rule, found, "public", rng).rule


def draft(
    folder: Path, sizes: tuple[int, int], answers: Sequence[str] = (), lacking: Sequence[str] = ()
) -> Drafted:
    """Draft for the published tables of a set, as a newcomer does who takes what is proposed, with these
    answers of A's owner, and fields that B's owner lacks."""
    place = folder / PUBLISHED
    words = ["init", "--from", "a.csv", "--yes", "--force", "--records", *map(str, sizes)]
    _accord(place, *words, "--parties", "one", "other", *answers)
    absent = [word for name in lacking for word in ("--absent", name)]
    _accord(place, "init", "--from", "b.csv", "--for", "agreement.toml", "--yes", "--force", *absent)
    files = place / "a.csv", place / "b.csv"
    layouts = read_layout(place / "a.csv.layout.toml"), read_layout(place / "b.csv.layout.toml")
    return Drafted(read_agreement(place / "agreement.toml"), files, layouts)


def _accord(place: Path, *words: str) -> None:
    command = [sys.executable, "-m", "accord", *words]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"`accord {' '.join(words)}` failed: {done.stderr}")


def _whole(file: Path, layout: Layout) -> pa.Table:
    names = column_names(file, layout)
    return pa.Table.from_batches(open_table(file, names, layout).batches)
