"""Figures of what the paper left out: real times, better noise, better blocking, fair baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from accord.experiments.cells import Row, number, only
from accord.experiments.drawing import (
    BLACK,
    BLUE,
    COLUMN,
    GREEN,
    GREY,
    MARKERS,
    NAMES,
    OF_EPSILON,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    canvas,
    key,
    legend,
    line,
    whole_ticks,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _epsilons(rows: Sequence[Row]) -> list[float]:
    return [epsilon for epsilon in OF_EPSILON if only(rows, epsilon=epsilon)]


def local(rows: Sequence[Row]) -> Figure:
    """Recall of local DP against its cost, measured and by the formula."""
    figure, panels = canvas(2, COLUMN, 2.3)
    for axes, (sides, title) in zip(
        panels, (("both", "both sides private"), ("one", "B public")), strict=True
    ):
        for epsilon in _epsilons(rows):
            found = only(rows, sides=sides, epsilon=epsilon)
            look = {"color": OF_EPSILON[epsilon]}
            line(axes, found, "ratio", "recall", marker=MARKERS[epsilon], ls="", **look)
            line(axes, found, "ratio", "expected_recall", **look)
        axes.plot([0, 1], [0, 1], color=GREY, ls=":")
        axes.set(title=title, xlabel="cost / cost(APC)", xlim=(0, 1.03), ylim=(0, 1.03))
    panels[0].set_ylabel("recall")
    keys = [key(f"ε = {e:g}", color=OF_EPSILON[e], marker=MARKERS[e]) for e in _epsilons(rows)]
    legend(figure, panels[0], 4, [*keys, key("chance", color=GREY, ls=":")])
    return figure


def clock(rows: Sequence[Row]) -> Figure:
    """Seconds of the whole linkage by engine; the paper's estimate beside them where the size is its own."""
    figure, (axes,) = canvas(1, COLUMN, 1.8)
    for place, row in enumerate(rows):
        guessed, seconds = row["how"] == "extrapolated", number(row, "linkage_seconds")
        axes.barh(place, seconds, 0.6, color=ORANGE if guessed else BLUE,
                  hatch="////" if guessed else "", edgecolor=BLACK, linewidth=0.5)  # fmt: skip
        clear = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes.annotate(f" {_duration(seconds)}", (seconds, place), va="center", fontsize=6.5, bbox=clear)
    axes.set_yticks(range(len(rows)), [str(row["engine"]) for row in rows])
    axes.invert_yaxis()
    most = max(number(row, "linkage_seconds") for row in rows)
    papers = []
    if rows[0]["per_day"] == 5_000:
        axes.axvline(80 * 3600, color=VERMILION, ls="--")
        papers = [key("paper: 80 h", color=VERMILION, ls="--")]
        most = max(most, 80 * 3600)
    axes.set(
        xscale="log", xlabel=f"seconds for AB, {number(rows[0], 'per_day'):,.0f} records a side, ε = 1.6"
    )
    axes.set_xlim(right=most * 30)
    axes.grid(axis="y", visible=False)
    from matplotlib.patches import Patch

    keys = [
        Patch(facecolor=BLUE, edgecolor=BLACK, label="measured"),
        Patch(facecolor=ORANGE, edgecolor=BLACK, hatch="////", label="extrapolated"),
    ]
    legend(figure, axes, 3, keys + papers)
    return figure


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


_KINDS = {
    "paper-2017": ("paper, as published", VERMILION, "^", ":"),
    "paper": ("paper, δ corrected", ORANGE, "v", "-."),
    "gaussian": ("gaussian", PURPLE, "D", "--"),
    "geometric": ("geometric", BLUE, "o", "-"),
}


