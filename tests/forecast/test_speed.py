"""The speed of this machine is measured once, kept, and measured anew where what is kept is of no use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord.agreement.document import Agreement
from accord.forecast.speed import Measuring, Speedometer
from accord.forecast.speed_child import Measured, measure_apart
from accord.planning.machine import SLOW, Common, PairSeconds, Speed
from accord.secure.circuit_text import decode_circuit
from accord.secure.engine import Engine
from tests.protocols.worlds import agreement


def quick() -> Agreement:
    """Without silent transfers, of which a reserve takes a second to fill."""
    plain = agreement().model_dump(mode="json") | {"engine": {"name": "ot", "silent": False}}
    return Agreement.model_validate(plain)


def measure(folder: Path | None, how: Measuring = measure_apart) -> Speed:
    agreed = quick()
    return Speedometer(folder, how)(agreed, agreed.task)


def made_up(engine: Engine, circuit: str, common: Common | None) -> Measured:
    """Without a process, and without work."""
    decode_circuit(circuit)
    pace = PairSeconds(1e-6, 1e-5)
    return Measured(common or Common(0.0, 1e-4), Speed(pace, pace, 0.0, 1e-4))


def test_what_was_measured_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    first = measure(tmp_path, made_up)
    kept = tmp_path / "speed.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    doctored = json.loads(kept.read_text())
    for one in doctored["circuits"].values():
        one["value"] = 7.0
    kept.write_text(json.dumps(doctored))
    assert measure(tmp_path, made_up).value == 7.0 != first.value


@pytest.mark.parametrize(
    "torn",
    [b"", b"{", b"[]", b'{"format": 1}', b'{"format": 9, "version": "x", "common": {}, "circuits": {}}'],
)
def test_a_file_that_is_of_no_use_is_measured_anew(tmp_path: Path, torn: bytes) -> None:
    (tmp_path / "speed.json").write_bytes(torn)
    assert measure(tmp_path, made_up).made.pair > 0
    assert json.loads((tmp_path / "speed.json").read_text())["circuits"]


def test_without_a_place_to_keep_it_it_is_measured_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert measure(tmp_path / "file", made_up).made.pair > 0
    assert measure(None, made_up).made.pair > 0


def test_nothing_is_measured_where_it_must_be_quick(tmp_path: Path) -> None:
    agreed = quick()
    meter = Speedometer(tmp_path, measure=None)
    assert meter(agreed, agreed.task) == SLOW
    assert meter.guessed
    assert not list(tmp_path.iterdir())


def test_what_is_known_of_an_engine_is_not_measured_again(tmp_path: Path) -> None:
    measure(tmp_path, made_up)
    kept = json.loads((tmp_path / "speed.json").read_text())
    kept["circuits"].clear()
    kept["common"]["ot"]["value"] = 7.0
    (tmp_path / "speed.json").write_text(json.dumps(kept))
    measure(tmp_path, made_up)
    assert json.loads((tmp_path / "speed.json").read_text())["common"]["ot"]["value"] == 7.0
