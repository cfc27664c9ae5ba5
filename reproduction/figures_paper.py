"""The figures of the paper, laid out like its own: Taxi on the left, AB on the right [HMFS17, §5.2]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from reproduction.drawing import (
    BLACK,
    COLUMN,
    GREY,
    LINES,
    MARKERS,
    NAMES,
    OF_EPSILON,
    ORANGE,
    PAGE,
    PURPLE,
    SKY,
    canvas,
    key,
    legend,
    line,
    whole_ticks,
)
from reproduction.settings import EPSILONS, VARIANTS
from reproduction.size import GREEDY
from reproduction.sweep import Row, number, only
from reproduction.tradeoff import ALL_PAIRS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = ("taxi", "ab")
_OPEN = {"markerfacecolor": "none", "markersize": 5, "markeredgewidth": 0.8, "zorder": 3}
"""Larger and empty, so that a mark of the other noise at the same place shows through."""

_BASELINES = {
    "psi-expand": ("PSI+X (estimate)", PURPLE, "D", ":"),
    "all-pairs": ("APC", ORANGE, "v", "-."),
    GREEDY: ("APC with greedy", SKY, "P", "-."),
    "non-private": ("non-private", BLACK, "x", "-"),
}


def size(rows: Sequence[Row], prune: int) -> Figure:
    """Cost against data size, as in the paper; and below it LP against non-private, where lines part."""
    figure, panels = canvas(4, COLUMN, 4.2, rows=2)
    for axes, below, data in zip(panels[:2], panels[2:], PANELS, strict=True):
        here = only(rows, data=data)
        for method, (_, colour, mark, style) in _BASELINES.items():
            line(axes, only(here, method=method), "n", "cost", color=colour, marker=mark, ls=style)
        for epsilon, noise in product(OF_EPSILON, LINES):
            found = only(here, method="laplace", prune=prune, epsilon=epsilon, noise=noise)
            look = _look(epsilon, noise)
            line(axes, found, "n", "cost", **look)
            line(below, against(found, only(here, method="non-private")), "n", "ratio", **look)
        below.axhline(1, color=BLACK, lw=1.1)
        axes.set(xscale="log", yscale="log", title=NAMES[data])
        below.set(xscale="log", yscale="log" if data == "taxi" else "linear", xlabel="records per side, n")
        whole_ticks(axes, here, "n")
        axes.tick_params(axis="x", labelbottom=False)
        whole_ticks(below, here, "n")
    panels[0].set_ylabel("comparisons (PSI+X: operations)")
    panels[2].set_ylabel("cost(LP) / cost(non-private)")
    keys = [key(n, color=c, marker=m, ls=s) for n, c, m, s in _BASELINES.values()]
    legend(figure, panels[0], 3, [*keys, *_epsilon_keys("LP "), *_noise_keys()])
    return figure


def against(rows: Sequence[Row], base: Sequence[Row]) -> list[Row]:
    """The rows with the cost as a multiple of that of the base with as many days."""
    costs = {row["days"]: number(row, "cost") for row in base}
    return [
        {**row, "ratio": number(row, "cost") / costs[row["days"]]} for row in rows if row["days"] in costs
    ]


def _look(epsilon: float, noise: str) -> dict[str, object]:
    """Filled and solid for the paper's noise; open and dashed, on top, for ours."""
    look: dict[str, object] = {"color": OF_EPSILON[epsilon], "marker": MARKERS[epsilon], "ls": LINES[noise]}
    return look if noise == "paper-2017" else look | _OPEN


def _epsilon_keys(prefix: str = "") -> list[object]:
    return [key(f"{prefix}ε = {e}", color=c, marker=MARKERS[e], ls="-") for e, c in OF_EPSILON.items()]


def _noise_keys() -> list[object]:
    return [
        key("paper's noise", color=GREY, marker=".", ls=LINES["paper-2017"]),
        key("our noise", color=GREY, marker=".", ls=LINES["geometric"], **_OPEN),
    ]


_MARKS = {
    "basic": ("#FFFFFF", "o"),
    "basic+SP": ("#BBBBBB", "D"),
    "basic+GMC": ("#56B4E9", "s"),
    "basic+GMC+S": ("#0072B2", "^"),
    "basic+GMC+SP": ("#E69F00", "v"),
}


