"""The curve of an audit."""

from __future__ import annotations

from fractions import Fraction

from accord.privacy.audit import audit
from accord.privacy.calibration import as_claimed
from accord.privacy.noise import exact_delta


def test_the_curve_holds_the_promise_and_the_exact_delta_elsewhere() -> None:
    setting = as_claimed("paper", "0.4", "1e-5", 2)
    curve = dict(audit(setting).curve)
    assert curve[Fraction("0.4")] == setting.delta_exact
    assert curve[Fraction("0.2")] == exact_delta(setting.noise, 2, Fraction("0.2"))
    assert max(curve) == Fraction("0.6")
    assert min(curve) == 0
