"""What a partner that cheats in the engine gets, and what stops it: docs/threat-model.md, row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from accord.session.course import Linked
from tests.session import cheats, faults

pytestmark = pytest.mark.usefixtures("quick")


def test_ot_filters_are_read_bit_by_bit_and_nobody_notices(tmp_path: Path) -> None:
    both = cheats.offices(tmp_path, cheats.agreement())
    with cheats.read_filters() as loot:
        ending = faults.link(both)
    for result in ending.values():
        assert isinstance(result, Linked), result
        assert result.matches == 0
    assert np.array_equal(loot.real, loot.true_real)
    assert (~loot.real).any(), "no dummy was there to be told apart"
    assert loot.real.sum() == cheats.A_COUNT
    assert np.array_equal(loot.filters[loot.real], loot.true_filters[loot.real])


def test_garbled_delta_is_read_and_nobody_notices(tmp_path: Path) -> None:
    # All pairs, so that 40 coins at least decide each guess: a false alarm in 32 · 15 · 2⁻⁴⁰ of all runs.
    both = cheats.offices(tmp_path, cheats.agreement("garbled", name="all-pairs"))
    with cheats.read_delta() as loot:
        ending = faults.link(both)
    for result in ending.values():
        assert isinstance(result, Linked), result
    assert loot.delta is not None
    assert loot.delta == loot.true_delta


def test_everything_matches_all(tmp_path: Path) -> None:
    both = cheats.offices(tmp_path, cheats.agreement(name="all-pairs"))
    with cheats.claim_all():
        ending = faults.link(both)
    for result in ending.values():
        assert isinstance(result, Linked), result
        assert result.matches == cheats.A_COUNT * cheats.B_COUNT
