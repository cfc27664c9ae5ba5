"""How tests type commands: in this process, from their arguments to their exit code."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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


def accord(folder: Path, *arguments: str, answers: Sequence[str] | None = None) -> Done:
    """A command typed in a folder, from its arguments to its exit code.

    Where there are answers, somebody is at the keyboard; after the last one the keyboard is gone. The command
    runs in this process, since most of a short command's time is the start of an interpreter. What would end
    a process with a traceback raises here. What a command leaves in its process is put back.
    """
    tape = Tape()
    with typing(folder) as at:
        at.type_in(arguments, answers, tape)
    out, err = ("".join(text for stream, text in tape.shown if stream == name) for name in ("out", "err"))
    return Done(["accord", *arguments], tape.code, out, err)


@dataclass
class Tape:
    """What a command writes, in its order: the stream and the text."""

    arguments: tuple[str, ...] = ()
    piped: bool = False
    """Whether a program reads its stdout."""
    shown: list[tuple[str, str]] = field(default_factory=list)
    code: int = -1


class Typing:
    """Commands that run in this process, each thread at a tape of its own."""

    def __init__(self) -> None:
        self._tapes: dict[int, Tape] = {}

    @property
    def tape(self) -> Tape:
        """That of the command in this thread; helpers of a command have the first one's."""
        return self._tapes.get(threading.get_ident()) or next(iter(self._tapes.values()))

    def type_in(self, arguments: Sequence[str], answers: Sequence[str] | None, tape: Tape) -> None:
        """Run one command to its end."""
        self._tapes[threading.get_ident()] = tape
        tape.arguments = tuple(arguments)
        with pytest.MonkeyPatch.context() as patch:
            if answers is not None:
                patch.setattr(sys, "stdin", Keyboard(answers))
            try:
                cli.main()
            except SystemExit as end:
                tape.code = int(end.code or 0)
            finally:
                del self._tapes[threading.get_ident()]

    def run(self, prog_name: str | None = None) -> None:
        """What `accord.cli.app` does, with the arguments of this thread."""
        COMMAND.main(args=list(self.tape.arguments), prog_name="accord")


class Stream(io.StringIO):
    """A standard stream that writes to the tape of its thread."""

    def __init__(self, at: Typing, name: str, terminal: bool) -> None:
        super().__init__()
        self._at, self._name, self._terminal = at, name, terminal

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("a stream of text")
        self._at.tape.shown.append((self._name, text))
        return len(text)

    def isatty(self) -> bool:
        return self._terminal and not (self._at.tape.piped and self._name == "out")


class Keyboard(io.StringIO):
    """Somebody who types these lines and then goes away; `^C` is Ctrl-C."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("".join(f"{line}\n" for line in lines))

    def isatty(self) -> bool:
        return True

    def ask(self, prompt: str = "") -> str:
        """What a terminal shows: the question, and the answer behind it."""
        sys.stderr.write(prompt)
        line = self.readline()
        if not line:
            raise EOFError
        sys.stderr.write(line)
        if line == "^C\n":
            raise KeyboardInterrupt
        return line.removesuffix("\n")


@contextlib.contextmanager
def typing(folder: Path, terminal: bool = False) -> Iterator[Typing]:
    """A folder in which commands are typed; at a terminal, or where their output is read by a program."""
    at = Typing()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(Stream(at, "out", terminal)),
        contextlib.redirect_stderr(Stream(at, "err", terminal)),
        pytest.MonkeyPatch.context() as patch,
        _quiet_afterwards(logging.getLogger("accord")),
    ):
        patch.setattr(sys, "stdin", io.StringIO())
        patch.setattr(cli, "app", at.run)
        patch.setattr(sys.modules[typer.prompt.__module__], "visible_prompt_func", _ask)
        yield at


def _ask(prompt: str = "") -> str:
    if not isinstance(sys.stdin, Keyboard):
        raise EOFError
    return sys.stdin.ask(prompt)


@contextlib.contextmanager
def _quiet_afterwards(logger: logging.Logger) -> Iterator[None]:
    handlers, level = list(logger.handlers), logger.level
    try:
        yield
    finally:
        logger.handlers[:] = handlers
        logger.setLevel(level)
