"""How fast this machine is, kept: measured once for a circuit, and read from the state folder after that.

    <folder>/speed.json   0600   seconds by engine, version and circuit        (speed_child.py measures)

Nothing in it is secret, and nothing rests on it: a file that cannot be read is measured anew, and one that
cannot be written is done without.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from accord.agreement.document import Agreement
from accord.errors import StateError
from accord.forecast.speed_child import Measured, measure_apart, read_speed
from accord.planning.machine import SLOW, Common, Speed, circuit_key
from accord.protocols.base import Task
from accord.secure.circuit_text import encode_circuit
from accord.secure.engine import Engine
from accord.state.files import write_private
from accord.version import __version__

_FORMAT = 1
_NAME = "speed.json"

Measuring = Callable[[Engine, str, Common | None], Measured]
"""How a circuit is measured: with an engine, in words, and with what is known of the engine."""


class Speedometer:
    """Measures what is not known yet, and keeps it."""

    def __init__(self, folder: Path | None, measure: Measuring | None = measure_apart) -> None:
        """Without a way to measure it takes what is known, or else guesses."""
        self._measure = measure
        self.guessed = False
        """Whether something was asked for that is not known, and not measured."""
        self._path = None if folder is None else folder / _NAME
        self._known = self._read()

    def __call__(self, agreement: Agreement, task: Task) -> Speed:
        """The speed of this machine at the circuit of an agreement."""
        engine = agreement.engine.build()
        circuit = task.lowered.node
        key = circuit_key(circuit, engine)
        if key not in self._known["circuits"]:
            if self._measure is None:
                self.guessed = True
                return SLOW
            common = self._known["common"].get(engine.name)
            found = self._measure(
                engine, encode_circuit(circuit), None if common is None else Common(**common)
            )
            self._known["common"][engine.name] = asdict(found.common)
            self._known["circuits"][key] = asdict(found.speed)
            self._write()
        return read_speed(self._known["circuits"][key])

    def _read(self) -> dict[str, Any]:
        """What is kept, if this version wrote it."""
        empty = {"format": _FORMAT, "version": __version__, "common": {}, "circuits": {}}
        if self._path is None:
            return empty
        try:
            kept = json.loads(self._path.read_bytes())
            for one in kept["circuits"].values():
                read_speed(one)
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
