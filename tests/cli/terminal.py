"""The environment in which tests type commands: this source, this interpreter, a home that vanishes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def environment(home: Path) -> dict[str, str]:
    """The environment of a user with this home."""
    return {
        **os.environ,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(SOURCE),
        "PYTHONWARNINGS": "default",
    }
