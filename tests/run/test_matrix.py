"""The fault matrix: a fixed sample of its cells, or all of them where slow tests are asked for.

One cell alone: `pytest tests/run/test_matrix.py -m '' -k routed-kill-A-17`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.run import matrix
from tests.run.matrix import Cell

pytestmark = pytest.mark.usefixtures("quick")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Not all cells are made where they are not asked for: to collect them takes seconds in every process."""
    if "cell" not in metafunc.fixturenames:
        return
    sample = matrix.sample()
    chosen: list[Any] = [*sample]
    if "not slow" not in metafunc.config.getoption("markexpr"):
        known = set(sample)
        rest = [cell for cell in matrix.cells() if cell not in known]
        chosen += [pytest.param(cell, marks=pytest.mark.slow) for cell in rest]
    metafunc.parametrize("cell", chosen, ids=str)


def test_cell(cell: Cell, tmp_path: Path) -> None:
    matrix.play(cell, tmp_path)
