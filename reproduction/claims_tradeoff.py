"""Claims 13 to 21: recall against cost, other approaches, exactness [MATHS §14.4]."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from reproduction.claims import HALF, Claim, Evidence, Means, Part, Range, as_named, epsilons
from reproduction.claims_cost import ABOVE, AT_MOST, SETS, by_dummies
from reproduction.paper_data import abt_buy_agreement, taxi_agreement
from reproduction.size import GREEDY, gamma
from reproduction.sweep import Row, number, one, only
from reproduction.tradeoff import percentiles
from reproduction.variants import VARIANT
from reproduction.wording import plain

MILLISECONDS = 77
"""The paper's time for one comparison."""
LITTLE, HUNDRED, EXACTLY = Range(0, 0.001), Range(100), Range(1, 1)
RECALL = 0.95
FIRST = 90
"""The percentile up to which the trade-off has its first part."""


def _moved(e: Evidence) -> float:
    """How many more comparisons LP makes on Taxi at δ = 1e-9 than at 1e-5."""
    return (e.ratio("taxi", 1.6, 1e-9) - e.ratio("taxi", 1.6)) * e.baseline("taxi", 1, "all-pairs")


def _arithmetic(e: Evidence, part: str) -> float:
    """The same by arithmetic: of basic LP, or of the pairs of dummies alone."""
    loose, strict = (e.expected("taxi", 1, 1.6, delta) for delta in (1e-5, 1e-9))
    return float(getattr(strict, part) - getattr(loose, part))


def _explain_delta(means: Means) -> str:
    """Claim 13: the pairs of dummies alone grow by more than that, and the cost grows no less than they."""
    dummies = means["dummies"]
    if dummies <= LITTLE.most or means["both with GMC"] < 0.95 * dummies:
        return ""
    return (
        f"GMC removes no dummies: the pairs of dummies alone grow by {plain(dummies)} times what all pairs "
        "costs with GMC."
    )


def _explain_much(means: Means) -> str:
    """Claim 14: arithmetic fixes the basic ratio."""
    if abs(means["basic, of its arithmetic"] - 1) > 0.05:
        return ""
    fixed = (
        "0.07 cannot be reached at δ = 1e-5 with 300,000 records: 18·η·n, η² for each pair of bins and the "
        "real pairs fix the basic ratio near 0.05. "
    )
    return by_dummies(means, 1 / (0.07 * HALF), fixed)


def _full_recall(data: str) -> tuple[Part, ...]:
    return (
        Part(f"{data}, basic", HUNDRED, lambda e: e.basic(data, 1, 0.1)),
        Part(f"{data}, both with GMC", HUNDRED, lambda e: e.greedy(data, 1, 0.1)),
        Part(f"{data}, LP alone with GMC", HUNDRED, lambda e: e.papers(data, 1, 0.1)),
    )


def _pruned(e: Evidence) -> float:
    """The most that LP alone with GMC gains on Taxi while it keeps the recall."""
    rows = [e.tradeoff("taxi", 0.1, prune=prune) for prune in percentiles(e.size, "taxi")]
    return max((1 / number(row, "ratio") for row in rows if number(row, "recall") >= RECALL), default=0.0)


def _explain_hundred(means: Means) -> str:
    """Claim 15: at full recall the dummies alone cost more than a hundredth of all pairs."""
    most = {data: means[f"{data}, by dummies"] for data in SETS}
    if any(value >= HUNDRED.least for value in most.values()):
        return ""
    return (
        f"At full recall the pairs of dummies alone keep it at {plain(most['taxi'])} × (taxi) and "
        f"{plain(most['ab'])} × (ab), at most, even if LP alone has GMC; the paper's own hours (80 h of 22 "
        "days) say so for AB."
    )


