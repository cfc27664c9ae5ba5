"""A simulation as a page, for whoever may see both tables: what was found, what it cost, and how good it is.

Ids of pairs to look at are on it, and no other value of a record.
"""

from __future__ import annotations

from accord.quality.known import PairFacts
from accord.quality.report import Quality
from accord.report.charts import Bar, bars
from accord.report.curves import Axis, Line, lines
from accord.report.markup import Markup, join
from accord.report.page import Section, facts, page, paragraph, table
from accord.side import Side
from accord.simulation import Simulation
from accord.wording import counted

_OWN_EYES = "For the eyes of those who may see both tables."
_PAIRS = {
    "below": "Just below the threshold",
    "above": "Just above the threshold",
    "missed": "True pairs that were missed, those first that are most alike",
    "false": "Found pairs that are false, those first that are least alike",
}


def describe_simulation(result: Simulation, quality: Quality | None) -> str:
    """The page; with `quality` where the true pairs are known."""
    sections = [_found(result), Section("From all pairs to the matches", _funnel(result)), _promises(result)]
    if len(result.passes) > 1:
        sections.append(Section("Passes", _passes(result)))
    if quality is not None:
        sections += [_quality(quality), _fields(quality), *_curve(quality), *_pairs(quality)]
    title = f"Simulation of {counted(result.records_a, 'record')} and {result.records_b:,}"
    lead = f"{result.leaks} {_OWN_EYES}" if result.leaks else _OWN_EYES
    return page(title, lead, sections)


def _found(result: Simulation) -> Section:
    of_rule = "of the pairs that the rule accepts"
    shown: list[tuple[str, Markup | str | int]] = [
        ("Matches", f"{result.matches:,} of {result.all_matches:,} that the rule accepts"),
        ("Recall", f"{result.recall:.4f} {of_rule}" + ("; among those compared" * result.among_candidates)),
        ("Precision", f"{result.precision:.4f} under the rule"),
        ("Comparisons", f"{result.comparisons:,.0f}, {result.cost_ratio:.2%} of all pairs"),
        ("Left out", f"{result.left_out:,} by the policies of the agreement"),
        ("Engine", result.engine),
    ]
    advice = [paragraph(line, "note") for line in result.advice]
    return Section("What was found", join([facts(shown), *advice]))


def _funnel(result: Simulation) -> Markup:
    drawn = [
        Bar("all pairs", result.all_pairs),
        Bar("secure comparisons", result.comparisons),
        Bar("candidate pairs", result.candidate_pairs),
        Bar("matches", result.matches),
    ]
    says = (
        f"Of {result.all_pairs:,} pairs {result.candidate_pairs:,} meet in the blocking; with dummies "
        f"{result.comparisons:,.0f} comparisons were made. Each power of ten takes the same length."
    )
    return bars("Pairs", says, drawn, log=True)


def _promises(result: Simulation) -> Section:
    run = result.runs[0]
    dummies = {Side.A: run.dummies_a, Side.B: run.dummies_b}
    rows = []
    for side, promised in result.promises.items():
        promise = ["none"] * 2
        if promised.epsilon is not None and promised.delta is not None:
            promise = [f"{promised.epsilon:g}", f"{promised.delta:.3g}"]
        rows.append([side.value, *promise, f"{dummies[side]:,}"])
    says = f"In {counted(result.bins, 'bin')}"
    return Section("What is promised, and its dummies", table(says, ["side", "ε", "δ", "dummies"], rows))


def _passes(result: Simulation) -> Markup:
    names = ["pass", "recall", "with those before", "candidate pairs"]
    rows = [
        [one.name, f"{one.recall:.4f}", f"{one.recall_so_far:.4f}", f"{one.candidate_pairs:,}"]
        for one in result.passes
    ]
    return table("What each pass brings together, of the pairs that the rule accepts", names, rows)


def _quality(quality: Quality) -> Section:
    scores, missed = quality.scores, quality.missed
    reasons = [
        Bar("the rule refuses them", missed.refused),
        Bar("they meet in no pass", missed.apart),
        Bar("both", missed.refused_and_apart),
        Bar("the protocol passed over", missed.passed_over),
        Bar("a record is not there", missed.unknown),
    ]
    shown: list[tuple[str, Markup | str | int]] = [
        ("True pairs", scores.true_pairs),
        ("Recall", f"{scores.truth_recall:.4f}"),
        ("Precision", f"{scores.truth_precision:.4f}"),
        ("F1", f"{scores.truth_f1:.4f}"),
        ("False pairs", quality.false),
    ]
    says = "Why true pairs were missed; each is counted once."
    return Section("Against the true pairs", join([facts(shown), bars("Missed", says, reasons)]))


def _fields(quality: Quality) -> Section:
    drawn = [
        Bar(
            one.field,
            one.differing_found + one.lacking_found,
            one.differing + one.lacking - one.differing_found - one.lacking_found,
            f"recall {one.recall:.3f}",
        )
        for one in quality.fields
    ]
    says = "By field, the true pairs that differ in it or of which a record lacks it."
    return Section("Which fields lose matches", bars("By field", says, drawn, ("found", "missed")))


def _curve(quality: Quality) -> list[Section]:
    curve = quality.curve
    if curve is None or not curve.points:
        return []
    names = (("precision", "precision"), ("recall", "recall"), ("F1", "f1"))
    drawn = [
        Line(
            name,
            [(p.threshold, getattr(p, kind)) for p in curve.points],
        )
        for name, kind in names
    ]
    best = curve.at(curve.best)
    says = f"Agreed is a threshold of {curve.agreed}; F1 is best, {best.f1:.4f}, at {curve.best}."
    known = [line for line in drawn if line.points]
    return [
        Section("Over thresholds", lines("By threshold", says, known, (Axis("threshold"), Axis("share", 1))))
    ]


def _pairs(quality: Quality) -> list[Section]:
    shown = [
        table(
            _PAIRS[name],
            ["A and B", "score", "is", "differs in", "lacks"],
            [_row(one) for one in some],
            False,
        )
        for name, some in quality.pairs.items()
        if some
    ]
    return [Section("Pairs to look at", join(shown))] if shown else []


def _row(pair: PairFacts) -> list[str]:
    score = "" if pair.score is None else f"{pair.score:,}"
    is_so = f"{'true' if pair.true else 'not true'}, {'found' if pair.found else 'not found'}"
    return [f"{pair.id_a} and {pair.id_b}", score, is_so, ", ".join(pair.differs), ", ".join(pair.lacks)]
