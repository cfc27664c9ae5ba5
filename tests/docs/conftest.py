"""The site that several files of tests look at."""

from __future__ import annotations

import os

import pytest

from tests.docs.site import Site, build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    base = tmp_path_factory.getbasetemp()
    return build(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)
