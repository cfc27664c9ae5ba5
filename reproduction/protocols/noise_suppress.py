"""LP-2's noise: two-sided geometric with mean 0; below 0 it suppresses records. It protects nothing.

    Pr[η = x] = p·e^{−s|x|},   s = ε/2k',   p = (e^s − 1)/(e^s + 1)

The counts alone are ε-differentially private, and prior work stopped there. But suppressed records are
chosen among all of a bin, so the matches that go missing tell how many others are with them [HMFS17,
§4.2.3; MATHS §6]. `delta` computes what is left of the promise for a pair of neighbours: n matching records
in one bin, and one more record, which matches nothing, in an empty bin or among them.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import exp

import numpy as np
from numpy.typing import NDArray

from accord.entropy import NOISE, Entropy
from accord.privacy.number import exp as precisely
from accord.privacy.number import precise
from accord.privacy.window import PRECISION, require_cap, sample_table

_REACH = 200
"""Cut where the probability has fallen e^200 times."""


def draw(epsilon: Fraction, bins_per_record: int, bins: int, entropy: Entropy) -> NDArray[np.int64]:
    """A whole number for each bin, below 0 as often as above.

    *Distribution*: independent, each as above to 2^−256, cut at ±200/s. *Learns*: as the module says.
    """
    table = _table(epsilon / (2 * bins_per_record))
    return sample_table(table, bins, entropy.stream(NOISE)) - len(table) // 2


@lru_cache(maxsize=8)
def _table(slope: Fraction) -> tuple[int, ...]:
    """The weights of −cap, …, cap, which sum to 2^256; kept, since an audit draws thousands of times."""
    cap = require_cap(int(_REACH / slope) + 1)
    with localcontext(precise()):
        steps = [precisely(-slope * x) for x in range(cap + 1)]
        total = 2 * sum(steps, Decimal(0)) - 1
        weights = [int(step / total * (1 << PRECISION)) for step in steps]
    table = [*weights[:0:-1], *weights]
    table[cap] += (1 << PRECISION) - sum(table)
    return tuple(table)


def delta(epsilon: float, matching: int) -> float:
    """δ(ε) between the two neighbours, over all views: the larger of both directions."""
    apart, among = _views(1, matching, 0, epsilon / 2), _views(0, matching, 1, epsilon / 2)
    return max(_excess(apart, among, epsilon), _excess(among, apart, epsilon))


Views = tuple[dict[int, float], dict[tuple[int, int], float]]
"""The size of the one bin; the size of the other and how many of its matches are left."""


def _views(alone: int, matching: int, beside: int, slope: float) -> Views:
    mass = (exp(slope) - 1) / (exp(slope) + 1)
    first: dict[int, float] = defaultdict(float)
    second: dict[tuple[int, int], float] = defaultdict(float)
    size, reach = matching + beside, int(60 / slope)
    for noise in range(-reach, reach + 1):
        weight = mass * exp(-slope * abs(noise))
        first[max(0, alone + noise)] += weight
        lost = min(size, max(0, -noise))
        # Of the lost records, the one beside the matching ones is one with probability lost/size.
        spared = weight * lost / size if beside else 0.0
        second[max(0, size + noise), matching - lost] += weight - spared
        second[max(0, size + noise), matching - lost + 1] += spared
    return first, second


def _excess(here: Views, there: Views, epsilon: float) -> float:
    # The two parts of a view are independent. Row by row: all products at once would fill the memory.
    mine = np.array(list(here[1].values()))
    theirs = exp(epsilon) * np.array([there[1].get(y, 0.0) for y in here[1]])
    return sum(
        float(np.maximum(0.0, p * mine - there[0].get(x, 0.0) * theirs).sum()) for x, p in here[0].items()
    )
