"""Pairs to look through: each with what is known of it, how it came to its score, and what its records hold.

Values of records are there only where whoever makes the page was given them (`PairCells`); what is told of a
pair otherwise are ids, names of fields and parts of the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from accord.report.markup import Markup, element, join
from accord.report.page import paragraph, table
from accord.rules.breakdown import score_rows, shorten
from accord.rules.rule import Rule, Score
from accord.simulation.known import PairFacts, Weighed, split

Row = Sequence[str | None]


@dataclass(frozen=True)
class PairCells:
    """What records of pairs to look at have in some columns, by id."""

    columns: Sequence[str]
    a: Mapping[str, Row]
    b: Mapping[str, Row]


NO_CELLS = PairCells((), {}, {})


@dataclass(frozen=True)
class PairView:
    """How pairs are shown under a rule."""

    rule: Rule
    cells: PairCells = NO_CELLS

    @cached_property
    def _score(self) -> Score | None:
        graded = split(self.rule)
        return None if graded is None else graded[0]

    @cached_property
    def _names(self) -> list[str]:
        """Of the comparisons of the score, as in the table of the rule."""
        return [] if self._score is None else [row.field for row in score_rows(self._score)]

    def describe(self, groups: Iterable[tuple[str, Sequence[PairFacts]]]) -> Markup:
        """Groups of pairs, each under its heading."""
        return join(
            [join([element("h3", title), *map(self.show, pairs)]) for title, pairs in groups if pairs]
        )

    def show(self, pair: PairFacts) -> Markup:
        """One pair."""
        parts = [
            element("h4", f"{pair.id_a} and {pair.id_b}"),
            paragraph(self._tell(pair)),
            self._values(pair),
        ]
        if self._score is not None and pair.score is not None:
            names = ["comparison", "level", "points", "sum"]
            parts.append(table(self._says(pair.score), names, self.steps(pair), numbers=False))
        return element("div", join(parts), _class="pair")

    def steps(self, pair: PairFacts) -> list[list[str]]:
        """How a pair came to its score: each comparison, its level, its points and the sum so far."""
        rows, total = [], 0
        for name, one in zip(self._names, pair.levels, strict=True):
            total += one.weight
            rows.append([name, _why(one, pair), f"{one.weight:+}" if one.weight else "0", f"{total:,}"])
        return rows

    def _says(self, score: int) -> str:
        assert self._score is not None
        least = self._score.least
        apart = f"{abs(score - least):,} {'below' if score < least else 'above'} it"
        where = apart if score != least else "just that"
        return f"The threshold is {least:,}; the score is {score:,}, {where}."

    def _tell(self, pair: PairFacts) -> str:
        true = "" if pair.true is None else "a true pair, " if pair.true else "not a true pair, "
        apart = (("They differ in", pair.differs), ("Missing in one of them:", pair.lacks))
        told = [f"{word} {', '.join(names)}." for word, names in apart if names]
        score = "" if pair.score is None else f"Score {pair.score:,}: "
        about = f"{score}{true}{pair.why}."
        return " ".join([about[:1].upper() + about[1:], *told])

    def _values(self, pair: PairFacts) -> Markup:
        """What the two records hold, beside each other."""
        a, b = self.cells.a.get(pair.id_a), self.cells.b.get(pair.id_b)
        if a is None or b is None:
            return Markup("")
        rows = [[column, x or "", y or ""] for column, x, y in zip(self.cells.columns, a, b, strict=True)]
        return table(
            "What the records hold",
            ["column", "A", "B"],
            rows,
            numbers=False,
            keep=True,
        )


def _why(one: Weighed, pair: PairFacts) -> str:
    """The level that held, in a few words."""
    if one.level != "otherwise":
        return shorten(one.level, _written(one.fields))
    if all(field in pair.lacks for field in one.fields):
        return "missing"
    return "differs" if any(field in pair.differs for field in one.fields) else "none of its levels"


def _written(fields: Sequence[str]) -> tuple[str, ...]:
    """How fields are written within predicates: one by itself, two crosswise."""
    if len(fields) == 2:
        return f"{fields[0]}, {fields[1]}", f"{fields[1]}, {fields[0]}"
    return tuple(fields) if len(fields) == 1 else ()
