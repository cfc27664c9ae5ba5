"""A simulation as a page, for whoever may see both tables: what was found, what it cost, and how good it is.

Of pairs to look at their ids are on it, and with `cells` what the rule reads of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from accord.protocols.parts.answers import tell_cell
from accord.report.charts import Bar, bars, fill
from accord.report.curves import Axis, CurveLine, lines
from accord.report.markup import Markup, join
from accord.report.page import Section, facts, large, page, paragraph, table
from accord.report.pair_cards import NO_CELLS as NO_CELLS
from accord.report.pair_cards import PairCells as PairCells
from accord.report.pair_cards import PairView
from accord.report.rule_table import tell_rule
from accord.side import Side
from accord.simulation.known import PairFacts
from accord.simulation.pair import Simulation
from accord.simulation.report import Quality
from accord.wording import counted, lasting

_OWN_EYES = "For the eyes of those who may see both tables."
_NEAREST = {"below": "Just below the threshold", "above": "Just above the threshold"}


Nearest = Mapping[str, Sequence[PairFacts]]


def describe_simulation(
    result: Simulation, quality: Quality | None, cells: PairCells = NO_CELLS, nearest: Nearest | None = None
) -> str:
    """The page; with `quality` where the true pairs are known, else with the pairs that are `nearest` to the
    threshold if they are given; and with values of the pairs to look at."""
    view = PairView(result.agreement.rule, cells)
    near = quality.pairs if quality is not None else nearest or {}
    sections = [
        *([_quality(quality)] if quality is not None else []),
        _found(result),
        tell_rule(result.agreement.rule),
        *_near(near, view),
        *(_judged(quality, view) if quality is not None else []),
        Section("From all pairs to the matches", _funnel(result)),
        _promises(result),
        *([_filled(result)] if result.filled else []),
        Section("Where the time goes", _time(result)),
    ]
    if len(result.passes) > 1:
        sections.append(Section("Recall against cost, by pass", _passes(result)))
    title = f"Simulation: {counted(result.records_a, 'record')} (A) and {result.records_b:,} (B)"
    lead = f"{result.leaks} {_OWN_EYES}" if result.leaks else _OWN_EYES
    return page(title, lead, sections)


def _near(pairs: Nearest, view: PairView) -> list[Section]:
    groups = [(title, pairs[name]) for name, title in _NEAREST.items() if pairs.get(name)]
    return [Section("Pairs nearest to the threshold", view.describe(groups))] if groups else []


def _judged(quality: Quality, view: PairView) -> list[Section]:
    """Where it errs: pairs to look through, then by field and by threshold."""
    missed = "True pairs that were not found, the most alike first."
    wrong = "Pairs that were found and are not true, the least alike first."
    return [
        _odd("Missed pairs", missed, quality.missed_pairs, view),
        _odd("Wrong pairs", wrong, quality.false_pairs, view),
        _fields(quality),
        *_curve(quality),
    ]


def _filled(result: Simulation) -> Section:
    title = "How bins fill up with dummies"
    if result.bins <= 1 and not any(dummies.sum() for _, dummies in result.filled.values()):
        return Section(title, paragraph("This protocol has no dummies: it shows no padded bins."))
    parts = []
    for side, (real, dummies) in result.filled.items():
        records, more = int(real.sum()), int(dummies.sum())
        says = (
            f"{counted(len(real), 'bin')} of {side.value}, the largest first: {records:,} slots hold records "
            f"and {more:,} ({more / max(1, records + more):.0%}) are dummies. The partner sees their sums."
        )
        parts.append(fill(f"Slots in a bin of {side.value}", says, real, dummies))
    return Section(title, join(parts))


def _time(result: Simulation) -> Markup:
    runs = sum(run.seconds for run in result.runs)
    parts = {
        "reading both tables, and the rest": max(0.0, result.seconds - result.join_seconds - runs),
        "the pairs that the rule accepts, in the clear": result.join_seconds,
        f"{counted(len(result.runs), 'run')} of the protocol": runs,
    }
    ideal = " The engine 'ideal' compares in the clear: a real one takes longer." * (result.engine == "ideal")
    says = f"{lasting(result.seconds)} in one process.{ideal}"
    return bars("Time", says, [Bar(name, each, shown=lasting(each)) for name, each in parts.items()])


def _found(result: Simulation) -> Section:
    where = " among the pairs that meet in the blocking" * result.among_candidates
    about = "about " * result.estimated
    shown: list[tuple[str, Markup | str | int]] = [
        *_answer(result),
        ("Matches", f"{result.matches:,} of {about}{result.all_matches:,} that the rule accepts{where}"),
        ("Recall", f"{result.recall:.4f} of these"),
        ("Precision", f"{result.precision:.4f} under the rule"),
        ("Comparisons", f"{result.comparisons:,.0f}, {result.cost_ratio:.2%} of all pairs"),
        ("Left out", f"{result.left_out:,} by the policies of the agreement"),
        ("Engine", result.engine),
    ]
    advice = [paragraph(line, "note") for line in result.advice]
    return Section("What was found", join([facts(shown), *advice]))


def _answer(result: Simulation) -> list[tuple[str, Markup | str | int]]:
    """What both sides would learn of the first run, and what they would not."""
    if result.answer is None or result.exact_answer is None:
        return []
    both = zip(result.answer.cells, result.exact_answer.values, strict=True)
    told = [f"{' · '.join(cell.names)}: {tell_cell(cell)}; without noise {exact:,}" for cell, exact in both]
    return [("Answer", line) for line in told]


def _funnel(result: Simulation) -> Markup:
    drawn = [
        Bar("all pairs", result.all_pairs),
        Bar("secure comparisons", result.comparisons),
        Bar("candidate pairs", result.candidate_pairs),
        Bar("matches", result.matches),
    ]
    says = (
        f"Of {result.all_pairs:,} pairs {result.candidate_pairs:,} meet in the blocking; with dummies "
        f"{result.comparisons:,.0f} comparisons were made."
    )
    return bars("", says, drawn)


def _promises(result: Simulation) -> Section:
    run = result.runs[0]
    dummies = {Side.A: run.dummies_a, Side.B: run.dummies_b}
    rows = []
    for side, promised in result.promises.items():
        promise = ["none"] * 2
        if promised.epsilon is not None and promised.delta is not None:
            promise = [f"{promised.epsilon:g}", f"{promised.delta:.3g}"]
        rows.append([side.value, *promise, promised.unless or "–", f"{dummies[side]:,}"])
    says = f"In {counted(result.bins, 'bin')}"
    names = ["side", "ε", "δ", "unless", "dummies"]
    return Section("What is promised, and its dummies", table(says, names, rows, numbers=False))


def _passes(result: Simulation) -> Markup:
    names = ["pass", "recall", "with those before", "candidate pairs"]
    rows, points, so_far = [], [(0.0, 0.0)], 0
    for one in result.passes:
        so_far += one.candidate_pairs
        points.append((float(so_far), one.recall_so_far))
        cells = [f"{one.recall:.4f}", f"{one.recall_so_far:.4f}", f"{one.candidate_pairs:,}"]
        rows.append([one.name, *cells])
    where = ", among those that meet in one," * result.among_candidates
    says = (
        f"Pass by pass: the share of the pairs accepted by the rule{where} that they bring together, against "
        "the candidate pairs that they cost."
    )
    axes = Axis("candidate pairs, in all passes so far"), Axis("recall", 1)
    drawn = lines("Recall against cost", says, [CurveLine("after each pass", points)], axes)
    return join([drawn, table("What each pass brings together", names, rows)])


def _quality(quality: Quality) -> Section:
    scores, missed = quality.scores, quality.missed
    reasons = [
        Bar("the rule refuses them", missed.refused),
        Bar("they meet in no pass", missed.apart),
        Bar("both", missed.refused_and_apart),
        Bar("a full key or a pruned bin left them out", missed.not_compared),
        Bar("a record is in another pair", missed.passed_over),
        Bar("a record does not exist", missed.unknown),
    ]
    shares = (("F1", scores.truth_f1), ("precision", scores.truth_precision), ("recall", scores.truth_recall))
    lost = round(sum(bar.value for bar in reasons))
    found = scores.true_pairs - lost
    told = (
        f"Of {counted(scores.true_pairs, 'true pair')} {found:,} {'was' if found == 1 else 'were'} found and "
        f"{lost:,} missed. Of {counted(found + quality.false, 'pair')} found, {quality.false:,} "
        f"{'is' if quality.false == 1 else 'are'} wrong."
    )
    parts = [large([(name, f"{share:.4f}") for name, share in shares]), paragraph(told)]
    if lost:
        says = "Why true pairs were missed; each is counted once."
        parts.append(bars("Missed", says, [bar for bar in reasons if bar.value]))
    return Section("Against the true pairs", join(parts))


def _fields(quality: Quality) -> Section:
    drawn = [
        Bar(
            one.field,
            one.differing_found + one.lacking_found,
            one.differing + one.lacking - one.differing_found - one.lacking_found,
            f"{one.differing + one.lacking:,}, recall {one.recall:.3f}",
        )
        for one in quality.fields
    ]
    says = "By field, the true pairs that differ in it or where a record lacks it."
    return Section("Which fields lose matches", bars("By field", says, drawn, ("found", "missed")))


def _curve(quality: Quality) -> list[Section]:
    curve = quality.curve
    if curve is None or not curve.points:
        return []
    names = (("precision", "precision"), ("recall", "recall"), ("F1", "f1"))
    drawn = [CurveLine(name, [(p.threshold, getattr(p, kind)) for p in curve.points]) for name, kind in names]
    marked = (("agreed", curve.agreed), ("best F1", curve.best))
    drawn += [CurveLine(f"{name}, {at}", [(at, 0), (at, 1)]) for name, at in marked]
    best = curve.at(curve.best)
    says = f"The agreed threshold is {curve.agreed}; F1 is best, {best.f1:.4f}, at {curve.best}."
    axes = Axis("threshold"), Axis("share", 1)
    return [Section("Over thresholds", lines("By threshold", says, drawn, axes))]


def _odd(title: str, says: str, pairs: Sequence[PairFacts], view: PairView) -> Section:
    if not pairs:
        return Section(title, paragraph("There is none, or none was asked for."))
    return Section(title, join([paragraph(says), *map(view.show, pairs)]))
