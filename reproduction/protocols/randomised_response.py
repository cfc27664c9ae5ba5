"""Randomised response over k bins: each record reports a bin, and the report is all that is released of it.

A record of bin h reports h + i mod k. The x offsets of its *block* have probability p⊤ each, all others p⊥:

    p⊤ = e^ε / (k − x + x·e^ε),      p⊥ = 1 / (k − x + x·e^ε)

*Theorem.* The reports are ε-differentially private for each record, with δ = 0 and whatever the others are.
*Proof.* p⊤ = e^ε·p⊥, and every bin is reported with one of the two. A record without a bin reports any bin
with probability 1/k, which is the mean of the distributions of all h, so no ratio to it is larger. ∎

*Losses.* Of two records, the reports that lie in one block and not in the other have losses ±ε, all others
0; that is most mass when the blocks overlap least, in y = min(x, k − x) bins less than all: ε with
probability y·p⊤, −ε with y·p⊥. Those pairs dominate all others, since Σ max(0, P − e^t·Q) grows with y.

What is compared: a report i of A with the reports i, …, i + k' − 1 mod k of B. Then a pair of records of the
same bin is compared with probability p = Σ_i Σ_{j<k'} p^A_i·p^B_{(i+j) mod k} [HMFS17, appendix]. In blocks:
of the k·k' pairs of offsets, x·k' have A's in its block, as many have B's, and

    h = x(x + 1)/2 + w(w + 1)/2,     w = max(0, x + k' − k − 1)

have both, the second term round the end, which the paper overlooks. One side public: p = k'·e^ε/(k − k' +
k'·e^ε) with x = k', which is the best there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from accord.entropy import NOISE, Entropy, below
from accord.errors import UsageError
from accord.exact import text
from accord.privacy.events import Cost, PluggedEvent
from accord.privacy.losses import Losses, repeat
from accord.privacy.noise import MOST_PER_PERSON
from accord.privacy.number import above, exact, exp, precise
from accord.privacy.window import PRECISION, sample_table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Response:
    """Reports into `bins` bins, with `spread` likely ones from `start` bins behind one's own on."""

    bins: int
    spread: int
    epsilon: Fraction
    start: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.spread <= self.bins:
            raise UsageError(problem=f"A block has 1 to {self.bins:,} bins, not {self.spread:,}.")

    @property
    def high(self) -> Decimal:
        """p⊤, to many digits."""
        with localcontext(precise()):
            factor = exp(self.epsilon)
            return factor / (self.bins - self.spread + self.spread * factor)

    @property
    def low(self) -> Decimal:
        """p⊥."""
        with localcontext(precise()):
            return self.high / exp(self.epsilon)

    @property
    def table(self) -> tuple[int, ...]:
        """The probability of the block and of the rest, in 2^−256; rounded so that no loss is above ε."""
        if self.spread == self.bins:
            return (1 << PRECISION,)
        with localcontext(precise()):
            block = int(self.high * self.spread * (1 << PRECISION)) - 1
        return block, (1 << PRECISION) - block

    def losses(self) -> Losses:
        """Of one record that is replaced."""
        apart = min(self.spread, self.bins - self.spread)
        with localcontext(precise()):
            up, down = apart * self.high, apart * self.low
            level = max(Decimal(0), 1 - up - down)
        return Losses((self.epsilon,), (-1,), np.array([above(down), above(level), above(up)]), 0.0)


