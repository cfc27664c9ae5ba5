"""The oblivious function: the asker has what the key holder would compute, in messages of public sizes."""

from __future__ import annotations

import numpy as np
import pytest

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.secure.prf.group import POINT, Clear, Ed25519, Group
from accord.secure.prf.oblivious import BATCH, answer, ask, value
from accord.side import Side


def items(count: int) -> np.ndarray:
    return np.arange(count, dtype="<u8")[:, None].view(np.uint8)


@pytest.mark.parametrize("count", [0, 1, 70])
def test_the_asker_learns_the_values(count: int) -> None:
    group = Ed25519(b"test")
    key = group.secret(Seeded(1))
    done: list[int] = []
    asking = ask(group, items(count), Seeded(2), done.append)
    values, _ = run_pair(asking, answer(group, key, count, lambda n: None))
    assert (values == value(group, key, items(count))).all()
    assert sum(done) == count


def test_batches_travel_one_ahead_and_their_sizes_are_public() -> None:
    group: Group = Clear(b"test")
    count, wire = 2 * BATCH + 5, Wire()
    values, _ = run_pair(
        ask(group, items(count), Seeded(2), lambda n: None),
        answer(group, b"", count, lambda n: None),
        wire,
    )
    assert (values == group.hash_items(items(count))).all()
    expected = [BATCH * POINT, BATCH * POINT, 5 * POINT]
    assert wire.sizes == {Side.A: expected, Side.B: expected}


def test_what_is_sent_depends_on_the_blinding_alone() -> None:
    group, sent = Ed25519(b"test"), []
    for seed in (2, 3):
        asking = ask(group, items(3), Seeded(seed), lambda n: None)
        first = next(asking)
        assert isinstance(first, Send)
        sent.append(bytes(first.buffer))
    assert sent[0] != sent[1]


def test_an_answer_that_is_no_element_is_refused() -> None:
    def rogue() -> Party[None]:
        yield Receive(3 * POINT)
        yield Send(bytes(3 * POINT))

    with pytest.raises(PeerError, match="not in the group"):
        run_pair(ask(Ed25519(b"test"), items(3), Seeded(1), lambda n: None), rogue())


def test_an_answer_serves_for_no_other_item() -> None:
    """A key holder that answers all items by its answer to the first gives none but the first its value."""
    group = Ed25519(b"test")
    key = group.secret(Seeded(1))

    def lister() -> Party[None]:
        blinded = np.frombuffer((yield Receive(4 * POINT)), np.uint8).reshape(4, POINT)
        yield Send(np.repeat(group.times(key, blinded[:1]), 4, axis=0).tobytes())

    values, _ = run_pair(ask(group, items(4), Seeded(2), lambda n: None), lister())
    true = value(group, key, items(4))
    assert (values[0] == true[0]).all()
    assert len(np.unique(np.concatenate([values[1:], true]), axis=0)) == 7
