"""Figures of what the paper left out: real times, better noise, better blocking, fair baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reproduction.drawing import (
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
    YELLOW,
    canvas,
    key,
    legend,
    line,
    short,
    short_ticks,
    whole_ticks,
)
from reproduction.lab import OURS, PAPER
from reproduction.replication import CELLS, best
from reproduction.sweep import Row, number, only

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
    how = [
        key("measured", color=GREY, marker="o", ls=""),
        key("formula", color=GREY, ls="-"),
        key("pairs at random", color=GREY, ls=":"),
    ]
    legend(figure, panels[0], 3, [*keys, *how])
    return figure


def clock(rows: Sequence[Row]) -> Figure:
    """Seconds of the whole linkage by engine; the paper's estimate beside them where the size is its own."""
    figure, (axes,) = canvas(1, COLUMN, 1.8)
    for place, row in enumerate(rows):
        guessed, seconds = row["how"] == "extrapolated", number(row, "linkage_seconds")
        axes.barh(place, seconds, 0.6, color=ORANGE if guessed else BLUE,
                  hatch="////" if guessed else "", edgecolor=BLACK, linewidth=0.5)  # fmt: skip
        axes.annotate(_duration(seconds), (seconds, place), (4, 0), textcoords="offset points", va="center",
                      fontsize=6.5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})  # fmt: skip
    axes.set_yticks(range(len(rows)), [str(row["engine"]) for row in rows])
    axes.invert_yaxis()
    most = max(number(row, "linkage_seconds") for row in rows)
    papers = []
    if rows[0]["per_day"] == 5_000:
        axes.axvline(80 * 3600, color=VERMILION, ls="--")
        papers = [key("paper: 80 h", color=VERMILION, ls="--")]
        most = max(most, 80 * 3600)
    axes.set(
        xscale="log", xlabel=f"seconds for AB, {number(rows[0], 'per_day'):,.0f} records per side, ε = 1.6"
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


_KINDS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    # The first two nearly coincide: a ring around a point shows both.
    "paper-2017": ("paper, shift rounded up", VERMILION,
                   {"marker": "o", "markersize": 6, "markerfacecolor": "none", "markeredgewidth": 0.9}, ":"),
    "paper": ("paper, δ corrected", ORANGE, {"marker": "v"}, "-."),
    "gaussian": ("gaussian", PURPLE, {"marker": "D"}, "--"),
    "geometric": ("geometric (ours)", BLUE, {"marker": "s"}, "-"),
}  # fmt: skip


def _kind_keys(kinds: Sequence[str]) -> list[Any]:
    looks = [_KINDS[kind] for kind in kinds]
    return [key(name, color=colour, ls=style, **mark) for name, colour, mark, style in looks]


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
            line(axes, found, "epsilon", "dummies", color=colour, ls=style, **mark)
        title = "1 bin per record" if bins == 1 else f"{bins} bins per record"
        axes.set(xscale="log", yscale="log", title=title, xlabel="ε")
        whole_ticks(axes, only(rows, noise="paper", bins=bins), "epsilon")
    panels[0].set_ylabel("expected dummies per bin (δ = 1e-5)")
    legend(figure, panels[0], 2, _kind_keys(list(_KINDS)))
    return figure


def noise_cost(rows: Sequence[Row]) -> Figure:
    """Comparisons and dummies by ε, with the paper's noise, the corrected one and ours."""
    figure, panels = canvas(4, COLUMN, 4.3, rows=2)
    kinds = [noise for noise in _KINDS if only(rows, noise=noise)]
    for axes, below, data in zip(panels[:2], panels[2:], ("taxi", "ab"), strict=True):
        here = only(rows, data=data)
        for noise in kinds:
            _, colour, mark, style = _KINDS[noise]
            found = only(here, noise=noise)
            line(axes, only(found, greedy="no"), "epsilon", "cost", color=colour, lw=0.7, ls=style)
            line(axes, only(found, greedy="yes"), "epsilon", "cost", color=colour, ls=style, **mark)
            line(below, only(found, greedy="yes"), "epsilon", "dummies", color=colour, ls=style, **mark)
        axes.set(xscale="log", yscale="log" if data == "taxi" else "linear", title=NAMES[data])
        if data == "ab":
            axes.set_ylim(bottom=0)
        below.set(xscale="log", yscale="log", xlabel="ε")
        whole_ticks(axes, here, "epsilon")
        axes.tick_params(axis="x", labelbottom=False)
        whole_ticks(below, here, "epsilon")
        short_ticks(below)
    panels[0].set_ylabel("cost (secure comparisons)")
    panels[2].set_ylabel("dummies, both sides, all bins")
    how = [key("marks: with greedy", color=GREY, marker="s"), key("no marks: basic", color=GREY, lw=0.7)]
    legend(figure, panels[0], 2, [*_kind_keys(kinds), *how])
    return figure


