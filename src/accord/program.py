"""This very program, for other processes that are to run it."""

from __future__ import annotations

import os
from pathlib import Path

_ROOT = Path(__file__).parents[1]
"""Where the package is."""


def own_environment() -> dict[str, str]:
    """In which a process finds this very program."""
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path}
