"""A measurement: of the very circuit, with any engine, by whatever clock it is given."""

from __future__ import annotations

import itertools

import pytest

from accord.benchmarking.workload import RULES
from accord.planning.machine import Bench, PairSeconds, Speed, circuit_key
from accord.secure.cost import Price
from accord.secure.engines import engine_named
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import Settings


def test_work_is_linear_in_what_was_counted() -> None:
    speed = Speed(PairSeconds(2.0, 10.0), PairSeconds(1.0, 5.0), 100.0, 1.0)
    assert speed.processor(Price(0, 0, 50, 4, 0)) == pytest.approx(0.55 * (2 * 50 + 10 * 4))
    assert speed.processor(Price(0, 0, 50, 4, 3)) == pytest.approx(0.55 * (50 + 5 * 4 + 3 * 100))


@pytest.mark.parametrize("name", ["ot", "garbled"])
def test_an_engine_is_timed_by_the_clock_that_it_is_given(name: str) -> None:
    ticks = itertools.count(step=1.0)
    engine = OtEngine(Settings(silent=False)) if name == "ot" else engine_named(name)
    bench = Bench(engine, lambda: next(ticks))
    speed = bench.speed(RULES["hamming50"], bench.common())
    assert speed.feed == 0
    assert speed.silent == speed.made
    # Every evaluation takes one tick, whatever it does.
    assert speed.made.pair > 0
    assert speed.value == pytest.approx(1 / 256)


def test_a_measurement_is_known_again_by_engine_and_circuit() -> None:
    ot, garbled = engine_named("ot"), engine_named("garbled")
    keys = {circuit_key(RULES[rule], engine) for rule in ("hamming50", "equal16") for engine in (ot, garbled)}
    assert len(keys) == 4
    assert circuit_key(RULES["equal16"], ot) == circuit_key(RULES["equal16"], engine_named("ot"))


@pytest.mark.slow
def test_silent_transfers_are_timed_with_the_real_code() -> None:
    import time

    bench = Bench(engine_named("ot"), time.process_time)
    speed = bench.speed(RULES["hamming50"], bench.common())
    assert speed.feed > 0
    assert 0 < speed.silent.pair < speed.made.pair * 2
