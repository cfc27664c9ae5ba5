"""Times that are written down: linear in what is counted, and about what the real engine takes."""

from __future__ import annotations

import pytest

from accord.datasets.starter import starter
from accord.planning.machine import (
    DUAL_BYTE,
    FEED,
    PairSeconds,
    Speed,
    intersecting,
    seconds_to_compare,
    speed_of,
    vole_rounds,
)
from accord.protocols.routed_passes import held_circuit
from accord.secure.cost import Price
from accord.side import Side
from benchmarks.workload import RULES


def test_work_is_linear_in_what_was_counted() -> None:
    speed = Speed(PairSeconds(2.0, 10.0), PairSeconds(1.0, 5.0), 3.0)
    assert speed.processor(Price(7, 0, 50, 4, 0)) == pytest.approx(0.55 * (2 * 50 + 10 * 4 + 3 * 7))
    assert speed.processor(Price(7, 0, 50, 4, 3)) == pytest.approx(0.55 * (50 + 5 * 4 + 3 * FEED + 3 * 7))


@pytest.mark.parametrize(
    ("circuit", "made", "silent"),
    [("hamming50", 4.4, 1.5), ("dice1024", 21.4, 13.6), ("edit", 188, 23.7), ("people", 51.1, 13.1)],
)
def test_what_was_measured_is_what_is_written_down(circuit: str, made: float, silent: float) -> None:
    """Microseconds a pair on one core of a Neoverse-N1, by `python -m benchmarks.pace`."""
    found = speed_of(RULES[circuit], "ot")
    assert 1e6 * found.made.pair == pytest.approx(made, rel=0.1)
    assert 1e6 * found.silent.pair == pytest.approx(silent, rel=0.1)


def test_other_engines_go_by_their_bytes() -> None:
    rule = starter("products").task.lowered.node
    taken = speed_of(rule, "dual").processor(Price(1000, 9, 50, 4, 0))
    assert taken == pytest.approx(0.55 * 1000 * DUAL_BYTE)


@pytest.mark.parametrize("engine", ["ot", "dual"])
def test_seconds_to_compare_are_linear_in_pairs(engine: str) -> None:
    rule = starter("products").task.lowered.node
    some, more = (seconds_to_compare(rule, engine, pairs) for pairs in (10**8, 10**9))
    assert more == pytest.approx(10 * some, rel=0.01)


def test_pairs_that_stand_alone_take_longer() -> None:
    task = starter("people").task
    blocks = seconds_to_compare(task.lowered.node, "ot", 10**6)
    alone = seconds_to_compare(held_circuit(task, Side.A), "ot", 10**6)
    assert alone == seconds_to_compare(held_circuit(task, Side.B), "ot", 10**6)
    assert alone > 5 * blocks > 0


@pytest.mark.parametrize(
    ("cells", "rounds"), [(0, 0), (4096, 0), (4097, 1), (2_000_000, 1), (2_100_000, 2), (130_000_000, 63)]
)
def test_a_vole_of_few_cells_has_no_rounds(cells: int, rounds: int) -> None:
    assert vole_rounds(cells) == rounds


@pytest.mark.parametrize(
    ("listed", "asked", "seconds"),
    [
        (1_000, 1_000, 0.1),
        (10_000, 10_000, 0.8),
        (100_000, 100_000, 1.2),
        (1_000_000, 100_000, 2.3),
        (1_000_000, 1_000_000, 4.5),
        (4_000_000, 4_000_000, 17.0),
    ],
)
def test_an_intersection_takes_what_was_measured(listed: int, asked: int, seconds: float) -> None:
    """Of the processor, on one core of a Neoverse-N1 for each side, where one waits for the other."""
    assert intersecting(listed, asked) == pytest.approx(seconds, rel=0.35)
