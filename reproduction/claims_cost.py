"""Claims 1 to 12: cost against size, and what the optimisations save [MATHS §14.4]."""

from __future__ import annotations

import math
from itertools import pairwise

from reproduction.claims import HALF, Claim, Evidence, Means, Part, Range, as_named, epsilons, orders
from reproduction.drawing import slope
from reproduction.settings import DEFAULT
from reproduction.size import GREEDY
from reproduction.sweep import Row, number, one
from reproduction.wording import plain, power

SETS = ("taxi", "ab")
SLOPE, ABOVE, RECALL = 0.1, Range(1), Range(0.95)
PRUNED_SHARE = 0.1
"""Of the pairs of bins, the smallest, that Sort & Prune leaves out."""
SORTED = {"ab": 8.0e6, "taxi": 2.0e9}


def last(e: Evidence, data: str) -> int:
    """The largest number of days."""
    return e.size.days(data)[-1]


def _slopes(data: str) -> tuple[Part, ...]:
    return (
        Part(f"{data}, APC", Range(2 - SLOPE, 2 + SLOPE), lambda e: _baseline_slope(e, data, "all-pairs")),
        Part(f"{data}, PSI+X", Range(1 - SLOPE, 1 + SLOPE), lambda e: _baseline_slope(e, data, "psi-expand")),
        Part(f"{data}, LP, the least", Range(1 - SLOPE, 1 + SLOPE), lambda e: min(_lines(e, data))),
        Part(f"{data}, LP, the most", Range(1 - SLOPE, 1 + SLOPE), lambda e: max(_lines(e, data))),
    )


def _baseline_slope(e: Evidence, data: str, method: str) -> float:
    return slope(
        [one(e.of("size"), data=data, days=d, method=method) for d in e.size.days(data)], "n", "cost"
    )


def _lines(e: Evidence, data: str) -> list[float]:
    """The slope of every line of LP, basic and with GMC."""
    return [
        slope([{"n": d, "cost": e.cost(data, d, epsilon, variant)} for d in e.size.days(data)], "n", "cost")
        for variant in ("basic", DEFAULT)
        for epsilon in epsilons()
    ]


def _least_step(e: Evidence, data: str) -> float:
    """The least factor between neighbours of PSI+X > APC > LP(0.1) > LP(0.4) > LP(1.6) > np, over all T."""
    found = []
    for days in e.size.days(data):
        costs = [e.baseline(data, days, "psi-expand"), e.baseline(data, days, "all-pairs")]
        costs += [e.cost(data, days, epsilon, "basic") for epsilon in epsilons()]
        costs.append(e.baseline(data, days, "non-private"))
        found += [more / less for more, less in pairwise(costs)]
    return min(found)


def _least_greedy(e: Evidence, data: str) -> float:
    return min(e.greedy(data, days, x) for days in e.size.days(data) for x in epsilons())


AT_MOST = "at most, by dummies"
"""How many times cheaper than all pairs LP could be, both with GMC."""


def by_dummies(means: Means, due: float, also: str = "") -> str:
    """That the pairs of dummies alone forbid the factor with GMC on both sides, where they do."""
    most = means[AT_MOST]
    if most >= due:
        return ""
    return (
        f"{also}GMC removes no dummies: their pairs alone keep it at {plain(most)} × with GMC on both sides."
    )


def _gains(data: str, epsilon: float, k: int, over: bool, at_last: bool) -> tuple[Part, ...]:
    """APC/LP at one T: like with like, and as the paper compares."""
    where = "largest T" if at_last else "T = 1"

    def days(e: Evidence) -> int:
        return last(e, data) if at_last else 1

    return (
        orders(f"{where}, basic", k, lambda e: e.basic(data, days(e), epsilon), over),
        orders(f"{where}, both with GMC", k, lambda e: e.greedy(data, days(e), epsilon), over),
        orders(f"{where}, LP alone with GMC", k, lambda e: e.papers(data, days(e), epsilon), over),
    )


def _at_most(data: str, epsilon: float, at_last: bool = False) -> Part:
    return Part(AT_MOST, Range(), lambda e: e.dummies(data, last(e, data) if at_last else 1, epsilon))


def _explain_loose(means: Means) -> str:
    """Claim 5: without greedy the real pairs in the bins forbid it on one day, with it the dummies do."""
    real = means["APC/np"]
    if real >= 1000 / HALF:
        return ""
    bins = f"The real pairs in the bins alone keep basic LP at {plain(real)} × at T = 1. "
    return by_dummies(means, 1000 / HALF, bins)


def saving(e: Evidence, data: str, days: int, epsilon: float) -> float:
    """The share of the basic cost that GMC saves."""
    return 1 - e.variant(data, days, epsilon, "basic+GMC") / e.variant(data, days, epsilon, "basic")


