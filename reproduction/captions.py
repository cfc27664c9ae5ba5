"""What each figure of the paper shows, in a few sentences, from its rows.

Every sentence that speaks of results is written from rows, comparisons included: nothing is taken for granted
that another seed, size or table could turn round.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.drawing import NAMES, short, slope
from reproduction.figures_paper import PANELS, complete, lowest
from reproduction.lab import PAPER
from reproduction.size import GREEDY
from reproduction.sweep import Row, number, one, only
from reproduction.tradeoff import ALL_PAIRS
from reproduction.wording import joined, percent, plain, runs, share, span, times_less

Rows = Sequence[Row]


def size(rows: Rows, prune: int) -> str:
    """Slopes, the gain at the largest size, and the recall that was reached."""
    parts = [_growth(only(rows, data=data), data, prune) for data in PANELS]
    here = only(rows, method="laplace", prune=prune)
    counted = joined(f"{runs(only(here, data=data))} on {NAMES[data]}" for data in PANELS)
    return (
        f"Cost grows {'; '.join(parts)}. LP is the paper's default with greedy; all pairs stands without, as "
        f"in the paper, and with it, as LP has it. {_against_greedy(rows, prune)} Non-private matching is "
        f"without: LP costs less than it {_below(rows, prune)}. PSI+X is the paper's estimate γ·n·ln ln n of "
        f"operations on encrypted values, not a number of comparisons. LP: {counted}; {_recall(here, prune)}."
    )


def _growth(here: Rows, data: str, prune: int) -> str:
    lp = only(here, method="laplace", prune=prune, noise=PAPER, epsilon=1.6)
    last = max(lp, key=lambda row: number(row, "n"))
    own = number(last, "cost")
    plainly, greedily = (
        times_less(own, number(one(here, method=method, days=last["days"]), "cost"))
        for method in ("all-pairs", GREEDY)
    )
    slopes = [slope(only(here, method=name), "n", "cost") for name in ("all-pairs", GREEDY, "psi-expand")]
    return (
        f"on {NAMES[data]} as n to the power of {slopes[0]:.2f} (APC), {slopes[1]:.2f} (APC with greedy), "
        f"{slopes[2]:.2f} (PSI+X) and {slope(lp, 'n', 'cost'):.2f} (LP, ε = 1.6, the paper's noise), and at "
        f"n = {short(number(last, 'n'))} that LP costs {plainly} than APC and {greedily} than APC with greedy"
    )


def _against_greedy(rows: Rows, prune: int) -> str:
    """At which ε and sizes LP with the paper's noise costs more than all pairs with greedy."""
    found = []
    for data in PANELS:
        own = {r["days"]: number(r, "cost") for r in only(rows, data=data, method=GREEDY)}
        lp = only(rows, data=data, method="laplace", prune=prune, noise=PAPER)
        for epsilon in sorted(_epsilons(lp)):
            sizes = [r for r in only(lp, epsilon=epsilon) if number(r, "cost") > own[r["days"]]]
            if sizes:
                named = joined(short(number(r, "n")) for r in sizes)
                found.append(f"at ε = {epsilon:g} on {NAMES[data]} with n = {named}")
    where = joined(found) if found else "nowhere here"
    return f"Against all pairs with greedy LP costs more {where} (the paper's noise)."


def _below(rows: Rows, prune: int) -> str:
    """At which ε LP with the paper's noise lies below non-private matching at every size."""
    found = []
    for data in PANELS:
        free = {r["days"]: number(r, "cost") for r in only(rows, data=data, method="non-private")}
        lp = only(rows, data=data, method="laplace", prune=prune, noise=PAPER)
        worst: dict[float, bool] = {}
        for row in lp:
            epsilon = number(row, "epsilon")
            worst[epsilon] = worst.get(epsilon, True) and number(row, "cost") < free[row["days"]]
        under = [f"{epsilon:g}" for epsilon, always in sorted(worst.items()) if always]
        found.append(f"at ε = {', '.join(under)} on {NAMES[data]}" if under else f"at no ε on {NAMES[data]}")
    return f"{joined(found)} (the paper's noise, every n)"


