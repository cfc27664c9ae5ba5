"""The audit convicts what leaks, acquits what does not, and its false alarms are as rare as it says.

With every change one program is convicted and one acquitted, by the fewest trials that decide. All broken
programs, options and cases are slow. Its parts follow: bounds, learning, views, neighbours, the command.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.entropy import Entropy, Seeded
from accord.errors import UsageError
from accord.privacy.calibration import calibrate
from accord.privacy.noise import draw
from accord.protocols import intersection, routed_passes
from accord.protocols.intersection import Intersecting
from accord.protocols.parts.answers import Question
from accord.protocols.registry import PROTOCOLS
from accord.protocols.routed import Routed
from accord.protocols.routed_answers import AnswerPasses
from accord.secure.ideal import IdealEngine
from accord.secure.party import Buffer, Wire, run_pair
from accord.secure.prf.binned import Binned
from accord.secure.prf.oblivious import Oblivious
from accord.side import Side
from accord.simulation.pair import start_party
from reproduction.__main__ import main
from reproduction.audit.bounds import at_least, at_most, delta_bound, epsilon_bound
from reproduction.audit.cases import (
    MATCHED,
    Case,
    _records,
    agree_by_key,
    built_in,
    options,
    require_neighbours,
)
from reproduction.audit.learner import Event, learn
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
from reproduction.audit.protocol import CaseFinding, Finding, Verdict, ask, audit, judge
from reproduction.audit.questions import OneRun
from reproduction.audit.views import View, find_features, rows
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


def test_set_intersection_in_the_clear_is_convicted() -> None:
    def clear(agreement: Agreement) -> Program:
        program = honest(agreement)
        return lambda side, records, partner, entropy, _: program(
            side, records, partner, entropy, IdealEngine()
        )

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
    """And local DP of bins that it calls public."""
    public = {"A": {"public": True}, "B": {"epsilon": "1.6"}, "greedy": False}
    both = [case for case in built_in(options("local-dp", "1.6", "") | public) if case.name == "alone"]
    found = audit(both, trials=200)
    assert [(f.case.side, f.finding.leaky) for f in found.findings] == [(Side.A, True), (Side.B, False)]
    found = audit(built_in(options("blocking", "", "") | PLAIN), trials=120)
    assert all(each.finding.leaky for each in found.findings)
    assert {f.finding.epsilon_claimed for f in found.findings} == {1.6}
    found = audit(cases(options("laplace-suppress", "1.6", ""), "matched", side=Side.B), trials=2_000)
    assert found.leaky
    # What holds for the two tables of this case, exactly.
    assert 0 < found.worst.finding.delta_lower < delta(1.6, MATCHED) == pytest.approx(0.354, abs=1e-3)
    assert "matches" in found.worst.looked_at


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
    true = AnswerPasses.__init__
    for noise in (lambda drawn: drawn * 0, lambda drawn: drawn // 8 * 8):

        def begin(self: Any, *arguments: Any, noise: Any = noise) -> None:
            true(self, *arguments)
            if self.own.side is side:
                self.noise = noise(self.noise)

        monkeypatch.setattr(AnswerPasses, "__init__", begin)
        assert audit([counting(side)], trials=120).leaky
    monkeypatch.setattr(AnswerPasses, "__init__", true)
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
    """One more has a probability below 1e-6 if the rate is at most the stated 10 %. An audit of the trials
    that it learnt from would cry wolf."""
    from scipy.stats import binom

    most = float(binom.isf(ALPHA, audits, 0.1))
    assert alarms(*EXACT[name], audits) <= most
    if audits == 20:
        assert alarms(*EXACT["nothing"], audits, again=True) > most


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


# -- parts ---------------------------------------------------------------------------------------------------


GREEDY = options("laplace", "1.6", "1e-5")


@given(
    st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(1e-9, 0.4)
)
def test_the_bounds_are_those_of_clopper_and_pearson(counts: tuple[int, int], alpha: float) -> None:
    from scipy.stats import beta

    hits, trials = counts
    high = 1.0 if hits == trials else beta.isf(alpha, hits + 1, trials - hits)
    low = 0.0 if hits == 0 else beta.ppf(alpha, hits, trials - hits + 1)
    assert at_most(hits, trials, alpha) == pytest.approx(high, rel=1e-8)
    assert at_least(hits, trials, alpha) == pytest.approx(low, rel=1e-6, abs=1e-12)
    assert epsilon_bound(0.5, 0.1, 0.0) == pytest.approx(math.log(5))
    assert epsilon_bound(0.5, 0.1, 0.2) == pytest.approx(math.log(3))
    assert epsilon_bound(0.1, 0.5, 0.0) == epsilon_bound(0.1, 0.05, 0.2) == 0.0
    assert delta_bound(0.5, 0.1, math.log(2)) == pytest.approx(0.3)
    assert delta_bound(0.1, 0.5, 1.0) == 0.0


def shifted(by: float, columns: slice = slice(7, 8)) -> World:
    """Numbers that say nothing, and some that lie higher."""

    def world(rng: np.random.Generator, count: int) -> Floats:
        rows = rng.integers(0, 256, (count, 30)).astype(np.float64)
        rows[:, columns] = rng.normal(by, 1, rows[:, columns].shape)
        return rows

    return world


def combined(agree: bool) -> World:
    """Two numbers that are uniform each, and equal in one world only."""

    def world(rng: np.random.Generator, count: int) -> Floats:
        rows = shifted(0)(rng, count)
        rows[:, 3] = rng.integers(0, 2, count)
        rows[:, 11] = rows[:, 3] if agree else 1 - rows[:, 3]
        return rows

    return world


def learnt(p: World, q: World, count: int = 200) -> tuple[Event, float, float]:
    rng = np.random.default_rng(1)
    parts = [(p(rng, count), q(rng, count)) for _ in range(3)]
    event = learn(parts[0], parts[1], 0.0, 3.0)
    shares = [float(event.holds(world).mean()) for world in parts[2]]
    return event, *(reversed(shares) if event.turned else shares)


def test_only_what_differs_is_found_alone_in_combination_and_as_a_sum() -> None:
    event, p, q = learnt(shifted(0), shifted(3))
    assert event.columns[0] == 7
    assert p > 0.5 > 0.1 > q
    event, p, q = learnt(combined(True), combined(False))
    assert {3, 11} <= set(event.columns)
    assert (p, q) == (1.0, 0.0)
    _, p, q = learnt(shifted(0, slice(8)), shifted(0.6, slice(8)), 400)
    assert p > 4 * q
    for same in (shifted(0), lambda rng, count: np.ones((count, 4))):
        _, p, q = learnt(same, same)
        assert p == pytest.approx(q, abs=0.2)


# -- views -------------------------------------------------------------------------------------------------


class Tape(Wire):
    """Keeps what B sends."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def record(self, sender: Side, buffer: Buffer, depth: int) -> None:
        super().record(sender, buffer, depth)
        if sender is Side.B and len(buffer):
            self.sent.append(bytes(buffer))


