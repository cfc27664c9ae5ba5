"""This very program, for other processes that are to run it."""

from __future__ import annotations

import os
from pathlib import Path

_ROOT = Path(__file__).parents[1]
"""Where the package is."""


def own_environment(*folders: Path) -> dict[str, str]:
    """In which a process finds this very program, and what is in these folders."""
    paths = *map(str, (_ROOT, *folders)), os.environ.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, paths))
    return os.environ | {"PYTHONPATH": path}
