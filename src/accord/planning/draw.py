"""The pictures of a plan: cost against ε, recall against cost, and where the time goes.

Colours are of the palette of Okabe and Ito, told apart by any eye; marks and words say the same again.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from accord.planning.figures import Option, Plan, cost

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _ORANGE, _GREEN, _RED, _GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#999999"
_MOST_BARS = 6
_WIDE = 20
"""From so many times on an axis is a logarithmic one, which has a plain number to show by then."""


def draw(plan: Plan) -> Figure:
    """Three pictures side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(16, 5.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _draw_epsilon(left, plan)
    _draw_recall(middle, plan)
    _draw_time(right, plan)
    a, b = plan.sizes
    figure.suptitle(f"{a:,} records of A, {b:,} of B, network {plan.network} (Mbit/s and ms)")
    return figure


def _draw_epsilon(axes: Axes, plan: Plan) -> None:
    """A line for each blocking that was priced at several ε; all pairs has none."""
    lines: dict[tuple[str, bool], list[Option]] = {}
    for one in plan.options:
        if one.largest_epsilon:
            lines.setdefault((one.blocking, one.greedy), []).append(one)
    long = [(key, some) for key, some in lines.items() if len({o.largest_epsilon for o in some}) > 2]
    marks = zip(long, (_BLUE, _ORANGE, _GREEN, _RED) * 3, "os^Dvos^Dvos", strict=False)
    for ((blocking, greedy), some), colour, mark in marks:
        ordered = sorted(some, key=lambda one: one.largest_epsilon or 0)
        label = f"{_short(blocking)}{', greedy' if greedy else ''}"
        axes.plot(*_points(ordered), color=colour, marker=mark, label=label)
    for one in (o for o in plan.options if o.all_pairs):
        style = "--" if one.greedy else "-"
        label = f"all pairs{', greedy' if one.greedy else ''} (ε = 0)"
        axes.axhline(one.seconds.expected, color=_GREY, ls=style, label=label)
    _mark(axes, plan.choice, plan.choice.largest_epsilon or 0.05)
    axes.set(xscale="log", yscale="log", xlabel="ε", ylabel="seconds", title="Cost against ε")
    _finish(axes)


def _points(options: Sequence[Option]) -> tuple[list[float], list[float]]:
    return [one.largest_epsilon or 0 for one in options], [one.seconds.expected for one in options]


def _draw_recall(axes: Axes, plan: Plan) -> None:
    known = [one for one in plan.options if one.recall is not None]
    axes.plot(
        [one.seconds.expected for one in known],
        [one.recall or 0 for one in known],
        "o",
        color=_BLUE,
        alpha=0.5,
        label="an option",
    )
    if plan.agreed.recall is not None:
        axes.plot(
            plan.agreed.seconds.expected, plan.agreed.recall, "s", color=_ORANGE, ms=9, label="as agreed"
        )
    if plan.choice.recall is not None:
        axes.plot(plan.choice.seconds.expected, plan.choice.recall, "*", color=_RED, ms=14, label="chosen")
    unknown = len(plan.options) - len(known)
    title = "Recall against cost" + (f" ({unknown} not known)" if unknown else "")
    seconds = [one.seconds.expected for one in known]
    axes.set(
        xscale="log" if seconds and max(seconds) > _WIDE * min(seconds) else "linear",
        xlabel="seconds",
        ylabel="recall of the rule's pairs",
        title=title,
        ylim=(-0.03, 1.05),
    )
    _finish(axes)


def _draw_time(axes: Axes, plan: Plan) -> None:
    """The choice, the agreement and the cheapest others: processor, network, waiting."""
    ranked = sorted(plan.options, key=lambda one: (one is not plan.choice, not one.agreed, cost(one)))
    shown = ranked[:_MOST_BARS][::-1]
    places = range(len(shown))
    kinds = (("processor", _BLUE), ("network", _ORANGE), ("waiting", _GREEN))
    for offset, (kind, colour) in enumerate(kinds):
        values = [getattr(one.work, kind) for one in shown]
        axes.barh([at + (1 - offset) * 0.27 for at in places], values, 0.25, color=colour, label=kind)
    axes.set_yticks(list(places), [_folded(one, plan) for one in shown], fontsize=7)
    # A length means something on a straight axis alone.
    axes.set(xlabel="seconds, each by itself", title="Where the time goes")
    _finish(axes)


def _mark(axes: Axes, option: Option, at: float) -> None:
    axes.plot(at, option.seconds.expected, "*", color=_RED, ms=14, label="chosen", zorder=3)


def _finish(axes: Axes) -> None:
    """Plain numbers on the axes, and the legend below, where it hides nothing."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
        if scale == "log":
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            axis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)


def _folded(option: Option, plan: Plan) -> str:
    """In two or three short lines."""
    marks = [word for word, is_so in (("chosen", option is plan.choice), ("agreed", option.agreed)) if is_so]
    told = option.tell() + (f", {' and '.join(marks)}" if marks else "")
    return "\n".join(wrap(told, 46, max_lines=3, placeholder=" …"))


def _short(text: str) -> str:
    return text if len(text) <= 48 else text[:47] + "…"
