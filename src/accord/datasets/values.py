"""Values of a column of which it is known only how many different ones there are.

Common values are far more frequent than rare ones, as races, counties and occupations are. Days and amounts
are spread more evenly. The other table has another value now and then, or a slip.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.datasets.things import Random, Words, draw_words, err_in, slip_in

SKEWED, EVEN = 2.5, 1.2
"""How far from evenly values are spread: 1 is evenly."""
_SLIPS = 0.05
_TURN = 7_919
_WIDE = 1 << 20


def rank_values(
    whose: NDArray[np.int64], count: int, turn: int = 0, skew: float = SKEWED
) -> NDArray[np.int64]:
    """By entity, the rank of its value among so many. Low ranks are common. Each turn is a column."""
    spread = ((whose + 1) * (_TURN + 2 * turn) * 2_654_435_761 >> 7) % _WIDE / _WIDE
    return np.floor(count * spread**skew).astype(np.int64)


def draw_values(
    rng: Random, whose: NDArray[np.int64], count: int, other: bool, turn: int = 0, pool: Words | None = None
) -> pa.Array:
    """Cells of one table, by entity: words of a pool, or words that mean nothing."""
    words = draw_words(count, turn) if pool is None or not len(pool) else pool
    cells = words[rank_values(whose, min(count, len(words)), turn)]
    return err_in(rng, slip_in(rng, cells, _SLIPS if other else 0.0), other)
