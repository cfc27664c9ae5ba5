"""The one door to numba: compiled loops that cost nothing until they are used.

A kernel is a plain Python function with an explicit signature. It is compiled on its first call, for that
signature alone, and the machine code is kept on disk: beside the module, or in the user's cache folder where
the installation is read-only. Compilation is announced through the logger `accord.kernel`; loading from disk
is silent. Importing a module that defines kernels does no work and does not import numba. Of several
processes that need the same kernel at once, as workers do, one compiles it and the others wait for it. In one
process numba compiles one kernel at a time; `compile_modules` shares the work among as many as call it.

What takes long to compile is not always what runs long. To assign a slice to a slice, `a[1:] = b[:-1]`, takes
longer than ten small kernels, for the message that tells of shapes that differ: a loop over the words does
not, and runs as fast.

Arrays that belong together are passed together, as a structure: a named tuple whose fields say what numba
takes them for,

    class Stretch(NamedTuple):
        start: Annotated[Ints, "int64[::1]"]
        width: Annotated[Ints, "int64[::1]"]

which a signature calls by its name: `@kernel("void(Stretch, int64[::1])", Stretch)`. To hand one over costs
more than its arrays do, so that loops over small batches take plain tuples instead.

Loops are vectorised over their rounds. `joined=True` also joins statements that do the same to neighbouring
words, so that the two words of a block are read as one; numba leaves that off, since LLVM was wrong there in
the past, and so do we where nothing is won.

Before its first loop numba reads all of `scipy.linalg`, if it is installed, to see whether matrices can be
multiplied. No kernel does that, and it takes a quarter of a second: a process that is Accord's alone calls
`spare_blas()`. In one that has loops of somebody else, they may need it.
"""

from __future__ import annotations

import fcntl
import functools
import gc
import logging
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_type_hints

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger(__name__)

_spared: set[str] = set()
"""Modules that numba is not to find."""
_held: set[str] = set()
"""Files at which this process is alone."""
_when_missing: list[Callable[[], None]] = []
"""What is done once a kernel turns out not to be on disk."""


# Nothing here is called from C, and a way in from there would be compiled with every kernel.
_OPTIONS = {"nogil": True, "no_cfunc_wrapper": True}


class Kernel(Generic[P, R]):
    """A function that numba compiles for one signature when it is first called."""

    def __init__(
        self,
        function: Callable[P, R],
        signature: str,
        structures: tuple[type[tuple[Any, ...]], ...] = (),
        joined: bool = False,
    ) -> None:
        self._function = cast(FunctionType, function)
        self._signature, self._structures, self._joined = signature, structures, joined
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return cast(R, self.compiled(*args, **kwargs))

    @functools.cached_property
    def compiled(self) -> Any:
        """The numba dispatcher; kernels that this one calls are compiled before it."""
        from numba import njit

        called = {k: v.compiled for k, v in self._function.__globals__.items() if self._calls(k, v)}
        function = FunctionType(
            self._function.__code__, {**self._function.__globals__, **called}, self._function.__name__
        )
        function.__qualname__ = self._function.__qualname__
        function.__module__ = self._function.__module__
        signature = _numba_type(self._signature, self._structures)
        try:
            return self._compile(function, signature)
        except AttributeError:
            # What is kept names a structure of another version of the module: numba reads that before it sees
            # that the module has changed.
            njit(cache=True)(function)._cache.flush()
            return self._compile(function, signature)

    def _compile(self, function: FunctionType, signature: Any) -> Any:
        from numba import njit
        from numba.core import event

        with _joining(self._joined), _sparing():
            try:
                with suppress(_UnknownError), event.install_listener("numba:compile", _listener(_refuse)):
                    return njit(signature, cache=True, **_OPTIONS)(function)
                while _when_missing:
                    _when_missing.pop()()
                with _alone(function.__code__.co_filename), _announced(function.__name__), _uncollected():
                    return njit(signature, cache=True, **_OPTIONS)(function)
            except RuntimeError as error:
                if "cannot cache function" not in str(error):
                    raise
                # Neither the installation nor the home folder can be written: compile for this process.
                with _announced(function.__name__), _uncollected():
                    return njit(signature, **_OPTIONS)(function)

    def _calls(self, name: str, value: object) -> bool:
        known = isinstance(value, Kernel) and value is not self
        return known and name in self._function.__code__.co_names


