"""The reference of the command line, written from the commands themselves: as their help says it.

One page a command; the commands of a group (`accord ledger budget`) stand on the page of their group. What
the exit codes of a command mean is read from the page that lists them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from accord.cli import app
from accord.cli.steps import STEPS

FOLDER = "reference/commands"
_LINKING = (3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 16, 17, 18, 19, 130)
_WRITING = (3, 4, 5)
CODES = {
    **dict.fromkeys(("link", "resume"), _LINKING),
    **dict.fromkeys(("init", "check", "plan", "learn", "simulate"), _WRITING),
    **dict.fromkeys(("generate",), (5,)),
    **dict.fromkeys(("identity", "partner"), (6, 9)),
    **dict.fromkeys(("runs", "report", "ledger", "forget", "state"), (6, 16)),
    "receipt": (6, 9, 16),
    "audit": (3, 4, 12),
    "demo": (),
}
"""Of each command the exit codes that a script may have to tell apart; 0, 1 and 2 are those of all."""
_METAVARS = {"str": "TEXT", "path": "PATH", "int": "NUMBER", "float": "NUMBER"}
_KIND = re.compile(r"<(?:list\[)?([^<>\[\]]+?)(?: range)?\]?>")
_EXTRA = re.compile(r"\s+\[([^\[\]]*)\]$")
_ROW = re.compile(r"^\| (\d+) \| (.*?) \|", re.M)


def commands_overview() -> str:
    """All commands by the steps of `accord --help`, and the options of `accord` itself."""
    root = _root()
    parts = []
    for title, names in STEPS.items():
        rows = [(f"[`accord {name}`](commands/{name}.md)", _short(root.commands[name])) for name in names]
        parts += [f"## {title}\n", _table(("command", "what it does"), rows)]
    context = typer.Context(root, info_name="accord")
    return "\n".join([*parts, "## Options of accord itself\n", *_tables(root, context)])


def command_pages(exit_codes: str) -> dict[str, str]:
    """A page for each command, by its name; `exit_codes` is the text of the page that lists them."""
    root, meanings = _root(), dict(_ROW.findall(exit_codes))
    context = typer.Context(root, info_name="accord")
    pages = {}
    for name in (name for names in STEPS.values() for name in names):
        inner = typer.Context(root.commands[name], info_name=name, parent=context)
        pages[name] = "\n".join([*_tell_all(inner.command, inner, 1), *_tell_codes(name, meanings)])
    return pages


def _root() -> Any:
    return typer.main.get_command(app)


# Typer carries Click inside of itself from some version on, so that there is no one type to name.
def _tell_all(command: Any, context: Any, level: int) -> Iterator[str]:
    yield from _tell(command, context, level)
    for name, inner in command.commands.items() if isinstance(command, TyperGroup) else ():
        yield from _tell_all(inner, typer.Context(inner, info_name=name, parent=context), level + 1)


def _tell(command: Any, context: Any, level: int) -> Iterator[str]:
    yield f"{'#' * level} {context.command_path}\n"
    yield f"{_words(command.help or '')}\n"
    if isinstance(command, TyperGroup) and not command.invoke_without_command:
        return
    pieces = [piece.strip("{}") for piece in command.collect_usage_pieces(context)]
    yield f"```text\n{' '.join([context.command_path, *pieces])}\n```\n"
    yield from _tables(command, context)
    example = (command.epilog or "").replace("\b", "").strip().removeprefix("Example:").rstrip()
    if example:
        lines = example.strip("\n").splitlines()
        yield "\n".join(["For example:\n", "```text", *(line.removeprefix("  ") for line in lines), "```\n"])


def _tables(command: Any, context: Any) -> Iterator[str]:
    for title, kind in (("argument", TyperArgument), ("option", TyperOption)):
        shown = [known for known in command.get_params(context) if isinstance(known, kind)]
        rows = [_row(*record) for known in shown if (record := known.get_help_record(context))]
        rows = [row for row in rows if row[0] != "`--help`"]
        if rows:
            wide = 3 if any(row[2] for row in rows) else 2
            yield _table((title, "meaning", "default")[:wide], [row[:wide] for row in rows])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), ""])


def _row(name: str, words: str) -> tuple[str, str, str]:
    kind = _KIND.search(name)
    choices = kind[1].split("|") if kind and "|" in kind[1] else []
    name = _KIND.sub(lambda kind: _METAVARS.get(kind[1], "WORD"), name.strip(" []"))
    name = re.sub(r"^(\w+) [A-Z]+$", r"\1", name)
    extra = _EXTRA.search(words)
    default, span = _extras(extra[1] if extra else "")
    listed = f"{', '.join(f'`{one}`' for one in choices[:-1])} or `{choices[-1]}`: " if choices else ""
    return f"`{name}`", (listed + _words(_EXTRA.sub("", words)) + span).replace("\n", " "), default


def _extras(written: str) -> tuple[str, str]:
    """The default, and the range in words, of what help writes in brackets."""
    default, span = "", ""
    for part in filter(None, written.split("; ")):
        if part == "required":
            default = part
        elif part.startswith("default: "):
            default = f"`{part.removeprefix('default: ').strip('()')}`"
        elif found := re.fullmatch(r"(?:(\S+)<=)?x(?:(<=|>=)(\S+))?", part):
            low, high = (found[3], None) if found[2] == ">=" else (found[1], found[3])
            span = f" From {_count(low)} to {_count(high)}." if high else f" At least {_count(low)}."
    return default, span


def _count(number: str | None) -> str:
    return f"{int(number):,}" if number is not None and number.isdigit() else str(number)


def _tell_codes(name: str, meanings: dict[str, str]) -> Iterator[str]:
    yield "## Exit codes\n"
    always = "0 is success, 2 a wrong call, 1 a fault of Accord's: [all exit codes](../../exit-codes.md)."
    if not CODES[name]:
        yield f"{always}\n"
        return
    yield f"{always} Also:\n"
    rows = [(str(code), meanings[str(code)].replace("](", "](../../")) for code in CODES[name]]
    yield _table(("code", "meaning"), rows)


def _short(command: Any) -> str:
    """The first sentence of a help."""
    return _words((command.help or "").strip().partition("\n\n")[0].replace("\n", " "))


def _words(words: str) -> str:
    """A help's sentences, in which names of options are code and no sign is markup."""
    parts = re.split(r"(`[^`]*`)", words.replace("\f", "").replace("\b\n", "").strip())
    return "".join(part if part.startswith("`") else _escape(part) for part in parts)


def _escape(part: str) -> str:
    plain = re.sub(r"([*_<>\[\]])", r"\\\1", part)
    return re.sub(r"(?<![\w-])(--[a-z][a-z-]*)", r"`\1`", plain)