def _falling(e: Evidence, days: int) -> float:
    """The least by which the saving falls from one ε to the next."""
    return min(more - less for less, more in pairwise(saving(e, "taxi", days, x) for x in epsilons()))


def _explain_saving(means: Means) -> str:
    """Claim 8: GMC saves of LP at ε = 1.6 what it saves of all pairs, which has no bins and no dummies; with
    more dummies it saves less, but no less than half of it."""
    whole = means["of APC"]
    if abs(means["ε = 1.6"] - whole) > 0.05 or not whole / 2 <= means["ε = 0.1"] <= means["ε = 1.6"]:
        return ""
    return (
        "How much GMC saves is how much of the pairs is of records that match, and that is the sample's: of "
        f"all pairs, without bins and dummies, it saves {whole:.0%}."
    )


def _sorted(e: Evidence, data: str) -> float:
    """What sorting saves beside GMC."""
    days = last(e, data)
    return e.variant(data, days, 0.1, "basic+GMC") - e.variant(data, days, 0.1, "basic+GMC+S")


def _explain_sorting(means: Means) -> str:
    """Claim 9: in AB there is nothing to sort for, on Taxi too little is left."""
    left = means["left of Taxi"]
    if abs(means["AB"] / means["cost of AB"]) > 0.001 or left >= SORTED["taxi"]:
        return ""
    return (
        "No match of AB crosses bins, so the order of its bins cannot change the cost by 0.1 %. On Taxi GMC "
        f"has removed so much that all but the pairs of dummies, which no order saves, is {power(left)}: "
        "less than the paper's saving."
    )


def _pruned(e: Evidence) -> float:
    days = last(e, "ab")
    return e.variant("ab", days, 0.1, "basic+GMC+S") - e.variant("ab", days, 0.1, "basic+GMC+SP")


def _explain_pruning(means: Means) -> str:
    """Claim 10: a tenth of the pairs of bins, the smallest: more than their dummies, less than a tenth."""
    least, most = (PRUNED_SHARE * means[name] for name in ("dummies alone", "cost"))
    if not least < means["saved"] < most:
        return ""
    return (
        "What is pruned is a tenth of the pairs of bins, the smallest, so it is what dummies and small "
        f"brands make it: more than the dummies of a tenth ({power(least)}), less than a tenth of all "
        f"({power(most)})."
    )


def _recall(e: Evidence, data: str, days: int) -> float:
    """The least recall over ε where pruned."""
    return min(e.variant(data, days, x, "basic+GMC+SP", "recall") for x in epsilons())


def _explain_recall(means: Means) -> str:
    """Claim 11: what the pruned bins of AB hold, which are a tenth of all."""
    if min(means["ab, T = 1"], means["ab, largest T"]) < 1 - PRUNED_SHARE:
        return ""
    return (
        "The pruned bins of AB, a tenth of all and the smallest, hold a few per cent of its matches: its "
        "bins are few and differ in size."
    )


def _spread(e: Evidence, greedy: str) -> Row:
    return one(e.of("spread"), greedy=greedy)


def _ratio(row: Row) -> float:
    return number(row, "pruned_sd") / number(row, "cost_sd")


def _added(row: Row) -> float:
    """1 where the variances of the cost and of what is saved add up."""
    return number(row, "pruned_sd") / math.hypot(number(row, "cost_sd"), number(row, "saved_sd"))


def _explain_spread(means: Means) -> str:
    if any(abs(means[name] - 1) > 0.1 for name in ("added", "added, with GMC")):
        return ""
    return (
        "Which bins fall below the percentile differs from run to run, so what is saved varies by itself: "
        "the two variances add up."
    )


