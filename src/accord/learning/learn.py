"""`learn`: weights and threshold of a draft's score, and what they are expected to find.

    a draft, whose rule has a score ─┬─ made-up people ────────────┐
                                     ├─ two tables, their labels ──┼─ weights ─ threshold ─ an agreement
                                     └─ two tables, no labels ─────┘

Everything happens on one's own side, and what comes out for the partner is an agreement with whole numbers in
its rule. Expected precision and recall are for two tables of a stated size and overlap of which those pairs
are compared that the draft compares; they are told to whoever learns, and written nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from accord.agreement.disclosure import alone
from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.agreement.learnt import LINKED, Origin
from accord.arguments import (
    require,
    require_flag,
    require_text_or_none,
    wrong,
)
from accord.datasets.generated import Generated
from accord.errors import UsageError
from accord.learning.drafts import compare_fields, put_weights, rest_of, score_of, with_score, write_into
from accord.learning.evidence import (
    OVERLAP,
    LearningTask,
    LearntWeights,
    from_labels,
    from_made_up,
    from_unlabelled,
    strangers_in,
)
from accord.learning.passes import choose_passes, compare_all
from accord.learning.threshold import ExpectedQuality, choose, curve
from accord.rules.rule import Rule, fields_of
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, require_table


@dataclass(frozen=True)
class LevelShare:
    """A level of the score: its weight, and of how many matches and of how many others it decides."""

    level: str
    weight: int
    of_matches: float
    of_others: float


@dataclass(frozen=True)
class Learnt:
    """What was learned. The agreement may be shown to the partner; the rest is for whoever learned it."""

    agreement: Agreement
    levels: tuple[tuple[LevelShare, ...], ...]
    """By comparison of the score, those that decide nothing and were left out included."""
    expected: ExpectedQuality
    """What the rule is expected to do."""
    curve: tuple[ExpectedQuality, ...]
    """What it would do with other thresholds."""
    strangers: float
    """Pairs of strangers for each match, in the linkage that this is for."""
    matches: int | None
    """Known matches that it learned from; None where none is known."""
    met: int | None
    """How many of them meet in the draft's passes and satisfy the rest of its rule; others are missed."""
    notes: tuple[str, ...]

    @property
    def rule(self) -> Rule:
        return self.agreement.rule

    def write_into(self, draft: str) -> str:
        """The text of the draft with what was learned in place of its rule, and of its passes if others were
        chosen; all other lines as they were."""
        return write_into(draft, self.agreement)


def learn(  # noqa: PLR0913 — a public function: one keyword for each thing that may be said
    draft: Agreement,
    table: TableLike | None = None,
    *,
    learnt_from: str | None = None,
    linked_table: bool = False,
    other: TableLike | None = None,
    labels: TableLike | None = None,
    made_up: Generated | None = None,
    compare: Sequence[str] = (),
    records: int | None = None,
    overlap: float | None = None,
    precision: float | None = None,
    passes: bool = False,
    seed: int = 0,
    layout: Layout | None = None,
    other_layout: Layout | None = None,
) -> Learnt:
    """Learn the weights and the threshold of a draft's score, and, if asked, its passes.

    The draft's rule has a score; or `compare` names fields to be compared in the usual ways. Without anything
    else, made-up people are used, or what is `made_up`. From a `table` and the `other` one it learns by
    their pairs: with `labels`, a table of all pairs id_a, id_b that are matches, or one whose third column,
    match, says of each whether it is one; and without them by what most pairs look like. With two tables,
    weights are drawn to the draft's; a level that few matches have keeps its own.

    `learnt_from` says whose data they are, "public", "A", "B", a party's name or "both" (made-up people are
    nobody's), and `linked_table` that the table is the very one to be linked. The threshold is the best one
    for tables with that many `records` per side and this `overlap`, or the best with at least this
    `precision`. With `passes`, keys and caps of a routed linkage are chosen on the matches, too: weights are
    learned of all pairs first, and then again of those that meet.
    """
    require("draft", draft, "an Agreement, such as accord.read_agreement(PATH) gives", Agreement)
    require_sound(draft)
    _require_kinds(table, other, labels, made_up)
    _require_flags(linked_table, passes, seed)
    _require_others(compare, layout, other_layout)
    _require_numbers(records, overlap, precision)
    origin = _origin(draft, learnt_from, linked_table, table is not None)
    layouts = layout or Layout(), other_layout or Layout()
    linkage = _Linkage(records, overlap, precision, origin, seed)
    rule = compare_fields(compare, draft.fields) if compare else draft.rule

    def gather(draft: Agreement, all_fields: bool = False) -> LearntWeights:
        asked = task_of(draft, rule, seed, records, all_fields)
        if table is None or other is None:
            return from_made_up(asked, made_up)
        if labels is None:
            return from_unlabelled(asked, (table, other), layouts)
        return from_labels(asked, (table, other), layouts, labels)

    if passes:
        draft = _with_passes(draft, rule, linkage, gather)
    return linkage.finish(draft, rule, gather(draft))


