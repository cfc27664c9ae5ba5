"""The audit convicts what leaks, acquits what does not, and its false alarms are as rare as it says.

With every change one program is convicted and one acquitted, by the fewest trials that decide. All broken
programs, options and cases are slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.entropy import Entropy, Seeded
from accord.errors import UsageError
from accord.privacy.calibration import calibrate
from accord.privacy.noise import draw
from accord.protocols import intersection, routed_passes
from accord.protocols.parts.answers import Question
from accord.protocols.routed_answers import AnswerPasses
from accord.secure.ideal import IdealEngine
from accord.secure.prf.binned import Binned
from accord.secure.prf.oblivious import Oblivious
from accord.side import Side
from reproduction.audit.cases import MATCHED, Case, _records, agree_by_key, built_in, options
from reproduction.audit.programs import (
    ABORTED,
    BROKEN,
    Maker,
    Program,
    forgotten_pass,
    half_noise,
    honest,
    redrawn,
    unshuffled,
)
from reproduction.audit.protocol import Verdict, ask, audit, judge
from reproduction.audit.questions import OneRun
from reproduction.audit.views import View
from reproduction.protocols.noise_suppress import delta

ALPHA = 1e-6
Floats = NDArray[np.float64]
PLAIN = {"greedy": False}
LAPLACE = options("laplace", "1.6", "1e-5") | PLAIN
LOUD = options("laplace", "2", "1e-5") | PLAIN
"""Where half the noise shows in fewest trials: the best event there is bounds ε by 2.5 with 750 of them."""
SHARP = options("laplace", "3", "1e-5") | PLAIN
"""Where a forgotten pass does: ε is 6 then, and the best event bounds it by 3.5 with 1,000 trials."""


def cases(protocol: dict[str, Any], *names: str, side: Side = Side.A) -> list[Case]:
    return [case for case in built_in(protocol) if case.name in names and case.side is side]


def acquitted(found: Verdict) -> bool:
    """No leak was found, though so many trials could have convicted in every case."""
    for each in found.findings:
        assert each.finding.epsilon_most > each.finding.epsilon_claimed + 0.5, "this test could not fail"
    return not found.leaky


def seen(maker: Maker, seed: int = 1, case: Case | None = None) -> View:
    return OneRun.of(case or built_in(SHARP)[3], maker).view(0, Seeded(seed), Seeded(2))


def counts(message: bytes) -> list[int]:
    return np.frombuffer(message[32:], "<i8").tolist()


def test_each_broken_program_differs_in_what_its_name_says() -> None:
    """And finds the same matches."""
    views = {maker: seen(maker) for maker in (honest, *BROKEN.values())}
    for view in views.values():
        assert sum(len(places) for _, places in view.answers) == 5
    true = np.array([1, 0, 5])
    whole, half = (counts(views[maker].messages[1]) - true for maker in (honest, half_noise))
    assert (half == whole // 2).all()
    opened = [tuple(counts(m)) for m in views[redrawn].messages if len(m) == 32 + 8 * 3]
    assert len(opened) == ABORTED + 1
    assert len(set(opened)) > ABORTED // 2
    assert first_slots(views[unshuffled]) == [0, 1, 2, 3, 4] != first_slots(views[honest])
    for maker in (half_noise, forgotten_pass):
        with pytest.raises(UsageError):
            seen(maker, case=built_in(options("all-pairs", "", ""))[3])


def first_slots(view: View) -> list[int]:
    body = next(m for m in view.messages if m.startswith(b"accord disclosed 1\n"))
    slots = np.frombuffer(body[19 + 5 * 4 : 19 + 5 * 12], "<u8")
    return (slots - sum(counts(view.messages[1])[:2])).tolist()


def test_a_calibration_that_forgets_a_pass_draws_less_noise_where_there_are_two() -> None:
    by_name = {each.name: each for each in built_in(SHARP) if each.side is Side.A}

    def drawn(name: str, maker: Maker) -> int:
        return sum(sum(counts(seen(maker, seed, by_name[name]).messages[1])) for seed in range(2))

    assert drawn("alone", forgotten_pass) == drawn("alone", honest)
    # About 5 instead of 10 dummies in each of 18 bins; a false alarm is beyond four deviations.
    assert drawn("passes", forgotten_pass) < 0.75 * drawn("passes", honest)


# -- convicted ---------------------------------------------------------------------------------------------


def only(side: Side, broken: Maker) -> Maker:
    """Broken on one side, honest on the other."""

    def maker(agreement: Agreement) -> Program:
        programs = {side: broken(agreement), side.other: honest(agreement)}
        return lambda of, *rest: programs[of](of, *rest)

    return maker


def clear(agreement: Agreement) -> Program:
    """With everything in the clear."""
    program = honest(agreement)
    return lambda side, records, partner, entropy, _: program(side, records, partner, entropy, IdealEngine())


def test_set_intersection_in_the_clear_is_convicted() -> None:
    assert audit(cases(options("psi", "", ""), "alone"), clear, trials=40).leaky


CONVICTED = {
    **{f"unshuffled {s}": (LAPLACE, "matched", s, unshuffled, 400, "match") for s in Side},
    **{f"half the noise of {s}": (LOUD, "alone", s, half_noise, 1_500, "word") for s in Side},
    "a forgotten pass": (SHARP, "passes", Side.A, forgotten_pass, 3_000, ""),
    "noise drawn again": (LAPLACE, "alone", Side.A, redrawn, 400, ""),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "name", "side", "maker", "trials", "by"), CONVICTED.values(), ids=CONVICTED
)
def test_a_broken_program_is_convicted(
    protocol: dict[str, Any], name: str, side: Side, maker: Maker, trials: int, by: str
) -> None:
    """And the honest one acquitted by as many trials."""
    case = cases(protocol, name, side=side)
    found = audit(case, only(side, maker), trials=trials)
    assert found.leaky
    assert any(by in name for name in found.worst.looked_at)
    assert not audit(case, trials=trials).leaky


@pytest.mark.slow
def test_protocols_that_leak_are_convicted() -> None:
    found = audit(built_in(options("blocking", "", "") | PLAIN), trials=120)
    assert all(each.finding.leaky for each in found.findings)
    assert {f.finding.epsilon_claimed for f in found.findings} == {1.6}
    found = audit(cases(options("laplace-suppress", "1.6", ""), "matched", side=Side.B), trials=2_000)
    assert found.leaky
    # What holds for the two tables of this case, exactly.
    assert 0 < found.worst.finding.delta_lower < delta(1.6, MATCHED) == pytest.approx(0.354, abs=1e-3)
    assert {"matches", "word 6 of message 2"} <= set(found.worst.looked_at)


@pytest.mark.slow
@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize(("name", "of"), [("psi", "alone"), ("psi-expand", "matched"), ("routed", "alone")])
def test_masks_that_are_known_are_convicted(
    name: str, of: str, side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the asker; in `routed` where ranks hide nothing."""
    monkeypatch.setattr(intersection, "Oblivious", lambda side, _: Oblivious(side, Seeded(side.value)))
    monkeypatch.setattr(routed_passes, "Binned", lambda side, _, bins: Binned(side, Seeded(side.value), bins))
    chosen = {"asks": side.value, "cap": 1} if name == "routed" else {}
    assert audit(cases(options(name, "", "") | chosen, of, side=side), trials=60).leaky


