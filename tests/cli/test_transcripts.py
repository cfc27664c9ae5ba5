"""The recorded sessions, and the commands of the documentation: what is typed shows what was recorded.

`transcripts/README.md` says how a session is written down.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from accord.entropy import Seeded, System
from accord.peer.handshake import Hello
from tests import prepared
from tests.cli.terminal import Tape, Typing, accord, free_port, typing
from tests.run import faults

FOLDER = Path(__file__).parent / "transcripts"
SESSIONS = sorted(path.stem for path in FOLDER.glob("*.txt"))
HOME = "/home/me/transcripts"
"""As long as the name of a session's folder, so that lines break at the same words."""
PORT = 7000
BESIDE = "beside"
VARYING = (
    # Fingerprints of keys.
    (r"\b[A-Z2-7]{4}(?:-[A-Z2-7]{4}){4}\b", "AAAA-BBBB-CCCC-DDDD-EEEE"),
    # What a run took.
    (r"[\d.]+ s\. Receipt", "0.1 s. Receipt"),
    (r"(?<=Time, memory     ).* MiB", "0.1 s, 100 MiB"),
    # Sizes of a state folder: cards differ by some bytes.
    (r"[\d.]+ kB(?= read|\.$)", "10.0 kB"),
    # When a state was replaced.
    (r"\b\d{8}T\d{6}\b-*", "20260101T120000"),
    # Kernels are compiled where they are not yet.
    (r"^! Compiling for this machine.*\n", ""),
)


@dataclass
class Step:
    """One command, with the comment above it and what is typed while it runs."""

    note: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    answers: list[str] | None = None


def read(text: str) -> list[Step]:
    """The commands of a session; what they show is not read."""
    steps = [Step()]
    for line in text.splitlines():
        mark, _, rest = line.partition(" ")
        if mark in ("#", "$") and steps[-1].lines:
            steps.append(Step())
        if mark == "#":
            steps[-1].note.append(line)
        elif mark in ("$", ">"):
            steps[-1].lines.append(rest)
        elif mark == "<":
            steps[-1].answers = [*(steps[-1].answers or ()), rest]
    return steps


