"""Shares of distances: they add up for every width and size of groups, and padding is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.secure.blocks import Limit, StripBatch, batches
from accord.secure.circuit import Bilinear, Input, Product
from accord.secure.forms import choice_bits, factors, form_of, own_part
from accord.secure.ot.distance import Parts, correction_bytes, receive_distance, send_distance, sum_bytes
from accord.secure.ot.program import NumberShare
from accord.secure.transfer.extension import correction_words, padded_count
from accord.side import Side
from tests.secure.conftest import Sessions
from tests.secure.worlds import blocks

BITS, NUMBERS, OWN = Input("bits", 7, 1), Input("numbers", 7, 50), Input("own", 1, 90)
FORM = form_of(Bilinear((Product(BITS, NUMBERS, -12), Product(BITS, BITS, 5)), OWN, 2, -3, -5000, 5000))


class World:
    """One batch of ragged strips, and rows for it."""

    def __init__(self, bits: int, group: int = 4) -> None:
        random = np.random.default_rng(bits)
        self.share = NumberShare(FORM, bits, 0, 0)
        over = blocks(random, [3, 1, 40], [5, 1, 33], 50)
        (self.batch,) = list(batches(over, Limit(10_000), group))
        self.rows = {
            side: {of.name: random.integers(0, of.high + 1, (50, of.length)) for of in (BITS, NUMBERS, OWN)}
            for side in Side
        }
        self.places = {Side.A: self.batch.a_rows, Side.B: self.batch.b_rows}

    def read(self, side: Side) -> Callable[[Input], NDArray[np.int64]]:
        return lambda of: self.rows[side][of.name][self.places[side]]

    def own(self, side: Side) -> NDArray[np.int64]:
        part = own_part(FORM, side, self.read(side), len(self.places[side]))
        return self.batch.of_a(part) if side is Side.A else self.batch.of_b(part)

    def run(
        self, sessions: Sessions, change: Callable[[NDArray[Any]], None] = lambda sent: None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """A's and B's shares."""
        a, b = sessions
        bits = choice_bits(FORM, self.read(Side.A))
        choices = np.zeros(padded_count(bits.size), dtype=np.uint8)
        choices[: bits.size] = 1 - bits.reshape(-1)
        corrections = np.empty(correction_words(bits.size, a.receiver.rate), dtype=np.uint64)
        packed = np.packbits(choices, bitorder="little").view("<u8")
        (mine,) = [t.rows[: bits.size].copy() for t in a.receiver.extend(packed, corrections, bits.size)]
        (theirs,) = [t.rows[: bits.size].copy() for t in b.sender.extend(corrections, bits.size)]
        batch = self.batch
        size = correction_bytes(self.share, batch.columns)
        sums = np.empty(sum_bytes(self.share, len(batch.width), len(batch.members)) // 8, dtype=np.uint64)
        sent = np.empty(size * 8 // self.share.lane, dtype=f"u{self.share.lane // 8}")
        factor = factors(FORM, self.read(Side.B))
        of_b, of_a = self.own(Side.B), self.own(Side.A)
        pi, delta = b.sender.pi, b.sender.delta
        right = send_distance(pi, self.share, theirs, delta, batch, factor, of_b, Parts(sums, sent))
        change(sent)
        left = receive_distance(a.receiver.pi, self.share, mine, batch, bits, of_a, Parts(sums, sent))
        return left, right

    def expected(self) -> NDArray[np.int64]:
        a = {name: rows[self.batch.of_a(self.batch.a_rows)] for name, rows in self.rows[Side.A].items()}
        b = {name: rows[self.batch.of_b(self.batch.b_rows)] for name, rows in self.rows[Side.B].items()}
        total = -12 * (a["bits"] * b["numbers"]).sum(1) + 5 * (a["bits"] * b["bits"]).sum(1)
        return total + 2 * a["own"][:, 0] - 3 * b["own"][:, 0]


@pytest.mark.parametrize("group", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("bits", [1, 3, 8, 9, 16, 17, 31, 33, 62])
def test_the_shares_add_up_to_the_value(sessions: Callable[[int], Sessions], bits: int, group: int) -> None:
    world = World(bits, group)
    left, right = world.run(sessions(4))
    total = (left.astype(np.uint64) + right.astype(np.uint64)) & np.uint64((1 << bits) - 1)
    assert (total == world.expected().astype(np.uint64) & np.uint64((1 << bits) - 1)).all()
    assert max(left.max(), right.max()) < 1 << bits
    assert left.dtype.itemsize * 8 == world.share.lane


def test_the_same_rows_get_other_shares_in_another_batch(sessions: Callable[[int], Sessions]) -> None:
    world = World(31)
    first, second = world.run(sessions(4)), world.run(sessions(4))
    assert all((x != y).mean() > 0.99 for x, y in zip(first, second, strict=True))


def test_terms_with_a_power_of_two_are_sent_in_fewer_bits() -> None:
    assert World(9).share.widths.tolist() == [7] * 7 + [9] * 7
    assert World(1).share.widths.tolist() == [0] * 7 + [1] * 7


def test_padding_that_is_not_zero_is_refused(sessions: Callable[[int], Sessions]) -> None:
    def spoil(sent: NDArray[Any]) -> None:
        sent[-1] |= 1 << 7

    world = World(8)
    assert isinstance(world.batch, StripBatch)
    with pytest.raises(PeerError, match="padding"):
        world.run(sessions(4), spoil)