def test_a_view_is_what_the_partner_receives_in_a_linkage() -> None:
    case = built_in(GREEDY)[3]
    seen = OneRun.of(case, honest).view(0, Seeded(1), Seeded(2))
    tape, engine = Tape(), IdealEngine()
    parties = [
        start_party(case.agreement, side, own, len(other), Seeded(seed), engine)
        for side, own, other, seed in (
            (Side.A, case.partner, case.table, 2),
            (Side.B, case.table, case.partner, 1),
        )
    ]
    left, _ = run_pair(parties[0], parties[1], wire=tape)
    assert seen.messages == tape.sent
    assert sum(pairs for pairs, _ in seen.answers) == left.comparisons
    assert len(seen.answers) == left.rounds
    assert sum(len(places) for _, places in seen.answers) == 5


def named(*views: View) -> list[dict[str, float]]:
    places = find_features(views)
    return [dict(zip(places.names, row, strict=True)) for row in rows(views, places).tolist()]


def test_numbers_stand_where_their_names_say() -> None:
    words, none = np.array([7, 300], "<u8").tobytes(), np.array([], np.int64)
    one, two = named(
        View([b"\x05\x06\x07", words, words], [(12, np.array([3, 9])), (2, none)]),
        View([b"\x01", words, words, b"abc"], [(4, none)]),
    )
    for name, first, second in (
        ("messages", 3, 4),
        ("bytes in all", 35, 36),
        ("comparisons", 14, 4),
        ("matches", 2, 0),
        ("batch of the first match", 0, 1),
        ("size of message 1", 3, 1),
        ("size of message 4", 0, 3),
        ("place of the first match in batch 1", 4, 0),
        ("place of the last match in batch 1", 10, 0),
        ("word 1 of message 2", 300, 300),
        ("byte 8 of message 2", 44, 44),
        ("sum of words 1 of messages of 16 bytes", 600, 600),
        ("byte 2 of message 1", 7, 0),
        ("byte 0 of message 4", 0, ord("a")),
    ):
        assert (one[name], two[name]) == (first, second), name
    places = find_features([View([b"ab"])])
    later = View([b"abcd", b"more"], [(3, np.array([1]))])
    assert rows([later], places).shape == (1, len(places.names)), "what is beyond the layout is left out"