def play(name: str) -> str:
    """Type a session; all that is to be recorded of it."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    folders = [Path(tempfile.mkdtemp(prefix="accord-", dir="/tmp"))]
    if text.startswith("# In offices."):
        folders.append(offices())
        shutil.copytree(folders[1], folders[0], dirs_exist_ok=True)
    session = Session(folders)
    with fixed(folders[0]), typing(folders[0], terminal=True) as at:
        session.play(at, read(text))
    shutil.rmtree(folders[0])
    return "\n".join(session.written).removeprefix("\n") + "\n"


@cache
def offices() -> Path:
    """State folders A/state and B/state of alice and bob, with a run that is done and one that was cut."""
    folder = Path(tempfile.mkdtemp(prefix="accord-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder)
    with fixed(folder), pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        both = faults.offices(folder, "plain")
        faults.require_linked(faults.link(both))
        pairs = {office.out: office.out.read_bytes() for office in both.values()}
        for office in both.values():
            assert office.run is not None
            office.run.change(began="2026-01-01T12:00:00+00:00")
        faults.link(both, faults.Wire(frames=20))
    for out, content in pairs.items():
        out.write_bytes(content)
    return folder


@dataclass
class Session:
    """What is typed in a folder, and what is written down of it."""

    folders: list[Path]
    """Its own, and the one that it was copied from, which stored runs name."""
    port: int = field(default_factory=free_port)
    written: list[str] = field(default_factory=list)

    def play(self, at: Typing, steps: Sequence[Step]) -> None:
        """Type all of it; a command that ends with `&` is written down when the next one has ended."""
        beside: list[tuple[Step, Tape, threading.Thread]] = []
        for step in steps:
            tape = Tape()
            if step.lines[-1].endswith(" &"):
                thread = threading.Thread(target=self._type, args=(at, step, tape), name=BESIDE)
                beside.append((step, tape, thread))
                thread.start()
                continue
            self._type(at, step, tape)
            for other, shown, thread in beside:
                thread.join()
                self._write(other, shown)
            beside.clear()
            self._write(step, tape)

    def _type(self, at: Typing, step: Step, tape: Tape) -> None:
        command = "\n".join(step.lines).removesuffix(" &").replace(f":{PORT}", f":{self.port}")
        if not command.startswith("accord "):
            tape.shown, tape.code = in_shell(command), 0
            return
        command, bar, reader = command.partition(" | ")
        words, both = command.removesuffix(" 2>&1"), command.endswith(" 2>&1")
        tape.piped = bool(bar)
        at.type_in(shlex.split(words)[1:], step.answers, tape)
        if bar:
            out = "".join(text for stream, text in tape.shown if both or stream == "out")
            err = [(stream, text) for stream, text in tape.shown if not both and stream == "err"]
            tape.shown = [*in_shell(reader, out), *err]

    def _write(self, step: Step, tape: Tape) -> None:
        first, *more = step.lines
        lines = ["", *step.note] if step.note else []
        lines += [f"$ {first}", *(f"> {line}" for line in more)]
        lines += [f"< {answer}".rstrip() for answer in step.answers or ()]
        self.written += [*lines, *self.settle(shown_lines(tape)).splitlines()]
        if tape.code:
            self.written.append(f"[{tape.code}]")

    def settle(self, text: str) -> str:
        """What was shown, with what varies replaced."""
        for folder in self.folders:
            text = text.replace(str(folder), HOME)
        for pattern, instead in VARYING:
            text = re.sub(pattern, instead, text, flags=re.M)
        text = re.sub(rf"\b{self.port}\b", str(PORT), text)
        return re.sub(r"\d{4}-\d\d-\d\d(?:([ T])\d\d:\d\d(:\d\d)?(?:\.\d+)?)?", same_day, text)


def in_shell(command: str, given: str = "") -> list[tuple[str, str]]:
    """What another program shows."""
    done = subprocess.run(["bash", "-c", command], input=given, capture_output=True, text=True)
    return [("out", done.stdout), ("err", done.stderr)]


def shown_lines(tape: Tape) -> str:
    """Lines with the mark of their stream."""
    marks, whole, at_start = {"out": "  ", "err": "! "}, list[str](), True
    for stream, text in tape.shown:
        for line in text.splitlines(keepends=True):
            whole.append(f"{marks[stream] if at_start else ''}{line}")
            at_start = line.endswith("\n")
    return "\n".join(line.rstrip() for line in "".join(whole).split("\n"))


def same_day(found: re.Match[str]) -> str:
    """A day of this week, or the one on which its card ends, as one that is always the same."""
    ahead = (date.fromisoformat(found[0][:10]) - datetime.now(UTC).date()) / timedelta(days=1)
    if not (-7 < ahead < 7 or 1_800 < ahead < 1_850):
        return found[0]
    time = f"{found[1]}12:00{':00' if found[2] else ''}" if found[1] else ""
    return f"{'2031' if ahead > 7 else '2026'}-01-01{time}"


@contextmanager
def fixed(folder: Path) -> Iterator[None]:
    """A machine on which everything is as it was when the sessions were recorded."""
    streams, salts, nonces = (
        {name: Seeded(name) for name in ("MainThread", BESIDE)},
        Seeded("salts"),
        list[set[bytes]](),
    )

    def draw(_: System, count: int) -> bytes:
        stream = streams.get(threading.current_thread().name)
        return os.urandom(count) if stream is None else stream.bytes(count)

    def call(own: Hello, other: Hello) -> str:
        both = {own.nonce, other.nonce}
        nonces.extend([] if both in nonces else [both])
        return f"{1 + nonces.index(both):016x}"

    today = SimpleNamespace(today=lambda: date(2026, 1, 1))
    terminal = {
        "COLUMNS": "100",
        "TERM": "dumb",
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in terminal.items():
            patch.setenv(name, value)
        patch.setattr(System, "bytes", draw)
        patch.setattr("accord.run.stages.run_name", call)
        patch.setattr("secrets.token_hex", lambda count=32: salts.bytes(count).hex())
        for module in ("plan", "expected"):
            patch.setattr(f"accord.forecast.{module}.measure_pace", lambda: 1.0)
        for module in ("forecast.plan", "workers.choice"):
            patch.setattr(f"accord.{module}.count_cores", lambda: 4)
        for module in ("init_table", "init_questions"):
            patch.setattr(f"accord.cli.{module}.date", today)
        prepared.share_drafts(patch)
        yield


DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("audit", "privacy")
"""Those with blocks of commands and their answers."""


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_goes_as_it_was_recorded(name: str, request: pytest.FixtureRequest) -> None:
    path, shown = FOLDER / f"{name}.txt", play(name)
    if request.config.getoption("--record", False):
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_answers_as_printed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ellipsis stands for anything."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    blocks = re.findall(r"```console\n(.*?)```", (DOCS / f"{name}.md").read_text(), re.S)
    commands = [part for block in blocks for part in block.split("$ accord ")[1:]]
    assert commands
    for command in commands:
        line, printed = command.split("\n", 1)
        done = accord(tmp_path, *shlex.split(line))
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(re.escape(printed).replace(re.escape("..."), ".*"), done.stdout, re.S), line
