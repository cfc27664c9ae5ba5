"""Two tables of which all is known: which pairs were found, which are true, and what sets a pair apart.

A pair is one number, row of A · records of B + row of B, so that sets of pairs are sorted arrays. A pair
agrees in a field if both records have the same value of it once it is cleaned and encoded, differs if they
have two, and lacks it if one of them has none. What is told of a pair are ids, names of fields and parts of
the rule: no value of a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord.agreement.document import Agreement
from accord.fields.columns import Records
from accord.ranges import contained, distinct
from accord.rules.evaluate import Indices, Mask, Tables, holds
from accord.rules.join import Compared
from accord.rules.rule import And, Levels, Missing, Rule, Same, Score, fields_of
from accord.simulation.truth import Scores, f1, share
from accord.table.pairs import SomePairs


@dataclass(frozen=True)
class Weighed:
    """One comparison of a score for one pair: the level that holds."""

    fields: tuple[str, ...]
    level: str
    """As the rule writes it; "otherwise" if none of them holds."""
    weight: int


@dataclass(frozen=True)
class PairFacts:
    """One pair, without any value of its records."""

    id_a: str
    id_b: str
    true: bool | None
    """None where nobody knows the true pairs."""
    found: bool
    meets: bool
    """Whether the blocking brings it together."""
    compared: bool
    """Whether the run compared it: a full key or a pruned bin may have left it out."""
    accepted: bool
    """Whether the rule holds."""
    differs: tuple[str, ...]
    """Fields of the rule of which the records have two values."""
    lacks: tuple[str, ...]
    """Fields of the rule of which a record has none."""
    score: int | None
    """None where the rule has none."""
    levels: tuple[Weighed, ...]

    @property
    def why(self) -> str:
        """Why it was found, or was not."""
        if self.found:
            return "found"
        refused = "" if self.accepted else "the rule refuses it"
        apart = "" if self.meets else "it meets in no pass"
        passed_over = (
            "a record is in another pair" if self.compared else "a full key or a pruned bin left it out"
        )
        return " and ".join(filter(None, (refused, apart))) or passed_over


@dataclass(frozen=True)
class Known:
    """Two tables under an agreement, and the pairs among them that were found and that are true."""

    agreement: Agreement
    a: Records
    b: Records
    found: Indices
    true: Indices
    """Those of which both records are there."""
    unknown: int
    """True pairs that name a record which is in no table, or was left out."""
    compared: Compared = field(repr=False)
    """What the run compared."""

    @classmethod
    def of(
        cls,
        agreement: Agreement,
        a: Records,
        b: Records,
        found: SomePairs,
        truth: pa.Table,
        compared: Compared,
    ) -> Known:
        """`found` as rows of both tables, `truth` as `read_truth` gives it."""
        left, right, unknown = find(truth, a, b)
        width = max(1, len(b))
        keys = distinct(found[0].astype(np.int64) * width + found[1])
        return cls(agreement, a, b, keys, distinct(left * width + right), unknown, compared)

    @property
    def true_pairs(self) -> int:
        return len(self.true) + self.unknown

    @property
    def missed(self) -> Indices:
        return self.true[~contained(self.true, self.found)]

    @property
    def false(self) -> Indices:
        """Pairs that were found and are not true."""
        return self.found[~contained(self.found, self.true)]

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return fields_of(self.agreement.rule)

    @cached_property
    def tables(self) -> Tables:
        return Tables(self.agreement.fields, self.a.columns, self.b.columns)

    @property
    def sizes(self) -> tuple[int, int]:
        return len(self.a), len(self.b)

    def keys(self, left: Indices, right: Indices) -> Indices:
        return left * max(1, len(self.b)) + right

    def rows(self, keys: Indices) -> tuple[Indices, Indices]:
        """Rows of A and of B."""
        return keys // max(1, len(self.b)), keys % max(1, len(self.b))

    def differs(self, field: str, keys: Indices) -> Mask:
        """Which pairs have two values of the field."""
        return ~(holds(Same(field), self.tables, *self.rows(keys)) | self.lacks(field, keys))

    def lacks(self, field: str, keys: Indices) -> Mask:
        """Of which pairs a record has no value of the field."""
        return holds(Missing(field), self.tables, *self.rows(keys))

    def accepts(self, keys: Indices) -> Mask:
        """Which pairs the rule accepts."""
        return holds(self.agreement.rule, self.tables, *self.rows(keys))

    def meets(self, keys: Indices) -> Mask:
        """Which pairs the blocking brings together."""
        return self.agreement.plan.compares(self.tables, *self.rows(keys))

    def count_apart(self, keys: Indices) -> Indices:
        """In how many columns each pair differs or lacks a value.

        Fields that are made of one column count once.
        """
        of: dict[tuple[str, ...], list[str]] = {}
        for name in self.fields:
            of.setdefault(tuple(self.agreement.fields[name].columns(name)), []).append(name)
        apart = np.zeros(len(keys), np.int64)
        for fields in of.values():
            apart += np.logical_or.reduce([self.differs(field, keys) for field in fields])
            apart += np.logical_or.reduce([self.lacks(field, keys) for field in fields])
        return apart

    def describe(self, keys: Indices) -> tuple[PairFacts, ...]:
        """All that may be told of these pairs."""
        return tuple(self._describe(keys))

    def _describe(self, keys: Indices) -> Iterator[PairFacts]:
        left, right = self.rows(keys)
        ids = [t.ids.take(pa.array(rows)).to_pylist() for t, rows in ((self.a, left), (self.b, right))]
        true, found = contained(keys, self.true), contained(keys, self.found)
        meets, accepted = self.meets(keys), self.accepts(keys)
        compared = self.compared.has(left, right)
        differs = {field: self.differs(field, keys) for field in self.fields}
        lacks = {field: self.lacks(field, keys) for field in self.fields}
        graded = split(self.agreement.rule)
        for i in range(len(keys)):
            levels = () if graded is None else self._weigh(graded[0], keys[i : i + 1])
            yield PairFacts(
                id_a=ids[0][i],
                id_b=ids[1][i],
                true=bool(true[i]),
                found=bool(found[i]),
                meets=bool(meets[i]),
                compared=bool(compared[i]),
                accepted=bool(accepted[i]),
                differs=tuple(field for field in self.fields if differs[field][i]),
                lacks=tuple(field for field in self.fields if lacks[field][i]),
                score=None if graded is None else sum(one.weight for one in levels),
                levels=levels,
            )

    def _weigh(self, score: Score, one: Indices) -> tuple[Weighed, ...]:
        """The levels of one pair."""
        return tuple(self._level(each, one) for each in score.comparisons)

    def _level(self, each: Levels, one: Indices) -> Weighed:
        names = fields_of(And(tuple(level.when for level in each.levels)))
        for level in each.levels:
            if holds(level.when, self.tables, *self.rows(one))[0]:
                return Weighed(names, str(level.when), level.weight)
        return Weighed(names, "otherwise", each.otherwise)


def rate(found: Indices, wanted: Indices, unknown: int = 0) -> Scores:
    """Found pairs against wanted ones, of which some more may be unknown; of none, every share is 1."""
    hits = int(contained(found, wanted).sum())
    recall, precision = share(hits, len(wanted) + unknown), share(hits, len(found))
    return Scores(len(wanted) + unknown, recall, precision, f1(precision, recall))


def find(pairs: pa.Table, a: Records, b: Records) -> tuple[Indices, Indices, int]:
    """Pairs of ids (`id_a`, `id_b`) as rows of both tables, each once, and how many have no such rows."""
    once = pairs.group_by(["id_a", "id_b"]).aggregate([])
    rows = [
        pc.index_in(once[name].combine_chunks(), value_set=table.ids)
        for name, table in (("id_a", a), ("id_b", b))
    ]
    both = np.asarray(pc.and_(*map(pc.is_valid, rows))).astype(np.bool_)
    left, right = (np.asarray(pc.fill_null(found, 0)).astype(np.int64)[both] for found in rows)
    return left, right, int((~both).sum())


def split(rule: Rule) -> tuple[Score, Rule] | None:
    """The first score that a rule asks for beside other things, and these; None where it asks for none."""
    parts = rule.parts if isinstance(rule, And) else (rule,)
    for at, part in enumerate(parts):
        if isinstance(part, Score):
            return part, And((*parts[:at], *parts[at + 1 :]))
    return None
