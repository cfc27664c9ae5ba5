"""Claims 13 to 21: recall against cost, other approaches, exactness [MATHS §14.4].

The names in capitals are their tolerances, which `claims_paper.py` puts into words.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reproduction.claims import Evidence, Finding, Range, epsilons, graded
from reproduction.claims_cost import SETS
from reproduction.paper_data import abt_buy_agreement, taxi_agreement
from reproduction.size import GREEDY, gamma
from reproduction.sweep import Row, number, one, only
from reproduction.tradeoff import percentiles
from reproduction.variants import VARIANT
from reproduction.wording import joined as listed
from reproduction.wording import plain

MILLISECONDS = 77
"""The paper's time for one comparison."""
LITTLE = Range(0, 0.001)
MUCH, FORCED = Range(0.06, 0.08), Range(0.043, 0.052)
HUNDRED, PRUNED_RECALL = Range(100), 0.95
STEEP, FIRST, PREMISE = Range(1), 90, 0.5
PSI_RECALL = Range(0.04, 0.16)
APC_DAYS, LP_HOURS = Range(22.2, 22.4), Range(68, 92)
CROSSINGS, CROSSINGS_OFF = {"taxi": 8.7e6, "ab": 6.5e6}, 0.02


def delta_little(e: Evidence) -> Finding:
    """Claim 13."""
    whole, cleaned = (e.baseline("taxi", 1, method) for method in ("all-pairs", GREEDY))
    moved = (e.ratio("taxi", 1.6, 1e-9) - e.ratio("taxi", 1.6, 1e-5)) * whole
    loose, strict = (e.expected("taxi", 1, 1.6, delta) for delta in (1e-5, 1e-9))
    basic, dummies = strict.basic - loose.basic, strict.dummies - loose.dummies
    fair, papers = moved / cleaned, moved / whole
    due = 0 <= moved <= 1.05 * basic
    known = (
        f"GMC removes no dummies: the pairs of dummies alone grow by {plain(dummies / cleaned)} times what "
        "all pairs costs with GMC."
        if dummies / cleaned not in LITTLE and moved >= 0.95 * dummies
        else e.excuse("taxi")
    )
    return graded(
        basic / whole in LITTLE and fair in LITTLE,
        f"basic {basic / whole:+.5f} by arithmetic, both with GMC {fair:+.3g} ({papers:+.5f} if LP alone "
        "has it)",
        partly=basic / whole in LITTLE and papers in LITTLE,
        explanation=known if due else "",
    )


def epsilon_much(e: Evidence) -> Finding:
    """Claim 14."""
    gains = e.gains("taxi", 1, 0.1)
    greedy, basic = e.ratio("taxi", 0.1), 1 / gains.basic
    known = (
        "0.07 cannot be reached at δ = 1e-5 with 300,000 records: 18·η·n, η² for each pair of bins and the "
        f"real pairs fix the basic ratio near 0.05. {e.outweighed('taxi', 1, 0.1, 1 / MUCH.most)}"
    )
    fixed = basic in FORCED and 0.02 <= greedy <= basic
    return graded(
        basic in MUCH and 1 / gains.greedy in MUCH,
        f"{basic:.3f} basic, {plain(1 / gains.greedy)} both with GMC ({greedy:.3f} if LP alone has it)",
        partly=fixed,
        explanation=known if fixed else e.excuse("taxi"),
    )


def hundredfold(e: Evidence) -> Finding:
    """Claim 15."""
    gains = {data: e.gains(data, 1, 0.1) for data in SETS}
    full = {data: 1 / e.ratio(data, 0.1) for data in SETS}
    alone = {data: e.baseline(data, 1, "all-pairs") / e.expected(data, 1, 0.1).dummies for data in SETS}
    rows = [e.tradeoff("taxi", 0.1, prune=prune) for prune in percentiles(e.size, "taxi")]
    best = max(
        (1 / number(row, "ratio") for row in rows if number(row, "recall") >= PRUNED_RECALL), default=0.0
    )
    cleaned = e.baseline("taxi", 1, GREEDY) / e.baseline("taxi", 1, "all-pairs")
    known = (
        f"At full recall the pairs of dummies alone keep it at {alone['taxi']:.2g} × (taxi) and "
        f"{alone['ab']:.2g} × (ab), at most, even if LP alone has GMC; the paper's own hours (80 h of 22 "
        "days) say so for AB."
    )
    explained = all(
        1.05 * alone[d] >= full[d] >= _basic_gain(e, d) / 1.05 and alone[d] not in HUNDRED for d in SETS
    )
    parts = [f"{data} {each}" for data, each in gains.items()]
    return graded(
        all(each.all_in(HUNDRED) for each in gains.values()),
        f"full recall: {', '.join(parts)}; taxi at recall ≥ {PRUNED_RECALL}: {plain(best * cleaned)} × both "
        f"with GMC ({plain(best)} × if LP alone has it)",
        partly=best in HUNDRED,
        explanation=known if explained else "",
    )


def _basic_gain(e: Evidence, data: str) -> float:
    """How many times below all pairs basic LP is expected at ε = 0.1: greedy is no worse."""
    return e.baseline(data, 1, "all-pairs") / e.expected(data, 1, 0.1).basic


def lines_shift(e: Evidence) -> Finding:
    """Claim 16."""
    unordered, weaker = [], []
    for data in SETS:
        costs = _at_equal_recall(e, data)
        if not np.all(np.diff(costs, axis=0) < 0):
            unordered.append(data)
        by_delta = e.ratio(data, 1.6, 1e-9) / e.ratio(data, 1.6)
        if e.ratio(data, 0.1) / e.ratio(data, 1.6) <= by_delta:
            weaker.append(data)
    parts = [f"not ordered by ε: {', '.join(unordered)}" if unordered else "ordered by ε at every recall"]
    parts.append(
        f"δ matters more: {', '.join(weaker)}" if weaker else "ε matters more than δ, both data sets"
    )
    return graded(not unordered and not weaker, "; ".join(parts))


