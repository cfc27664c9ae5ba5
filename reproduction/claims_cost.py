"""Claims 1 to 12: cost against size, and what the optimisations save [MATHS §14.4].

The names in capitals are their tolerances, which `claims_paper.py` puts into words.
"""

from __future__ import annotations

import math

from reproduction.claims import Evidence, Finding, Range, epsilons, graded
from reproduction.drawing import slope
from reproduction.lab import FULL, PAPER
from reproduction.size import GREEDY
from reproduction.sweep import Row, number, one, only
from reproduction.variants import VARIANT
from reproduction.wording import power

SETS = ("taxi", "ab")

QUADRATIC, LINEAR, NEARLY_LINEAR = Range(1.99, 2.01), Range(0.97, 1.03), Range(1.02, 1.05)
NEAR_FORMULA = 0.002
ORDER = Range(10, 50)
TWO_ORDERS, THREE_ORDERS = Range(100), Range(1_000)
AS_BASIC = 0.1
TAXI_SAVED = 0.5
LOOSE_SAVED, STRICT_SAVED = Range(0.10, 0.25), Range(0.07, 0.18)
SORTED = {"ab": 8.0e6, "taxi": 2.0e9}
SORTED_SHARE = 0.6
SORTED_MOST = {"ab": 0.001, "taxi": 0.02}
SORTED_DEAREST = 0.06
PRUNED_SAVED, PRUNED_OFF = 5.0e6, 0.4
RECALL, RECALL_AB, RECALL_AB_16 = 0.95, 0.92, 0.938
SPREAD_MOST = 1.4


def slopes(e: Evidence) -> Finding:
    """Claim 1."""
    found, quadratic, linear, excuses = [], True, True, []
    for data in SETS:
        days = e.size.days(data)
        all_pairs, cleaned, expanded = (
            _slope([one(e.of("size"), data=data, days=d, method=method) for d in days])
            for method in ("all-pairs", GREEDY, "psi-expand")
        )
        lines = [
            _slope([e.measured(data, d, epsilon, method) for d in days])
            for method in ("basic", "laplace")
            for epsilon in epsilons()
        ]
        quadratic &= all_pairs in QUADRATIC
        if not all(line in LINEAR for line in lines):
            excuses.append(e.excuse(data))
        linear &= _expanded(e, data, expanded)
        found.append(
            f"{data}: APC {all_pairs:.3f} ({cleaned:.3f} with GMC), PSI+X {expanded:.3f}, LP "
            f"{min(lines):.3f} to {max(lines):.3f}"
        )
    known = excuses[0] if excuses and all(excuses) and quadratic and linear else ""
    return graded(quadratic and linear and not excuses, "; ".join(found), quadratic, known)


def _slope(rows: list[Row]) -> float:
    return slope(rows, "n", "cost")


def _expanded(e: Evidence, data: str, found: float) -> bool:
    """γ·n·ln ln n grows as n to the power 1 + 1/(ln n · ln ln n); at the paper's sizes 1.02 to 1.05."""
    if e.size == FULL:
        return found in NEARLY_LINEAR
    days = e.size.days(data)
    log = math.log(e.size.per_day(data) * math.sqrt(days[0] * days[-1]))
    return abs(found - 1 - 1 / (log * math.log(log))) <= NEAR_FORMULA


def order(e: Evidence) -> Finding:
    """Claim 2."""
    broken, below, excuses, total = [], [], [], 0
    for data in SETS:
        for days in e.size.days(data):
            real = e.baseline(data, days, "non-private")
            costs = [e.baseline(data, days, "psi-expand"), e.baseline(data, days, "all-pairs")]
            costs += [e.cost(data, days, epsilon, "basic") for epsilon in epsilons()]
            total += 1
            if [*costs, real] != sorted([*costs, real], reverse=True):
                broken.append(f"{data} T = {days}")
                excuses.append(e.excuse(data))
            below += [data] if e.cost(data, days, 1.6) < real else []
    ours = f"broken at {', '.join(broken)}" if broken else "basic LP: at every T, both data sets"
    dearer, known = _dearer(e)
    if dearer:
        ours += f"; both with GMC, LP costs more than APC on {dearer}"
    if below:
        ours += f"; LP(1.6) with GMC is below np, which is without ({' and '.join(sorted(set(below)))})"
    if broken:
        known = excuses[0] if all(excuses) else ""
    return graded(not broken and not dearer, ours, len(broken) < total, known)


def _dearer(e: Evidence) -> tuple[str, str]:
    """Where LP with greedy costs more than all pairs with greedy, and why, if that is known."""
    found: dict[str, list[int]] = {}
    reasons = []
    for data in SETS:
        for epsilon in epsilons():
            for days in e.size.days(data):
                if e.gains(data, days, epsilon).greedy < 1:
                    found.setdefault(f"{data}, ε = {epsilon:g}", []).append(days)
                    reasons.append(e.outweighed(data, days, epsilon, 1) or e.excuse(data))
    where = " and ".join(f"{name}, T = {', '.join(map(str, days))}" for name, days in found.items())
    return where, reasons[0] if reasons and all(reasons) else ""


