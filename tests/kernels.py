"""Every kernel of the project, compiled once for all the processes of a test run.

Machine code is kept on disk, beside the modules, so that whoever comes later loads it. Who comes at the same
time compiles it again, and may even load what belonged to an older source: numba writes the index of a kernel
before its code.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from accord.kernel import Kernel

ROOT = Path(__file__).parents[1]


def kernels() -> Iterator[Kernel[..., object]]:
    """All of them; only modules that define some are imported."""
    for root, package in ((ROOT / "src", "accord"), (ROOT, "reproduction")):
        for path in sorted((root / package).rglob("*.py")):
            if "\n@kernel(" in path.read_text():
                module = import_module(".".join(path.relative_to(root).with_suffix("").parts))
                yield from (value for value in vars(module).values() if isinstance(value, Kernel))


def compile_all() -> None:
    """Compile what is not on disk yet."""
    for kernel in kernels():
        assert kernel.compiled
