"""Compile every loop of Accord, for all lanes, so that an image has them inside."""

from __future__ import annotations

import pkgutil
from importlib.util import find_spec
from pathlib import Path

import accord
from accord.kernel import compile_modules, spare_blas

LANES = (8, 16, 32, 64)


def with_loops() -> list[str]:
    """The modules that define kernels."""
    found = []
    for module in pkgutil.walk_packages(accord.__path__, "accord."):
        spec = find_spec(module.name)
        text = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
        if "\nfrom accord.kernel import" in text and "kernel(" in text:
            found.append(module.name)
    return found


if __name__ == "__main__":
    spare_blas()
    compile_modules(with_loops(), LANES)
