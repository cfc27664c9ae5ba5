"""The audit convicts what leaks, acquits what does not, and its false alarms are as rare as it says.

Each protocol is convicted once and acquitted once with every change, by the fewest trials that decide; all
broken programs, options and cases are audited with `slow`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.entropy import Entropy, Seeded
from accord.errors import UsageError
from accord.fields.columns import Integers, Records, rows_of
from accord.privacy.calibration import calibrate
from accord.privacy.noise import draw
from accord.protocols import intersection, routed_passes
from accord.protocols.base import Task
from accord.protocols.parts.lanes import Lane
from accord.protocols.routed import Routed
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.party import Party, Send, receive
from accord.secure.prf.binned import Binned
from accord.secure.prf.oblivious import Oblivious
from accord.side import Side
from accord.simulation.pair import make_mine, release_of
from reproduction.audit.cases import MATCHED, Case, built_in, options
from reproduction.audit.programs import (
    Maker,
    Program,
    forgotten_pass,
    half_noise,
    honest,
    redrawn,
    unshuffled,
)
from reproduction.audit.protocol import Finding, Verdict, audit, judge
from reproduction.audit.questions import OneRun
from reproduction.protocols.noise_suppress import delta
from tests.protocols import worlds

ALPHA = 1e-6
Floats = NDArray[np.float64]
LAPLACE = options("laplace", "1.6", "1e-5") | {"greedy": False}
LOUD = options("laplace", "2", "1e-5") | {"greedy": False}
"""Where half the noise shows in fewest trials: the best event there is bounds ε by 2.5 with 750 of them."""


def cases(protocol: dict[str, Any], *names: str, side: Side = Side.A) -> list[Case]:
    return [case for case in built_in(protocol) if case.name in names and case.side is side]


def only(side: Side, broken: Maker) -> Maker:
    """Broken on one side, honest on the other."""

    def maker(agreement: Agreement) -> Program:
        programs = {side: broken(agreement), side.other: honest(agreement)}
        return lambda of, records, partner, entropy, engine: programs[of](
            of, records, partner, entropy, engine
        )

    return maker


def leak(found: Verdict) -> Finding:
    return found.worst.finding


def acquitted(found: Verdict) -> bool:
    """No leak was found, though so many trials could have convicted in every case."""
    for each in found.findings:
        assert each.finding.epsilon_most > each.finding.epsilon_claimed + 0.5, "this test could not fail"
    return not found.leaky


# -- convicted ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("side", "trials"), [(Side.A, 200), *((side, 400) for side in Side)])
def test_an_unshuffled_transcript_is_convicted_on_whichever_side(side: Side, trials: int) -> None:
    found = audit(cases(LAPLACE, "matched", side=side), only(side, unshuffled), trials=trials)
    assert found.leaky
    assert leak(found).epsilon_lower > 1.6
    assert any("match" in name for name in found.worst.looked_at)


@pytest.mark.slow
def test_half_the_noise_is_convicted_and_the_whole_is_acquitted_by_as_many_trials() -> None:
    found = audit(cases(LOUD, "alone"), only(Side.A, half_noise), trials=1_500)
    assert found.leaky
    assert found.worst.looked_at[0].startswith("word")
    assert acquitted(audit(cases(LOUD, "alone"), trials=1_500))


@pytest.mark.slow
def test_a_forgotten_pass_is_convicted_and_a_joint_calibration_acquitted_by_as_many_trials() -> None:
    """At ε = 3 the best event there is bounds ε by 3.5 with 1,000 trials, where one of two passes was
    forgotten: 6 would be true."""
    sharp = options("laplace", "3", "1e-5") | {"greedy": False}
    assert audit(cases(sharp, "passes"), only(Side.A, forgotten_pass), trials=3_000).leaky
    assert acquitted(audit(cases(sharp, "passes"), trials=3_000))


@pytest.mark.slow
def test_half_the_noise_of_b_is_convicted() -> None:
    assert audit(cases(LOUD, "alone", side=Side.B), only(Side.B, half_noise), trials=1_500).leaky


@pytest.mark.slow
def test_noise_that_is_drawn_again_is_convicted_and_noise_that_stays_is_not() -> None:
    assert audit(cases(LAPLACE, "alone"), redrawn, trials=400).leaky
    assert acquitted(audit(cases(LAPLACE, "alone"), sticky, trials=200))


def sticky(agreement: Agreement) -> Program:
    """The same linkage twice, with the noise of the first; order and identifiers are fresh."""
    once = honest(agreement)

    class Kept:
        """Everything fresh but the noise."""

        def __init__(self, noise: Entropy, other: Entropy) -> None:
            self._noise, self._other = noise, other

        def bytes(self, count: int) -> bytes:
            return self._other.bytes(count)

        def stream(self, name: str) -> Entropy:
            return (self._noise if name == "noise" else self._other).stream(name)

    def party(side: Side, records: Records, partner: int, entropy: Entropy, engine: Engine) -> Party[Any]:
        yield from once(side, records, partner, Kept(entropy, entropy), engine)
        return (yield from once(side, records, partner, Kept(entropy, entropy.stream("again")), engine))

    return party


@pytest.mark.slow
def test_bins_without_noise_are_convicted_in_every_case() -> None:
    found = audit(built_in(options("blocking", "", "") | {"greedy": False}), trials=120)
    assert [f.finding.leaky for f in found.findings] == [True] * 8
    assert {f.finding.epsilon_claimed for f in found.findings} == {1.6}


@pytest.mark.slow
def test_suppressed_records_are_convicted() -> None:
    found = audit(cases(options("laplace-suppress", "1.6", ""), "matched", side=Side.B), trials=2_000)
    assert found.leaky
    # What holds for the two tables of this case, exactly.
    assert 0 < leak(found).delta_lower < delta(1.6, MATCHED) == pytest.approx(0.354, abs=1e-3)
    assert {"matches", "word 6 of message 2"} <= set(found.worst.looked_at)


@pytest.mark.slow
def test_all_pairs_in_the_order_of_a_value_is_convicted() -> None:
    """A table that is sorted and not shuffled tells by the places of its matches what stands before them."""

    def in_order(agreement: Agreement) -> Program:
        kept = unshuffled(agreement)

        def program(
            side: Side, records: Records, partner: int, entropy: Entropy, engine: Engine
        ) -> Party[Any]:
            x = records.columns["x"]
            assert isinstance(x, Integers)
            order = np.argsort(-x.values, kind="stable")
            columns = {name: rows_of(column, order) for name, column in records.columns.items()}
            table = Records(records.ids.take(order), columns, records.disclosed.take(order))
            return kept(side, table, partner, entropy, engine)

        return program

    case = cases(options("all-pairs", "", "") | {"greedy": False}, "matched")
    assert audit(case, in_order, trials=40).leaky
    assert not audit(case, unshuffled, trials=40).leaky, "the order alone, which tells nothing"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["psi", "psi-expand"])
@pytest.mark.parametrize("side", list(Side))
def test_one_who_asks_with_masks_that_are_known_is_convicted(
    name: str, side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intersection, "Oblivious", lambda side, entropy: Oblivious(side, Seeded(side.value)))
    names = ("alone",) if name == "psi" else ("matched",)
    assert audit(cases(options(name, "", ""), *names, side=side), trials=60).leaky


def clear(agreement: Agreement) -> Program:
    """With everything in the clear."""
    program = honest(agreement)
    return lambda side, records, partner, entropy, engine: program(
        side, records, partner, entropy, IdealEngine()
    )


def test_set_intersection_in_the_clear_is_convicted() -> None:
    assert audit(cases(options("psi", "", ""), "alone"), clear, trials=40).leaky


@pytest.mark.slow
@pytest.mark.parametrize("side", list(Side))
def test_routing_with_masks_that_are_known_is_convicted(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the asker, where ranks hide nothing; what the lister sends is masked by more than the function."""
    known = lambda side, entropy, bins: Binned(side, Seeded(side.value), bins)  # noqa: E731
    monkeypatch.setattr(routed_passes, "Binned", known)
    asking = options("routed", "", "") | {"asks": side.value, "cap": 1}
    assert audit(cases(asking, "alone", side=side), trials=60).leaky


