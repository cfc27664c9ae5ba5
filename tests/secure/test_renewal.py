"""A session that has hashed enough is made anew, on both sides at once, and the answers stay right."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import AtMost, Hamming, Input
from accord.secure.engines import engine_named
from accord.secure.ideal import IdealEngine
from accord.secure.party import Party, Wire, run_pair
from accord.secure.renewal import EVERY, MOST_BLOCKS, Lasting, Renewing
from accord.side import Side
from tests.secure.worlds import Fixed

BITS = 8
CIRCUIT = AtMost(Hamming(Input("x", BITS, 1)), 1)
ROWS = 6
DOCS = Path(__file__).parents[2] / "docs"


def table(seed: int) -> Table:
    bits = np.random.default_rng(seed).integers(0, 2, (ROWS, BITS))
    return Table({"x": bits}, np.ones(ROWS, np.bool_))


def run(engine: Renewing, times: int) -> tuple[Lasting, Lasting, Wire, list[Any]]:
    """So many evaluations of 36 pairs in one session, and A's Δ in each."""
    wire, deltas = Wire(), []

    def party(side: Side) -> Party[Lasting]:
        session = yield from engine.set_up(side, Fixed(side.value))
        for number in range(times):
            own = table(2 * number + (side is Side.B))
            bits = yield from engine.evaluate(session, CIRCUIT, Blocks.whole(ROWS, ROWS), own)
            a, b = (table(2 * number + i).inputs["x"] for i in (0, 1))
            expected = (a[:, None] ^ b[None]).sum(axis=2) <= 1
            assert np.array_equal(bits, expected.reshape(-1))
            if side is Side.A and hasattr(session.made, "ot"):
                deltas.append(session.made.ot.sender.delta.tobytes())
        return session

    a, b = run_pair(party(Side.A), party(Side.B), wire)
    return a, b, wire, deltas


def test_a_session_is_made_anew_at_the_bound() -> None:
    a, b, _, deltas = run(Renewing(engine_named("ot"), most_blocks=1, every=72), 7)
    # Looked at after 72 pairs, before evaluations 3, 5 and 7.
    assert a.set_ups == b.set_ups == 4
    assert [deltas.index(delta) for delta in deltas] == [0, 0, 2, 2, 4, 4, 6]


def test_who_counts_more_decides() -> None:
    """The two hash different numbers of blocks: both go by the larger count."""
    first, second, _, _ = run(Renewing(engine_named("ot"), most_blocks=1 << 60, every=36), 1)
    counts = sorted([first.made.aes_blocks, second.made.aes_blocks])
    assert counts[0] < counts[1]
    a, b, _, _ = run(Renewing(engine_named("ot"), most_blocks=counts[1], every=36), 2)
    assert a.set_ups == b.set_ups == 2


def test_below_the_bound_a_look_is_eight_bytes_each_way() -> None:
    plain = run(Renewing(engine_named("ot")), 3)
    looked = run(Renewing(engine_named("ot"), every=72), 3)
    assert looked[2].bytes - plain[2].bytes == 16
    assert plain[0].set_ups == looked[0].set_ups == 1


@pytest.mark.parametrize("every", [1, 4, 6, 13, 35])
def test_an_evaluation_of_more_pairs_is_looked_at_on_its_way(every: int) -> None:
    """`run` asserts the answers; 36 pairs are cut by rows of A, and below six pairs by rows of B, too."""
    a, b, _, _ = run(Renewing(IdealEngine(), most_blocks=0, every=every), 1)
    pieces = len(list(Blocks.whole(ROWS, ROWS).cut(every)))
    assert pieces == {1: 36, 4: 12, 6: 6, 13: 3, 35: 2}[every]
    assert a.set_ups == b.set_ups == pieces


def test_between_two_looks_there_are_never_more_pairs_than_agreed() -> None:
    a, b, _, deltas = run(Renewing(engine_named("ot"), most_blocks=1, every=71), 4)
    # Two evaluations have 72 pairs.
    assert a.set_ups == b.set_ups == 4
    assert len(set(deltas)) == 4


def test_the_documented_floor_follows_from_the_bound_and_its_looks() -> None:
    """(2μp + μq)/2¹²⁶, where the other side is past the bound by all that lies between two looks."""
    assert (MOST_BLOCKS, EVERY) == (2**32, 2**20)
    heaviest = 12_288
    hidden = MOST_BLOCKS + heaviest * EVERY
    bits, advantage = 126 - log2(2 * hidden), 126 - log2(3 * hidden * hidden)
    assert (log2(hidden), bits, int(advantage)) == (34, 91, 56)
    said = " ".join((DOCS / "engines.md").read_text().split())
    assert f"{heaviest:,} blocks per pair" in said
    assert "μ ≤ 2³⁴" in said
    assert f"a floor of **{bits:.0f} bits** against computing time" in said
    assert "3·2⁶⁸/2¹²⁶, less than 2⁻⁵⁶" in said
    for page in ("security.md", "threat-model.md"):
        assert f"floor of {bits:.0f} bits" in (DOCS / page).read_text()