def _line_step(e: Evidence, data: str) -> float:
    """The least factor between the costs of neighbouring ε, at 50 recalls that all of them reach."""
    lines = []
    for epsilon in epsilons():
        rows = [e.tradeoff(data, epsilon, prune=prune) for prune in percentiles(e.size, data)]
        lines.append(sorted((number(row, "recall"), number(row, "cost")) for row in rows))
    recalls = np.linspace(max(line[0][0] for line in lines), min(line[-1][0] for line in lines), 50)
    costs = [np.interp(recalls, *np.array(line).T) for line in lines]
    return min(float((strict / loose).min()) for strict, loose in pairwise(costs))


def _stronger(e: Evidence, data: str) -> float:
    """By how much more the cost grows over the three ε than over the three δ."""
    loose = e.ratio(data, 1.6)
    return (e.ratio(data, 0.1) / loose) / (e.ratio(data, 1.6, 1e-9) / loose)


def _steepness(e: Evidence, epsilon: float) -> float:
    """The slope of the first part, in shares of the recall and of the cost of the whole line.

    A line that is straight from nothing to everything has slope 1 throughout.
    """
    first, last = (e.tradeoff("ab", epsilon, prune=prune) for prune in (FIRST, 0))
    return _share(first, last, "recall") / _share(first, last, "cost")


def _share(part: Row, whole: Row, measure: str) -> float:
    return number(part, measure) / number(whole, measure)


def _first_recall(e: Evidence) -> float:
    return _share(e.tradeoff("ab", 1.6, prune=FIRST), e.tradeoff("ab", 1.6), "recall")


def _explain_steep(means: Means) -> str:
    """Claim 17: its premise does hold."""
    if means["recall of the first part"] < 0.5:
        return ""
    return (
        "The largest bins hold most of the matches, as the paper says, but still more of the pairs: a bin "
        "costs the product of its two sizes, and the largest joins all other brands, which never match each "
        "other."
    )


def _mapped(e: Evidence, method: str, measure: str) -> float:
    return number(one(e.of("mapping"), method=method), measure)


def _explain_psi(means: Means) -> str:
    """Claim 18: it finds what is equal, and nothing else."""
    if means["precision"] != 1:
        return ""
    return (
        "PSI finds exactly the pairs of equal encodings; how many of the rule's matches are equal is the "
        "sample's."
    )


def _hours(comparisons: float) -> float:
    return comparisons * MILLISECONDS / 1e3 / 3600


def _whole_recall(e: Evidence) -> float:
    """The least recall without prune, over all that was run."""
    return min(
        e.variant(str(p["data"]), int(p["days"]), p["epsilon"], v, "recall")
        for p in _compared(e)
        for v in ("basic", "basic+GMC", "basic+GMC+S")
    )


def _dearest(e: Evidence) -> float:
    """The most that LP with GMC costs of basic LP with the same noise."""
    return max(
        e.variant(*where, "basic+GMC") / e.variant(*where, "basic")
        for where in ((str(p["data"]), int(p["days"]), p["epsilon"]) for p in _compared(e))
    )


def _compared(e: Evidence) -> list[Row]:
    return only(VARIANT.points(e.size), variant="basic", noise="paper-2017")


def _cross(data: str) -> float:
    """The n at which n² = γ·n·ln ln n."""
    values = gamma({"ab": abt_buy_agreement(("x",), 1), "taxi": taxi_agreement()}[data])
    n = float(values)
    for _ in range(100):
        n = values * math.log(math.log(n))
    return n


def _beyond_sizes(data: str) -> Part:
    return Part(
        f"{data}, n at which they meet, of the largest n", ABOVE,
        lambda e: _cross(data) / (e.size.per_day(data) * e.size.days(data)[-1]),
    )  # fmt: skip


