"""The guard of the fast tests: what it measures, whom it fails and whom it spares."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import processor

ROOT = Path(__file__).parents[1]


def test_processes_that_were_waited_for_are_counted() -> None:
    before = processor.spent()
    subprocess.run([sys.executable, "-S", "-c", "sum(range(5_000_000))"], check=True)
    assert processor.spent() - before > 0.02


def test_too_much_fails_unless_it_is_an_exception() -> None:
    processor.judge("tests/test_x.py::test_y", processor.REFUSED)
    for name in processor.EXCEPTIONS:
        processor.judge(f"{name}[some]", 100.0)
    with pytest.raises(pytest.fail.Exception, match=r"used 5\.1 s of a processor"):
        processor.judge("tests/test_x.py::test_y[some]", 5.1)


def test_exceptions_are_few_have_reasons_and_exist() -> None:
    assert len(processor.EXCEPTIONS) <= 20
    for name, reason in processor.EXCEPTIONS.items():
        file, _, function = name.partition("::")
        assert f"\ndef {function}(" in (ROOT / file).read_text()
        assert len(reason.split()) > 2