def keyless(asks: str) -> Case:
    """A record that matches nothing, with a key or without one."""
    blocking = [{"kind": "key", "field": "x"}]
    agreed = worlds.agreement(protocol="routed", missing="differs", blocking=blocking, asks=asks)
    stakes: list[Any] = [(9, 9), (None, 9)]
    table, neighbour = (worlds.records([stake, (2, 8), (4, 4)], agreed) for stake in stakes)
    return Case(
        "keyless", "a key, or none", agreed, Side.A, table, neighbour, worlds.records([(2, 8)], agreed)
    )


def without_dummies(agreement: Agreement) -> Program:
    """Broken: who has no key takes no part, and both know how many do."""

    def party(side: Side, records: Records, partner: int, entropy: Entropy, engine: Engine) -> Party[Any]:
        task = agreement.task
        known, _ = task.blocking.passes[0].keys(side, records.columns, len(records))
        yield Send(len(known).to_bytes(8, "little"))
        theirs = int.from_bytes((yield from receive(8)).tobytes(), "little")
        sizes = (len(known), theirs) if side is Side.A else (theirs, len(known))

        class Few(Routed):
            def lanes(self, task: Task, _: tuple[int, int]) -> list[Lane]:
                return super().lanes(task, sizes)

        few = Few.model_validate(agreement.protocol.model_dump())
        mine = make_mine(release_of(agreement, side, records.size), records, partner, entropy)
        return (yield from few.party(replace(task, protocol=few), mine, engine))

    return party


