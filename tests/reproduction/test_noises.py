"""The paper's noise: its corrected shift, its published one and how far that is off; noise that suppresses.

What every noise keeps is tested with the built-in ones (`tests/privacy`). Here is what these add to it: their
distributions, their losses against the definition, and their settings.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.file import parse_agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter, starter_text
from accord.entropy import Seeded
from accord.errors import AgreementError, UsageError
from accord.privacy.calibration import as_claimed, calibrate
from accord.privacy.noise import exact_delta, losses
from accord.side import Side
from reproduction.noises.laplace import Laplace, shift_bounds
from reproduction.protocols import noise_suppress
from tests.privacy.definition import enumerated_delta, moved_delta

DELTAS = ("1e-5", "1e-7", "1e-9")

# k', ε, published ⌈η⁰⌉, exact/claimed δ of it, least shift that is true; at δ = 1e-5, 1e-7, 1e-9
TABLE = [
    (1, "0.1", (230, 322, 414), (1.009, 1.014, 1.019), (231, 323, 415)),
    (1, "0.4", (58, 81, 104), (0.842, 0.846, 0.850), (58, 81, 104)),
    (1, "1.6", (14, 20, 26), (0.943, 0.777, 0.639), (14, 20, 26)),
    (2, "0.1", (488, 672, 857), (1.004, 1.010, 0.990), (489, 673, 857)),
    (2, "0.4", (122, 168, 214), (0.974, 0.979, 0.984), (122, 168, 214)),
    (2, "1.6", (30, 42, 53), (0.778, 0.640, 0.786), (30, 41, 53)),
    (10, "0.4", (691, 921, 1151), (0.990, 0.996, 1.0006), (691, 921, 1152)),
    (10, "1.6", (173, 230, 288), (0.806, 0.843, 0.814), (171, 228, 286)),
]
SLOW = (10, "0.1", (2763, 3684, 4605), (1.0002, 1.0004, 1.0006), (2764, 3685, 4606))


@pytest.mark.parametrize(
    ("bins", "epsilon", "shifts", "ratios", "least"),
    [
        *(row if row[0] < 10 else pytest.param(*row, marks=pytest.mark.slow) for row in TABLE),
        pytest.param(*SLOW, marks=pytest.mark.slow),
    ],
)
def test_the_table_of_shifts(
    bins: int, epsilon: str, shifts: tuple[int, ...], ratios: tuple[float, ...], least: tuple[int, ...]
) -> None:
    for delta, shift, ratio, true in zip(DELTAS, shifts, ratios, least, strict=True):
        published = as_claimed("paper-2017", epsilon, delta, bins)
        assert published.noise.window.middle == shift
        assert published.delta_exact / float(published.delta) == pytest.approx(ratio, abs=6e-4)
        assert published.kept == (ratio <= 1)
        found, e, d = calibrate("paper", epsilon, delta, bins).noise, Fraction(epsilon), Fraction(delta)
        low, high = shift_bounds(e, d, bins)
        assert isinstance(found, Laplace)
        assert low < found.middle == true <= high
        assert exact_delta(Laplace(true - 1, found.slope, found.reach), bins, e) > d


def test_exact_delta_vectors() -> None:
    vectors = (("0.8", 14, "1.6", 9.4348e-6), ("0.2", 58, "0.4", 8.4150e-6), ("0.05", 230, "0.1", 1.0089e-5))
    for slope, middle, epsilon, delta in vectors:
        noise = Laplace(middle, Fraction(slope), 64)
        assert exact_delta(noise, 1, Fraction(epsilon)) == pytest.approx(delta, rel=1e-5)


def test_the_atom_holds_the_whole_left_tail() -> None:
    s, m = 0.3, 5
    q = Laplace(m, Fraction("0.3"), 64).window.probabilities
    p = (math.exp(s) - 1) / (math.exp(s) + 1)
    assert float(q[0]) == pytest.approx(math.exp(-s * m) * math.exp(s) / (math.exp(s) + 1), rel=1e-12)
    for x in (1, 4, 5, 9):
        assert float(q[x]) == pytest.approx(p * math.exp(-s * abs(x - m)), rel=1e-12)


def test_negligible_shifts() -> None:
    table = {5000: (1451, 363, 91), 300_000: (3182, 796, 199), 4_800_000: (4734, 1184, 296)}
    for records, shifts in table.items():
        for epsilon, shift in zip(("0.1", "0.4", "1.6"), shifts, strict=True):
            found = calibrate("negligible", epsilon, "2^-40", 1, records)
            assert found.noise.window.middle == shift
            assert found.delta_exact < records ** -math.log(records) + 1e-70


SMALL = [
    Laplace(3, Fraction(1, 2), 2),
    Laplace(3, Fraction(2, 5), 2),
    Laplace(2, Fraction(6, 5), 4),
    Laplace(0, Fraction(1, 2), 2),
]


def fractions(noise: Laplace) -> list[Fraction]:
    return [Fraction(weight, 2**256) for weight in noise.window.table]


@pytest.mark.parametrize(
    ("noise", "bins"),
    [
        *((noise, 1) for noise in SMALL),
        *((SMALL[2], 2), (SMALL[3], 2)),
        pytest.param(SMALL[2], 3, marks=pytest.mark.slow),
    ],
)
def test_losses_agree_with_the_definition(noise: Laplace, bins: int) -> None:
    for epsilon in [Fraction(n, 8) for n in range(0, 25, 3 * bins**2)]:
        true, found = enumerated_delta(fractions(noise), bins, epsilon), exact_delta(noise, bins, epsilon)
        assert true <= Fraction(found) <= true * (1 + Fraction(1, 10**10)) + Fraction(1, 2**200)


def test_a_noise_that_is_not_log_concave_has_worse_tables_and_is_refused() -> None:
    """Two records that enter two bins tell more than two that enter one: the theorem needs its condition."""
    q = fractions(SMALL[1])
    assert moved_delta(q, [1, 1, -2], Fraction(1)) > moved_delta(q, [2, -2], Fraction(1))
    with pytest.raises(UsageError):
        losses(SMALL[1], 1, 2)
    with pytest.raises(ValueError, match="no line"):
        Laplace(3, Fraction(1, 3), 4).window.moves(2)
    for name in ("paper", "paper-2017", "negligible"):
        with pytest.raises(UsageError):
            as_claimed(name, 1, "1e-5", 1, 100, 2)


def test_what_no_agreement_may_use_is_refused() -> None:
    """The published one, one without a number of records, a promise that is not kept, and a tiny ε."""
    for setting in (
        ("paper-2017", 1.6, "1e-5"),
        ("negligible", 1, "1e-5"),
        ("negligible", 1, "2^-128", 1, 100),
        ("paper", "0.000001", "1e-5"),
        ("auto", "0.000001", "1e-5"),
    ):
        with pytest.raises(UsageError):
            calibrate(*setting)
    text = starter_text("products", "00000000")
    agreed = parse_agreement(text.replace('noise = "auto"', 'noise = "paper"', 1))
    assert agreed.model_dump(mode="json")["protocol"]["A"]["noise"] == "paper"
    with pytest.raises(AgreementError) as error:
        parse_agreement(text.replace('noise = "auto"', 'noise = "paper-2017"', 1))
    assert len(error.value.faults) == 1


def test_simulated_the_published_noise_has_its_own_delta() -> None:
    made = generate_products(100, None, 1)
    agreed = adjust(starter("products"), epsilon="1.6", delta="1e-5")
    found = accord.simulate(made.a, made.b, agreed, noise="paper-2017")
    assert found.promises[Side.A].delta == pytest.approx(9.4348e-6, rel=1e-3)


def test_the_exact_delta_of_suppression() -> None:
    """MATHS §6, §15."""
    for epsilon, matching, expected in (
        *((0.1, 1, 0.012), (0.1, 5, 0.056), (0.4, 1, 0.041), (0.4, 5, 0.168), (0.4, 50, 0.477)),
        *((1.6, 1, 0.131), (1.6, 5, 0.354), (1.6, 50, 0.635)),
    ):
        assert noise_suppress.delta(epsilon, matching) == pytest.approx(expected, abs=5e-4)


def test_the_noise_that_suppresses_has_mean_zero_and_its_distribution() -> None:
    """χ² at a false-alarm rate of 1e-6."""
    from scipy import stats

    drawn = noise_suppress.draw(Fraction("1.6"), 1, 40_000, Seeded(1))
    p = (np.exp(0.8) - 1) / (np.exp(0.8) + 1)
    values = np.arange(-8, 9)
    expected = p * np.exp(-0.8 * np.abs(values))
    observed = np.array([(drawn == v).sum() for v in values])
    rest = len(drawn) - observed.sum()
    chi = stats.chisquare([*observed, rest], [*expected * len(drawn), (1 - expected.sum()) * len(drawn)])
    assert chi.pvalue > 1e-6
