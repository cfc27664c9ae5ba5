"""How long a step should take the partner, from public numbers: what patience is measured by.

With a large circuit, on a slow machine: to wait too long costs little, to give up too early a run.
"""

from __future__ import annotations

_SECONDS_A_COMPARISON = {"ot": 2e-5, "garbled": 1e-4, "paillier": 0.1, "paillier-packed": 0.01}
_SECONDS_A_RECORD = 1e-5
"""To sort, pad or look up a record or a dummy, in any step."""
_SECONDS_OF_WORK = 1e-7
"""For a pair of records that are compared in the clear."""


def expected_seconds(engine: str, comparisons: int, clear: int = 0, slots: int = 0) -> float:
    """A step with so many secure comparisons, so many in the clear, and records and slots of both sides."""
    secure = comparisons * _SECONDS_A_COMPARISON[engine]
    return secure + clear * _SECONDS_OF_WORK + slots * _SECONDS_A_RECORD