@pytest.mark.parametrize("asks", ["A", "B"])
def test_routing_without_dummies_for_what_has_no_key_is_convicted(asks: str) -> None:
    """By the sizes of what follows alone, too: the number itself is not looked at."""
    sizes = []
    for world in range(2):
        seen = OneRun.of(keyless(asks), without_dummies).view(world, Seeded(1), Seeded(2))
        sizes.append([len(message) for message in seen.messages])
    assert sizes[0] != sizes[1]
    honestly = [
        [len(m) for m in OneRun.of(keyless(asks), honest).view(w, Seeded(1), Seeded(2)).messages]
        for w in range(2)
    ]
    assert honestly[0] == honestly[1]


@pytest.mark.slow
def test_routing_is_audited_where_a_key_is_missing() -> None:
    for asks in ("A", "B"):
        assert audit([keyless(asks)], without_dummies, trials=40).leaky
        assert acquitted(audit([keyless(asks)], trials=40))


# -- acquitted ---------------------------------------------------------------------------------------------

OPTIONS = [
    {"sort": sort, "prune": prune, "greedy": greedy}
    for sort, prune, greedy in product((True, False), (0, 40), (True, False))
]


DEFAULT = {"sort": True, "prune": 0, "greedy": True}


@pytest.mark.parametrize(
    "chosen",
    [pytest.param(each, marks=() if each == DEFAULT else pytest.mark.slow) for each in OPTIONS],
    ids=lambda chosen: "-".join(map(str, chosen.values())),
)
def test_laplace_is_acquitted_with_every_option(chosen: dict[str, Any]) -> None:
    protocol = options("laplace", "0.5", "1e-5") | chosen
    assert acquitted(audit(cases(protocol, "alone"), trials=80, confidence=0.99))


@pytest.mark.slow
@pytest.mark.parametrize("chosen", OPTIONS, ids=lambda chosen: "-".join(map(str, chosen.values())))
def test_laplace_is_acquitted_with_every_option_in_every_case(chosen: dict[str, Any]) -> None:
    assert acquitted(audit(built_in(options("laplace", "1.6", "1e-5") | chosen), trials=400))


@pytest.mark.slow
@pytest.mark.parametrize("greedy", [True, False])
def test_all_pairs_is_acquitted(greedy: bool) -> None:
    found = audit(built_in(options("all-pairs", "", "") | {"greedy": greedy}), trials=60)
    assert acquitted(found)
    assert {f.finding.epsilon_claimed for f in found.findings} == {0.0}


