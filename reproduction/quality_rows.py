"""The lines of the quality table, in files that a run cut off goes on with, and as Markdown.

quality.csv has a line for each set and system, quality-halves.csv one for each half as well. A file is
replaced as a whole, so that at every moment all finished lines are on disk; they are not measured again.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import stdev
from typing import Generic, TypeVar

from accord.errors import OutputError, UnreadableError

OURS = "tuned"
"""Accord with an agreement made by hand, and weights that `accord learn` finds with labels."""
DRAFTED, LEARNED = "drafted", "learned"
"""Accord out of the box; and the same draft with weights from labels."""
HALF = "splink-half"
"""Splink without labels: what it takes for a match with a probability of a half and more."""
RIVALS = ("splink", "recordlinkage", "anonlink")
SYSTEMS = (DRAFTED, LEARNED, OURS, HALF, *RIVALS)
FEWER = (DRAFTED, LEARNED, OURS, HALF, "splink")
"""Those that every set is measured with."""
CLOSE = 0.005
"""How far below the best peer an F1 may be; or two standard errors, if these are more."""


@dataclass(frozen=True)
class Line:
    """A system on a set: the mean over all halves, and what one linkage takes."""

    dataset: str
    system: str
    precision: float
    recall: float
    f1: float
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Turn:
    """A system on one half of a set."""

    dataset: str
    system: str
    seed: int
    turn: int
    precision: float
    recall: float
    f1: float


Row = TypeVar("Row", bound=Line | Turn)
_KINDS = {"str": str, "int": int, "float": float}


class Rows(Generic[Row]):
    """A file of lines of one kind."""

    def __init__(self, path: Path, kind: type[Row]) -> None:
        self._path, self._kind = path, kind
        self.all: list[Row] = self._read() if path.exists() else []

    def of(self, dataset: str, system: str) -> list[Row]:
        return [row for row in self.all if (row.dataset, row.system) == (dataset, system)]

    def put(self, dataset: str, system: str, rows: Sequence[Row]) -> None:
        """Keep these as all that there is of a system on a set: on disk before this returns."""
        others = [row for row in self.all if (row.dataset, row.system) != (dataset, system)]
        self.all = [*others, *rows]
        beside = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow([one.name for one in fields(self._kind)])
                writer.writerows(map(astuple, self.all))
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._path)
        except OSError as error:
            raise OutputError(path=self._path, reason=error.strerror) from None

    def _read(self) -> list[Row]:
        kinds = [_KINDS[str(one.type)] for one in fields(self._kind)]
        try:
            with self._path.open(encoding="utf-8", newline="") as file:
                head, *rows = csv.reader(file)
            if head != [one.name for one in fields(self._kind)]:
                raise ValueError("its first line is that of another file")
            return [self._kind(*(kind(cell) for kind, cell in zip(kinds, row, strict=True))) for row in rows]
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error) or "it is damaged"
            raise UnreadableError(
                path=self._path, reason=reason, mend="Name another folder with --out."
            ) from None


@dataclass(frozen=True)
class Verdict:
    """Accord against the best peer on a set."""

    dataset: str
    best: str
    behind: float
    """How far Accord's F1 is below that of the best peer; negative if it is above."""
    allowed: float

    @property
    def reached(self) -> bool:
        return self.behind <= self.allowed


def judge_lines(lines: Sequence[Line], turns: Sequence[Turn], datasets: Iterable[str]) -> list[Verdict]:
    """For each of the sets that all systems were measured on, whether Accord is close to the best peer.

    The error is that of the difference: both were judged on the same halves.
    """
    found = []
    for dataset in datasets:
        by_system = {line.system: line for line in lines if line.dataset == dataset}
        if set(by_system) < set(SYSTEMS):
            continue
        best = max((by_system[name] for name in RIVALS), key=lambda line: line.f1)
        f1 = [
            [turn.f1 for turn in turns if (turn.dataset, turn.system) == (dataset, name)]
            for name in (OURS, best.system)
        ]
        apart = [ours - theirs for ours, theirs in zip(*f1, strict=True)]
        error = stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
        behind = round(best.f1 - by_system[OURS].f1, 4)
        found.append(Verdict(dataset, best.system, behind, max(CLOSE, round(2 * error, 4))))
    return found


