"""Plug-ins: modules that add protocols, engines, noises and events to those of the package.

A plug-in is a module with a function `register`, which calls `register_protocol`, `register_engine`,
`register_noise` and `register_event`. It is loaded by name, in this process and in every process that works
for it, so that all of them read the same agreements. The package loads none by itself: `plan` chooses among
what it has built in, so that both sides come to the same.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from accord.errors import UsageError

_loaded: dict[str, None] = {}
"""The names of the modules, in the order in which they were loaded."""


def load(*modules: str) -> None:
    """Import these modules and register what they add, each once."""
    for name in modules:
        if name in _loaded:
            continue
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if not error.name or not f"{name}.".startswith(f"{error.name}."):
                # The module is there, and lacks another one.
                raise
            problem = f"There is no plug-in '{name}' here. Install it, or add its folder to PYTHONPATH."
            raise UsageError(problem=problem) from None
        module.register()
        _loaded[name] = None


def loaded() -> tuple[str, ...]:
    """The modules that were loaded."""
    return tuple(_loaded)


def folders() -> list[Path]:
    """Where another process finds them."""
    tops = (sys.modules[name.partition(".")[0]] for name in _loaded)
    files = (Path(str(top.__file__)).absolute() for top in tops)
    return list(dict.fromkeys(file.parents[1] if file.stem == "__init__" else file.parent for file in files))
