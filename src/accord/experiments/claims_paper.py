"""The checks of the paper's 21 claims, in the order of MATHS §2.3, with its tolerances."""

from __future__ import annotations

import math

from accord.experiments.cells import number, one, only
from accord.experiments.claims import Claim, Evidence, Finding, epsilons, graded
from accord.experiments.drawing import slope
from accord.experiments.lab import PAPER
from accord.protocols.balls import expansion

MILLISECONDS = 77
"""The paper's time for one comparison."""


def slopes(e: Evidence) -> Finding:
    """Claim 1."""
    rows, found = e.rows["size"], []
    quadratic, linear, excuses = True, True, []
    for data in ("taxi", "ab"):
        here = only(rows, data=data)
        all_pairs = slope(only(here, method="all-pairs"), "n", "cost")
        expanded = slope(only(here, method="psi-expand"), "n", "cost")
        lines = [
            slope(only(here, method=method, prune=0, noise=PAPER, epsilon=epsilon), "n", "cost")
            for method in ("basic", "laplace")
            for epsilon in epsilons()
        ]
        quadratic &= abs(all_pairs - 2) <= 0.01
        if not (1.02 <= expanded <= 1.06 and all(abs(line - 1) <= 0.03 for line in lines)):
            linear = False
            excuses.append(e.excuse(data))
        found.append(
            f"{data}: APC {all_pairs:.3f}, PSI+X {expanded:.3f}, LP {min(lines):.3f} to {max(lines):.3f}"
        )
    explained = quadratic and all(excuses)
    return graded(quadratic and linear, "; ".join(found), partly=quadratic,
                  explanation=excuses[0] if explained and excuses else "")  # fmt: skip


def order(e: Evidence) -> Finding:
    """Claim 2."""
    broken, excuses = [], []
    for data in ("taxi", "ab"):
        for days in e.size.days(data):
            costs = [e.baseline(data, days, "psi-expand"), e.baseline(data, days, "all-pairs")]
            costs += [e.cost(data, days, epsilon, "basic") for epsilon in epsilons()]
            costs.append(e.baseline(data, days, "non-private"))
            if costs != sorted(costs, reverse=True):
                broken.append(f"{data} T = {days}")
                excuses.append(e.excuse(data))
    ours = f"broken at {', '.join(broken)}" if broken else "at every T, both data sets"
    return graded(not broken, ours, partly=True, explanation=excuses[0] if broken and all(excuses) else "")


def gain(e: Evidence, data: str, days: int, epsilon: float, method: str = "laplace") -> float:
    """How many times cheaper than all pairs, as a power of ten."""
    return math.log10(e.baseline(data, days, "all-pairs") / e.cost(data, days, epsilon, method))


def taxi_strict(e: Evidence) -> Finding:
    """Claim 3."""
    basic, greedy = gain(e, "taxi", 1, 0.1, "basic"), gain(e, "taxi", 1, 0.1)
    held = 1 <= basic <= 1.7 and 1 <= greedy <= 1.7
    return graded(held, f"{basic:.2f} basic, {greedy:.2f} with GMC", explanation=e.excuse("taxi"))


def taxi_large(e: Evidence) -> Finding:
    """Claim 4."""
    days = e.size.taxi_days[-1]
    found = gain(e, "taxi", days, 0.1)
    return graded(found >= 2, f"{found:.2f} at T = {days}", explanation=e.excuse("taxi"))


def taxi_loose(e: Evidence) -> Finding:
    """Claim 5."""
    basic = [gain(e, "taxi", days, 1.6, "basic") for days in e.size.taxi_days]
    greedy = [gain(e, "taxi", days, 1.6) for days in e.size.taxi_days]
    known = "Without GMC only for many days: the cost is linear in T, all pairs is quadratic."
    return graded(
        min(basic) >= 3,
        f"basic {basic[0]:.1f} to {basic[-1]:.1f}, with GMC {min(greedy):.1f} and more",
        partly=min(greedy) >= 3,
        explanation=e.excuse("taxi") or (known if min(greedy) >= 3 else ""),
    )


