"""The recorded sessions, and the commands of the documentation: what is typed shows what was recorded."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.terminal import accord
from tests.cli.transcripts import FOLDER, SESSIONS, play

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