def counting(side: Side) -> Case:
    """A record that matches two of the partner's, or none: as much as one can change a count."""
    plain = agree_by_key({"name": "routed", "cap": 2, "over": "refuse"}).model_dump(mode="json")
    output = {"answer": "count", "epsilon": "1"}
    agreed = Agreement.model_validate(plain | {"output": output, "disclose": {"A": [], "B": []}})
    table, neighbour = (_records([first, (2, 60)], agreed) for first in ((0, 8), (1, 40)))
    partner = _records([(0, 8), (0, 9), (2, 20)], agreed)
    return Case("matching", "a record with two pairs, or with none", agreed, side, table, neighbour, partner)


@contextmanager
def noise_of(side: Side, noise: Callable[[Any], Any]) -> Iterator[None]:
    """Broken: one side adds other noise."""
    drawn = AnswerPasses.__init__

    def begin(self: Any, *arguments: Any) -> None:
        drawn(self, *arguments)
        if self.own.side is side:
            self.noise = noise(self.noise)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnswerPasses, "__init__", begin)
        yield


@pytest.mark.parametrize("side", list(Side))
def test_of_an_answer_any_record_may_differ_and_the_answer_is_in_the_view(side: Side) -> None:
    question = OneRun.of(counting(side), honest)
    assert len(question.view(0, Seeded("owner"), Seeded("partner")).messages[-1]) == 8
    assert question.promise == (Fraction(1), Fraction(0))


