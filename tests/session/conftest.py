"""What the tests of sessions share."""

from __future__ import annotations

import pytest

from tests.session import faults


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither the group of the set-up nor the disk is the point: both answer at once."""
    faults.quicken(monkeypatch)