@dataclass(frozen=True)
class _Linkage:
    """What a rule is for, and whose data teach it."""

    records: int | None
    overlap: float | None
    precision: float | None
    origin: Origin
    seed: int

    def strangers(self, found: LearntWeights) -> float:
        """Pairs of strangers for each match."""
        if self.records is not None:
            return strangers_in(self.records, self.overlap or OVERLAP)
        if self.overlap is not None:
            return max((found.strangers + 1) * OVERLAP / self.overlap - 1, 0.0)
        return found.strangers

    def finish(self, draft: Agreement, rule: Rule, found: LearntWeights) -> Learnt:
        rng = np.random.default_rng(self.seed)
        found = replace(found, strangers=self.strangers(found))
        return finish(draft, rule, found, self.origin, rng, self.precision)


def _with_passes(
    draft: Agreement, rule: Rule, linkage: _Linkage, gather: Callable[[Agreement, bool], LearntWeights]
) -> Agreement:
    """The draft with passes that suit the rule which all pairs teach."""
    wide = compare_all(draft.model_copy(update={"rule": rule}))
    found = gather(wide, True)
    assert found.known is not None
    wide = linkage.finish(wide, rule, found).agreement
    sizes = (len(found.known.a), len(found.known.b)) if draft.expected is None else draft.expected.sizes
    if linkage.records is not None:
        sizes = linkage.records, linkage.records
    matches = round((linkage.overlap or OVERLAP) * min(sizes))
    return choose_passes(draft, wide, found.known, sizes, matches)


def task_of(
    draft: Agreement,
    rule: Rule,
    seed: int = 0,
    records: int | None = None,
    all_fields: bool = False,
) -> LearningTask:
    """The weights of the rule's score, for pairs that the draft compares; with the fields that this reads,
    or with all."""
    read = {*draft.fields} if all_fields else {*fields_of(rule), *draft.blocking_fields}
    fields = {name: spec for name, spec in draft.fields.items() if name in read}
    draft = draft.model_copy(update={"rule": rule, "fields": fields})
    caps = draft.protocol.caps(draft.task)
    parts = score_of(rule), rest_of(rule), draft.plan, caps, draft, fields
    return LearningTask(*parts, seed, records)


def _require_kinds(table: object, other: object, labels: object, made_up: object) -> None:
    """Raise for evidence of a wrong kind, or that does not go together."""
    for name, given in (("table", table), ("other", other), ("labels", labels)):
        if given is not None:
            require_table(name, given)
    if made_up is not None:
        require("made_up", made_up, "two generated tables with their truth", Generated)
    if made_up is not None and table is not None:
        raise UsageError(problem="Made-up tables are used where there are no others: leave out one of both.")
    if (table is None) is not (other is None) or (labels is not None and other is None):
        problem = "Learning from records needs two tables: name one, and the other with `other=`."
        raise UsageError(problem=problem)


def _require_flags(linked: object, passes: object, seed: object) -> None:
    require_flag("linked_table", linked)
    require_flag("passes", passes)
    require("seed", seed, "a whole number", int)


