"""What the tests of the engines share: one set-up for each kind of engine, made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.secure.engines import World


@pytest.fixture(scope="session")
def world_of() -> Callable[[str], World]:
    """The world of an engine, by name."""
    return cache(World)
