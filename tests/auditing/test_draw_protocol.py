"""The figure of a protocol's audit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accord.auditing.cases import built_in, options
from accord.auditing.draw_protocol import draw
from accord.auditing.programs import honest
from accord.auditing.protocol import CaseFinding, Verdict, judge
from accord.auditing.questions import OneRun


@pytest.mark.parametrize(("apart", "word"), [(True, "leaky"), (False, "no leak found")])
def test_the_figure_shows_the_claim_the_curve_and_the_verdict(apart: bool, word: str) -> None:
    rng = np.random.default_rng(1)
    parts = [(rng.normal(4 * apart, 1, (300, 1)), rng.normal(0, 1, (300, 1))) for _ in range(3)]
    finding = judge(parts[0], parts[1], parts[2], (Fraction(1), Fraction(1, 1000)), 0.001)
    case = OneRun.of(built_in(options("laplace", "1", "1e-3"))[0], honest)
    (axes,) = draw("some", Verdict((CaseFinding(case, finding, ()),), 0.999)).axes
    curve, point = axes.get_lines()
    assert np.asarray(curve.get_xydata()).tolist() == [list(at) for at in finding.curve]
    assert np.asarray(point.get_xydata())[0].tolist() == [finding.hits_q / 300, finding.hits_p / 300]
    legend = axes.get_legend()
    assert legend is not None
    said = [text.get_text() for text in legend.get_texts()]
    assert said[0] == "allowed by (ε, δ) = (1, 0.001)"
    assert word in said[2]
    assert axes.get_title() == "some, case alone"
