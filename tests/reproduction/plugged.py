"""The plug-ins of the laboratory, for as long as a test needs them: no other test shall know them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from accord import plugins
from accord.privacy import calibration, events, noise
from accord.protocols import registry
from accord.secure import engine

NAME = "reproduction.plugins"


@contextmanager
def plugged() -> Iterator[None]:
    """Agreements may name what the laboratory has."""
    registries: list[dict[str, Any]] = [
        plugins._loaded, registry.PROTOCOLS, events.EVENTS, calibration.NOISES, noise.KINDS, engine.PLUGGED,
    ]  # fmt: skip
    before = [dict(one) for one in registries]
    plugins.load(NAME)
    try:
        yield
    finally:
        for one, kept in zip(registries, before, strict=True):
            one.clear()
            one.update(kept)
