"""What each figure shows, in two sentences, from its rows."""

from __future__ import annotations

from collections.abc import Sequence

from accord.experiments.cells import Row, number, one, only
from accord.experiments.drawing import NAMES, short, slope
from accord.experiments.lab import OURS, PAPER

Rows = Sequence[Row]


def size(rows: Rows, prune: int) -> str:
    """Slopes, and the gain at the largest size."""
    parts = []
    for data in ("taxi", "ab"):
        here = only(rows, data=data)
        lp = only(here, method="laplace", prune=prune, noise=PAPER, epsilon=1.6)
        last = max(lp, key=lambda row: number(row, "n"))
        apc = number(one(here, method="all-pairs", days=last["days"]), "cost")
        parts.append(
            f"on {NAMES[data]} slopes of {slope(only(here, method='all-pairs'), 'n', 'cost'):.2f} (APC), "
            f"{slope(only(here, method='psi-expand'), 'n', 'cost'):.2f} (PSI+X) and "
            f"{slope(lp, 'n', 'cost'):.2f} "
            f"(LP, ε = 1.6), and at n = {short(number(last, 'n'))} LP costs "
            f"{apc / number(last, 'cost'):.3g} times "
            f"less than APC"
        )
    recalls = [number(r, "recall") for r in only(rows, method="laplace", prune=prune, noise=PAPER)]
    return (
        f"Straight lines in both axes: {'; '.join(parts)}. LP here is the paper's default with greedy, which "
        f"removes matched records, so it can lie below the non-private line, which is without; its recall is "
        f"{min(recalls):.3f} to {max(recalls):.3f}."
    )


def variants(rows: Rows, noise: str) -> str:
    """What greedy saves."""
    here = only(rows, noise=noise)
    parts = []
    for data in [data for data in ("taxi", "ab") if only(here, data=data)]:
        days = 1
        found = []
        for epsilon in (1.6, 0.4, 0.1):
            costs = [
                number(one(here, data=data, days=days, variant=v, epsilon=epsilon), "cost")
                for v in ("basic", "basic+GMC")
            ]
            found.append(f"{1 - costs[1] / costs[0]:.0%}")
        parts.append(f"{', '.join(found)} on {NAMES[data]}")
    return (
        f"Greedy Match & Clean saves {' and '.join(parts)} of the basic cost at ε = 1.6, 0.4, 0.1 and T = 1. "
        f"Bars are means of {here[0]['runs']} runs, whiskers one standard deviation."
    )


def _at(rows: Rows, data: str, epsilon: float, delta: float, noise: str = PAPER, prune: int = 0) -> Row:
    return one(rows, data=data, epsilon=epsilon, delta=delta, noise=noise, prune=prune)


def tradeoff_epsilon(rows: Rows) -> str:
    """The ratio at recall 1 for the strictest and the loosest ε."""
    parts = [
        f"{number(_at(rows, data, 1.6, 1e-5), 'ratio'):.2g} to "
        f"{number(_at(rows, data, 0.1, 1e-5), 'ratio'):.2g} "
        f"on {NAMES[data]}"
        for data in ("taxi", "ab")
    ]
    first = _at(rows, "ab", 1.6, 1e-5, prune=90)
    return (
        f"As ε falls from 1.6 to 0.1 the cost at recall 1 rises from {' and from '.join(parts)}, as a share "
        f"of all "
        f"pairs. On AB the tenth of the bins that is largest already gives a recall of "
        f"{number(first, 'recall'):.2f}."
    )


def tradeoff_delta(rows: Rows) -> str:
    """How little δ matters."""
    parts = [
        f"{number(_at(rows, data, 1.6, 1e-9), 'ratio') - number(_at(rows, data, 1.6, 1e-5), 'ratio'):.2g} on "
        f"{NAMES[data]}"
        for data in ("taxi", "ab")
    ]
    return (
        f"From δ = 1e-5 to 1e-9 the share of all pairs grows by {' and '.join(parts)}. The lines are far "
        f"more "
        f"sensitive to ε than to δ."
    )


def local(rows: Rows) -> str:
    """What a recall of 0.8 costs."""
    both = max(
        (r for r in only(rows, sides="both", epsilon=1.6)),
        key=lambda r: number(r, "recall") / number(r, "ratio"),
    )
    worst = max(abs(number(r, "recall") - number(r, "expected_recall")) for r in rows)
    return (
        f"At these ε local DP is barely better than comparing that share of pairs at random: at its best, "
        f"with both "
        f"sides at ε = 1.6, it finds {number(both, 'recall'):.0%} of the matches for "
        f"{number(both, 'ratio'):.0%} of "
        f"the cost. Marks are measured, lines are the corrected formula; they differ by {worst:.3f} at the "
        f"most, with "
        f"{number(rows[0], 'all_matches'):.0f} matches to count."
    )


def clock(rows: Rows) -> str:
    """Measured seconds, and what was extrapolated."""
    measured = [
        f"{number(r, 'linkage_seconds'):.0f} s with `{r['engine']}` ({number(r, 'cpu_seconds'):.0f} s of "
        f"processor "
        f"time at the busier party)"
        for r in only(rows, how="measured")
    ]
    guessed = [
        f"`{r['engine']}` {number(r, 'microseconds') / 1e3:.1f} ms a comparison, so "
        f"{number(r, 'linkage_seconds') / 3600:.1f} h"
        for r in only(rows, how="extrapolated")
    ]
    return (
        f"The linkage of {number(rows[0], 'per_day'):,.0f} + {number(rows[0], 'per_day'):,.0f} records at ε "
        f"= 1.6, for "
        f"which the paper estimates 80 hours, ran between two processes in {' and '.join(measured)}. "
        f"Extrapolated from "
        f"a sample of {number(rows[-1], 'sample') ** 2:.0f} comparisons: {'; '.join(guessed)} (the paper: "
        f"77 ms)."
    )


