"""In tests of the laboratory its plug-ins are loaded, as by `python -m reproduction`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.reproduction.worlds import plugged
from tests.secure.conftest import world_of as world_of


@pytest.fixture(scope="module", autouse=True)
def _plugged() -> Iterator[None]:
    with plugged():
        yield
