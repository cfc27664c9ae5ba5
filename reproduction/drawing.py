"""What all figures share: colours that every eye tells apart, sizes for a column of a paper, names.

Colours are of the palette of Okabe and Ito; markers, hatches and line styles say the same again. A column is
3.3 inches wide, both columns are 7; letters are set for that size, so that a figure is not scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accord.errors import OutputError
from reproduction.sweep import MissingRow, Row, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.3, 7.0
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY = "#777777"
OF_EPSILON = {0.1: BLUE, 0.4: GREEN, 1.6: VERMILION}
MARKERS = {0.1: "o", 0.4: "s", 1.6: "^"}
NAMES = {"ab": "AB", "taxi": "Taxi", "products": "sparse products", "places": "sparse places"}
LINES = {"paper-2017": "-", "geometric": "--"}
_STYLE: Any = {
    "font.size": 7,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.2,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.35,
    "axes.axisbelow": True,
    "legend.frameon": False,
}


def canvas(
    panels: int, width: float = COLUMN, height: float = 2.3, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """A figure with some panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, panels // rows, squeeze=False)
    return figure, list(axes.ravel())


def legend(figure: Figure, axes: Axes, columns: int, handles: Sequence[Any] | None = None) -> None:
    """One legend for all panels, above them."""
    found = handles if handles is not None else axes.get_legend_handles_labels()[0]
    figure.legend(
        handles=list(found), loc="outside upper center", ncols=columns, columnspacing=1.2, handlelength=2.2,
        handletextpad=0.5, borderaxespad=0.1,
    )  # fmt: skip


def key(label: str, **look: Any) -> Any:
    """An entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **look)


def save(draw: Callable[[], Figure], folder: Path, name: str) -> Path:
    """Draw in the style that all share, and write a PNG; the same figure gives the same bytes."""
    from matplotlib import rc_context

    path = folder / f"{name}.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context(_STYLE):
            draw().savefig(path, dpi=200, metadata={"Software": None})
    except OSError as error:
        raise OutputError(path=folder, reason=error.strerror) from None
    return path


def line(axes: Axes, rows: Sequence[Row], x: str, y: str, **look: Any) -> None:
    """One line through some rows, by ascending x."""
    points = sorted((number(row, x), number(row, y)) for row in rows)
    if points:
        axes.plot(*zip(*points, strict=True), **look)


def whole_ticks(axes: Axes, rows: Sequence[Row], x: str) -> None:
    """The sizes themselves as ticks of a logarithmic axis: 5k, 10k, 1.2M."""
    values = sorted({number(row, x) for row in rows})
    axes.set_xticks(values, [short(value) for value in values])
    axes.minorticks_off()
    axes.tick_params(axis="x", labelrotation=45 if len(values) > 3 else 0)


def short_ticks(axes: Axes) -> None:
    """1, 2, 5, 10, … on a logarithmic y-axis that spans little: 500, 1k, 2k."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=20))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.tick_params(axis="y", which="minor", left=False)


def short(value: float) -> str:
    """12345 as 12k."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def slope(rows: Sequence[Row], x: str, y: str) -> float:
    """The exponent of a power law through the rows, by least squares on logarithms."""
    sizes, costs = ([number(row, name) for row in rows] for name in (x, y))
    if len(set(sizes)) < 2:
        raise MissingRow(f"no two rows with different {x}")
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