TRADEOFF = (
    Claim(
        13, "Taxi: δ from 1e-5 to 1e-9 moves the ratio ≤ 0.001",
        (
            Part(
                "basic, by arithmetic", LITTLE,
                lambda e: _arithmetic(e, "basic") / e.baseline("taxi", 1, "all-pairs"),
            ),
            Part("both with GMC", LITTLE, lambda e: _moved(e) / e.baseline("taxi", 1, GREEDY)),
            Part("LP alone with GMC", LITTLE, lambda e: _moved(e) / e.baseline("taxi", 1, "all-pairs")),
        ),
        _explain_delta, ("both with GMC",),
        (Part("dummies", Range(), lambda e: _arithmetic(e, "dummies") / e.baseline("taxi", 1, GREEDY)),),
        ("taxi",),
    ),
    Claim(
        14, "Taxi: ε from 1.6 to 0.1 raises the ratio to 0.07",
        (
            as_named("basic", 0.07, lambda e: 1 / e.basic("taxi", 1, 0.1)),
            as_named("both with GMC", 0.07, lambda e: 1 / e.greedy("taxi", 1, 0.1)),
            as_named("LP alone with GMC", 0.07, lambda e: 1 / e.papers("taxi", 1, 0.1)),
        ),
        _explain_much,
        beside=(
            Part(AT_MOST, Range(), lambda e: e.dummies("taxi", 1, 0.1)),
            Part(
                "basic, of its arithmetic", Range(),
                lambda e: e.cost("taxi", 1, 0.1, "basic") / e.expected("taxi", 1, 0.1).basic,
            ),
        ),
        about=("taxi",),
    ),
    Claim(
        15, "even at ε = 0.1, 100 times below APC",
        (
            *_full_recall("taxi"), *_full_recall("ab"),
            Part(f"taxi, recall ≥ {RECALL}, LP alone with GMC", HUNDRED, _pruned),
        ),
        _explain_hundred,
        tuple(part.name for data in SETS for part in _full_recall(data)),
        tuple(
            Part(f"{data}, by dummies", Range(), lambda e, data=data: e.dummies(data, 1, 0.1, "all-pairs"))  # type: ignore[misc]
            for data in SETS
        ),
    ),
    Claim(
        16, "cost rises as ε falls; ε matters more than δ",
        (
            Part("taxi, least step between lines", ABOVE, lambda e: _line_step(e, "taxi")),
            Part("ab, least step between lines", ABOVE, lambda e: _line_step(e, "ab")),
            Part("taxi, growth by ε of that by δ", ABOVE, lambda e: _stronger(e, "taxi")),
            Part("ab, growth by ε of that by δ", ABOVE, lambda e: _stronger(e, "ab")),
        ),
    ),
    Claim(
        17, "AB: a steep first part of the trade-off",
        (
            Part("slope at ε = 1.6", ABOVE, lambda e: _steepness(e, 1.6)),
            Part("at ε = 0.4", ABOVE, lambda e: _steepness(e, 0.4)),
            Part("at ε = 0.1", ABOVE, lambda e: _steepness(e, 0.1)),
        ),
        _explain_steep, beside=(Part("recall of the first part", Range(), _first_recall),), about=("ab",),
    ),
    Claim(
        18, "PSI has a recall close to 10 %",
        (as_named("recall on AB", 0.10, lambda e: _mapped(e, "psi", "recall")),),
        _explain_psi, beside=(Part("precision", Range(), lambda e: _mapped(e, "psi", "precision")),),
        about=("ab",),
    ),
    Claim(
        19, "n = 5,000: APC 22 days, LP at ε = 1.6 80 hours",
        (
            as_named("days", 22, lambda e: _hours(e.baseline("ab", 1, "all-pairs")) / 24),
            as_named("hours, LP alone with GMC", 80, lambda e: _hours(e.cost("ab", 1, 1.6))),
        ),
        about=("ab",),
    ),
    Claim(
        20, "LP finds the blocked join; GMC no less, at no more cost",
        (
            Part("recall of a whole run", EXACTLY, lambda e: _mapped(e, "laplace", "recall")),
            Part("its precision", EXACTLY, lambda e: _mapped(e, "laplace", "precision")),
            Part("least recall without prune", EXACTLY, _whole_recall),
            Part("GMC of basic on the same noise, the most", Range(0, 1), _dearest),
        ),
        about=(),
    ),
    Claim(
        21, "PSI+X beats APC for sufficiently large data only",
        (_beyond_sizes("taxi"), _beyond_sizes("ab")), days=True,
    ),
)  # fmt: skip
