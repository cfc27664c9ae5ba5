"""Who cheats in a test of `dual`."""

from __future__ import annotations

import pytest

from accord.secure.dual.equality import Results
from accord.side import Side


@pytest.fixture(params=Side, ids=lambda side: f"{side.value} cheats")
def cheat(request: pytest.FixtureRequest) -> Side:
    side: Side = request.param
    return side


@pytest.fixture(autouse=True)
def unmoved(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Who cheats does not mind what it is told, and goes on."""
    if "cheat" not in request.fixturenames:
        return
    side, true = request.getfixturevalue("cheat"), Results._require

    def require(self: Results, said: bytes, expected: bytes) -> None:
        if self._session.side is not side:
            true(self, said, expected)

    monkeypatch.setattr(Results, "_require", require)