def taxi_strict(e: Evidence) -> Finding:
    """Claim 3."""
    return _factor(e, "taxi", 1, 0.1, ORDER)


def taxi_large(e: Evidence) -> Finding:
    """Claim 4."""
    return _factor(e, "taxi", e.size.taxi_days[-1], 0.1, TWO_ORDERS)


def _factor(e: Evidence, data: str, days: int, epsilon: float, due: Range) -> Finding:
    """LP so many times below all pairs; with greedy on both sides only if the dummies allow it."""
    gains = e.gains(data, days, epsilon)
    known = e.outweighed(data, days, epsilon, due.least) if gains.basic in due else ""
    return graded(
        gains.all_in(due), f"T = {days}: {gains}", gains.any_in(due), explanation=known or e.excuse(data)
    )


def taxi_loose(e: Evidence) -> Finding:
    """Claim 5."""
    days = e.size.taxi_days
    gains = [e.gains("taxi", d, 1.6) for d in days]
    reasons = [e.outweighed("taxi", d, 1.6, THREE_ORDERS.least) for d in days]
    papers = all(each.papers in THREE_ORDERS for each in gains)
    known = (
        f"Basic only for many days: the cost is linear in T, all pairs is quadratic. {reasons[-1]}"
        if papers and gains[-1].basic in THREE_ORDERS and all(reasons)
        else e.excuse("taxi")
    )
    ours = "; ".join(f"T = {d}: {each}" for d, each in ((days[0], gains[0]), (days[-1], gains[-1])))
    return graded(all(each.all_in(THREE_ORDERS) for each in gains), ours, papers, known)


def ab_orders(e: Evidence) -> Finding:
    """Claim 6."""
    days = e.size.ab_days[-1]
    gains = e.gains("ab", days, 1.6)
    bound = e.baseline("ab", days, "all-pairs") / e.baseline("ab", days, "non-private")
    alike = abs(gains.greedy / gains.basic - 1) <= AS_BASIC
    known = (
        f"The real pairs in the bins alone are 1/{bound:.0f} of all pairs, and GMC saves about as much of "
        "all pairs as of LP."
    )
    scaled = gains.papers * FULL.ab_days[-1] / days
    if days < FULL.ab_days[-1] and scaled in TWO_ORDERS:
        known += f" At this size: the factor grows with T, if LP alone has GMC to {scaled:.0f} at T = 16."
    explained = alike and bound < TWO_ORDERS.least and scaled in TWO_ORDERS
    return graded(
        gains.all_in(TWO_ORDERS),
        f"T = {days}: {gains}",
        gains.any_in(TWO_ORDERS),
        explanation=known if explained else e.excuse("ab"),
    )


def saving(e: Evidence, data: str, days: int, epsilon: float) -> float:
    """The share of the basic cost that GMC saves."""
    return 1 - e.variant(data, days, epsilon, "basic+GMC") / e.variant(data, days, epsilon, "basic")


def taxi_greedy(e: Evidence) -> Finding:
    """Claim 7."""
    savings = {d: [saving(e, "taxi", d, x) for x in epsilons()] for d in e.variant_days("taxi")}
    falls = all(0 <= s[0] < s[1] < s[2] <= 1 for s in savings.values())
    held = falls and all(s[2] > TAXI_SAVED for s in savings.values())
    ours = "; ".join(f"T = {d}: {s[2]:.0%}, {s[1]:.0%}, {s[0]:.0%}" for d, s in savings.items())
    return graded(held, ours, partly=falls, explanation=e.excuse("taxi") if falls else "")


def ab_greedy(e: Evidence) -> Finding:
    """Claim 8."""
    loose, strict = (saving(e, "ab", 1, x) for x in (1.6, 0.1))
    held = loose in LOOSE_SAVED and strict in STRICT_SAVED and loose > strict
    return graded(held, f"{loose:.1%} and {strict:.1%}", explanation=e.excuse("ab"))


