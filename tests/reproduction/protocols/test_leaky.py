"""Protocols that leak: they run in simulation, say so, and their exact δ is as bad as the theory says."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement, require_sound
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.entropy import Seeded
from accord.errors import AgreementError
from accord.protocols.base import prepare
from accord.secure.ideal import IdealEngine
from accord.side import Side
from accord.simulation.pair import Promised
from reproduction.protocols import noise_suppress
from reproduction.protocols.leaky import suppress_slots
from tests.protocols import worlds
from tests.protocols.views import views

ALPHA = 1e-6
LEAKY = ("blocking", "laplace-suppress")


@pytest.mark.parametrize(
    ("epsilon", "matching", "expected"),
    [
        *((0.1, 1, 0.012), (0.1, 5, 0.056), (0.4, 1, 0.041), (0.4, 5, 0.168), (0.4, 50, 0.477)),
        *((1.6, 1, 0.131), (1.6, 5, 0.354), (1.6, 50, 0.635)),
    ],
)
def test_the_exact_delta_of_suppression(epsilon: float, matching: int, expected: float) -> None:
    """MATHS §6, §15."""
    assert noise_suppress.delta(epsilon, matching) == pytest.approx(expected, abs=5e-4)


@pytest.mark.slow
def test_suppression_in_the_protocol_has_that_delta() -> None:
    """The view that convicts it: noisy sizes (1, 5) with all five matches; its two probabilities, from runs.

    Each estimate lies within 4.9 standard errors, a false-alarm rate below 1e-6 each.
    """
    s, p = 0.8, (np.exp(0.8) - 1) / (np.exp(0.8) + 1)
    runs = 3_000
    agreed = worlds.agreement(protocol="laplace", rule="same(x)").model_dump(mode="json")
    number = {"type": "number", "min": 0, "max": 1, "step": 1}
    agreed |= {"fields": {"x": number, "y": number}, "blocking": [{"kind": "key", "field": "x"}]}
    task = Agreement.model_validate(agreed).task
    for b, expected in (
        ([(0, 0), *[(1, 1)] * 5], p * p),
        ([*[(1, 1)] * 5, (1, 0)], p * p * np.exp(-2 * s) / 6),
    ):
        records = worlds.records(b, Agreement.model_validate(agreed))
        inert = b.index((0, 0)) if (0, 0) in b else 5
        seen = 0
        for seed in range(runs):
            entropy = Seeded(seed)
            noise = noise_suppress.draw(Fraction("1.6"), 1, 2, entropy)
            slots = suppress_slots(task.blocking, Side.B, records, noise, entropy)
            left = set(slots.record.tolist()) - {-1, inert}
            seen += slots.counts.tolist() == [1, 5] and len(left) == 5
        error = np.sqrt(expected * (1 - expected) / runs)
        assert abs(seen / runs - expected) < 4.9 * error + 1 / runs


def test_the_noise_has_mean_zero_and_its_distribution() -> None:
    from scipy import stats

    drawn = noise_suppress.draw(Fraction("1.6"), 1, 40_000, Seeded(1))
    s = 0.8
    p = (np.exp(s) - 1) / (np.exp(s) + 1)
    values = np.arange(-8, 9)
    expected = p * np.exp(-s * np.abs(values))
    observed = np.array([(drawn == v).sum() for v in values])
    rest = len(drawn) - observed.sum()
    chi = stats.chisquare([*observed, rest], [*expected * len(drawn), (1 - expected.sum()) * len(drawn)])
    assert chi.pvalue > ALPHA


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(0, 99))
def test_slots_are_records_less_what_is_suppressed_and_dummies(xs: list[int], seed: int) -> None:
    agreed = worlds.agreement()
    rows = [(4 * x, 0) for x in xs]
    records = worlds.records(rows, agreed)
    noise = np.random.default_rng(seed).integers(-3, 4, agreed.plan.bins)
    slots = suppress_slots(agreed.plan, Side.A, records, noise, Seeded(seed))
    true = agreed.plan.counts(Side.A, records.columns, len(rows))
    assert (slots.counts == np.maximum(0, true + noise)).all()
    real = [record for record in slots.record.tolist() if record >= 0]
    assert len(set(real)) == len(real)
    in_bin = np.repeat(np.arange(len(true)), slots.counts)
    dummies = np.bincount(in_bin[slots.record < 0], minlength=len(true))
    assert (dummies == np.maximum(noise, 0)).all()


def test_who_is_suppressed_is_uniform() -> None:
    from scipy import stats

    agreed = worlds.agreement()
    records = worlds.records([(0, 0)] * 4, agreed)
    noise = np.zeros(agreed.plan.bins, np.int64)
    noise[0] = -2
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in range(1_200):
        slots = suppress_slots(agreed.plan, Side.A, records, noise, Seeded(seed))
        seen[tuple(sorted(slots.record.tolist()))] += 1
    assert len(seen) == 6
    assert stats.chisquare(list(seen.values())).pvalue > ALPHA


@pytest.mark.parametrize("protocol", LEAKY)
def test_no_agreement_may_name_them(protocol: str) -> None:
    agreed = adjust(starter("products"), protocol=protocol)
    with pytest.raises(AgreementError, match="leaks, so no agreement may name it"):
        require_sound(agreed)
    with pytest.raises(AgreementError, match="leaks, so no agreement may name it"):
        parse_agreement(agreed.to_toml())
    require_sound(agreed, simulated=True)


@pytest.mark.parametrize("protocol", LEAKY)
def test_a_simulation_says_what_they_leak(protocol: str) -> None:
    made = generate_products(300, None, 1)
    agreed = adjust(starter("products"), protocol=protocol)
    result = accord.simulate(made.a, made.b, agreed, seed=1)
    assert result.leaks.startswith("LEAKY: ")
    assert set(result.promises.values()) == {Promised(None, None)}
    assert result.precision == 1.0
    told = agreed.leakage(Side.A)
    assert (told.epsilon, told.delta) == (None, None)
    if protocol == "blocking":
        assert result.recall == 1.0
        assert result.runs[0].dummies_a == 0
        assert result.comparisons <= result.candidate_pairs
        assert told.guarantee.told == "the true bin of each record"
    else:
        assert result.recall < 1.0, "suppressed records are missing"
        assert told.guarantee.told == "how full the bins are, records left out"
        assert result.runs[0].dummies_a > 0


def test_the_others_do_not_leak() -> None:
    for protocol in ("laplace", "all-pairs", "psi"):
        assert not worlds.agreement(protocol=protocol).protocol.leaky


def test_plain_blocking_shows_the_true_counts() -> None:
    """The view of A: B's counts stand in its second message, as they are."""
    plain = worlds.agreement().model_dump(mode="json") | {"protocol": {"name": "blocking"}}
    agreed = Agreement.model_validate(plain)
    task, entropy, nothing = agreed.task, Seeded(1), np.zeros(agreed.plan.bins, np.int64)
    held = [worlds.records(rows, agreed, name) for rows, name in (([(0, 0)], "A"), ([(0, 0), (9, 9)], "B"))]
    own_a = prepare(task, Side.A, held[0], 2, nothing, entropy)
    own_b = prepare(task, Side.B, held[1], 1, nothing, entropy)
    seen = views(task, own_a, own_b, IdealEngine())[Side.A]
    shown = np.frombuffer(seen.received[1][32:], "<i8")
    assert (shown == agreed.plan.counts(Side.B, held[1].columns, 2)).all()
