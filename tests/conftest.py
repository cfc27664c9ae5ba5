"""What every test shares: a quiet, repeatable hypothesis and the folder of real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "accord",
    deadline=None,
    max_examples=50,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("accord")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with the real data sets, beside the project."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        if os.environ.get("ACCORD_REQUIRE_ALL"):
            pytest.fail(f"the real data sets are required but {folder} is missing")
        pytest.skip("the real data sets (../shared/data) are not here")
    return folder
