"""Half trees: every leaf but one, the sum of all is Δ, and messages that tell nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.secure.transfer.half_tree import grow, path, rebuild
from accord.secure.transfer.permutation import Permutation, mix

Words = NDArray[np.uint64]
ONE = np.uint64(1)


class Trees:
    """Some trees, grown and rebuilt."""

    def __init__(self, seed: int, trees: int, depth: int) -> None:
        random = np.random.default_rng(seed)
        self.delta = random.integers(0, 1 << 64, 2, dtype=np.uint64) & ~ONE
        self.delta[0] |= ONE
        self.choices = random.integers(0, 2, (trees, depth), dtype=np.uint64)
        self.q = random.integers(0, 1 << 64, (trees, depth, 2), dtype=np.uint64)
        self.q &= ~ONE
        self.t = self.q ^ self.choices[:, :, None] * self.delta
        self.sent, self.known = np.zeros((2, trees, 1 << depth, 2), dtype=np.uint64)
        self.message = grow(Permutation(), self.q, self.delta, self.sent)
        rebuild(Permutation(), self.t, path(self.t), self.message, self.known)


@pytest.mark.parametrize(("trees", "depth"), [(1, 2), (3, 5), (5, 1), (50, 7), (97, 11)])
def test_the_receiver_has_all_leaves_but_one_and_that_one_with_delta(trees: int, depth: int) -> None:
    made = Trees(depth, trees, depth)
    points = path(made.t)
    expected = made.sent.copy()
    expected[np.arange(trees), points] ^= made.delta
    assert (made.known == expected).all()
    assert (np.bitwise_xor.reduce(made.sent, axis=1)[:, 1] == made.delta[1]).all()
    assert (np.bitwise_xor.reduce(made.known, axis=1)[:, 1] == 0).all()
    assert not (made.sent[:, :, 0] & ONE).any()
    assert ((made.known[:, :, 0] & ONE).sum(axis=1) == 1).all()
    assert made.message.shape == (trees, depth - 1, 2)


@pytest.mark.parametrize("depth", [1, 2, 6])
def test_what_is_rebuilt_is_added_to_what_is_there(depth: int) -> None:
    made = Trees(depth, 40, depth)
    there = np.random.default_rng(depth).integers(0, 1 << 64, made.known.shape, dtype=np.uint64)
    found = there.copy()
    rebuild(Permutation(), made.t, path(made.t), made.message, found)
    assert (found == there ^ made.known).all()


def turned(rows: Words) -> Words:
    """ω times some rows: (l, h) becomes (h, l ⊕ h)."""
    return np.stack([rows[..., 1], rows[..., 0] ^ rows[..., 1]], axis=-1)


@pytest.mark.parametrize("depth", [2, 6])
def test_turned_leaves_are_added_to_what_is_there(depth: int) -> None:
    made = Trees(depth, 40, depth)
    there = np.random.default_rng(depth).integers(0, 1 << 64, made.known.shape, dtype=np.uint64)
    sent, known = there.copy(), there.copy()
    message = grow(Permutation(), made.q, made.delta, sent, turned=True)
    rebuild(Permutation(), made.t, path(made.t), message, known, turned=True)
    assert (message == made.message).all()
    assert (sent == there ^ turned(made.sent)).all()
    assert (known == there ^ turned(made.known)).all()


def test_the_point_is_what_the_choices_leave() -> None:
    made = Trees(0, 40, 6)
    for point, choices in zip(path(made.t), made.choices, strict=True):
        assert f"{point:06b}" == "".join(str(1 - int(choice)) for choice in choices)


def test_a_tree_is_grown_as_it_is_defined() -> None:
    made, pi = Trees(1, 2, 3), Permutation()

    def hashed(node: Words) -> Words:
        inner = mix(node[None])
        return (pi.apply(inner, "b") ^ inner)[0]

    for tree in range(2):
        level = [made.q[tree, 0], made.q[tree, 0] ^ made.delta]
        for depth in (1, 2):
            left = [hashed(x) for x in level]
            level = [part for x, y in zip(level, left, strict=True) for part in (y, x ^ y)]
            mask = np.bitwise_xor.reduce(np.array(left), axis=0)
            assert (made.message[tree, depth - 1] == made.q[tree, depth] ^ mask).all()
        assert (made.sent[tree] == np.array(level) & ~ONE).all()


def test_leaves_are_unlike_each_other_and_unlike_delta() -> None:
    made = Trees(2, 60, 9)
    both = np.concatenate([made.sent.reshape(-1, 2), made.sent.reshape(-1, 2) ^ made.delta])
    assert len(np.unique(both, axis=0)) == len(both)


def test_the_message_does_not_depend_on_the_path_or_on_delta_to_the_eye() -> None:
    """All bits of messages of 500 trees, and their agreement with Δ: within 5.3 σ of a half each.

    Two statistics over 441,000 and as many bits; false alarm 1e-7 each. Lowest bits are left out: the rows'
    are 0, so that there the message shows the sum's, which the receiver knows.
    """
    made = Trees(3, 500, 8)
    message = np.unpackbits(np.ascontiguousarray(made.message).view(np.uint8), bitorder="little")
    bits = np.delete(message.reshape(-1, 128), [0, 64], axis=1)
    delta = np.delete(np.unpackbits(made.delta.view(np.uint8), bitorder="little"), [0, 64])
    for counted in (bits, bits ^ delta):
        assert abs(int(counted.sum()) - counted.size / 2) < 5.33 * np.sqrt(counted.size) / 2
