"""The reference of the agreement, written from its JSON Schema and from the docstrings of its keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sphinx.pycode import ModuleAnalyzer

from accord.agreement.document import Agreement
from accord.spec import Spec

_HEAD = """# All keys of an agreement

Generated from the code. [The agreement](../agreement.md) says what it is for and shows examples;
[agreement.schema.json](../agreement.schema.json) is the same for editors.
"""
_PLACES = {
    "Parties": "`[parties]`",
    "DisclosedColumns": "`[disclose]`",
    "MostMatches": "`[most_matches]`",
    "Expected": "`[expected]`",
    "Drop": "`clean`: a step that drops words",
    "Prefix": "`derive`: a prefix",
    "Suffix": "`derive`: a suffix",
    "Passes": "`[blocking]` with passes",
    "PassSpec": "`[[blocking.pass]]`",
    "Privacy": "`[protocol.A]` and `[protocol.B]` of `laplace`",
    "LocalSide": "`[protocol.A]` and `[protocol.B]` of `local-dp`",
    "OtherEngine": "Engines without options",
}
_KINDS = {
    "Field": "A field of type `{}`",
    "Spec": "`[[blocking]]` of kind `{}`",
    "Options": "`[engine]`: `{}`",
    "": "`{}`",
}
_FILES = re.compile(r" \([\w/]+\.(?:py|md)\)")
_PROTOCOL = "`[protocol]`: `{}`"


def agreement_page() -> str:
    """The page, as Markdown."""
    schema = Agreement.model_json_schema()
    parts = schema["$defs"]
    classes = {known.__name__: known for known in _all_specs(Spec)}
    # What no agreement may name is not shown.
    leaky = {name for name, known in classes.items() if getattr(known, "leaky", "")}
    names = {name: _title(name, part) for name, part in parts.items() if name not in leaky}
    page = [_HEAD, *_section("Agreement", "The whole", schema, names, classes)]
    for name in sorted(names, key=lambda name: names[name].replace("`", "").casefold()):
        page += _section(name, names[name], parts[name], names, classes)
    return "\n".join(page)


def _all_specs(kind: type[Spec]) -> Iterator[type[Spec]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from _all_specs(inner)


def _title(name: str, part: Mapping[str, Any]) -> str:
    """What a part is called in a file: by its place there, or by the word that tells its kind."""
    if name in _PLACES:
        return _PLACES[name]
    known = part.get("properties", {})
    for key in ("type", "kind", "name"):
        if "const" in known.get(key, {}):
            ending = next(ending for ending in _KINDS if name.endswith(ending))
            form = _PROTOCOL if key == "name" and ending == "" else _KINDS[ending]
            return form.format(known[key]["const"])
    return name


def _section(
    name: str,
    title: str,
    part: Mapping[str, Any],
    names: Mapping[str, str],
    classes: Mapping[str, type[Spec]],
) -> Iterator[str]:
    said = _documented(classes[name]) if name in classes else {}
    yield f"## {title}\n"
    if name != "Agreement":
        yield f"{part.get('description', '').strip()}\n"
    rows = []
    for key, value in part.get("properties", {}).items():
        default = "required" if key in part.get("required", ()) else _default(value)
        cells = [f"`{key}`", _kind(value, names), default, said.get(key) or _plain_meaning(key, value)]
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    yield "\n".join(["| key | value | default | meaning |", "|---|---|---|---|", *rows, ""])


def _plain_meaning(key: str, value: Mapping[str, Any]) -> str:
    """What needs no docstring: the word that tells the kind of a part, and whose half of a pair it is."""
    if "const" in value:
        return "says which kind this is"
    return f"of party {key}" if key in ("A", "B") else ""


def _documented(kind: type[Spec]) -> dict[str, str]:
    """What the docstrings of its attributes say, its own and those that it inherits."""
    found: dict[str, str] = {}
    for known in kind.__mro__:
        if issubclass(known, Spec):
            written = ModuleAnalyzer.for_module(known.__module__).find_attr_docs()
            found = {
                key: " ".join(lines).strip()
                for (owner, key), lines in written.items()
                if owner == known.__name__
            } | found
    found = {key: _FILES.sub("", words) for key, words in found.items()}
    aliases = {key: field.alias for key, field in kind.model_fields.items() if field.alias}
    return {aliases.get(key, key): words for key, words in found.items()}


def _default(value: Mapping[str, Any]) -> str:
    if value.get("default") in (None, [], {}):
        return "none"
    return f"`{json.dumps(value['default'], ensure_ascii=False)}`"


def _kind(value: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """In words: which values are allowed."""
    if "$ref" in value:
        title = names.get(value["$ref"].rpartition("/")[2])
        return f"[{title}](#{slug(title)})" if title else ""
    for key in ("anyOf", "oneOf"):
        if key in value:
            kinds = [_kind(one, names) for one in value[key] if one.get("type") != "null"]
            return ", or ".join(dict.fromkeys(filter(None, kinds)))
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    return _plain_kind(value, names)


def _plain_kind(value: Mapping[str, Any], names: Mapping[str, str]) -> str:
    match value.get("type"):
        case "array":
            return f"a list: {_kind(value.get('items', {}), names)}"
        case "object":
            inner = [*value.get("patternProperties", {}).values(), value.get("additionalProperties", {})]
            return f"a table: {_kind(inner[0], names)}"
        case "string":
            form = f" of the form `{value['pattern']}`" if "pattern" in value else ""
            return f"a text{form}"
        case "integer":
            return f"a whole number{_range(value)}"
        case "number":
            return f"a number{_range(value)}"
        case "boolean":
            return "`true` or `false`"
    return "any value"


def _range(value: Mapping[str, Any]) -> str:
    low, high = value.get("minimum"), value.get("maximum")
    if low is None and high is None:
        return ""
    return f", at least {low:,}" if high is None else f", {low or 0:,} to {high:,}"


def slug(title: str) -> str:
    """The anchor of a heading, as code hosts and MyST make it."""
    return re.sub(r"[^\w\- ]", "", title.casefold()).replace(" ", "-")