@pytest.mark.slow
@pytest.mark.parametrize("side", list(Side))
def test_answers_without_noise_of_the_owner_are_convicted(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any, with noise that leaves the lowest bits as they are, with noise for Δ/2, which is 2ε."""
    for noise in (lambda drawn: drawn * 0, lambda drawn: drawn // 8 * 8):
        with noise_of(side, noise):
            assert audit([counting(side)], trials=120).leaky
    assert not audit([counting(side)], trials=120).leaky
    whole = Question.changes
    monkeypatch.setattr(Question, "changes", lambda self, side: [n // 2 for n in whole(self, side)])
    assert audit([counting(Side.A)], trials=240).leaky


# -- acquitted ---------------------------------------------------------------------------------------------


def test_laplace_is_acquitted() -> None:
    protocol = options("laplace", "0.5", "1e-5") | PLAIN
    assert acquitted(audit(cases(protocol, "alone"), trials=40, confidence=0.99))


OPTIONS = [
    {"sort": sort, "prune": prune, "greedy": greedy}
    for sort, prune, greedy in product((True, False), (0, 40), (True, False))
]
LOCAL: list[dict[str, Any]] = [
    {}, PLAIN, {"window": 3}, {"window": 3, "spread": 2, "greedy": False},
    {"A": {"epsilon": "1"}, "B": {"epsilon": "0.4"}},
]  # fmt: skip
ACQUITTED = [
    *(("laplace", "1.6", chosen, 400) for chosen in OPTIONS),
    *(("local-dp", "0.5", chosen, 80) for chosen in LOCAL),
    *(("all-pairs", "", {"greedy": greedy}, 60) for greedy in (True, False)),
    *(("routed", "", {"asks": asks}, 60) for asks in (None, "A", "B")),
    *((name, "", {}, 60) for name in ("psi", "psi-expand")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon", "chosen", "trials"), ACQUITTED)
def test_every_protocol_is_acquitted_with_every_option_in_every_case(
    name: str, epsilon: str, chosen: dict[str, Any], trials: int
) -> None:
    protocol = options(name, epsilon, "1e-5" if name == "laplace" else "") | chosen
    found = audit(built_in(protocol), trials=trials, confidence=0.99 if name == "local-dp" else 0.999)
    assert acquitted(found)
    if not epsilon:
        assert {f.finding.epsilon_claimed for f in found.findings} == {0.0}
    if name != "laplace":
        assert {f.finding.delta_claimed for f in found.findings} == {0.0}


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


def noisy(true: tuple[int, int]) -> World:
    """Counts under the noise of a linkage."""

    def world(rng: np.random.Generator, count: int) -> Floats:
        noise = calibrate("geometric", "1", "1e-3").noise
        drawn = draw(noise, 2 * count, Seeded(rng.bytes(16)))
        return (drawn.reshape(count, 2) + true).astype(np.float64)

    return world


Claim = tuple[Fraction, Fraction]


def alarms(p: World, q: World, claim: Claim, audits: int, again: bool = False) -> int:
    """How many of so many audits convict at a confidence of 90 %; with `again`, on what they learnt from."""
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(audits):
        parts = [(p(rng, n), q(rng, n)) for n in (40, 40, 80)]
        if again:
            parts = [parts[0]] * 3
        found += judge(parts[0], parts[1], parts[2], claim, 0.1).leaky
    return found


EXACT: dict[str, tuple[World, World, Claim]] = {
    "response": (response(1, 1.0), response(0, 1.0), (Fraction(1), Fraction(0))),
    "nothing": (response(1, 0.0), response(0, 0.0), (Fraction(0), Fraction(0))),
    "counts": (noisy((1, 0)), noisy((0, 1)), (Fraction(1), Fraction(1, 1000))),
}


@pytest.mark.parametrize(
    ("name", "audits"),
    [("response", 20), *(pytest.param(name, 80, marks=pytest.mark.slow) for name in EXACT)],
)
def test_a_true_claim_is_refuted_as_rarely_as_stated(name: str, audits: int) -> None:
    assert alarms(*EXACT[name], audits) <= most_alarms(audits)


def most_alarms(audits: int) -> float:
    """One more has a probability below 1e-6 if the rate is at most the stated 10 %."""
    from scipy.stats import binom

    return float(binom.isf(ALPHA, audits, 0.1))


def test_an_audit_of_the_trials_it_learnt_from_would_cry_wolf() -> None:
    assert alarms(*EXACT["nothing"], 20, again=True) > most_alarms(20)


def test_the_lower_bound_covers_the_truth() -> None:
    rng = np.random.default_rng(3)
    p, q = response(1, 1.5), response(0, 1.5)
    fit, choose, test = ((p(rng, n), q(rng, n)) for n in (500, 500, 4_000))
    found = judge(fit, choose, test, (Fraction(0), Fraction(0)), 1e-3)
    assert 1.2 < found.epsilon_lower < 1.5
    assert found.delta_lower < math.tanh(0.75)
    assert (found.curve[0], found.curve[-1]) == ((0, 0), (1, 1))


@dataclass(frozen=True)
class Bit:
    """A question that costs nothing: the partner sees one bit by randomised response."""

    name: str
    epsilon: float
    side: Side = Side.A
    why: str = ""
    unless: str = ""
    promise: Claim = (Fraction(1), Fraction(0))

    def view(self, world: int, entropy: Entropy, coins: Entropy) -> View:
        kept = entropy.bytes(1)[0] < 256 / (1 + math.exp(-self.epsilon))
        return View([bytes([world if kept else 1 - world])])


def test_questions_share_the_false_alarms_and_every_bound_takes_half_of_that() -> None:
    from scipy.stats import beta

    told: list[tuple[int, int]] = []
    questions = [Bit("innocent", 1.0), Bit("guilty", 4.0)]
    found = ask(questions, 200, 0.9, seed=1, watch=lambda done, total: told.append((done, total)))
    assert (told[0], told[-1], len(told)) == ((1, 800), (800, 800), 800)
    assert [each.finding.leaky for each in found.findings] == [False, True]
    assert found.worst.case.name == "guilty"
    for each in found.findings:
        of = each.finding
        low = beta.ppf(0.025, of.hits_p, of.trials - of.hits_p + 1) if of.hits_p else 0.0
        high = beta.ppf(0.975, of.hits_q + 1, of.trials - of.hits_q) if of.hits_q < of.trials else 1.0
        assert of.epsilon_lower == pytest.approx(max(0.0, math.log(low / high)), abs=1e-9)
    # The same seed, the same audit.
    again, other = (ask(questions, 200, 0.9, seed) for seed in (1, 2))
    assert [each.finding for each in again.findings] == [each.finding for each in found.findings]
    assert [each.finding for each in other.findings] != [each.finding for each in found.findings]


@pytest.mark.parametrize("wrong", [{"trials": 39}, {"confidence": 1.0}, {"confidence": 0.2}])
def test_an_audit_that_can_show_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ask([Bit("any", 1.0)], **wrong)
