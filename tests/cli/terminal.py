"""How tests type commands: in this process, or in one of their own where the process is the point."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from accord import cli

COMMAND = typer.main.get_command(cli.app)
"""Put together once: it takes longer than most commands that are typed."""


def environment(home: Path) -> dict[str, str]:
    """The environment of a user with this home."""
    return {
        **os.environ,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONWARNINGS": "default",
    }


def free_port() -> int:
    """A port where nobody listens: other tests, and other people's, run at the same time."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


Done = subprocess.CompletedProcess[str]


def accord(folder: Path, *arguments: str) -> Done:
    """A command typed in a folder, with nobody at the keyboard, from its arguments to its exit code.

    It runs in this process, since most of a short command's time is the start of an interpreter. Whatever
    would end a process with a traceback raises here; what a command leaves in its process is put back.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.MonkeyPatch.context() as patch,
        _quiet_afterwards(logging.getLogger("accord")),
    ):
        patch.setattr(sys, "argv", ["accord", *arguments])
        patch.setattr(sys, "stdin", io.StringIO())
        patch.setattr(cli, "app", COMMAND)
        with pytest.raises(SystemExit) as ended:
            cli.main()
    return Done(["accord", *arguments], int(ended.value.code or 0), out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _quiet_afterwards(logger: logging.Logger) -> Iterator[None]:
    handlers, level = list(logger.handlers), logger.level
    try:
        yield
    finally:
        logger.handlers[:] = handlers
        logger.setLevel(level)


def accord_process(folder: Path, *arguments: str) -> Done:
    """The same in a process of its own: the real streams, the real exit code, all imports anew."""
    return subprocess.run(
        [sys.executable, "-c", "from accord.cli import main; main()", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