def sorting(e: Evidence) -> Finding:
    """Claim 9."""
    changes, reached, bounded = [], True, True
    for data, paper in SORTED.items():
        days = e.variant_days(data)[-1]
        unsorted, ordered = (e.variant(data, days, 0.1, v) for v in ("basic+GMC", "basic+GMC+S"))
        saved, due = unsorted - ordered, paper * days / 16
        said = f"saves {power(saved)}" if saved >= 0 else f"costs {power(-saved)} more"
        changes.append(f"{said} ({data}, T = {days})")
        reached &= saved >= SORTED_SHARE * due
        left = unsorted - e.expected(data, days, 0.1).dummies
        bounded &= abs(saved) <= SORTED_MOST[data] * unsorted
        bounded &= data == "ab" or left < SORTED_SHARE * due
    most, where = _dearest(e)
    known = (
        "No match of AB crosses bins, so the order of its bins cannot change the cost by 0.1 %. On Taxi GMC "
        "has removed so much that all but the pairs of dummies, which no order saves, is less than the "
        f"paper's saving. Sorting costs up to {most:.1%} more ({where})."
    )
    most_known = SORTED_DEAREST if e.size == FULL else SORTED_DEAREST + 0.02
    return graded(reached, ", ".join(changes), explanation=known if bounded and most <= most_known else "")


def _dearest(e: Evidence) -> tuple[float, str]:
    """The most that sorting costs beyond GMC alone, as a share, over all that was run, and where."""
    found = []
    for point in only(VARIANT.points(e.size), variant="basic+GMC"):
        data, days, x, noise = str(point["data"]), int(point["days"]), point["epsilon"], str(point["noise"])
        alone, ordered = (e.variant(data, days, x, v, noise=noise) for v in ("basic+GMC", "basic+GMC+S"))
        whose = "the paper's noise" if noise == PAPER else "our noise"
        found.append((ordered / alone - 1, f"{data}, T = {days}, ε = {x}, {whose}"))
    return max(found)


def pruning(e: Evidence) -> Finding:
    """Claim 10."""
    days = e.variant_days("ab")[-1]
    saved = e.variant("ab", days, 0.1, "basic+GMC+S") - e.variant("ab", days, 0.1, "basic+GMC+SP")
    due = PRUNED_SAVED * days / 16
    ours = f"{power(saved)} at T = {days}, where {power(due)} is due"
    return graded(abs(saved / due - 1) <= PRUNED_OFF, ours, explanation=e.excuse("ab"))


def pruned_recall(e: Evidence) -> Finding:
    """Claim 11."""
    taxi, ab = ({d: _recalls(e, data, d) for d in e.variant_days(data)} for data in SETS)
    ours = "; ".join(
        f"{data} T = {d}: {min(mean):.4f} to {max(mean):.4f} (least run {min(least):.4f})"
        for data, found in (("taxi", taxi), ("ab", ab))
        for d, (mean, least) in found.items()
    )
    high = all(min(mean) > RECALL for mean, _ in taxi.values())
    held = high and all(min(mean) > RECALL for mean, _ in ab.values())
    near = all(min(mean) >= (RECALL_AB_16 if d == 16 else RECALL_AB) for d, (mean, _) in ab.items())
    known = "The pruned bins of AB hold a few per cent of its matches: its bins are few and differ in size."
    explained = (known if near else e.excuse("ab")) if high or e.excuse("taxi") else ""
    return graded(held, ours, partly=high, explanation=explained)


def _recalls(e: Evidence, data: str, days: int) -> tuple[list[float], list[float]]:
    """For every ε the mean recall, and that of the worst run."""
    mean, least = (
        [e.variant(data, days, x, "basic+GMC+SP", measure) for x in epsilons()]
        for measure in ("recall", "recall_least")
    )
    return mean, least


def spread(e: Evidence) -> Finding:
    """Claim 12."""
    rows = [one(e.of("spread"), greedy=greedy) for greedy in ("no", "yes")]
    ratios = [number(row, "pruned_sd") / number(row, "cost_sd") for row in rows]
    parts = [
        f"× {ratio:.2f} ({number(row, 'ratio_low'):.2f} to {number(row, 'ratio_high'):.2f})"
        for ratio, row in zip(ratios, rows, strict=True)
    ]
    runs = int(rows[0]["runs"])
    ours = (
        f"standard deviations {parts[0]}, with GMC {parts[1]}: 95 % by {runs} runs at T = {rows[0]['days']}"
    )
    known = (
        "Which bins fall below the percentile differs from run to run, so what is saved varies by itself "
        f"(standard deviation {power(number(rows[0], 'saved_sd'))} beside "
        f"{power(number(rows[0], 'cost_sd'))}): the two variances add up."
    )
    explained = all(1 < ratio < SPREAD_MOST for ratio in ratios if ratio >= 1) and all(
        map(_variances_add, rows)
    )
    return graded(max(ratios) < 1, ours, partly=min(ratios) < 1, explanation=known if explained else "")


def _variances_add(row: Row) -> bool:
    """Whether the pruned cost varies like two independent parts, as well as so many runs can tell."""
    both = math.hypot(number(row, "cost_sd"), number(row, "saved_sd"))
    return abs(number(row, "pruned_sd") / both - 1) <= 1.5 / math.sqrt(number(row, "runs"))