def delta(rows: Sequence[Row]) -> Figure:
    """The exact δ of the paper's noise against the claimed one: shift as published, and rounded up."""
    figure, (axes,) = canvas(1, COLUMN, 2.5)
    for value, colour, mark in ((1e-5, BLUE, "o"), (1e-7, GREEN, "s"), (1e-9, VERMILION, "^")):
        found = [
            {
                **row,
                "ratio": number(row, "delta_exact") / value,
                "real": number(row, "delta_unrounded") / value,
            }
            for row in only(rows, noise="paper-2017", bins=1, delta=value)
        ]
        if value == 1e-5:
            line(axes, found, "epsilon", "real", color=BLACK, label="shift as published (any δ)")
        label = f"rounded up, δ = 1e{round(math.log10(value))}"
        # No line between: δ jumps wherever the rounded shift does.
        line(axes, found, "epsilon", "ratio", color=colour, marker=mark, ls="", markersize=2.4, label=label)
    axes.axhline(1, color=BLACK, ls="--", lw=0.8)
    axes.annotate("claimed", (0.1, 1), (0, -9), textcoords="offset points", fontsize=6.2)
    axes.set(xscale="log", yscale="log", xlabel="ε (one bin per record)", ylabel="exact δ / claimed δ")
    axes.set_xticks([0.1, 0.2, 0.4, 0.8, 1.6, 3, 5, 8], ["0.1", "0.2", "0.4", "0.8", "1.6", "3", "5", "8"])
    axes.set_yticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    axes.set_ylim(bottom=0.4)
    axes.minorticks_off()
    legend(figure, axes, 2)
    return figure


def replication(rows: Sequence[Row]) -> Figure:
    """Both styles of the grid by cell size, with the same noise; each one's best cell in a ring."""
    figure, panels = canvas(2, COLUMN, 2.6)
    for axes, (greedy, title) in zip(panels, (("no", "basic"), ("yes", "with greedy")), strict=True):
        here = only(rows, greedy=greedy)
        for epsilon in _epsilons(here):
            found, look = only(here, epsilon=epsilon), {"color": OF_EPSILON[epsilon]}
            for style, line_style in _STYLES.items():
                line(axes, only(found, style=style, noise=OURS), "cell", "cost", marker=MARKERS[epsilon],
                     markersize=2.6, ls=line_style, **look)  # fmt: skip
                line(axes, [best(found, style, OURS)], "cell", "cost", marker="o", markersize=7,
                     markerfacecolor="none", ls="", **look)  # fmt: skip
            line(axes, only(found, noise=PAPER), "cell", "cost", marker="X", markersize=4.5, ls="", **look)
        axes.set(xscale="log", yscale="log", title=title, xlabel="cell size (degrees)")
        # No room for two ticks so close.
        whole_ticks(axes, [row for row in here if str(row["cell"]) != CELLS[1]], "cell")
    panels[0].set_ylabel("cost (secure comparisons)")
    keys = [key(f"ε = {e:g}", color=OF_EPSILON[e], marker=MARKERS[e]) for e in _epsilons(rows)]
    others = [
        key("neighbours, our noise", color=GREY, ls="--"),
        key("replicated, our noise", color=GREY, ls="-"),
        key("best cell of a style", color=GREY, marker="o", markersize=6, markerfacecolor="none", ls=""),
        key("paper's grid and noise", color=GREY, marker="X", ls=""),
    ]
    legend(figure, panels[0], 2, [*keys, *others])
    return figure


_STYLES = {"neighbours": "--", "replicate": "-"}


