"""How matches are named: what is kept of it is whole, or refused; pairs are told once."""

from __future__ import annotations

import numpy as np
import pytest

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.protocols.naming import Naming, _distinct_pairs
from accord.protocols.parts.disclosed import Disclosed, encode, take
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.test_intersection import EQUAL


def test_what_was_kept_and_is_not_whole_is_refused() -> None:
    own = worlds.side(EQUAL, Side.A, [(1, 1)], Seeded(1), partner=1)
    naming = Naming(EQUAL.task, own)
    other = Disclosed(*(np.zeros(0, np.int64),) * 2, *take(own.records, np.zeros(0, np.int64), ()))
    shown = bytes(8), encode(other)
    made = naming._kept(*(np.zeros(0, np.int64),) * 2, 0, shown)
    nothing = b"".join(made)
    for kept in (made, (nothing,)):
        assert naming.take(kept)[1] == len(naming.outcome(0).own) == 0
    for broken in (b"", nothing[:20], nothing[:-1], nothing + b"x", b"\xff" * 8 + nothing[8:]):
        with pytest.raises(PeerError):
            naming.take((broken,))
    with pytest.raises(PeerError, match="records that do not exist"):
        naming.take(naming._kept(*(np.zeros(1, np.int64),) * 2, 0, shown))


def test_a_pair_that_was_found_several_times_is_named_once() -> None:
    own, token = _distinct_pairs(np.array([5, 2, 5, 2, 5]), np.array([1, 0, 1, 0, 0]), 2)
    assert list(zip(own.tolist(), token.tolist(), strict=True)) == [(2, 0), (5, 0), (5, 1)]
    nothing, _ = _distinct_pairs(*(np.zeros(0, np.int64),) * 2, 0)
    assert len(nothing) == 0