def kernel(
    signature: str, *structures: type[tuple[Any, ...]], joined: bool = False
) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Mark a function as a kernel with this numba signature, in which the structures have their own names."""
    return lambda function: Kernel(function, signature, structures, joined)


def compile_modules(names: Sequence[str], keys: Collection[int] = ()) -> None:
    """Compile every kernel of some modules; of those in dictionaries, by lane, those under these keys.

    Modules at which another process is are left to it until no other is left: so processes that are given the
    same modules share them, in the order in which they stand, and all is on disk when one of them is done.
    """
    left = list(names)
    while left:
        busy = [name for name in left if not _compile_module(name, keys, patient=False)]
        if len(busy) == len(left):
            _compile_module(busy.pop(0), keys, patient=True)
        left = busy


def _compile_module(name: str, keys: Collection[int], patient: bool) -> bool:
    """Compile its kernels; False if another process is at it, for which only the patient wait."""
    module = import_module(name)
    with _alone(str(module.__file__), patient) as alone:
        for value in vars(module).values() if alone else ():
            some = [value[key] for key in keys if key in value] if isinstance(value, dict) else [value]
            for one in some:
                if isinstance(one, Kernel) and one.__module__ == name:
                    _ = one.compiled
    return alone


def is_being_compiled(names: Sequence[str]) -> bool:
    """Whether some process is at one of these modules."""
    for name in names:
        with _alone(str(import_module(name).__file__), patient=False) as alone:
            if not alone:
                return True
    return False


@contextmanager
def when_missing(act: Callable[[], None]) -> Iterator[None]:
    """Meanwhile this is done, once, as soon as a kernel turns out not to be on disk."""
    _when_missing.append(act)
    try:
        yield
    finally:
        if act in _when_missing:
            _when_missing.remove(act)


@contextmanager
def _joining(joined: bool) -> Iterator[None]:
    """What is compiled meanwhile has neighbouring words joined, or not: numba's configuration says which."""
    from numba import config
    from numba.core.compiler_lock import global_compiler_lock

    # Nobody else compiles until the configuration is as it was.
    with global_compiler_lock:
        before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, int(joined)
        try:
            yield
        finally:
            config.SLP_VECTORIZE = before


def spare_blas() -> None:
    """From now on numba finds no BLAS: for processes in which nobody but Accord compiles."""
    _spared.add("scipy.linalg.cython_blas")


@contextmanager
def _sparing() -> Iterator[None]:
    """What is spared cannot be imported meanwhile; whatever needs it later finds it."""
    hidden: dict[str, Any] = {name: None for name in _spared if name not in sys.modules}
    sys.modules.update(hidden)
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def _numba_type(text: str, structures: tuple[type[tuple[Any, ...]], ...] = ()) -> Any:
    """What numba calls a signature, or a type, that is written like this."""
    from numba import types

    known = {structure.__name__: _structure_type(structure) for structure in structures}
    # The text is a constant of this package, and this is how numba itself reads one.
    return eval(text, {}, {**vars(types), **known})


def _structure_type(structure: type[tuple[Any, ...]]) -> Any:
    from numba import types

    fields = get_type_hints(structure, include_extras=True).values()
    return types.BaseTuple.from_types([_numba_type(field.__metadata__[0]) for field in fields], structure)


class _UnknownError(Exception):
    """A kernel is not on disk."""


def _refuse() -> None:
    raise _UnknownError


def _announced(name: str) -> Any:
    """Say so if something is compiled."""
    from numba.core import event

    def say() -> None:
        log.info("Compiling %s for this machine, once.", name)

    return event.install_listener("numba:compile", _listener(say))


def _listener(act: Callable[[], None]) -> Any:
    """Acts when a compilation begins."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        acted = False

        def on_start(self, event: Any) -> None:
            # Once: what numba compiles on the way has events of its own.
            if not self.acted:
                self.acted = True
                act()

        def on_end(self, event: Any) -> None:
            pass

    return Listener()


@contextmanager
def _uncollected() -> Iterator[None]:
    """What a compilation makes is looked through for rings of garbage only when it is done."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def _alone(path: str, patient: bool = True) -> Iterator[bool]:
    """No other process does this with the same file meanwhile; where files cannot be locked, perhaps one.

    Who is not patient does not wait for another, and is told False.
    """
    if path in _held:
        yield True
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
            fcntl.flock(file, fcntl.LOCK_EX | (0 if patient else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        except OSError:
            pass
        _held.add(path)
        stack.callback(_held.discard, path)
        yield True