def _at_equal_recall(e: Evidence, data: str) -> NDArray[np.float64]:
    """The cost for each ε at recalls that all of them reach, between the percentiles by straight lines."""
    lines = []
    for epsilon in epsilons():
        rows = [e.tradeoff(data, epsilon, prune=prune) for prune in percentiles(e.size, data)]
        lines.append(sorted((number(row, "recall"), number(row, "cost")) for row in rows))
    recalls = np.linspace(max(line[0][0] for line in lines), min(line[-1][0] for line in lines), 50)
    return np.array([np.interp(recalls, *np.array(line).T) for line in lines])


def steep(e: Evidence) -> Finding:
    """Claim 17: the slope of the first part, in shares of the recall and of the cost of the whole line.

    A line that is straight from nothing to everything has slope 1 throughout.
    """
    slopes, drawn = {}, []
    for epsilon in sorted(epsilons(), reverse=True):
        first, later, last = (e.tradeoff("ab", epsilon, prune=prune) for prune in (FIRST, FIRST - 20, 0))
        slopes[epsilon] = _share(first, last, "recall") / _share(first, last, "cost")
        drawn.append(_rise(first, later) / (_rise(first, last) or math.nan))
    first, last = (e.tradeoff("ab", 1.6, prune=prune) for prune in (FIRST, 0))
    recall, cost = (_share(first, last, name) for name in ("recall", "cost"))
    at = listed(f"{epsilon:g}" for epsilon in slopes)
    ours = (
        f"slope {listed(f'{slope:.2f}' for slope in slopes.values())} at ε = {at}: at ε = 1.6 the first "
        f"{cost:.0%} of the cost buy {recall:.0%} of the recall, the last {1 - cost:.0%} buy "
        f"{1 - recall:.0%}. Only from the {FIRST} % to the {FIRST - 20} % percentile, against the line from "
        f"{FIRST} % on: {listed(f'{ratio:.2f}' for ratio in drawn)}"
    )
    known = (
        "The largest bins hold most of the matches, as the paper says, but still more of the pairs: a bin "
        "costs the product of its two sizes, and the largest joins all other brands, which never match each "
        "other."
    )
    steep = [slope in STEEP for slope in slopes.values()]
    return graded(
        all(steep), ours, partly=any(steep), explanation=known if recall >= PREMISE else e.excuse("ab")
    )


def _share(part: Row, whole: Row, measure: str) -> float:
    return number(part, measure) / number(whole, measure)


def _rise(start: Row, end: Row) -> float:
    """The slope of the line between two points."""
    cost = number(end, "cost") - number(start, "cost")
    return (number(end, "recall") - number(start, "recall")) / (cost or math.nan)


def psi_recall(e: Evidence) -> Finding:
    """Claim 18."""
    found = number(one(e.of("mapping"), method="psi"), "recall")
    return graded(found in PSI_RECALL, f"{found:.1%}", explanation=e.excuse("ab"))


def hours(e: Evidence) -> Finding:
    """Claim 19."""
    days, greedy = (_hours(e.baseline("ab", 1, method)) / 24 for method in ("all-pairs", GREEDY))
    cost = e.cost("ab", 1, 1.6)
    spent = _hours(cost)
    ours = (
        f"{days:.1f} days and {spent:.1f} h: {cost / 1e6:.2f} million comparisons. LP has GMC here; with it "
        f"APC takes {greedy:.1f} days"
    )
    return graded(spent in LP_HOURS and days in APC_DAYS, ours, explanation=e.excuse("ab"))


def _hours(comparisons: float) -> float:
    return comparisons * MILLISECONDS / 1e3 / 3600


def exact(e: Evidence) -> Finding:
    """Claim 20."""
    run = one(e.of("mapping"), method="laplace")
    joined = number(run, "recall") == 1 == number(run, "precision")
    complete = cheaper = True
    for point in only(VARIANT.points(e.size), variant="basic"):
        where = str(point["data"]), int(point["days"]), point["epsilon"]
        noise = str(point["noise"])
        costs = [e.variant(*where, v, noise=noise) for v in ("basic+GMC", "basic")]
        cheaper &= costs == sorted(costs)
        complete &= all(
            e.variant(*where, v, "recall", noise) == 1 for v in ("basic", "basic+GMC", "basic+GMC+S")
        )
    parts = [
        "recall and precision 1 in a whole run" if joined else "a whole run misses or invents matches",
        "recall 1 without prune" if complete else "recall below 1 without prune",
        "GMC never costs more, on the same noise" if cheaper else "GMC costs more on the same noise",
    ]
    return graded(joined and complete and cheaper, "; ".join(parts))


def crossing(e: Evidence) -> Finding:
    """Claim 21."""
    agreed = {"ab": abt_buy_agreement(("x",), 1), "taxi": taxi_agreement()}
    meet = {data: _cross(gamma(each)) for data, each in agreed.items()}
    held = all(abs(meet[data] / due - 1) <= CROSSINGS_OFF for data, due in CROSSINGS.items())
    return graded(held, f"n > {meet['taxi'] / 1e6:.1f}e6 (taxi), {meet['ab'] / 1e6:.1f}e6 (ab)")


def _cross(values: int) -> float:
    """The n at which n² = γ·n·ln ln n."""
    n = float(values)
    for _ in range(100):
        n = values * math.log(math.log(n))
    return n
