"""The shape of an agreement's parts, judged by the model of the document; slips are put into words here, each
with the line on which it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from accord.agreement.document import PARTY_PATTERN, SALT_PATTERN, Agreement
from accord.fields.schema import NAME_PATTERN
from accord.protocols.registry import PROTOCOLS
from accord.rules.blocking.base import PASS_PATTERN
from accord.wording import did_you_mean

Where = tuple[str | int, ...]
"""The keys, and places in lists, that lead to a part."""

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=""")
_MOST_FAULTS = 1000
_A_LIST = 'write ["day", "name"]'
_LISTS = {
    "pass": "write [[blocking.pass]] before each",
    "parts": 'write parts = [{ kind = "key", field = "day" }]',
    "values": 'write values = ["1", "2"]',
    "clean": 'write clean = ["accents", "punctuation"]',
}
"""How lists are written, by what they are of."""
_PATTERNS = {
    PARTY_PATTERN: "should begin with a letter or digit and hold letters, digits, spaces, dots, - and _ only",
    SALT_PATTERN: "should be 8 to 64 hexadecimal digits",
    PASS_PATTERN: "should begin with a letter or digit and hold letters, digits, spaces and , . + - _ only",
    NAME_PATTERN: "should begin with a letter and hold letters, digits and _ only",
}


def find_lines(text: str) -> dict[Where, int]:
    """The line of every table and key."""
    lines: dict[Where, int] = {}
    table: Where = ()
    seen: dict[Where, int] = {}
    """The number of the last table of each list of tables."""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = ()
            for name in _split(header[2]):
                # Inside a list of tables a header goes on with the last of them.
                table = (*table, *((seen[table],) if table in seen else ()), name)
            if header[1] == "[[":
                seen[table] = seen.get(table, -1) + 1
                table = (*table, seen[table])
            for depth in range(1, len(table) + 1):
                lines.setdefault(table[:depth], number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_split(key[1])), number)
    return lines


def _split(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def line_of(lines: Mapping[Where, int], path: Where) -> int:
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 0)


def tell_place(lines: Mapping[Where, int], path: Where) -> str:
    dotted = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    line = line_of(lines, path)
    return f"line {line}, {dotted}" if line else dotted


def shape_faults(data: Mapping[str, Any]) -> Iterator[tuple[Where, str]]:
    """Parts that are missing, unknown, or of a wrong kind."""
    try:
        Agreement.model_validate(data)
    except ValidationError as error:
        # Who wrote thousands mends the first of them first; to find the words for each takes its time.
        slips = error.errors(include_url=False, include_input=False)[:_MOST_FAULTS]
        # A list of which every entry is faulty is not too short.
        within = {slip["loc"][:i] for slip in slips for i in range(1, len(slip["loc"]))}
        for slip in slips:
            if slip["type"] == "too_short" and slip["loc"] in within:
                continue
            path = _toml_path(slip["loc"], data, slip["type"] == "missing")
            words = _in_words(slip["type"], slip["msg"], slip.get("ctx", {}), path)
            yield path, _say_one_for_both(path, data) or words


def _toml_path(location: tuple[str | int, ...], data: Any, missing: bool) -> Where:
    """Pydantic's location without the names of union members, which do not stand in the file."""
    path: list[str | int] = []
    node = data
    for i, step in enumerate(location):
        inside = (isinstance(node, Mapping) and step in node) or (
            isinstance(node, list) and isinstance(step, int) and step < len(node)
        )
        if inside:
            path.append(step)
            node = node[step]
        elif missing and i == len(location) - 1:
            path.append(step)
    return tuple(path)


def _say_one_for_both(path: Where, data: Mapping[str, Any]) -> str:
    """Of a table for one side, under a protocol that has none: what is wrong; otherwise nothing."""
    if path not in (("protocol", "A"), ("protocol", "B")):
        return ""
    name = data["protocol"].get("name")
    kind = PROTOCOLS.get(str(name))
    if kind is None or path[1] in kind.model_fields:
        return ""
    return f"{name} takes no options for each side. Remove [protocol.{path[1]}]."


def _in_words(kind: str, message: str, context: Mapping[str, Any], path: Where) -> str:
    name = path[-1] if path else "agreement"
    if kind == "missing":
        return f"'{name}' is missing. Add it."
    if kind == "extra_forbidden":
        known = _all_names()
        fault = "does not belong here" if name in known else "is not known here"
        return f"'{name}' {fault}. {did_you_mean(str(name), known, 'Remove it.')}"
    if kind == "union_tag_invalid":
        return f"'{context['tag']}' is not known here. Known are {context['expected_tags']}."
    if kind == "union_tag_not_found":
        which = f"part {name + 1}" if isinstance(name, int) else f"'{name}'"
        return f"{which} needs the key {context['discriminator']}."
    if kind == "string_type" and isinstance(name, int):
        return f"'{path[-2]}' holds texts, each in quotes: {_LISTS.get(str(path[-2]), _A_LIST)}."
    if kind == "string_too_short":
        return f"'{name}' must not be empty."
    if kind == "too_short":
        return f"'{name}' needs at least one entry."
    if kind == "string_pattern_mismatch":
        return f"'{name}' {_PATTERNS.get(context['pattern'], 'has a form that is not allowed')}."
    if kind in ("tuple_type", "list_type"):
        return f"'{name}' should be a list: {_LISTS.get(str(name), _A_LIST)}."
    if kind == "int_type":
        return f"'{name}' should be a whole number."
    plain = message.removeprefix("Value error, ").removeprefix("Input ")
    end = "" if plain.endswith("?") else "."
    return f"'{name}' {plain}{end}" if plain.startswith(("should", "must")) else f"{plain}{end}"


def _all_names() -> list[str]:
    """Every key that can stand in an agreement, for suggestions."""
    names: dict[str, None] = {}
    models: list[Any] = [Agreement, *PROTOCOLS.values()]
    while models:
        model = models.pop()
        if isinstance(model, type) and issubclass(model, BaseModel):
            names.update(dict.fromkeys(info.alias or name for name, info in model.model_fields.items()))
            models += [info.annotation for info in model.model_fields.values()]
        else:
            models += [arg for arg in get_args(model) if arg is not model]
    return list(names)
