"""The laboratory imports the public face and what CONTRIBUTING.md lists, and the list holds nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import accord

ROOT = Path(__file__).parents[2]
Listed = Mapping[str, frozenset[str]]
"""Module → the files, or folders, that may import it; none stands for all."""


def listed() -> Listed:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## What the laboratory may import\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(accord\.[\w.]+)` \| (all|`[^|]+`) \| [^|]{10,} \|$", section, re.M)
    assert len(rows) == section.count("\n| `")
    return {module: frozenset(re.findall(r"`([\w./]+)`", users)) for module, users in rows}


def imported(source: str) -> Iterator[str]:
    """The modules that a file imports, in whatever way; names of the public face count as 'accord'."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module="accord", names=names):
                yield from (_on_the_face(each.name) for each in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Attribute(value=ast.Name(id="accord"), attr=name):
                yield _on_the_face(name)
            case ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"):
                # What is imported under a name that is made up at run time cannot be read here.
                yield "accord by another way"


def _on_the_face(name: str) -> str:
    return "accord" if name in dir(accord) else f"accord.{name}"


def faults(name: str, source: str, allowed: Listed) -> list[str]:
    """What a file imports and may not."""
    found = {module for module in imported(source) if re.match(r"accord\b", module)} - {"accord"}
    return sorted(module for module in found if not lines_for(module, allowed, name))


def lines_for(module: str, allowed: Listed, name: str) -> list[str]:
    """The lines of the list by which a file may import the module: its own, or of a package around it."""
    around = [each for each in allowed if f"{module}.".startswith(f"{each}.")]
    return [each for each in around if not allowed[each] or name in allowed[each]]


FILES = sorted((ROOT / "reproduction").glob("**/*.py"))
FOLDERS = {"audit"}
"""Folders that the list names as a whole."""


def name_of(path: Path) -> str:
    return f"{path.parent.name}/" if path.parent.name in FOLDERS else path.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_laboratory_keeps_to_the_face_and_the_list(path: Path) -> None:
    assert faults(name_of(path), path.read_text(encoding="utf-8"), listed()) == []


def test_the_list_holds_nothing_that_is_not_used() -> None:
    allowed, used = listed(), set()
    for path in FILES:
        name = name_of(path)
        for module in imported(path.read_text(encoding="utf-8")):
            used |= {(line, name if allowed[line] else "") for line in lines_for(module, allowed, name)}
    assert used == {(module, user) for module, users in allowed.items() for user in users or [""]}


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("from accord.run.link import link", "accord.run.link"),
        ("import accord.cli.terminal as t", "accord.cli.terminal"),
        ("def f():\n    from accord.kernel import kernel", "accord.kernel"),
        ("from accord.planning.plan import make_plan", "accord.planning.plan"),
        ("from accord.simulations import x", "accord.simulations"),
        ("from accord import run", "accord.run"),
        ("import accord\naccord.run.link", "accord.run"),
        ("import importlib\nimportlib.import_module('accord.run')", "accord by another way"),
        ("__import__('accord.run')", "accord by another way"),
    ],
)
def test_what_is_not_allowed_would_be_noticed(source: str, fault: str) -> None:
    assert faults("size.py", source, listed()) == [fault]


@pytest.mark.parametrize(
    "source",
    [
        "import accord\naccord.simulate, accord.Agreement",
        "from accord import Agreement, __version__",
        "from accord.datasets.people import DOTTED\nfrom accord.datasets import people",
        "from accord.protocols.psi import Psi",
        "import numpy\nfrom reproduction.lab import Lab\nfrom . import lab",
    ],
)
def test_what_is_allowed_is_let_through(source: str) -> None:
    assert faults("size.py", source, listed()) == []