def dummies(rows: Rows) -> str:
    """What the better noise saves."""
    saved = [
        1 - number(one(rows, noise=OURS, epsilon=e, bins=1, delta=1e-5), "dummies")
        / number(one(rows, noise=PAPER, epsilon=e, bins=1, delta=1e-5), "dummies")
        for e in (0.1, 0.4, 1.6)
    ]  # fmt: skip
    most = max(int(row["bins"]) for row in rows)
    many = 1 - number(one(rows, noise="gaussian", epsilon=1.6, bins=most, delta=1e-5), "dummies") / number(
        one(rows, noise=PAPER, epsilon=1.6, bins=most, delta=1e-5), "dummies"
    )
    return (
        f"For records in one bin the geometric noise needs {saved[0]:.0%}, {saved[1]:.0%} and "
        f"{saved[2]:.0%} fewer dummies "
        f"than the paper's at ε = 0.1, 0.4 and 1.6. For records in {most} bins the Gaussian saves "
        f"{many:.0%} at ε = 1.6."
    )


def delta(rows: Rows) -> str:
    """Where the published noise breaks its promise."""
    here = only(rows, noise=PAPER, bins=1)
    broken = sorted({number(r, "epsilon") for r in here if number(r, "delta_exact") > number(r, "delta")})
    worst = max(here, key=lambda r: number(r, "delta_exact") / number(r, "delta"))
    return (
        f"The paper's noise as published, its shift rounded up, has a larger δ than claimed at ε = "
        f"{', '.join(f'{e:g}' for e in broken)} (for some of the three δ), up to "
        f"{number(worst, 'delta_exact') / number(worst, 'delta'):.1f} times. Accord's `paper` noise takes "
        f"the least "
        f"shift that keeps the promise."
    )


def replication(rows: Rows) -> str:
    """The gain at the best cell size."""
    gains = []
    epsilons = sorted({number(r, "epsilon") for r in rows})
    for greedy in ("no", "yes"):
        found = []
        for epsilon in epsilons:
            here = only(rows, greedy=greedy, epsilon=epsilon)
            best = min(number(r, "cost") for r in only(here, style="replicate"))
            found.append(f"{number(one(here, style='neighbours', noise=PAPER), 'cost') / best:.3g}")
        gains.append(", ".join(found))
    return (
        f"With B's records copied into every cell their θ-ball touches and only equal cells compared, the "
        f"best cell size "
        f"costs {gains[0]} times less than the paper's grid and noise at ε = "
        f"{', '.join(f'{e:g}' for e in epsilons)}; "
        f"with greedy {gains[1]} times less. Horizontal lines are the paper's grid; the recall is 1 "
        f"everywhere."
    )


def baseline(rows: Rows) -> str:
    """Where all pairs with greedy wins."""
    largest = max(
        (r for r in only(rows, data="taxi", method="all-pairs")), key=lambda r: number(r, "per_day")
    )
    lp = [
        number(one(rows, data="taxi", method="laplace", per_day=largest["per_day"], epsilon=e), "cost")
        for e in (1.6, 0.1)
    ]
    small = min(
        (r for r in only(rows, data="taxi", method="laplace", epsilon=0.1)),
        key=lambda r: number(r, "per_day"),
    )
    return (
        f"Given the same optimisation, all pairs needs {number(largest, 'cost'):.2g} comparisons on Taxi "
        f"with "
        f"{short(number(largest, 'per_day'))} records at ε = 0, where LP needs {lp[0]:.2g} (ε = 1.6) and "
        f"{lp[1]:.2g} "
        f"(ε = 0.1). On small tables LP can cost more than all pairs: "
        f"{number(small, 'cost') / number(small, 'all_pairs'):.0f} times at n = "
        f"{short(number(small, 'per_day'))} and "
        f"ε = 0.1."
    )


def sparse(rows: Rows) -> str:
    """Whom the guarantee protects."""
    parts = []
    for data in ("taxi", "ab", "places", "products"):
        here = only(rows, data=data, method="all-pairs")
        if here:
            last = max(here, key=lambda r: number(r, "per_day"))
            parts.append(f"{number(last, 'protected'):.1%} of {NAMES[data]}")
    return (
        f"The guarantee is for records that match nothing: {', '.join(parts)}. Where matches are sparse "
        f"greedy has little "
        f"to remove, all pairs costs what it costs, and LP is worth its ε as soon as the bins are not too "
        f"many for the "
        f"records."
    )


def link(rows: Rows) -> str:
    """Seconds and megabytes at the loosest and the strictest ε."""
    parts = []
    for epsilon in sorted({number(r, "epsilon") for r in rows}, reverse=True):
        here = {str(r["link"]): r for r in only(rows, epsilon=epsilon)}
        times = " and ".join(f"{number(r, 'linkage_seconds'):.0f} s ({name})" for name, r in here.items())
        parts.append(f"ε = {epsilon:g}: {times}, {number(here['loopback'], 'bytes') / 1e6:.0f} MB")
    return (
        f"AB with {number(rows[0], 'per_day'):,.0f} records a side, our noise, the `ot` engine, two "
        f"processes: "
        f"{'; '.join(parts)}. The slow link carries 100 Mbit/s with 10 ms each way."
    )