def ab_orders(e: Evidence) -> Finding:
    """Claim 6."""
    days = e.days
    basic, greedy = 10 ** gain(e, "ab", days, 1.6, "basic"), 10 ** gain(e, "ab", days, 1.6)
    scaled = greedy * 16 / days
    known = f"At this size: the factor grows with T, to {scaled:.0f} at T = 16."
    known = known if scaled >= 100 else e.excuse("ab")
    return graded(
        greedy >= 100, f"T = {days}: {basic:.0f} × basic, {greedy:.0f} × with GMC", explanation=known
    )


def taxi_greedy(e: Evidence) -> Finding:
    """Claim 7."""
    savings = {
        days: [
            1 - e.variant("taxi", days, x, "basic+GMC") / e.variant("taxi", days, x, "basic")
            for x in epsilons()
        ]
        for days in e.variant_days("taxi")
    }
    held = all(s[-1] > 0.5 and s[0] < s[1] < s[2] for s in savings.values())
    falls = all(s[0] < s[1] < s[2] for s in savings.values())
    ours = "; ".join(f"T = {d}: {s[2]:.0%}, {s[1]:.0%}, {s[0]:.0%}" for d, s in savings.items())
    return graded(held, ours, partly=falls, explanation=e.excuse("taxi"))


def ab_greedy(e: Evidence) -> Finding:
    """Claim 8."""
    loose, strict = (
        1 - e.variant("ab", 1, x, "basic+GMC") / e.variant("ab", 1, x, "basic") for x in (1.6, 0.1)
    )
    held = 0.10 <= loose <= 0.25 and 0.07 <= strict <= 0.18 and loose > strict
    return graded(held, f"{loose:.1%} and {strict:.1%}", explanation=e.excuse("ab"))


def sorting(e: Evidence) -> Finding:
    """Claim 9."""
    changes, most, reached = [], 0.0, True
    for data, due in (("ab", 8.0e6), ("taxi", 2.0e9)):
        days = e.variant_days(data, ("basic+GMC", "basic+GMC+S"), (0.1,))[-1]
        plain, ordered = (e.variant(data, days, 0.1, v) for v in ("basic+GMC", "basic+GMC+S"))
        changes.append(f"{plain - ordered:.2g} ({data}, T = {days})")
        most = max(most, ordered / plain - 1)
        reached &= plain - ordered >= 0.6 * due * days / 16
    known = (
        "No match of AB crosses bins, so their order can hardly change the cost; on Taxi GMC has removed "
        "nearly all real records either way. Sorting never costs over 2 % more."
    )
    return graded(reached, "saves " + ", ".join(changes), explanation=known if most <= 0.02 else "")


def pruning(e: Evidence) -> Finding:
    """Claim 10."""
    days = e.variant_days("ab")[-1]
    saved = e.variant("ab", days, 0.1, "basic+GMC+S") - e.variant("ab", days, 0.1, "basic+GMC+SP")
    due = 5.0e6 * days / 16
    ours = f"{saved:.2g} at T = {days}, where {due:.2g} is due"
    return graded(abs(saved / due - 1) <= 0.4, ours, explanation=e.excuse("ab"))


def pruned_recall(e: Evidence) -> Finding:
    """Claim 11."""
    recalls = {
        data: [
            e.variant(data, days, x, "basic+GMC+SP", "recall")
            for days in e.variant_days(data)
            for x in epsilons()
        ]
        for data in ("taxi", "ab")
    }
    ours = ", ".join(f"{data} {min(found):.3f} to {max(found):.3f}" for data, found in recalls.items())
    known = "The pruned bins of AB hold a few per cent of its matches: its bins are few and differ in size."
    held = min(map(min, recalls.values())) > 0.95
    near = min(recalls["ab"]) >= 0.92 and (min(recalls["taxi"]) > 0.95 or bool(e.excuse("taxi")))
    return graded(
        held,
        ours,
        partly=max(map(max, recalls.values())) > 0.95,
        explanation=known if near else e.excuse("ab"),
    )


