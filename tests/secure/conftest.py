"""What the tests of the engines share: one set-up for each kind of engine, made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from accord.secure.party import run_pair
from accord.secure.transfer.setup import Session, set_up
from accord.side import Side
from tests.secure.engines import World
from tests.secure.worlds import Fixed

Sessions = tuple[Session, Session]


@pytest.fixture(scope="session")
def sessions() -> Callable[[int], Sessions]:
    """The two sides' sessions of `ot` for a k."""

    @cache
    def made(k: int) -> Sessions:
        return run_pair(set_up(Side.A, k, Fixed("a")), set_up(Side.B, k, Fixed("b")))

    return made


@pytest.fixture(scope="session")
def world_of() -> Callable[[str], World]:
    """The world of an engine, by name."""
    return cache(World)
