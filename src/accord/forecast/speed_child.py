"""The measurement of this machine's speed, in a process of its own, so that its memory ends with it.

Both parties of the measurement are in one place, with reserves of silent OTs at all four ends: far more than
a linkage holds of them. A coordinator that measured would have that as its peak for good.

The process is given an engine and a circuit, which are public, as JSON on its standard input, and answers in
JSON; it sees no record. Where none can be started, the measurement is done here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from accord.kernel import spare_blas
from accord.network import Network
from accord.planning.machine import Bench, Common, PairSeconds, Speed
from accord.program import own_environment
from accord.secure.circuit_text import decode_circuit
from accord.secure.engine import Engine
from accord.secure.engines import engine_named
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import USUAL, Settings


@dataclass(frozen=True)
class Measured:
    """What a circuit takes, and what every circuit of its engine shares."""

    common: Common
    speed: Speed

    @classmethod
    def read(cls, kept: str) -> Measured:
        """Raises ValueError, KeyError or TypeError unless it is what `write` wrote."""
        plain = json.loads(kept)
        return cls(Common(**plain["common"]), read_speed(plain["speed"]))

    def write(self) -> str:
        return json.dumps(asdict(self))


def read_speed(plain: dict[str, object]) -> Speed:
    """What `asdict` made of a speed."""
    made, silent = PairSeconds(**plain["made"]), PairSeconds(**plain["silent"])  # type: ignore[arg-type]
    return Speed(made, silent, float(plain["feed"]), float(plain["value"]))  # type: ignore[arg-type]


def measure(engine: Engine, circuit: str, common: Common | None) -> Measured:
    """What a circuit takes, by the processor's clock of the process that measures."""
    bench = Bench(engine, time.process_time)
    common = common or bench.common()
    return Measured(common, bench.speed(decode_circuit(circuit), common))


def measure_apart(engine: Engine, circuit: str, common: Common | None) -> Measured:
    """The same in a process of its own."""
    settings = engine.settings if isinstance(engine, OtEngine) else None
    asked = {
        "engine": engine.name,
        "network": str(settings.network) if settings else None,
        "silent": settings.silent if settings else None,
        "circuit": circuit,
        "common": asdict(common) if common else None,
    }
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-m", __name__],
            input=json.dumps(asked),
            stdout=subprocess.PIPE,
            text=True,
            # An interrupt at the terminal reaches this process alone, which then ends the other.
            process_group=0,
            env=own_environment(),
            check=True,
        )
        return Measured.read(child.stdout)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return measure(engine, circuit, common)


def main() -> None:
    """Answer what was asked. What goes wrong is not said: who asked will measure it, and then say it."""
    spare_blas()
    asked = json.load(sys.stdin)
    settings = Settings(Network.parse(asked["network"]), asked["silent"]) if asked["network"] else USUAL
    common = Common(**asked["common"]) if asked["common"] else None
    try:
        found = measure(engine_named(asked["engine"], settings), asked["circuit"], common)
    except Exception:
        raise SystemExit(1) from None
    sys.stdout.write(found.write())


if __name__ == "__main__":
    main()
