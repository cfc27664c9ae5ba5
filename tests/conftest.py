"""What every test shares: a quiet, repeatable hypothesis, compiled kernels, the folder of real data, a
PostgreSQL server and a browser."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from accord.drafting.made_up import RECORDS
from accord.learning.evidence import _MADE_UP as MADE_UP
from tests.kernels import compile_all, load_all
from tests.postgres import Server, binaries, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[1]

pytest_plugins = ["tests.processor"]

# The same examples each time; `make slow` asks for many more, and for others each time.
settings.register_profile(
    "accord",
    deadline=None,
    max_examples=10,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("thorough", settings.get_profile("accord"), max_examples=250, derandomize=False)
settings.load_profile("accord")


def pytest_configure() -> None:
    """While tests are collected next to nothing becomes garbage, and looking for it takes long."""
    gc.disable()


def pytest_collection_finish() -> None:
    """From now on what all tests share is not looked through again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a browser or the built site is among the whole things, before it is chosen what to run."""
    makefile = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    places = makefile.partition("WHOLE :=")[2].partition("\n#")[0].replace("\\", "").split()
    for item in items:
        if {"browser", "site"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("whole")
        if item.get_closest_marker("whole") and not item.nodeid.startswith(tuple(places)):
            raise pytest.UsageError(f"`make whole` does not look at {item.nodeid}: name it in WHOLE.")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: some tests wait for a clock, a port or another process."""
    return (os.cpu_count() or 1) + 1


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


@pytest.fixture(scope="session", autouse=True)
def _loaded(request: pytest.FixtureRequest) -> None:
    """In a process of tests: else the first test that needs a kernel would pay for loading numba."""
    if hasattr(request.config, "workerinput"):
        load_all()


@pytest.fixture(scope="session", autouse=True)
def _few_made_up_people() -> Iterator[None]:
    """What is learnt without a table is learnt from few: the time it takes grows with their square."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accord.learning.evidence._MADE_UP", 500)
        patch.setattr("accord.drafting.made_up.RECORDS", 200)
        yield


@pytest.fixture
def as_many_as_usual(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For tests of what is learnt: from as many made-up people as users have."""
    from accord.drafting import made_up, rules

    kept = (rules._learn, made_up.make_up)
    for one in kept:
        one.cache_clear()
    monkeypatch.setattr("accord.learning.evidence._MADE_UP", MADE_UP)
    monkeypatch.setattr("accord.drafting.made_up.RECORDS", RECORDS)
    yield
    for one in kept:
        one.cache_clear()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with the real data sets, beside the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        if os.environ.get("ACCORD_REQUIRE_ALL"):
            pytest.fail(f"the real data sets are required but {folder} is missing")
        pytest.skip("the real data sets (../shared/data) are not here")
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server of this process of tests, started for the first of them that asks."""
    found = binaries()
    if found is None:
        if os.environ.get("ACCORD_REQUIRE_ALL"):
            pytest.fail("a PostgreSQL server is required but no initdb is here")
        pytest.skip("no PostgreSQL server is here: `apt-get install postgresql`")
    with running(found) as server:
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium of this process of tests, likewise."""
    # Not at the import of this file: few tests need it, and every process of tests reads it.
    from tests import browser as browsing

    with browsing.running() as found:
        yield found


@pytest.fixture
def postgres(postgres_server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """That server, whose services libpq finds for the length of a test."""
    postgres_server.use(monkeypatch)
    return postgres_server


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither the group of the set-up nor the disk is the point: both answer at once."""
    from tests.run.faults import quicken

    quicken(monkeypatch)
