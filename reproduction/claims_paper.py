"""The paper's 21 claims, in the order of MATHS §14.4, each with its tolerance in words and its check.

Numbers in the words are those of the checks. *In part* and *explained* stand only where they go beyond the
common rules (`claims.py`): small or generated tables excuse, and a comparison of LP with greedy to all pairs
without, the paper's, holds a claim in part.
"""

from __future__ import annotations

from reproduction import claims_cost as cost
from reproduction import claims_tradeoff as tradeoff
from reproduction.claims import Claim, Range
from reproduction.wording import power


def _percent(due: Range) -> str:
    return f"{100 * due.least:g} to {100 * due.most:g} %"


_FAIR = "basic, and both with GMC"

CLAIMS = (
    Claim(
        1, "APC has slope 2, PSI+X and LP slightly above 1",
        f"log-log over T: APC {cost.QUADRATIC}; every line of LP, basic and with GMC, {cost.LINEAR}; PSI+X "
        f"{cost.NEARLY_LINEAR}, at another size within {cost.NEAR_FORMULA:g} of its formula. In part: APC",
        cost.slopes,
    ),
    Claim(
        2, "PSI+X > APC > LP(0.1) > LP(0.4) > LP(1.6) > np",
        "that order at every T on both sets, basic; and APC > LP at every T and ε, both with GMC. In part: "
        "basic at some T",
        cost.order,
    ),
    Claim(
        3, "Taxi, n = 10^5.5, ε = 0.1: an order below APC",
        f"APC/LP {cost.ORDER}, {_FAIR}",
        cost.taxi_strict,
    ),
    Claim(
        4, "Taxi, 16 times the data, ε = 0.1: over 2 orders",
        f"APC/LP {cost.TWO_ORDERS} at the largest T, {_FAIR}",
        cost.taxi_large,
    ),
    Claim(
        5, "Taxi, ε = 1.6: 3 orders at all sizes",
        f"APC/LP {cost.THREE_ORDERS} at every T, {_FAIR}. In part: if LP alone has GMC",
        cost.taxi_loose,
    ),
    Claim(
        6, "AB: up to 2 orders",
        f"APC/LP {cost.TWO_ORDERS} at the largest T and ε = 1.6, {_FAIR}. Explained: the two differ by at "
        f"most {cost.AS_BASIC:.0%}",
        cost.ab_orders,
    ),
    Claim(
        7, "Taxi: GMC saves over 50 % at ε = 1.6, less as ε falls",
        f"above {cost.TAXI_SAVED:.0%} at ε = 1.6, and falling with ε, at every T. In part: falling",
        cost.taxi_greedy,
    ),
    Claim(
        8, "AB: GMC saves 16 % (ε = 1.6), 11 % (ε = 0.1)",
        f"{_percent(cost.LOOSE_SAVED)} and {_percent(cost.STRICT_SAVED)}, the first larger",
        cost.ab_greedy,
    ),
    Claim(
        9, "T = 16, ε = 0.1: S saves 8.0e6 (AB), 2.0e9 (Taxi)",
        f"at least {cost.SORTED_SHARE:g} of that, scaled by T/16. Explained: it changes the cost of AB by at "
        f"most {cost.SORTED_MOST['ab']:.1%} and of Taxi by {cost.SORTED_MOST['taxi']:.0%}, and costs at most "
        f"{cost.SORTED_DEAREST:.0%} more anywhere",
        cost.sorting,
    ),
    Claim(
        10, "AB, T = 16, ε = 0.1: SP saves 5.0e6 against S",
        f"within {cost.PRUNED_OFF:.0%} of {power(cost.PRUNED_SAVED)}, scaled by T/16",
        cost.pruning,
    ),
    Claim(
        11, "recall above 0.95 at the 10 % percentile",
        f"the mean above {cost.RECALL:g} at every ε and T on both sets. In part: on Taxi. Explained: on AB "
        f"at least {cost.RECALL_AB:g}, at T = 16 {cost.RECALL_AB_16:g}",
        cost.pruned_recall,
    ),
    Claim(
        12, "AB, T = 16, ε = 0.1: SP lowers the variance",
        "standard deviation with SP below that without, basic and with GMC. In part: one of them. Explained: "
        f"at most {cost.SPREAD_MOST:g} times, and the variances add up within 1.5/√runs",
        cost.spread,
    ),
    Claim(
        13, "Taxi: δ from 1e-5 to 1e-9 moves the ratio ≤ 0.001",
        f"LP/APC moves by {tradeoff.LITTLE}, {_FAIR}. In part: basic, and if LP alone has GMC",
        tradeoff.delta_little,
    ),
    Claim(
        14, "Taxi: ε from 1.6 to 0.1 raises the ratio to 0.07",
        f"LP/APC {tradeoff.MUCH} at ε = 0.1, {_FAIR}. In part: basic {tradeoff.FORCED}, which arithmetic "
        "forces",
        tradeoff.epsilon_much,
    ),
    Claim(
        15, "even at ε = 0.1, 100 times below APC",
        f"APC/LP {tradeoff.HUNDRED} at full recall on both sets, {_FAIR}. In part: on Taxi at a recall of "
        "at least "
        f"{tradeoff.PRUNED_RECALL:g}, if LP alone has GMC",
        tradeoff.hundredfold,
    ),
    Claim(
        16, "cost rises as ε falls; ε matters more than δ",
        "ordered by ε at 50 recalls that all lines reach; the cost grows more over the three ε than over the "
        "three δ; both sets",
        tradeoff.lines_shift,
    ),
    Claim(
        17, "AB: a steep first part of the trade-off",
        f"from nothing to the {tradeoff.FIRST} % percentile the share of the recall is {tradeoff.STEEP} "
        "times the share of the cost, at every ε. In part: at one ε. Explained: the recall there is at least "
        f"{tradeoff.PREMISE:g}",
        tradeoff.steep,
    ),
    Claim(
        18, "PSI has a recall close to 10 %", f"{_percent(tradeoff.PSI_RECALL)} on AB", tradeoff.psi_recall
    ),
    Claim(
        19, "n = 5,000: APC 22 days, LP at ε = 1.6 80 hours",
        f"at {tradeoff.MILLISECONDS} ms {tradeoff.APC_DAYS} days without GMC and {tradeoff.LP_HOURS} hours "
        "with",
        tradeoff.hours,
    ),
    Claim(
        20, "LP finds the blocked join; GMC no less, at no more cost",
        "exactly: recall and precision 1 in a whole run, recall 1 without prune, never dearer on the same "
        "noise",
        tradeoff.exact,
    ),
    Claim(
        21, "PSI+X beats APC for sufficiently large data only",
        f"n² = γ·n·ln ln n within {tradeoff.CROSSINGS_OFF:.0%} of n = {power(tradeoff.CROSSINGS['taxi'])} "
        f"(Taxi) and {power(tradeoff.CROSSINGS['ab'])} (AB)",
        tradeoff.crossing,
    ),
)  # fmt: skip
