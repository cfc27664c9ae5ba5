"""Known cheats in what is garbled: `dual` shows nothing then but one bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.errors import UnequalError
from accord.secure.blocks import Table
from accord.secure.circuit import Equal, Input
from accord.secure.dual import batch as dual_batch
from accord.secure.dual.equality import Results
from accord.secure.garbled.batch import BatchSide
from accord.side import Side
from tests.secure.dual.cheating import CIRCUIT, Ended, evaluated, garbling, made_up, require_refused
from tests.secure.engines import World, tampered

TWO = Equal(Input("x", 2, 1))
"""One AND of the two bits, beside those that ask whether rows are real."""


def test_wrong_gates_are_refused(world_of: Callable[[str], World], cheat: Side) -> None:
    def change(own: BatchSide, message: NDArray[np.uint8]) -> None:
        message[: 16 * own.batch.pairs] ^= 1

    with garbling(change, cheat):
        require_refused(evaluated(world_of("dual"), CIRCUIT, made_up(), cheat.other), cheat)


def test_a_wrong_decoding_is_refused(world_of: Callable[[str], World], cheat: Side) -> None:
    """As is any other way to make the other side believe in another answer."""

    def change(own: BatchSide, message: NDArray[np.uint8]) -> None:
        message[16 * own.tape.tables * own.batch.pairs] ^= 1

    with garbling(change, cheat):
        require_refused(evaluated(world_of("dual"), CIRCUIT, made_up(), cheat.other), cheat)


@pytest.mark.parametrize("matters", [True, False])
def test_other_inputs_where_one_garbles_are_refused_if_an_answer_differs(
    world_of: Callable[[str], World], cheat: Side, matters: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If none does, nobody notices, and the answers are right: that it is so is the one bit."""
    true = BatchSide.bits

    def bits(self: BatchSide, garbler: bool) -> NDArray[np.uint8]:
        found = true(self, garbler)
        if garbler and self.session.side is cheat:
            found[0] ^= 1
        return found

    monkeypatch.setattr(BatchSide, "bits", bits)
    near = np.zeros((5, 8), np.int64)
    far = near.copy()
    # At a distance of 2 one bit more decides, at one of 5 it does not.
    far[:, 1 : 3 if matters else 6] = 1
    real = np.ones(5, np.bool_)
    rows = Table({"x": near}, real), Table({"x": far}, real)
    ended = evaluated(world_of("dual"), CIRCUIT, rows, cheat.other)
    if matters:
        require_refused(ended, cheat)
    else:
        assert ended.error is None
        assert ended.answers is not None
        assert not ended.answers.any()


def test_masks_that_differ_by_direction_are_refused(
    world_of: Callable[[str], World], cheat: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = dual_batch._garble

    def garble(own: BatchSide, labels: Any, pairs: slice) -> Any:
        if own.session.side is cheat:
            masks = labels.masks.copy()
            masks[0] ^= 1
            labels = type(labels)(masks, *list(vars(labels).values())[1:])
        return true(own, labels, pairs)

    monkeypatch.setattr(dual_batch, "_garble", garble)
    require_refused(evaluated(world_of("dual"), CIRCUIT, made_up(), cheat.other), cheat)


def failing(world: World, cheat: Side, bits: tuple[int, int], at: int, asks: bool) -> Ended:
    """One pair, of which a table of the AND is wrong. The honest side takes it if its label of the bit has
    the colour 1; who garbled knows which value that is, and if it `asks` changes nothing unless it is 1."""
    true = dual_batch._garble

    def garble(own: BatchSide, labels: Any, pairs: slice) -> Any:
        zero, message = true(own, labels, pairs)
        if own.session.side is cheat and not (asks and labels.given_inputs[at, 0, 0] & np.uint64(1)):
            message[16 * at : 16 * at + 16] ^= 255
        return zero, message

    values = {cheat: np.zeros((1, 2), np.int64), cheat.other: np.array([bits])}
    rows = [Table({"x": values[side]}, np.ones(1, np.bool_)) for side in Side]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dual_batch, "_garble", garble)
        return evaluated(world, TWO, (rows[0], rows[1]), cheat.other)


def test_a_table_that_fails_for_one_value_of_a_bit_tells_that_bit_and_no_more(
    world_of: Callable[[str], World], cheat: Side
) -> None:
    """With inputs that have this bit the run ends, and all of them look alike: the same messages, the same
    end. With the others it goes on, and the answer is right. To know the other bit takes another run."""
    world, every = world_of("dual"), [(x, y) for x in (0, 1) for y in (0, 1)]
    # The colour of a label follows from the honest side's seeds, which are fixed here.
    taken = [at for at in (0, 1) if failing(world, cheat, (0, 0), at, asks=False).error]
    assert taken, "other seeds are needed"
    at = taken[0]
    ended = {bits: failing(world, cheat, bits, at, asks=True) for bits in every}
    for bits, one in ended.items():
        if bits[at]:
            assert isinstance(one.error, UnequalError)
        else:
            assert one.answers is not None
            assert one.answers.tolist() == [bits == (0, 0)]
    first, second = (one.wire.sizes for bits, one in ended.items() if bits[at])
    assert first == second


def test_what_a_cheat_decodes_before_it_is_refused_are_coins(cheat: Side) -> None:
    """Whatever the honest side's rows are: with rows that all match and with rows of which none does it sees
    fair coins. With 2,500 pairs |z| < 6.5 keeps the false alarm below α = 1e-6 for all cases together."""
    seen: list[NDArray[np.uint8]] = []
    true = Results.add

    def add(self: Results, batch: Any, pairs: slice) -> None:
        if self._session.side is cheat:
            seen.append(batch.bits)
        true(self, batch, pairs)

    def change(own: BatchSide, message: NDArray[np.uint8]) -> None:
        message[: 16 * own.batch.pairs] ^= 1

    ends = []
    with garbling(change, cheat), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Results, "add", add)
        for value in (0, 1):
            rows = {cheat: np.zeros((50, 8), np.int64), cheat.other: np.full((50, 8), value)}
            tables = [Table({"x": rows[side]}, np.ones(50, np.bool_)) for side in Side]
            seen.clear()
            ends.append(evaluated(World("dual"), CIRCUIT, (tables[0], tables[1]), cheat.other))
            require_refused(ends[-1], cheat, 2500)
            bits = np.concatenate(seen)
            assert len(bits) == 2500
            assert abs(2 * float(bits.sum()) - 2500) < 6.5 * 50
    assert ends[0].wire.sizes == ends[1].wire.sizes


def test_any_message_that_is_another_is_refused(
    world_of: Callable[[str], World],
) -> None:
    rows, world = made_up(), world_of("dual")
    whole = evaluated(world, CIRCUIT, rows, Side.A)
    for place, side in enumerate(Side):
        for number in range(len(whole.wire.sizes[side])):

            def change(party: Any, at: int, place: int = place, number: int = number) -> Any:
                flipped = tampered(party, number, lambda data: bytes(byte ^ 255 for byte in data))
                return flipped if at == place else party

            ended = evaluated(world, CIRCUIT, rows, side.other, change)
            assert ended.error is not None, (side, number)