@dataclass(frozen=True)
class Reports(PluggedEvent):
    """One reported bin a record, for every record; a person has up to `records_per_person`."""

    response: Response
    records_per_person: int = 1

    @property
    def cost(self) -> Cost:
        return Cost(self.records_per_person * self.response.epsilon, Fraction(0))

    def losses(self) -> Losses:
        return repeat(self.response.losses(), self.records_per_person)

    def write(self) -> dict[str, object]:
        told = self.response
        body: dict[str, object] = {"bins": told.bins, "spread": told.spread, "start": told.start}
        people = {"records_per_person": self.records_per_person} if self.records_per_person != 1 else {}
        return body | {"epsilon": text(told.epsilon)} | people

    @classmethod
    def read(cls, body: Mapping[str, object]) -> Reports:
        numbers = *(body[name] for name in ("bins", "spread", "start")), body.get("records_per_person", 1)
        bins, spread, start, people = (number for number in numbers if isinstance(number, int))
        if not (1 <= spread <= bins and 1 <= people <= MOST_PER_PERSON):
            raise ValueError("numbers that do not fit")
        return Reports(Response(bins, spread, exact(str(body["epsilon"]), "ε"), start), people)


@dataclass(frozen=True)
class PublicBins(PluggedEvent):
    """The bin of every record of a table whose owner has agreed that it is public."""

    refusal: ClassVar[str] = (
        "it shows the bin of every record, which no limit allows; the agreement calls them public."
    )

    @property
    def cost(self) -> None:
        return None

    def losses(self) -> Losses:
        raise UsageError(problem="Of public bins nothing is promised.")

    def write(self) -> dict[str, object]:
        return {}

    @classmethod
    def read(cls, body: Mapping[str, object]) -> PublicBins:
        return cls()


def report(response: Response, bins: Ints, entropy: Entropy) -> Ints:
    """A reported bin for each record; −1 stands for a record without a bin.

    *Requires* an entropy of its own. *Distribution*: independent, each exactly `response.table` and uniform
    within the block and outside it. *Learns*: the partner the reports; nobody which of them are true.
    """
    stream = entropy.stream(NOISE)
    inside = sample_table(response.table, len(bins), stream) == 0
    block = below(stream, response.spread, len(bins)).astype(np.int64)
    rest = below(stream, max(1, response.bins - response.spread), len(bins)).astype(np.int64)
    uniform = below(stream, response.bins, len(bins)).astype(np.int64)
    offset = np.where(inside, block, response.spread + rest) - response.start
    return np.where(bins < 0, uniform, (bins + offset) % response.bins)


def both_in_block(bins: int, window: int, spread: Ints | int) -> Ints:
    """h: the compared pairs of offsets that lie in both blocks."""
    x = np.asarray(spread, np.int64)
    wrapped = np.maximum(0, x + window - bins - 1)
    return x * (x + 1) // 2 + wrapped * (wrapped + 1) // 2


def compared(bins: int, window: int, spread: Ints | int, a: Fraction, b: Fraction) -> Floats:
    """The probability that a pair of records of one bin is compared, with these ε on the two sides."""
    x = np.asarray(spread, np.float64)
    (high_a, low_a), (high_b, low_b) = (_levels(bins, x, epsilon) for epsilon in (a, b))
    both = both_in_block(bins, window, spread).astype(np.float64)
    one = window * x - both
    return (
        both * high_a * high_b
        + one * (high_a * low_b + low_a * high_b)
        + (bins * window - 2 * window * x + both) * low_a * low_b
    )


def compared_public(bins: int, window: int, spread: int, epsilon: Fraction) -> float:
    """The same where the other side reports its true bins, and the block lies as well as it can."""
    high, low = _levels(bins, np.array(float(spread)), epsilon)
    inside = min(spread, window)
    return float(inside * high + (window - inside) * low)


def best_spread(bins: int, window: int, a: Fraction, b: Fraction) -> int:
    """The x up to the window with which most pairs of one bin are compared; the least such.

    All are tried: the paper's rule and derivative are wrong [MATHS §5.3], and x = k' is often not the best.
    """
    return 1 + int(np.argmax(compared(bins, window, np.arange(1, window + 1), a, b)))


def _levels(bins: int, x: Floats, epsilon: Fraction) -> tuple[Floats, Floats]:
    """p⊤ and p⊥ as floats, for any x; with 1/e^ε, so that no ε is too large."""
    shrunk = float(1 / exp(epsilon))
    high = 1 / ((bins - x) * shrunk + x)
    return high, high * shrunk
