"""Pledges: exchanged, signed, and refused where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.accountable.pledge import (
    PLEDGE,
    decode_pledge,
    encode_pledge,
    exchange_pledges,
    require_pledge,
)
from accord.accountable.seed import Seed
from accord.errors import PeerError
from accord.secure.party import run_pair
from accord.side import Side
from tests.run import faults
from tests.run.faults import card

SEED = Seed(bytes(range(96)))
RUN, DIGEST = "0123456789abcdef", "00" * 32


def test_pledges_are_exchanged_and_signed(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    cards = {side: card(office) for side, office in both.items()}
    made = {side: SEED.commitments(side, b"table") for side in Side}

    def pledge(side: Side, digest: str = DIGEST):  # type: ignore[no-untyped-def]
        return exchange_pledges(both[side].state, side, cards, RUN, digest, made[side])

    a, b = run_pair(pledge(Side.A), pledge(Side.B))
    assert a == b
    assert {side: found.commitments for side, found in a.items()} == made
    assert len(encode_pledge(a[Side.A])) == PLEDGE
    assert decode_pledge(encode_pledge(a[Side.A])) == a[Side.A]
    with pytest.raises(ValueError, match="not a pledge"):
        decode_pledge(bytes(PLEDGE + 1))
    for wrong in (("f" * 16, DIGEST, Side.A), (RUN, "11" * 32, Side.A), (RUN, DIGEST, Side.B)):
        with pytest.raises(ValueError, match="does not fit"):
            require_pledge(a[Side.A], cards[Side.A], *wrong)
    with pytest.raises(PeerError, match="did not sign"):
        run_pair(pledge(Side.A), pledge(Side.B, "11" * 32))
