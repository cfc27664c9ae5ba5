"""Base OTs: the chosen keys and no others, and points that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from nacl import bindings as sodium

from accord.errors import PeerError
from accord.secure.party import Party, Receive, Send, run_pair
from accord.secure.transfer.base import COUNT, POINT, receive_base, send_base
from tests.secure.worlds import Fixed

CHOICES = np.random.default_rng(0).random(COUNT) < 0.5
SMALL_ORDER = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
NEUTRAL = (1).to_bytes(32, "little")
NOT_CANONICAL = ((1 << 255) - 19 + 1).to_bytes(32, "little")
NOT_ON_CURVE = (2).to_bytes(32, "little")
BASE = sodium.crypto_scalarmult_ed25519_base_noclamp((1).to_bytes(32, "little"))
WITH_SMALL_PART = sodium.crypto_core_ed25519_add(BASE, SMALL_ORDER)

BAD = {
    "small order": SMALL_ORDER,
    "neutral": NEUTRAL,
    "not canonical": NOT_CANONICAL,
    "not on the curve": NOT_ON_CURVE,
    "small-order part": WITH_SMALL_PART,
    "zero": bytes(32),
    "ones": b"\xff" * 32,
}


def test_the_receiver_has_the_chosen_key_of_each_pair() -> None:
    pairs, chosen = run_pair(send_base(Fixed("s")), receive_base(CHOICES, Fixed("r")))
    assert (chosen == pairs[np.arange(COUNT), CHOICES.astype(int)]).all()
    assert (chosen != pairs[np.arange(COUNT), 1 - CHOICES.astype(int)]).any(axis=1).all()
    assert len({key.tobytes() for pair in pairs for key in pair}) == 2 * COUNT


def says(first: bytes) -> Party[None]:
    yield Send(first)
    yield Receive(COUNT * POINT)


def answers(points: bytes) -> Party[None]:
    yield Receive(POINT)
    yield Send(points)


@pytest.mark.parametrize("name", BAD)
def test_a_point_outside_the_group_is_refused_by_both(name: str) -> None:
    with pytest.raises(PeerError, match="not in the group"):
        run_pair(says(BAD[name]), receive_base(CHOICES, Fixed("r")))
    points = BASE * 100 + BAD[name] + BASE * 27
    with pytest.raises(PeerError, match="not in the group"):
        run_pair(send_base(Fixed("s")), answers(points))


def test_the_senders_own_point_is_refused() -> None:
    def mirrors() -> Party[None]:
        point = yield Receive(POINT)
        yield Send(bytes(point) * COUNT)

    with pytest.raises(PeerError, match="neutral"):
        run_pair(send_base(Fixed("s")), mirrors())


def test_a_good_point_is_accepted() -> None:
    assert run_pair(send_base(Fixed("s")), answers(BASE * COUNT))[0].shape == (COUNT, 2, 16)
