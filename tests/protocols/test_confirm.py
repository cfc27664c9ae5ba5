"""The output is compared under a joint key, and nobody can pass by sending back what came."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.protocols.confirm import confirm
from accord.protocols.outcome import Outcome, Seconds
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.side import Side


def outcome(own: list[int], partner: list[int], partner_ids: list[str]) -> Outcome:
    ids = pa.array(partner_ids, pa.large_string())
    rows = np.array(own, np.int32), np.array(partner, np.int32)
    return Outcome(*rows, ids, pa.table({}), 9, 9, 0, 0, 0, (), Seconds())


A_IDS, B_IDS = pa.array(["a0", "a1", "a2"], pa.large_string()), pa.array(["b0", "b1"], pa.large_string())


def test_the_same_pairs_in_any_order_and_numbering_agree() -> None:
    a = confirm(Side.A, A_IDS, outcome([0, 2], [1, 0], ["b1", "b0"]), Seeded(1))
    b = confirm(Side.B, B_IDS, outcome([0, 1], [0, 1], ["a0", "a2"]), Seeded(2))
    run_pair(a, b)


@pytest.mark.parametrize("rows", [[0, 0], [1, 1], [1, 0]])
def test_other_pairs_are_noticed(rows: list[int]) -> None:
    a = confirm(Side.A, A_IDS, outcome([0, 2], [1, 0], ["b1", "b0"]), Seeded(1))
    b = confirm(Side.B, B_IDS, outcome(rows, [0, 1], ["a0", "a2"]), Seeded(2))
    with pytest.raises(PeerError, match="another output"):
        run_pair(a, b)


def test_an_echo_does_not_pass() -> None:
    def echo() -> Party[None]:
        for _ in range(2):
            heard = yield Receive(32)
            yield Send(bytes(heard))

    with pytest.raises(PeerError, match="another output"):
        run_pair(confirm(Side.A, A_IDS, outcome([0], [0], ["b0"]), Seeded(1)), echo())


def test_the_digest_is_another_one_in_every_run() -> None:
    digests = set()
    for seed in range(2):
        wire = Wire()
        a = confirm(Side.A, A_IDS, outcome([0], [0], ["b0"]), Seeded(seed))
        b = confirm(Side.B, B_IDS, outcome([0], [0], ["a0"]), Seeded(7))
        run_pair(a, b, wire)
        digests.add(wire.digest)
    assert len(digests) == 2
