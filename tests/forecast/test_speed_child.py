"""The speed is measured in a process of its own, or here where there is none."""

from __future__ import annotations

import sys

import pytest

from accord.agreement.document import Agreement
from accord.forecast import speed_child
from accord.forecast.speed_child import Measured, measure_apart
from accord.planning.machine import Common
from accord.secure.circuit_text import encode_circuit
from tests.protocols.worlds import agreement


def quick(engine: str = "ot") -> tuple[Agreement, str]:
    """Without silent transfers, of which a reserve takes a second to fill."""
    options = {"name": engine} | ({"silent": False} if engine == "ot" else {})
    agreed = Agreement.model_validate(agreement().model_dump(mode="json") | {"engine": options})
    return agreed, encode_circuit(agreed.task.lowered.node)


def nothing_here(*_: object) -> Measured:
    raise AssertionError("it was to be measured elsewhere")


def test_a_process_of_its_own_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed_child, "measure", nothing_here)
    agreed, circuit = quick()
    found = measure_apart(agreed.engine.build(), circuit, None)
    assert found.speed.made.pair > 0
    assert found.common.value > 0
    assert Measured.read(found.write()) == found


@pytest.mark.slow
def test_what_is_known_of_the_engine_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed_child, "measure", nothing_here)
    agreed, circuit = quick("garbled")
    known = Common(0.25, 0.5)
    found = measure_apart(agreed.engine.build(), circuit, known)
    assert (found.common, found.speed.feed, found.speed.value) == (known, 0.25, 0.5)


@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/false", "/bin/echo"])
def test_where_no_process_answers_it_is_measured_here(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(sys, "executable", program)
    agreed, circuit = quick()
    assert measure_apart(agreed.engine.build(), circuit, None).speed.made.pair > 0