def dummies(rows: Sequence[Row]) -> Figure:
    """Expected dummies in a bin by ε, for records in few and in many bins."""
    several = sorted({int(row["bins"]) for row in rows})
    figure, panels = canvas(2, COLUMN, 2.4)
    for axes, bins in zip(panels, (several[0], several[-1]), strict=True):
        for noise, (_, colour, mark, style) in _KINDS.items():
            found = only(rows, noise=noise, bins=bins, delta=1e-5)
            if noise == "paper-2017":
                # More points were made of this one for the figure of δ.
                known = {row["epsilon"] for row in only(rows, noise="paper", bins=bins)}
                found = [row for row in found if row["epsilon"] in known]
            line(axes, found, "epsilon", "dummies", color=colour, marker=mark, ls=style)
        title = "1 bin a record" if bins == 1 else f"{bins} bins a record"
        axes.set(xscale="log", yscale="log", title=title, xlabel="ε")
        whole_ticks(axes, only(rows, noise="paper", bins=bins), "epsilon")
    panels[0].set_ylabel("expected dummies a bin (δ = 1e-5)")
    legend(figure, panels[0], 2, [key(n, color=c, marker=m, ls=s) for n, c, m, s in _KINDS.values()])
    return figure


def delta(rows: Sequence[Row]) -> Figure:
    """The exact δ of the paper's noise as published, against the claimed one."""
    figure, (axes,) = canvas(1, COLUMN, 2.1)
    for value, colour, mark in ((1e-5, BLUE, "o"), (1e-7, GREEN, "s"), (1e-9, VERMILION, "^")):
        found = [
            {**row, "ratio": number(row, "delta_exact") / value}
            for row in only(rows, noise="paper-2017", bins=1, delta=value)
        ]
        label = f"δ = 1e{round(math.log10(value))}"
        line(axes, found, "epsilon", "ratio", color=colour, marker=mark, label=label)
    axes.axhline(1, color=BLACK, ls="--", label="claimed")
    axes.set(xscale="log", yscale="log", xlabel="ε (one bin a record)", ylabel="exact δ / claimed δ")
    axes.set_xticks([0.1, 0.2, 0.4, 0.8, 1.6, 3, 5, 8], ["0.1", "0.2", "0.4", "0.8", "1.6", "3", "5", "8"])
    axes.set_yticks([0.5, 1, 2, 5], ["0.5", "1", "2", "5"])
    axes.set_ylim(0.4, 6)
    axes.minorticks_off()
    legend(figure, axes, 4)
    return figure


def replication(rows: Sequence[Row]) -> Figure:
    """Cost of one-sided replication by cell size, and of the paper's grid."""
    figure, panels = canvas(2, COLUMN, 2.5)
    for axes, (greedy, title) in zip(panels, (("no", "basic"), ("yes", "with greedy")), strict=True):
        here = only(rows, greedy=greedy)
        for epsilon in _epsilons(here):
            colour = OF_EPSILON[epsilon]
            line(axes, only(here, style="replicate", epsilon=epsilon), "cell", "cost",
                 marker=MARKERS[epsilon], color=colour)  # fmt: skip
            for noise, style in (("paper-2017", ":"), ("best", "--")):
                for row in only(here, style="neighbours", epsilon=epsilon, noise=noise):
                    axes.axhline(number(row, "cost"), ls=style, lw=0.9, color=colour)
        axes.set(xscale="log", yscale="log", title=title, xlabel="cell size (degrees)")
        whole_ticks(axes, only(here, style="replicate"), "cell")
    panels[0].set_ylabel("cost (secure comparisons)")
    keys = [key(f"ε = {e:g}", color=OF_EPSILON[e], marker=MARKERS[e]) for e in _epsilons(rows)]
    others = [
        key("replicated, our noise", color=GREY, marker=".", ls="-"),
        key("paper's grid, our noise", color=GREY, ls="--"),
        key("paper's grid and noise", color=GREY, ls=":"),
    ]
    legend(figure, panels[0], 2, [*keys, *others])
    return figure


