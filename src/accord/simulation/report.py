"""The report on a simulation whose true pairs are known: what was missed and why, and which field loses it.

A pair is *apart* in a field if its records differ in it or one lacks it (`known.py`). Recall, precision and
F1 of a field are those of the pairs that are apart in it, found and true ones alike: they say how well the
rest of the rule makes up for an error there. Fields err together, so that the figures of two fields may speak
of the same pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from accord.agreement.by_pass import PassFigures, by_pass
from accord.ranges import contained
from accord.rules.evaluate import Indices
from accord.simulation.curve import Curve, trace
from accord.simulation.known import Known, PairFacts, rate
from accord.simulation.truth import Scores, f1, share
from accord.table.pairs import html_row
from accord.wording import counted


@dataclass(frozen=True)
class Missed:
    """Why true pairs were not found; each is counted once."""

    unknown: int
    """A record is in no table, or was left out."""
    refused: int
    """They meet, and the rule refuses them."""
    apart: int
    """The rule would accept them, and they meet in no pass."""
    refused_and_apart: int
    """They meet in no pass, and the rule would refuse them, too."""
    not_compared: int
    """They meet and the rule accepts them, and a full key or a pruned bin left them out."""
    passed_over: int
    """They were compared and the rule accepts them, and the protocol passed them over: a record had matched
    before, or another pair was kept."""


@dataclass(frozen=True)
class FieldQuality:
    """Pairs that are apart in one field of the rule."""

    field: str
    differing: int
    """True pairs with two values."""
    differing_found: int
    lacking: int
    """True pairs of which a record has no value."""
    lacking_found: int
    recall: float
    """Found, of the true pairs that are apart."""
    precision: float
    """True, of the found pairs that are apart."""
    f1: float
    false_agreeing: int
    """Found pairs that are false and agree in this field."""


@dataclass(frozen=True, repr=False)
class Quality:
    """Matches against the true pairs; nothing in it is a value of a record."""

    scores: Scores
    false: int
    """Found pairs that are not true."""
    missed: Missed
    fields: tuple[FieldQuality, ...]
    passes: tuple[PassFigures, ...]
    """What each pass compares of the true pairs."""
    curve: Curve | None
    """Over the thresholds of the rule's score, if it has one."""
    pairs: Mapping[str, tuple[PairFacts, ...]]
    """Some pairs to look at: `below` and `above` the threshold of a score, for other rules `missed` and
    `false` ones."""
    missed_pairs: tuple[PairFacts, ...]
    """Some true pairs that were not found, those first that are most alike: under any rule."""
    false_pairs: tuple[PairFacts, ...]
    """Some found pairs that are not true, those first that are least alike: under any rule."""

    def __repr__(self) -> str:
        found, lost = self.scores, sum(asdict(self.missed).values())
        return (
            f"<Quality: recall {found.truth_recall:.4f}, precision {found.truth_precision:.4f}, F1 "
            f"{found.truth_f1:.4f} of {counted(found.true_pairs, 'true pair')}; {lost:,} missed, "
            f"{self.false:,} false>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the figures, why true pairs were missed, and which field loses them."""
        found, missed = self.scores, self.missed
        head = {
            "recall": f"{found.truth_recall:.4f} of {counted(found.true_pairs, 'true pair')}",
            "precision": f"{found.truth_precision:.4f}; {self.false:,} found pairs are false",
            "F1": f"{found.truth_f1:.4f}",
            "missed: the rule refuses them": f"{missed.refused:,}",
            "missed: they meet in no pass": f"{missed.apart:,}",
            "missed: both": f"{missed.refused_and_apart:,}",
            "missed: left out by a full key or a pruned bin": f"{missed.not_compared:,}",
            "missed: a record is in another pair": f"{missed.passed_over:,}",
            "missed: a record does not exist": f"{missed.unknown:,}",
        }
        names = ("field", "true pairs that differ", "found", "true pairs that lack it", "found", "recall")
        rows = [
            (f.field, f.differing, f.differing_found, f.lacking, f.lacking_found, f"{f.recall:.3f}")
            for f in self.fields
        ]
        facts = "".join(html_row(pair, "th", "td") for pair in head.items())
        fields = "".join(html_row(row, "th", "td") for row in rows)
        return f"<table>{facts}</table><table>{html_row(names, 'th', 'th')}{fields}</table>"


def judge(known: Known, shown: int, noise: str | None = None) -> Quality:
    """The report, with so many pairs of either kind; `noise` replaces the agreed one."""
    traced, odd = trace(known, shown), _oddest(known, shown)
    named = odd if traced is None else {"below": traced[1], "above": traced[2]}
    return Quality(
        scores=rate(known.found, known.true, known.unknown),
        false=len(known.false),
        missed=_reasons(known),
        fields=tuple(_judge_field(known, field) for field in known.fields),
        passes=_passes(known, noise),
        curve=None if traced is None else traced[0],
        pairs={name: known.describe(keys) for name, keys in named.items()},
        missed_pairs=known.describe(odd["missed"]),
        false_pairs=known.describe(odd["false"]),
    )


def _reasons(known: Known) -> Missed:
    missed = known.missed
    meets, accepted = known.meets(missed), known.accepts(missed)
    compared = known.compared.has(*known.rows(missed))
    return Missed(
        unknown=known.unknown,
        refused=int((meets & ~accepted).sum()),
        apart=int((~meets & accepted).sum()),
        refused_and_apart=int((~meets & ~accepted).sum()),
        not_compared=int((meets & accepted & ~compared).sum()),
        passed_over=int((meets & accepted & compared).sum()),
    )


def _judge_field(known: Known, field: str) -> FieldQuality:
    true, false = known.true, known.false
    found = contained(true, known.found)
    differs, lacks = known.differs(field, true), known.lacks(field, true)
    apart = differs | lacks
    false_apart = known.differs(field, false) | known.lacks(field, false)
    hits = int((apart & found).sum())
    recall, precision = share(hits, int(apart.sum())), share(hits, hits + int(false_apart.sum()))
    return FieldQuality(
        field=field,
        differing=int(differs.sum()),
        differing_found=int((differs & found).sum()),
        lacking=int(lacks.sum()),
        lacking_found=int((lacks & found).sum()),
        recall=recall,
        precision=precision,
        f1=f1(precision, recall),
        false_agreeing=int((~false_apart).sum()),
    )


def _passes(known: Known, noise: str | None) -> tuple[PassFigures, ...]:
    """A pair with a record that is not there meets nowhere."""
    there = share(len(known.true), known.true_pairs)
    found = by_pass(known.agreement, known.a, known.b, [known.rows(known.true)], noise, known.compared)
    return tuple(
        replace(one, recall=there * one.recall, recall_so_far=there * one.recall_so_far) for one in found
    )


def _oddest(known: Known, shown: int) -> dict[str, Indices]:
    """Pairs that were missed though little sets them apart, and found though much does."""
    missed, false = known.missed, known.false
    return {
        "missed": missed[np.argsort(known.count_apart(missed), kind="stable")[:shown]],
        "false": false[np.argsort(-known.count_apart(false), kind="stable")[:shown]],
    }
