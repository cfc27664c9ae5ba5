"""The figures of the paper, laid out like its own: Taxi on the left, AB on the right [HMFS17, §5.2]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from accord.experiments.cells import Row, number, only
from accord.experiments.drawing import (
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
    canvas,
    key,
    legend,
    line,
    whole_ticks,
)
from accord.experiments.settings import EPSILONS, VARIANTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = ("taxi", "ab")
_BASELINES = {
    "psi-expand": ("PSI+X", PURPLE, "D", ":"),
    "all-pairs": ("APC", ORANGE, "v", "-."),
    "non-private": ("non-private", BLACK, "x", "-"),
}


def size(rows: Sequence[Row], prune: int) -> Figure:
    """Cost against data size, at recall 1 (prune = 0) or above 0.95."""
    figure, panels = canvas(2, COLUMN, 2.7)
    for axes, data in zip(panels, PANELS, strict=True):
        here = only(rows, data=data)
        for method, (_, colour, mark, style) in _BASELINES.items():
            line(axes, only(here, method=method), "n", "cost", color=colour, marker=mark, ls=style)
        for epsilon, colour in OF_EPSILON.items():
            for noise, style in LINES.items():
                found = only(here, method="laplace", prune=prune, epsilon=epsilon, noise=noise)
                mark = MARKERS[epsilon] if noise == "paper-2017" else ""
                line(axes, found, "n", "cost", color=colour, marker=mark, ls=style)
        axes.set(xscale="log", yscale="log", title=NAMES[data], xlabel="records a side, n")
        whole_ticks(axes, here, "n")
    panels[0].set_ylabel("cost (secure comparisons)")
    keys = [key(n, color=c, marker=m, ls=s) for n, c, m, s in _BASELINES.values()]
    legend(figure, panels[0], 3, [*keys, *_epsilon_keys("LP "), *_noise_keys()])
    return figure


def _epsilon_keys(prefix: str = "") -> list[object]:
    return [key(f"{prefix}ε = {e}", color=c, marker=MARKERS[e], ls="-") for e, c in OF_EPSILON.items()]


def _noise_keys() -> list[object]:
    return [
        key("paper's noise", color=GREY, ls=LINES["paper-2017"]),
        key("our noise", color=GREY, ls=LINES["geometric"]),
    ]


_BARS = {
    "basic": ("#FFFFFF", ""),
    "basic+SP": ("#CCCCCC", "////"),
    "basic+GMC": ("#56B4E9", ""),
    "basic+GMC+S": ("#0072B2", ""),
    "basic+GMC+SP": ("#E69F00", "\\\\\\\\"),
}


def variants(rows: Sequence[Row], noise: str) -> Figure:
    """The five variants by ε, a panel for each set-up and number of days."""
    here = only(rows, noise=noise)
    found = [
        (data, days)
        for data in PANELS
        for days in sorted({int(r["days"]) for r in only(here, data=data)})
        # A panel that lacks bars would mislead.
        if len(only(here, data=data, days=days)) == len(_BARS) * len(EPSILONS)
    ]
    figure, panels = canvas(max(1, len(found)), PAGE if len(found) > 2 else COLUMN, 2.2)
    for axes, (data, days) in zip(panels, found, strict=True):
        names = sorted({number(r, "epsilon") for r in here}, reverse=True)
        for place, (variant, (colour, hatch)) in enumerate(_BARS.items()):
            bars = only(here, data=data, days=days, variant=variant)
            axes.bar(
                [names.index(number(r, "epsilon")) + (place - 2) * 0.17 for r in bars],
                [number(r, "cost") for r in bars],
                0.17,
                yerr=[number(r, "cost_sd") for r in bars],
                color=colour, hatch=hatch, edgecolor=BLACK, linewidth=0.5, label=variant,
                error_kw={"elinewidth": 0.7, "capsize": 1.5},
            )  # fmt: skip
        axes.set_xticks(range(len(names)), [f"{e:g}" for e in names])
        axes.set(title=f"{NAMES[data]}, T = {days}", xlabel="ε", yscale="log" if data == "taxi" else "linear")
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel("cost (secure comparisons)")
    legend(figure, panels[0], len(VARIANTS) if len(found) > 2 else 2)
    return figure


def tradeoff(rows: Sequence[Row], vary: str) -> Figure:
    """Recall against cost ratio over the percentiles; `vary` is epsilon or delta."""
    figure, panels = canvas(2, COLUMN, 2.3)
    fixed = {"delta": 1e-5} if vary == "epsilon" else {"epsilon": 1.6}
    values = sorted({number(r, vary) for r in only(rows, **fixed)})
    look = dict(zip(values, zip(OF_EPSILON.values(), MARKERS.values(), strict=True), strict=True))
    for axes, data in zip(panels, PANELS, strict=True):
        for value, (colour, mark) in look.items():
            for noise, style in LINES.items():
                found = only(rows, data=data, noise=noise, **fixed, **{vary: value})
                shown = mark if noise == "paper-2017" else ""
                line(axes, found, "ratio", "recall", color=colour, marker=shown, ls=style)
        axes.set(title=NAMES[data], xlabel="cost(LP) / cost(APC)")
        least = min((number(row, "recall") for row in only(rows, data=data, **fixed)), default=0.0)
        axes.set_ylim(*((0, 1.03) if least < 0.9 else (0.965, 1.002)))
        # AB's ratios lie within a factor of three; Taxi's span orders of magnitude.
        axes.set_xscale("linear" if data == "ab" else "log")
    panels[0].set_ylabel("recall")
    letter = "ε" if vary == "epsilon" else "δ"
    keys = [key(f"{letter} = {_plain(v)}", color=c, marker=m) for v, (c, m) in look.items()]
    legend(figure, panels[0], 3, [*keys, *_noise_keys()])
    return figure


def _plain(value: float) -> str:
    return f"{value:g}" if value >= 1e-3 else f"1e{round(math.log10(value))}"