def spread(e: Evidence) -> Finding:
    """Claim 12."""
    days = e.variant_days("ab")[-1]
    pairs = [("basic+SP", "basic"), ("basic+GMC+SP", "basic+GMC")]
    ratios = [
        e.variant("ab", days, 0.1, less, "cost_sd") / e.variant("ab", days, 0.1, more, "cost_sd")
        for less, more in pairs
    ]
    known = (
        "The spread of so few runs is itself uncertain by a quarter and more; the difference is within that."
    )
    unclear = all(0.4 <= ratio <= 2.5 for ratio in ratios)
    return graded(
        max(ratios) < 1,
        f"standard deviations × {ratios[0]:.2f} and × {ratios[1]:.2f} at T = {days}",
        partly=min(ratios) < 1,
        explanation=known if unclear else "",
    )


def delta_little(e: Evidence) -> Finding:
    """Claim 13."""
    moved = e.ratio("taxi", 1.6, 1e-9) - e.ratio("taxi", 1.6, 1e-5)
    return graded(moved <= 0.001, f"+{moved:.5f}", explanation=e.excuse("taxi"))


def epsilon_much(e: Evidence) -> Finding:
    """Claim 14."""
    found = e.ratio("taxi", 0.1)
    known = (
        "0.07 cannot be reached at δ = 1e-5 with 300,000 records: 18·η·n, η² for each pair of bins and the "
        "real pairs fix the basic ratio near 0.05."
    )
    return graded(0.06 <= found <= 0.08, f"{found:.3f}", partly=0.02 <= found <= 0.07,
                  explanation=e.excuse("taxi") or (known if 0.02 <= found <= 0.07 else ""))  # fmt: skip


def hundredfold(e: Evidence) -> Finding:
    """Claim 15."""
    full = {data: 1 / e.ratio(data, 0.1) for data in ("taxi", "ab")}
    high = [
        1 / number(row, "ratio")
        for row in only(e.rows["tradeoff"], data="taxi", epsilon=0.1, delta=1e-5, noise=PAPER)
        if number(row, "recall") >= 0.95
    ]
    best = max(high, default=0.0)
    known = (
        "At full recall the dummies alone cost more; the paper's own hours (80 h of 22 days) say so for AB."
    )
    explained = e.excuse("taxi") or (known if 10 <= full["taxi"] < 100 else "")
    return graded(
        min(full.values()) >= 100,
        f"full recall: taxi {full['taxi']:.2g} ×, ab {full['ab']:.2g} ×; taxi at recall ≥ 0.95: {best:.3g} ×",
        partly=best >= 100,
        explanation=explained,
    )


def lines_shift(e: Evidence) -> Finding:
    """Claim 16."""
    ordered, stronger = True, True
    for data in ("taxi", "ab"):
        percentiles = {int(row["prune"]) for row in only(e.rows["tradeoff"], data=data, noise=PAPER)}
        for prune in percentiles:
            costs = [number(e.tradeoff(data, x, 1e-5, prune), "cost") for x in epsilons()]
            ordered &= costs == sorted(costs, reverse=True)
        by_epsilon = e.ratio(data, 0.1) / e.ratio(data, 1.6)
        stronger &= by_epsilon > e.ratio(data, 1.6, 1e-9) / e.ratio(data, 1.6)
    return graded(
        ordered and stronger, "at every percentile, both data sets" if ordered else "not everywhere"
    )


def steep(e: Evidence) -> Finding:
    """Claim 17."""
    first = e.tradeoff("ab", 1.6, 1e-5, 90)
    recall = number(first, "recall")
    share = number(first, "ratio") / e.ratio("ab", 1.6)
    ours = f"recall {recall:.2f} at the 90 % percentile, with {share:.0%} of the cost"
    return graded(recall >= 0.5, ours, explanation=e.excuse("ab"))


def psi_recall(e: Evidence) -> Finding:
    """Claim 18."""
    found = number(one(e.rows["mapping"], method="psi"), "recall")
    return graded(0.04 <= found <= 0.16, f"{found:.1%}", explanation=e.excuse("ab"))