def _recall(here: Rows, prune: int) -> str:
    """The recall of LP; where it was pruned, how often it is what the paper takes it for."""
    parts = []
    for data in PANELS:
        recalls = [number(row, "recall") for row in only(here, data=data)]
        over = sum(recall > 0.95 for recall in recalls)
        often = f" (above 0.95 in {over} of {len(recalls)} settings)" if prune else ""
        parts.append(f"{span(recalls)} on {NAMES[data]}{often}")
    return f"recall {joined(parts)}"


def variants(rows: Rows, noise: str) -> str:
    """What greedy saves, how sure the means are, and what was left out."""
    here = only(rows, noise=noise)
    parts = [f"{_saved(here, data, days)} on {NAMES[data]} at T = {days}" for data, days in complete(here)]
    names = ", ".join(f"{e:g}" for e in _epsilons(here))
    pruned = [row for row in here if str(row["variant"]).endswith("SP")]
    least = [
        f"{min(number(r, 'recall_least') for r in only(pruned, data=data)):.3f} on {NAMES[data]}"
        for data in PANELS
        if only(pruned, data=data)
    ]
    others = [pair for pair in complete(rows_but(rows, noise)) if pair not in complete(here)]
    missing = joined(f"{NAMES[data]} at T = {days}" for data, days in others)
    return (
        f"Of the basic cost, greedy (GMC) saves at ε = {names}: {'; '.join(parts)}. Points are means of "
        f"{runs(here)}, whiskers one standard deviation; Taxi is on a logarithmic axis, AB on a linear one "
        f"from 0. With SP the least recall in a run is {joined(least)}."
        + (f" Left out with this noise: {missing}." if missing else "")
    )


def rows_but(rows: Rows, noise: str) -> list[Row]:
    """The rows of the other noise."""
    return [row for row in rows if row["noise"] != noise]


def _epsilons(rows: Rows) -> list[float]:
    return sorted({number(row, "epsilon") for row in rows}, reverse=True)


def _saved(here: Rows, data: str, days: int) -> str:
    found = []
    for epsilon in _epsilons(here):
        basic, greedy = (
            number(one(here, data=data, days=days, variant=variant, epsilon=epsilon), "cost")
            for variant in ("basic", "basic+GMC")
        )
        found.append(percent(1 - greedy / basic))
    return ", ".join(found)


def _ratio(rows: Rows, data: str, epsilon: float, delta: float) -> float:
    """The share of all pairs at recall 1, with the paper's noise."""
    return number(one(rows, data=data, epsilon=epsilon, delta=delta, noise=PAPER, prune=0), "ratio")


def _axes(rows: Rows, **fixed: float) -> str:
    starts = [f"{lowest(only(rows, data=data, **fixed)):g} on {NAMES[data]}" for data in PANELS]
    counted = [f"{runs(only(rows, data=data, **fixed))} on {NAMES[data]}" for data in PANELS]
    return (
        f"{_greedily(rows)} The axes of recall differ: they begin at {joined(starts)}. A point is "
        f"{joined(counted)}."
    )


def _greedily(rows: Rows) -> str:
    """What all pairs costs with greedy, which this LP has."""
    parts = [
        f"{share(number(one(rows, data=data, noise=ALL_PAIRS), 'ratio'))} on {NAMES[data]}" for data in PANELS
    ]
    return f"LP is with greedy; all pairs with greedy (ε = 0, recall 1) costs {joined(parts)} of all pairs."


