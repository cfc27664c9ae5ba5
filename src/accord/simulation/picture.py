"""The picture of a report: the curve over thresholds, and how many true pairs each field loses.

Colours are of the palette of Okabe and Ito; markers, line styles and hatches say the same again, so that it
can be read in print without colours. It shows names of fields and numbers, and nothing of any record.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.drawing import save_figure
from accord.simulation.curve import Curve
from accord.simulation.report import FieldQuality, Quality
from accord.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, BLUE, GREEN, VERMILION, GREY = "#000000", "#0072B2", "#009E73", "#D55E00", "#777777"
_STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.35,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "accord",
}
_LINES = (("precision", BLUE, "s", "--"), ("recall", VERMILION, "^", ":"), ("f1", BLACK, "o", "-"))


def save(quality: Quality, path: Path, *, replace: bool = True) -> None:
    """Write the picture; the name's ending says how."""
    from matplotlib import rc_context

    with rc_context(_STYLE):
        save_figure(draw(quality), path, "picture", replace=replace)


def draw(quality: Quality) -> Figure:
    """The picture: a panel of bars and, for a rule with a score, one with the curve."""
    from matplotlib.figure import Figure

    panels = 1 if quality.curve is None else 2
    height = max(3.2, 1.3 + 0.3 * len(quality.fields))
    figure = Figure(figsize=(5 * panels, height), layout="constrained")
    axes = list(figure.subplots(1, panels, squeeze=False).ravel())
    if quality.curve is not None:
        _draw_curve(axes[0], quality.curve)
    _draw_fields(axes[-1], quality.fields)
    scores = quality.scores
    figure.suptitle(
        f"recall {scores.truth_recall:.4f}, precision {scores.truth_precision:.4f}, F1 {scores.truth_f1:.4f}"
        f" of {counted(scores.true_pairs, 'true pair')}",
        fontsize=10,
    )
    return figure


def _draw_curve(axes: Axes, curve: Curve) -> None:
    thresholds = [point.threshold for point in curve.points]
    # A mark at every point of a long curve would hide the lines.
    every = max(1, len(thresholds) // 12)
    for name, colour, mark, line in _LINES:
        values = [getattr(point, name) for point in curve.points]
        label = "F1" if name == "f1" else name
        axes.plot(
            thresholds, values, drawstyle="steps-pre", color=colour, marker=mark, ls=line, ms=4,
            markevery=every, label=label,
        )  # fmt: skip
    axes.axvline(curve.agreed, color=GREY, lw=1, label=f"agreed, {curve.agreed}")
    axes.axvline(curve.best, color=GREEN, lw=1.5, ls="-.", label=f"best F1, {curve.best}")
    axes.set(xlabel="threshold of the score", ylim=(-0.02, 1.02))
    axes.legend(loc="best", framealpha=0.95)


def _draw_fields(axes: Axes, fields: tuple[FieldQuality, ...]) -> None:
    places = range(len(fields))
    found = [one.differing_found + one.lacking_found for one in fields]
    missed = [one.differing + one.lacking - hits for one, hits in zip(fields, found, strict=True)]
    axes.barh(places, found, color=BLUE, edgecolor=BLACK, lw=0.5, label="found")
    axes.barh(
        places, missed, left=found, color="white", edgecolor=VERMILION, hatch="////", lw=0.5, label="missed"
    )
    for place, one, hits, lost in zip(places, fields, found, missed, strict=True):
        if hits + lost:
            axes.text(hits + lost, place, f" {one.recall:.3f}", va="center")
    axes.set_yticks(places, [one.field for one in fields])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel="true pairs that differ in the field or lack it, and their recall")
    axes.legend(loc="best", framealpha=0.95)