COST = (
    Claim(
        1, "APC has slope 2, PSI+X and LP slightly above 1",
        (*_slopes("taxi"), *_slopes("ab")), days=True,
    ),
    Claim(
        2, "PSI+X > APC > LP(0.1) > LP(0.4) > LP(1.6) > np",
        (
            Part("taxi, least step, basic", ABOVE, lambda e: _least_step(e, "taxi")),
            Part("ab, least step, basic", ABOVE, lambda e: _least_step(e, "ab")),
            Part("taxi, least APC/LP, both with GMC", ABOVE, lambda e: _least_greedy(e, "taxi")),
            Part("ab, least APC/LP, both with GMC", ABOVE, lambda e: _least_greedy(e, "ab")),
        ),
        lambda means: by_dummies(means, 1) if means["ab, least APC/LP, both with GMC"] >= 1 else "",
        explained=("taxi, least APC/LP, both with GMC",),
        beside=(_at_most("taxi", 0.1),), days=True,
    ),
    Claim(
        3, "Taxi, n = 10^5.5, ε = 0.1: an order below APC",
        _gains("taxi", 0.1, 1, over=False, at_last=False),
        lambda means: by_dummies(means, 10 / HALF), ("T = 1, both with GMC",),
        (_at_most("taxi", 0.1),), ("taxi",),
    ),
    Claim(
        4, "Taxi, 16 times the data, ε = 0.1: over 2 orders",
        _gains("taxi", 0.1, 2, over=True, at_last=True),
        lambda means: by_dummies(means, 100), ("largest T, both with GMC",),
        (_at_most("taxi", 0.1, at_last=True),), ("taxi",), days=True,
    ),
    Claim(
        5, "Taxi, ε = 1.6: 3 orders at all sizes",
        (
            *_gains("taxi", 1.6, 3, over=False, at_last=False),
            *_gains("taxi", 1.6, 3, over=False, at_last=True),
        ),
        _explain_loose, ("T = 1, basic", "T = 1, both with GMC", "largest T, both with GMC"),
        (
            _at_most("taxi", 1.6, at_last=True),
            Part(
                "APC/np", Range(),
                lambda e: e.baseline("taxi", 1, "all-pairs") / e.baseline("taxi", 1, "non-private"),
            ),
        ),
        ("taxi",), days=True,
    ),
    Claim(
        6, "AB: up to 2 orders", _gains("ab", 1.6, 2, over=False, at_last=True), about=("ab",), days=True
    ),
    Claim(
        7, "Taxi: GMC saves over 50 % at ε = 1.6, less as ε falls",
        (
            Part("T = 1", Range(0.5), lambda e: saving(e, "taxi", 1, 1.6)),
            Part("T = 1, least fall", Range(0), lambda e: _falling(e, 1)),
            Part("largest T", Range(0.5), lambda e: saving(e, "taxi", last(e, "taxi"), 1.6)),
            Part("largest T, least fall", Range(0), lambda e: _falling(e, last(e, "taxi"))),
        ),
        about=("taxi",), days=True,
    ),
    Claim(
        8, "AB: GMC saves 16 % (ε = 1.6), 11 % (ε = 0.1)",
        (
            as_named("ε = 1.6", 0.16, lambda e: saving(e, "ab", 1, 1.6)),
            as_named("ε = 0.1", 0.11, lambda e: saving(e, "ab", 1, 0.1)),
        ),
        _explain_saving,
        beside=(
            Part(
                "of APC", Range(),
                lambda e: 1 - e.baseline("ab", 1, GREEDY) / e.baseline("ab", 1, "all-pairs"),
            ),
        ),
        about=("ab",),
    ),
    Claim(
        9, "T = 16, ε = 0.1: S saves 8.0e6 (AB), 2.0e9 (Taxi)",
        (
            as_named("AB", SORTED["ab"], lambda e: _sorted(e, "ab")),
            as_named("Taxi", SORTED["taxi"], lambda e: _sorted(e, "taxi")),
        ),
        _explain_sorting,
        beside=(
            Part("cost of AB", Range(), lambda e: e.variant("ab", last(e, "ab"), 0.1, "basic+GMC")),
            Part(
                "left of Taxi", Range(),
                lambda e: e.variant("taxi", last(e, "taxi"), 0.1, "basic+GMC")
                - e.expected("taxi", last(e, "taxi"), 0.1).dummies,
            ),
        ),
        days=True,
    ),
    Claim(
        10, "AB, T = 16, ε = 0.1: SP saves 5.0e6 against S",
        (as_named("saved", 5.0e6, _pruned),),
        _explain_pruning,
        beside=(
            Part("cost", Range(), lambda e: e.variant("ab", last(e, "ab"), 0.1, "basic+GMC+S")),
            Part("dummies alone", Range(), lambda e: e.expected("ab", last(e, "ab"), 0.1).dummies),
        ),
        about=("ab",), days=True,
    ),
    Claim(
        11, "recall above 0.95 at the 10 % percentile",
        (
            Part("taxi, T = 1", RECALL, lambda e: _recall(e, "taxi", 1)),
            Part("taxi, largest T", RECALL, lambda e: _recall(e, "taxi", last(e, "taxi"))),
            Part("ab, T = 1", RECALL, lambda e: _recall(e, "ab", 1)),
            Part("ab, largest T", RECALL, lambda e: _recall(e, "ab", last(e, "ab"))),
        ),
        _explain_recall, ("ab, T = 1", "ab, largest T"), days=True,
    ),
    Claim(
        12, "AB, T = 16, ε = 0.1: SP lowers the variance",
        (
            Part("standard deviation ×", Range(0, 1), lambda e: _ratio(_spread(e, "no"))),
            Part("with GMC ×", Range(0, 1), lambda e: _ratio(_spread(e, "yes"))),
        ),
        _explain_spread,
        beside=(
            Part("added", Range(), lambda e: _added(_spread(e, "no"))),
            Part("added, with GMC", Range(), lambda e: _added(_spread(e, "yes"))),
        ),
        about=("ab",), days=True,
    ),
)  # fmt: skip
