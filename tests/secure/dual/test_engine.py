"""The dual engine beyond the contract: no tweak twice, one choice of inputs, a bound on pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from accord.errors import UsageError
from accord.secure.blocks import Blocks
from accord.secure.circuit import And, AtMost, Equal, Hamming, Input, Not, SquaredEuclidean
from accord.secure.dual import engine as dual_engine
from accord.secure.dual.batch import Masked, run_batch
from accord.secure.dual.engine import DualEngine, DualSession
from accord.secure.dual.labels import Labels
from accord.secure.engine import AtOnceEngine, HoldingEngine
from accord.secure.garbled.batch import BatchSide
from accord.secure.party import Party, Wire, run_pair
from accord.side import Side
from tests.secure.engines import World
from tests.secure.traced import Traced
from tests.secure.worlds import BITS, POINT, Fixed, table

CIRCUIT = And((AtMost(Hamming(BITS), 3), Not(AtMost(SquaredEuclidean(POINT), 400)), Equal(BITS)))
ENGINE = DualEngine()


def test_no_label_and_tweak_are_hashed_twice_in_a_session() -> None:
    pis = Traced(), Traced()
    a, b = (ENGINE.set_up(side, Fixed(side.value), pi) for side, pi in zip(Side, pis, strict=True))
    made, random = run_pair(a, b), np.random.default_rng(0)
    for sizes in ((12, 14), (1, 1), (3, 2)):
        left, right = (table(random, CIRCUIT, s, n) for s, n in zip(Side, sizes, strict=True))
        over = Blocks.whole(*sizes)
        run_pair(
            ENGINE.evaluate(made[0], CIRCUIT, over, left), ENGINE.evaluate(made[1], CIRCUIT, over, right)
        )
    assert all(len(np.concatenate(pi.seen)) > 50_000 for pi in pis)
    assert [pi.repeated() for pi in pis] == [0, 0]


def test_both_garble_everything_and_send_about_as_much(world_of: Callable[[str], World]) -> None:
    circuit, wire, random = AtMost(Hamming(BITS), 3), Wire(), np.random.default_rng(1)
    a, b = table(random, circuit, Side.A, 50), table(random, circuit, Side.B, 50)
    left, right = world_of("dual").parties(circuit, Blocks.whole(50, 50), a, b)
    run_pair(left, right, wire)
    sent = {side: sum(sizes) for side, sizes in wire.sizes.items()}
    assert 0.45 < sent[Side.A] / wire.bytes < 0.55


def test_a_row_has_the_same_labels_in_all_batches(
    world_of: Callable[[str], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So who evaluates has chosen its inputs once: all choices come before the first table, row by row."""
    circuit, random = AtMost(Hamming(BITS), 3), np.random.default_rng(1)
    a, b = table(random, circuit, Side.A, 100), table(random, circuit, Side.B, 100)
    batches, labels = [], set[bytes]()

    def noted(garbling: BatchSide, evaluating: BatchSide, own: Labels, pairs: slice) -> Party[Masked]:
        batches.append(pairs)
        labels.add(own.taken_inputs.tobytes())
        return run_batch(garbling, evaluating, own, pairs)

    monkeypatch.setattr(dual_engine, "run_batch", noted)
    left, right = world_of("dual").parties(circuit, Blocks.whole(100, 100), a, b)
    run_pair(left, right)
    assert len(batches) > 4
    assert len(labels) == 2


def test_more_pairs_than_one_test_takes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = AtMost(Hamming(BITS), 3), AtMost(SquaredEuclidean(Input("x", 8, (1 << 16) - 1)), 1 << 30)
    assert ENGINE.most_pairs(small) == 1 << 24
    assert ENGINE.most_pairs(large) < 1 << 22
    monkeypatch.setattr(dual_engine, "MOST_PAIRS", 8)
    random = np.random.default_rng(0)
    session = World("dual").sides[0]
    with pytest.raises(UsageError, match="at most 8 pairs"):
        next(ENGINE.evaluate(session, small, Blocks.whole(3, 3), table(random, small, Side.A, 3)))


def test_it_evaluates_at_once_and_holds_nothing() -> None:
    assert isinstance(ENGINE, AtOnceEngine)
    assert not isinstance(ENGINE, HoldingEngine)


def test_a_session_that_was_broken_off_is_not_used_again() -> None:
    session: DualSession = World("dual").sides[0]
    rows = table(np.random.default_rng(0), CIRCUIT, Side.A, 3)
    party = ENGINE.evaluate(session, CIRCUIT, Blocks.whole(3, 3), rows)
    next(party)
    party.close()
    with pytest.raises(RuntimeError, match="was broken off"):
        next(ENGINE.evaluate(session, CIRCUIT, Blocks.whole(3, 3), rows))