def hours(e: Evidence) -> Finding:
    """Claim 19."""
    days = e.baseline("ab", 1, "all-pairs") * MILLISECONDS / 1e3 / 86_400
    cost = e.cost("ab", 1, 1.6)
    spent = cost * MILLISECONDS / 1e3 / 3600
    held = abs(spent / 80 - 1) <= 0.15 and abs(days - 22.3) < 0.1
    ours = f"{days:.1f} days and {spent:.1f} h: {cost / 1e6:.2f} million comparisons"
    return graded(held, ours, explanation=e.excuse("ab"))


def exact(e: Evidence) -> Finding:
    """Claim 20."""
    rows = e.rows["variants"]
    complete = all(number(row, "recall") == 1 for row in rows if not str(row["variant"]).endswith("SP"))
    same = ("data", "days", "epsilon", "noise")
    basic = {tuple(row[name] for name in same): row for row in only(rows, variant="basic")}
    cheaper = all(
        number(row, "cost") <= number(basic[tuple(row[name] for name in same)], "cost")
        for row in only(rows, variant="basic+GMC")
    )
    return graded(complete and cheaper, "recall 1 without prune; GMC never costs more, on the same noise")


def crossing(e: Evidence) -> Finding:
    """Claim 21."""
    points = {data: _cross(gamma) for data, gamma in _gammas().items()}
    held = abs(points["taxi"] / 8.7e6 - 1) <= 0.02 and abs(points["ab"] / 6.5e6 - 1) <= 0.02
    return graded(held, f"n > {points['taxi']:.2g} (taxi), {points['ab']:.2g} (ab)")


def _cross(gamma: int) -> float:
    """The n at which n² = γ·n·ln ln n."""
    n = float(gamma)
    for _ in range(100):
        n = gamma * math.log(math.log(n))
    return n


def _gammas() -> dict[str, int]:
    from accord.datasets.paper import abt_buy_agreement, taxi_agreement

    agreed = {"ab": abt_buy_agreement(("x",), 1), "taxi": taxi_agreement()}
    return {data: expansion(a.rule, a.fields) for data, a in agreed.items()}


CLAIMS = (
    Claim(1, "APC has slope 2, PSI+X and LP slightly above 1", slopes),
    Claim(2, "PSI+X > APC > LP(0.1) > LP(0.4) > LP(1.6) > np", order),
    Claim(3, "Taxi, n = 10^5.5, ε = 0.1: an order below APC", taxi_strict),
    Claim(4, "Taxi, 16 times the data, ε = 0.1: over 2 orders", taxi_large),
    Claim(5, "Taxi, ε = 1.6: 3 orders at all sizes", taxi_loose),
    Claim(6, "AB: up to 2 orders", ab_orders),
    Claim(7, "Taxi: GMC saves over 50 % at ε = 1.6, less as ε falls", taxi_greedy),
    Claim(8, "AB: GMC saves 16 % (ε = 1.6), 11 % (ε = 0.1)", ab_greedy),
    Claim(9, "T = 16, ε = 0.1: S saves 8.0e6 (AB), 2.0e9 (Taxi)", sorting),
    Claim(10, "AB, T = 16, ε = 0.1: SP saves 5.0e6 against S", pruning),
    Claim(11, "recall above 0.95 at the 10 % percentile", pruned_recall),
    Claim(12, "AB, T = 16, ε = 0.1: SP lowers the variance", spread),
    Claim(13, "Taxi: δ from 1e-5 to 1e-9 moves the ratio ≤ 0.001", delta_little),
    Claim(14, "Taxi: ε from 1.6 to 0.1 raises the ratio to 0.07", epsilon_much),
    Claim(15, "even at ε = 0.1, 100 times below APC", hundredfold),
    Claim(16, "cost rises as ε falls; ε matters more than δ", lines_shift),
    Claim(17, "AB: a steep first part of the trade-off", steep),
    Claim(18, "PSI has a recall close to 10 %", psi_recall),
    Claim(19, "n = 5,000: APC 22 days, LP at ε = 1.6 80 hours", hours),
    Claim(20, "LP finds the blocked join; GMC no less, at no more cost", exact),
    Claim(21, "PSI+X beats APC for sufficiently large data only", crossing),
)
