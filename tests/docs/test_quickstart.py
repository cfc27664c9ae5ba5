"""The quickstarts, typed as they are written, in two terminals.

A block marked ```sh NAME is typed in the terminal NAME. The sections of a page are its steps; in each step
the terminals work at the same time. A block marked ```text NAME is what that terminal shows. Every question
is answered with yes. The one thing that is changed is the port, since a test cannot own a number.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.terminal import environment, free_port

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "quickstart.md"]
TERMINALS = ("north-shop", "south-shop")
PORT = "7000"


def steps(page: str, terminal: str) -> list[str]:
    """What is typed in a terminal, section by section."""
    sections = re.split(r"^## ", page, flags=re.M)
    return ["".join(blocks(section, f"sh {terminal}")) for section in sections]


def blocks(text: str, mark: str) -> list[str]:
    return re.findall(rf"^```{mark}\n(.*?)^```", text, re.M | re.S)


def script(page: str, terminal: str, port: int, folder: Path) -> str:
    """All that a terminal types; after each step it waits for the other."""
    parts = []
    for number, step in enumerate(steps(page, terminal)):
        marks = [folder / f".{name}.{number}" for name in (terminal, *set(TERMINALS) - {terminal})]
        parts += [step.replace(f":{PORT}", f":{port}")]
        parts += [f"touch '{marks[0]}'\nuntil [ -e '{marks[1]}' ]; do sleep 0.05; done\n"]
    return "".join(parts)


def typed(folder: Path, terminal: str, text: str) -> tuple[subprocess.Popen[bytes], int]:
    """A shell that runs what is typed, at a terminal where somebody has answered yes in advance."""
    home = folder / f".home-{terminal}"
    home.mkdir()
    user, system = pty.openpty()
    os.write(user, b"y\n")
    with (folder / f".{terminal}.out").open("wb") as out:
        shell = subprocess.Popen(
            ["bash", "-eu", "-c", text],
            cwd=folder,
            env=environment(home),
            stdin=system,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    os.close(system)
    return shell, user


def finished(shells: dict[str, subprocess.Popen[bytes]]) -> dict[str, int]:
    """The exit codes, as soon as all have ended or one has failed."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        codes = {name: code for name, shell in shells.items() if (code := shell.poll()) is not None}
        if len(codes) == len(shells) or any(codes.values()):
            return codes
        time.sleep(0.05)
    return {}


def require_screen(printed: str, shown: str) -> None:
    """All that is printed is shown; and where consent is asked, all that is shown is printed.

    An ellipsis in what is printed stands for anything.
    """
    known = [line.strip() for line in printed.splitlines() if line.strip()]
    wanted = [re.compile(".*".join(map(re.escape, line.split("…")))) for line in known]
    lines = [line.strip() for line in shown.replace("\r", "\n").splitlines()]
    for pattern in wanted:
        assert any(pattern.search(line) for line in lines), pattern.pattern
    asked = "\n".join(lines).partition("You are")[2].partition("Go on?")[0].splitlines()[1:]
    for line in filter(None, asked if known else []):
        assert any(pattern.fullmatch(line) for pattern in wanted), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_works_as_written(page: Path, tmp_path: Path) -> None:
    text, port = page.read_text(), free_port()
    assert all("accord link" in "".join(steps(text, terminal)) for terminal in TERMINALS)
    opened = {name: typed(tmp_path, name, script(text, name, port, tmp_path)) for name in TERMINALS}
    shells = {name: shell for name, (shell, _) in opened.items()}
    try:
        codes = finished(shells)
    finally:
        for shell in shells.values():
            if shell.poll() is None:
                os.killpg(shell.pid, 9)
            shell.wait()
        for _, user in opened.values():
            os.close(user)
    shown = {name: (tmp_path / f".{name}.out").read_text() for name in TERMINALS}
    assert codes == dict.fromkeys(TERMINALS, 0), shown
    for name in TERMINALS:
        require_screen("".join(blocks(text, f"text {name}")), shown[name])
    outputs = [(tmp_path / name / "pairs.csv").read_bytes() for name in TERMINALS]
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"\n") > 1
