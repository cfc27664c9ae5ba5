"""The processor time of all fast tests together, and its limit, so that the suite as a whole stays fast.

Only the sum can be limited: a limit per test lets the suite grow by tests that are each below it. The sum is
the processor time of all processes of tests from their start to their end, collection, fixtures and child
processes included. It is counted in *pieces* of fixed work, measured now and then in the same processes, so
that the limit means the same on a slow or busy machine. The limit is `pieces` of `[tool.accord.tests]` in
pyproject.toml. A complete run that exceeds it by a tenth fails and names the most expensive tests.

Kernels are compiled before the processes of tests start and do not count.
"""

from __future__ import annotations

import hashlib
import resource
import statistics
import time
import tomllib
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
TOLERANCE = 1.1
NAMED = 30
_SECONDS, _SPENT, _PIECES = "processor", "spent", "pieces"
_EVERY = 25
"""A piece is measured before every so manyth test."""


def spent() -> float:
    """Processor seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def piece() -> float:
    """Processor seconds that the fixed work takes now: about .01 on a quiet machine."""
    began, texts = time.process_time(), {}
    for number in range(20_000):
        texts[number % 977] = str(number)
    numbers = np.arange(100_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    numbers.sort()
    hashlib.sha256(numbers.tobytes()).digest()
    return time.process_time() - began


def exceeds(pieces: float, limit: float) -> bool:
    """Whether a complete run with so many pieces fails."""
    return pieces > TOLERANCE * limit


class Worker:
    """In a process of tests: measures what each test and the whole process use."""

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._pieces, self._tests = config, [piece()], 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        self._tests += 1
        if self._tests % _EVERY == 0:
            self._pieces.append(piece())
        before = spent()
        yield
        # The report takes it along to the process that started this one.
        item.user_properties.append((_SECONDS, spent() - before))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._config.workeroutput |= {_SPENT: spent(), _PIECES: self._pieces}  # type: ignore[attr-defined]


class Sum:
    """In the process that starts the others: their sum, and whether it is too much."""

    def __init__(self, config: pytest.Config, limit: float) -> None:
        self._limit, self._spent, self._pieces = limit, 0.0, list[float]()
        self._seconds: dict[str, float] = {}
        options = config.option
        profile = getattr(options, "hypothesis_profile", None)
        # Without a choice of tests on the command line.
        self._complete = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not (
            options.keyword or profile or options.markexpr != "not slow and not whole"
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        output = getattr(node, "workeroutput", {})
        self._spent += output.get(_SPENT, 0.0)
        self._pieces += output.get(_PIECES, [])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, seconds in report.user_properties:
            if name == _SECONDS and isinstance(seconds, float):
                self._seconds[report.nodeid] = seconds

    @property
    def _sum(self) -> float:
        return self._spent / statistics.median(self._pieces) if self._pieces else 0.0

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._complete and exceeds(self._sum, self._limit):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        if self._pieces:
            milliseconds = 1000 * statistics.median(self._pieces)
            write(
                f"{self._spent:.0f} s of a processor, {self._sum:,.0f} pieces of {milliseconds:.1f} ms "
                f"(limit {self._limit:,.0f})"
            )
        if self._complete and exceeds(self._sum, self._limit):
            terminalreporter.section("the fast tests together use too much of a processor")
            for name, seconds in sorted(self._seconds.items(), key=lambda row: -row[1])[:NAMED]:
                write(f"{seconds:6.1f} s  {name}")


def pytest_configure(config: pytest.Config) -> None:
    """One of the two, where tests run in several processes."""
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Worker(config))
    elif config.getoption("numprocesses", None):
        limit = tomllib.loads(PROJECT.read_text("utf-8"))["tool"]["accord"]["tests"]["pieces"]
        config.pluginmanager.register(Sum(config, limit))
