"""The lowest versions that pyproject.toml allows, as constraints for pip: `make lowest` tests with them."""

from __future__ import annotations

from packaging.requirements import Requirement


def lowest(dependencies: list[str]) -> list[str]:
    """Each dependency at its lower bound; raises ValueError at one that has none."""
    found = []
    for line in dependencies:
        needed = Requirement(line)
        bounds = [one.version for one in needed.specifier if one.operator == ">="]
        if len(bounds) != 1:
            raise ValueError(f"no lower bound: {line}")
        found.append(f"{needed.name}=={bounds[0]}")
    return found
