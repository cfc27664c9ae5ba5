"""The engines that two parties can agree on, by their names. Each is imported when it is first asked for."""

from __future__ import annotations

from accord.errors import UsageError
from accord.secure.engine import PLUGGED, Engine
from accord.secure.ot.settings import USUAL, Settings

BUILT_IN = ("ot", "dual")


def engine_names() -> tuple[str, ...]:
    """Those that an agreement may name."""
    return *BUILT_IN, *PLUGGED


def engine_named(name: str, settings: Settings = USUAL) -> Engine:
    """The engine that an agreement names; only `ot` has settings."""
    if name == "ot":
        from accord.secure.ot.engine import OtEngine

        return OtEngine(settings)
    if name == "dual":
        from accord.secure.dual.engine import DualEngine

        return DualEngine()
    if name in PLUGGED:
        return PLUGGED[name].engine
    raise UsageError(problem=f"There is no engine '{name}'. Engines: {', '.join(engine_names())}.")