def variants(rows: Sequence[Row], noise: str) -> Figure:
    """The five variants by ε, a panel for each set-up and number of days; points, as one axis is a log."""
    here = only(rows, noise=noise)
    found = complete(here)
    figure, panels = canvas(max(1, len(found)), PAGE if len(found) > 2 else COLUMN, 2.3)
    for axes, (data, days) in zip(panels, found, strict=True):
        names = sorted({number(r, "epsilon") for r in here}, reverse=True)
        for place, (variant, (colour, mark)) in enumerate(_MARKS.items()):
            some = only(here, data=data, days=days, variant=variant)
            axes.errorbar(
                [names.index(number(r, "epsilon")) + (place - 2) * 0.16 for r in some],
                [number(r, "cost") for r in some],
                [number(r, "cost_sd") for r in some],
                ls="", marker=mark, markersize=3.6, markerfacecolor=colour, markeredgecolor=BLACK,
                markeredgewidth=0.6, ecolor=BLACK, elinewidth=0.7, capsize=2.5, label=variant,
            )  # fmt: skip
        axes.set_xticks(range(len(names)), [f"{e:g}" for e in names])
        logs = data == "taxi"
        axes.set(title=f"{NAMES[data]}, T = {days}{' (log scale)' if logs else ''}", xlabel="ε",
                 yscale="log" if logs else "linear", xlim=(-0.5, len(names) - 0.5))  # fmt: skip
        if not logs:
            axes.set_ylim(bottom=0)
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel("cost (secure comparisons)")
    keys = [key(n, color=c, marker=m, ls="", markeredgecolor=BLACK) for n, (c, m) in _MARKS.items()]
    legend(figure, panels[0], len(VARIANTS) if len(found) > 2 else 2, keys)
    return figure


def complete(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Set-ups and days with all variants at every ε: a panel that lacks some would mislead."""
    return [
        (data, days)
        for data in PANELS
        for days in sorted({int(r["days"]) for r in only(rows, data=data)})
        if len(only(rows, data=data, days=days)) == len(_MARKS) * len(EPSILONS)
    ]


def tradeoff(rows: Sequence[Row], vary: str) -> Figure:
    """Recall against cost ratio over the percentiles; `vary` is epsilon or delta."""
    figure, panels = canvas(2, COLUMN, 2.3)
    fixed = {"delta": 1e-5} if vary == "epsilon" else {"epsilon": 1.6}
    values = sorted({number(r, vary) for r in only(rows, **fixed)})
    look = dict(zip(values, zip(OF_EPSILON.values(), MARKERS.values(), strict=True), strict=True))
    for axes, data in zip(panels, PANELS, strict=True):
        for (value, (colour, mark)), noise in product(look.items(), LINES):
            found = only(rows, data=data, noise=noise, **fixed, **{vary: value})
            own = {} if noise == "paper-2017" else _OPEN
            line(axes, found, "ratio", "recall", color=colour, marker=mark, ls=LINES[noise], **own)
        _mark_greedy(axes, only(rows, data=data))
        # AB's ratios lie within a factor of three; Taxi's span orders of magnitude.
        axes.set(xlabel="cost / number of all pairs", xscale="linear" if data == "ab" else "log")
        least = lowest(only(rows, data=data, **fixed))
        axes.set(title=f"{NAMES[data]} (recall from {least:g})", ylim=(least, 1 + (1 - least) * 0.05))
    panels[0].set_ylabel("recall")
    letter = "ε" if vary == "epsilon" else "δ"
    keys = [key(f"{letter} = {_plain(v)}", color=c, marker=m) for v, (c, m) in look.items()]
    legend(figure, panels[0], 3, [*keys, *_noise_keys(), key("APC with greedy", color=SKY, ls="-.")])
    return figure


def _mark_greedy(axes: Axes, rows: Sequence[Row]) -> None:
    """All pairs with greedy as a line across; where it is far off, as a word at the edge."""
    (row,) = only(rows, noise=ALL_PAIRS)
    ratio, most = number(row, "ratio"), max(number(r, "ratio") for r in rows if r["noise"] != ALL_PAIRS)
    if ratio <= 1.5 * most:
        axes.axvline(ratio, color=SKY, ls="-.")
    else:
        axes.annotate(f"APC with greedy:\n{ratio:.2f} →", (0.98, 0.03), xycoords="axes fraction", ha="right",
                      va="bottom", fontsize=5.8, color=SKY)  # fmt: skip


def lowest(rows: Sequence[Row]) -> float:
    """Where an axis of recall begins: at 0, unless all of it is above 0.9."""
    least = min(number(row, "recall") for row in rows)
    return math.floor(least * 200) / 200 if least > 0.9 else 0.0


def _plain(value: float) -> str:
    return f"{value:g}" if value >= 1e-3 else f"1e{round(math.log10(value))}"
