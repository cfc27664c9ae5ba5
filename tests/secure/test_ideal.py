"""The plain interpreter over blocks: real pairs only, and only within one process."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.secure import ideal
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import And, AtMost, Hamming, Node, Not, Or
from accord.secure.ideal import IdealEngine, Rows, match
from accord.secure.party import run, run_pair
from accord.side import Side
from tests.secure.worlds import BITS, Ints, blocks, random_circuit, table
from tests.spent import Spent


def test_it_agrees_with_a_loop_over_all_pairs() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        circuit = random_circuit(random)
        a, b = table(random, circuit, Side.A, 12), table(random, circuit, Side.B, 12)
        over = blocks(random, [3, 0, 5], [4, 2, 1], 12)
        expected, at = [], [0, 0]
        for m, n in zip(over.a_counts, over.b_counts, strict=True):
            for i in over.a_rows[at[0] : at[0] + m]:
                for j in over.b_rows[at[1] : at[1] + n]:
                    holds = ideal.evaluate(circuit, a.inputs, b.inputs, np.array([i]), np.array([j]))[0]
                    expected.append(bool(holds and a.real[i] and b.real[j]))
            at = [at[0] + m, at[1] + n]
        assert match(circuit, over, a, b).tolist() == expected


def test_dummies_are_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    plain = ideal.evaluate

    def counting(circuit: Node, a: Rows, b: Rows, left: Ints, right: Ints) -> NDArray[np.bool_]:
        looked_at.append(len(left))
        return plain(circuit, a, b, left, right)

    monkeypatch.setattr(ideal, "evaluate", counting)
    rows = {BITS.name: np.zeros((1000, BITS.length), dtype=np.int64)}
    a, b = (Table(rows, np.arange(1000) < count) for count in (3, 5))
    answer = match(AtMost(Hamming(BITS), 3), Blocks.whole(1000, 1000), a, b)
    assert sum(looked_at) == 15
    assert answer.sum() == 15


def test_the_engine_gives_both_sides_the_answer() -> None:
    engine, random = IdealEngine(), np.random.default_rng(0)
    circuit = Or((Not(AtMost(Hamming(BITS), 3)), And(())))
    a, b = table(random, circuit, Side.A, 5), table(random, circuit, Side.B, 7)
    over = Blocks.whole(5, 7)
    sides = run_pair(engine.set_up(Side.A, Spent()), engine.set_up(Side.B, Spent()))
    left, right = run_pair(
        engine.evaluate(sides[0], circuit, over, a), engine.evaluate(sides[1], circuit, over, b)
    )
    assert (left == match(circuit, over, a, b)).all()
    assert (left == right).all()


def test_alone_in_a_process_it_refuses() -> None:
    class Peer:
        def send(self, buffer: object) -> None: ...

        def receive(self, size: int, look: object = None) -> bytes:
            return b""

    empty = Table({}, np.zeros(0, dtype=np.bool_))
    with pytest.raises(RuntimeError, match="one process"):
        run(IdealEngine().evaluate(Side.B, And(()), Blocks.whole(0, 0), empty), Peer())