@pytest.mark.slow
@pytest.mark.parametrize("asks", [None, "A", "B"])
def test_routing_is_acquitted(asks: str | None) -> None:
    found = audit(built_in(options("routed", "", "") | {"asks": asks}), trials=60)
    assert acquitted(found)
    assert {f.finding.epsilon_claimed for f in found.findings} == {0.0}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["psi", "psi-expand"])
def test_set_intersection_is_acquitted(name: str) -> None:
    found = audit(built_in(options(name, "", "")), trials=60)
    assert acquitted(found)
    assert {f.finding.epsilon_claimed for f in found.findings} == {0.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "of"),
    [("all-pairs", "matched"), ("routed", "matched"), ("psi", "crowd"), ("psi-expand", "matched")],
)
def test_what_promises_everything_is_acquitted_in_a_case(name: str, of: str) -> None:
    found = audit(cases(options(name, "", ""), of), trials=40)
    assert acquitted(found)
    assert {f.finding.epsilon_claimed for f in found.findings} == {0.0}


LOCAL: list[dict[str, Any]] = [
    {},
    {"greedy": False},
    {"window": 3},
    {"window": 3, "spread": 2, "greedy": False},
    {"A": {"epsilon": "1"}, "B": {"epsilon": "0.4"}},
]


@pytest.mark.slow
def test_local_dp_is_acquitted() -> None:
    protocol = options("local-dp", "0.5", "") | {"greedy": False}
    assert acquitted(audit(cases(protocol, "alone"), trials=80, confidence=0.99))


@pytest.mark.slow
@pytest.mark.parametrize("chosen", LOCAL, ids=str)
def test_local_dp_is_acquitted_with_every_option(chosen: dict[str, Any]) -> None:
    protocol = options("local-dp", "0.5", "") | chosen
    found = audit(
        [*cases(protocol, "alone", "crowd"), *cases(protocol, "matched", side=Side.B)],
        trials=80,
        confidence=0.99,
    )
    assert acquitted(found)
    assert {f.finding.delta_claimed for f in found.findings} == {0.0}


@pytest.mark.slow
def test_reports_at_twice_their_epsilon_are_convicted_and_honest_ones_acquitted_by_as_many_trials() -> None:
    claimed, truly = (cases(options("local-dp", epsilon, ""), "alone")[0] for epsilon in ("1.6", "3.2"))
    loose = honest(truly.agreement)
    assert audit([claimed], lambda _: loose, trials=700).leaky
    assert acquitted(audit([claimed], trials=400))


@pytest.mark.slow
def test_reports_at_four_times_their_epsilon_are_convicted() -> None:
    plain = {"greedy": False}
    claimed, truly = (cases(options("local-dp", e, "") | plain, "alone")[0] for e in ("1", "4"))
    loose = honest(truly.agreement)
    assert audit([claimed], lambda _: loose, trials=120).leaky


@pytest.mark.slow
def test_bins_that_local_dp_calls_public_are_seen() -> None:
    public = {"A": {"public": True}, "B": {"epsilon": "1.6"}, "greedy": False}
    both = [case for case in built_in(options("local-dp", "1.6", "") | public) if case.name == "alone"]
    found = audit(both, trials=200)
    assert [(f.case.side, f.finding.leaky) for f in found.findings] == [(Side.A, True), (Side.B, False)]


# -- the false-alarm rate ----------------------------------------------------------------------------------

World = Callable[[np.random.Generator, int], Floats]


def response(truth: int, epsilon: float) -> World:
    """Randomised response, which is exactly ε, among numbers that say nothing."""

    def world(rng: np.random.Generator, count: int) -> Floats:
        rows = rng.integers(0, 4, (count, 6)).astype(np.float64)
        kept = rng.random(count) < 1 / (1 + math.exp(-epsilon))
        rows[:, 0] = np.where(kept, truth, 1 - truth)
        return rows

    return world