def baseline(rows: Sequence[Row]) -> Figure:
    """All pairs with greedy against LP with greedy, by size."""
    figure, panels = canvas(2, COLUMN, 2.5)
    for axes, data in zip(panels, ("taxi", "ab"), strict=True):
        here = only(rows, data=data)
        line(axes, only(here, method="all-pairs"), "per_day", "all_pairs", color=GREY, ls=":", marker="x")
        line(axes, only(here, method="all-pairs"), "per_day", "cost", color=ORANGE, ls="-.", marker="v")
        for epsilon in _epsilons(here):
            line(axes, only(here, method="laplace", noise=OURS, epsilon=epsilon), "per_day", "cost",
                 color=OF_EPSILON[epsilon], marker=MARKERS[epsilon])  # fmt: skip
            line(axes, only(here, method="laplace", noise=PAPER, epsilon=epsilon), "per_day", "cost",
                 color=OF_EPSILON[epsilon], marker=MARKERS[epsilon], ls=":",
                 markerfacecolor="white")  # fmt: skip
        axes.set(xscale="log", yscale="log", title=NAMES[data], xlabel="records per side, n")
        whole_ticks(axes, here, "per_day")
    panels[0].set_ylabel("cost (secure comparisons)")
    keys = [key(f"LP, our noise, ε = {e:g}", color=OF_EPSILON[e], marker=MARKERS[e]) for e in _epsilons(rows)]
    theirs = [
        key(f"LP, paper's noise, ε = {e:g}", color=OF_EPSILON[e], marker=MARKERS[e], ls=":",
            markerfacecolor="white")
        for e in _epsilons(only(rows, noise=PAPER))
    ]  # fmt: skip
    own = [
        key("all pairs, without greedy", color=GREY, ls=":", marker="x"),
        key("all pairs, ε = 0", color=ORANGE, ls="-.", marker="v"),
    ]
    legend(figure, panels[0], 2, [*own, *theirs, *keys])
    return figure


def sparse(rows: Sequence[Row]) -> Figure:
    """The share of records that the guarantee protects, and what protecting them costs."""
    figure, panels = canvas(2, COLUMN, 3.9, rows=2)
    here = largest(rows)
    sets = list(dict.fromkeys(str(row["data"]) for row in here))
    for place, (side, colour) in enumerate((("a", SKY), ("b", YELLOW))):
        shares = [100 * unmatched(only(here, data=data, method="all-pairs")[0], side) for data in sets]
        at = [i + (place - 0.5) * 0.4 for i in range(len(sets))]
        panels[0].bar(at, shares, 0.4, color=colour, edgecolor=BLACK, linewidth=0.5)
        for x, share in zip(at, shares, strict=True):
            text = f"{share:.1g}" if share < 1 else f"{share:.0f}"
            panels[0].annotate(
                text, (x, share), (0, 1), textcoords="offset points", ha="center", fontsize=5.5
            )
    panels[0].set(ylabel="records protected (%)", ylim=(0, 115), title="records that match nothing")
    methods = [("all-pairs", 0.0, ORANGE, "all pairs, ε = 0")]
    ours = sorted(_epsilons(only(here, noise=OURS)), reverse=True)
    methods += [("laplace", e, OF_EPSILON[e], f"LP, our noise, ε = {e:g}") for e in ours]
    for place, (method, epsilon, colour, _) in enumerate(methods):
        some = [row for row in here if row["noise"] != PAPER]
        found = [only(some, data=data, method=method, epsilon=epsilon)[0] for data in sets]
        ratios = [number(row, "cost") / number(row, "all_pairs") for row in found]
        panels[1].plot([i + (place - 1.5) * 0.17 for i in range(len(sets))], ratios, ls="", color=colour,
                       marker=MARKERS.get(epsilon, "v"), markersize=4)  # fmt: skip
    panels[1].axhline(1, color=BLACK, ls="--", lw=0.8)
    panels[1].set(yscale="log", ylabel="cost / cost(APC), log scale", title="cost with greedy")
    names = [f"{NAMES[data]}\nn = {short(number(only(here, data=data)[0], 'per_day'))}" for data in sets]
    for axes in panels:
        axes.set_xticks(range(len(sets)), names, fontsize=5.8)
        axes.grid(axis="x", visible=False)
    from matplotlib.patches import Patch

    sides = [Patch(facecolor=c, edgecolor=BLACK, label=f"side {n}") for n, c in (("A", SKY), ("B", YELLOW))]
    keys = [key(n, color=c, marker=MARKERS.get(e, "v"), ls="") for _, e, c, n in methods]
    legend(figure, panels[1], 3, [*sides, *keys])
    return figure


def largest(rows: Sequence[Row]) -> list[Row]:
    """The rows of the largest size of each set, Taxi and AB first."""
    sets = [data for data in ("taxi", "ab", "places", "products") if only(rows, data=data)]
    most = {data: max(number(row, "per_day") for row in only(rows, data=data)) for data in sets}
    return [row for data in sets for row in only(rows, data=data) if number(row, "per_day") == most[data]]


def unmatched(row: Row, side: str) -> float:
    """The share of a side's records that match nothing."""
    return number(row, f"unmatched_{side}") / number(row, "per_day")


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
