"""Disclosure without greedy: who discloses other records than those that matched is found out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accord.errors import PeerError
from tests.protocols import worlds
from tests.protocols.liars import lie


@pytest.mark.parametrize(
    ("instead", "words"),
    [(False, "2 disclosed records where 1 can match"), (True, "other records than those that matched")],
)
def test_other_records_than_those_that_matched_are_refused(instead: bool, words: str) -> None:
    def meddle(side: Any) -> None:
        true = side.finish

        def finish() -> Any:
            slot = int(np.flatnonzero(side._mine.slots.record == 1)[0])
            if instead:
                side._matched[0][:] = False
            side._matched[0][slot] = True
            yield from true()

        side.finish = finish

    with pytest.raises(PeerError, match=words):
        lie(worlds.agreement(greedy=False), [(3, 3)], [(3, 3), (12, 8)], meddle)
