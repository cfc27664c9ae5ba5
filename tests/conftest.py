"""What every test shares: a quiet, repeatable hypothesis, compiled kernels and the folder of real data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.kernels import compile_all

ROOT = Path(__file__).parents[1]

settings.register_profile(
    "accord",
    deadline=None,
    max_examples=50,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("accord")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Before there are workers: whatever is not compiled yet would be compiled by each of them at once."""
    compile_all()


@pytest.fixture(scope="session", autouse=True)
def _processes_of_a_user() -> Iterator[None]:
    """Processes that tests start run this source, wherever they start, and lack what users have no need of.

    Not at the import of this file: workers are started after it, and tests do need it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests' / 'absent'}")
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with the real data sets, beside the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        if os.environ.get("ACCORD_REQUIRE_ALL"):
            pytest.fail(f"the real data sets are required but {folder} is missing")
        pytest.skip("the real data sets (../shared/data) are not here")
    return folder