def _require_others(compare: object, layout: object, other_layout: object) -> None:
    fields = "names of fields, such as ['given', 'surname']"
    require("compare", compare, fields, list, tuple)
    assert isinstance(compare, list | tuple)
    if not all(isinstance(name, str) for name in compare):
        raise wrong("compare", compare, fields)
    for name, given in (("layout", layout), ("other_layout", other_layout)):
        if given is not None:
            require(name, given, "a Layout", Layout)


def _require_numbers(records: int | None, overlap: float | None, precision: float | None) -> None:
    for name, given in (("overlap", overlap), ("precision", precision)):
        if given is not None:
            require(name, given, "a share, above 0 and at most 1", int, float)
            if not 0 < given <= 1:
                raise UsageError(problem=f"`{name}=` is a share, above 0 and at most 1.")
    if records is not None:
        require("records", records, "a whole number of at least 1", int)
        if records < 1:
            raise UsageError(problem="`records=` is a whole number of at least 1.")


def _origin(draft: Agreement, whose: str | None, linked: bool, given: bool) -> Origin:
    """What is recorded of the data."""
    require_text_or_none("learnt_from", whose, "A")
    if not given and whose in (None, "nobody"):
        origin: Origin = "nobody"
    else:
        origin = _whose(draft, whose)
        if not given:
            raise UsageError(problem="Without a table made-up people are used, who are nobody's.")
    if not linked:
        return origin
    if origin not in LINKED:
        raise UsageError(problem="Only a party's table can be linked: leave out `linked_table=True`.")
    return LINKED[origin]


def _whose(draft: Agreement, whose: str | None) -> Origin:
    """Whose data are given: records are never nobody's."""
    origins: dict[str | None, Origin] = {"public": "public", "A": "A", "B": "B", "both": "A and B"}
    origins |= {"A and B": "A and B", draft.parties.A: "A", draft.parties.B: "B"}
    if whose in origins:
        return origins[whose]
    problem = "Say whose data it is" if whose is None else f"Data cannot belong to '{whose}'; say whose it is"
    words = f"public, A ({draft.parties.A}), B ({draft.parties.B}) or both"
    raise UsageError(problem=f"{problem}, with `learnt_from=`: {words}.")


def finish(
    draft: Agreement,
    rule: Rule,
    found: LearntWeights,
    origin: Origin,
    rng: np.random.Generator,
    precision: float | None = None,
) -> Learnt:
    """The draft with the weights that were found, and the threshold that is best for so many strangers."""
    useful = put_weights(found.comparisons, found.weights, 0, draft.fields)
    if not useful.comparisons:
        raise UsageError(problem="Nothing that is compared tells matches from others. Compare other fields.")
    # From 0 on, a pair of which nothing is known would match.
    points, allowed = (
        tuple(
            point
            for point in curve(of, found.strangers, rng)
            if max(useful.lowest, 0) < point.least <= useful.highest
        )
        for of in (found.choice, found.expected)
    )
    chosen = choose(points, allowed, precision)
    learnt = with_score(rule, put_weights(found.comparisons, found.weights, chosen.least, draft.fields))
    made = draft.model_copy(update={"rule": learnt, "learnt_from": origin})
    # Another rule may want more disclosed, or another protocol.
    require_sound(made)
    weighs = zip(found.comparisons, found.weights, strict=True)
    idle = [each for each, given in weighs if len(set(given)) == 1]
    names = ["; ".join(str(level.when) for level in each.levels) for each in idle]
    notes = [f"Left out, since it decides nothing: {name}." for name in names]
    return Learnt(
        agreement=made,
        levels=tuple(_describe(found)),
        expected=chosen,
        curve=allowed,
        strangers=found.strangers,
        matches=found.matches,
        met=found.met,
        notes=(*found.notes, *notes, *alone(made)),
    )


def _describe(found: LearntWeights) -> Iterator[tuple[LevelShare, ...]]:
    for each, given, (m, u) in zip(found.comparisons, found.weights, found.shares, strict=True):
        names = [*(str(level.when) for level in each.levels), "otherwise"]
        yield tuple(LevelShare(*row) for row in zip(names, given, m, u, strict=True))
