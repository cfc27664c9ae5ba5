"""The schedule of silent OTs: nothing is asked for that is not there, and small sessions have none."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from accord.network import Network
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import AtMost, Hamming, inputs
from accord.secure.ideal import match
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import USUAL, Settings
from accord.secure.ot.supply import OtSession, Use, schedule
from accord.secure.party import run_pair
from accord.secure.transfer.lpn import Parameters
from accord.side import Side
from tests.secure.engines import FEW
from tests.secure.worlds import BITS, Fixed

NEW = (Use(), Use())


def test_few_pairs_stay_with_softspoken_and_many_do_not() -> None:
    few, many = np.array([[100], [1000]]), np.array([[100], [USUAL.many]])
    assert schedule(few, NEW, USUAL).silent == (False, False)
    assert schedule(many, NEW, USUAL).silent == (False, True)
    assert schedule(many, NEW, Settings(silent=False)).silent == (False, False)
    assert schedule(many, NEW, Settings(Network(1000, 1))).silent == (False, False)


def test_what_a_session_has_used_before_counts() -> None:
    half = np.array([[0], [USUAL.many // 2]])
    first = schedule(half, NEW, USUAL)
    assert first.silent == (False, False)
    assert schedule(half, first.after, USUAL).silent == (False, True)


@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 9000)), max_size=12), st.integers(0, 5000))
def test_every_batch_finds_what_it_asks_for(counts: list[tuple[int, int]], many: int) -> None:
    settings = Settings(many=many, code=FEW)
    needed = np.array(counts, dtype=np.int64).reshape(-1, 2).T
    plan = schedule(needed, NEW, settings)
    ready, first = [0, 0], 0
    for stage in plan.stages:
        assert any(stage.feeds) or first == 0
        for way in (0, 1):
            ready[way] += stage.feeds[way] * settings.codes[way].outputs
            if plan.silent[way]:
                ready[way] -= int(needed[way, first : stage.last].sum())
            assert ready[way] >= 0 or not plan.silent[way]
        first = stage.last
    assert first == needed.shape[1]
    assert [use.ready for use in plan.after] == ready
    assert all(r < code.outputs for r, code in zip(ready, settings.codes, strict=True))


def test_both_ends_of_a_reserve_stay_together_over_many_evaluations() -> None:
    """Distances and lookups from reserves, through feeds within an evaluation and between them."""
    circuit, settings = AtMost(Hamming(BITS), 3), Settings(many=0, code=Parameters(7, 64, 6))
    engine, random = OtEngine(settings), np.random.default_rng(0)
    a, b = run_pair(engine.set_up(Side.A, Fixed("a")), engine.set_up(Side.B, Fixed("b")))
    fed: list[int] = []
    for rows in (1, 40, 3, 60):
        over = Blocks.whole(rows, rows)
        tables = [
            Table(
                {of.name: random.integers(0, 2, (rows, of.length)) for of in inputs(circuit, side)},
                random.random(rows) < 0.8,
            )
            for side in Side
        ]
        both = run_pair(
            engine.evaluate(a, circuit, over, tables[0]), engine.evaluate(b, circuit, over, tables[1])
        )
        expected = match(circuit, over, *tables)
        assert all((answer == expected).all() for answer in both)
        assert a.used == b.used
        assert held(a) == held(b) == tuple(use.ready for use in a.used)
        fed.append(a._sender.rounds + a._receiver.rounds)
    assert fed == [2, 3, 3, 5]


def held(session: OtSession) -> tuple[int, int]:
    """What one side has in its reserves, for distances and for lookups."""
    mine = session._receiver.available, session._sender.available
    return mine if session.side is Side.A else mine[::-1]
