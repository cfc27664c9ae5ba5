"""Every kernel of the project, compiled once for all the processes of a test run.

Machine code is kept on disk, beside the modules, so that whoever comes later loads it. Who comes at the same
time compiles it again, and may even load what belonged to an older source: numba writes the index of a kernel
before its code.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from accord.kernel import Kernel

ROOT = Path(__file__).parents[1]
_PARTS = 2


def modules() -> list[str]:
    """The modules that define kernels."""
    found = []
    for root, package in ((ROOT / "src", "accord"), (ROOT, "reproduction")):
        for path in sorted((root / package).rglob("*.py")):
            if "\n@kernel(" in path.read_text():
                found.append(".".join(path.relative_to(root).with_suffix("").parts))
    return found


def kernels(names: list[str]) -> Iterator[Kernel[..., object]]:
    """All that are in these modules, those that they import included."""
    for name in names:
        yield from (value for value in vars(import_module(name)).values() if isinstance(value, Kernel))


def compile_all() -> None:
    """Compile what is not on disk yet, in two processes: the smallest machine has two cores."""
    parts = [
        subprocess.Popen([sys.executable, "-m", "tests.kernels", str(part)], cwd=ROOT)
        for part in range(_PARTS)
    ]
    assert [part.wait() for part in parts] == [0] * _PARTS


def load_all() -> None:
    """Every kernel, ready for its first call in this process."""
    for kernel in kernels(modules()):
        assert kernel.compiled


def main(part: int) -> None:
    """Compile a part of them."""
    for kernel in kernels(modules()[part::_PARTS]):
        assert kernel.compiled


if __name__ == "__main__":
    main(int(sys.argv[1]))
