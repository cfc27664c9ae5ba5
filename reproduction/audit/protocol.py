"""An empirical audit of a protocol: can the partner tell two neighbouring tables apart better than claimed?

Both tables are run many times with the party programs of a linkage and the ideal engine; the partner's view
is kept whole (`views.py`). The partner's table and coins are fixed, since the guarantee holds for each of
them. On the first half of the trials an event is learnt (`learner.py`): a quarter fits, a quarter chooses. On
the other half, which nothing has looked at, that one event is counted, and exact binomial bounds give a lower
bound on ε at the claimed δ (`bounds.py`). One event in one direction is tested a case, so there is nothing to
correct for but the number of cases: each gets its share of the false-alarm rate, which is 1 − confidence.

The verdict is one-sided. 'Leaky' is a proof up to that rate; 'no leak found' is none: the worst tables, the
best event or the number of trials may have been missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.errors import UsageError
from reproduction.audit.bounds import at_least, at_most, delta_bound, epsilon_bound
from reproduction.audit.cases import Case
from reproduction.audit.learner import Event, Floats, learn, varying
from reproduction.audit.programs import Maker, honest
from reproduction.audit.questions import OneRun, Question
from reproduction.audit.views import View, find_features, rows

T = TypeVar("T")

LEAST_TRIALS = 40
TRIALS = 2_000
CONFIDENCE = 0.999
ASKED = (Fraction("1.6"), Fraction("1e-5"))
"""What is judged where nothing is promised: the paper's."""
_COINS = 8

Watch = Callable[[int, int], None]


@dataclass(frozen=True)
class Finding:
    """What the test half of one case shows. P is the world in which the event was expected."""

    trials: int
    """Of each world, in the test half."""
    hits_p: int
    hits_q: int
    epsilon_claimed: float
    delta_claimed: float
    epsilon_lower: float
    """ε is at least this, at the claimed δ, with the confidence of the audit."""
    epsilon_most: float
    """More than this so few trials could not have shown, even if the event never failed."""
    delta_lower: float
    """δ is at least this at the claimed ε, with the same confidence."""
    curve: tuple[tuple[float, float], ...]
    """Shares of the two worlds (of Q, of P) at every threshold of the learned score: for a picture."""
    columns: tuple[int, ...]
    """Which numbers of the view the event looks at."""

    @property
    def leaky(self) -> bool:
        return self.epsilon_lower > self.epsilon_claimed

    @property
    def can_refute(self) -> bool:
        """Whether so many trials could have refuted the claim at all."""
        return self.epsilon_most > self.epsilon_claimed


@dataclass(frozen=True)
class CaseFinding:
    """A case and what was found."""

    case: Question
    finding: Finding
    looked_at: tuple[str, ...]
    """What in the view the event looks at, the most telling first."""


@dataclass(frozen=True)
class Verdict:
    """All cases of an audit; the confidence is that of all of them together."""

    findings: tuple[CaseFinding, ...]
    confidence: float

    @property
    def leaky(self) -> bool:
        return any(found.finding.leaky for found in self.findings)

    @property
    def worst(self) -> CaseFinding:
        """The case that exceeds its claim the most, or comes closest to it."""
        return max(self.findings, key=lambda f: f.finding.epsilon_lower - f.finding.epsilon_claimed)


def audit(
    cases: Sequence[Case],
    maker: Maker = honest,
    *,
    trials: int = TRIALS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    asked: tuple[Fraction, Fraction] = ASKED,
    watch: Watch = lambda done, total: None,
) -> Verdict:
    """Run every case in both worlds, `trials` times each, and judge.

    Judged is what the protocol promises; where it promises nothing, the (ε, δ) that is asked.
    """
    return ask([OneRun.of(case, maker) for case in cases], trials, confidence, seed, asked, watch)


def ask(
    questions: Sequence[Question],
    trials: int = TRIALS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    asked: tuple[Fraction, Fraction] = ASKED,
    watch: Watch = lambda done, total: None,
) -> Verdict:
    """The same for any questions."""
    if trials < LEAST_TRIALS:
        raise UsageError(problem=f"Fewer than {LEAST_TRIALS} trials of each table cannot show anything.")
    if not 0.5 <= confidence < 1:
        raise UsageError(problem="A confidence lies between 0.5 and 1, for example 0.999.")
    alpha = (1 - confidence) / len(questions)
    runs = _count_runs(2 * trials * len(questions), watch)
    findings = tuple(
        _answer(one, trials, one.promise or asked, alpha, f"{seed} {one.name} {one.side.value}", runs)
        for one in questions
    )
    return Verdict(findings, confidence)


