"""How fast this machine is, kept: measured once for a circuit, and read from the state folder after that.

    <folder>/speed.json   0600   seconds by engine, version and circuit        (planning/machine.py measures)

Nothing in it is secret, and nothing rests on it: a file that cannot be read is measured anew, and one that
cannot be written is done without.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from accord import __version__
from accord.agreement.document import Agreement
from accord.errors import StateError
from accord.planning.machine import SLOW, Bench, Common, Pace, Speed, circuit_key
from accord.protocols.base import Task
from accord.secure.engine import Engine
from accord.session.state import write_private

_FORMAT = 1
_NAME = "speed.json"


class Speedometer:
    """Measures what is not known yet, and keeps it."""

    def __init__(
        self, folder: Path | None, clock: Callable[[], float] = time.process_time, measure: bool = True
    ) -> None:
        self._measure = measure
        self.guessed = False
        """Whether something was asked for that is not known, and not measured."""
        self._path = None if folder is None else folder / _NAME
        self._clock = clock
        self._benches: dict[str, Bench] = {}
        self._known = self._read()

    def __call__(self, agreement: Agreement, task: Task) -> Speed:
        """The speed of this machine at the circuit of an agreement."""
        engine = agreement.engine.build()
        circuit = task.lowered.node
        key = circuit_key(circuit, engine)
        if key not in self._known["circuits"]:
            if not self._measure:
                self.guessed = True
                return SLOW
            found = self._bench(engine).speed(circuit, self._common(engine))
            self._known["circuits"][key] = asdict(found)
            self._write()
        return _speed(self._known["circuits"][key])

    def _bench(self, engine: Engine) -> Bench:
        if engine.name not in self._benches:
            self._benches[engine.name] = Bench(engine, self._clock)
        return self._benches[engine.name]

    def _common(self, engine: Engine) -> Common:
        found = self._known["common"].get(engine.name)
        if found is None:
            found = self._known["common"][engine.name] = asdict(self._bench(engine).common())
        return Common(**found)

    def _read(self) -> dict[str, Any]:
        """What is kept, if this version wrote it."""
        empty = {"format": _FORMAT, "version": __version__, "common": {}, "circuits": {}}
        if self._path is None:
            return empty
        try:
            kept = json.loads(self._path.read_bytes())
            for one in kept["circuits"].values():
                _speed(one)
            for one in kept["common"].values():
                Common(**one)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return empty
        return kept if (kept["format"], kept["version"]) == (_FORMAT, __version__) else empty

    def _write(self) -> None:
        if self._path is None:
            return
        try:
            write_private(self._path, json.dumps(self._known).encode())
        except (StateError, OSError):
            # Measured again the next time: no reason not to plan.
            return


def _speed(kept: dict[str, Any]) -> Speed:
    made, silent = Pace(**kept["made"]), Pace(**kept["silent"])
    return Speed(made, silent, float(kept["feed"]), float(kept["value"]))
