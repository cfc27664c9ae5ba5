"""How much of a processor each fast test uses, so that the fast tests stay fast.

Processor time, not the clock's, which waits for others. It too is longer where others keep the processor's
caches and its other half busy, about twice as long beside eight busy processes, and on a slower machine: so a
test that seems to have used much is measured by a fixed piece of work, done at that moment. Judged is the
call of a test, with all processes that it waited for, and not its fixtures: what a module or a whole run
shares has no one test to pay for it. Above `NAMED` seconds a test is named when the run ends; above `REFUSED`
it fails, unless it is one of `EXCEPTIONS`, of which there are at most twenty.

Kernels are warm where there are workers: they are compiled before the workers start. In a process of its own,
where the first test that needs one compiles it, tests are named and none fails. Slow tests and whole
things have no limit, nor has a property that is asked for more examples than usual.
"""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Generator

import pytest

NAMED, REFUSED = 2.0, 5.0
_SPENT = "processor"
_QUIET = 0.008
"""Seconds for the piece of work on a quiet machine of two cores."""

_PAIR = "two real processes, from an empty interpreter to the output"
EXCEPTIONS: dict[str, str] = {
    "tests/run/test_link.py::test_two_processes_from_the_command_line": _PAIR,
    "tests/run/test_canaries.py::test_two_processes_tell_and_keep_nothing_of_it": _PAIR,
    "tests/workers/test_workers.py::test_two_workers_a_side_share_the_rounds": "two processes and workers",
}
"""Tests that may use more than `REFUSED` seconds, without their parameters, and why."""


def spent() -> float:
    """Seconds of a processor that this process has used, and those of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def slowness() -> float:
    """How many times as long as on a quiet machine a processor takes at this moment, and at least once.

    By the piece of work, or by how many want each processor, up to two: loops that live on the cache, as
    kernels do, suffer more from the others than that piece does.
    """
    taken = []
    for _ in range(9):
        began, kept = time.process_time(), {}
        for number in range(40_000):
            kept[number % 977] = str(number)
        taken.append(time.process_time() - began)
    wanted = os.getloadavg()[0] / (os.cpu_count() or 1)
    return max(1.0, statistics.median(taken) / _QUIET, min(2.0, wanted))


def judge(name: str, seconds: float) -> None:
    """Fail a fast test that used too much."""
    if seconds > REFUSED and name.partition("[")[0] not in EXCEPTIONS:
        pytest.fail(
            f"This test used {seconds:.1f} s of a processor, and a fast one has {REFUSED:.0f}: "
            "make it smaller, share what it prepares, or mark it slow and keep a fast sibling.",
            pytrace=False,
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    before = spent()
    yield
    seconds = spent() - before
    thorough = item.config.getoption("hypothesis_profile", None)
    if thorough or item.get_closest_marker("slow") or item.get_closest_marker("whole"):
        return
    seconds /= slowness() if seconds > NAMED else 1.0
    # The report takes it along, from whichever process the test runs in.
    item.user_properties.append((_SPENT, seconds))
    if hasattr(item.config, "workerinput"):
        judge(item.nodeid, seconds)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name those that used much."""
    used: dict[str, float] = {
        report.nodeid: seconds
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
        for name, seconds in report.user_properties
        if name == _SPENT and isinstance(seconds, float)
    }
    much = sorted((item for item in used.items() if item[1] > NAMED), key=lambda item: -item[1])
    if much:
        terminalreporter.section(f"more than {NAMED:.0f} s of a processor")
        for name, seconds in much:
            terminalreporter.write_line(f"{seconds:6.1f} s  {name}")
