"""The figure of a noise audit: the exact δ(ε) curve and the promise it is measured against.

Colours are two of the palette of Okabe and Ito, told apart by any eye; line styles and words say the same
again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from accord.drawing import save_figure
from accord.exact import text
from accord.privacy.calibration import Audit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXACT = "#0072B2"
CLAIMED = "#D55E00"


def draw(audit: Audit) -> Figure:
    """The figure."""
    from matplotlib.figure import Figure

    setting = audit.setting
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(
        [float(e) for e, _ in audit.curve], [d for _, d in audit.curve], color=EXACT, lw=2, label="exact δ(ε)"
    )
    claimed = (float(setting.epsilon), float(setting.delta))
    axes.axvline(claimed[0], color=CLAIMED, ls=":", lw=1)
    axes.axhline(claimed[1], color=CLAIMED, ls="--", lw=1.5, label=f"claimed δ = {text(setting.delta)}")
    verdict = "kept" if setting.kept else "broken"
    label = f"exact δ at ε = {text(setting.epsilon)}: {setting.delta_exact:.4g} ({verdict})"
    mark, colour = ("o", EXACT) if setting.kept else ("X", CLAIMED)
    axes.plot(claimed[0], setting.delta_exact, mark, color=colour, ms=9, mec="white", label=label, zorder=3)
    axes.set(yscale="log", xlabel="ε", ylabel="δ", title=_title(audit), xlim=(0, float(audit.curve[-1][0])))
    axes.set_ylim(bottom=min(claimed[1], audit.curve[-1][1]) / 4)
    axes.grid(alpha=0.25)
    axes.legend(frameon=True, framealpha=0.95)
    return figure


def save(audit: Audit, path: Path, *, replace: bool = True) -> None:
    """Write the figure; the name's ending says how."""
    save_figure(draw(audit), path, replace=replace)


def _title(audit: Audit) -> str:
    setting = audit.setting
    bins = "1 bin" if setting.bins_per_record == 1 else f"{setting.bins_per_record} bins"
    people = f", {setting.records_per_person} records per person" if setting.records_per_person > 1 else ""
    dummies = f"{setting.expected_dummies:.1f} dummies per bin expected"
    return f"{setting.name} noise, {bins} per record{people}, {dummies}"
