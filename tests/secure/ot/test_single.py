"""Pairs that stand alone: the same answers and the same bytes as by the loops for stretches of rows."""

from __future__ import annotations

import numpy as np
import pytest

from accord.entropy import Seeded
from accord.secure.blocks import Blocks, StripBatch, shapes
from accord.secure.circuit import And, AtMost, Input, Node, Opened, SquaredEuclidean
from accord.secure.ideal import IdealEngine
from accord.secure.ot import batch as batches
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import MANY, USUAL, Settings
from accord.secure.ot.single import hash_known, stands_alone
from accord.secure.ot.sizes import BatchShape, batch_limit, batch_sizes
from accord.secure.ot.supply import Use, needs, schedule
from accord.secure.party import Wire, run_pair
from accord.secure.transfer.extension import Tile
from accord.secure.transfer.half_tree import CLEAR
from accord.secure.transfer.permutation import Permutation, hash_blocks
from accord.side import Side
from benchmarks.workload import RULES, make_up_table

PAIRS = 300
USED = Use(made=MANY)
WIDE = AtMost(SquaredEuclidean(Input("far", 2, (1 << 20) - 1)), 1 << 30)
CIRCUITS = {name: RULES[name] for name in ("hamming50", "euclidean2d", "edit", "conjunction", "dice128")}


def alone(count: int) -> Blocks:
    """Pairs of rows that are not in order on B's side."""
    ones = np.ones(count, np.int64)
    return Blocks(np.arange(count), ones, np.arange(count)[::-1].copy(), ones)


def shared(count: int) -> Blocks:
    """So many rows of A against one of B, and then others."""
    pairs = alone(PAIRS - count)
    a_counts, b_counts = np.append(pairs.a_counts, count), np.append(pairs.b_counts, 1)
    return Blocks(np.arange(PAIRS), a_counts, np.append(pairs.b_rows, PAIRS - 1), b_counts)


def outcome(circuit: Node, engine: OtEngine, over: Blocks) -> tuple[list[bool], str]:
    tables = [make_up_table(circuit, side, PAIRS) for side in Side]
    a, b = run_pair(engine.set_up(Side.A, Seeded("a")), engine.set_up(Side.B, Seeded("b")))
    wire = Wire()
    found, other = run_pair(
        engine.evaluate(a, circuit, over, tables[0]), engine.evaluate(b, circuit, over, tables[1]), wire
    )
    assert (found == other).all()
    return found.tolist(), wire.digest


@pytest.mark.parametrize("circuit", [*CIRCUITS.values(), WIDE], ids=[*CIRCUITS, "wide"])
def test_answers_and_bytes_are_those_of_stretches_of_one_row(
    circuit: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In lanes of 8 to 64 bits, and where letters are shared bit by bit."""
    check(circuit, OtEngine(), alone(PAIRS), monkeypatch)


def test_a_row_of_b_may_meet_several_that_are_in_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    check(RULES["hamming50"], OtEngine(Settings(group=1)), shared(20), monkeypatch)


def check(circuit: Node, engine: OtEngine, over: Blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are right, and all is as without loops of its own."""
    found = outcome(circuit, engine, over)
    monkeypatch.setattr(batches, "stands_alone", lambda batch: False)
    assert outcome(circuit, engine, over) == found
    ideal = IdealEngine()
    tables = [make_up_table(circuit, side, PAIRS) for side in Side]
    sides = run_pair(ideal.set_up(Side.A, Seeded("a")), ideal.set_up(Side.B, Seeded("b")))
    parties = [ideal.evaluate(s, circuit, over, t) for s, t in zip(sides, tables, strict=True)]
    assert run_pair(parties[0], parties[1])[0].tolist() == found[0]


def test_two_products_of_a_bit_take_two_words_of_one_hash() -> None:
    """Bits 0 and 1 serve two terms, bits 2 and 3 one; H is asked for in tiles that end within a bit."""
    node = And(tuple(AtMost(SquaredEuclidean(Input("x", 1, 3)), bound) for bound in (1, 2, 4)))
    program, pairs = compile_circuit(Opened(node, 0), "ot"), 5
    rows = np.random.default_rng(1).integers(0, 1 << 64, (4 * pairs, 2), dtype=np.uint64) & CLEAR
    tiles = [Tile(0, rows[:7]), Tile(7, rows[7:])]
    found = hash_known(Permutation(), program, iter(tiles), pairs)
    inner, outer = hash_blocks(Permutation(), rows)
    low, high = (inner ^ outer).astype(found.dtype).T.reshape(2, 4, pairs)
    assert np.array_equal(found[0], np.concatenate([low, high[:2]]))


def test_only_pairs_that_all_stand_alone_do() -> None:
    one = np.ones(3, np.int64)

    def batch(width: list[int], members: list[int]) -> StripBatch:
        widths = np.array(width)
        start = np.cumsum(widths) - widths
        rows = np.arange(int(widths.sum()))
        return StripBatch(one, widths, start, start, rows, start, len(rows), np.array(members))

    assert stands_alone(batch([1, 1, 1], [1, 1, 1]))
    assert not stands_alone(batch([1, 2, 1], [1, 1, 1]))
    assert not stands_alone(batch([1, 1, 1], [2, 1]))


@pytest.mark.parametrize("name", RULES)
def test_batches_are_large_and_what_is_under_way_at_once_is_bounded(name: str) -> None:
    program = compile_circuit(RULES[name], "ot")
    pairs, ones = batch_limit(program, alone=True).most, np.ones(40_000, np.int64)
    assert pairs >= min(1 << 15, 400_000 // program.terms)
    sent = batch_sizes(program, (1, 1), BatchShape(pairs, pairs, pairs, pairs)).total
    assert sent <= 1 << 22
    blocks = Blocks.of_sizes(ones, ones)
    plan = schedule(needs(program, shapes(blocks, batch_limit(program, blocks.alone))), (USED, USED), USUAL)
    assert max(max(stage.feeds) for stage in plan.stages) <= 2
