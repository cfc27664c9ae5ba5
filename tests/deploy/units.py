"""The units as systemd reads them, as far as tests need it: settings, and the command that is started."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

DEPLOY = Path(__file__).parents[2] / "deploy"


def settings(unit: str) -> dict[str, list[str]]:
    """All values of each setting of a unit."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / unit).read_text().splitlines():
        name, equal, value = line.partition("=")
        if equal and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def read_environment(text: str) -> dict[str, str]:
    """The assignments of an environment file."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def command(environment: dict[str, str], specifiers: dict[str, str]) -> list[str]:
    """What `ExecStart` of the service comes to, by the rules of systemd.service(5): `${NAME}` is part of a
    word, `$NAME` is as many words as it has."""
    (line,) = settings("accord@.service")["ExecStart"]
    words: list[str] = []
    for word in shlex.split(line):
        word = re.sub(r"%(.)", lambda found: specifiers[found[1]], word)
        if alone := re.fullmatch(r"\$(\w+)", word):
            words += environment[alone[1]].split()
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], word))
    return words
