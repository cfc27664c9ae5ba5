"""The reference of the command line, written from the commands themselves: as their help says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from accord.cli import app

_HEAD = """# All commands and their options

Generated from the code, as `accord COMMAND --help` shows it. [The command line](../cli.md) says how commands
work together, and what exit codes and events mean.
"""


def commands_page() -> str:
    """The page, as Markdown."""
    root = typer.main.get_command(app)
    return "\n".join([_HEAD, *_tell_all(root, typer.Context(root, info_name="accord"))])


# Typer carries Click inside of itself from some version on, so that there is no one type to name.
def _tell_all(command: Any, context: Any) -> Iterator[str]:
    group = isinstance(command, TyperGroup)
    if not group or context.parent is None or command.invoke_without_command:
        yield from _tell(command, context)
    for name, inner in command.commands.items() if group else ():
        yield from _tell_all(inner, typer.Context(inner, info_name=name, parent=context))


def _tell(command: Any, context: Any) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"## `{context.command_path}`\n"
    yield f"{_words(command.help or '')}\n"
    yield f"```text\n{usage}\n```\n"
    for title, kind in (("argument", TyperArgument), ("option", TyperOption)):
        shown = [known for known in command.get_params(context) if isinstance(known, kind)]
        rows = [_row(*record) for known in shown if (record := known.get_help_record(context))]
        if rows:
            yield "\n".join([f"| {title} | meaning |", "|---|---|", *rows, ""])
    example = (command.epilog or "").replace("\b", "").strip().removeprefix("Example:").rstrip()
    if example:
        yield f"Example:\n\n```text{example}\n```\n"


def _row(name: str, words: str) -> str:
    name, cell = (text.replace("|", "\\|").replace("\n", " ") for text in (name, _words(words)))
    return f"| `{name.strip()}` | {cell} |".replace("`[", "`").replace("]` |", "` |")


def _words(words: str) -> str:
    """A help's sentences, in which names of options are code and no sign is markup."""
    parts = re.split(r"(`[^`]*`)", words.replace("\f", "").replace("\b\n", "").strip())
    return "".join(part if part.startswith("`") else _escape(part) for part in parts)


def _escape(part: str) -> str:
    plain = re.sub(r"([*_<>\[\]])", r"\\\1", part)
    return re.sub(r"(?<![\w-])(--[a-z][a-z-]*)", r"`\1`", plain)