def counts(true: tuple[int, int]) -> World:
    """Noisy counts under the noise of a linkage."""
    noise = calibrate("geometric", "1", "1e-3").noise

    def world(rng: np.random.Generator, count: int) -> Floats:
        drawn = draw(noise, 2 * count, Seeded(rng.bytes(16)))
        return (drawn.reshape(count, 2) + true).astype(np.float64)

    return world


def alarms(p: World, q: World, claim: tuple[Fraction, Fraction], audits: int, again: bool = False) -> int:
    """How many of so many audits convict at a confidence of 90 %; with `again`, on what they learnt from."""
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(audits):
        parts = [(p(rng, n), q(rng, n)) for n in (40, 40, 80)]
        if again:
            parts = [parts[0]] * 3
        found += judge(parts[0], parts[1], parts[2], claim, 0.1).leaky
    return found


EXACT = [
    (response(1, 1.0), response(0, 1.0), (Fraction(1), Fraction(0))),
    (response(1, 0.0), response(0, 0.0), (Fraction(0), Fraction(0))),
    (counts((1, 0)), counts((0, 1)), (Fraction(1), Fraction(1, 1000))),
]


@pytest.mark.parametrize("audits", [40, pytest.param(80, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("p", "q", "claim"), EXACT, ids=["response", "nothing", "counts"])
def test_a_true_claim_is_refuted_as_rarely_as_stated(
    p: World, q: World, claim: tuple[Fraction, Fraction], audits: int
) -> None:
    # One alarm more than this has a probability below 1e-6 if the rate is at most the stated 10 %.
    from scipy.stats import binom

    assert alarms(p, q, claim, audits) <= binom.isf(ALPHA, audits, 0.1)


def test_every_case_gets_its_share_of_the_false_alarms_and_every_bound_half_of_that() -> None:
    from scipy.stats import beta

    found = audit(cases(LAPLACE, "alone", "matched"), trials=40, confidence=0.9)
    alpha = (1 - 0.9) / len(found.findings) / 2
    for each in found.findings:
        of = each.finding
        low = beta.ppf(alpha, of.hits_p, of.trials - of.hits_p + 1) if of.hits_p else 0.0
        high = beta.ppf(1 - alpha, of.hits_q + 1, of.trials - of.hits_q) if of.hits_q < of.trials else 1.0
        assert of.epsilon_lower == pytest.approx(max(0.0, math.log((low - 1e-5) / high)), abs=1e-9)


def test_an_audit_of_the_trials_it_learnt_from_would_cry_wolf() -> None:
    from scipy.stats import binom

    p, q, claim = EXACT[1]
    assert alarms(p, q, claim, 40, again=True) > binom.isf(ALPHA, 40, 0.1)


def test_randomised_response_beyond_its_claim_is_found() -> None:
    claim = Fraction(1), Fraction(0)
    assert alarms(response(1, 2.5), response(0, 2.5), claim, 20) > 15


def test_the_lower_bound_covers_the_truth() -> None:
    rng = np.random.default_rng(3)
    worlds = response(1, 1.5), response(0, 1.5)
    fit, choose, test = ((worlds[0](rng, n), worlds[1](rng, n)) for n in (500, 500, 4_000))
    found = judge(fit, choose, test, (Fraction(0), Fraction(0)), 1e-3)
    assert 1.2 < found.epsilon_lower < 1.5
    assert found.delta_lower < math.tanh(0.75)
    assert found.curve[0] == (0, 0)
    assert found.curve[-1] == (1, 1)


# -- manners -----------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_audit_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    case = cases(LAPLACE, "alone")
    first = audit(case, trials=40, seed=1, watch=lambda done, total: told.append((done, total)))
    assert told[0] == (1, 80)
    assert told[-1] == (80, 80)
    assert audit(case, trials=40, seed=1).findings[0].finding == first.findings[0].finding
    assert audit(case, trials=40, seed=2).findings[0].finding != first.findings[0].finding


@pytest.mark.parametrize("wrong", [{"trials": 39}, {"confidence": 1.0}, {"confidence": 0.2}])
def test_an_audit_that_can_show_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        audit(cases(LAPLACE, "alone"), **wrong)