def baseline(rows: Sequence[Row]) -> Figure:
    """All pairs with greedy against LP with greedy, by size."""
    figure, panels = canvas(2, COLUMN, 2.5)
    for axes, data in zip(panels, ("taxi", "ab"), strict=True):
        here = only(rows, data=data)
        line(axes, only(here, method="all-pairs"), "per_day", "all_pairs", color=GREY, ls=":", marker="x")
        line(axes, only(here, method="all-pairs"), "per_day", "cost", color=ORANGE, ls="-.", marker="v")
        for epsilon in _epsilons(here):
            line(axes, only(here, method="laplace", epsilon=epsilon), "per_day", "cost",
                 color=OF_EPSILON[epsilon], marker=MARKERS[epsilon])  # fmt: skip
        axes.set(xscale="log", yscale="log", title=NAMES[data], xlabel="records a side, n")
        whole_ticks(axes, here, "per_day")
    panels[0].set_ylabel("cost (secure comparisons)")
    keys = [key(f"LP + greedy, ε = {e:g}", color=OF_EPSILON[e], marker=MARKERS[e]) for e in _epsilons(rows)]
    own = [
        key("all pairs", color=GREY, ls=":", marker="x"),
        key("all pairs + greedy, ε = 0", color=ORANGE, ls="-.", marker="v"),
    ]
    legend(figure, panels[0], 2, [*own, *keys])
    return figure


def sparse(rows: Sequence[Row]) -> Figure:
    """The share of records that the guarantee protects, and what protecting them costs."""
    figure, panels = canvas(2, COLUMN, 2.4)
    sets = [data for data in ("taxi", "ab", "places", "products") if only(rows, data=data)]
    largest = {data: max(number(row, "per_day") for row in only(rows, data=data)) for data in sets}
    here = [row for row in rows if number(row, "per_day") == largest[str(row["data"])]]
    shares = [100 * number(only(here, data=data)[0], "protected") for data in sets]
    panels[0].bar(range(len(sets)), shares, 0.6, color=SKY, edgecolor=BLACK, linewidth=0.5)
    for place, share in enumerate(shares):
        panels[0].annotate(
            f"{share:.2g}" if share < 10 else f"{share:.0f}",
            (place, share),
            ha="center",
            va="bottom",
            fontsize=6,
        )
    panels[0].set(ylabel="records protected (%)", ylim=(0, 115), title="records that match nothing")
    methods = [("all-pairs", 0.0, ORANGE, "all pairs, ε = 0")]
    methods += [
        ("laplace", e, OF_EPSILON[e], f"LP, ε = {e:g}") for e in sorted(_epsilons(here), reverse=True)
    ]
    for place, (method, epsilon, colour, label) in enumerate(methods):
        found = [only(here, data=data, method=method, epsilon=epsilon)[0] for data in sets]
        ratios = [number(row, "cost") / number(row, "all_pairs") for row in found]
        panels[1].bar([i + (place - 1.5) * 0.2 for i in range(len(sets))], ratios, 0.2, color=colour,
                      edgecolor=BLACK, linewidth=0.4, label=label)  # fmt: skip
    panels[1].axhline(1, color=BLACK, ls="--", lw=0.8)
    panels[1].set(yscale="log", ylabel="cost / cost(APC)", title="cost with greedy")
    for axes in panels:
        axes.set_xticks(range(len(sets)), [NAMES[data] for data in sets], rotation=35, ha="right")
        axes.grid(axis="x", visible=False)
    legend(figure, panels[1], 2)
    return figure


def link(rows: Sequence[Row]) -> Figure:
    """Real seconds and bytes of a linkage, by ε."""
    figure, panels = canvas(2, COLUMN, 2.2)
    looks = {
        "loopback": ("loopback (LAN)", BLUE, "o", "-"),
        "slow": ("100 Mbit/s, 10 ms", VERMILION, "^", "--"),
    }
    for name, (_, colour, mark, style) in looks.items():
        line(
            panels[0],
            only(rows, link=name),
            "epsilon",
            "linkage_seconds",
            color=colour,
            marker=mark,
            ls=style,
        )
    first = [{**row, "megabytes": number(row, "bytes") / 1e6} for row in only(rows, link="loopback")]
    line(panels[1], first, "epsilon", "megabytes", color=BLACK, marker="s")
    for axes, label in zip(panels, ("seconds", "megabytes, both directions"), strict=True):
        axes.set(xscale="log", xlabel="ε", ylabel=label, ylim=(0, None))
        whole_ticks(axes, rows, "epsilon")
    legend(figure, panels[0], 2, [key(n, color=c, marker=m, ls=s) for n, c, m, s in looks.values()])
    return figure
