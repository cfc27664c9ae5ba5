"""Badges: fixed in size, read again, and refused if they hold anything else than a certificate."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from accord.errors import PeerError
from accord.peer.identity import draw_identity
from accord.secure.party import run_pair
from accord.workers.certificates import BADGE, Badge, decode_badge, encode_badge, exchange_badges


def badge(name: str) -> Badge:
    return Badge(draw_identity(name, datetime.now(UTC))[1].der, name.encode().ljust(32, b"."))


def test_both_sides_know_the_others_workers() -> None:
    sides = [[badge(f"{side}{number}") for number in range(3)] for side in "AB"]
    assert run_pair(exchange_badges(sides[0]), exchange_badges(sides[1])) == (sides[1], sides[0])
    assert {len(encode_badge(one)) for side in sides for one in side} == {BADGE}


def test_what_is_no_badge_is_refused() -> None:
    good = encode_badge(badge("worker"))
    assert encode_badge(decode_badge(good)) == good
    for wrong in (bytes(BADGE), b"\xff\xff" + good[2:], good[:900] + b"\1" + good[901:], b"\1\0" + good[2:]):
        with pytest.raises(PeerError, match="certificate of a worker"):
            decode_badge(wrong)


def test_a_token_is_not_shown() -> None:
    assert "worker....." not in repr(badge("worker"))
