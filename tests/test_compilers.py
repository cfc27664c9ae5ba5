"""Helpers that compile: they help where they can, and nothing depends on them."""

from __future__ import annotations

import subprocess

import pytest

from accord.compilers import ALWAYS, INTERSECTING, LANED, SILENT, Compilers
from accord.kernel import Kernel
from accord.run.compiling import modules_of
from tests.protocols.worlds import agreement


def test_where_no_process_can_be_started_there_is_just_no_help(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with Compilers() as compilers:
        compilers.start(ALWAYS)


def test_an_intersection_needs_loops_of_its_own() -> None:
    assert modules_of(agreement(protocol="psi", rule="same(x)")) == (INTERSECTING, ())
    assert not {*modules_of(agreement())[0]} & {*INTERSECTING} - {*ALWAYS, *SILENT}


def test_every_module_that_is_named_has_loops() -> None:
    from importlib import import_module

    for name in (*ALWAYS, *LANED, *SILENT, *INTERSECTING):
        values = list(vars(import_module(name)).values())
        values += [one for value in values if isinstance(value, dict) for one in value.values()]
        assert any(isinstance(value, Kernel) for value in values), name