def table_text(lines: Sequence[Line], turns: Sequence[Turn]) -> str:
    """The table as Markdown: a row for each set and system, with two standard errors of F1."""
    out = [
        "| set | system | precision | recall | F1 | seconds | bytes |",
        "|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        f1 = [turn.f1 for turn in turns if (turn.dataset, turn.system) == (line.dataset, line.system)]
        error = 2 * stdev(f1) / len(f1) ** 0.5 if len(f1) > 1 else 0.0
        took = f"{line.seconds:.1f} | {line.bytes:,}" if line.bytes else "– | –"
        out.append(
            f"| {line.dataset} | {line.system} | {line.precision:.4f} | {line.recall:.4f} | "
            f"{line.f1:.4f} ± {error:.4f} | {took} |"
        )
    return "\n".join(out)


BEHIND, LEAST, GOOD, NEAR = 0.02, 0.80, 0.95, 0.01
"""Out of the box: how far below Splink's half it may be for people, and what is the least where tuned reaches
what is good. Learned: how far below tuned it may be."""


def overview_text(lines: Sequence[Line], persons: Iterable[str], seen: Iterable[str]) -> str:
    """F1 of each set, Accord's three and Splink's two beside each other, and what was asked of them."""
    out = [
        "| set | out of the box | learned | tuned | Splink, p ≥ ½ | Splink, best | |",
        "|---|---|---|---|---|---|---|",
    ]
    people, known = set(persons), set(seen)
    for dataset in dict.fromkeys(line.dataset for line in lines):
        f1 = {line.system: line.f1 for line in lines if line.dataset == dataset}
        columns = (DRAFTED, LEARNED, OURS, HALF, "splink")
        if any(name not in f1 for name in columns):
            continue
        missed = []
        if dataset in people and f1[DRAFTED] < f1[HALF] - BEHIND:
            missed.append(f"out of the box {f1[HALF] - f1[DRAFTED]:.4f} below Splink")
        if f1[OURS] >= GOOD and f1[DRAFTED] < LEAST:
            missed.append(f"out of the box below {LEAST:.2f}")
        if f1[LEARNED] < f1[OURS] - NEAR:
            missed.append(f"learned {f1[OURS] - f1[LEARNED]:.4f} below tuned")
        name = dataset if dataset in known else f"*{dataset}*"
        cells = " | ".join(f"{f1[name]:.4f}" for name in columns)
        out.append(f"| {name} | {cells} | {'; '.join(missed) or 'reached'} |")
    return "\n".join(out)


REACHED = 0.90
"""The least share of the learned F1 that a draft for a generated set reaches out of the box."""


def generated_text(lines: Sequence[Line], datasets: Iterable[str]) -> str:
    """F1 of each generated set out of the box and learned, as Markdown."""
    out = ["| set | out of the box | learned | share | |", "|---|---|---|---|---|"]
    for dataset in datasets:
        f1 = {line.system: line.f1 for line in lines if line.dataset == dataset}
        if {DRAFTED, LEARNED} <= f1.keys():
            share = f1[DRAFTED] / f1[LEARNED]
            word = "reached" if share >= REACHED else "**not reached**"
            out.append(f"| {dataset} | {f1[DRAFTED]:.4f} | {f1[LEARNED]:.4f} | {share:.3f} | {word} |")
    return "\n".join(out)


def verdict_text(verdicts: Sequence[Verdict]) -> str:
    """Whether Accord is close enough, set after set, as Markdown."""
    out = ["| set | best peer | Accord's F1 below it by | allowed | |", "|---|---|---|---|---|"]
    for one in verdicts:
        word = "reached" if one.reached else "**not reached**"
        out.append(f"| {one.dataset} | {one.best} | {one.behind:.4f} | {one.allowed:.4f} | {word} |")
    return "\n".join(out)
