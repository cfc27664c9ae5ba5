"""The truncated discrete Gaussian: its table, and why it is the default from four bins."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from accord.privacy.calibration import calibrate
from accord.privacy.noise import exact_delta
from accord.privacy.noise_gaussian import Gaussian

# k', ε, expected dummies at δ = 1e-5, 1e-7, 1e-9
TABLE = [
    (1, "0.1", 177, 294, 415),
    (1, "0.4", 54, 83, 114),
    (1, "1.6", 16, 24, 32),
    (2, "0.1", 257, 422, 593),
    (2, "0.4", 77, 119, 162),
    (2, "1.6", 24, 34, 45),
    (10, "0.4", 180, 274, 370),
    (10, "1.6", 54, 78, 102),
]


@pytest.mark.parametrize(("bins", "epsilon", "five", "seven", "nine"), TABLE)
def test_the_table_of_expected_dummies(bins: int, epsilon: str, five: int, seven: int, nine: int) -> None:
    for delta, mean in (("1e-5", five), ("1e-7", seven), ("1e-9", nine)):
        found = calibrate("gaussian", epsilon, delta, bins)
        assert found.kept
        # A finer search over σ than the table's finds one dummy less in places, never more.
        assert mean - 1.1 < found.expected_dummies < mean + 0.6


@pytest.mark.slow
def test_the_table_at_ten_bins_and_a_small_epsilon() -> None:
    means = [calibrate("gaussian", "0.1", delta, 10).expected_dummies for delta in ("1e-5", "1e-7", "1e-9")]
    assert means == pytest.approx([603, 973, 1356], abs=0.6)


def test_probabilities_are_gaussian() -> None:
    q = Gaussian(12, Fraction(9), 64).window.probabilities
    for x in (0, 5, 12, 20):
        assert float(q[x] / q[12]) == pytest.approx(math.exp(-((x - 12) ** 2) / 18), rel=1e-14)


def test_one_less_in_the_middle_would_break_the_promise() -> None:
    found = calibrate("gaussian", "1.6", "1e-5", 3)
    assert isinstance(found.noise, Gaussian)
    variances = [found.noise.variance * Fraction(share, 100) for share in range(70, 131, 5)]
    tighter = [Gaussian(found.noise.middle - 1, variance, found.noise.reach) for variance in variances]
    assert min(exact_delta(noise, 3, Fraction("1.6")) for noise in tighter) > 1e-5


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("8", "1e-5"), ("20", "1e-9"), ("0.5", "0.3"), ("3", "2^-128")]
)
def test_unusual_promises_are_kept_too(epsilon: str, delta: str) -> None:
    assert calibrate("gaussian", epsilon, delta, 3).kept


def cheaper(epsilon: str, delta: str, bins: int) -> str:
    means = {n: calibrate(n, epsilon, delta, bins).expected_dummies for n in ("geometric", "gaussian")}
    return min(means, key=lambda name: means[name])


@pytest.mark.parametrize("epsilon", ["0.4", "1", "3"])
def test_at_the_default_delta_auto_is_geometric_up_to_three_bins_and_gaussian_from_four(epsilon: str) -> None:
    for bins in (1, 2, 3, 4, 10):
        found = calibrate("auto", epsilon, "2^-40", bins)
        assert found.name == cheaper(epsilon, "2^-40", bins) == ("geometric" if bins <= 3 else "gaussian")
        assert found == calibrate(found.name, epsilon, "2^-40", bins)


def test_a_larger_delta_favours_the_gaussian_at_three_bins() -> None:
    assert cheaper("0.4", "1e-5", 3) == "gaussian"
    assert cheaper("0.4", "1e-5", 2) == "geometric"


# k', g, E[dummies] at ε = 1, δ = 2^-40
PEOPLE = [(1, 2, 135), (1, 5, 338), (3, 2, 236), (3, 5, 589), (5, 2, 306), (5, 5, 764)]


@pytest.mark.parametrize(("bins", "records", "mean"), PEOPLE)
def test_dummies_for_people(bins: int, records: int, mean: float) -> None:
    found = calibrate("gaussian", "1", "2^-40", bins, records_per_person=records)
    assert found.kept
    assert found.expected_dummies == pytest.approx(mean, abs=0.6)


@pytest.mark.parametrize(("epsilon", "delta"), [("64", "2^-40"), ("8", "0.3"), ("20", "2^-128")])
def test_unusual_promises_to_people_are_kept_too(epsilon: str, delta: str) -> None:
    assert calibrate("gaussian", epsilon, delta, 1, records_per_person=20).kept


@pytest.mark.parametrize(("records", "bins"), [(2, 1), (3, 2), (5, 3)])
def test_the_exact_delta_for_people_is_below_the_bound_by_concentrated_privacy(
    records: int, bins: int
) -> None:
    """A second opinion: the untruncated discrete Gaussian is ρ-zCDP with ρ = Σ j²/(2σ²) [CKS20]. Far from
    both ends truncation is no more than the probability to lie near them."""
    noise = Gaussian(400, Fraction(900), 80)
    q = noise.window.probabilities
    rho, epsilon = bins * records**2 / 900, 1.0
    orders = [1 + i / 50 for i in range(1, 5000)]
    logs = [(a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a) for a in orders]
    ends = 2 * bins * float(sum(q[:records]) + sum(q[-records:]))
    found = exact_delta(noise, bins, Fraction(1), records)
    assert 1e-3 * math.exp(min(logs)) < found <= math.exp(min(logs)) + ends
