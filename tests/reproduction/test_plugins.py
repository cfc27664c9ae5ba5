"""Plug-ins: loaded once, by name, in this process and in those that work for it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from accord import plugins
from accord.errors import UsageError
from accord.program import own_environment
from accord.protocols.registry import PROTOCOLS
from accord.secure.engine import PLUGGED
from accord.workers.worker import Worker
from tests.reproduction.plugged import NAME
from tests.workers.test_worker import START


def test_a_plug_in_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plugins.loaded() == (NAME,)
    monkeypatch.delitem(PROTOCOLS, "local-dp")
    plugins.load(NAME)
    assert "local-dp" not in PROTOCOLS
    with pytest.raises(UsageError, match="There is no plug-in"):
        plugins.load("nobody.has.it")


def test_a_plug_in_that_lacks_a_library_says_which(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lacking.py").write_text("import nobody.has.it")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nobody"):
        plugins.load("lacking")


def test_another_process_finds_them(tmp_path: Path) -> None:
    program = f"from accord import plugins; plugins.load({NAME!r})"
    command = [sys.executable, "-P", "-c", program]
    environment = own_environment(*plugins.folders()) | {"PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120)


def test_a_worker_loads_what_its_coordinator_has(monkeypatch: pytest.MonkeyPatch) -> None:
    start = replace(START, engine="paillier", network="")
    monkeypatch.delitem(PLUGGED, "paillier")
    with pytest.raises(UsageError, match="no engine 'paillier'"):
        Worker(start)
    monkeypatch.delitem(plugins._loaded, NAME)
    Worker(replace(start, plugins=NAME))