def tradeoff_epsilon(rows: Rows) -> str:
    """The ratio at recall 1 for the strictest and the loosest ε, and the slope of AB's first part."""
    parts = [
        f"from {share(_ratio(rows, data, 1.6, 1e-5))} to {share(_ratio(rows, data, 0.1, 1e-5))} on "
        f"{NAMES[data]}"
        for data in PANELS
    ]
    most = max(int(row["prune"]) for row in only(rows, data="ab"))
    first = one(rows, data="ab", epsilon=1.6, delta=1e-5, noise=PAPER, prune=most)
    recall, cost = number(first, "recall"), number(first, "ratio") / _ratio(rows, "ab", 1.6, 1e-5)
    return (
        f"From ε = 1.6 to 0.1 the cost of full recall as a share of all pairs goes {joined(parts)} (the "
        f"paper's noise). On AB the bins above the {most} % percentile give a recall of {recall:.2f} at ε = "
        f"1.6, for {percent(cost)} of the cost: a slope of {recall / cost:.2f}, where 1 is that of the whole "
        f"line. {_axes(rows, delta=1e-5)}"
    )


def tradeoff_delta(rows: Rows) -> str:
    """How much δ matters, beside how much ε does."""
    parts = []
    for data in PANELS:
        start = _ratio(rows, data, 1.6, 1e-5)
        by_delta, by_epsilon = _ratio(rows, data, 1.6, 1e-9) - start, _ratio(rows, data, 0.1, 1e-5) - start
        times = f", {plain(by_epsilon / by_delta)} times as much" if by_delta else ""
        parts.append(
            f"{share(by_delta)} of all pairs on {NAMES[data]}, and ε from 1.6 to 0.1 moves it by "
            f"{share(by_epsilon)}{times}"
        )
    return (
        f"δ from 1e-5 to 1e-9 moves the cost of full recall by {'; by '.join(parts)} (the paper's noise). "
        f"{_axes(rows, epsilon=1.6)}"
    )


def local(rows: Rows) -> str:
    """How much better than chance, and what a recall of 0.8 costs, in both panels."""
    worst = max(abs(number(r, "recall") - number(r, "expected_recall")) for r in rows)
    return (
        "Against comparing the same share of pairs at random, local DP finds "
        f"{_gain(only(rows, sides='both'))} with both sides private, and {_gain(only(rows, sides='one'))} "
        f"with B public. Marks are measured ({runs(rows)}), lines are the corrected formula; they differ by "
        f"{worst:.3f} at the most, with {number(rows[0], 'all_matches'):.0f} matches to count."
    )


def _gain(here: Rows) -> str:
    parts = []
    for epsilon in sorted(_epsilons(here)):
        best = max(number(r, "recall") / number(r, "ratio") for r in only(here, epsilon=epsilon))
        parts.append(f"{best:.1f} (ε = {epsilon:g})")
    loose = only(here, epsilon=max(_epsilons(here)))
    most = max(loose, key=lambda r: number(r, "recall") - number(r, "ratio"))
    enough = [number(r, "ratio") for r in loose if number(r, "recall") >= 0.8]
    cost = f", and a recall of 0.8 or more for no less than {percent(min(enough))}" if enough else ""
    return (
        f"at its best {joined(parts)} times as many matches, at ε = {number(most, 'epsilon'):g} for example "
        f"{percent(number(most, 'recall'))} of them for {percent(number(most, 'ratio'))} of the cost{cost}"
    )


def clock(rows: Rows) -> str:
    """Measured seconds, and what was extrapolated from what."""
    measured = [
        f"{number(r, 'linkage_seconds'):.0f} s with `{r['engine']}` ({number(r, 'cpu_seconds'):.0f} s of "
        f"processor time at the busier party)"
        for r in only(rows, how="measured")
    ]
    sampled = only(rows, how="extrapolated")
    guessed = [
        f"`{r['engine']}` {number(r, 'microseconds') / 1e3:.1f} ms per comparison, so "
        f"{number(r, 'linkage_seconds') / 3600:.1f} h"
        for r in sampled
    ]
    records, rows_each = number(rows[0], "per_day"), max(int(r["sample"]) for r in sampled)
    return (
        f"The linkage of {records:,.0f} + {records:,.0f} records at ε = 1.6 with our noise, for which the "
        f"paper estimates 80 hours at 5,000 + 5,000, ran between two processes in {joined(measured)}, "
        f"without loading the tables and drawing the dummies. Extrapolated from {rows_each} × {rows_each} "
        f"made-up rows, not from AB: {'; '.join(guessed)} (the paper: 77 ms)."
    )
