"""A plan as a page: what each option costs, what it finds, and which to take."""

from __future__ import annotations

from accord.planning.figures import Option, Plan, cost, tell_conditions
from accord.report.charts import Bar, bars
from accord.report.curves import Axis, CurveLine, lines
from accord.report.markup import Markup, join
from accord.report.page import Section, bullets, page, paragraph, table
from accord.report.rule_table import tell_rule
from accord.wording import counted, lasting, sized

_MOST_ROWS = 16
_MOST_LINES = 4
_MOST_TIMES = 20
"""How many times the least is the largest on an axis from 0."""
_PUBLIC = "Made from the agreement and two numbers of records: it may be shown to the partner."


def describe_plan(plan: Plan) -> str:
    """The page."""
    a, b = plan.sizes
    ranked = sorted(plan.options, key=lambda one: (one is not plan.choice, not one.agreed, cost(one)))
    recalls = {one.recall for one in plan.options if one.recall is not None}
    warned = [*(one.text for one in plan.warnings), *tell_conditions(ranked)]
    sections = [
        Section("What to take", join([paragraph(plan.why), bullets(warned) if warned else Markup("")])),
        Section("How long it takes", _time(ranked[:6], plan)),
        Section("Cost against ε", _epsilon(plan)),
        *([Section("Recall against cost", _recall(plan))] if len(recalls) > 1 else []),
        Section("How bins fill up with dummies", _dummies(ranked[:6], plan)),
        Section("All options", _options(ranked, plan)),
        tell_rule(plan.agreed.agreement.rule),
    ]
    lead = f"{counted(a, 'record')} of A and {b:,} of B, network {plan.network} (Mbit/s and ms). "
    return page("What a linkage would cost", lead + _PUBLIC, sections)


def _name(option: Option, plan: Plan) -> str:
    marks = [word for word, is_so in (("chosen", option is plan.choice), ("agreed", option.agreed)) if is_so]
    said = f" ({', '.join(marks)})" if marks else ""
    promise = "no promise" if option.largest_epsilon is None else f"ε = {option.tell_epsilon()}"
    protocol = f"{option.protocol}{', greedy' if option.greedy else ''}"
    return f"{protocol}, {option.blocking or 'no blocking'}, {promise}{said}"


def _time(shown: list[Option], plan: Plan) -> Markup:
    drawn = [
        Bar(_name(one, plan), one.seconds.expected, shown=lasting(one.seconds.expected)) for one in shown
    ]
    says = "Expected time of the choice, of the agreement as written and of the cheapest others."
    rows = [[_name(one, plan), *map(lasting, _parts(one))] for one in shown]
    made_of = "The start, the longer of processor and network, which are at work at once, and the waiting"
    return join(
        [
            bars("Expected time", says, drawn),
            table(made_of, ["option", "start", "processor", "network", "waiting"], rows),
        ]
    )


def _parts(option: Option) -> tuple[float, float, float, float]:
    """What the expected time is made of; what is no work of the run itself is its start."""
    work = option.work
    start = option.seconds.expected - max(work.processor, work.network) - work.waiting
    return max(0.0, start), work.processor, work.network, work.waiting


def _dummies(shown: list[Option], plan: Plan) -> Markup:
    records = sum(plan.sizes)
    drawn = [
        Bar(_name(one, plan), records, one.dummies.expected, f"{records + one.dummies.expected:,.0f} slots")
        for one in shown
    ]
    says = "The records of both sides, and the dummies with which both are expected to fill up their bins."
    return bars("Records and dummies", says, drawn, ("records", "dummies"))


def _epsilon(plan: Plan) -> Markup:
    by_blocking: dict[str, list[tuple[float, float]]] = {}
    for one in plan.options:
        if one.largest_epsilon:
            named = f"{one.blocking or one.protocol}{', greedy' if one.greedy else ''}"
            by_blocking.setdefault(named, []).append((one.largest_epsilon, one.seconds.expected))
    drawn = [CurveLine(name, sorted(points)) for name, points in by_blocking.items() if len(points) > 2]
    if not drawn:
        return paragraph("No option was priced at several ε.")
    says = "Seconds that a run takes with each ε: a smaller one needs more dummies, and so more comparisons."
    if len(drawn) > _MOST_LINES:
        says += f" Of {len(drawn):,} ways to block it is the {_MOST_LINES} cheapest."
    shown = sorted(drawn, key=lambda line: min(y for _, y in line.points))[:_MOST_LINES]
    every = [x for line in shown for x, _ in line.points]
    for one in (option for option in plan.options if option.all_pairs):
        name = f"all pairs{', greedy' if one.greedy else ''}, at ε = 0"
        shown.append(CurveLine(name, [(x, one.seconds.expected) for x in (min(every), max(every))]))
    if plan.choice.largest_epsilon:
        shown.append(CurveLine("chosen", [(plan.choice.largest_epsilon, plan.choice.seconds.expected)]))
    return lines("Cost against ε", says, shown, (Axis("ε", log=True), _seconds(shown)))


def _seconds(drawn: list[CurveLine], along: int = 1) -> Axis:
    """From 0, unless what is drawn spans so much that the least of it would lie on the edge."""
    values = [point[along] for line in drawn for point in line.points]
    wide = bool(values) and max(values) > _MOST_TIMES * min(values) > 0
    return Axis("seconds (logarithmic)" if wide else "seconds", log=wide)


def _recall(plan: Plan) -> Markup:
    kinds = {"option": plan.options, "as agreed": (plan.agreed,), "chosen": (plan.choice,)}
    drawn = [
        CurveLine(name, [(one.seconds.expected, one.recall) for one in some if one.recall])
        for name, some in kinds.items()
    ]
    unknown = sum(one.recall is None for one in plan.options)
    says = "The share of the pairs accepted by the rule that each option finds, against the seconds it takes."
    says += f" For {counted(unknown, 'option')} it is not known." if unknown else ""
    known = [line for line in drawn if line.points]
    axes = _seconds(known, 0), Axis("recall", 1)
    return lines("Recall against cost", says, known, axes, joined=False)


def _options(ranked: list[Option], plan: Plan) -> Markup:
    rows = [
        [
            _name(one, plan),
            "?" if one.recall is None else f"{one.recall:.3f}",
            one.tell_covered(),
            f"{one.comparisons.expected:,.0f}",
            sized(round(one.bytes.expected)),
            lasting(one.seconds.expected),
        ]
        for one in ranked[:_MOST_ROWS]
    ]
    names = ["option", "recall", "covered", "comparisons", "bytes", "time"]
    hidden = len(ranked) - len(rows)
    more = paragraph(f"… and {counted(hidden, 'more option', 'more options')}.") if hidden > 0 else ""
    return join([table("The choice first, then the agreement, then by cost", names, rows), more])
