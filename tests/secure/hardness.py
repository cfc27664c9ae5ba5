"""What it costs to solve LPN over F2, in bits, by formulas of the literature: for tests of the parameters.

Liu, Wang, Yang, Yu, The Hardness of LPN over Any Integer Ring and Field for PCG Applications (EUROCRYPT'24),
for pooled Gauss, statistical decoding, Dumer's information-set decoding and the reduction of regular noise to
exact noise of a shorter instance; Briaud and Øygarden, A New Algebraic Approach to the Regular Syndrome
Decoding Problem (EUROCRYPT'23), for the algebraic attack on regular noise. Both treat the code as random.

A sparse code gives more away. Rows that lie in a part of the columns are an instance with a shorter secret
and the same rate of noise (the 'domain reduction' of Chen, Shu, Zhou, Algorithms for Sparse LPN and LSPN
Against Low-noise, 2024). `peel` finds such a part, greedily, and `sparse` says what the rest costs.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]

INFINITE = 1e9


def choose(n: float, k: float) -> float:
    """log₂ of a binomial coefficient."""
    if k < 0 or k > n:
        return -INFINITE
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def add(*logs: float) -> float:
    """log₂ of a sum, from logs."""
    top = max(logs)
    return top + math.log2(sum(2.0 ** max(-1000.0, log - top) for log in logs))


def gauss(n: int, k: int, t: int) -> float:
    """Guess k samples without noise, solve, repeat."""
    return 2.8 * math.log2(min(k, n - k)) + choose(n, t) - choose(n - k, t)


def statistical(n: int, k: int, t: int) -> float:
    """Parity checks from elimination; their bias, squared, against uniform bits."""
    return math.log2(k + 1) + 2 * t * math.log2((n - t + 1) / (n - k - t))


def statistical2(n: int, k: int, t: int) -> float:
    """The same with some bits of the secret guessed."""
    return statistical(n, k - math.floor(gauss(n, k, t)), t)


def dumer(n: int, k: int, t: int) -> float:
    """Information-set decoding with p errors in two halves of k places and a window."""
    return min(_dumer(n, k, t, p, window) for p in range(0, 41, 2) for window in _windows(k, p))


def _windows(k: int, p: int) -> list[int]:
    """Lengths about the logarithm of a list, where the best one lies."""
    middle = choose(k / 2, p / 2)
    return sorted({max(2, int(middle * scale / 20)) for scale in range(41)})


def _dumer(n: int, k: int, t: int, p: int, window: int) -> float:
    rest = n - k - window
    if rest < 2 or p > t:
        return INFINITE
    half = choose((k + window) / 2, p / 2)
    eliminate = math.log2(rest * n) - math.log2(math.log2(rest))
    success = choose(rest, t - p) - choose(n, t) + 2 * half
    return math.log2(n) + add(eliminate, 1 + half, 1 + 2 * half - window) - min(0.0, success)


def algebraic(n: int, k: int, t: int) -> float:
    """Macaulay matrices of degree 2 to 4, with u errors guessed away in each of f blocks."""
    beta, best = n // t, INFINITE
    u = np.unique(np.linspace(0, beta - 1, 400).astype(int)).astype(np.float64)[:, None]
    f = np.unique(np.linspace(0, t, 400).astype(int)).astype(np.float64)[None, :]
    allowed = u * f < k + 1
    grid = _powers((beta - u - 1), f), _powers(np.float64(beta - 1), t - f)
    monomials, rest = _times(*grid), _times(_times(*grid), _inverse(n - k - 1))
    guess = -f * np.log2(1 - u / beta)
    linear = np.log2(3 * np.maximum(1, k + 1 - u * f))
    for degree in (2, 3, 4):
        size = sum(monomials[1 : degree + 1])
        cost = 2 * np.log2(np.maximum(2, size)) + linear + guess
        cost = np.where(allowed & (rest[degree] < 1), cost, INFINITE)
        best = min(best, float(cost.min()))
    return best


def _powers(base: Floats | np.float64, count: Floats) -> list[Floats]:
    """Coefficients of (1 + base·z)^count up to z⁴."""
    result = [np.ones(np.broadcast(base, count).shape)]
    for i in range(4):
        result.append(result[-1] * base * (count - i) / (i + 1))
    return result


def _inverse(count: float) -> list[Floats]:
    """Coefficients of (1 + z)^−count up to z⁴."""
    result = [np.ones(())]
    for i in range(4):
        result.append(-result[-1] * (count + i) / (i + 1))
    return result


def _times(a: list[Floats], b: list[Floats]) -> list[Floats]:
    return [sum((a[i] * b[d - i] for i in range(d + 1)), start=np.zeros(())) for d in range(5)]


def random_code(n: int, k: int, t: int) -> dict[str, float]:
    """Bits against each attack on regular noise and a random code.

    A block of regular noise sums to 1, which takes one sample and one column from the instance.
    """
    m, s = n - t, k - t
    return {
        "gauss": gauss(m, s, t),
        "statistical": statistical(m, s, t),
        "statistical 2": statistical2(m, s, t),
        "dumer": dumer(m, s, t),
        "algebraic": algebraic(n, k, t),
    }


def peel(columns: int, ratio: float, weight: int, random: Generator) -> float:
    """The share of the columns that is left when rows are only just as many.

    Always the column in the fewest rows goes, with these rows; what is left is far denser than a random part,
    which would have the share (1/ratio)^(1/(weight − 1)).
    """
    rows = random.integers(0, columns, (int(columns * ratio), weight))
    where: list[set[int]] = [set() for _ in range(columns)]
    for number, row in enumerate(rows):
        for column in row:
            where[column].add(number)
    queue = [(len(members), column) for column, members in enumerate(where)]
    heapq.heapify(queue)
    left, alive, gone = len(rows), columns, np.zeros(columns, dtype=bool)
    while left >= alive:
        size, column = heapq.heappop(queue)
        if gone[column] or size != len(where[column]):
            continue
        gone[column], alive = True, alive - 1
        members = list(where[column])
        left -= len(members)
        for number in members:
            for other in set(rows[number].tolist()):
                where[other].discard(number)
                if not gone[other]:
                    heapq.heappush(queue, (len(where[other]), other))
    return (alive + 1) / columns


def smallest_share(ratio: float, weight: int) -> float:
    """The share of the columns below which no part with as many rows as columns is to be expected.

    There are C(K, s)·C(N, s) choices of s columns and s rows, and such rows lie within such columns with
    probability (s/K)^(weight·s); the expected number of parts is 1 where the exponents, over K, sum to 0.
    """
    low, high = 0.01, 1.0
    while high - low > 1e-6:
        share = (low + high) / 2
        exponent = _entropy(share) + ratio * _entropy(share / ratio) + weight * share * math.log2(share)
        low, high = (low, share) if exponent > 0 else (share, high)
    return low


def _entropy(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p) if 0 < p < 1 else 0.0


def sparse(k: int, share: float, rate: float, weight: int, free: bool = False) -> dict[str, float]:
    """Bits for the part of the columns that is left, with fresh choices of it at no cost.

    `gauss` eliminates as above, `wiedemann` uses that the rows are sparse, and `dumer` allows p errors. With
    `free`, Dumer too eliminates like Wiedemann, and a combination in its lists costs one bit operation
    instead of one a row: more than anybody can do, since the lists need the inverse.
    """
    s = share * k
    clean = -s * math.log2(1 - rate)
    dense = 2.8 * math.log2(s)
    wiedemann = math.log2(3 * weight) + 2 * math.log2(s)
    return {
        "gauss": dense + clean,
        "wiedemann": wiedemann + clean,
        "dumer": min(
            _part(s, rate, p, window, *((wiedemann, 0.0) if free else (dense, math.log2(s))))
            for p in range(0, 21, 2)
            for window in _windows(int(s), p)
        ),
    }


def interleaved(k: int, share: float, rate: float, weight: int, planes: int = 128) -> float:
    """Bits for the same part if `planes` instances share the code and the places of the noise.

    What m noisy rows of the part leave over spans m dimensions of as many as there are planes. Up to two
    fewer are seen by the rank; of more, so many sums of planes are without noise: 2^(planes − 1 − m).
    Elimination is Wiedemann's, the cheapest.
    """
    s = share * k
    terms = [
        choose(s, m) + m * math.log2(rate) + (s - m) * math.log2(1 - rate) - max(0, m - planes + 1)
        for m in range(min(int(s), 4 * planes) + 1)
    ]
    return math.log2(3 * weight) + 2 * math.log2(s) - min(0.0, add(*terms))


def _part(s: float, rate: float, p: int, window: int, eliminate: float, each: float) -> float:
    """One iteration of Dumer on s rows and a window of this rate, over the chance that it finds them."""
    rows = s + window
    half = choose(rows / 2, p / 2)
    success = 2 * half + p * math.log2(rate) + (rows - p) * math.log2(1 - rate)
    return add(eliminate, each + 1 + half, each + 1 + 2 * half - window) - min(0.0, success)
