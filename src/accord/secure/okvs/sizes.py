"""How large a store is, from the number of its points alone, and why that is enough.

Points are spread over P parts of about 2^16 by a public hash; each part is a table of m + g cells, in which a
point's row has three of the m sparse cells and a random half of the g dense ones (`rows.py`). It holds any
values if the rows of each part are linearly independent over F2. This fails with probability below 2⁻⁴⁰ at
every size up to `MOST`:

Parts. The points of one part are binomial with mean μ = n/P and variance σ² = μ·(1 − 1/P). By Bernstein a
part has t points more than μ with probability at most exp(−t²/(2·(σ² + t/3))), so with L ≥ ln(P·2⁴¹) and
t = L/3 + √(L²/9 + 2·L·σ²) one of the P has them with probability at most 2⁻⁴¹. All this is computed in whole
numbers, rounded up: two machines may not differ in the last digit of a logarithm.

Rows. Let E(b, m) be the expected number of nonempty sets among b random rows whose sparse cells cancel out.
The dense bits of such a set cancel out with probability 2⁻ᵍ, independently, so a part fails with probability
at most 2⁻ᵍ·E. After Calkin (Dependent sets of constant weight binary vectors, 1997)

    E(b, m) = 2⁻ᵐ · Σᵢ C(m, i) · f(K(i)/C(m, 3)),   f(x) = ((1 + x)ᵇ + (1 − x)ᵇ)/2 − 1 = Σ C(b, r)·xʳ, r even

where K(i) is the sum over all 3-subsets of the product of m signs of which i are minus. No term is negative,
so floats lose nothing. E grows with b, and shrinks as m grows: the r-th term is the r-th moment of the mean
of the products over all 3-subsets of m random signs; that of m + 1 signs is itself a mean, of those of the
m + 1 choices of m among them, and xʳ is convex for even r (Jensen). So a few hundred values bound E at every
size (`tests/secure/failure.py`): at m ≥ 1.25·b and m ≥ 4 it is at most 3/4, and at most 6·10⁻⁵ for b
over 2^15. (It tends to 1.54/b, two rows with the same cells, as long as b/m stays below 0.889.) With g = 40 a
store of one part fails with probability at most 0.75·2⁻⁴⁰, and one of P ≤ 1526 parts with at most
2⁻⁴¹ + 1526·6·10⁻⁵·2⁻⁴⁰.

Hashes. Indices are remainders of 64-bit words, so no outcome is likelier than that of uniform ones by more
than (1 + 2⁻⁴⁷) for each cell and (1 + 2⁻⁵³) for each part: a factor under 1 + 2⁻¹⁸ over all points.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

PART = 1 << 16
"""Points of a part, on average at most: as many as the cache has room for, with their rows."""
MOST = 100_000_000
"""Points of a store."""
DENSE = 40
"""Cells of a part of which each row has half; no more than 40, for which the loops are written."""

_LEAST = 4
"""Sparse cells. With three all rows would be the same, and two points fail with exactly 2⁻⁴⁰."""
_ROWS = 1 << 20
"""Points of a part that the loops have room for."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a store; `store_shape` gives those that are known to do, others are for tests."""

    points: int
    parts: int
    bound: int
    """The most points that a part may have."""
    sparse: int
    """Cells of a part of which each row has three."""
    dense: int
    """Cells of a part of which each row has about half."""

    def __post_init__(self) -> None:
        fits = self.points >= 0 and self.parts >= 1 and 0 <= self.bound < _ROWS
        if not fits or not 3 <= self.sparse < 1 << 31 or not 1 <= self.dense <= DENSE:
            raise ValueError("sizes that no store has")

    @property
    def cells(self) -> int:
        """Of one part."""
        return self.sparse + self.dense

    @property
    def total(self) -> int:
        """Cells of the whole store."""
        return self.parts * self.cells


def store_shape(points: int, part: int = PART) -> Shape:
    """The sizes of a store of this many points; a `part` other than the usual is for tests."""
    if not 0 <= points <= MOST:
        raise ValueError(f"a store has up to {MOST:,} points")
    parts = max(1, -(-points // part))
    bound = most_points(points, parts)
    return Shape(points, parts, bound, max(_LEAST, (5 * bound + 3) // 4), DENSE)


def most_points(points: int, parts: int) -> int:
    """What no part has more of, but for 2⁻⁴¹."""
    if parts == 1:
        return points
    # ln 2 < 0.693148
    loss = -(-(41 + (parts - 1).bit_length()) * 693_148 // 1_000_000)
    # 9·(t − L/3)² = L² + 18·L·σ²
    square = loss * loss - (-18 * loss * points * (parts - 1) // (parts * parts))
    excess = -(-(loss + isqrt(square) + 1) // 3)
    return min(points, -(-points // parts) + excess)
