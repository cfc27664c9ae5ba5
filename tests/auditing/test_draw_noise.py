"""The curve of an audit and its figure."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accord.auditing.draw_noise import draw
from accord.privacy.calibration import as_claimed, audit
from accord.privacy.noise import exact_delta


def test_the_curve_holds_the_promise_and_the_exact_delta_elsewhere() -> None:
    setting = as_claimed("paper", "0.4", "1e-5", 2)
    curve = dict(audit(setting).curve)
    assert curve[Fraction("0.4")] == setting.delta_exact
    assert curve[Fraction("0.2")] == exact_delta(setting.noise, 2, Fraction("0.2"))
    assert max(curve) == Fraction("0.6")
    assert min(curve) == 0


@pytest.mark.parametrize(("epsilon", "verdict"), [("0.4", "kept"), ("0.1", "broken")])
def test_the_figure_shows_the_curve_the_claim_and_the_verdict(epsilon: str, verdict: str) -> None:
    found = audit(as_claimed("paper-2017", epsilon, "1e-5"))
    (axes,) = draw(found).axes
    lines = axes.get_lines()
    assert np.asarray(lines[0].get_xdata()).tolist() == [float(e) for e, _ in found.curve]
    assert np.asarray(lines[0].get_ydata()).tolist() == [d for _, d in found.curve]
    legend = axes.get_legend()
    assert legend is not None
    said = [text.get_text() for text in legend.get_texts()]
    assert said[1] == "claimed δ = 0.00001"
    assert verdict in said[2]
    assert axes.get_yscale() == "log"


def test_the_title_names_people() -> None:
    titles = [
        draw(audit(as_claimed("geometric", "1", "1e-5", 1, None, g))).axes[0].get_title() for g in (1, 4)
    ]
    assert "records per person" not in titles[0]
    assert "1 bin per record, 4 records per person, " in titles[1]