def _count_runs(total: int, watch: Watch) -> Iterator[None]:
    for done in range(1, total + 1):
        watch(done, total)
        yield


def _answer(
    question: Question,
    trials: int,
    claim: tuple[Fraction, Fraction],
    alpha: float,
    seed: str,
    runs: Iterator[None],
) -> CaseFinding:
    coins = _coins(question, seed)

    def sample(part: str, count: int, keep: Callable[[View], T]) -> tuple[list[T], list[T]]:
        """Views of both worlds, reduced as they come: whole ones are kept of the fitting part only."""
        found: tuple[list[T], list[T]] = ([], [])
        for world in range(2):
            for trial in range(count):
                entropy = Seeded(f"audit {seed} {part} {world} {trial}")
                found[world].append(keep(question.view(world, entropy, Seeded(coins))))
                next(runs)
        return found

    whole = sample("fit", trials // 4, lambda seen: seen)
    places = find_features([*whole[0], *whole[1]])
    fit = rows(whole[0], places), rows(whole[1], places)
    kept = varying(*fit)

    def numbers(seen: View) -> Floats:
        return rows([seen], places)[0, kept]

    choose = sample("choose", trials // 4, numbers)
    test = sample("test", trials - 2 * (trials // 4), numbers)
    finding = judge(
        (fit[0][:, kept], fit[1][:, kept]),
        (np.stack(choose[0]), np.stack(choose[1])),
        (np.stack(test[0]), np.stack(test[1])),
        claim,
        alpha,
    )
    names = places.names
    return CaseFinding(question, finding, tuple(names[kept[column]] for column in finding.columns))


def _coins(question: Question, seed: str) -> str:
    """The coins that the partner is given in all trials: of a few, those with which it finds the most.

    The guarantee holds for each of them, and a partner may try again until its own noise does not hinder it.
    """
    tried = [f"partner {seed} {number}" for number in range(_COINS)]
    seen = [question.view(0, Seeded(f"coins {seed}"), Seeded(coins)) for coins in tried]
    matches = [sum(len(places) for _, places in each.answers) for each in seen]
    return tried[int(np.argmax(matches))]


def judge(
    fit: tuple[Floats, Floats],
    choose: tuple[Floats, Floats],
    test: tuple[Floats, Floats],
    claim: tuple[Fraction, Fraction],
    alpha: float,
) -> Finding:
    """Learn on two parts, test on the third. *Distribution*: a true claim is refuted with probability ≤ α.

    *Requires*: all rows were made independently, and the same way in all three parts.
    """
    epsilon, delta = float(claim[0]), float(claim[1])
    event = learn(fit, choose, delta, NormalDist().inv_cdf(1 - alpha / 2))
    hits = [int(event.holds(world).sum()) for world in test]
    if event.turned:
        hits.reverse()
    trials = len(test[0])
    low, high = at_least(hits[0], trials, alpha / 2), at_most(hits[1], trials, alpha / 2)
    return Finding(
        trials=trials,
        hits_p=hits[0],
        hits_q=hits[1],
        epsilon_claimed=epsilon,
        delta_claimed=delta,
        epsilon_lower=epsilon_bound(low, high, delta),
        epsilon_most=epsilon_bound(at_least(trials, trials, alpha / 2), at_most(0, trials, alpha / 2), delta),
        delta_lower=delta_bound(low, high, epsilon),
        curve=_curve(event, test),
        columns=event.columns,
    )


def _curve(event: Event, test: tuple[Floats, Floats]) -> tuple[tuple[float, float], ...]:
    """Share of Q against share of P as the threshold falls, from (0, 0) to (1, 1)."""
    scores: list[NDArray[np.float64]] = [np.sort(event.of.score(world)) for world in test]
    if event.turned:
        scores = [np.sort(-s) for s in reversed(scores)]
    values = np.unique(np.concatenate(scores))[::-1]
    shares = [1 - np.searchsorted(s, values, "left") / len(s) for s in scores]
    return ((0.0, 0.0), *zip(shares[1].tolist(), shares[0].tolist(), strict=True))
