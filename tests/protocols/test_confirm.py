"""The output is compared under a joint key, and nobody can pass by sending back what came."""

from __future__ import annotations

import hmac
import itertools
import struct

import numpy as np
import pyarrow as pa
import pytest

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.protocols import confirm as confirm_module
from accord.protocols.confirm import confirm, output_digest
from accord.protocols.parts.outcome import Digest, Outcome
from accord.protocols.parts.phases import Phases
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.side import Side
from accord.spill import Scratch
from accord.table.pairs import IdOrder, order_pairs

A_IDS, B_IDS = pa.array(["a0", "a1", "a2"], pa.large_string()), pa.array(["b0", "b1"], pa.large_string())


def outcome(side: Side, rows: list[tuple[int, int]], partner_ids: list[str]) -> Outcome:
    """With these pairs (own row, place of the partner's id)."""
    ids = pa.array(partner_ids, pa.large_string())
    own = A_IDS if side is Side.A else B_IDS
    found = np.array(rows, np.int64).reshape(-1, 2).T
    both = (IdOrder.of(own), found[0]), (IdOrder.of(ids), found[1])
    a, b = both if side is Side.A else both[::-1]
    pairs = order_pairs(a[0], b[0], [(a[1], b[1])], Scratch())
    return Outcome(side, pairs, ids, pa.table({}), 9, 9, 0, 0, 0, (), Phases())


def of_a(*rows: tuple[int, int]) -> Outcome:
    return outcome(Side.A, list(rows), ["b1", "b0"])


def of_b(*rows: tuple[int, int]) -> Outcome:
    return outcome(Side.B, list(rows), ["a2", "a0", "a1"])


def both(a: Outcome, b: Outcome, seed: int = 1, wire: Wire | None = None) -> tuple[Digest, Digest]:
    return run_pair(confirm(A_IDS, a, Seeded(seed)), confirm(B_IDS, b, Seeded(7)), wire or Wire())


def test_the_same_pairs_in_any_order_and_numbering_agree() -> None:
    left, right = both(of_a((0, 1), (2, 0)), of_b((1, 0), (0, 1)))
    assert left == right
    assert both(of_a(), of_b())[0].value != left.value


@pytest.mark.parametrize(
    "rows", [[(0, 1), (1, 1)], [(0, 0), (1, 0)], [(0, 1)], [(0, 1), (1, 0), (1, 1)], [], [(0, 0), (1, 1)]]
)
def test_other_pairs_are_noticed(rows: list[tuple[int, int]]) -> None:
    with pytest.raises(PeerError, match="an output other"):
        both(of_a((0, 1), (2, 0)), of_b(*rows))


def test_the_digest_is_what_its_page_says() -> None:
    """By the formula, without arrays."""
    digest, _ = both(of_a((0, 1), (2, 0)), of_b((1, 0), (0, 1)))
    ids = [["a0", "a2"], ["b0", "b1"]]
    content = b"accord output 1\n" + struct.pack("<Q", 2)
    for side in ids:
        content += struct.pack("<2I", *map(len, side)) + "".join(side).encode()
    assert digest.value == hmac.digest(digest.key, content, "sha256")


def test_ids_are_told_apart_wherever_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same letters in a row, cut in all ways, over pieces of every size: all digests differ."""
    words, digests = "abcabc", set()
    cuts = [words[:i] or "-" for i in range(1, 6)]
    for size in (1, 2):
        monkeypatch.setattr(confirm_module, "_TOGETHER", size)
        for first, second in itertools.combinations(cuts, 2):
            a = pa.array([first, second], pa.large_string())
            b = pa.array([words[len(first) :], words[len(second) :]], pa.large_string())
            orders = IdOrder.of(a), IdOrder.of(b)
            pairs = order_pairs(*orders, [(np.arange(2), np.arange(2))], Scratch())
            digests.add(output_digest(b"k" * 64, a, b, pairs))
    assert len(digests) == 2 * 10


def test_an_echo_does_not_pass() -> None:
    def echo() -> Party[None]:
        for _ in range(2):
            heard = yield Receive(32)
            yield Send(bytes(heard))

    with pytest.raises(PeerError, match="an output other"):
        run_pair(confirm(A_IDS, of_a((0, 1)), Seeded(1)), echo())


def test_the_digest_is_another_one_in_every_run() -> None:
    wires = [Wire(), Wire()]
    found = {both(of_a((0, 1)), of_b((0, 1)), seed, wire)[0].value for seed, wire in enumerate(wires)}
    assert len(found) == 2
    assert wires[0].digest != wires[1].digest


def test_what_is_sent_is_not_what_a_receipt_shows() -> None:
    sent = []

    def listening(party: Party[Digest]) -> Party[Digest]:
        heard = None
        while True:
            try:
                event = party.send(heard)  # type: ignore[arg-type]
            except StopIteration as end:
                return end.value
            if isinstance(event, Send):
                sent.append(bytes(event.buffer))
            heard = yield event

    digest, _ = run_pair(
        listening(confirm(A_IDS, of_a((0, 1)), Seeded(1))), confirm(B_IDS, of_b((0, 1)), Seeded(7))
    )
    assert [len(one) for one in sent] == [32, 32]
    assert digest.value not in sent
