"""The door to numba: lazy, announced once, cached on disk, right also where nothing can be written."""

from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from accord.compilers import ALWAYS, INTERSECTING, SILENT, Compilers
from accord.compilers import LANED as LANES
from accord.kernel import Kernel, kernel
from accord.run.compiling import modules_of
from tests.protocols.worlds import agreement

MODULE = textwrap.dedent(
    """
    from typing import Annotated, NamedTuple

    from accord.kernel import kernel

    class Stretch(NamedTuple):
        start: Annotated[int, "int64"]
        rows: Annotated[object, "uint8[::1]"]

    @kernel("int64(Stretch, int64)", Stretch)
    def at(stretch, row):
        return stretch.rows[stretch.start + row]

    @kernel("int64(int64)")
    def double(x):
        return 2 * x

    @kernel("int64(int64)")
    def quadruple(x):
        return double(double(x))

    @kernel("void(uint64[::1], uint64[::1])", joined=True)
    def add_pair(source, target):
        target[0] += source[0]
        target[1] += source[1]
    """
)
CALL = textwrap.dedent(
    """
    import logging, sys
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    import looped
    assert "numba" not in sys.modules, "importing a kernel imported numba"
    assert looped.quadruple(5) == 20
    assert looped.at(looped.Stretch(2, __import__("numpy").arange(5, dtype="u1")), 1) == 3
    pair = __import__("numpy").arange(1, 3, dtype="u8")
    before = __import__("numba").config.SLP_VECTORIZE
    looped.add_pair(pair, pair)
    assert pair.tolist() == [2, 4]
    assert __import__("numba").config.SLP_VECTORIZE == before
    """
)


def run(folder: Path, module: str = MODULE, call: str = CALL, **environment: str) -> str:
    place = folder / "looped.py"
    if not place.exists() or place.read_text() != module:
        # An older numba goes by the time of the file.
        place.write_text(module)
    done = subprocess.run(
        [sys.executable, "-c", call],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_kernel_is_announced_when_it_compiles_and_silent_when_it_is_loaded(tmp_path: Path) -> None:
    first, second = run(tmp_path), run(tmp_path)
    assert [line.split()[1] for line in first.splitlines()] == ["double", "quadruple", "at", "add_pair"]
    assert second == ""


@pytest.mark.slow
def test_what_is_kept_for_a_structure_of_another_name_is_compiled_anew(tmp_path: Path) -> None:
    run(tmp_path)
    changed = MODULE.replace("Stretch", "Span")
    call = CALL.replace("Stretch", "Span")
    assert "Compiling at " in run(tmp_path, changed, call)


def together(folder: Path, call: str) -> list[str]:
    """The names of what three processes compile, which start at once."""
    started = [
        subprocess.Popen([sys.executable, "-c", call], cwd=folder, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = "".join(process.communicate()[0] for process in started)
    assert [process.returncode for process in started] == [0, 0, 0]
    return sorted(line.split()[1] for line in said.splitlines() if line != "missing")


SHARED = textwrap.dedent(
    """
    import logging, sys
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    from accord.kernel import compile_modules, when_missing
    with when_missing(lambda: print("missing", flush=True)):
        compile_modules(["looped", "laned"], [8, 99])
    """
)
LANED = textwrap.dedent(
    """
    from accord.kernel import kernel
    from looped import double

    def _first(values):
        return values[0]

    FIRST = {w: kernel(f"uint{w}(uint{w}[::1])")(_first) for w in (8, 16)}
    """
)


@pytest.mark.slow
def test_modules_are_compiled_with_the_lanes_that_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "laned.py").write_text(LANED)
    first, second = (run(tmp_path, call=SHARED) for _ in range(2))
    named = [line.split()[1] for line in first.splitlines() if line != "missing"]
    assert first.splitlines()[0] == "missing"
    assert first.count("missing") == 1
    assert named == ["at", "double", "quadruple", "add_pair", "_first"]
    assert second == ""
    assert run(tmp_path) == ""


@pytest.mark.slow
def test_of_several_processes_one_compiles_and_the_others_wait_or_share(tmp_path: Path) -> None:
    """The lines of all of them together are those of one; each is right."""
    for folder, call, more in ((tmp_path / "one", CALL, []), (tmp_path / "two", SHARED, ["_first"])):
        folder.mkdir()
        (folder / "looped.py").write_text(MODULE)
        (folder / "laned.py").write_text(LANED)
        assert together(folder, call) == [*more, "add_pair", "at", "double", "quadruple"]


def test_what_is_compiled_ahead_are_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be started for it there is just no help."""
    for name in (*ALWAYS, *LANES, *SILENT, *INTERSECTING):
        values = list(vars(importlib.import_module(name)).values())
        values += [one for value in values if isinstance(value, dict) for one in value.values()]
        assert any(isinstance(value, Kernel) for value in values), name
    assert modules_of(agreement(protocol="psi", rule="same(x)")) == (INTERSECTING, ())
    assert not {*modules_of(agreement())[0]} & {*INTERSECTING} - {*ALWAYS, *SILENT}

    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with Compilers() as compilers:
        compilers.start(ALWAYS)


def test_without_any_place_to_write_it_compiles_for_the_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from numba.core import caching

    monkeypatch.setattr(caching.FunctionCache._impl_class, "_locator_classes", [])

    @kernel("int64(int64)")
    def triple(x: int) -> int:
        return 3 * x

    with caplog.at_level(logging.INFO, logger="accord.kernel"):
        assert triple(7) == 21
    assert "Compiling triple" in caplog.text


def test_only_a_process_of_its_own_spares_numba_the_search_for_a_blas() -> None:
    program = """
import sys
from accord.kernel import spare_blas
from accord.fields.siphash import siphash128
spare_blas()
siphash128.compiled
assert "scipy.linalg" not in sys.modules
import scipy.linalg.cython_blas
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
