"""The one door to numba: compiled loops that cost nothing until they are used.

A kernel is a plain Python function with an explicit signature. It is compiled on its first call, for that
signature alone, and the machine code is kept on disk: beside the module, or in the user's cache folder where
the installation is read-only. Compilation is announced through the logger `accord.kernel`; loading from disk
is silent. Importing a module that defines kernels does no work and does not import numba.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger(__name__)


class Kernel(Generic[P, R]):
    """A function that numba compiles for one signature when it is first called."""

    def __init__(self, function: Callable[P, R], signature: str) -> None:
        self._function = cast(FunctionType, function)
        self._signature = signature
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return cast(R, self.compiled(*args, **kwargs))

    @functools.cached_property
    def compiled(self) -> Any:
        """The numba dispatcher; kernels that this one calls are compiled before it."""
        from numba import njit
        from numba.core import event

        called = {k: v.compiled for k, v in self._function.__globals__.items() if self._calls(k, v)}
        function = FunctionType(
            self._function.__code__, {**self._function.__globals__, **called}, self._function.__name__
        )
        function.__qualname__ = self._function.__qualname__
        function.__module__ = self._function.__module__
        with event.install_listener("numba:compile", _announcer(function.__name__)):
            try:
                return njit(self._signature, cache=True, nogil=True)(function)
            except RuntimeError as error:
                if "cannot cache function" not in str(error):
                    raise
                # Neither the installation nor the home folder can be written: compile for this process.
                return njit(self._signature, nogil=True)(function)

    def _calls(self, name: str, value: object) -> bool:
        return isinstance(value, Kernel) and value is not self and name in self._function.__code__.co_names


def kernel(signature: str) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Mark a function as a kernel with this numba signature."""
    return lambda function: Kernel(function, signature)


def _announcer(name: str) -> Any:
    from numba.core import event

    class Announcer(event.Listener):  # type: ignore[misc]
        told = False

        def on_start(self, event: Any) -> None:
            # Once: what numba compiles on the way has events of its own.
            if not self.told:
                log.info("Compiling %s for this machine, once.", name)
            self.told = True

        def on_end(self, event: Any) -> None:
            pass

    return Announcer()
