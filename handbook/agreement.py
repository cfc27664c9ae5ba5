"""The reference of the agreement, written from its JSON Schema and from the docstrings of its keys.

One page a table, such as `[protocol]`, with every form that it may take and the tables inside of it; what all
forms of a table have in common is told once. Keys that stand outside of any table are on the overview.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sphinx.pycode import ModuleAnalyzer

from accord.agreement.document import PARTY_PATTERN, SALT_PATTERN, Agreement
from accord.fields.schema import NAME_PATTERN
from accord.spec import Spec
from handbook.agreement_examples import EXAMPLES, READ

FOLDER = "reference/agreement"
_PLACES = {
    "Parties": "The keys",
    "DisclosedColumns": "The keys",
    "MostMatches": "The keys",
    "Expected": "The keys",
    "Copies": "`[expected.copies]`",
    "Output": "The keys",
    "By": "`[output.by]`",
    "Categories": "`[output.by.A]` and `[output.by.B]`",
    "Amount": "`[output.of]`",
    "Drop": "A step of `clean` that drops words",
    "Prefix": "A prefix, as `derive`",
    "Suffix": "A suffix, as `derive`",
    "Passes": "`[blocking]` with passes",
    "PassSpec": "`[[blocking.pass]]`",
    "Caps": "A cap for each side",
    "Privacy": "`[protocol.A]` and `[protocol.B]` of `laplace`",
    "OtherEngine": "Engines without options",
    "Bloom": "The encoder `bloom`",
    "Hash": "The encoder `hash`",
    "Letters": "The encoder `letters`",
}
_KINDS = {"type": '`type = "{}"`', "kind": '`kind = "{}"`', "name": '`name = "{}"`'}
_FORMS = {
    NAME_PATTERN: "a name",
    PARTY_PATTERN: "a name",
    SALT_PATTERN: "8 to 64 digits from 0 to f, as a text",
    r"^[0-9.eE/^*+-]+$": "a number",
    r"^[0-9.eE/^*+-]+ *%$": 'a share such as `"5%"`',
    r"^[A-Za-z0-9][A-Za-z0-9 ,.+_-]{0,63}$": "a name",
}
_SEVERAL = {"a text": "texts", "a name": "names", "a number": "numbers"}
_FILES = re.compile(r" \([\w/]+\.(?:py|md)\)")
_ALL = "In all of them"


@dataclass(frozen=True)
class _Row:
    """A key: its value, its default and its meaning, in words."""

    key: str
    value: str
    default: str
    meaning: str

    def __str__(self) -> str:
        cells = (f"`{self.key}`", self.value, self.default, self.meaning)
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def agreement_overview() -> str:
    """What stands outside of tables, and the list of all tables."""
    whole = _Whole()
    rows = {row.key: row for row in whole.rows("Agreement", whole.schema, "reference/agreement")}
    parts = [
        "## Keys outside of tables\n",
        _table(row for key, row in rows.items() if key not in whole.pages),
    ]
    lines = [f"| [`[{key}]`](agreement/{key}.md) | {rows[key].meaning} |" for key in whole.pages]
    parts += ["## Tables\n", "\n".join(["| table | what it says |", "|---|---|", *lines, ""])]
    return "\n".join(parts)


def agreement_pages() -> dict[str, str]:
    """A page for each table of an agreement, by its name."""
    whole = _Whole()
    return {key: "\n".join(_page(key, names, whole)) for key, names in whole.pages.items()}


class _Whole:
    """The schema, and where each of its parts is told."""

    def __init__(self) -> None:
        self.schema = Agreement.model_json_schema()
        self.classes = {known.__name__: known for known in _all_specs(Spec)}
        self.parts = self.schema["$defs"]

    @cached_property
    def pages(self) -> dict[str, list[str]]:
        """Of each key that is a table the parts of the schema that it is made of, each part once."""
        found: dict[str, list[str]] = {}
        for key, value in self.schema["properties"].items():
            taken = {name for names in found.values() for name in names}
            names = [name for name in _references(value, self.parts) if name not in taken]
            if names:
                found[key] = names
        return found

    def title(self, name: str) -> str:
        """What a part is called in a file: by its place there, or by the word that tells its kind."""
        if name in _PLACES:
            return _PLACES[name]
        known = self.parts[name].get("properties", {})
        said = next(key for key in _KINDS if "const" in known.get(key, {}))
        return _KINDS[said].format(known[said]["const"])

    def where(self, name: str, here: str) -> str:
        """A link to the section of a part, from a page."""
        page = next(key for key, names in self.pages.items() if name in names)
        folder = "agreement/" if here == FOLDER else ""
        path = "" if here == page else f"{folder}{page}.md"
        if here == FOLDER:
            return f"[`[{page}]`]({path})"
        return f"[{self.title(name)}]({path}#{slug(self.title(name))})"

    def rows(self, name: str, part: Mapping[str, Any], here: str) -> list[_Row]:
        said = _documented(self.classes[name]) if name in self.classes else {}
        rows = []
        # The word that tells the kind of a part stands above it.
        told = {
            key: value for key, value in part.get("properties", {}).items() if not _tells_kind(key, value)
        }
        for key, value in told.items():
            default = "required" if key in part.get("required", ()) else _default(value)
            meaning = said.get(key) or (f"of party {key}" if key in ("A", "B") else "")
            rows.append(_Row(key, self.kind(value, here), default, meaning))
        return rows

    def kind(self, value: Mapping[str, Any], here: str) -> str:
        """In words: which values are allowed."""
        if "$ref" in value:
            name = value["$ref"].rpartition("/")[2]
            return self.where(name, here) if name in self.parts else ""
        for key in ("anyOf", "oneOf"):
            if key in value:
                kinds = [self.kind(one, here) for one in value[key] if one.get("type") != "null"]
                return ", or ".join(dict.fromkeys(filter(None, kinds)))
        if "const" in value:
            return f"`{json.dumps(value['const'])}`"
        if "enum" in value:
            return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
        return self._plain_kind(value, here)

    def _plain_kind(self, value: Mapping[str, Any], here: str) -> str:
        match value.get("type"):
            case "array":
                most = f" of at most {value['maxItems']:,}" if "maxItems" in value else ""
                kind = self.kind(value.get("items", {}), here)
                return f"a list{most}: {_SEVERAL.get(kind, kind)}"
            case "object":
                inner = [*value.get("patternProperties", {}).values(), value.get("additionalProperties", {})]
                return f"a table for each name: {self.kind(inner[0], here)}"
            case "string":
                form = value.get("pattern")
                return "a text" if form is None else _FORMS.get(form, f"a text of the form `{form}`")
            case "integer":
                return f"a whole number{_range(value)}"
            case "number":
                return f"a number{_range(value)}"
            case "boolean":
                return "`true` or `false`"
        return "any value"


def _page(key: str, names: list[str], whole: _Whole) -> Iterator[str]:
    yield f"# \\[{key}\\]\n"
    own = {row.key: row for row in whole.rows("Agreement", whole.schema, "")}
    yield f"{own[key].meaning} {READ[key]}\n"
    yield f"```toml\n{EXAMPLES[key].strip()}\n```\n"
    tables = {name: whole.rows(name, whole.parts[name], key) for name in names}
    forms = [name for name in names if name in _forms(whole.schema["properties"][key])]
    common = [row for row in tables[forms[0]] if all(row in tables[name] for name in forms)]
    if len(forms) > 1 and common:
        yield from (f"## {_ALL}\n", _table(common))
        tables |= {name: [row for row in tables[name] if row not in common] for name in forms}
    for name in names:
        about = _FILES.sub("", whole.parts[name].get("description", "").strip())
        yield from (f"## {whole.title(name)}\n", f"{about}\n", _table(tables[name]))


def _table(rows: Iterable[_Row]) -> str:
    lines = list(map(str, rows))
    if not lines:
        return "It has no options.\n"
    return "\n".join(["| key | value | default | meaning |", "|---|---|---|---|", *lines, ""])


def _forms(value: Any) -> list[str]:
    """The parts that a value may be itself, not those inside of it."""
    found = []
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        if key == "$ref":
            found.append(inner.rpartition("/")[2])
        elif key in ("anyOf", "oneOf"):
            found += [name for one in inner for name in _forms(one)]
        elif key in ("items", "additionalProperties"):
            found += _forms(inner)
        elif key == "patternProperties":
            found += [name for one in inner.values() for name in _forms(one)]
    return found


def _references(value: Any, parts: Mapping[str, Any]) -> list[str]:
    """The parts that a value is made of, whole ones before those inside of them."""
    found = [name for name in _forms(value) if name in parts]
    for name in found:
        for inner in parts[name].get("properties", {}).values():
            found += [more for more in _references(inner, parts) if more not in found]
    return list(dict.fromkeys(found))


def _all_specs(kind: type[Spec]) -> Iterator[type[Spec]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from _all_specs(inner)


def _tells_kind(key: str, value: Mapping[str, Any]) -> bool:
    return key in _KINDS and "const" in value


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
    default = value.get("default")
    if default in (None, [], {}) or isinstance(default, dict):
        return "none"
    return f"`{json.dumps(default, ensure_ascii=False)}`"


def _range(value: Mapping[str, Any]) -> str:
    low, high = value.get("minimum"), value.get("maximum")
    if low is None and high is None:
        return ""
    return f", at least {low:,}" if high is None else f", {low or 0:,} to {high:,}"


def slug(title: str) -> str:
    """The anchor of a heading, as code hosts and MyST make it."""
    return re.sub(r"[^\w\- ]", "", title.casefold()).replace(" ", "-")
