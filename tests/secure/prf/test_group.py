"""The group: exponents commute and undo each other, and nothing but its elements is let in."""

from __future__ import annotations

import numpy as np
import pytest
from nacl import bindings as sodium

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.secure.prf.group import POINT, Bytes, Clear, Ed25519, Group
from tests.secure.transfer.test_base import BAD

ITEMS = np.arange(300 * 24, dtype=np.uint64).astype(np.uint8).reshape(300, 24)
ITEMS[:, 0] = np.arange(300) % 256
ITEMS[:, 1] = np.arange(300) // 256


def rows(points: Bytes) -> set[bytes]:
    return {point.tobytes() for point in points}


@pytest.mark.parametrize("group", [Ed25519(b"test"), Clear(b"test")], ids=["ed25519", "clear"])
def test_exponents_commute_and_undo_each_other(group: Group) -> None:
    a, b = (group.secret(Seeded(seed)) for seed in range(2))
    points = group.hash_items(ITEMS)
    assert points.shape == (300, POINT)
    assert len(rows(points)) == 300
    assert (group.times(a, group.times(b, points)) == group.times(b, group.times(a, points))).all()
    blinds, undo = group.blinds(len(points), Seeded(5))
    blinded = group.times_each(blinds, points)
    assert (group.times_each(undo, group.times(a, blinded)) == group.times(a, points)).all()
    assert (group.times(blinds[7].tobytes(), points)[7] == blinded[7]).all()


def test_elements_are_in_the_subgroup_and_depend_on_item_domain_and_secret() -> None:
    group = Ed25519(b"test")
    points = group.hash_items(ITEMS[:20])
    assert all(sodium.crypto_core_ed25519_is_valid_point(point.tobytes()) for point in points)
    assert not rows(points) & rows(Ed25519(b"tess").hash_items(ITEMS[:20]))
    a, b = (group.secret(Seeded(seed)) for seed in range(2))
    assert not rows(group.times(a, points)) & rows(group.times(b, points))


def test_hashing_adds_two_maps_of_the_digest() -> None:
    """As RFC 9380 says, so that the result is any element, not only one of half of them."""
    import hashlib

    whole = hashlib.sha512(b"accord/group/1\0" + (4).to_bytes(8, "little") + b"test" + b"item").digest()
    halves = [sodium.crypto_core_ed25519_from_uniform(h) for h in (whole[:32], whole[32:])]
    item = np.frombuffer(b"item", np.uint8)[None]
    assert Ed25519(b"test").hash_items(item).tobytes() == sodium.crypto_core_ed25519_add(*halves)


def test_no_items() -> None:
    group = Ed25519(b"")
    nothing = group.hash_items(np.zeros((0, 8), np.uint8))
    assert group.times(group.secret(Seeded(1)), nothing).shape == (0, POINT)


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("place", [0, 99])
def test_what_is_no_element_is_refused(name: str, place: int) -> None:
    group = Ed25519(b"test")
    points = group.hash_items(ITEMS[:100]).copy()
    points[place] = np.frombuffer(BAD[name], np.uint8)
    with pytest.raises(PeerError, match="not in the group"):
        group.times(group.secret(Seeded(1)), points)