def test_runs_of_a_view_are_compared_with_each_other() -> None:
    words = ((5, 6), (5, 6, 9), (5, 4, 9), (5, 6, 9, 1))
    first, alike, other, last = (np.array(each, "<u8").tobytes() for each in words)
    one, two = named(
        View([b"x", first, b"x", alike, b"x", last, b"yy"], runs=[0, 2, 4]),
        View([b"x", first, b"x", other, b"x", last], runs=[0, 2, 4]),
    )
    name = "words of message 2 of a run that are not as in the run before"
    assert (one[name], two[name]) == (0, 2)
    name = "sum of words 1 of messages 2 of a run"
    assert (one[name], two[name]) == (18, 16)


def asks(case: Case) -> bool:
    """Whether whose record is at stake asks in an intersection, or in a routed linkage."""
    protocol, task, sizes = case.agreement.protocol, case.agreement.task, (len(case.table), len(case.partner))
    if isinstance(protocol, Intersecting):
        return not protocol.workload(task, case.side, *sizes).lists
    assert isinstance(protocol, Routed)
    return protocol.lanes(task, sizes if case.side is Side.A else sizes[::-1])[0].asker is case.side


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("blocking", "laplace-suppress")]


@pytest.mark.parametrize("name", ["laplace", "all-pairs", "psi", "psi-expand", "local-dp", "routed", *SLOW])
def test_built_in_cases_are_sound_neighbours(name: str) -> None:
    """Whose bins differ; and of an intersection, on each side, once with those who ask and once without."""
    found = built_in(options(name, "1", "1e-3"))
    names = ["alone", "matched", "crowd", *(["beside", "passes"] if name != "local-dp" else [])]
    assert [(each.name, each.side) for each in found] == [(n, side) for n in names for side in Side]
    for each in found:
        require_neighbours(each)
        require_sound(each.agreement, simulated=True)
        tables, plan = (each.table, each.neighbour), each.agreement.plan
        bins = [plan.counts(each.side, table.columns, len(table)) for table in tables]
        assert (bins[0] != bins[1]).any() == PROTOCOLS[name].blocked
    if name in ("psi", "psi-expand", "routed"):
        assert {(each.side, asks(each)) for each in found} == {(s, a) for s in Side for a in (True, False)}


OTHERS = [(2, 8), (2, 16), (2, 24), (2, 32), (2, 40)]


def test_tables_that_are_no_neighbours_are_refused() -> None:
    """Another size, no change, two records, and a record that matches."""
    case = built_in(GREEDY)[3]
    require_neighbours(replace(case, neighbour=_records([(1, 4), *OTHERS], case.agreement)))
    for points in ([(0, 4)], [(0, 4), *OTHERS], [(1, 4), (1, 8), *OTHERS[1:]], [(2, 9), *OTHERS]):
        with pytest.raises(UsageError):
            require_neighbours(replace(case, neighbour=_records(points, case.agreement)))


# -- the command -------------------------------------------------------------------------------------------

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["reproduction", "audit", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


@pytest.mark.parametrize(
    ("lower", "most", "code", "warned"), [(0.0, 3.2, 0, False), (0.0, 1.5, 0, True), (1.7, 3.2, 12, False)]
)
def test_a_verdict_is_an_exit_code(
    lower: float, most: float, code: int, warned: bool, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a verdict that no run was needed for."""
    finding = Finding(20, 20, 0, 1.6, 1e-5, lower, most, 0.0, (), ())

    def ask(questions: list[OneRun], *rest: object) -> Verdict:
        return Verdict(tuple(CaseFinding(each, finding, ("word 77",)) for each in questions), 0.999)

    monkeypatch.setattr("reproduction.audit.protocol.ask", ask)
    ended, out, err = command("laplace", "--case", "alone", "--trials", "40")
    assert (ended, bool(err)) == (code, warned or bool(code))
    assert ("word 77" in out) is bool(code)
    shown = [line.split()[:2] for line in out.splitlines() if line.startswith("alone")]
    assert shown == [["alone", "A"], ["alone", "B"]]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case", "code"), [("unshuffled", "matched", 12), ("all-pairs", "alone", 0)])
def test_an_audit_is_run(name: str, case: str, code: int, command: Command) -> None:
    assert command(name, "--case", case, "--trials", "400")[0] == code


@pytest.mark.parametrize(
    "words",
    [
        ("laplace", "--case", "odd"), ("lapalce",), ("laplace", "--trials", "3"), ("psi", "--epsilon", "1"),
        ("laplace", "--epsilon", "0"), ("laplace", "--epsilon", "100"), ("laplace", "--epsilon", "much"),
        ("laplace", "--delta", "2"), ("local-dp", "--delta", "1e-6"),
    ],
)  # fmt: skip
def test_an_odd_question_is_refused(words: tuple[str, ...], command: Command) -> None:
    assert command(*words)[0] == 2
